//! What happens when the disk does not take a debit.

use super::*;
use crate::{Mechanism, Relation, Sampling};
use std::sync::atomic::{AtomicU64, Ordering};

const BUDGET: Budget = Budget { epsilon: 5.0, delta: 1e-5, relation: Relation::AddRemove };

fn release() -> Event {
    Event::new(Mechanism::Gaussian { noise_multiplier: 20.0 }, Sampling::None).expect("valid")
}

/// A ledger with one debit, in a folder of its own that goes when the test is over.
struct Stored {
    folder: PathBuf,
    path: PathBuf,
    ledger: Option<FileLedger>,
}

impl Stored {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name =
            format!("dp-accountant-disk-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder).expect("a folder for the test");
        let path = folder.join("spent.ledger");
        let mut ledger = FileLedger::create(&path, BUDGET).expect("created");
        ledger.debit(release(), 1).expect("affordable");
        Self { folder, path, ledger: Some(ledger) }
    }

    fn ledger(&mut self) -> &mut FileLedger {
        self.ledger.as_mut().expect("open")
    }

    /// Every further debit is refused, with nothing written or recorded, although the disk would take it
    /// again; after the file has been opened anew, debits go on.
    fn refuses_until_it_is_opened_anew(mut self) {
        let before = std::fs::read(&self.path).expect("readable");
        for _ in 0..3 {
            let error = self.ledger().debit(release(), 1).unwrap_err();
            assert!(matches!(error, Error::LedgerFile { .. }), "{error}");
            assert!(error.to_string().contains("an earlier write failed"), "{error}");
        }
        assert_eq!(self.ledger().ledger().debits().len(), 1);
        assert_eq!(std::fs::read(&self.path).expect("readable"), before);
        self.ledger = None;
        let mut ledger = FileLedger::open(&self.path, BUDGET).expect("opened anew");
        ledger.debit(release(), 1).expect("affordable");
        assert_eq!(ledger.ledger().debits().len(), 2);
        drop(ledger);
        assert_eq!(FileLedger::read(&self.path).expect("readable").debits().len(), 2);
    }
}

