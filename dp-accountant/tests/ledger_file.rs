//! Stored ledgers: nothing that was acknowledged is ever lost in silence.
#![cfg(feature = "ledger-file")]

use dp_accountant::{
    Budget, Composition, DebitNote, Error, Event, FileLedger, Label, Ledger, LedgerMark, Mechanism, Relation,
    Sampling,
};
use std::fs;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::common::{BUDGET, Folder, event, nth};

fn debits(ledger: &Ledger) -> Vec<Composition> {
    ledger.debits().to_vec()
}

/// A ledger's file with a few debits, its bytes, and the ends of its lines.
fn written(folder: &Folder) -> (PathBuf, Vec<u8>, Vec<usize>) {
    let path = folder.file();
    let mut ledger = FileLedger::create(&path, BUDGET).expect("created");
    for k in 0..3 {
        let (event, count) = nth(k);
        ledger.debit(event, count).expect("affordable");
    }
    drop(ledger);
    let bytes = fs::read(&path).expect("readable");
    let ends = (1..=bytes.len()).filter(|&end| bytes[end - 1] == b'\n').collect();
    (path, bytes, ends)
}

/// The file beside a ledger that says how far it goes.
fn head(path: &std::path::Path) -> PathBuf {
    PathBuf::from(format!("{}.head", path.display()))
}

/// As if there had never been a head.
fn forget(path: &std::path::Path) {
    let _ = fs::remove_file(head(path));
}

