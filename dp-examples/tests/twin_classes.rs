//! The program `twin` with latent classes.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use dp_accountant::FileLedger;

use crate::folder::Folder;

const TWIN: &str = env!("CARGO_BIN_EXE_twin");

const SCHEMA: &str = "hours = [0, 60]\nsport = [\"none\", \"chess\", \"rowing\"]\npet = [\"no\", \"yes\"]\ncity = [\"no\", \"yes\"]\n";

/// Two kinds of people, 60 and 40 %, whose columns are independent within each: 6,000 rows without chance but for a
/// generator of congruences.
fn people() -> String {
    let mut state = 1_u64;
    let mut share = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let mut csv = "hours,sport,pet,city\n".to_owned();
    for _ in 0..6000 {
        let first = share() < 0.6;
        let hours = if first { 40.0 * share() } else { 30.0 + 30.0 * share() };
        let (none, chess) = if first { (0.7, 0.2) } else { (0.1, 0.3) };
        let sport = match share() {
            x if x < none => "none",
            x if x < none + chess => "chess",
            _ => "rowing",
        };
        let pet = if share() < (if first { 0.15 } else { 0.8 }) { "yes" } else { "no" };
        let city = if share() < (if first { 0.9 } else { 0.25 }) { "yes" } else { "no" };
        let _ = writeln!(csv, "{hours:.0},{sport},{pet},{city}");
    }
    csv
}

fn folder(name: &str) -> Folder {
    let folder = Folder::new(TWIN, &format!("twin-classes-{name}"));
    folder.write("people.csv", people());
    folder.write("s.toml", SCHEMA);
    folder
}

const FIT: &str = "fit people.csv --schema s.toml --epsilon 2 --model latent-classes --classes 4 \
                   --test-seed-not-private 3 --out out";

/// Cells of each row, numbers in six bins.
fn rows(csv: &str) -> Vec<Vec<String>> {
    let cell = |(place, text): (usize, &str)| match place {
        0 => (text.parse::<u32>().expect("hours") / 11).to_string(),
        _ => text.to_owned(),
    };
    csv.lines().skip(1).map(|line| line.split(',').enumerate().map(cell).collect()).collect()
}

/// Shares of the combinations of some columns.
fn shares(rows: &[Vec<String>], columns: &[usize]) -> BTreeMap<Vec<String>, f64> {
    let mut found = BTreeMap::new();
    for row in rows {
        let key: Vec<String> = columns.iter().map(|&column| row[column].clone()).collect();
        *found.entry(key).or_insert(0.0) += 1.0 / rows.len() as f64;
    }
    found
}

fn distance(one: &BTreeMap<Vec<String>, f64>, other: &BTreeMap<Vec<String>, f64>) -> f64 {
    let of = |table: &BTreeMap<Vec<String>, f64>, key| table.get(key).copied().unwrap_or(0.0);
    let keys: std::collections::BTreeSet<_> = one.keys().chain(other.keys()).collect();
    keys.into_iter().map(|key| 0.5 * (of(one, key) - of(other, key)).abs()).sum()
}

