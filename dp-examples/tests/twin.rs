//! The program `twin` as a user meets it: a twin, its files, and nonsense.

use std::fmt::Write as _;

use crate::folder::Folder;

const TWIN: &str = env!("CARGO_BIN_EXE_twin");

const SCHEMA: &str = "age = [17, 90]\nheight = [1.0, 2.5]\nwealth = [0, 99999]\nsex = [\"female\", \"male\"]\n\
                      job = [\"none\", \"clerk\", \"smith\"]\nrich = [\"no\", \"yes\"]\n";

/// People of whom the older are richer, with heaps, missing values, and one who has what nobody else has.
fn people() -> String {
    let mut csv = "name,age,height,wealth,sex,job,rich\n".to_owned();
    for i in 0..3000_u32 {
        let age = 17 + (i * 37) % 60;
        let sex = if i % 3 == 0 { "male" } else { "female" };
        let job = ["none", "clerk", "smith", ""][(i as usize / 7) % 4];
        let rich = if age + (i * 31) % 20 > 55 { "yes" } else { "no" };
        let wealth = if rich == "yes" { 15_024 } else { 0 };
        let height =
            if i % 5 == 0 { String::from("NA") } else { format!("{:.3}", 1.5 + f64::from(i % 400) / 1000.0) };
        let _ = writeln!(csv, "person{i},{age},{height},{wealth},{sex},{job},{rich}");
    }
    csv + "Zaphod Beeblebrox,88,2.49137,77123,male,smith,yes\n"
}

fn folder(name: &str) -> Folder {
    let folder = Folder::new(TWIN, &format!("twin-{name}"));
    folder.write("people.csv", people());
    folder.write("s.toml", SCHEMA);
    folder
}

const FIT: &str =
    "fit people.csv --schema s.toml --epsilon 2 --target rich --test-seed-not-private 4 --out out";

#[test]
fn a_twin_has_its_files_and_is_like_the_table() {
    let folder = folder("whole");
    let told = folder.good("fit people.csv --schema s.toml --epsilon 2 --target rich --out out/");
    assert!(
        told.contains("-differential privacy, for data sets that differ by the presence of one record"),
        "{told}"
    );
    assert!(told.contains("Left out, for the schema has no line for them: name"), "{told}");
    let mut names: Vec<_> =
        std::fs::read_dir(folder.path("out")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["model.json", "privacy.json", "report.html", "twin.csv"]);
    let page = folder.read("out/report.html");
    assert!(page.contains("Not protected") && page.contains("with the record in the table and without it"));
    assert!(page.contains("anything that this twin, its model and this page could show"), "{page}");
    // With exact figures on it the page is not covered.
    folder.good("report out/model.json --test people.csv --out exact.html");
    let exact = folder.read("exact.html");
    assert!(exact.contains("anything that this twin and its model could show"), "{exact}");
    let twin = folder.read("out/twin.csv");
    assert!(twin.starts_with("age,height,wealth,sex,job,rich\n"), "{}", &twin[..60]);
    let rows: Vec<Vec<&str>> = twin.lines().skip(1).map(|line| line.split(',').collect()).collect();
    // Noise of one count has a standard deviation below 40 at this budget; the total is the mean of several.
    assert!((2500..3500).contains(&rows.len()), "{}", rows.len());
    let share = |fits: &dyn Fn(&[&str]) -> bool| {
        rows.iter().filter(|row| fits(row)).count() as f64 / rows.len() as f64
    };
    assert!((share(&|row| row[3] == "male") - 1.0 / 3.0).abs() < 0.1);
    assert!((share(&|row| row[1].is_empty()) - 0.2).abs() < 0.1, "missing values are a category");
    assert!((share(&|row| row[2] == "15024") - share(&|row| row[5] == "yes")).abs() < 0.1, "a heap is kept");
    assert!(share(&|row| (row[2] == "15024") == (row[5] == "yes")) > 0.85, "and so is what it goes with");
    assert!(rows.iter().all(|row| (17..=90).contains(&row[0].parse::<u32>().unwrap())));
    let privacy: serde_json::Value = serde_json::from_str(&folder.read("out/privacy.json")).unwrap();
    let epsilon = privacy["epsilon"]["upper"].as_f64().unwrap();
    assert!(privacy["private"] == true && epsilon <= 2.0 && epsilon > 1.99, "{privacy}");

    assert!(folder.bad("fit people.csv --schema s.toml --epsilon 2 --out out").contains("--overwrite"));
    folder.good("fit people.csv --schema s.toml --epsilon 2 --out out --overwrite");
}