#[test]
fn the_format_is_pinned() {
    let folder = Folder::new();
    let path = folder.file();
    let mut ledger = FileLedger::create(&path, BUDGET).expect("created");
    let seven = Composition::single(event(300.5), 7);
    let label = Label::new("step #1: \"é\"").expect("valid");
    ledger.debit_labelled(&seven, label.clone()).expect("affordable");
    ledger.debit(event(300.5), 1).expect("affordable");
    drop(ledger);
    let text = fs::read_to_string(&path).expect("text");
    let lines: Vec<&str> = text.lines().collect();
    let header = r#"dp-accountant ledger 4 {"epsilon":50.0,"delta":0.00001,"relation":"add_remove"}"#;
    let read = FileLedger::read(&path).expect("readable");
    let [first_note, second_note] = read.notes() else { panic!("two debits") };
    assert_eq!((first_note.label.as_ref(), second_note.label.as_ref()), (Some(&label), None));
    let [time, later] = [first_note, second_note].map(|note| note.time.expect("this machine has a clock"));
    let events = |count: u64| {
        format!(
            r#""events":[{{"event":{{"version":1,"mechanism":{{"gaussian":{{"noise_multiplier":300.5}}}},"sampling":"none"}},"count":{count}}}]"#
        )
    };
    let debits = [
        format!(r#"1 {{"time":"{time}","label":"step \u00231: \"\u00e9\"",{}}}"#, events(7)),
        format!(r#"2 {{"time":"{later}",{}}}"#, events(1)),
    ];
    let first = lines[0].replace("1e-5", "0.00001");
    let (said, number) = first.split(" #").next().and_then(|body| body.rsplit_once(' ')).expect("a number");
    assert_eq!(said, header);
    assert!(number.len() == 32 && number.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')));
    for (line, debit) in lines[1..].iter().zip(&debits) {
        assert_eq!(line.split(" #").next(), Some(debit.as_str()));
    }
    assert_eq!(lines.len(), 3);
    // Beside it: the ledger's number, how many debits there are, and a digest of them, the newest mark first or last.
    let head = fs::read_to_string(head(&path)).expect("text");
    let marks: Vec<&str> = head.lines().collect();
    let known = |line: &str, debits: &str| {
        let number: String = (0..16).rev().map(|at| &number[2 * at..2 * at + 2]).collect();
        line.len() == 110
            && line.starts_with(&format!("dp-accountant ledger head 1 {number}{debits}00000000000000"))
    };
    assert!(marks.len() == 2 && known(marks[0], "02") && known(marks[1], "01"), "{head}");
}

#[test]
fn the_time_of_a_debit_is_that_of_the_clock() {
    let folder = Folder::new();
    let seconds = || SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    let before = seconds();
    let mut ledger = FileLedger::create(folder.file(), BUDGET).expect("created");
    ledger.debit(event(300.5), 1).expect("affordable");
    let noted = ledger.ledger().notes()[0].time.expect("a time").seconds();
    assert!((before..=seconds()).contains(&noted), "{before} {noted}");
    // In memory no clock is read.
    let mut in_memory = Ledger::new(BUDGET).expect("valid");
    in_memory.debit(event(300.5), 1).expect("affordable");
    assert_eq!(in_memory.notes(), [DebitNote::default()]);
}

/// What the second version wrote, with its checksums.
const SECOND_VERSION: &str = concat!(
    r#"dp-accountant ledger 2 {"epsilon":50.0,"delta":1e-5,"relation":"add_remove"} 00112233445566778899aabbccddeeff #b57989e87cabc8fb"#,
    "\n",
    r#"1 [{"event":{"version":1,"mechanism":{"gaussian":{"noise_multiplier":300.5}},"sampling":"none"},"count":7}] #9d55cdecdf131549"#,
    "\n"
);

/// What the third version wrote, which had no head.
const THIRD_VERSION: &str = concat!(
    r#"dp-accountant ledger 3 {"epsilon":50.0,"delta":1e-5,"relation":"add_remove"} 00112233445566778899aabbccddeeff #0f4b1de10ec92927"#,
    "\n",
    r#"1 {"time":"2024-02-29T12:30:05Z","label":"first","events":[{"event":{"version":1,"mechanism":{"gaussian":{"noise_multiplier":300.5}},"sampling":"none"},"count":7}]} #9eefdd50e86bd3f7"#,
    "\n"
);

#[test]
fn ledgers_that_had_no_head_get_one_when_they_are_opened() {
    for old in [FIRST_VERSION, SECOND_VERSION, THIRD_VERSION] {
        let folder = Folder::new();
        let path = folder.file();
        fs::write(&path, old).expect("written");
        assert_eq!(FileLedger::read(&path).expect("readable").debits().len(), 1);
        assert!(!head(&path).exists());
        FileLedger::open(&path, BUDGET).expect("opened").debit(event(300.5), 1).expect("affordable");
        assert!(fs::read_to_string(&path).expect("text").starts_with(old));
        // From now on it is known how far it goes.
        fs::write(&path, old).expect("written");
        assert!(matches!(FileLedger::open(&path, BUDGET), Err(Error::LedgerHead { .. })));
    }
    let folder = Folder::new();
    fs::write(folder.file(), THIRD_VERSION).expect("written");
    let read = FileLedger::read(folder.file()).expect("readable");
    assert_eq!(read.notes()[0].label, Some(Label::new("first").expect("valid")));
}

/// What has the name of a head and is none is not replaced: it may be anything, also another ledger.
#[test]
fn another_file_in_the_place_of_a_head_stays() {
    let folder = Folder::new();
    let (path, bytes, _) = written(&folder);
    let whole = fs::read(head(&path)).expect("readable");
    for other in [&bytes[..], b"x,y\n1,2\n", b"dp-accountant ledger 4 {"] {
        fs::write(head(&path), other).expect("written");
        let new = folder.0.join("new");
        fs::write(head(&new), other).expect("written");
        for error in [
            FileLedger::open(&path, BUDGET).unwrap_err(),
            FileLedger::read(&path).unwrap_err(),
            FileLedger::accept(&path).unwrap_err(),
            FileLedger::create(&new, BUDGET).unwrap_err(),
        ] {
            assert!(matches!(error, Error::LedgerHead { .. }), "{error}");
        }
        assert!(fs::read(head(&path)).expect("readable") == other && !new.exists());
        assert_eq!(fs::read(head(&new)).expect("readable"), other);
    }
    // Damage is no reason to begin anew, and none to accept only what is whole.
    fs::write(head(&path), &whole[..60]).expect("written");
    assert!(FileLedger::open(&path, BUDGET).is_err());
    assert_eq!(FileLedger::accept(&path).expect("as it is").ledger().debits().len(), 3);
    fs::remove_file(&path).expect("removed");
    fs::write(head(&path), &whole[..60]).expect("written");
    assert!(FileLedger::create(&path, BUDGET).is_err() && !path.exists());
}

/// A link leads to the same head, and a head has the rights of its ledger.
#[cfg(unix)]
#[test]
fn links_lead_to_one_head_with_the_rights_of_the_ledger() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let (path, ..) = written(&folder);
    let link = folder.0.join("link");
    std::os::unix::fs::symlink(&path, &link).expect("made");
    FileLedger::open(&link, BUDGET).expect("opened").debit(event(300.0), 1).expect("affordable");
    assert!(!head(&link).exists());
    assert_eq!(FileLedger::open(&path, BUDGET).expect("opened").ledger().debits().len(), 4);
    let mode = |path: &std::path::Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o664)).expect("set");
    drop(FileLedger::accept(&path).expect("as it is"));
    assert_eq!((mode(&path), mode(&head(&path))), (0o664, 0o664));
    let names: Vec<_> =
        fs::read_dir(&folder.0).expect("readable").map(|e| e.expect("an entry").file_name()).collect();
    assert_eq!(names.len(), 3, "{names:?}");
}

