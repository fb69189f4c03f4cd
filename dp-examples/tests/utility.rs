//! The program `utility` from outside: figures on small files, and one line for everything that is wrong.

use std::fmt::Write;
use std::process::{Command, Output};

use dp_examples::logistic::population::Population;

use crate::folder::Folder;

fn utility(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_utility")).args(arguments).env_remove("DP_DATA").output().unwrap()
}

fn json(arguments: &[&str]) -> serde_json::Value {
    let output = utility(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// One line on the standard error and exit code 2.
fn refused(arguments: &[&str]) -> String {
    let output = utility(arguments);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
    assert!(
        output.stdout.is_empty() && told.starts_with("error: ") && told.trim_end().lines().count() == 1,
        "{told}"
    );
    told
}

/// A logistic data set with a column of groups, if wanted.
fn people(records: usize, seed: u8, groups: Option<usize>) -> String {
    let Population { features, labels, .. } = Population::generate([seed; 32], records, &[1.5, -1.0]);
    let mut text = String::from(if groups.is_some() { "x0,x1,group,y\n" } else { "x0,x1,y\n" });
    for (i, (x, y)) in features.rows().into_iter().zip(&labels).enumerate() {
        write!(text, "{},{}", x[0], x[1]).unwrap();
        if let Some(groups) = groups {
            write!(text, ",{}", i % groups).unwrap();
        }
        writeln!(text, ",{y}").unwrap();
    }
    text
}

#[test]
fn a_problem_prints_its_metric_and_keeps_its_budget() {
    let folder = Folder::new("", "utility-1");
    let train = folder.write("train.csv", people(2000, 1, None));
    let found = json(&[
        "--problem",
        "logistic",
        "--train",
        &train,
        "--epsilon",
        "1",
        "--delta",
        "1e-5",
        "--runs",
        "3",
        "--json",
    ]);
    assert_eq!(found["metric"], "error_sd");
    assert!(found["mean"].as_f64().unwrap() < 5.0 && found["sd_ratio"].as_f64().unwrap() < 5.0);
    assert!(
        found["epsilon_upper"].as_f64().unwrap() <= 1.0 && found["standard_error"].as_f64().unwrap() > 0.0
    );
    let again = json(&[
        "--problem",
        "logistic",
        "--train",
        &train,
        "--epsilon",
        "1",
        "--delta",
        "1e-5",
        "--runs",
        "3",
        "--json",
    ]);
    assert_eq!(found, again, "the same seeds give the same figures");

    let train = folder.write("groups-train.csv", people(400, 2, Some(2)));
    let test = folder.write("groups-test.csv", people(300, 3, Some(2)));
    let groups = folder.write("groups.csv", "g0,g1\n1,0.5\n-0.5,1\n");
    let found = json(&[
        "--problem",
        "hierarchical",
        "--train",
        &train,
        "--test",
        &test,
        "--groups",
        &groups,
        "--epsilon",
        "4",
        "--delta",
        "0.002",
        "--runs",
        "2",
        "--json",
    ]);
    assert_eq!(found["metric"], "auc");
    assert!(found["mean"].as_f64().unwrap() > 0.7 && found["epsilon_upper"].as_f64().unwrap() <= 4.0);

    let points = |count: usize| {
        (0..count).fold(String::from("a,b\n"), |mut text, i| {
            let (x, y) = ((i % 5) as f64 - 2.0, ((i * 7) % 11) as f64 / 5.0 - 1.0);
            writeln!(text, "{x},{y}").unwrap();
            text
        })
    };
    let (train, test) = (folder.write("p.csv", points(500)), folder.write("q.csv", points(50)));
    let found = json(&[
        "--problem",
        "mixture",
        "--train",
        &train,
        "--test",
        &test,
        "--epsilon",
        "2",
        "--runs",
        "2",
        "--json",
    ]);
    assert_eq!(found["metric"], "log_likelihood");
    assert!(found["mean"].as_f64().unwrap() > -10.0 && found["epsilon_upper"].as_f64().unwrap() <= 2.0);

    let table = utility(&["--problem", "coverage", "--epsilon", "1", "--runs", "2"]);
    let text = String::from_utf8(table.stdout).unwrap();
    assert!(text.starts_with("problem ") && text.contains("coverage"), "{text}");
}

/// On a table of one's own: totals, and a line for each weight.
#[test]
fn coverage_is_measured_on_any_table() {
    let folder = Folder::new("", "utility-2");
    let data = folder.write("people.csv", people(400, 3, None));
    let bounds = folder.write("bounds.toml", "x0 = [-3, 3]\nx1 = [-3, 3]\n");
    let own = ["--problem", "coverage", "--data", &data, "--positive-if", "y=1", "--bounds", &bounds];
    let all = |more: &[&'static str]| own.iter().copied().chain(more.iter().copied()).collect::<Vec<_>>();
    let found = json(&all(&["--epsilon", "2", "--runs", "3", "--json"]));
    for name in ["error_sd", "length", "z", "worst", "mean"] {
        assert!(found[name].as_f64().is_some_and(|x| x.is_finite() && x > 0.0), "{name}: {found}");
    }
    let weights = found["weights"].as_array().unwrap();
    assert!(weights.len() >= 3 && weights[0]["name"] == "(intercept)", "{found}");
    let coverage = |weight: &serde_json::Value| weight["coverage"].as_f64().unwrap();
    let mean = weights.iter().map(coverage).sum::<f64>() / weights.len() as f64;
    assert!((mean - found["mean"].as_f64().unwrap()).abs() < 1e-12 && (0.0..=1.0).contains(&mean));
    let table = utility(&all(&["--epsilon", "2", "--runs", "2"]));
    let text = String::from_utf8(table.stdout).unwrap();
    assert!(
        text.contains("weight") && text.contains("not private") && text.contains("(intercept)"),
        "{text}"
    );

    assert!(refused(&["--problem", "coverage", "--data", &data, "--epsilon", "1"]).contains("--positive-if"));
    let mut other = all(&["--epsilon", "1"]);
    other[1] = "logistic";
    assert!(refused(&other).contains("has no use for --data"));
    let missing = ["--problem", "coverage", "--data", "no.csv", "--positive-if", "y=1", "--epsilon", "1"];
    assert!(refused(&missing).contains("no.csv"));
}

/// Topics, a belief network and a logistic regression by noisy statistics, as their commands are written.
#[test]
fn statistics_print_their_metrics_and_keep_their_budgets() {
    let folder = Folder::new("", "utility-4");
    // Three subjects of four words each; one in seven words is of the next subject.
    let mut documents = String::new();
    for d in 0..600_usize {
        let mut counts = [0; 12];
        (0..28).for_each(|n| counts[4 * ((d + usize::from(n % 7 == 0)) % 3) + (d / 3 + n * n) % 4] += 1);
        let parts: Vec<String> =
            (0..12).filter(|v| counts[*v] > 0).map(|v| format!("{v}:{}", counts[v])).collect();
        writeln!(documents, "{} {}", parts.len(), parts.join(" ")).unwrap();
    }
    let data = folder.write("documents.ldac", documents);
    let words: String = (0..12).map(|v| format!("word{v}\n")).collect();
    let vocabulary = folder.write("vocabulary.txt", words);
    let lda = |relation: &str, more: &[&str]| {
        let own = ["--problem", "lda", "--data", &data, "--vocabulary", &vocabulary, "--words", "12"];
        let budget = ["--epsilon", "4", "--delta", "1e-5", "--fold", "9", "--runs", "2", "--steps", "20"];
        let last = ["--relation", relation, "--json"];
        json(&[&own[..], &budget[..], more, &last[..]].concat())
    };
    for relation in ["add-remove", "replace-one"] {
        let found = lda(relation, &[]);
        let figure = |name: &str| found[name].as_f64().unwrap();
        // How many topics there are is chosen, and paid for.
        assert!((3.0..=12.0).contains(&figure("topics")), "{found}");
        assert!(figure("mean") < 0.8 * figure("unigrams") && figure("mean") > 3.0, "{found}");
        assert!(figure("epsilon_upper") <= 4.0 && figure("epsilon_upper") > 3.9, "{found}");
        assert!(figure("standard_error") > 0.0);
    }
    assert_eq!(lda("add-remove", &["--topics", "2"])["topics"], 2.0);
    let wrong = |text: &str, words: &str| {
        let data = folder.write("wrong.ldac", text);
        refused(&["--problem", "lda", "--data", &data, "--words", words, "--epsilon", "1"])
    };
    assert!(wrong("1 0:1\n1 0:-1\n", "1").contains("wrong.ldac:2"));
    assert!(wrong("1 0:1.5\n", "1").contains("wrong.ldac:1"));
    assert!(wrong(&"1 0:1\n".repeat(20), "0").contains("--words must be from 1"));
    assert!(wrong(&"1 0:70000\n".repeat(20), "1").contains("65,535"));

    // The left or the right half of each image is on.
    let mut images = vec![0, 0, 8, 3, 0, 0, 1, 144, 0, 0, 0, 4, 0, 0, 0, 4];
    let mut labels = vec![0, 0, 8, 1, 0, 0, 1, 144];
    for i in 0..400_usize {
        labels.push((i % 2) as u8);
        images.extend((0..16).map(|at| if (at % 4 < 2) == (i % 3 == 0) && at != i % 16 { 200 } else { 0 }));
    }
    let (train, labels) = (folder.write("images", images), folder.write("labels", labels));
    let own = ["--problem", "belief-network", "--train", &train, "--labels", &labels, "--topics", "2"];
    let network = |last: &[&'static str]| own.iter().copied().chain(last.iter().copied()).collect::<Vec<_>>();
    let found = json(&network(&["--epsilon", "8", "--steps", "10", "--runs", "2", "--json"]));
    let figure = |name: &str| found[name].as_f64().unwrap();
    assert!(figure("mean") > figure("mean_image") && figure("mean") <= 1.0, "{found}");
    assert!(figure("epsilon_upper") <= 8.0, "{found}");
    let short = folder.write("short", [0, 0, 8, 1, 0, 0, 0, 1, 3]);
    let mut others = network(&["--epsilon", "8"]);
    others[5] = &short;
    assert!(refused(&others).contains("not as many labels"));

    let data = folder.write("people.csv", people(600, 4, None));
    let bounds = folder.write("bounds.toml", "x0 = [-3, 3]\nx1 = [-3, 3]\n");
    let found = json(&[
        "--problem",
        "statistics",
        "--data",
        &data,
        "--bounds",
        &bounds,
        "--positive-if",
        "y=1",
        "--epsilon",
        "4",
        "--delta",
        "1e-3",
        "--runs",
        "2",
        "--json",
    ]);
    for name in ["mean", "fixed_curvature", "gradients", "not_private"] {
        assert!((0.7..1.0).contains(&found[name].as_f64().unwrap()), "{name}: {found}");
    }
    assert!(found["epsilon_upper"].as_f64().unwrap() <= 4.0);
    assert!(refused(&["--problem", "statistics", "--epsilon", "1"]).contains("--positive-if"));
}

#[test]
fn what_is_wrong_is_one_line() {
    let folder = Folder::new("", "utility-3");
    let good = folder.write("good.csv", people(50, 1, None));
    let problem = |name: &'static str, file: &str| -> String {
        refused(&["--problem", name, "--train", file, "--epsilon", "1"])
    };
    assert!(problem("logistic", "no/such/file.csv").contains("no/such/file.csv: cannot be read"));
    assert!(
        problem("logistic", &folder.write("text.csv", "x0,y\nabc,1\n"))
            .contains(":2: column 'x0' does not hold a number here")
    );
    assert!(
        problem("logistic", &folder.write("label.csv", "x0,y\n0.5,2\n"))
            .contains("expected a label, 0 or 1, got 2")
    );
    assert!(problem("logistic", &folder.write("no-y.csv", "x0,z\n0.5,1\n")).contains("'y'"));
    assert!(problem("logistic", &folder.write("only-y.csv", "y\n1\n")).contains("no column of features"));
    assert!(problem("logistic", &folder.write("empty.csv", "")).contains("empty"));
    assert!(problem("abalone", &good).contains("sex"));
    assert!(problem("mixture", &good).contains("--problem mixture needs --test <FILE>"));
    assert!(problem("hierarchical", &good).contains("needs --test <FILE>"));
    assert!(problem("coverage", &good).contains("has no use for --train"));
    assert!(refused(&["--problem", "logistic", "--epsilon", "1"]).contains("needs --train <FILE>"));
    let groups = folder.write("groups.csv", "g0\n1\n");
    let train = folder.write("train.csv", people(40, 1, Some(2)));
    let told = refused(&[
        "--problem",
        "hierarchical",
        "--train",
        &train,
        "--test",
        &train,
        "--groups",
        &groups,
        "--epsilon",
        "1",
    ]);
    assert!(told.contains("column 'group': expected an integer from 0 to 0, got 1"), "{told}");
    for (option, value) in
        [("--epsilon", "0"), ("--epsilon", "nan"), ("--delta", "1"), ("--runs", "0"), ("--problem", "x")]
    {
        let mut all = vec!["--problem", "coverage", "--epsilon", "1", "--delta", "1e-5", "--runs", "1"];
        let at = all.iter().position(|known| *known == option).unwrap();
        all[at + 1] = value;
        assert!(refused(&all).contains(&format!("invalid value '{value}'")), "{option}");
    }
    assert!(refused(&["--problem", "coverage"]).contains("--epsilon"));
    assert!(refused(&["--epsilon", "1"]).contains("--problem"));
    assert!(refused(&[]).contains("set DP_DATA"));
}