/// Zeros of an amount, a price, and a limit far beyond the whole numbers that have a cell each: of 6,000 records each
/// heap is known to within 60 or so, and twins have 6,000 rows. Other numbers are not made round.
#[test]
fn heaps_of_any_numbers_are_kept() {
    let folder = Folder::new(TWIN, "twin-heaps");
    let mut people = String::from("amount,price,claim,yes\n");
    for k in 0..6_000_u32 {
        let amount = if k % 5 < 2 { 0.0 } else { 10.0 + f64::from(k * 7919 % 99_991) * 1.234_567 };
        let price =
            if k % 10 < 3 { "9.99".to_owned() } else { format!("{:.4}", f64::from(k * 31 % 997) / 10.1) };
        let claim = if k % 4 == 0 { 250_000 } else { k * 104_729 % 3_000_000 };
        writeln!(people, "{amount},{price},{claim},{}", k % 2).unwrap();
    }
    folder.write("amounts.csv", people);
    folder.write("a.toml", "amount = [0, 1e6]\nprice = [0, 100.0]\nclaim = [0, 3000000]\nyes = [0, 1]\n");
    folder.good("fit amounts.csv --schema a.toml --epsilon 2 --delta 1e-6 --out out");
    let twin = folder.read("out/twin.csv");
    let rows: Vec<Vec<f64>> = twin
        .lines()
        .skip(1)
        .map(|line| line.split(',').map(|cell| cell.parse().unwrap()).collect())
        .collect();
    let share = |fits: &dyn Fn(&[f64]) -> bool| {
        rows.iter().filter(|row| fits(row)).count() as f64 / rows.len() as f64
    };
    assert!((share(&|row| row[0] == 0.0) - 0.4).abs() < 0.03, "{}", share(&|row| row[0] == 0.0));
    assert!((share(&|row| row[1] == 9.99) - 0.3).abs() < 0.03, "{}", share(&|row| row[1] == 9.99));
    assert!((share(&|row| row[2] == 250_000.0) - 0.25).abs() < 0.03, "{}", share(&|row| row[2] == 250_000.0));
    // A number with three digits more than round ones have is one of them once in a thousand.
    let is_round = |row: &[f64]| (100.0 * row[1] - (100.0 * row[1]).round()).abs() < 1e-6;
    let round = share(&|row| row[1] != 9.99 && is_round(row));
    assert!(round < 0.01, "{round}");
    let mean = rows.iter().map(|row| row[2]).sum::<f64>() / rows.len() as f64;
    assert!((mean / (0.25 * 250_000.0 + 0.75 * 1_500_000.0) - 1.0).abs() < 0.05, "{mean}");
}