#[test]
fn files_of_older_versions_have_no_notes_and_are_extended_with_them() {
    for old in [FIRST_VERSION, SECOND_VERSION] {
        let folder = Folder::new();
        let path = folder.file();
        fs::write(&path, old).expect("written");
        assert_eq!(FileLedger::read(&path).expect("readable").notes(), [DebitNote::default()]);
        let mut ledger = FileLedger::open(&path, BUDGET).expect("opened");
        let mark = ledger.ledger().mark();
        let label = Label::new("later").expect("valid");
        ledger.debit_labelled(&Composition::single(event(300.5), 1), label.clone()).expect("affordable");
        drop(ledger);
        assert!(fs::read_to_string(&path).expect("text").starts_with(old));
        let ledger = FileLedger::open(&path, BUDGET).expect("opened");
        ledger.ledger().check_mark(&mark).expect("its own");
        let [none, noted] = ledger.ledger().notes() else { panic!("two debits") };
        assert_eq!(*none, DebitNote::default());
        assert!(noted.time.is_some() && noted.label.as_ref() == Some(&label), "{noted:?}");
    }
}

/// What the first version wrote, with its checksums.
const FIRST_VERSION: &str = concat!(
    r#"dp-accountant ledger 1 {"epsilon":50.0,"delta":1e-5,"relation":"add_remove"} #0768dec626e1633b"#,
    "\n",
    r#"1 [{"event":{"version":1,"mechanism":{"gaussian":{"noise_multiplier":300.5}},"sampling":"none"},"count":7}] #227b34154ce1bfac"#,
    "\n"
);

#[test]
fn files_of_the_first_version_are_gone_on_with() {
    let folder = Folder::new();
    let path = folder.file();
    fs::write(&path, FIRST_VERSION).expect("written");
    let mut ledger = FileLedger::open(&path, BUDGET).expect("opened");
    assert_eq!(debits(ledger.ledger()), [Composition::single(event(300.5), 7)]);
    let mark = ledger.ledger().mark();
    ledger.debit(event(300.5), 1).expect("affordable");
    drop(ledger);
    let read = FileLedger::read(&path).expect("readable");
    assert_eq!(read.debits().len(), 2);
    assert!(fs::read_to_string(&path).expect("text").starts_with(FIRST_VERSION));
    // It has no number, but its debits can be told from others.
    read.check_mark(&mark).expect("its own");
    forget(&path);
    fs::write(&path, FIRST_VERSION.lines().next().expect("a line")).expect("written");
    let emptied = FileLedger::read(&path).expect("readable");
    assert_eq!(emptied.check_mark(&mark), Err(Error::LostDebits { found: 0, wanted: 1 }));
    let numbered = FileLedger::create(folder.0.join("numbered"), BUDGET).expect("created");
    assert_eq!(numbered.ledger().check_mark(&mark), Err(Error::OtherLedger));
}

