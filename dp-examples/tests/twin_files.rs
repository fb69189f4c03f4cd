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
    // A block has 512 bytes, or 1024 in some shells; the model has a few thousand, and the rows two million.
    let output = limited(&folder, 256, &format!("{FIT} --rows 400000 --ledger l.ledger --ledger-epsilon 2"));
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
