//! The examples on finite data sets, and the program `check`.

#[path = "../examples/learn_bias.rs"]
#[allow(dead_code, reason = "its main reads the command line")]
mod learn_bias;
#[path = "../examples/learn_p.rs"]
#[allow(dead_code, reason = "its main reads the command line")]
mod learn_p;
#[path = "../examples/naive_bayes.rs"]
#[allow(dead_code, reason = "its main reads the command line")]
mod naive_bayes;
#[path = "../examples/normal_mean.rs"]
#[allow(dead_code, reason = "its main reads the command line")]
mod normal_mean;

use dp_examples::finite::{Noise, Reports};
use std::process::{Command, Output};

fn check(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_check")).args(arguments).output().unwrap()
}

/// Nothing is above its claim, and of the four the geometric mechanism is the most useful.
fn holds(reports: &Reports, best: &str) {
    for (name, report) in reports {
        assert!(!report.is_broken(), "{name}: {report:?}");
        assert!(
            report.checked.upper <= report.claimed + 1e-12 && report.witness.is_some(),
            "{name}: {report:?}"
        );
        let distance = report.expected_hellinger.unwrap();
        assert!(distance > 0.0 && distance < 1.0);
        assert!(reports[best].expected_hellinger.unwrap() <= distance, "{name}");
    }
}

#[test]
fn four_ways_to_release_a_bias() {
    let reports = learn_bias::reports(20, 1.0).unwrap();
    assert_eq!(reports.len(), 4);
    holds(&reports, "geometric");
    let distance = |name: &str| reports[name].expected_hellinger.unwrap();
    for (name, expected) in
        [("geometric", 0.1477), ("exponential", 0.5969), ("exponential_calibrated", 0.4412)]
    {
        assert!((distance(name) - expected).abs() <= 0.5001e-4, "{name}: {}", distance(name));
    }
    assert!((reports["exponential"].checked.upper - 0.446).abs() < 0.5e-3);
    let json = serde_json::to_value(&reports["geometric"]).unwrap();
    for field in ["claimed", "checked", "witness", "expected_hellinger"] {
        assert!(json.get(field).is_some(), "{field}");
    }
    assert!(json["checked"]["lower"].is_number() && json["checked"]["upper"].is_number());
}

#[test]
fn four_ways_to_release_faces_and_a_mean() {
    let reports = learn_p::reports(5, 1.0).unwrap();
    holds(
        &reports,
        reports
            .iter()
            .min_by(|a, b| a.1.expected_hellinger.partial_cmp(&b.1.expected_hellinger).unwrap())
            .unwrap()
            .0,
    );
    assert_eq!(reports.len(), 5);
    assert_eq!(reports["discrete_gaussian"].claimed_delta, Some(1e-5));
    let reports = normal_mean::reports(4, 2.0).unwrap();
    holds(&reports, "laplace");
}

#[test]
fn mechanisms_pass_the_check_and_planted_faults_do_not() {
    for mechanism in [
        "geometric",
        "discrete_gaussian",
        "exponential",
        "exponential_calibrated",
        "posterior_sample",
        "randomised_response",
        "laplace",
    ] {
        for relation in ["replace_one", "add_remove"] {
            let arguments =
                ["--mechanism", mechanism, "--records", "4", "--epsilon", "1", "--relation", relation];
            let output = check(&arguments);
            let told = String::from_utf8_lossy(&output.stderr);
            if (mechanism, relation) == ("randomised_response", "add_remove") {
                assert!(output.status.code() == Some(2) && told.contains("number of records"), "{told}");
                continue;
            }
            assert_eq!(output.status.code(), Some(0), "{mechanism}: {told}");
            let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            assert!(report["checked"]["upper"].as_f64().unwrap() <= 1.0 + 1e-12, "{mechanism}: {report}");
        }
    }
    for (mechanism, fault, values) in [
        ("geometric", "scale", "2"),
        ("geometric", "sensitivity", "2"),
        ("geometric", "sensitivity", "3"),
        ("exponential", "score", "2"),
        ("discrete_gaussian", "sensitivity", "3"),
    ] {
        let arguments = [
            "--mechanism",
            mechanism,
            "--records",
            "4",
            "--epsilon",
            "0.5",
            "--delta",
            "0.01",
            "--fault",
            fault,
            "--values",
            values,
        ];
        let output = check(&arguments);
        assert_eq!(
            output.status.code(),
            Some(1),
            "{mechanism} {fault}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(
            report["witness"]["first"].is_array() && report["witness"]["outcome"].is_string(),
            "{report}"
        );
    }
}