#[test]
fn a_ledger_is_known_again_and_an_old_copy_of_it_is_not() {
    let folder = Folder::new();
    let path = folder.file();
    let mut ledger = FileLedger::create(&path, BUDGET).expect("created");
    ledger.debit(event(300.0), 1).expect("affordable");
    let old = fs::read(&path).expect("readable");
    ledger.debit(event(300.0), 2).expect("affordable");
    let mark = LedgerMark::from_bytes(ledger.ledger().mark().to_bytes());
    ledger.debit(event(300.0), 3).expect("affordable");
    drop(ledger);
    let check = || FileLedger::open(&path, BUDGET).expect("opened").ledger().check_mark(&mark);
    check().expect("the same ledger");
    // Elsewhere it is the same ledger, too.
    let moved = folder.0.join("moved");
    fs::copy(&path, &moved).expect("copied");
    fs::copy(head(&path), head(&moved)).expect("copied");
    FileLedger::open(&moved, BUDGET).expect("opened").ledger().check_mark(&mark).expect("the same");
    // An old copy, and an old copy that has been spent from.
    fs::write(&path, &old).expect("written");
    for error in [FileLedger::open(&path, BUDGET).unwrap_err(), FileLedger::read(&path).unwrap_err()] {
        assert!(matches!(error, Error::LedgerHead { .. }), "{error}");
        assert!(error.to_string().contains("no longer has the 3 debits"), "{error}");
    }
    drop(FileLedger::accept(&path).expect("as it is"));
    assert_eq!(check(), Err(Error::LostDebits { found: 1, wanted: 2 }));
    FileLedger::open(&path, BUDGET).expect("opened").debit(event(300.0), 9).expect("affordable");
    assert_eq!(check(), Err(Error::LostDebits { found: 2, wanted: 2 }));
    // Another file with the same budget and the same debits.
    fs::remove_file(&path).expect("removed");
    let error = FileLedger::create(&path, BUDGET).unwrap_err();
    assert!(matches!(error, Error::LedgerHead { .. }) && !path.exists(), "{error}");
    forget(&path);
    let mut other = FileLedger::create(&path, BUDGET).expect("created");
    for count in 1..4 {
        other.debit(event(300.0), count).expect("affordable");
    }
    drop(other);
    assert_eq!(check(), Err(Error::OtherLedger));
}

#[test]
fn a_first_line_that_is_not_this_budgets_is_not_overwritten() {
    let folder = Folder::new();
    let path = folder.file();
    drop(FileLedger::create(&path, BUDGET).expect("created"));
    let whole = fs::read(&path).expect("readable");
    let budget = Budget { epsilon: 51.0, ..BUDGET };
    for length in 0..=whole.len() {
        // From the digit on that differs, it is the beginning of another ledger's first line.
        fs::write(&path, &whole[..length]).expect("written");
        let known = whole.windows(3).position(|at| at == b"50.").expect("the budget") + 1;
        assert_eq!(FileLedger::create(&path, budget).is_ok(), length <= known, "{length}");
    }
    for rest in ["x", "0123456789abcdefx", "00112233445566778899aabbccddeeff #0\n", "\n"] {
        let known = whole.iter().position(|byte| *byte == b'}').expect("the budget") + 2;
        let text = [&whole[..known], rest.as_bytes()].concat();
        fs::write(&path, &text).expect("written");
        assert!(matches!(FileLedger::create(&path, BUDGET), Err(Error::LedgerExists { .. })), "{rest}");
        assert_eq!(fs::read(&path).expect("readable"), text);
    }
}