#[test]
fn a_model_gives_rows_pages_and_scores() {
    let folder = folder("model");
    folder.good(FIT);
    folder.good("sample out/model.json --rows 500 --given sex=female --out women.csv");
    let women = folder.read("women.csv");
    assert_eq!(women.lines().count(), 501);
    assert!(women.lines().skip(1).all(|line| line.split(',').nth(3) == Some("female")));
    assert!(
        folder.bad("sample out/model.json --given sex=fmale --out x.csv").contains("no category 'fmale'")
    );
    folder.good("sample out/model.json --rows 200 --given age=30..39 --given sex=male --out men.csv");
    let men = folder.read("men.csv");
    let fits = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        (30..40).contains(&cells[0].parse::<u32>().unwrap()) && cells[3] == "male"
    };
    assert!(men.lines().skip(1).count() == 200 && men.lines().skip(1).all(fits));
    // Numbers keep to both ends, also within a cell of the grid; conditions on one column hold together.
    folder.good("sample out/model.json --rows 100 --given height=1.701..1.7013 --out tall.csv");
    let tall = folder.read("tall.csv");
    let height = |line: &str| line.split(',').nth(1).unwrap().parse::<f64>().unwrap();
    assert!(tall.lines().skip(1).all(|line| (1.701..=1.7013).contains(&height(line))), "{tall}");
    // One more of several twins: from a model drawn anew, which conditions are not for.
    folder.good("sample out/model.json --redrawn --rows 300 --out again.csv");
    assert_eq!(folder.read("again.csv").lines().count(), 301);
    assert!(
        folder
            .bad("sample out/model.json --redrawn --given sex=male --out x.csv")
            .contains("cannot be used with")
    );
    folder.good("sample out/model.json --rows 50 --given age=30..50 --given age=40..60 --out both.csv");
    let age = |line: &str| line.split(',').next().unwrap().parse::<u32>().unwrap();
    assert!(folder.read("both.csv").lines().skip(1).all(|line| (40..=50).contains(&age(line))));
    for never in ["--given sex=male --given sex=female", "--given age=30 --given age=40"] {
        let told = folder.bad(&format!("sample out/model.json {never} --out x.csv"));
        assert!(told.contains("no row has this value") && !folder.path("x.csv").exists(), "{told}");
    }
    // What is read is not written over.
    for line in ["sample out/model.json --out out/model.json", "report out/model.json --out out/model.json"] {
        assert!(folder.bad(line).contains("are the same file"), "{line}");
    }
    assert!(folder.bad("report out/model.json --test people.csv --out people.csv").contains("same file"));
    for wrong in ["age=200", "age=40..30", "age=old", "height=1.2..3"] {
        let told = folder.bad(&format!("sample out/model.json --given {wrong} --out x.csv"));
        assert!(told.contains("expected a value within its bounds"), "{told}");
    }
    assert!(
        folder.bad("sample out/model.json --rows 100000000000 --out x.csv").contains("at most 100000000")
    );
    folder.good("report out/model.json --out page.html");
    assert!(folder.read("page.html").contains("NOT") || folder.read("page.html").contains("Not private"));
    assert!(!folder.read("page.html").contains("Beside real rows"));
    folder.good("report out/model.json --test people.csv --out page.html");
    let page = folder.read("page.html");
    assert!(page.contains("Not covered by the guarantee") && page.contains("curve of rich"), "{page}");
    assert!(!page.contains("Zaphod"));
    let told = folder.good("check out/model.json out/twin.csv people.csv");
    assert!(told.contains("NOT covered"), "{told}");
    let scores: serde_json::Value = serde_json::from_str(&told[..=told.rfind('}').unwrap()]).unwrap();
    assert!(scores["total_variation_of_columns"].as_f64().unwrap() < 0.1, "{scores}");
    assert!(scores["total_variation_of_pairs"].as_f64().unwrap() < 0.25, "{scores}");
    let area = scores["area_under_curve"].as_f64().unwrap();
    assert!(area > 0.9, "{scores}");
    // A row without a target is of neither class.
    let unknown: String = (0..400).map(|k| format!("person,{},1.7,0,female,clerk,\n", 17 + k % 60)).collect();
    folder.write("unknown.csv", people() + &unknown);
    let told = folder.good("check out/model.json out/twin.csv unknown.csv");
    let scores: serde_json::Value = serde_json::from_str(&told[..=told.rfind('}').unwrap()]).unwrap();
    assert!((scores["area_under_curve"].as_f64().unwrap() - area).abs() < 1e-12, "{scores} {area}");

    for (name, contents) in [("a.json", "{}"), ("b.json", "not json"), ("c.json", "")] {
        folder.write(name, contents);
        assert!(
            folder.bad(&format!("sample {name} --out x.csv")).contains("not a model that `twin fit` wrote")
        );
    }
    let model = folder.read("out/model.json");
    for (version, part) in [(6, "reads up to 5"), (3, "make the twin again")] {
        folder.write("other.json", model.replacen("\"version\":4", &format!("\"version\":{version}"), 1));
        assert!(folder.bad("sample other.json --out x.csv").contains(part));
    }
    folder.write("cut.json", &model[..model.len() / 2]);
    assert!(folder.bad("sample cut.json --out x.csv").contains("not a model"));
    let mut damaged: serde_json::Value = serde_json::from_str(&model).unwrap();
    damaged["potentials"][1] = serde_json::json!([0.5]);
    folder.write("damaged.json", damaged.to_string());
    assert!(folder.bad("sample damaged.json --out x.csv").contains("the size of a table"));
}

