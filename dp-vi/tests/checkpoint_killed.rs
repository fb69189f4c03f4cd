//! A run that is killed again and again.

use dp_accountant::{FileLedger, Sampling};
use dp_sampler::Seed;
use dp_vi::{Checkpoint, Fit};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{BUDGET, Folder, STEPS, bits, people, run};

const EVERY: u64 = 4;

/// Begins the run, or goes on with it. σ is for ε = 1 at 60 steps, and the ledger has room for blocks that
/// are paid for twice.
fn begin_or_resume(folder: &Path, callback: impl FnMut(dp_vi::Progress) + 'static) -> Fit {
    let (path, spent) = (folder.join("run"), folder.join("spent"));
    let budget = dp_accountant::Budget { epsilon: 3.0, ..BUDGET };
    let mut ledger = match spent.exists() {
        true => FileLedger::open(&spent, budget),
        false => FileLedger::create(&spent, budget),
    }
    .unwrap();
    let records = people(80, false);
    let run = run().checkpoint(&path, EVERY).on_progress(callback);
    match path.exists() {
        true => run.resume_from(&records, &mut ledger).unwrap(),
        false => run.seed(Seed::for_tests(9)).fit_from(&records, &mut ledger).unwrap(),
    }
}

/// Not a test by itself: the process that the next test kills. Without the variable it does nothing.
#[test]
fn runs_until_it_is_killed() {
    let Some(folder) = std::env::var_os("DP_VI_TEST_RUN") else { return };
    let say = |words: String| {
        let mut stdout = std::io::stdout().lock();
        writeln!(stdout, "{words}").and_then(|()| stdout.flush()).expect("someone listens");
    };
    let fit = begin_or_resume(Path::new(&folder), move |progress| say(format!("made {}", progress.done)));
    say(format!("found {:?}", bits(&fit)));
}

#[test]
fn killed_at_any_moment_a_run_never_pays_too_little_and_ends_as_if_nothing_had_been() {
    let folder = Folder::new();
    let budget = dp_accountant::Budget { epsilon: 3.0, ..BUDGET };
    let whole = bits(&run().seed(Seed::for_tests(9)).fit(&people(80, false)).unwrap());
    let (mut ended, mut furthest, mut kills) = (None, 0, 0);
    for round in 0..200_u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["checkpoint_killed::runs_until_it_is_killed", "--exact", "--nocapture"])
            .env("DP_VI_TEST_RUN", &folder.0)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // Kill it some steps and some microseconds later than the last time.
        let mut waiting = 1 + round % 9;
        for line in BufReader::new(child.stdout.take().unwrap()).lines().map_while(|line| line.ok()) {
            if let Some((_, found)) = line.split_once("found ") {
                ended = Some(found.to_owned());
            }
            let Some((_, step)) = line.split_once("made ") else { continue };
            furthest = furthest.max(step.parse::<u64>().unwrap());
            if waiting == 0 {
                std::thread::sleep(std::time::Duration::from_micros(90 * (round % 17)));
                child.kill().unwrap();
                kills += 1;
            }
            waiting = waiting.saturating_sub(1);
        }
        child.wait().unwrap();
        // Whatever was made has been paid for; nothing is paid for more than once a round too often.
        let ledger = FileLedger::read(folder.file("spent")).unwrap();
        let steps = ledger.events().iter().filter(|(event, _)| event.sampling() != Sampling::None);
        let paid: u64 = steps.map(|(_, count)| count).sum();
        assert!(paid >= furthest, "{furthest} steps made, {paid} paid for");
        assert!(
            paid <= STEPS.min(furthest + EVERY) + (round + 1) * EVERY,
            "{paid} paid for in round {round}"
        );
        if folder.file("run").exists() {
            let stored = Checkpoint::read(folder.file("run")).unwrap();
            assert!(stored.paid() <= paid && stored.done() <= stored.paid());
        }
        if ended.is_some() {
            break;
        }
    }
    assert!(kills >= 5, "killed {kills} times only");
    assert_eq!(ended.expect("the run came to its end"), format!("{whole:?}"));
    // The seed is gone; the result can still be had.
    let fit = begin_or_resume(&folder.0, |_| {});
    assert_eq!(bits(&fit), whole);
    let ledger = FileLedger::read(folder.file("spent")).unwrap();
    assert!(ledger.spent().unwrap().upper <= budget.epsilon);
}