#[test]
fn cut_at_every_byte_it_keeps_all_whole_lines() {
    let folder = Folder::new();
    let (path, bytes, ends) = written(&folder);
    let full = fs::read(head(&path)).expect("readable");
    // All around the ends of lines, and a part of what is between.
    let near = |length: usize| length < 3 || ends.iter().any(|&end| length.abs_diff(end) <= 3);
    for length in (0..=bytes.len()).filter(|&length| length % 5 == 0 || near(length)) {
        fs::write(&path, &bytes[..length]).expect("written");
        // A line counts once it is whole, with or without its line break.
        let whole = ends.iter().filter(|&&end| length + 1 >= end).count();
        // With its head, nothing is missing in silence.
        fs::write(head(&path), &full).expect("written");
        assert_eq!(FileLedger::read(&path).is_ok(), whole == ends.len(), "{length}");
        assert!(FileLedger::create(&path, BUDGET).is_err());
        forget(&path);
        if whole == 0 {
            let error = FileLedger::open(&path, BUDGET).unwrap_err();
            assert!(matches!(error, Error::LedgerLine { line: 1, .. }), "{length}: {error}");
            // Nobody has spent anything: the creation can be made good.
            let again = FileLedger::create(&path, BUDGET).expect("an interrupted creation");
            assert!(again.ledger().debits().is_empty());
            continue;
        }
        let mut ledger = FileLedger::accept(&path).unwrap_or_else(|error| panic!("{length}: {error}"));
        let read = FileLedger::read(&path).expect("readable");
        assert_eq!(debits(&read), debits(ledger.ledger()));
        assert_eq!(ledger.ledger().debits().len(), whole - 1, "{length}");
        // And it goes on from there.
        let (event, count) = nth(9);
        ledger.debit(event, count).expect("affordable");
        let expected = debits(ledger.ledger());
        drop(ledger);
        assert_eq!(debits(&FileLedger::read(&path).expect("readable")), expected, "{length}");
    }
}

#[test]
fn an_altered_byte_is_found_wherever_it_is() {
    let folder = Folder::new();
    let (path, bytes, _) = written(&folder);
    for at in 0..bytes.len() {
        let others = [bytes[at] ^ 0x20, bytes[at] ^ 0xFF, b'\n', b' ', b'0', 0, b'#'];
        // One bit, and another byte, of seven kinds in turn.
        for altered in [bytes[at] ^ 1, others[at % others.len()]] {
            if altered == bytes[at] {
                continue;
            }
            let mut damaged = bytes.clone();
            damaged[at] = altered;
            fs::write(&path, &damaged).expect("written");
            let error = FileLedger::open(&path, BUDGET).expect_err(&format!("byte {at} as {altered}"));
            assert!(
                matches!(error, Error::LedgerLine { .. } | Error::LedgerVersion { .. }),
                "{at} {altered}: {error}"
            );
            assert!(error.to_string().contains("spent.ledger"), "{error}");
            // Nothing has been repaired, that is, destroyed.
            assert_eq!(fs::read(&path).expect("readable"), damaged);
        }
    }
}

#[test]
fn lines_taken_out_repeated_or_exchanged_are_found() {
    let folder = Folder::new();
    let (path, bytes, _) = written(&folder);
    let lines: Vec<&[u8]> = bytes.split_inclusive(|&byte| byte == b'\n').collect();
    let orders: [&[usize]; 6] =
        [&[0, 2, 3], &[0, 1, 3], &[0, 1, 1, 2, 3], &[0, 2, 1, 3], &[1, 2, 3], &[0, 0, 1, 2, 3]];
    for order in orders {
        fs::write(&path, order.iter().flat_map(|&k| lines[k]).copied().collect::<Vec<u8>>())
            .expect("written");
        let error = FileLedger::open(&path, BUDGET).expect_err(&format!("{order:?}"));
        assert!(matches!(error, Error::LedgerLine { .. }), "{error}");
    }
}

#[test]
fn damage_is_told_with_its_line() {
    let folder = Folder::new();
    let (path, bytes, _) = written(&folder);
    let text = String::from_utf8(bytes).expect("text");
    fs::write(&path, text.replacen("\"count\":2", "\"count\":1", 1)).expect("written");
    let error = FileLedger::open(&path, BUDGET).unwrap_err();
    assert!(matches!(error, Error::LedgerLine { line: 3, .. }), "{error}");
    assert!(error.to_string().contains("line 3") && error.to_string().contains("2 {"), "{error}");
}

#[test]
fn zeros_where_a_line_was_are_not_taken_for_an_unfinished_line() {
    let folder = Folder::new();
    let (path, bytes, ends) = written(&folder);
    for (from, to) in [(ends[2] + 10, bytes.len()), (ends[2], bytes.len())] {
        let mut damaged = bytes.clone();
        damaged[from..to].fill(0);
        fs::write(&path, &damaged).expect("written");
        assert!(matches!(FileLedger::open(&path, BUDGET), Err(Error::LedgerLine { line: 4, .. })));
    }
}