/// What one record alone has, what the schema leaves out, and exact figures are nowhere. Fixed seed, so that
/// no number is there by chance.
#[test]
fn no_cell_and_no_exact_figure_comes_out() {
    let folder = folder("canary");
    let told = folder.good(FIT);
    let exact = people().lines().filter(|line| line.contains(",yes")).count();
    for file in ["out/report.html", "out/model.json", "out/privacy.json", "out/twin.csv"] {
        let text = folder.read(file);
        // Thousands of digits of probabilities hold any five in a row.
        let numbers = if file == "out/model.json" { &[][..] } else { &["77123", "2.49137"][..] };
        for secret in ["Zaphod", "Beeblebrox", "person17"].iter().chain(numbers) {
            assert!(!text.contains(secret) && !told.contains(secret), "'{secret}' is in {file}");
        }
        // The exact number of records, and of those who are rich: with this seed no noisy one is the same by chance.
        for number in [format!(">{exact}<"), format!(" {exact} "), " 3001 ".to_owned(), ":3001.0".to_owned()]
        {
            assert!(!text.contains(&number) && !told.contains(&number), "{number} is in {file}");
        }
    }
    let page = folder.read("out/report.html");
    for fetched in ["http://", "https://", "<script", "src="] {
        assert!(!page.contains(fetched), "{fetched}");
    }
    assert!(page.contains("Not private") && told.contains("NOT private"), "a known seed is said");
    assert!(!page.contains("Not protected") && !page.contains("Protected"), "nothing is");
    let drawn = folder.good("sample out/model.json --rows 10 --out ten.csv");
    assert!(drawn.contains("10 rows: ten.csv. NOT private"), "{drawn}");
    // The same seed gives the same files.
    folder.good(&FIT.replace("--out out", "--out again"));
    assert_eq!(folder.read("out/twin.csv"), folder.read("again/twin.csv"));
}

#[test]
fn several_twins_differ() {
    let folder = folder("several");
    folder.good(&format!("{FIT} --twins 3 --rows 400"));
    let all: Vec<String> = (1..=3).map(|number| folder.read(&format!("out/twin-{number}.csv"))).collect();
    assert!(all[0] != all[1] && all[1] != all[2] && all.iter().all(|twin| twin.lines().count() == 401));
    // Without a number, so many rows that intervals which are combined from them hold; of few columns, for rows.
    folder.write("s.toml", "age = [17, 90]\nsex = [\"female\", \"male\"]\nrich = [\"no\", \"yes\"]\n");
    let told = folder.good(&format!("{} --twins 2", FIT.replace("--out out", "--out more")));
    let privacy: serde_json::Value = serde_json::from_str(&folder.read("more/privacy.json")).unwrap();
    let rows = folder.read("more/twin-2.csv").lines().count() - 1;
    assert!((14_000..16_000).contains(&rows) && privacy["rows_of_each"] == rows, "{rows}: {privacy}");
    assert!(privacy["twins"] == 2 && (privacy["rows_per_record"].as_f64().unwrap() - 5.0).abs() < 0.01);
    assert!(told.contains(&format!("2 twins of {rows} rows each")), "{told}");
}

