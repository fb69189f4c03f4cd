//! `fit` with a formula as a user meets it: a regression, its files, what it costs, and nonsense.

use std::io::Write;
use std::process::Stdio;

use crate::folder::Folder;

/// A folder with people and what is publicly known of them.
pub(crate) fn folder(name: &str) -> Folder {
    let folder = Folder::new(env!("CARGO_BIN_EXE_fit"), &format!("formula-{name}"));
    folder.write("people.csv", people());
    folder.write("schema.toml", SCHEMA);
    folder
}

const SCHEMA: &str = "age = [17, 90]\nhours = { range = [1, 99], missing = 40 }\nsex = ['female', 'male']\n\
                      job = ['clerk', 'nurse', 'smith']\nincome = [0, 200]\nchildren = [0, 8]\n";

pub(crate) fn people() -> String {
    let mut csv = "id,age,sex,hours,job,income,children\n".to_owned();
    for i in 0..600 {
        let (sex, job) = (["male", "female"][i % 3 % 2], ["clerk", "nurse", "smith"][i * 7 % 5 % 3]);
        let hours = if i % 50 == 7 { String::new() } else { (i % 90 + 1).to_string() };
        csv +=
            &format!("p{i},{},{sex},{hours},{job},{},{}\n", 17 + i % 60, (i * 37) % 100 + i % 60, i * 3 % 5);
    }
    csv
}

const FIT: [&str; 9] = [
    "income >= 80 ~ age*sex + hours + (1 | job)",
    "people.csv",
    "--schema",
    "schema.toml",
    "--epsilon",
    "1",
    "--steps",
    "40",
    "--test-fraction=0.25",
];

/// Exposures of a day to a year: a fit that began at the mean of the counts, whatever the offset, was lost, and did not
/// know.
#[test]
fn counts_with_exposures_are_found() {
    let folder = folder("exposures");
    let mut csv = "visits,x,days\n".to_owned();
    for k in 0..4000_u32 {
        let (x, days) = (f64::from(k * 7 % 201) / 50.0 - 2.0, 1 + k * 37 % 365);
        let mean = f64::from(days) * (-4.0 + 0.4 * x).exp();
        // Whole numbers of this mean, rounded up as often as they have to be.
        let visits = (mean + f64::from(k * 131 % 1000) / 1000.0).floor();
        csv += &format!("{visits},{x},{days}\n");
    }
    folder.write("visits.csv", csv);
    folder.write("visits.toml", "visits = [0, 40]\nx = [-2.0, 2.0]\ndays = [1, 365]\n");
    for epsilon in ["1", "10"] {
        let fit = ["visits ~ x + offset(log(days))", "visits.csv", "--schema", "visits.toml"];
        let more = ["--family", "poisson", "--epsilon", epsilon, "--test-seed-not-private", "3"];
        folder.good(&[&fit[..], &more, &["--model", &format!("m{epsilon}.json")]].concat());
        let model: serde_json::Value =
            serde_json::from_str(&folder.read(&format!("m{epsilon}.json"))).unwrap();
        for (place, truth) in [(0, -4.0), (1, 0.4)] {
            let found = &model["coefficients"][place];
            let (mean, sd) = (found["mean"].as_f64().unwrap(), found["sd"].as_f64().unwrap());
            assert!((mean - truth).abs() < 5.0 * sd + 0.03 && sd < 0.2, "{epsilon}: {found} for {truth}");
        }
    }
}