#[test]
fn another_budget_relation_or_version_is_refused() {
    let folder = Folder::new();
    let (path, bytes, _) = written(&folder);
    for other in [
        Budget { epsilon: 51.0, ..BUDGET },
        Budget { delta: 1e-6, ..BUDGET },
        Budget { relation: Relation::ReplaceOne, ..BUDGET },
    ] {
        let error = FileLedger::open(&path, other).unwrap_err();
        assert!(matches!(error, Error::LedgerBudget { found: BUDGET, .. }), "{error}");
        assert!(error.to_string().contains("epsilon 50"), "{error}");
    }
    assert_eq!(*FileLedger::resume(&path).expect("opened").ledger().budget(), BUDGET);
    let text = String::from_utf8(bytes).expect("text").replacen("ledger 4", "ledger 5", 1);
    fs::write(&path, text).expect("written");
    assert!(matches!(
        FileLedger::open(&path, BUDGET),
        Err(Error::LedgerVersion { found: 5, supported: 4, .. })
    ));
    for (path, bytes) in [(folder.0.join("empty"), ""), (folder.0.join("other"), "epsilon,delta\n1,2\n")] {
        fs::write(&path, bytes).expect("written");
        let error = FileLedger::resume(&path).unwrap_err();
        assert!(matches!(error, Error::LedgerLine { line: 1, .. }));
        // It may be a table of records.
        assert!(!error.to_string().contains("delta"), "{error}");
    }
    assert!(matches!(FileLedger::resume(folder.0.join("none")), Err(Error::LedgerFile { .. })));
    assert!(matches!(FileLedger::create(folder.0.join("no/folder"), BUDGET), Err(Error::LedgerFile { .. })));
    assert!(matches!(FileLedger::create(folder.0.join("other"), BUDGET), Err(Error::LedgerExists { .. })));
}

#[test]
fn a_budget_that_bounds_nothing_leaves_no_file() {
    let folder = Folder::new();
    for (epsilon, delta) in [(0.0, 1e-5), (f64::NAN, 1e-5), (f64::INFINITY, 1e-5), (1.0, 0.0), (1.0, 1.0)] {
        assert!(FileLedger::create(folder.file(), Budget { epsilon, delta, ..BUDGET }).is_err());
        assert!(!folder.file().exists());
    }
}

#[test]
fn one_writer_at_a_time() {
    let folder = Folder::new();
    let (path, ..) = written(&folder);
    let mut first = FileLedger::open(&path, BUDGET).expect("opened");
    assert!(matches!(FileLedger::open(&path, BUDGET), Err(Error::LedgerLocked { .. })));
    assert!(matches!(FileLedger::create(&path, BUDGET), Err(Error::LedgerLocked { .. })));
    // Looking is allowed.
    assert_eq!(FileLedger::read(&path).expect("readable").debits().len(), 3);
    first.debit(event(300.0), 1).expect("affordable");
    drop(first);
    let second = FileLedger::open(&path, BUDGET).expect("opened");
    assert_eq!(second.ledger().debits().len(), 4);
    drop(second);
    // Of threads that try at once, each debit of those that got in is there.
    let done: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let attempt = || FileLedger::open(&path, BUDGET)?.debit(event(300.0), 1);
                    (0..20).filter(|_| attempt().is_ok()).count()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
    });
    assert_eq!(FileLedger::read(&path).expect("readable").debits().len(), 4 + done);
    assert!(done > 0);
}

#[test]
fn a_refused_debit_leaves_no_trace() {
    let folder = Folder::new();
    let (path, bytes, _) = written(&folder);
    let mut ledger = FileLedger::open(&path, BUDGET).expect("opened");
    assert!(matches!(ledger.debit(event(0.01), 1), Err(Error::BudgetExceeded { .. })));
    let sampling = Sampling::WithoutReplacement { batch: 1, records: 3 };
    let unsupported = Event::new(Mechanism::Gaussian { noise_multiplier: 1.0 }, sampling).expect("valid");
    if let Err(error) = ledger.debit(unsupported, 1) {
        assert!(matches!(error, Error::Unsupported { .. }), "{error}");
        assert_eq!(fs::read(&path).expect("readable"), bytes);
    }
    ledger.debit(event(1.0), 0).expect("nothing");
}