/// What is named together, or few columns of few values, is measured pair by pair and as a whole.
#[test]
fn columns_can_be_measured_together() {
    let folder = folder("together");
    let told = folder.good(&format!("{FIT} --together sex,job"));
    for set in ["sex, job", "sex, rich", "job, rich"] {
        assert!(
            told.contains(&format!("measured together: {set}\n")) || told.contains(&format!(", {set}\n")),
            "{told}"
        );
    }
    let privacy: serde_json::Value = serde_json::from_str(&folder.read("out/privacy.json")).unwrap();
    assert!(privacy["pairs_measured_together"].as_u64().unwrap() >= 5 && privacy["pairs"] == 15, "{privacy}");
    let line = "fit people.csv --schema s.toml --epsilon 1 --out x";
    assert!(folder.bad(&format!("{line} --together sex,jobs")).contains("--together: no column 'jobs'"));
    // Numbers get fewer levels where all of theirs together would be too many.
    let told = folder.good(&format!("{line} --together age,height,wealth,sex"));
    for pair in ["age, height", "age, wealth", "height, wealth", "age, sex", "height, sex", "wealth, sex"] {
        assert!(told.contains(&format!("measured together: {pair}")), "{told}");
    }
    let jobs: Vec<String> = (0..400)
        .map(|k| format!("\"job {k}\""))
        .chain(["none", "clerk", "smith"].map(|job| format!("{job:?}")))
        .collect();
    let schema =
        format!("age = [17, 90]\nheight = [1.0, 2.5]\nwealth = [0, 99999]\njob = [{}]\n", jobs.join(", "));
    folder.write("jobs.toml", &schema);
    let told =
        folder.bad("fit people.csv --schema jobs.toml --epsilon 1 --out y --together age,height,wealth,job");
    assert!(told.contains("combinations of values if numbers have 4 levels, at most 262144"), "{told}");
    folder.write(
        "few.toml",
        "sex = [\"female\", \"male\"]\njob = [\"none\", \"clerk\", \"smith\"]\nrich = [\"no\", \"yes\"]\n",
    );
    let told = folder.good("fit people.csv --schema few.toml --epsilon 1 --out few");
    assert!(told.contains("measured together: sex, job, rich\n"), "{told}");
}

/// Constraints hold of every row, also of those that are drawn again later.
#[test]
fn constraints_hold_of_every_row() {
    let folder = folder("constraints");
    let rules = "rich = { categories = [\"no\", \"yes\"], constraints = [\"rich = yes => age >= 40 and wealth > 0\"] }";
    folder.write("s.toml", SCHEMA.replace("rich = [\"no\", \"yes\"]", rules));
    folder.good(&FIT.replace("--epsilon 2", "--epsilon 0.2"));
    folder.good("sample out/model.json --rows 900 --out more.csv");
    for file in ["out/twin.csv", "more.csv"] {
        let twin = folder.read(file);
        let rows: Vec<Vec<&str>> = twin.lines().skip(1).map(|line| line.split(',').collect()).collect();
        let number = |row: &[&str], place: usize| row[place].parse::<u32>().ok();
        let keeps = |row: &[&str]| {
            row[5] != "yes" || number(row, 0).is_none_or(|x| x >= 40) && number(row, 2).is_none_or(|x| x > 0)
        };
        assert!(rows.iter().all(|row| keeps(row)) && rows.iter().any(|row| row[5] == "yes"), "{file}");
    }
    assert!(folder.read("out/report.html").contains("rich = yes =&gt; age &gt;= 40 and wealth &gt; 0"));
    folder.write("s.toml", SCHEMA.replace("rich = [\"no\", \"yes\"]", &rules.replace("age", "size")));
    assert!(folder.bad(&FIT.replace("--out out", "--out x")).contains("the schema has no column 'size'"));
    // What no value keeps is found before anything is paid.
    let never = rules.replace("rich = yes => age >= 40 and wealth > 0", "age > 200");
    folder.write("s.toml", SCHEMA.replace("rich = [\"no\", \"yes\"]", &never));
    assert!(folder.bad(&FIT.replace("--out out", "--out x")).contains("no value of column 'age'"));
}