#[test]
fn a_formula_gives_a_table_a_report_and_a_model_that_predicts() {
    let folder = folder("whole");
    let files = ["--model", "m.json", "--html", "r.html", "--svg", "f.svg", "--coefficients", "c.csv"];
    let text = folder.good(&[&FIT[..], &files].concat());
    for part in [
        "age:sex[T.male]",
        "hours.missing",
        "by job",
        "sd(job, Intercept)",
        "base rate",
        "NOT covered by the guarantee",
        "-differential privacy, for data sets",
        "Model: m.json",
    ] {
        assert!(text.contains(part), "'{part}' is not in\n{text}");
    }
    let page = folder.read("r.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"));
    for part in ["<svg ", "Not covered by the guarantee", "of 100 cases", "income &gt;= 80"] {
        assert!(page.contains(part), "'{part}' is not in the page");
    }
    // Nothing from elsewhere, and no record: identifiers are canaries.
    assert!(!page.contains("<script") && !page.contains(" src=") && !page.contains("href="));
    for file in [&page, &folder.read("m.json"), &folder.read("f.svg"), &text] {
        assert!(!file.contains("p123"));
    }
    // The table has what was printed, with all digits.
    let table = folder.read("c.csv");
    assert!(
        table.starts_with(
            "epsilon,delta,private,of,name,mean,sd,low,high,sd_without_noise\n1.0,1e-6,yes,coefficient,"
        ) && !table.contains("p123"),
        "{table}"
    );
    for of in [
        "coefficient,age,",
        "coefficient,age:sex[T.male],",
        "\"sd(job, Intercept)\",",
        "by job,\"nurse, Intercept\",",
    ] {
        assert!(table.contains(of), "'{of}' is not in\n{table}");
    }
    for row in table.lines().skip(1) {
        // What there would be without noise is not known of a fit with groups.
        let numbers: Vec<f64> = row.rsplit(',').skip(1).take(4).map(|x| x.parse().unwrap()).collect();
        assert!(row.ends_with(','), "{row}");
        assert!(numbers[1] < numbers[3] && numbers[3] < numbers[0] && numbers[2] > 0.0, "{row}");
    }
    let new = "age,sex,hours,job\n30,male,40,nurse\n80,female,,clerk\n";
    folder.write("new.csv", new.as_bytes());
    let predicted = folder.good(&["predict", "m.json", "new.csv"]);
    let rows: Vec<Vec<f64>> =
        predicted.lines().skip(1).map(|line| line.split(',').map(|x| x.parse().unwrap()).collect()).collect();
    assert!(predicted.starts_with("line,mean,low,high\n") && rows.len() == 2, "{predicted}");
    for row in rows {
        assert!(0.0 <= row[2] && row[2] <= row[1] && row[1] <= row[3] && row[3] <= 1.0, "{predicted}");
    }
    // A prediction at a bound is not taken for one beyond it.
    folder.write("old.csv", b"age,sex,hours,job\n300,male,40,nurse\n80,female,,clerk\n");
    let run = folder.run(&["predict", "m.json", "old.csv"]);
    let said = String::from_utf8(run.stderr).unwrap();
    let outside =
        "Values outside their public bounds, which are moved to the nearer one: 1 of 2 of 'age'. These";
    assert!(run.status.success() && said.starts_with(outside) && said.lines().count() == 1, "{said}");
    // Versions are refused, and so is what is no model.
    let newer = folder.read("m.json").replacen("\"version\":1", "\"version\":2", 1);
    folder.write("newer.json", newer.as_bytes());
    assert!(folder.bad(&["predict", "newer.json", "new.csv"]).contains("version 2"));
    folder.write("other.json", b"{}");
    assert!(folder.bad(&["predict", "other.json", "new.csv"]).contains("not a model"));
    let crossed = folder.read("m.json").replacen("\"yes\"],\"low\":0.0", "\"yes\"],\"low\":2.0", 1);
    folder.write("crossed.json", crossed.as_bytes());
    assert!(folder.bad(&["predict", "crossed.json", "new.csv"]).contains("bounds of its outcome are [2, 1]"));
    folder.write("stranger.csv", b"age,sex,hours,job\n30,male,40,zz9plural\n");
    let told = folder.bad(&["predict", "m.json", "stranger.csv"]);
    assert!(told.contains("stranger.csv:2") && !told.contains("zz9plural"), "{told}");
}

/// Of numbers the ends of an interval of outcomes stand beside those of the mean; what a file says of the family's
/// other values is checked.
#[test]
fn outcomes_have_intervals_and_files_sound_draws() {
    let folder = folder("outcomes");
    let fit =
        ["age ~ sex", "people.csv", "--schema", "schema.toml", "--family", "gaussian", "--epsilon", "5"];
    folder.good(&[&fit[..], &["--model", "m.json", "--test-seed-not-private", "2"]].concat());
    let predicted = folder.good(&["predict", "m.json", "people.csv"]);
    assert!(predicted.starts_with("line,mean,low,high,outcome_low,outcome_high\n"), "{predicted}");
    for row in predicted.lines().skip(1) {
        let cells: Vec<f64> = row.split(',').map(|x| x.parse().unwrap()).collect();
        assert!(
            cells[4] < cells[2] && cells[2] <= cells[1] && cells[1] <= cells[3] && cells[3] < cells[5],
            "{row}"
        );
    }
    let model: serde_json::Value = serde_json::from_str(&folder.read("m.json")).unwrap();
    let damaged = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut other = model.clone();
        change(&mut other["draws"]);
        folder.write("damaged.json", other.to_string().as_bytes());
        folder.bad(&["predict", "damaged.json", "people.csv"])
    };
    let told = damaged(&|draws| draws["more"][0][1][3] = (-1.0).into());
    assert!(told.contains("damaged.json") && told.contains("draws of 'sigma'"), "{told}");
    assert!(damaged(&|draws| draws["more"] = serde_json::json!([])).contains("no 'sigma'"));
    assert!(damaged(&|draws| draws["point"] = serde_json::json!([1.0])).contains("not complete"));
}

#[test]
fn several_budgets_are_paid_from_one_ledger() {
    let folder = folder("several");
    let fit =
        ["income ~ age", "people.csv", "--schema", "schema.toml", "--family", "gaussian", "--steps", "30"];
    let text = folder.good(&[&fit[..], &["--epsilon", "0.3,1"]].concat());
    let (_, together) = text.split_once("The 2 fits together: (").expect("what they cost together");
    let epsilon: f64 = together.split(',').next().unwrap().parse().unwrap();
    assert!(1.0 < epsilon && epsilon < 1.3, "{together}");
    // A ledger in a file: it is made when its budget is named, and refuses what it cannot pay, without a debit.
    assert!(
        folder.bad(&[&fit[..], &["--epsilon", "1", "--ledger", "l"]].concat()).contains("--ledger-epsilon")
    );
    folder.good(&[&fit[..], &["--epsilon", "1", "--ledger", "l", "--ledger-epsilon", "1.2"]].concat());
    let before = folder.read("l");
    let told = folder.bad(&[&fit[..], &["--epsilon", "1", "--ledger", "l", "--model", "m.json"]].concat());
    assert!(told.contains("budget"), "{told}");
    assert_eq!((folder.read("l"), folder.path("m.json").exists()), (before, false));
    // Of several the first is paid for and said, and the second is an error.
    let output = folder.run(&[&fit[..], &["--epsilon", "0.2,5", "--ledger", "l"]].concat());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.code() == Some(2) && text.contains("epsilon = 0.2") && text.contains("has spent"),
        "{text}"
    );
}