#[cfg(unix)]
#[test]
fn a_file_that_was_moved_removed_or_replaced_takes_no_more_debits() {
    let folder = Folder::new();
    let (path, bytes, _) = written(&folder);
    let elsewhere = folder.0.join("elsewhere");
    type Change = fn(&std::path::Path, &std::path::Path, &[u8]);
    let changes: [Change; 4] = [
        |path, elsewhere, _| fs::rename(path, elsewhere).expect("moved"),
        |path, _, _| fs::remove_file(path).expect("removed"),
        // What restoring a backup does, and what editors do when they save.
        |path, elsewhere, bytes| {
            fs::write(elsewhere, bytes).expect("written");
            fs::rename(elsewhere, path).expect("replaced");
        },
        |path, _, _| {
            fs::remove_file(path).expect("removed");
            fs::create_dir(path).expect("made");
        },
    ];
    for change in changes {
        let mut ledger = FileLedger::open(&path, BUDGET).expect("opened");
        change(&path, &elsewhere, &bytes);
        for _ in 0..2 {
            let error = ledger.debit(event(300.0), 1).unwrap_err();
            assert!(matches!(error, Error::LedgerFile { .. }), "{error}");
            assert!(error.to_string().contains("moved, removed or replaced"), "{error}");
        }
        // In memory as on the disk: nothing was spent.
        assert_eq!(ledger.ledger().debits().len(), 3);
        drop(ledger);
        if path.is_dir() {
            fs::remove_dir(&path).expect("removed");
        }
        fs::write(&path, &bytes).expect("written");
    }
    // Moved away and back: it is the same file, and goes on.
    let mut ledger = FileLedger::open(&path, BUDGET).expect("opened");
    fs::rename(&path, &elsewhere).expect("moved");
    fs::rename(&elsewhere, &path).expect("moved back");
    ledger.debit(event(300.0), 1).expect("affordable");
    drop(ledger);
    assert_eq!(FileLedger::read(&path).expect("readable").debits().len(), 4);
}

/// Somebody without this crate can check the account: the file names the budget, the relation and every event
/// in full, and the checksums can be computed from its text alone.
#[test]
fn the_text_alone_is_enough_to_verify_the_account() {
    let folder = Folder::new();
    let path = folder.file();
    let budget = Budget { epsilon: 8.0, delta: 1e-6, relation: Relation::ReplaceOne };
    let kinds = [
        (Mechanism::Gaussian { noise_multiplier: 30.1 }, Sampling::Poisson { rate: 0.01 }, 3),
        (
            Mechanism::Gaussian { noise_multiplier: 40.3 },
            Sampling::WithoutReplacement { batch: 3, records: 70 },
            2,
        ),
        (Mechanism::Gaussian { noise_multiplier: 50.7 }, Sampling::Shuffle { batch: 10, records: 40 }, 4),
        (Mechanism::Laplace { scale: 60.9 }, Sampling::None, 1),
        (Mechanism::DiscreteGaussian { sigma: 70.1, sensitivity: 2 }, Sampling::None, 1),
        (Mechanism::RandomizedResponse { categories: 3, truth_probability: 0.4 }, Sampling::None, 1),
        (Mechanism::PureDp { epsilon: 0.01 }, Sampling::None, 5),
        (Mechanism::ApproximateDp { epsilon: 0.02, delta: 1e-9 }, Sampling::None, 5),
    ];
    let mut ledger = FileLedger::create(&path, budget).expect("created");
    for (mechanism, sampling, count) in kinds {
        ledger.debit(Event::new(mechanism, sampling).expect("valid"), count).expect("affordable");
    }
    let spent = ledger.ledger().spent().expect("an answer");
    drop(ledger);

    // From here on: the text, and what is written about its format.
    let text = fs::read_to_string(&path).expect("text");
    let mut remainder = !0u64;
    let (mut lines, mut events) = (0, Vec::new());
    for line in text.lines() {
        let (body, digits) = line.rsplit_once(" #").expect("a checksum");
        for byte in body.bytes().chain([b'\n']) {
            remainder ^= u64::from(byte);
            for _ in 0..8 {
                remainder = (remainder >> 1) ^ if remainder & 1 == 1 { 0xC96C_5795_D787_0F42 } else { 0 };
            }
        }
        assert_eq!(digits, format!("{:016x}", !remainder));
        if lines == 0 {
            let header = body.strip_prefix("dp-accountant ledger 4 ").expect("the title and the version");
            let (header, number) = header.rsplit_once(' ').expect("the ledger's number");
            assert!(number.len() == 32 && number.bytes().all(|byte| byte.is_ascii_hexdigit()));
            let stated: serde_json::Value = serde_json::from_str(header).expect("JSON");
            assert_eq!(
                (stated["epsilon"].as_f64(), stated["delta"].as_f64(), stated["relation"].as_str()),
                (Some(8.0), Some(1e-6), Some("replace_one"))
            );
        } else {
            let (number, debit) = body.split_once(' ').expect("a number and events");
            assert_eq!(number, lines.to_string());
            let debit: serde_json::Value = serde_json::from_str(debit).expect("JSON");
            events.extend(debit["events"].as_array().expect("a list").iter().cloned());
        }
        lines += 1;
    }
    assert_eq!(lines, 1 + kinds.len());
    // Every parameter is there, to the last bit.
    let mut total = Composition::new();
    for ((mechanism, sampling, count), line) in kinds.into_iter().zip(&events) {
        assert_eq!(line["count"].as_u64(), Some(count));
        let said: Mechanism =
            serde_json::from_value(line["event"]["mechanism"].clone()).expect("a mechanism");
        let drawn: Sampling = serde_json::from_value(line["event"]["sampling"].clone()).expect("a sampling");
        assert_eq!((said, drawn), (mechanism, sampling));
        total.push(Event::new(said, drawn).expect("valid"), count);
    }
    let again = dp_accountant::Accountant::new(Relation::ReplaceOne).with(&total).epsilon(1e-6);
    assert_eq!(again.expect("an answer"), spent);
}

