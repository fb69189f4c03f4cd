//! `fit --resume`: what is released for a fit is released once, of the records that it was begun with.

use std::process::Stdio;

use crate::fit::{folder, people};
use crate::folder::Folder;

/// Regressions of each way in which a fit is made: with a scale, a dispersion, a mean, coordinates alone, none of them,
/// tails, and a share of zeros.
const FITS: [(&str, &str); 7] = [
    ("children ~ age", "gaussian"),
    ("children ~ age", "negative-binomial"),
    ("children ~ age", "poisson"),
    ("income >= 80 ~ age", "bernoulli"),
    ("children ~ age + (1 | job)", "gaussian"),
    ("children ~ age", "student"),
    ("children ~ age", "zero-inflated-poisson"),
];

const OPTIONS: &str = "--schema schema.toml --epsilon 1 --checkpoint c --ledger l --family";

fn fit<'a>((formula, family): (&'a str, &'a str), data: &'a str, more: &'a str) -> Vec<&'a str> {
    let start = [formula, data].into_iter().chain(OPTIONS.split(' ')).chain([family]);
    start.chain(more.split(' ').filter(|word| !word.is_empty())).collect()
}

/// All files with what is in them.
fn contents(folder: &Folder) -> Vec<(String, Vec<u8>)> {
    // A ledger that is opened brings its head up to date, where a process was killed between a debit and its mark.
    let read = |name: String| match name.as_str() {
        "l.head" => (name, Vec::new()),
        _ => (name.clone(), std::fs::read(folder.path(&name)).unwrap()),
    };
    folder.files().into_iter().map(read).collect()
}

/// The people, of whom one is a year older.
fn others() -> String {
    let people = people();
    let (before, after) = people.split_once("p17,34").expect("somebody");
    format!("{before}p17,35{after}")
}