#[test]
fn a_run_leaves_checkpoints_and_goes_on() {
    let folder = folder("resume");
    let fit = [
        "children ~ age",
        "people.csv",
        "--schema",
        "schema.toml",
        "--family",
        "poisson",
        "--epsilon",
        "1",
        "--steps",
        "60",
        "--checkpoint",
        "c",
        "--model",
    ];
    folder.good(&[&fit[..], &["a.json"]].concat());
    assert!(folder.bad(&[&fit[..], &["b.json"]].concat()).contains("c"));
    folder.good(&[&fit[..], &["b.json", "--resume"]].concat());
    let values = |name: &str| {
        let json: serde_json::Value = serde_json::from_str(&folder.read(name)).unwrap();
        json["coefficients"].clone()
    };
    assert_eq!(values("a.json"), values("b.json"));
    // The coordinates of the fit are kept beside the checkpoint; without them, or with others, it does not go on.
    let kept = folder.read("c.whitening");
    folder.write("c.whitening", &kept[..kept.len() / 2]);
    assert!(folder.bad(&[&fit[..], &["d.json", "--resume"]].concat()).contains("c.whitening"));
    std::fs::remove_file(folder.path("c.whitening")).unwrap();
    folder.bad(&[&fit[..], &["d.json", "--resume"]].concat());
    folder.write("c.whitening", kept);
    folder.good(&[&fit[..], &["d.json", "--resume"]].concat());
    assert_eq!(values("a.json"), values("d.json"));
    // Coordinates belong to their checkpoint: without it the fit begins anew, from whatever ledger the rest was paid.
    std::fs::remove_file(folder.path("c")).unwrap();
    let ledger = ["--ledger", "l", "--ledger-epsilon", "1.01"];
    let told = folder.bad(&[&fit[..], &["e.json", "--resume"], &ledger].concat());
    assert!(told.contains("no checkpoint c to go on from") && !folder.path("l").exists(), "{told}");
    folder.good(&[&fit[..], &["e.json"], &ledger].concat());
    let (kept, of) = (folder.read("c.whitening"), folder.read("l"));
    assert!(of.lines().count() > 4, "{of}");
    std::fs::remove_file(folder.path("c")).unwrap();
    assert!(folder.bad(&[&fit[..], &["f.json", "--ledger", "l"]].concat()).contains("budget"));
    assert_eq!((folder.read("l"), folder.read("c.whitening")), (of, kept));
    // It is never written over another file that is named.
    folder.bad(&[&fit[..], &["c.whitening", "--resume"]].concat());
}

/// Regressions keep what they have found of a scale or a dispersion, and go on with it. What was released at their end
/// is not paid for again.
#[test]
fn a_run_with_a_scale_or_dispersion_goes_on() {
    let values = |folder: &Folder, name: &str| {
        let json: serde_json::Value = serde_json::from_str(&folder.read(name)).unwrap();
        (json["coefficients"].clone(), json["draws"]["more"].clone())
    };
    for family in ["gaussian", "negative-binomial"] {
        let folder = folder(&format!("resume-{family}"));
        let options =
            "people.csv --schema schema.toml --epsilon 1 --steps 60 --checkpoint c --ledger l --family";
        let fit = |more: &'static str| {
            let all = ["children ~ age"].into_iter().chain(options.split(' ')).chain([family, "--model"]);
            all.chain(more.split(' ')).collect::<Vec<_>>()
        };
        folder.good(&fit("a.json --ledger-epsilon 1.01"));
        let (whole, kept) = (folder.read("l"), folder.read("c.nuisance"));
        folder.good(&fit("b.json --resume"));
        assert_eq!((folder.read("l"), folder.read("c.nuisance")), (whole, kept.clone()));
        assert_eq!(values(&folder, "a.json"), values(&folder, "b.json"));
        let newer = kept.replace("\"nuisance\":1", "\"nuisance\":2");
        let other = kept.replace("sigma", "none").replace("phi", "sigma");
        for damaged in [&kept[..kept.len() / 2], &newer, &other, "", "{}"] {
            folder.write("c.nuisance", damaged);
            assert!(folder.bad(&fit("d.json --resume")).contains("c.nuisance"), "{damaged}");
        }
        std::fs::remove_file(folder.path("c.nuisance")).unwrap();
        assert!(folder.bad(&fit("d.json --resume")).contains("c.nuisance"));
        assert!(!folder.path("d.json").exists());
        folder.bad(&fit("c.nuisance --resume"));
    }
}