#[test]
fn twins_are_paid_for_from_a_ledger() {
    let folder = folder("ledger");
    // Two twins of ε 1 compose to about 1.45 at this δ, not to 2.
    let line = "fit people.csv --schema s.toml --epsilon 1 --ledger l.ledger";
    assert!(folder.bad(&format!("{line} --out a")).contains("--ledger-epsilon"));
    folder.good(&format!("{line} --ledger-epsilon 1.3 --relation replace-one --out a"));
    let privacy: serde_json::Value = serde_json::from_str(&folder.read("a/privacy.json")).unwrap();
    assert_eq!(privacy["neighbours_differ_by"], "the values of one record");
    let page = folder.read("a/report.html");
    assert!(
        !page.contains("whether it is in the table") && page.contains("which of two given records it is"),
        "{page}"
    );
    // e is 2.71828: rounded up.
    assert!(page.contains("e<sup>ε</sup> = 2.72"), "{page}");
    assert!(privacy["epsilon"]["upper"].as_f64().unwrap() <= 1.0);
    let before = folder.read("l.ledger");
    assert!(folder.bad(&format!("{line} --relation add-remove --out b")).contains("replace-one"));
    let told = folder.bad(&format!("{line} --out b"));
    assert!(told.contains("budget") && !folder.path("b").exists(), "{told}");
    assert_eq!(folder.read("l.ledger"), before, "what is refused is not debited");
    folder.good("fit people.csv --schema s.toml --epsilon 0.3 --ledger l.ledger --out b");
    let dp = folder.read("b/privacy.json");
    let privacy: serde_json::Value = serde_json::from_str(&dp).unwrap();
    assert!(
        privacy["ledger_spent"]["upper"].as_f64().unwrap() > privacy["epsilon"]["upper"].as_f64().unwrap()
    );
    assert_eq!(privacy["neighbours_differ_by"], "the values of one record");
}

#[test]
fn nonsense_is_refused_without_quoting_a_cell() {
    let folder = folder("nonsense");
    let bytes = people();
    let with = |name: &str, contents: &[u8]| {
        folder.write(name, contents);
        folder.bad(&format!("fit {name} --schema s.toml --epsilon 1 --out out"))
    };
    let told = with("ragged.csv", bytes.replace("person9,", "Zaphod,9,").as_bytes());
    assert!(told.contains("ragged.csv:11: 8 cells, expected 7") && !told.contains("Zaphod"), "{told}");
    let told = with("text.csv", bytes.replacen(",17,", ",seventeen,", 1).as_bytes());
    assert!(told.contains("text.csv:2: column 'age': the cell is not a finite number; correct it"), "{told}");
    let told = with("half.csv", bytes.replacen(",17,", ",17.5,", 1).as_bytes());
    assert!(told.contains("not a whole number; write the bounds with a decimal point"), "{told}");
    let told = with("other.csv", bytes.replacen("clerk", "wizard", 1).as_bytes());
    assert!(told.contains("none of the categories") && !told.contains("wizard"), "{told}");
    assert!(with("empty.csv", b"").contains("empty"));
    assert!(with("header.csv", b"age,height,wealth,sex,job,rich\n").contains("no records"));
    assert!(with("binary.csv", b"\xff\xfe\x00").contains("UTF-8"));
    assert!(with("quote.csv", b"age,height,wealth,sex,job,rich\n\"1").contains("quote"));
    assert!(with("cut.csv.gz", b"\x1f\x8b\x08\x00nonsense").contains("cannot be unpacked"));
    assert!(with("less.csv", b"age,sex\n20,male\n").contains("no column 'height'"));
    for (line, part) in [
        ("fit people.csv --schema s.toml --epsilon 0 --out out", "above 0"),
        ("fit people.csv --schema s.toml --epsilon 1 --target ritch --out out", "no column 'ritch'"),
        ("fit people.csv --schema none.toml --epsilon 1 --out out", "none.toml: cannot be read"),
        ("fit none.csv --schema s.toml --epsilon 1 --out out", "none.csv: cannot be read"),
        ("fit people.csv --schema s.toml --epsilon 1 --out none/out", "cannot be written"),
        ("fit people.csv --schema s.toml --epsilon 1 --out people.csv", "is not a folder"),
        ("sample people.csv --out x.csv", "not a model"),
    ] {
        let told = folder.bad(line);
        assert!(told.contains(part), "{line}: {told}");
    }
    folder.write("b.toml", "age = 3\n");
    assert!(folder.bad("fit people.csv --schema b.toml --epsilon 1 --out out").contains("b.toml:1"));
    folder.write("b.toml", "");
    assert!(folder.bad("fit people.csv --schema b.toml --epsilon 1 --out out").contains("no columns"));
    assert!(!folder.path("out").exists(), "a run that fails leaves nothing");
    let hidden = std::fs::read_dir(folder.path("")).unwrap().filter(|entry| {
        entry.as_ref().is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with('.'))
    });
    assert_eq!(hidden.count(), 0);
}

