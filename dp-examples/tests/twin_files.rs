//! What becomes of a twin that was paid for where there is no room.

#![cfg(unix)]

use std::process::{Command, Output};

use dp_accountant::FileLedger;

use crate::folder::Folder;

const TWIN: &str = env!("CARGO_BIN_EXE_twin");

/// A table of 3,000 rows.
fn folder(name: &str) -> Folder {
    let folder = Folder::new(TWIN, &format!("twin-files-{name}"));
    let row = |k: usize| format!("{},{}\n", k % 40, ["no", "yes"][k % 3 % 2]);
    folder.write("t.csv", format!("hours,rich\n{}", (0..3000).map(row).collect::<String>()));
    folder.write("s.toml", "hours = [0, 60]\nrich = [\"no\", \"yes\"]\n");
    std::fs::create_dir(folder.path("tmp")).unwrap();
    folder
}

/// A run in which no file can become larger than so many blocks: writing more is an error, as on a full disk.
fn limited(folder: &Folder, blocks: u32, line: &str) -> Output {
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec {TWIN} {line}");
    let mut command = Command::new("sh");
    command.args(["-c", &script]).current_dir(folder.path("")).env("TMPDIR", folder.path("tmp"));
    command.output().expect("a shell")
}

const FIT: &str = "fit t.csv --schema s.toml --epsilon 1 --out out";

/// There is room for the model and not for the rows: the model stays, and rows can be drawn from it.
#[test]
fn a_model_that_was_paid_for_is_there_without_its_rows() {
    let folder = folder("rows");
    // A block has 512 bytes, or 1024 in some shells; the model has a few thousand, and the rows half a million.
    let output = limited(&folder, 256, &format!("{FIT} --rows 80000 --ledger l.ledger --ledger-epsilon 2"));
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(
        told.contains("out/twin.csv: cannot be written") && told.contains("`twin sample out/model.json`"),
        "{told}"
    );
    let mut names: Vec<_> =
        std::fs::read_dir(folder.path("out")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["model.json", "privacy.json"]);
    folder.good("sample out/model.json --rows 100 --out some.csv");
    assert_eq!(folder.read("some.csv").lines().count(), 101);
    folder.good("report out/model.json --out page.html");
    assert_eq!(FileLedger::resume(folder.path("l.ledger")).unwrap().ledger().debits().len(), 1);
}

/// There is no room for anything: the model is on standard output.
#[test]
fn a_model_without_any_room_is_on_standard_output() {
    let folder = folder("nothing");
    let output = limited(&folder, 1, FIT);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("cannot be written") && told.contains("written to standard output"), "{told}");
    assert!(!folder.path("out").exists());
    assert_eq!(std::fs::read_dir(folder.path("tmp")).unwrap().count(), 0, "no half file");
    assert_eq!(folder.files(), ["s.toml", "t.csv", "tmp"]);
    folder.write("model.json", &output.stdout);
    folder.good("sample model.json --rows 100 --out some.csv");
}

/// A folder that cannot be written costs nothing.
#[test]
fn a_folder_is_checked_before_anything_is_paid_for() {
    let folder = folder("before");
    let line = "fit t.csv --schema s.toml --epsilon 1 --ledger l.ledger --ledger-epsilon 2";
    let before = |out: &str, part: &str| {
        let told = folder.bad(&format!("{line} --out {out}"));
        assert!(told.contains(part), "{out}: {told}");
        assert!(!folder.path("l.ledger").exists(), "{out}");
    };
    before("/dev/full", "is not a folder");
    before("none/out", "there is no folder");
    std::fs::create_dir_all(folder.path("out/model.json")).unwrap();
    before("out --overwrite", "it is a folder");
}

/// What nobody hears is an error, also where nothing but the text is wanted.
#[cfg(target_os = "linux")]
#[test]
fn a_full_standard_output_is_an_error() {
    let folder = folder("full-output");
    folder.good(&format!("{FIT} --rows 50"));
    let full = |words: &str| {
        let device = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = folder.command(words).stdout(device).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{words}: {told}");
        assert!(told.starts_with("error: ") && told.lines().count() == 1, "{words}: {told}");
    };
    full("check out/model.json out/twin.csv t.csv");
    full("sample out/model.json --rows 3 --out rows.csv");
    full("report out/model.json --out page.html");
    // The files are there all the same.
    assert_eq!(folder.read("rows.csv").lines().count(), 4);
    assert!(folder.read("page.html").ends_with("</html>\n"));
}

#[test]
fn values_are_shown_and_counted_where_that_is_asked_for() {
    let folder = folder("values");
    let table = folder.read("t.csv");
    let columns = table.lines().next().unwrap().split(',').count();
    folder.write("ragged.csv", table.clone() + &"s3cr3t,".repeat(columns) + "\n");
    let line = "fit ragged.csv --schema s.toml --epsilon 1 --out o";
    assert!(!folder.bad(line).contains("s3cr3t"));
    assert!(folder.bad(&format!("{line} --show-values")).contains("s3cr3t"));
    let output = folder.run(&format!("{FIT} --count-clamped"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.contains("NOT covered by the guarantee"), "{told}");
}

#[test]
fn tables_may_have_five_hundred_columns_and_a_column_a_hundred_thousand_categories() {
    let folder = folder("wide");
    let names: Vec<String> = (0..500).map(|i| format!("x{i}")).collect();
    let row = |i: usize| (0..500).map(|j| ["a", "b"][i * (j + 3) / 7 % 2]).collect::<Vec<_>>().join(",");
    let rows: Vec<String> = (0..60).map(row).collect();
    folder.write("wide.csv", format!("{}\n{}\n", names.join(","), rows.join("\n")));
    folder.write("wide.toml", names.iter().map(|name| format!("{name} = ['a', 'b']\n")).collect::<String>());
    folder.good("fit wide.csv --schema wide.toml --epsilon 1 --rows 20 --out wide");
    assert_eq!(folder.read("wide/twin.csv").lines().next().unwrap().split(',').count(), 500);
    let towns: Vec<String> = (0..100_000).map(|i| format!("'t{i}'")).collect();
    folder.write("towns.toml", format!("town = [{}]\nrich = ['no', 'yes']", towns.join(", ")));
    let rows: String = (0..500).map(|i| format!("t{},{}\n", i * 199, ["no", "yes"][i % 2])).collect();
    folder.write("towns.csv", "town,rich\n".to_owned() + &rows);
    folder.good("fit towns.csv --schema towns.toml --epsilon 1 --rows 20 --out towns");
    assert_eq!(folder.read("towns/twin.csv").lines().count(), 21);
}