#[test]
fn a_closed_pipe_is_an_error_and_loses_no_file() {
    let folder = folder("pipe");
    let mut child = folder
        .command(&[&FIT[..], &["--model", "m.json"]].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a program that starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(folder.read("m.json").contains("\"version\":1"));
}

/// Beside each coefficient stands what its standard deviation would be without noise: about the same at a budget that
/// says a lot, and much less at one that says little. A coefficient that stays as its prior is named.
#[test]
fn a_fit_says_what_is_noise_and_what_is_hardly_learned() {
    let folder = folder("noise");
    let fit = |epsilon: &str, prior: &str| {
        let files = ["--coefficients=c.csv", "--model=m.json", "--html=r.html", "--test-seed-not-private=1"];
        let formula =
            ["income >= 50 ~ age + sex", "people.csv", "--schema=schema.toml", "--epsilon", epsilon];
        let formula = [&formula[..], &["--prior", prior]].concat();
        let text = folder.good(&[&formula[..], &files].concat());
        let table = folder.read("c.csv");
        let sds: Vec<(f64, f64)> = table
            .lines()
            .skip(1)
            .map(|row| {
                let numbers: Vec<f64> = row.rsplit(',').take(4).map(|x| x.parse().unwrap()).collect();
                (numbers[3], numbers[0])
            })
            .collect();
        assert_eq!(sds.len(), 3, "{table}");
        let page = folder.read("r.html");
        assert!(page.contains("<th>sd without noise</th>") && text.contains("sd without noise"), "{text}");
        let model: serde_json::Value = serde_json::from_str(&folder.read("m.json")).unwrap();
        assert_eq!(model["coefficients"][2]["sd_without_noise"].as_f64().unwrap(), sds[2].1);
        (text, page, sds)
    };
    let wide = "sex=normal(0,10)";
    let (text, page, much) = fit("200", wide);
    assert!(!text.contains("next to nothing") && !page.contains("next to nothing"), "{text}");
    assert!(much.iter().all(|(sd, without)| (0.8..1.05).contains(&(without / sd))), "{much:?}");
    let (_, _, little) = fit("0.02", wide);
    assert!(little.iter().all(|(sd, without)| without / sd < 0.7), "{little:?}");
    let (text, page, _) = fit("0.3", "sex=normal(0,0.02)");
    let said = "next to nothing is learned of: sex[T.male].";
    assert!(text.contains(said) && page.contains(said), "{text}");
}

/// What the person who holds the file asks for, and nobody else is shown.
#[test]
fn values_are_shown_and_counted_where_that_is_asked_for() {
    let folder = folder("values");
    folder.write(
        "word.csv",
        b"id,age,sex,hours,job,income,children\n1,30,male,40,clerk,90,0\n2,3x,male,40,clerk,1,0\n",
    );
    folder.write("ragged.csv", b"id,age\n1,30\n2,40,s3cr3t\n");
    folder.write("few.toml", b"age = [17, 30]\nincome = [0, 100]\nhours = [1, 99]\n");
    let long = |data: &'static str| {
        ["income >= 80 ~ age", data, "--schema", "few.toml", "--epsilon=1", "--steps=20"]
    };
    let short = |data: &'static str| {
        [
            "--data",
            data,
            "--positive-if",
            "income>=80",
            "--features=age",
            "--bounds=few.toml",
            "--epsilon=1",
            "--delta=1e-5",
        ]
    };
    for (data, cell) in [("word.csv", "3x"), ("ragged.csv", "s3cr3t")] {
        for fit in [&long(data)[..], &short(data)[..]] {
            let plain = folder.bad(fit);
            assert!(!plain.contains(cell), "{plain}");
            let shown = folder.bad(&[fit, &["--show-values"]].concat());
            assert!(shown.contains(cell) && shown.contains("do not publish it"), "{shown}");
        }
    }
    for fit in [&long("people.csv")[..], &[&short("people.csv")[..], &["--steps=20"]].concat()] {
        let output = folder.run(&[fit, &["--count-clamped"]].concat());
        assert!(output.status.success());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("of 'age'") && said.contains("NOT covered by the guarantee"), "{said}");
        assert!(!said.contains("'hours'"), "only what is used, or outside: {said}");
        // Not among what may be shown.
        assert!(!String::from_utf8_lossy(&output.stdout).contains("outside"), "{said}");
        assert!(!String::from_utf8_lossy(&folder.run(fit).stderr).contains("outside"));
    }
}

/// Tables that are too large for a fit are refused before memory or time is spent on them.
#[test]
fn large_designs_are_refused() {
    let folder = folder("large");
    let wide: Vec<String> = (0..30_000).map(|i| format!("x{i}")).collect();
    folder.write("wide.csv", format!("y,{}\n1,{}\n", wide.join(","), vec!["0"; 30_000].join(",")).as_bytes());
    let schema: String = wide.iter().map(|name| format!("{name} = [0, 1]\n")).collect();
    folder.write("wide.toml", format!("y = [0, 1]\n{schema}").as_bytes());
    let told = folder.bad(&["y ~ .", "wide.csv", "--schema=wide.toml", "--family=gaussian", "--epsilon=1"]);
    assert!(told.contains("30000 columns") && told.contains("at most 1000 terms"), "{told}");
    let short = |data: &'static str, condition: &'static str, bounds: &'static str| {
        folder.bad(&[
            "--data",
            data,
            "--positive-if",
            condition,
            "--bounds",
            bounds,
            "--epsilon=1",
            "--delta=1e-5",
        ])
    };
    let rows: String = (0..3000).map(|i| format!("t{i},{}\n", i % 2)).collect();
    folder.write("towns.csv", ("town,y\n".to_owned() + &rows).as_bytes());
    let towns: Vec<String> = (0..3000).map(|i| format!("'t{i}'")).collect();
    folder.write("towns.toml", format!("town = [{}]", towns.join(", ")).as_bytes());
    let told = short("towns.csv", "y=1", "towns.toml");
    assert!(told.contains("3000 columns") && told.contains("at most 2000"), "{told}");
    let told = short("wide.csv", "y=1", "wide.toml");
    assert!(told.contains("30001 columns") && told.contains("at most 2000"), "{told}");
}

