//! A process that is killed while it spends.
#![cfg(feature = "ledger-file")]

use dp_accountant::{Composition, FileLedger};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{BUDGET, Folder, nth};

/// Not a test by itself: the process that the next test kills. Without the variable it does nothing.
#[test]
fn debits_until_it_is_killed() {
    let Some(path) = std::env::var_os("DP_ACCOUNTANT_TEST_LEDGER") else { return };
    let mut ledger = FileLedger::open(Path::new(&path), BUDGET).expect("opened");
    for k in ledger.ledger().debits().len() as u64.. {
        let (event, count) = nth(k);
        ledger.debit(event, count).expect("affordable");
        // The acknowledgement: the test counts every line that arrives.
        let mut stdout = std::io::stdout().lock();
        writeln!(stdout, "acknowledged {k}").and_then(|()| stdout.flush()).expect("someone listens");
    }
}

#[test]
fn a_killed_process_has_lost_nothing_that_was_acknowledged() {
    let folder = Folder::new();
    let path = folder.file();
    drop(FileLedger::create(&path, BUDGET).expect("created"));
    let mut before = 0;
    for round in 0..8u64 {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["ledger_killed::debits_until_it_is_killed", "--exact", "--nocapture"])
            .env("DP_ACCOUNTANT_TEST_LEDGER", &path)
            .stdout(Stdio::piped())
            .spawn()
            .expect("started");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let (mut acknowledged, mut waiting) = (before, 3 + 7 * round);
        for line in lines.map_while(|line| line.ok()) {
            let Some((_, number)) = line.split_once("acknowledged ") else { continue };
            acknowledged = number.parse::<u64>().expect("a number") + 1;
            // Kill it in the middle of what it does, and hear all that it still managed to say.
            if waiting == 0 {
                std::thread::sleep(std::time::Duration::from_micros(130 * round));
                child.kill().expect("killed");
            }
            waiting = waiting.saturating_sub(1);
        }
        child.wait().expect("gone");
        let ledger = FileLedger::open(&path, BUDGET).expect("opened after a kill");
        let stored = ledger.ledger().debits().len() as u64;
        assert!(stored >= acknowledged, "{acknowledged} acknowledged, {stored} stored");
        assert!(acknowledged > before, "the process did nothing");
        for (k, debit) in ledger.ledger().debits().iter().enumerate() {
            let (event, count) = nth(k as u64);
            assert_eq!(*debit, Composition::single(event, count));
        }
        before = stored;
    }
}