#[test]
fn bad_input_is_one_line() {
    for (arguments, told) in [
        (vec!["--mechanism", "geometric", "--epsilon", "0"], "between 1e-6 and 64, got 0"),
        (vec!["--mechanism", "exponential", "--epsilon=-1"], "between 1e-6 and 64, got -1"),
        (vec!["--mechanism", "laplace", "--epsilon", "NaN"], "got NaN"),
        (vec!["--mechanism", "posterior_sample", "--epsilon", "inf"], "got inf"),
        (vec!["--mechanism", "exponential", "--records", "200", "--values", "3"], "the limit is 3000"),
        (vec!["--mechanism", "none"], "invalid value 'none'"),
        (vec!["--mechanism", "discrete_gaussian", "--delta", "0"], "between 1e-15 and 0.5, got 0"),
        (vec!["--mechanism", "geometric", "--relation", "both"], "invalid value 'both'"),
        (vec!["--mechanism", "laplace", "--fault", "score"], "not one of the mechanism"),
        (vec!["--mechanism", "geometric", "--values", "4"], "must be 2, 3 or 5"),
    ] {
        let output = check(&arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(told) && error.trim_end().lines().count() == 1, "{arguments:?}: {error}");
    }
}

/// Adult, eleven tables of 172 cells in public bins, against a program of its own in Python: the area without privacy,
/// and means of 60 runs with their standard errors, for each epsilon with one of the noises in turns. Ours are of 12
/// runs, seeds 1 to 12; five standard errors of the difference (false alarm below 1e-6 each), and half a digit for
/// rounding. Noise of half or twice its scale moves each of them by more.
#[test]
fn naive_bayes_on_the_adult_data() {
    const RUNS: u64 = 12;
    let Some(folder) = std::env::var_os("DP_DATA") else {
        let message = "\n*** SKIPPED naive_bayes_on_the_adult_data: set DP_DATA to the folder that holds \
         data/adult.csv.gz ***\n";
        std::io::Write::write_all(&mut std::io::stderr(), message.as_bytes()).unwrap();
        return;
    };
    let path = std::path::Path::new(&folder).join("data/adult.csv.gz");
    let adult = dp_examples::finite::Adult::read(&path).unwrap();
    assert_eq!(adult.cells(), 172);
    let (classifier, _) = adult.learn(None, dp_sampler::Seed::for_tests(0)).unwrap();
    let exact = adult.auc(&classifier);
    assert!((exact - 0.8984).abs() <= 0.5e-4, "{exact}");
    let gaussian = |epsilon| Noise::Gaussian { epsilon, delta: 1e-5 };
    let laplace = |epsilon| Noise::Laplace { epsilon };
    for (epsilon, noise, (expected, error)) in [
        (0.01, gaussian(0.01), (0.8454, 0.0015)),
        (0.05, laplace(0.05), (0.8776, 0.0008)),
        (0.1, gaussian(0.1), (0.8912, 0.0003)),
        (0.5, laplace(0.5), (0.8966, 0.0001)),
    ] {
        let found = adult.measure(noise, RUNS, Some(1)).unwrap();
        let tolerance = 5.0 * error * (1.0 + 60.0 / RUNS as f64).sqrt() + 0.5e-4;
        assert!((found.auc - expected).abs() < tolerance, "{noise:?}: {found:?} {expected}");
        let spent = found.epsilon_upper;
        assert!(spent <= epsilon && spent > 0.999 * epsilon, "{noise:?}: {spent}");
    }
}

#[test]
fn files_that_are_no_adult_data() {
    let folder = std::env::temp_dir().join(format!("dp-examples-adult-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("adult.csv");
    let head = "age,workclass,education,marital_status,occupation,relationship,race,sex,capital_gain,capital_loss,hours_per_week,income\n";
    for (text, told) in [
        ("age,income\n3,>50K\n".to_owned(), "no column 'workclass'"),
        (
            format!("{head}39,Nowhere,Masters,Divorced,Sales,Wife,White,Female,0,0,40,>50K\n"),
            "line 2: the value of column 'workclass' is in no list",
        ),
        (
            format!("{head}x,Private,Masters,Divorced,Sales,Wife,White,Female,0,0,40,>50K\n"),
            "line 2: the value of column 'age' is not a number",
        ),
        (
            format!("{head}39,Private,Masters,Divorced,Sales,Wife,White,Female,0,0,40,rich\n"),
            "line 2: the value of column 'income' is neither",
        ),
    ] {
        std::fs::write(&path, text).unwrap();
        let error = dp_examples::finite::Adult::read(&path).err().unwrap().to_string();
        assert!(error.contains(told) && !error.contains("Nowhere") && !error.contains("rich"), "{error}");
    }
    std::fs::write(&path, [0x1f, 0x8b, 0, 0]).unwrap();
    assert!(dp_examples::finite::Adult::read(&path).is_err());
    assert!(dp_examples::finite::Adult::read(&folder.join("none.csv")).is_err());
    std::fs::remove_dir_all(&folder).unwrap();
}