/// Five hundred columns, and a column of two thousand categories. Of the columns one in 25 is a number and the others
/// have two categories, of which effects are computed at two values and not at thirteen.
#[test]
fn wide_designs_are_fitted() {
    let folder = folder("wide");
    let names: Vec<String> = (0..500).map(|i| format!("x{i}")).collect();
    let row = |i: usize| (0..500).map(|j| (i * (j + 3) / 7 % 2).to_string()).collect::<Vec<_>>().join(",");
    let rows: Vec<String> = (0..40).map(row).collect();
    folder.write("wide.csv", format!("{}\n{}\n", names.join(","), rows.join("\n")));
    let entry = |i: usize| if i.is_multiple_of(25) { "[0, 1]" } else { "['0', '1']" };
    let schema = names.iter().enumerate().map(|(i, name)| format!("{name} = {}\n", entry(i)));
    folder.write("wide.toml", schema.collect::<String>());
    let end = ["--epsilon=1", "--steps=5"];
    let text =
        folder.good(&[&["x0 ~ .", "wide.csv", "--schema=wide.toml", "--family=gaussian"][..], &end].concat());
    assert!(text.contains("\nx475 ") && text.contains("x499[T.1]"), "{text}");
    let towns: Vec<String> = (0..1999).map(|i| format!("'t{i}'")).collect();
    folder.write("towns.toml", format!("y = [0, 1]\ntown = [{}]", towns.join(", ")));
    let rows: String = (0..200).map(|i| format!("t{},{}\n", i * 9, i % 2)).collect();
    folder.write("towns.csv", "town,y\n".to_owned() + &rows);
    let text = folder.good(&[&["y >= 1 ~ town", "towns.csv", "--schema=towns.toml"][..], &end].concat());
    assert!(text.contains("town[T.t1998]"));
}

#[test]
fn schemas_are_drafted_from_the_header() {
    let folder = folder("schema");
    let text = folder.good(&["schema", "people.csv"]);
    assert!(text.contains("id: left out") && text.contains("#age = [LOW, HIGH]"), "{text}");
    assert!(!text.contains("female") && !text.contains("p1"));
    let public = folder.good(&["schema", "people.csv", "--public-categories"]);
    folder.write("public.toml", (public + "age = [17, 90]\n").as_bytes());
    let text = folder.good(&[
        "sex ~ age + job",
        "people.csv",
        "--schema",
        "public.toml",
        "--family=bernoulli",
        "--epsilon=1",
        "--steps=20",
    ]);
    assert!(text.contains("the 3 categories of column 'job' were read from the records"), "{text}");
}

#[test]
fn compressed_files_and_their_kin_are_read() {
    let folder = folder("gzip");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(("\u{feff}".to_owned() + &people().replace('\n', "\r\n")).as_bytes()).unwrap();
    let packed = encoder.finish().unwrap();
    folder.write("people.csv.gz", &packed);
    let fit = |data: &'static str| {
        ["children ~ sex", data, "--schema", "schema.toml", "--family=poisson", "--epsilon=1", "--steps=20"]
    };
    folder.good(&fit("people.csv.gz"));
    folder.write("cut.csv.gz", &packed[..packed.len() / 2]);
    assert!(folder.bad(&fit("cut.csv.gz")).contains("gzip"));
}