#[test]
fn a_schema_of_fit_serves_twins_too() {
    let folder = Folder::new(TWIN, "twin-schema");
    let row = |k: usize| {
        let hours = if k.is_multiple_of(5) { "NA".to_owned() } else { (k % 40).to_string() };
        let job = if k.is_multiple_of(4) { "-" } else { "clerk" };
        format!("{hours},{job},2020-01-{:02}\n", 1 + k % 28)
    };
    folder.write("t.csv", format!("hours,job,born\n{}", (0..3000).map(row).collect::<String>()));
    folder.write(
        "s.toml",
        "hours = { range = [0, 99], missing = 'drop' }\n\
         job = { categories = ['clerk', 'nurse'], missing = 'category', missing_texts = ['-'], \
         read_from_records = true }\n\
         born = { range = ['2019-12-01', '2020-02-29'], since = '2000-01-01' }\n",
    );
    let text = folder.good("fit t.csv --schema s.toml --epsilon 2 --out out --test-seed-not-private 1");
    assert!(text.contains("the 2 categories of column 'job' were read from the records"), "{text}");
    let privacy: serde_json::Value = serde_json::from_str(&folder.read("out/privacy.json")).unwrap();
    assert_eq!(privacy["treated_as_public"].as_array().map(Vec::len), Some(1));
    let twin = folder.read("out/twin.csv");
    let rows: Vec<Vec<&str>> = twin.lines().skip(1).map(|line| line.split(',').collect()).collect();
    // 2,400 records have hours; the noise of the number is some ten records.
    assert!((2200..2600).contains(&rows.len()), "{}", rows.len());
    assert!(rows.iter().all(|row| row[0].parse::<u32>().is_ok_and(|hours| hours <= 99)));
    let missing = rows.iter().filter(|row| row[1].is_empty()).count() as f64 / rows.len() as f64;
    assert!((missing - 0.25).abs() < 0.05, "{missing}");
    let days = rows.iter().filter_map(|row| dp_examples::schema::date::days(row[2]));
    let (first, last) = (18_231, 18_321);
    assert_eq!(days.filter(|day| (first..=last).contains(day)).count(), rows.len());
    folder.write("back.csv", "hours,job,born\n1,clerk,20.1.2020\n");
    let told = folder.bad("fit back.csv --schema s.toml --epsilon 2 --out other");
    assert!(told.contains("column 'born': the cell is not a date"), "{told}");
}

#[test]
fn small_wide_and_strange_tables_have_twins() {
    let folder = Folder::new(TWIN, "twin-strange");
    let good = |name: &str, table: &[u8], schema: &str| {
        folder.write("t.csv", table);
        folder.write("s.toml", schema);
        folder.good(&format!("fit t.csv --schema s.toml --epsilon 1 --out {name}"));
        folder.read(&format!("{name}/twin.csv"))
    };
    good("one", b"a,b\n1,x\n", "a = [0, 9]\nb = [\"x\", \"y\"]\n");
    good("column", b"a\n1\n2\n3\n", "a = [0, 9]\n");
    let crlf = "\u{feff}grün,b\r\n\"x\ny\",1\r\nz,2\r\n".to_owned();
    let found = good("crlf", crlf.as_bytes(), "\"grün\" = [\"x\\ny\", \"z\", \"a,\\\"b\"]\nb = [0, 3]\n");
    assert!(found.starts_with("grün,b\n"), "{found}");
    let categories: Vec<String> = (0..20_000).map(|k| format!("\"c{k}\"")).collect();
    let rows: String = (0..500).map(|k| format!("c{},{}\n", k % 3, k % 2)).collect();
    good("many", format!("a,b\n{rows}").as_bytes(), &format!("a = [{}]\nb = [0, 1]\n", categories.join(",")));
    let header: Vec<String> = (0..40).map(|k| format!("v{k}")).collect();
    let row =
        |k: usize| (0..40).map(|c| ((k * (c + 1)) % 3).to_string()).collect::<Vec<_>>().join(",") + "\n";
    let wide = header.join(",") + "\n" + &(0..200).map(row).collect::<String>();
    let schema: String = header.iter().map(|name| format!("{name} = [0, 2]\n")).collect();
    good("wide", wide.as_bytes(), &schema);
}