#[cfg(feature = "proptest")]
mod properties {
    use super::*;
    use dp_accountant::strategies;
    use proptest::prelude::*;

    proptest! {
        // Each debit is accounted for twice, which takes far longer than files do.
        #![proptest_config(ProptestConfig { cases: 4, ..ProptestConfig::default() })]

        #[test]
        fn what_was_debited_is_read_back(
            events in prop::collection::vec((strategies::event(), 1u64..1_000_000), 1..4),
            budget in strategies::budget(),
        ) {
            // A budget without end, in which even these fit; what the accountant has no answer for is
            // refused.
            let budget = Budget { epsilon: 1e6, ..budget };
            let folder = Folder::new();
            let mut stored = FileLedger::create(folder.file(), budget).expect("created");
            let mut in_memory = Ledger::new(budget).expect("valid");
            for (event, count) in events {
                let event = match event.sampling() {
                    Sampling::None => event,
                    _ => Event::new(event.mechanism(), Sampling::Poisson { rate: 1.0 }).expect("valid"),
                };
                prop_assert_eq!(stored.debit(event, count), in_memory.debit(event, count));
            }
            drop(stored);
            let again = FileLedger::open(folder.file(), budget).expect("opened");
            prop_assert_eq!(again.ledger().debits(), in_memory.debits());
            prop_assert_eq!(again.ledger().events(), in_memory.events());
            prop_assert_eq!(again.ledger().spent(), in_memory.spent());
        }

        #[test]
        fn random_damage_never_loses_a_debit_in_silence(
            edits in prop::collection::vec((0usize..10_000, any::<u8>()), 1..5),
            cut in prop::option::of(0usize..10_000),
        ) {
            let folder = Folder::new();
            let (path, bytes, _) = written(&folder);
            let mut damaged = bytes.clone();
            for (at, byte) in edits {
                let at = at % damaged.len();
                damaged[at] = byte;
            }
            let length = cut.map_or(bytes.len(), |at| at % bytes.len());
            damaged.truncate(length);
            fs::write(&path, &damaged).expect("written");
            // What is accepted has all debits: the head tells where the end was cut off.
            if let Ok(ledger) = FileLedger::read(&path) {
                prop_assert!(length + 1 >= bytes.len());
                fs::write(&path, &bytes).expect("written");
                let original = FileLedger::read(&path).expect("readable");
                prop_assert_eq!(ledger.debits(), original.debits());
            }
        }
    }
}