#[test]
fn a_run_that_is_over_goes_on_with_its_own_records_only() {
    for (number, which) in FITS.into_iter().enumerate() {
        let folder = folder(&format!("others-{number}"));
        folder.write("others.csv", others());
        folder.write("fewer.csv", people().trim_end().rsplit_once('\n').unwrap().0);
        folder.good(&fit(which, "people.csv", "--steps 60 --ledger-epsilon 3 --model a.json"));
        let before = contents(&folder);
        for data in ["others.csv", "fewer.csv"] {
            let told = folder.bad(&fit(which, data, "--steps 60 --resume --model b.json"));
            assert!(told.contains("c: it was begun with other records"), "{which:?}: {told}");
            assert_eq!(contents(&folder), before, "{which:?}");
        }
        folder.good(&fit(which, "people.csv", "--steps 60 --resume --model b.json"));
        // What could subtract noise or draw it again is not kept beside a run that is over.
        let run = folder.read("c.run");
        assert!(run.contains("\"secret\":null"), "{which:?}: {run}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(folder.path("c.run")).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }
}

/// Another regression is refused in plain words, and so is one that looks the same and has other bounds or priors.
#[test]
fn a_checkpoint_of_another_regression_is_refused_in_words() {
    let folder = folder("another-family");
    let more = "--steps 60 --resume";
    folder.good(&fit(FITS[0], "people.csv", "--steps 60 --ledger-epsilon 3"));
    let before = contents(&folder);
    let refused = |which, more| {
        let told = folder.bad(&fit(which, "people.csv", more));
        assert!(!told.contains(['{', '[']) && !told.contains("Some("), "{told}");
        assert_eq!(contents(&folder), before);
        told
    };
    for which in [FITS[1], FITS[2], ("children ~ age", "student"), ("children ~ hours", "gaussian"), FITS[4]]
    {
        let told = refused(which, more);
        assert!(
            told.contains("it was begun with the family gaussian and children ~ Intercept + age"),
            "{told}"
        );
        assert!(told.contains(&format!("here there is the family {}", which.1)), "{told}");
    }
    assert!(refused(FITS[0], "--steps 60 --resume --prior age=normal(0,3)").contains("priors are not those"));
    assert!(refused(FITS[0], "--steps 70 --resume").contains("steps was 60, here it is 70"));
    assert!(refused(FITS[0], "--steps 60").contains("exists already"));
}

/// Files beside a checkpoint are those of its run.
#[test]
fn what_is_beside_a_checkpoint_is_of_its_run() {
    for (number, which) in FITS[..4].iter().enumerate() {
        let folder = folder(&format!("beside-{number}"));
        folder.good(&fit(*which, "people.csv", "--steps 60 --ledger-epsilon 5"));
        let kept: Vec<String> = folder.files().into_iter().filter(|name| name.starts_with("c.")).collect();
        let first: Vec<String> = kept.iter().map(|name| folder.read(name)).collect();
        // Without the checkpoint nothing of it is read, whatever is in it.
        std::fs::remove_file(folder.path("c")).unwrap();
        kept.iter().for_each(|name| drop(folder.write(name, "what is this?")));
        let before = contents(&folder);
        let told = folder.bad(&fit(*which, "people.csv", "--steps 60 --resume --model a.json"));
        assert!(
            told.contains("no checkpoint c to go on from") && told.contains("a new run begins"),
            "{told}"
        );
        assert_eq!(contents(&folder), before);
        folder.good(&fit(*which, "people.csv", "--steps 60 --model a.json"));
        for (name, of_first) in kept.iter().zip(first) {
            let own = folder.read(name);
            assert_ne!(own, of_first);
            folder.write(name, of_first);
            let before = contents(&folder);
            let told = folder.bad(&fit(*which, "people.csv", "--steps 60 --resume --model b.json"));
            assert!(told.contains(name.as_str()) && told.contains("of another run"), "{told}");
            std::fs::remove_file(folder.path(name)).unwrap();
            let told = folder.bad(&fit(*which, "people.csv", "--steps 60 --resume --model b.json"));
            assert!(told.contains(name.as_str()), "{told}");
            folder.write(name, own);
            assert_eq!(before.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(), folder.files());
        }
        folder.good(&fit(*which, "people.csv", "--steps 60 --resume --model b.json"));
    }
}

/// A run that is stopped after its steps and before it has kept its last release makes the same again, for the same
/// records, and none for others.
#[test]
#[cfg(unix)]
fn a_last_release_that_is_made_again_is_the_same() {
    for which in &FITS[..2] {
        let folder = folder(&format!("replay-{}", which.1));
        folder.write("others.csv", others());
        let steps = "--steps 8000 --ledger-epsilon 5";
        let mut child = folder
            .command(&fit(*which, "people.csv", steps))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a run");
        for _ in 0..60_000 {
            if folder.path("c").exists() || child.try_wait().expect("a state").is_some() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        folder.run_other("kill", &["-KILL", &child.id().to_string()]);
        assert!(!child.wait().expect("an end").success(), "the run was over before it could be stopped");
        let (run, open) = (folder.read("c.run"), folder.read("c.nuisance"));
        let before = contents(&folder);
        let resume = "--steps 8000 --resume";
        let told = folder.bad(&fit(*which, "others.csv", resume));
        assert!(told.contains("begun with other records"), "{told}");
        assert_eq!(contents(&folder), before);
        folder.good(&fit(*which, "people.csv", resume));
        let whole = folder.read("c.nuisance");
        assert!(whole.len() > open.len() && folder.read("c.run").len() < run.len());
        // As if it had been killed just before that.
        folder.write("c.nuisance", &open);
        let told = folder.bad(&fit(*which, "people.csv", resume));
        assert!(told.contains("c.nuisance") && told.contains("the run is over"), "{told}");
        folder.write("c.run", &run);
        let told = folder.bad(&fit(*which, "others.csv", resume));
        assert!(told.contains("begun with other records"), "{told}");
        folder.good(&fit(*which, "people.csv", resume));
        assert_eq!(folder.read("c.nuisance"), whole);
    }
}

/// A fit that is refused before its first step leaves nothing beside a checkpoint that it does not leave either.
#[test]
fn a_fit_that_is_refused_leaves_nothing() {
    let folder = folder("refused");
    let which = ("children ~ age", "gaussian");
    folder.good(&fit(which, "people.csv", "--steps 60 --ledger-epsilon 1.1"));
    for name in ["c", "c.run", "c.whitening", "c.nuisance"] {
        std::fs::remove_file(folder.path(name)).unwrap();
    }
    let before = contents(&folder);
    for which in FITS {
        assert!(folder.bad(&fit(which, "people.csv", "--steps 60")).contains("budget"));
        assert_eq!(contents(&folder), before, "{which:?}");
    }
}