#[test]
fn bad_input_is_one_line_that_says_what_to_do_and_holds_no_cell() {
    let folder = folder("bad");
    let secret = "s3cr3t";
    let with = |name: &str, row: &str| {
        folder.write(name, ("id,age,sex,hours,job,income,children\n".to_owned() + row + "\n").as_bytes());
    };
    with("word.csv", &format!("1,{secret},male,40,clerk,1,0"));
    with("missing.csv", "1,N/A,male,40,clerk,1,0");
    with("category.csv", &format!("1,30,{secret},40,clerk,1,0"));
    with("ragged.csv", &format!("1,30,male,40,clerk,1,0,{secret}"));
    with("quote.csv", &format!("1,30,\"{secret}\n,40,clerk,1,0"));
    let mut many = "town,y\n".to_owned();
    (0..100_000).for_each(|i| many += &format!("{secret}{i},{}\n", i % 7));
    folder.write("many.csv", many.as_bytes());
    folder.write("y.toml", b"y = [0, 9]");
    let towns: Vec<String> = (0..=100_000).map(|i| format!("'{secret}{i}'")).collect();
    folder.write("towns.toml", format!("y = [0, 9]\ntown = [{}]", towns.join(", ")).as_bytes());
    // Within the bounds [0, 1] both of these would be 1.
    folder.write("coded.csv", b"y,age\n1,30\n2,40\n");
    folder.write("coded.toml", b"y = [0, 1]\nage = [18, 90]");
    folder.write("odd.toml", b"age = { rangee = [0, 1] }");
    folder.write("t.parquet", b"PAR1nonsense");
    let before = folder.files();
    let cases: [(&[&str], &[&str]); 23] = [
        (&["income ==>50K ~ age", "people.csv"], &["'income ==>50K'", "character 10", "goes in quotes"]),
        (&["income >= 80 ~ age", "t.parquet"], &["t.parquet", "Parquet"]),
        (&["income >= 80 ~ . + .x", "people.csv"], &["character"]),
        (&["income >= 80 ~ agee", "people.csv"], &["'agee'", "did you mean 'age'?"]),
        (&["income >= 80 ~ id + age", "people.csv"], &["'id'", "identifier"]),
        (&["income >= 80 ~ age", "word.csv"], &["word.csv:2", "'age'", "missing_texts"]),
        (&["income >= 80 ~ age", "missing.csv"], &["missing.csv:2", "'age'", "missing = \"drop\""]),
        (&["income >= 80 ~ age + sex", "category.csv"], &["category.csv:2", "'sex'", "'female', 'male'"]),
        (&["income >= 80 ~ age", "ragged.csv"], &["ragged.csv:2", "8 cells", "in quotes"]),
        (&["income >= 80 ~ age", "quote.csv"], &["quote.csv:2", "never closed"]),
        (
            &["y ~ town", "many.csv", "--schema", "y.toml", "--public-categories", "--family=poisson"],
            &["'town'", "more than 50"],
        ),
        (
            &["y ~ town", "many.csv", "--schema", "towns.toml", "--family=poisson"],
            &["100001 columns", "at most 2000", "(1 | column)"],
        ),
        (
            &["y ~ (1 | town)", "many.csv", "--schema", "towns.toml", "--family=poisson"],
            &["100001 coefficients by group", "at most 10000"],
        ),
        (
            &["y ~ age", "coded.csv", "--schema", "coded.toml", "--family=bernoulli"],
            &["a bernoulli outcome is 0 or 1", "y >= 1.5"],
        ),
        (&["income ~ age", "people.csv"], &["--family"]),
        (&["income ~ age +", "people.csv", "--family=gaussian"], &["'income ~ age +' at character 15"]),
        (&["income ~ log(children)", "people.csv", "--family=gaussian"], &["log(children + 1)"]),
        (&["income ~ income", "people.csv", "--family=gaussian"], &["from itself"]),
        (&["income ~ age", "people.csv", "--family=cauchy"], &["expected one of bernoulli"]),
        (&["income ~ age", "people.csv", "--family=gaussian", "--prior", "age=normal(0)"], &["normal(0,2)"]),
        (
            &["income ~ age", "people.csv", "--family=gaussian", "--schema", "odd.toml"],
            &["odd.toml:1", "'rangee'"],
        ),
        (&["income ~ age", "people.csv", "--family=gaussian", "--model", "people.csv"], &["the same file"]),
        (&["income ~ age", "none.csv", "--family=gaussian"], &["none.csv", "cannot be read"]),
    ];
    for (arguments, told) in cases {
        let mut all = arguments.to_vec();
        if !arguments.contains(&"--schema") {
            all.extend(["--schema", "schema.toml"]);
        }
        all.extend(["--epsilon", "1", "--html", "r.html"]);
        let line = folder.bad(&all);
        assert!(told.iter().all(|part| line.contains(part)), "{arguments:?}: {line}");
        assert!(!line.contains(secret), "a cell is repeated: {line}");
        assert_eq!(folder.files(), before, "{arguments:?} left something behind");
    }
}

#[test]
fn a_dot_stands_for_all_other_columns() {
    let folder = folder("dot");
    let fit = ["income >= 80 ~ . - sex + (1 | job)", "people.csv", "--schema", "schema.toml", "--epsilon=1"];
    let text = folder.good(&[&fit[..], &["--steps=20", "--model", "m.json"]].concat());
    assert!(text.starts_with("income >= 80 ~ (age + sex + hours + children) - sex + (1 | job)"), "{text}");
    assert!(text.contains("hours.missing") && !text.contains("sex[T.male]"), "{text}");
    folder.good(&["predict", "m.json", "people.csv"]);
    let more = ["people.csv", "--schema", "few.toml", "--public-categories", "--epsilon=1"];
    folder.write("few.toml", "age = [17, 90]\nsex = ['female', 'male']\n");
    let fit = |formula| [&[formula][..], &more, &["--family=bernoulli", "--steps=20"]].concat();
    let outputs = ["--coefficients", "c.csv", "--svg", "p.svg"];
    let text = folder.good(&[&fit("sex ~ . - hours - income - children")[..], &outputs].concat());
    assert!(folder.read("c.csv").contains(",but for names,coefficient,"));
    assert!(folder.read("p.svg").contains("with categories read from the records"));
    assert!(text.starts_with("sex ~ (age + hours + job + income + children) - hours"), "{text}");
    assert!(text.contains("the 3 categories of column 'job' were read from the records"), "{text}");
    // Whether a column is used does not depend on what is in it.
    let told = folder.bad(&fit("sex ~ . - hours - income"));
    assert!(told.contains("'children'") && told.contains("children = ["), "{told}");
}