/// One column is within .03 of the table's, two within .06, where columns that were independent of each other would be
/// .15 off. The seed is fixed.
#[test]
fn classes_recover_shares_of_one_and_two_columns() {
    let folder = folder("shares");
    let told = folder.good(FIT);
    assert!(told.contains("4 latent classes, within which columns are independent"), "{told}");
    let mut files: Vec<_> =
        std::fs::read_dir(folder.path("out")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    files.sort();
    assert_eq!(files, ["model.json", "privacy.json", "report.html", "twin.csv"]);
    let twin = folder.read("out/twin.csv");
    assert!(twin.starts_with("hours,sport,pet,city\n"), "the class is no column");
    let (real, made) = (rows(&people()), rows(&twin));
    let mut of_independent = 0.0;
    for one in 0..4 {
        let found = distance(&shares(&real, &[one]), &shares(&made, &[one]));
        assert!(found < 0.03, "column {one}: {found}");
        for other in 0..one {
            let together = shares(&real, &[one, other]);
            let found = distance(&together, &shares(&made, &[one, other]));
            assert!(found < 0.06, "columns {one} and {other}: {found}");
            let (first, second) = (shares(&real, &[one]), shares(&real, &[other]));
            let product = first.iter().flat_map(|(a, p)| {
                second.iter().map(move |(b, q)| ([a.as_slice(), b.as_slice()].concat(), p * q))
            });
            of_independent += distance(&together, &product.collect()) / 6.0;
        }
    }
    assert!(of_independent > 0.15, "{of_independent}");
    let page = folder.read("out/report.html");
    assert!(page.contains("<h2>Latent classes</h2>") && !page.contains("What was measured together"));
    assert!(page.contains("4 columns; about"));
}

#[test]
fn a_model_of_classes_gives_rows_and_is_refused_when_newer() {
    let folder = folder("model");
    folder.good(FIT);
    // The class of a record follows from what is given: of those with pets, few live in a city.
    folder.good("sample out/model.json --rows 2000 --given pet=yes --given hours=31..60 --out some.csv");
    let some = folder.read("some.csv");
    let cells: Vec<Vec<&str>> = some.lines().skip(1).map(|line| line.split(',').collect()).collect();
    assert!(cells.iter().all(|row| row[2] == "yes" && (31..=60).contains(&row[0].parse::<u32>().unwrap())));
    let city = cells.iter().filter(|row| row[3] == "yes").count() as f64 / cells.len() as f64;
    assert!((city - 0.28).abs() < 0.1, "{city}");
    let told = folder.bad("sample out/model.json --given class=1 --out x.csv");
    assert!(told.contains("no column 'class'; the columns are hours, sport, pet, city"), "{told}");
    let told = folder.good("check out/model.json out/twin.csv people.csv");
    assert!(told.contains("total_variation_of_pairs"), "{told}");
    folder.good("report out/model.json --out page.html");

    let model = folder.read("out/model.json");
    folder.write("other.json", model.replacen("\"version\":5", "\"version\":6", 1));
    assert!(
        folder
            .bad("sample other.json --out x.csv")
            .contains("version 6 of the format; this program reads up to 5")
    );
    let mut damaged: serde_json::Value = serde_json::from_str(&model).unwrap();
    damaged["columns"][1]["hidden"] = true.into();
    folder.write("damaged.json", damaged.to_string());
    assert!(folder.bad("sample damaged.json --out x.csv").contains("a class that is not the last column"));
}

/// What is said is what the ledger has, within the budget and not far below it.
#[test]
fn the_statement_is_that_of_the_ledger() {
    let folder = folder("ledger");
    let line = "fit people.csv --schema s.toml --model latent-classes --classes 3 --ledger l.ledger";
    for (relation, name) in [("add-remove", "a"), ("replace-one", "b")] {
        let line = line.replace("l.ledger", &format!("{name}.ledger"));
        folder.good(&format!("{line} --epsilon 1 --ledger-epsilon 1.2 --relation {relation} --out {name}"));
        let privacy: serde_json::Value =
            serde_json::from_str(&folder.read(&format!("{name}/privacy.json"))).unwrap();
        let epsilon = privacy["epsilon"]["upper"].as_f64().unwrap();
        assert!(epsilon <= 1.0 && epsilon > 0.99, "{relation}: {epsilon}");
        let ledger = FileLedger::resume(folder.path(&format!("{name}.ledger"))).unwrap();
        let spent = ledger.ledger().spent().unwrap().upper;
        assert!((spent - epsilon).abs() < 1e-12, "{spent} for {epsilon}");
        assert_eq!(privacy["latent_classes"], 3);
        assert_eq!(privacy["pairs_measured_together"], 0);
        // 120 steps and the single columns.
        let events = privacy["events"].as_array().unwrap();
        let steps: u64 = events.iter().map(|event| event[1].as_u64().unwrap()).sum();
        assert_eq!(steps, 121, "{privacy}");
        drop(ledger);
        let before = folder.read(&format!("{name}.ledger"));
        let told = folder.bad(&format!("{line} --epsilon 1 --out again"));
        assert!(told.contains("budget") && !folder.path("again").exists(), "{told}");
        assert_eq!(
            folder.read(&format!("{name}.ledger")),
            before,
            "not even the single columns are paid for"
        );
    }
}

#[test]
fn what_classes_cannot_do_is_refused() {
    let folder = folder("nonsense");
    let line = "fit people.csv --schema s.toml --epsilon 1 --out x";
    for (more, part) in [
        ("--model latent-classes --target pet", "--target: latent classes treat all columns alike"),
        (
            "--model latent-classes --together pet,city",
            "--together: latent classes measure no columns together",
        ),
        ("--model latent-classes --twins 5", "--twins: intervals need a posterior"),
        ("--classes 5", "--classes is for --model latent-classes"),
        ("--model latent-classes --classes 1", "1 is not in 2..=100"),
        ("--model latent-classes --classes 101", "101 is not in 2..=100"),
        ("--model latent-class", "invalid value 'latent-class'"),
        ("--rows 100000001", "at most 100000000"),
    ] {
        let told = folder.bad(&format!("{line} {more}"));
        assert!(told.contains(part), "{more}: {told}");
        assert!(!folder.path("x").exists());
    }
}