impl Drop for Stored {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn after_a_write_that_failed_no_debit_is_taken() {
    let mut stored = Stored::new();
    // The same file, which refuses to be written: the disk is full, say.
    let read_only = File::open(&stored.path).expect("opened for reading");
    let writable = std::mem::replace(&mut stored.ledger().file, Locked(read_only));
    let error = stored.ledger().debit(release(), 1).unwrap_err();
    assert!(matches!(error, Error::LedgerFile { .. }), "{error}");
    assert!(error.to_string().contains("spent.ledger"), "{error}");
    // Space is free again.
    stored.ledger().file = writable;
    stored.refuses_until_it_is_opened_anew();
}

/// The debit is in the file, and counts; nobody knows whether its mark is.
#[test]
fn after_a_mark_that_failed_no_debit_is_taken() {
    let mut stored = Stored::new();
    let head = head::place_of(&stored.path);
    let read_only = Head::of(File::open(&head).expect("opened for reading"), head);
    let writable = std::mem::replace(&mut stored.ledger().head, read_only);
    let error = stored.ledger().debit(release(), 1).unwrap_err();
    assert!(matches!(error, Error::LedgerFile { .. }), "{error}");
    assert_eq!(stored.ledger().ledger().debits().len(), 2);
    stored.ledger().head = writable;
    let error = stored.ledger().debit(release(), 1).unwrap_err().to_string();
    assert!(error.contains("an earlier write failed"), "{error}");
    stored.ledger = None;
    let mut ledger = FileLedger::open(&stored.path, BUDGET).expect("opened anew");
    ledger.debit(release(), 1).expect("affordable");
    assert_eq!(ledger.ledger().debits().len(), 3);
}

#[cfg(unix)]
#[test]
fn after_a_line_that_did_not_reach_the_disk_no_debit_is_taken() {
    use std::os::fd::OwnedFd;

    let mut stored = Stored::new();
    // What takes every byte and can bring none to a disk.
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let pipe = File::from(OwnedFd::from(writer));
    let writable = std::mem::replace(&mut stored.ledger().file, Locked(pipe));
    let error = stored.ledger().append("2 [] #0\n").unwrap_err();
    assert!(matches!(error, Error::LedgerFile { .. }), "{error}");
    stored.ledger().file = writable;
    drop(reader);
    stored.refuses_until_it_is_opened_anew();
}

#[test]
fn a_creation_that_was_interrupted_is_begun_anew_and_nothing_else_is() {
    let mut stored = Stored::new();
    stored.ledger = None;
    let whole = std::fs::read(&stored.path).expect("readable");
    let header = whole.iter().position(|&byte| byte == b'\n').expect("a first line") + 1;
    // With its debit, the ledger is opened, and only for its own budget.
    let opened = FileLedger::create_or_open(&stored.path, BUDGET).expect("opened");
    assert_eq!(opened.ledger().debits().len(), 1);
    drop(opened);
    let other = Budget { epsilon: 6.0, ..BUDGET };
    let refused = FileLedger::create_or_open(&stored.path, other).unwrap_err();
    assert!(matches!(refused, Error::LedgerBudget { .. }), "{refused}");
    assert_eq!(std::fs::read(&stored.path).expect("readable"), whole);
    // Its head knows of a debit that would be forgotten.
    std::fs::write(&stored.path, &whole[..header / 2]).expect("written");
    let forgotten = FileLedger::create_or_open(&stored.path, BUDGET).unwrap_err();
    assert!(matches!(forgotten, Error::LedgerHead { .. }), "{forgotten}");
    let head = head::place_of(&stored.path);
    for length in [0, 1, header / 2, header - 2] {
        std::fs::remove_file(&head).expect("removed");
        std::fs::write(&stored.path, &whole[..length]).expect("written");
        assert!(FileLedger::open(&stored.path, BUDGET).is_err(), "{length}");
        let mut begun = FileLedger::create_or_open(&stored.path, BUDGET).expect("begun anew");
        assert!(begun.ledger().debits().is_empty());
        begun.debit(release(), 1).expect("affordable");
    }
    // What is no beginning of a first line is left alone.
    std::fs::write(&stored.path, &whole[1..]).expect("written");
    assert!(FileLedger::create_or_open(&stored.path, BUDGET).is_err());
    assert_eq!(std::fs::read(&stored.path).expect("readable"), whole[1..]);
    std::fs::remove_file(&stored.path).expect("removed");
    let gone = FileLedger::create_or_open(&stored.path, BUDGET).unwrap_err().to_string();
    assert!(gone.contains("had 1 debit in it and is gone") && !stored.path.exists(), "{gone}");
    std::fs::remove_file(&head).expect("removed");
    assert!(FileLedger::create_or_open(&stored.path, BUDGET).expect("made").ledger().debits().is_empty());
}

/// A process that is killed between a debit and its mark, or while it writes the mark, leaves a ledger that is ahead.
#[test]
fn a_ledger_may_be_ahead_of_its_head_and_never_behind() {
    let mut stored = Stored::new();
    let (path, head) = (stored.path.clone(), head::place_of(&stored.path));
    let after = |stored: &mut Stored| {
        stored.ledger().debit(release(), 1).expect("affordable");
        std::fs::read(&head).expect("readable")
    };
    let marks: Vec<Vec<u8>> = (0..4).map(|_| after(&mut stored)).collect();
    stored.ledger = None;
    let (newest, debits) = (&marks[3], 5);
    let opened = |bytes: &[u8]| {
        std::fs::write(&head, bytes).expect("written");
        let read = FileLedger::read(&path);
        let ledger = FileLedger::open(&path, BUDGET);
        assert_eq!(read.is_ok(), ledger.is_ok());
        ledger
    };
    for mark in &marks {
        assert_eq!(opened(mark).expect("ahead").ledger().debits().len(), debits);
        assert_eq!(head::read(&head).expect("a head").map(|mark| mark.debits()), Some(debits as u64));
    }
    // Half of the older mark has been overwritten: the other counts.
    for torn in 0..newest.len() / 2 {
        let mut bytes = newest.clone();
        bytes[torn] ^= 1;
        opened(&bytes).expect("one mark is whole");
    }
    // Nothing of it is left, it is of another ledger, or not there at all.
    let refused = |bytes: &[u8]| opened(bytes).expect_err("refused").to_string();
    for length in [0, newest.len() / 2 - 1] {
        assert!(refused(&newest[..length]).contains("neither of its lines"), "{length}");
    }
    let mut other = Stored::new();
    let foreign = std::fs::read(head::place_of(&other.path)).expect("readable");
    other.ledger = None;
    assert!(refused(&foreign).contains("not the ledger"), "{}", refused(&foreign));
    std::fs::remove_file(&head).expect("removed");
    for error in [FileLedger::open(&path, BUDGET).unwrap_err(), FileLedger::read(&path).unwrap_err()] {
        assert!(error.to_string().contains("there is no such file"), "{error}");
    }
    assert_eq!(FileLedger::accept(&path).expect("as it is").ledger().debits().len(), debits);
    FileLedger::open(&path, BUDGET).expect("it has a head again").debit(release(), 1).expect("affordable");
    // While it is open, the head must not go.
    let mut open = FileLedger::open(&path, BUDGET).expect("opened");
    std::fs::remove_file(&head).expect("removed");
    let error = open.debit(release(), 1).unwrap_err().to_string();
    assert!(error.contains("its head has been moved"), "{error}");
}