#[test]
fn figures_of_test_records_can_be_paid_for() {
    let folder = folder("figures");
    let fit =
        ["income >= 80 ~ age + sex", "people.csv", "--schema", "schema.toml", "--epsilon=1", "--steps=60"];
    let paid = ["--private-metrics=5", "--test-fraction=0.5", "--html", "r.html"];
    let text = folder.good(&[&fit[..], &paid].concat());
    for part in ["with noise, for epsilon 5", "area under the ROC curve", "either fitted or tested"] {
        assert!(text.contains(part), "'{part}' is not in\n{text}");
    }
    assert!(!text.contains("NOT covered") && folder.read("r.html").contains("may be shown"));
    // Exact figures of the same split lie near by: 5 standard deviations of the noise, which is stated.
    let area = |text: &str| -> Vec<f64> {
        let line = text.lines().find(|line| line.contains("area under the ROC curve")).unwrap();
        line.split(|c: char| c.is_whitespace() || c == '(').filter_map(|word| word.parse().ok()).collect()
    };
    let fixed = ["--test-seed-not-private=3", "--test-fraction=0.5"];
    let noisy = area(&folder.good(&[&fit[..], &fixed, &["--private-metrics=5"]].concat()));
    let exact = area(&folder.good(&[&fit[..], &fixed].concat()));
    // The value and its noise; 0.2 of the log odds in bins move it by little.
    assert!((noisy[0] - exact[0]).abs() < 5.0 * noisy[1] + 0.02, "{noisy:?} {exact:?}");
    assert!(folder.bad(&[&fit[..], &["--private-metrics=1"]].concat()).contains("--test-fraction"));
    // From a ledger in a file fit and figures are paid both.
    let ledger = ["--ledger", "l", "--ledger-epsilon=2", "--test-fraction=0.5", "--private-metrics=0.5"];
    let text = folder.good(&[&fit[..], &ledger].concat());
    let spent: f64 = text.split("has spent ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(1.0 < spent && spent < 1.5 && text.contains("these fits and figures included"), "{text}");
    let fit = ["income ~ age", "people.csv", "--schema", "schema.toml", "--epsilon=1", "--steps=60"];
    let text = folder.good(&[&fit[..], &["--family=gaussian"], &paid].concat());
    assert!(text.contains("root mean square error"), "{text}");
}

/// A disk that is full: the message is one line, nothing is left half written, and what was paid for can be had again.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_loses_no_file_and_leaves_no_half_of_one() {
    let folder = folder("full");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a device");
    let output =
        folder.command(&[&FIT[..], &["--model", "m.json"]].concat()).stdout(full).output().expect("an end");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), told.lines().count()), (Some(2), 1), "{told}");
    assert!(folder.read("m.json").ends_with("}\n"));
    // A file that cannot be written is an error before anything is spent.
    let before = folder.files();
    let told = folder.bad(&[&FIT[..], &["--html", "/proc/r.html"]].concat());
    assert!(told.contains("/proc/r.html") && folder.files() == before, "{told}");
}

