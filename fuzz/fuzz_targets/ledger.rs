//! A ledger's file and its head, cut, overwritten and edited: it is refused in one line, or nothing that was
//! acknowledged is lost. While the head is as it was written, no ledger is opened that has fewer debits than it says.
#![no_main]

use dp_accountant::{Budget, Error, Event, FileLedger, Mechanism, Relation, Sampling};
use libfuzzer_sys::fuzz_target;
use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

const DEBITS: usize = 3;

/// A file of this process's own, in memory where there is a folder for it: every debit waits for the disk.
fn path() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    let folder = if memory.is_dir() { memory } else { std::env::temp_dir() };
    folder.join(format!("fuzzed-{}.ledger", std::process::id()))
}

fn head() -> PathBuf {
    PathBuf::from(format!("{}.head", path().display()))
}

fn event() -> Event {
    Event::new(Mechanism::Gaussian { noise_multiplier: 50.0 }, Sampling::None).expect("in range")
}

fn forget() {
    let _ = fs::remove_file(path());
    let _ = fs::remove_file(head());
}

/// A ledger's file of three debits, and its head.
fn pristine() -> &'static (Vec<u8>, Vec<u8>) {
    static FILES: OnceLock<(Vec<u8>, Vec<u8>)> = OnceLock::new();
    FILES.get_or_init(|| {
        forget();
        let budget = Budget { epsilon: 50.0, delta: 1e-5, relation: Relation::AddRemove };
        let mut ledger = FileLedger::create(path(), budget).expect("created");
        for count in 1..=DEBITS as u64 {
            ledger.debit(event(), count).expect("affordable");
        }
        drop(ledger);
        (fs::read(path()).expect("readable"), fs::read(head()).expect("readable"))
    })
}

/// Changes a file by instructions of four bytes: what, where (two bytes), and a byte.
fn edit(file: &mut Vec<u8>, instructions: &[u8]) {
    for instruction in instructions.chunks_exact(4).take(8) {
        let place = usize::from(u16::from_le_bytes([instruction[1], instruction[2]])) % (file.len() + 1);
        let line = |at: usize| file[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        match instruction[0] % 6 {
            0 if place < file.len() => file[place] = instruction[3],
            1 => file.truncate(place),
            2 => file.insert(place, instruction[3]),
            3 => file.truncate(line(place)),
            4 => {
                let (begin, end) = (line(place), file[place..].iter().position(|&byte| byte == b'\n'));
                let end = end.map_or(file.len(), |end| place + end + 1);
                let copied = file[begin..end].to_vec();
                file.splice(end..end, copied);
            }
            _ => {
                let begin = line(place);
                let end = file[place..]
                    .iter()
                    .position(|&byte| byte == b'\n')
                    .map_or(file.len(), |end| place + end + 1);
                file.drain(begin..end);
            }
        }
    }
}

fn one_line(error: &Error) {
    let line = error.to_string();
    assert!(!line.is_empty() && !line.contains(char::is_control), "{line:?}");
}

fuzz_target!(|data: &[u8]| {
    let Some((&kind, rest)) = data.split_first() else {
        return;
    };
    let (mut ledger, mut mark) = pristine().clone();
    match kind % 4 {
        0 => ledger = rest.to_vec(),
        1 => edit(&mut ledger, rest),
        2 => edit(&mut mark, rest),
        _ => {
            let (first, second) = rest.split_at(rest.len() / 8 * 4);
            edit(&mut ledger, first);
            edit(&mut mark, second);
        }
    }
    let marked = mark == pristine().1;
    let whole = ledger == pristine().0;
    fs::write(path(), &ledger).expect("written");
    fs::write(head(), &mark).expect("written");
    match FileLedger::read(path()) {
        Ok(read) => assert!(!marked || read.debits().len() >= DEBITS, "debits are gone: {data:?}"),
        Err(error) => one_line(&error),
    }
    match FileLedger::resume(path()) {
        Ok(mut opened) => {
            let debits = opened.ledger().debits().to_vec();
            assert!(!(marked || whole) || debits.len() >= DEBITS, "debits are gone: {data:?}");
            match opened.debit(event(), 1) {
                Ok(_) => {
                    drop(opened);
                    let again = FileLedger::read(path()).expect("it has just been written");
                    assert_eq!(again.debits().len(), debits.len() + 1, "{data:?}");
                }
                Err(error) => one_line(&error),
            }
        }
        Err(error) => {
            one_line(&error);
            if let Err(error) = FileLedger::accept(path()) {
                one_line(&error);
            }
        }
    }
    forget();
});