/// A run that is interrupted goes on from its checkpoint, and is paid for once.
#[test]
#[cfg(unix)]
fn an_interrupted_run_is_paid_for_once_and_goes_on() {
    let folder = folder("interrupted");
    let fit = ["income ~ age + sex + hours", "people.csv", "--schema", "schema.toml", "--family=gaussian"];
    let more = ["--epsilon=1", "--steps=20000", "--checkpoint", "c", "--ledger", "l", "--ledger-epsilon=1.5"];
    let fit = [&fit[..], &more].concat();
    let mut child = folder.command(&fit).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a run");
    for _ in 0..6000 {
        if folder.path("c").exists() || child.try_wait().expect("a state").is_some() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    // The program handles neither signal; SIGINT would be ignored where the tests run in a shell's background.
    folder.run_other("kill", &["-TERM", &child.id().to_string()]);
    assert!(!child.wait().expect("an end").success(), "the run was over before it could be interrupted");
    let text = folder.good(&[&fit[..], &["--resume"]].concat());
    // Steps after the last checkpoint, at most 25 of 20,000, were paid for and lost: they are paid for again.
    let spent: f64 = text.split("has spent ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!((0.99..1.01).contains(&spent), "{text}");
    // Nothing is left for another fit.
    assert!(folder.bad(&[&fit[..5], &["--epsilon=1.4", "--ledger", "l"]].concat()).contains("budget"));
}

/// Budgets that need more noise than can be drawn: the message names option, value and the smallest that works, and
/// that works.
#[test]
fn a_budget_that_is_too_small_is_named_with_the_smallest_that_works() {
    let folder = folder("tiny");
    for (formula, family) in [
        ("children ~ age", "gaussian"),
        ("children ~ age", "poisson"),
        ("income >= 80 ~ age", "bernoulli"),
        ("income ~ age", "student"),
    ] {
        let fit = |epsilon: &str, delta: &str| {
            let all = [formula, "people.csv", "--schema", "schema.toml", "--steps=30", "--family", family];
            let words = all.map(str::to_owned).into_iter();
            words.chain([format!("--epsilon={epsilon}"), format!("--delta={delta}")]).collect::<Vec<_>>()
        };
        let run = |words: &[String]| folder.run(&words.iter().map(String::as_str).collect::<Vec<_>>());
        for (epsilon, delta) in [("1e-6", "1e-6"), ("1e-9", "1e-12")] {
            let words = fit(epsilon, delta);
            let told = folder.bad(&words.iter().map(String::as_str).collect::<Vec<_>>());
            let named = format!("--epsilon {epsilon} is too small for this fit at --delta {delta}");
            assert!(told.contains(&named), "{told}");
            let smallest = told.split("the smallest that works is ").nth(1).expect(&told);
            let smallest: f64 = smallest.split(',').next().unwrap().parse().expect(&told);
            assert!(run(&fit(&smallest.to_string(), delta)).status.success(), "{family}: {told}");
            assert!(!run(&fit(&(0.9 * smallest).to_string(), delta)).status.success(), "{family}: {told}");
        }
    }
}

/// What of a run with a known seed stands in several statements, each says that it is not private; few steps promise
/// no intervals, whatever the form; and figures are not paid for that could not be drawn.
#[test]
fn statements_say_what_was_done() {
    let folder = folder("statements");
    let fit = ["sex['male'] ~ age", "people.csv", "--schema", "schema.toml", "--test-seed-not-private", "1"];
    let both = ["--epsilon", "1,2", "--steps", "100", "--test-fraction", "0.2", "--private-metrics", "0.5"];
    let text = folder.good(&[&fit[..], &both].concat());
    let last = text.find("The 2 fits together").unwrap();
    assert!(text[..last].trim_end().ends_with("NOT PRIVATE. With secret seeds it would be:"), "{text}");
    let more = [
        "--epsilon=1",
        "--steps=100",
        "--test-fraction=0.2",
        "--private-metrics=0.5",
        "--ledger=f",
        "--ledger-epsilon=9",
    ];
    let outputs = ["--html", "r.html", "--svg", "p.svg", "--coefficients", "c.csv"];
    let text = folder.good(&[&fit[..], &more, &outputs].concat());
    assert!(text.contains("NOT PRIVATE, and paid for all the same. The ledger f"), "{text}");
    assert!(text.contains("NOT PRIVATE, the seed is known. About"), "{text}");
    assert!(folder.read("p.svg").contains("NOT PRIVATE") && folder.read("c.csv").contains(",no,coefficient"));
    let page = folder.read("r.html");
    assert!(page.contains("are NOT PRIVATE: their noise") && !page.contains("may be shown"), "{page}");
    let short = [
        "--data",
        "people.csv",
        "--positive-if",
        "sex==male",
        "--features",
        "age",
        "--bounds",
        "schema.toml",
    ];
    let forms = [&[&fit[..4], &["--clip-norm", "1"]].concat()[..], &short];
    for form in forms {
        let text = folder.good(
            &[form, &["--epsilon", "1", "--delta", "1e-6", "--steps", "5", "--test-seed-not-private", "1"]]
                .concat(),
        );
        assert!(!text.contains("include the privacy noise") && text.contains("so few steps"), "{text}");
    }
    let ledger = ["--ledger", "l.json", "--ledger-epsilon", "5", "--epsilon", "1", "--delta", "1e-8"];
    let figures = ["--test-fraction", "0.2", "--private-metrics", "1e-7"];
    let told = folder.bad(&[&fit[..], &ledger, &figures].concat());
    assert!(told.contains("--private-metrics 1e-7"), "{told}");
    assert!(!folder.path("l.json").exists());
}

/// Small outcomes are predicted as they are, with seven digits.
#[test]
fn small_outcomes_are_not_rounded_to_zero() {
    let folder = folder("small");
    let rows: String =
        (0..500).map(|k| format!("{},{:e}\n", k % 10, 1e-8 * f64::from(k % 10 + k % 3))).collect();
    folder.write("s.csv", format!("x,s\n{rows}"));
    folder.write("s.toml", "x = [0, 9]\ns = [0.0, 1.2e-7]\n");
    let fit = ["s ~ x", "s.csv", "--schema", "s.toml", "--family", "gaussian", "--epsilon", "5"];
    folder.good(&[&fit[..], &["--test-seed-not-private", "1", "--model", "m.json"]].concat());
    let text = folder.good(&["predict", "m.json", "s.csv"]);
    let means: Vec<f64> =
        text.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse().unwrap()).collect();
    assert!(means.len() == 500 && means[9] > 5e-8 && means[9] < 1.5e-7, "{:?}", &means[..10]);
    // An altered model with bounds in the wrong order is refused.
    let model = folder.read("m.json");
    assert!(model.contains("\"high\""), "{model:.300}");
    let mut value: serde_json::Value = serde_json::from_str(&model).unwrap();
    value["schema"]["columns"]["x"]["kind"]["range"]["high"] = (-1.0).into();
    folder.write("altered.json", value.to_string());
    let told = folder.bad(&["predict", "altered.json", "s.csv"]);
    assert!(told.contains("no finite width"), "{told}");
}
