//! The command, as somebody types it.
#![cfg(feature = "cli")]

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use dp_accountant::{Composition, interop};
use serde_json::Value;

/// A folder of its own, in which commands run, and which goes when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name =
            format!("dp-accountant-cli-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("a temporary folder");
        Self(path)
    }

    fn run(&self, line: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dp-accountant"));
        command.current_dir(&self.0).args(line.split_whitespace()).output().expect("started")
    }

    /// What a command that succeeds prints.
    fn text(&self, line: &str) -> String {
        let output = self.run(line);
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }

    fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.text(&format!("{line} --json"))).expect("JSON")
    }

    /// Runs a command that reads this from its standard input.
    fn piped(&self, line: &str, input: &[u8]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dp-accountant"));
        command.current_dir(&self.0).args(line.split_whitespace());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("started");
        // A command that refuses its input early does not read all of it.
        let _ = child.stdin.take().expect("piped").write_all(input);
        child.wait_with_output().expect("ended")
    }

    /// The exit code and the message of a command that fails; it prints nothing else.
    fn failure(&self, line: &str) -> (i32, String) {
        self.failed(line, self.run(line))
    }

    fn failed(&self, line: &str, output: Output) -> (i32, String) {
        let message = String::from_utf8(output.stderr).expect("text");
        assert!(output.stdout.is_empty(), "{line}: {}", String::from_utf8_lossy(&output.stdout));
        assert!(!message.contains("panicked"), "{line}: {message}");
        (output.status.code().expect("an exit code"), message)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

const RUN: &str = "--noise-multiplier 1 --sampling poisson:0.01 --steps 1000 --relation add-remove";

#[test]
fn epsilon_and_delta_enclose_the_truth() {
    let folder = Folder::new();
    // The truth by Fourier inversion in 40 digits.
    let answer = folder.json(&format!("epsilon {RUN} --delta 1e-5"));
    let epsilon = &answer["epsilon"];
    let (lower, upper) = (number(&epsilon["lower"]), number(&epsilon["upper"]));
    assert!(lower <= 1.828236666517 && 1.828236666517 <= upper && upper - lower < 1e-4, "{answer}");
    assert!(lower <= number(&epsilon["estimate"]) && number(&epsilon["estimate"]) <= upper);
    let back = folder.json(&format!("delta {RUN} --epsilon 1.828236666517"));
    assert!(
        number(&back["delta"]["lower"]) <= 1e-5 * (1.0 + 1e-9)
            && number(&back["delta"]["upper"]) >= 1e-5 * (1.0 - 1e-9)
    );
    assert!((number(&back["log_delta"]["estimate"]) - 1e-5f64.ln()).abs() < 1e-2);
    let text = folder.text(&format!("epsilon {RUN} --delta 1e-5"));
    assert!(
        text.contains("at most 1.8282") && text.contains("add/remove") && text.contains("1000 x Gaussian"),
        "{text}"
    );
}

#[test]
fn a_file_of_events_is_what_json_prints() {
    let folder = Folder::new();
    let answer = folder.json(&format!("epsilon {RUN} --delta 1e-5"));
    fs::write(folder.0.join("events.json"), answer["events"].to_string()).expect("written");
    let again = folder.json("epsilon --input events.json --relation add-remove --delta 1e-5");
    assert_eq!(answer, again);
    // As dp_accounting itself states the same run.
    fs::write(folder.0.join("tree.json"), include_str!("golden/dp_event/training.json")).expect("written");
    assert_eq!(folder.json("epsilon --input tree.json --relation add-remove --delta 1e-5"), answer);
    fs::write(folder.0.join("tree.json"), include_str!("golden/dp_event/non_private.json")).expect("written");
    let (code, message) = folder.failure("epsilon --input tree.json --relation add-remove --delta 1e-5");
    assert!(code == 2 && message.contains("NonPrivateDpEvent at $.events[1]"), "{code} {message}");
    fs::write(folder.0.join("events.json"), r#"[{"event":{"version":1},"count":3}]"#).expect("written");
    let (code, message) = folder.failure("epsilon --input events.json --relation add-remove --delta 1e-5");
    assert!(code == 2 && message.contains("mechanism"), "{code} {message}");
    assert_eq!(folder.failure("epsilon --input none.json --relation add-remove --delta 1e-5").0, 1);
}

const MECHANISMS: [&str; 6] = [
    "gaussian:noise-multiplier=2.3",
    "laplace:scale=3.1",
    "discrete-gaussian:sigma=4.7,sensitivity=2",
    "randomized-response:categories=3,truth-probability=0.45",
    "pure-dp:epsilon=0.1",
    "approximate-dp:epsilon=1.1,delta=1e-9",
];
const SAMPLINGS: [&str; 5] =
    ["none", "poisson:0.0137", "fixed:10/1000", "with-replacement:10/200", "shuffle:500/1000"];

/// For every mechanism under every sampling scheme and relation that has an answer: the answer, given back as a file or
/// through a pipe in turns, and as an event tree of dp_accounting where there is one, costs the same to the last bit.
#[test]
fn every_kind_of_event_can_be_read_back() {
    let folder = Folder::new();
    let (mut answered, mut kinds, mut trees) = (std::collections::BTreeSet::new(), 0, 0);
    for relation in ["add-remove", "replace-one"] {
        let question = format!("--relation {relation} --delta 1e-4 --json");
        for mechanism in MECHANISMS {
            for sampling in SAMPLINGS {
                let line =
                    format!("epsilon --mechanism {mechanism} --sampling {sampling} --steps 2 {question}");
                let output = folder.run(&line);
                if !output.status.success() {
                    let message = String::from_utf8_lossy(&output.stderr).into_owned();
                    assert!(message.contains("no certified answer"), "{line}: {message}");
                    continue;
                }
                answered.extend([mechanism, sampling]);
                kinds += 1;
                let again = if kinds % 2 == 0 {
                    folder.piped(&format!("epsilon --input - {question}"), &output.stdout)
                } else {
                    fs::write(folder.0.join("answer.json"), &output.stdout).expect("written");
                    folder.run(&format!("epsilon --input answer.json {question}"))
                };
                assert!(again.status.success(), "{line}: {}", String::from_utf8_lossy(&again.stderr));
                assert_eq!(again.stdout, output.stdout, "{line}");
                // As an event tree.
                let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
                let events: Composition = serde_json::from_value(answer["events"].clone()).expect("events");
                let Ok(tree) = interop::dp_event::to_json(&events) else { continue };
                let again = folder.piped(&format!("epsilon --input - {question}"), tree.as_bytes());
                let again: Value = serde_json::from_slice(&again.stdout).expect("JSON");
                trees += 1;
                if interop::dp_event::from_json(&tree).expect("readable") == events {
                    assert_eq!(again, answer, "{line}");
                } else {
                    // Randomised response is stated by another parameter there, and rounded to the less
                    // private side.
                    assert!(mechanism.starts_with("randomized"), "{line}");
                    let (new, old) =
                        (number(&again["epsilon"]["upper"]), number(&answer["epsilon"]["upper"]));
                    assert!(new >= old * (1.0 - 1e-12) && new <= old * (1.0 + 1e-9), "{line}: {new} {old}");
                }
            }
        }
    }
    assert_eq!(answered.len(), MECHANISMS.len() + SAMPLINGS.len(), "{answered:?}");
    assert!(trees >= 10, "{trees}");
}

#[test]
fn the_answers_of_all_subcommands_can_be_read_back() {
    let folder = Folder::new();
    let question = "--relation add-remove --delta 1e-5";
    let direct = folder.json(&format!("epsilon {RUN} --delta 1e-5"));
    folder.text("ledger new --file spent.ledger --epsilon 2 --delta 1e-5 --relation add-remove");
    folder.text("ledger debit --file spent.ledger --noise-multiplier 1 --sampling poisson:0.01 --steps 400");
    for line in [
        format!("epsilon {RUN} --delta 1e-3"),
        format!("delta {RUN} --epsilon 1"),
        format!("compare {RUN} --delta 1e-3"),
        format!("curve {RUN} --width 0.01"),
        "calibrate --for steps --epsilon 1.82824 --delta 1e-5 --relation add-remove --sampling poisson:0.01 --noise-multiplier 1".into(),
        "ledger debit --file spent.ledger --noise-multiplier 1 --sampling poisson:0.01 --steps 600".into(),
        "ledger show --file spent.ledger".into(),
    ] {
        let answer = folder.json(&line);
        assert_eq!(answer["events"][0]["count"], 1000, "{line}");
        fs::write(folder.0.join("answer.json"), answer.to_string()).expect("written");
        assert_eq!(folder.json(&format!("epsilon --input answer.json {question}")), direct, "{line}");
        // And by the other subcommands that take events.
        let delta = folder.json("delta --input answer.json --relation add-remove --epsilon 1");
        assert_eq!(delta, folder.json(&format!("delta {RUN} --epsilon 1")), "{line}");
    }
    // What a ledger shows is what it says of itself, debit by debit.
    let shown = folder.json("ledger show --file spent.ledger");
    let counts: Vec<_> = shown["debits"].as_array().expect("a list").iter().map(|d| &d[0]["count"]).collect();
    assert_eq!(counts, [400, 600]);
    assert_eq!(shown["spent"], direct["epsilon"]);
    // A debit can be read from an answer, too; and an account with nothing spent has events: none.
    let new = folder.json("ledger new --file other.ledger --epsilon 2 --delta 1e-5 --relation add-remove");
    fs::write(folder.0.join("answer.json"), shown.to_string()).expect("written");
    let debited = folder.json("ledger debit --file other.ledger --input answer.json");
    assert_eq!((&debited["spent"], &debited["events"]), (&shown["spent"], &shown["events"]));
    fs::write(folder.0.join("answer.json"), new.to_string()).expect("written");
    assert_eq!(folder.json(&format!("epsilon --input answer.json {question}"))["epsilon"]["upper"], 0.0);
    // What is affordable is a number and no event.
    let more = folder.json("ledger affordable --file spent.ledger --noise-multiplier 9 --sampling none");
    fs::write(folder.0.join("answer.json"), more.to_string()).expect("written");
    let (code, message) = folder.failure(&format!("epsilon --input answer.json {question}"));
    assert!(code == 2 && message.contains("neither \"events\" nor \"class_name\""), "{code} {message}");
}

#[test]
fn a_guarantee_is_not_read_under_a_relation_that_it_was_not_stated_for() {
    let folder = Folder::new();
    for (mechanism, guarantee) in [
        ("pure-dp:epsilon=0.1", true),
        ("approximate-dp:epsilon=0.1,delta=1e-9", true),
        (MECHANISMS[0], false),
    ] {
        for (stated, asked) in [("add-remove", "replace-one"), ("replace-one", "add-remove")] {
            let line =
                format!("epsilon --mechanism {mechanism} --sampling none --steps 4 --delta 1e-5 --relation");
            fs::write(folder.0.join("answer.json"), folder.json(&format!("{line} {stated}")).to_string())
                .expect("written");
            for question in ["epsilon --delta 1e-5", "delta --epsilon 1", "compare --delta 1e-5", "curve"] {
                let question = format!("{question} --input answer.json --relation {asked}");
                if guarantee {
                    let (code, message) = folder.failure(&question);
                    assert!(
                        code == 2 && message.contains("was stated under"),
                        "{question}: {code} {message}"
                    );
                } else {
                    folder.text(&question);
                }
            }
            let file = format!("{asked}.ledger");
            let gone =
                || [file.clone(), format!("{file}.head")].map(|name| fs::remove_file(folder.0.join(name)));
            let _ = gone();
            let budget = format!("--epsilon 20 --delta 1e-5 --relation {asked}");
            folder.text(&format!("ledger new --file {file} {budget}"));
            let debit = format!("ledger debit --file {file} --input answer.json");
            let spent = folder.run(&debit);
            assert_eq!(spent.status.success(), !guarantee, "{debit}");
            let debits = folder.json(&format!("ledger show --file {file}"))["debits"].clone();
            assert_eq!(debits.as_array().expect("a list").len(), usize::from(!guarantee));
            // A ledger's own answer states its relation within its budget.
            if !guarantee {
                continue;
            }
            assert!(gone().iter().all(Result::is_ok));
            folder.text(&format!("ledger new --file {file} {budget}"));
            let debit =
                format!("ledger debit --file {file} --mechanism {mechanism} --sampling none --steps 4");
            fs::write(folder.0.join("ledger.json"), folder.json(&debit).to_string()).expect("written");
            folder.text(&format!("epsilon --delta 1e-5 --relation {asked} --input ledger.json"));
            let (code, _) =
                folder.failure(&format!("epsilon --delta 1e-5 --relation {stated} --input ledger.json"));
            assert_eq!(code, 2);
        }
    }
}

#[test]
fn anything_else_is_refused_with_its_reason() {
    let folder = Folder::new();
    let question = "epsilon --relation add-remove --delta 1e-5 --input";
    let event = r#"{"version":1,"mechanism":{"gaussian":{"noise_multiplier":1}},"sampling":"none"}"#;
    for (text, word) in [
        (String::new(), "empty"),
        ("  \n".into(), "empty"),
        ("epsilon 3\n".into(), "neither a list nor an object"),
        ("\"events\"".into(), "neither a list nor an object"),
        ("3".into(), "neither a list nor an object"),
        ("{".into(), "not JSON"),
        ("{}".into(), "neither \"events\" nor \"class_name\""),
        ("[3]".into(), "a list of events"),
        ("[".repeat(100_000), "invalid type"),
        (format!("{}1", "{\"events\":".repeat(100_000)), "not JSON"),
        (format!("{}1{}", "{\"events\":".repeat(1000), "}".repeat(1000)), "an answer"),
        (format!("[{{\"event\":{event},\"count\":-1}}]"), "-1"),
        (format!("[{{\"event\":{event},\"count\":1.5}}]"), "1.5"),
        (format!("[{{\"event\":{event},\"count\":99999999999999999999}}]"), "expected u64"),
        (format!("[{{\"event\":{event}}}]"), "count"),
        (format!("[{{\"event\":{event},\"count\":1,\"seed\":2}}]"), "seed"),
        (format!("[{{\"event\":{event},\"count\":1,\"count\":2}}]"), "duplicate field"),
        (format!("[{{\"event\":{},\"count\":1}}]", event.replace("1}", "-3}")), "-3"),
        (format!("{{\"events\":[{{\"event\":{event},\"count\":9}}],\"events\":[]}}"), "duplicate field"),
        (r#"{"events":{}}"#.into(), "an answer"),
        (r#"{"events":[],"relation":"both"}"#.into(), "both"),
        (r#"{"class_name":"NonPrivateDpEvent"}"#.into(), "NonPrivateDpEvent at $"),
        (r#"{"class_name":"MyDpEvent"}"#.into(), "cannot be expressed"),
        (r#"{"class_name":7}"#.into(), "class_name"),
        (r#"{"class_name":"NoOpDpEvent","class_name":"NoOpDpEvent"}"#.into(), "duplicate field"),
        (
            r#"{"class_name":"SelfComposedDpEvent","event":{"class_name":"GaussianDpEvent","noise_multiplier":1},"count":9,"count":1}"#
                .into(),
            "stands twice",
        ),
        (r#"["dp_accounting.dp_event","GaussianDpEvent",1.0]"#.into(), "a list of events"),
        ("dp-accountant ledger 1 {}\n".into(), "ledger show --json"),
    ] {
        fs::write(folder.0.join("input.json"), &text).expect("written");
        let shown = &text[..text.len().min(80)];
        let (code, message) = folder.failure(&format!("{question} input.json"));
        assert!(code == 2 && message.contains(word) && message.contains("input.json"), "{shown}: {code} {message}");
        assert!(message.len() < 1_000, "{shown}: {message}");
        let line = format!("{question} -");
        let (code, message) = folder.failed(&line, folder.piped(&line, text.as_bytes()));
        assert!(code == 2 && message.contains(word), "{shown}: {code} {message}");
        assert!(message.contains("standard input"), "{shown}: {message}");
    }
    for bytes in [&b"\xFF\xFE[\0"[..], b"[\xC3]", b"\0\0\0"] {
        fs::write(folder.0.join("input.json"), bytes).expect("written");
        assert_eq!(folder.failure(&format!("{question} input.json")).0, 2);
    }
    // A file that begins with a byte order mark, as some editors write it, says the same as without.
    fs::write(folder.0.join("input.json"), "\u{feff}[]\n").expect("written");
    folder.text(&format!("{question} input.json"));
    assert_eq!(folder.failure(&format!("{question} .")).0, 1);
}

#[test]
fn too_large_a_file_is_refused_in_seconds() {
    let folder = Folder::new();
    let question = "epsilon --relation add-remove --delta 1e-5 --input";
    let started = std::time::Instant::now();
    let line = |k: usize| {
        format!(
            r#"{{"event":{{"version":1,"mechanism":{{"gaussian":{{"noise_multiplier":{k}.5}}}},"sampling":"none"}},"count":1}}"#
        )
    };
    let mut list = String::from("[");
    while list.len() <= 5 << 20 {
        list += &line(list.len());
        list.push(',');
    }
    fs::write(folder.0.join("input.json"), list.trim_end_matches(',').to_string() + "]").expect("written");
    let (code, message) = folder.failure(&format!("{question} input.json"));
    assert!(code == 2 && message.contains("larger than 4 MiB"), "{code} {message}");
    if cfg!(unix) {
        // It has no end.
        for option in ["--input", "--batch"] {
            let (code, message) =
                folder.failure(&format!("epsilon --relation add-remove --delta 1e-5 {option} /dev/zero"));
            assert!(code == 2 && message.contains("larger than"), "{code} {message}");
        }
    }
    // On a busy machine, without optimisation.
    assert!(started.elapsed() < std::time::Duration::from_secs(60), "{:?}", started.elapsed());
    // The largest that is read, of as many different events as there is room for, and, in the other form, as many of a
    // thousand kinds.
    for (small, opening, closing) in [
        (&line as &dyn Fn(usize) -> String, "[", "]"),
        (
            &|k: usize| format!(r#"{{"class_name":"GaussianDpEvent","noise_multiplier":{}.5}}"#, k % 1000),
            r#"{"class_name":"ComposedDpEvent","events":["#,
            "]}",
        ),
    ] {
        let mut list = String::from(opening);
        for k in 1.. {
            if list.len() > (4 << 20) - 200 {
                break;
            }
            list += &small(k);
            list.push(',');
        }
        fs::write(folder.0.join("input.json"), list.trim_end_matches(',').to_string() + closing)
            .expect("written");
        let output = folder.run(&format!("{question} input.json"));
        assert!(output.status.success() || output.status.code() == Some(1));
    }
}

#[test]
fn every_scheme_and_mechanism_can_be_named() {
    let folder = Folder::new();
    for sampling in [
        "none",
        "poisson:0.01",
        "poisson:1/100",
        "fixed:10/1000",
        "with-replacement:10/1000",
        "shuffle:10/1000",
    ] {
        let line = format!(
            "epsilon --noise-multiplier 2 --sampling {sampling} --steps 100 --delta 1e-5 --relation replace-one"
        );
        let output = folder.run(&line);
        // Either an answer, or the library's reason why there is none.
        let message = String::from_utf8_lossy(&output.stderr).to_string();
        assert!(output.status.success() || message.contains("no certified answer"), "{line}: {message}");
    }
    let direct = folder
        .json("epsilon --noise-multiplier 2 --sampling none --steps 3 --delta 1e-5 --relation add-remove");
    let named = folder.json(
        "epsilon --mechanism gaussian:noise-multiplier=2 --sampling none --steps 3 --delta 1e-5 --relation add-remove",
    );
    assert_eq!(direct, named);
}

#[test]
fn calibration_finds_what_is_missing() {
    let folder = Folder::new();
    let budget = "--epsilon 1 --delta 1e-5 --relation add-remove";
    let noise = folder.json(&format!("calibrate {budget} --sampling poisson:0.01 --steps 1000"));
    assert!((number(&noise["noise_multiplier"]) - 1.4146194065).abs() < 1e-4, "{noise}");
    assert!(number(&noise["epsilon"]["upper"]) <= 1.0);
    let sigma = 1.4147;
    let steps = folder
        .json(&format!("calibrate --for steps {budget} --sampling poisson:0.01 --noise-multiplier {sigma}"));
    assert!((1000..1010).contains(&steps["steps"].as_u64().expect("a count")), "{steps}");
    let rate = folder.json(&format!(
        "calibrate --for rate {budget} --sampling poisson:? --steps 1000 --noise-multiplier {sigma}"
    ));
    assert!((number(&rate["rate"]) - 0.01).abs() < 1e-5, "{rate}");
    let batch = folder.json(&format!(
        "calibrate --for batch {budget} --sampling poisson:?/10000 --steps 1000 --noise-multiplier {sigma}"
    ));
    assert_eq!(batch["batch"].as_u64(), Some(100), "{batch}");
    // A rate at which next to no record is drawn: the most steps that are looked for, at once.
    let rare = folder
        .json(&format!("calibrate --for steps {budget} --sampling poisson:1e-12 --noise-multiplier {sigma}"));
    assert_eq!(rare["steps"].as_u64(), Some(1 << 40), "{rare}");
    for (line, word) in [
        ("--sampling poisson:0.01", "--steps"),
        ("--sampling poisson:? --steps 3", "--for rate"),
        ("--for rate --sampling poisson:0.1 --steps 3 --noise-multiplier 1", "poisson:?"),
        ("--for batch --sampling poisson:? --steps 3 --noise-multiplier 1", "RECORDS"),
        ("--for steps --sampling none --steps 3 --noise-multiplier 1", "leave it out"),
        ("--sampling nonsense --steps 3", "expected none"),
    ] {
        let (code, message) = folder.failure(&format!("calibrate {budget} {line}"));
        assert!(code == 2 && message.contains(word), "{line}: {code} {message}");
    }
}

#[test]
fn the_curve_is_drawn_whole_or_not_at_all() {
    let folder = Folder::new();
    let answer = folder.json(&format!("curve {RUN} --out curve.svg"));
    // The advantage is delta at epsilon 0.
    let advantage = number(&answer["advantage"]["upper"]);
    assert_eq!(advantage, number(&folder.json(&format!("delta {RUN} --epsilon 0"))["delta"]["upper"]));
    let rates = answer["rates"].as_array().expect("a list");
    for rate in rates {
        let (at, power) =
            (number(&rate["false_positive_rate"]), number(&rate["true_positive_rate"]["upper"]));
        assert!(power >= at && power <= at + advantage + 1e-9, "{rate}");
    }
    let svg = fs::read_to_string(folder.0.join("curve.svg")).expect("written");
    assert!(
        svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>") && svg.contains("polyline"),
        "{svg}"
    );
    assert!(svg.contains("false positive rate") && !svg.contains("NaN"));
    fs::create_dir(folder.0.join("folder")).expect("made");
    assert_eq!(folder.failure(&format!("curve {RUN} --out folder")).0, 2);
    assert_eq!(folder.failure(&format!("curve {RUN} --out none/curve.svg")).0, 1);
    assert_eq!(folder.failure(&format!("curve {RUN} --width 7 --out other.svg")).0, 2);
    let mut names: Vec<_> = fs::read_dir(&folder.0)
        .expect("readable")
        .map(|entry| entry.expect("readable").file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["curve.svg", "folder"]);
}

#[test]
fn a_picture_replaces_plain_files_only_and_never_a_ledger() {
    let folder = Folder::new();
    let curve = format!("curve {RUN} --out");
    folder.text("ledger new --file spent.ledger --epsilon 2 --delta 1e-5 --relation add-remove");
    folder.text("ledger debit --file spent.ledger --noise-multiplier 1 --sampling poisson:0.01 --steps 500");
    let path = folder.0.join("spent.ledger");
    let whole = fs::read(&path).expect("readable");
    for state in [&whole[..], &whole[..whole.len() - 7], &whole[..30]] {
        fs::write(&path, state).expect("written");
        let (code, message) = folder.failure(&format!("{curve} spent.ledger"));
        assert!(code == 2 && message.contains("it is a ledger"), "{code} {message}");
        assert_eq!(fs::read(&path).expect("readable"), state);
    }
    fs::write(&path, &whole).expect("written");
    {
        // While another process spends from it.
        let open = dp_accountant::FileLedger::resume(&path).expect("opened");
        let (code, message) = folder.failure(&format!("{curve} ./spent.ledger"));
        assert!(code == 2 && message.contains("it is a ledger"), "{code} {message}");
        assert_eq!(open.ledger().debits().len(), 1);
    }
    #[cfg(unix)]
    {
        let made = Command::new("mkfifo").arg(folder.0.join("fifo")).status().expect("mkfifo");
        assert!(made.success());
        let link = |target: &str, name: &str| {
            std::os::unix::fs::symlink(target, folder.0.join(name)).expect("made");
        };
        link("spent.ledger", "to-ledger");
        link("fifo", "to-fifo");
        link("/dev/null", "to-device");
        link("none", "to-nothing");
        for (out, word) in [
            ("fifo", "it is a FIFO"),
            ("to-fifo", "it is a FIFO"),
            ("/dev/null", "it is a device"),
            ("to-device", "it is a device"),
            ("to-ledger", "it is a ledger"),
            ("to-nothing", "link to nothing"),
            (".", "no name of a file"),
        ] {
            let (code, message) = folder.failure(&format!("{curve} {out}"));
            assert!(code == 2 && message.contains(word), "{out}: {code} {message}");
        }
        use std::os::unix::fs::FileTypeExt;
        let kind = |path: &str| folder.0.join(path).symlink_metadata().expect("there").file_type();
        assert!(kind("fifo").is_fifo() && kind("to-fifo").is_symlink() && kind("/dev/null").is_char_device());
        // A ledger is no FIFO either, and reading one does not wait for ever.
        let (code, message) = folder.failure("ledger show --file fifo");
        assert!(code == 1 && message.contains("it is a FIFO"), "{code} {message}");
    }
    assert_eq!(fs::read(&path).expect("readable"), whole);
    // No temporary files.
    let names = fs::read_dir(&folder.0).expect("readable").map(|entry| entry.expect("readable").file_name());
    assert!(names.into_iter().all(|name| !name.to_string_lossy().contains("tmp")));
}

#[test]
fn accountants_are_compared() {
    let folder = Folder::new();
    let answer = folder.json(&format!("compare {RUN} --delta 1e-5"));
    let rows = answer["comparison"].as_array().expect("a list");
    let best = number(&rows[0]["epsilon"]);
    assert!(rows.len() > 5 && rows[0]["name"] == "certified accountant");
    for row in rows.iter().filter(|row| row["proven"] == true && row["epsilon"].is_number()) {
        assert!(number(&row["epsilon"]) >= best, "{row}");
    }
    let text = folder.text(&format!("compare {RUN} --delta 1e-5"));
    assert!(text.contains("Rényi") && text.contains("moments"), "{text}");
    assert_eq!(folder.failure(&format!("compare {RUN} --delta 2")).0, 2);
}

#[test]
fn an_account_lives_in_a_file() {
    let folder = Folder::new();
    folder.text("ledger new --file spent.ledger --epsilon 2 --delta 1e-5 --relation add-remove");
    let debit = "ledger debit --file spent.ledger --noise-multiplier 1 --sampling poisson:0.01 --steps";
    folder.text(&format!("{debit} 500"));
    let state = folder.json(&format!("{debit} 500"));
    assert!(number(&state["spent"]["upper"]) < 1.8283, "{state}");
    let before = fs::read(folder.0.join("spent.ledger")).expect("readable");
    let (code, message) = folder.failure(&format!("{debit} 1000"));
    assert!(code == 1 && message.contains("budget exceeded"), "{code} {message}");
    assert_eq!(fs::read(folder.0.join("spent.ledger")).expect("readable"), before);
    // In words: what is spent is rounded up, what is left is rounded down, and each names its direction.
    let text = folder.text("ledger show --file spent.ledger");
    let word = |name: &str, direction: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{text}"));
        let rest =
            line[name.len()..].trim_start().strip_prefix(direction).unwrap_or_else(|| panic!("{line}"));
        rest.split_whitespace()
            .next()
            .and_then(|word| word.parse::<f64>().ok())
            .unwrap_or_else(|| panic!("{line}"))
    };
    let (spent, left) = (word("spent", "at most "), word("remaining", "at least "));
    assert!(number(&state["spent"]["upper"]) <= spent && spent < 1.8284, "{text}");
    assert!(left <= number(&state["remaining"]["lower"]) && left > 0.1716, "{text}");
    assert!(left <= 2.0 - number(&state["spent"]["upper"]), "{text}");
    let more =
        folder.json("ledger affordable --file spent.ledger --noise-multiplier 1 --sampling poisson:0.01");
    let more = more["affordable"].as_u64().expect("a count");
    folder.text(&format!("{debit} {more}"));
    assert_eq!(folder.failure(&format!("{debit} 1")).0, 1);
    let shown = folder.json("ledger show --file spent.ledger");
    let readings = shown["odometer"].as_array().expect("a list");
    assert_eq!(
        readings.iter().map(|r| r["events"].as_u64().expect("a count")).collect::<Vec<_>>(),
        [500, 1000, 1000 + more]
    );
    assert_eq!(readings[2]["epsilon"], shown["spent"]);
    let (code, message) =
        folder.failure("ledger new --file spent.ledger --epsilon 3 --delta 1e-5 --relation add-remove");
    assert!(code == 1 && message.contains("exists"), "{code} {message}");
    // A copy that was cut at the end of a line is refused, and can be accepted by name.
    let whole = fs::read_to_string(folder.0.join("spent.ledger")).expect("readable");
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    fs::write(folder.0.join("spent.ledger"), lines[..3].concat()).expect("written");
    for command in ["ledger show --file spent.ledger".to_owned(), format!("{debit} 1")] {
        let (code, message) = folder.failure(&command);
        assert!(code == 1 && message.contains("no longer has the 3 debits"), "{code} {message}");
    }
    let accepted = folder.json("ledger accept --file spent.ledger");
    assert_eq!(accepted["spent"], state["spent"]);
    folder.text(&format!("{debit} 1"));
    fs::write(folder.0.join("spent.ledger"), b"nonsense\n").expect("written");
    let (code, message) = folder.failure("ledger show --file spent.ledger");
    assert!(code == 1 && message.contains("line 1"), "{code} {message}");
}

#[test]
fn several_runs_are_composed() {
    let folder = Folder::new();
    folder.text("ledger new --file spent.ledger --epsilon 2 --delta 1e-5 --relation add-remove");
    folder.text("ledger debit --file spent.ledger --noise-multiplier 1 --sampling poisson:0.01 --steps 500");
    let before = fs::read(folder.0.join("spent.ledger")).expect("readable");
    let run = "--noise-multiplier 1 --sampling poisson:0.01 --steps 300 --relation add-remove";
    let answer = folder.text(&format!("epsilon {run} --delta 1e-3 --json"));
    fs::write(folder.0.join("run.json"), answer).expect("written");
    // The same thousand steps in three parts cost what they cost together.
    let compose = "compose --ledger spent.ledger --input run.json \
                   --event gaussian:noise-multiplier=1@poisson:0.01@200 --relation add-remove";
    let answer = folder.json(&format!("{compose} --delta 1e-5 --epsilon 2"));
    assert_eq!(answer["epsilon"], folder.json(&format!("epsilon {RUN} --delta 1e-5"))["epsilon"]);
    let delta = folder.json(&format!("delta {RUN} --epsilon 2"));
    assert_eq!((&answer["delta"], &answer["log_delta"]), (&delta["delta"], &delta["log_delta"]));
    assert_eq!(answer["events"], delta["events"]);
    assert_eq!((&answer["at_delta"], &answer["at_epsilon"]), (&Value::from(1e-5), &Value::from(2.0)));
    let sources = answer["sources"].as_array().expect("a list");
    let counts: Vec<_> = sources.iter().map(|source| source["events"][0]["count"].as_u64()).collect();
    assert_eq!(counts, [Some(200), Some(300), Some(500)]);
    // Each question alone; the answer is read back; and the account was only read.
    let one = folder.json(&format!("{compose} --epsilon 2"));
    assert!(one["delta"] == delta["delta"] && one.get("epsilon").is_none(), "{one}");
    fs::write(folder.0.join("all.json"), answer.to_string()).expect("written");
    let again = folder.json("compose --input all.json --relation add-remove --delta 1e-5");
    assert_eq!(again["epsilon"], answer["epsilon"]);
    assert_eq!(fs::read(folder.0.join("spent.ledger")).expect("readable"), before);
    // What is named twice counts twice; different mechanisms and files of dp_accounting go together.
    let twice =
        folder.json("compose --ledger spent.ledger --ledger spent.ledger --relation add-remove --delta 1e-5");
    assert_eq!(twice["epsilon"], answer["epsilon"]);
    fs::write(folder.0.join("tree.json"), include_str!("golden/dp_event/training.json")).expect("written");
    let mixed = folder
        .json("compose --input tree.json --event laplace:scale=9@none@2 --relation add-remove --delta 1e-5");
    assert!(number(&mixed["epsilon"]["lower"]) > number(&answer["epsilon"]["upper"]), "{mixed}");
    let text = folder.text(&format!("{compose} --delta 1e-5 --epsilon 2"));
    assert!(
        text.contains("spent.ledger (500 events)") && text.contains("epsilon     at most 1.8282"),
        "{text}"
    );
}

#[test]
fn what_cannot_be_composed_is_refused() {
    let folder = Folder::new();
    folder.text("ledger new --file spent.ledger --epsilon 20 --delta 1e-5 --relation replace-one");
    folder.text("ledger debit --file spent.ledger --mechanism pure-dp:epsilon=0.1 --sampling none --steps 4");
    fs::write(folder.0.join("bad.ledger"), "nonsense\n").expect("written");
    fs::write(folder.0.join("bad.json"), "{").expect("written");
    let event = "--event laplace:scale=4@none@3";
    for (line, expected, word) in [
        ("compose --relation add-remove --delta 1e-5".into(), 2, "--event"),
        (format!("compose {event} --relation add-remove"), 2, "--delta"),
        (format!("compose {event} --delta 1e-5"), 2, "--relation"),
        (format!("compose {event} --relation add-remove --delta 2"), 2, "got 2"),
        (format!("compose {event} --relation add-remove --epsilon -1"), 2, "got -1"),
        (format!("compose {event}@4 --relation add-remove --delta 1e-5"), 2, "MECHANISM@SAMPLING@STEPS"),
        (
            "compose --event laplace:scale=4 --relation add-remove --delta 1e-5".into(),
            2,
            "MECHANISM@SAMPLING@STEPS",
        ),
        ("compose --event laplace:scale=-4@none@3 --relation add-remove --delta 1e-5".into(), 2, "got -4"),
        ("compose --event cauchy:scale=4@none@3 --relation add-remove --delta 1e-5".into(), 2, "cauchy"),
        (
            "compose --event laplace:scale=4@some@3 --relation add-remove --delta 1e-5".into(),
            2,
            "poisson:RATE",
        ),
        ("compose --event laplace:scale=4@none@-3 --relation add-remove --delta 1e-5".into(), 2, "-3"),
        (format!("compose {event} --input none.json --relation add-remove --delta 1e-5"), 1, "none.json"),
        (format!("compose {event} --input bad.json --relation add-remove --delta 1e-5"), 2, "bad.json"),
        (format!("compose {event} --input spent.ledger --relation add-remove --delta 1e-5"), 2, "--ledger"),
        (
            format!("compose {event} --ledger none.ledger --relation add-remove --delta 1e-5"),
            1,
            "none.ledger",
        ),
        (format!("compose {event} --ledger bad.ledger --relation add-remove --delta 1e-5"), 1, "line 1"),
        // A guarantee that was stated under the other relation.
        ("compose --ledger spent.ledger --relation add-remove --delta 1e-5".into(), 2, "was stated under"),
        // Two halves of different epochs are not one epoch.
        (
            "compose --event gaussian:noise-multiplier=9@shuffle:250/1000@2 \
             --event gaussian:noise-multiplier=9@shuffle:250/1000@2 --relation replace-one --delta 1e-5"
                .into(),
            2,
            "round up to 4",
        ),
    ] {
        let (code, message) = folder.failure(&line);
        assert!(code == expected && message.contains(word), "{line}: {code} {message}");
    }
    folder.text("compose --ledger spent.ledger --relation replace-one --delta 1e-5");
    folder.text(
        "compose --event gaussian:noise-multiplier=9@shuffle:250/1000@4 \
         --event gaussian:noise-multiplier=9@shuffle:250/1000@8 --relation replace-one --delta 1e-5",
    );
}

#[test]
fn an_account_says_when_and_for_what_it_was_spent() {
    let folder = Folder::new();
    folder.text("ledger new --file spent.ledger --epsilon 2 --delta 1e-5 --relation add-remove");
    let debit = "ledger debit --file spent.ledger --noise-multiplier 20 --sampling none --steps 1";
    let debited = |label: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dp-accountant"));
        command.current_dir(&folder.0).args(debit.split_whitespace()).arg("--label").arg(label);
        command.output().expect("started")
    };
    assert!(debited("the mean, Zürich #2").status.success());
    folder.text(debit);
    let text = folder.text("ledger show --file spent.ledger");
    let line = |debit: usize| {
        let name = format!("after debit {debit} ");
        text.lines().find(|line| line.starts_with(&name)).unwrap_or_else(|| panic!("{text}"))
    };
    assert!(line(1).ends_with("Z; the mean, Zürich #2"), "{text}");
    let time = line(2).rsplit("; ").next().expect("a time");
    assert!(time.parse::<dp_accountant::Timestamp>().is_ok(), "{text}");
    let shown = folder.json("ledger show --file spent.ledger");
    assert_eq!(shown["odometer"][0]["label"], "the mean, Zürich #2");
    assert_eq!(shown["odometer"][1]["label"], Value::Null);
    assert_eq!(shown["odometer"][1]["time"], time);
    // Labels that would break the line or are too long are refused, and nothing is spent.
    for (label, word) in
        [("two\nlines", "U+000A as character 4"), ("", "got 0"), (&"x".repeat(201), "got 201")]
    {
        let (code, message) = folder.failed(label, debited(label));
        assert!(code == 2 && message.contains(word), "{code} {message}");
    }
    assert_eq!(folder.json("ledger show --file spent.ledger")["debits"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_file_of_questions_gets_a_file_of_answers() {
    let folder = Folder::new();
    let write = |text: &str| fs::write(folder.0.join("in.csv"), text).expect("written");
    write("name,noise_multiplier,sampling,steps,delta\na,1,poisson:0.01,1000,1e-5\nb,20,none,1000,1e-5\n");
    let text = folder.text("epsilon --batch in.csv --relation add-remove");
    let mut lines = csv::Reader::from_reader(text.as_bytes());
    assert_eq!(lines.headers().expect("a header").iter().next_back(), Some("epsilon_upper"));
    for (record, truth) in lines.records().zip([1.828236666517, 7.511275900745]) {
        let record = record.expect("a line");
        let end = |at: usize| record[at].parse::<f64>().expect("a number");
        // Both truths are rounded to twelve decimals.
        assert!(end(5) <= truth + 1e-12 && truth <= end(7) + 1e-12 && end(7) - end(5) < 1e-4, "{record:?}");
    }
    for (text, options, word) in [
        ("noise_multiplier,sampling,steps\n1,none,x\n", "--delta 1e-5 --relation add-remove", "line 2"),
        ("noise_multiplier,sampling,steps\n-1,none,3\n", "--delta 1e-5 --relation add-remove", "got -1"),
        ("noise_multiplier,steps\n1,3\n", "--delta 1e-5 --relation add-remove", "sampling"),
        ("noise_multiplier,sampling,steps\n1,none,3\n", "--relation add-remove", "--delta"),
        (
            "noise_multiplier,sampling,steps,delta\n1,none,3,.1\n",
            "--delta 1e-5 --relation add-remove",
            "leave",
        ),
        ("noise_multiplier,sampling,steps,relation\n1,none,3,both\n", "--delta 1e-5", "both"),
        (
            "noise_multiplier,sampling,steps,steps\n1,none,3,4\n",
            "--delta 1e-5 --relation add-remove",
            "two columns \"steps\"",
        ),
    ] {
        write(text);
        let (code, message) = folder.failure(&format!("epsilon --batch in.csv {options}"));
        assert!(code == 2 && message.contains(word), "{text}: {code} {message}");
    }
    assert_eq!(folder.failure("epsilon --batch none.csv --relation add-remove --delta 1e-5").0, 1);
}

#[test]
fn nonsense_is_refused_with_its_value() {
    let folder = Folder::new();
    for (line, word) in [
        ("epsilon --noise-multiplier 1 --sampling none --steps 10 --delta 1e-5", "--relation"),
        ("epsilon --noise-multiplier 1 --steps 10 --delta 1e-5 --relation add-remove", "--sampling"),
        (
            "epsilon --noise-multiplier -1 --sampling none --steps 10 --delta 1e-5 --relation add-remove",
            "got -1",
        ),
        (
            "epsilon --noise-multiplier nan --sampling none --steps 10 --delta 1e-5 --relation add-remove",
            "NaN",
        ),
        ("epsilon --noise-multiplier 1 --sampling none --steps -3 --delta 1e-5 --relation add-remove", "-3"),
        ("epsilon --noise-multiplier 1 --sampling none --steps 3 --delta 2 --relation add-remove", "got 2"),
        (
            "epsilon --noise-multiplier 1 --sampling poisson:7 --steps 3 --delta 1e-5 --relation add-remove",
            "got 7",
        ),
        (
            "epsilon --noise-multiplier 1 --sampling fixed:7/3 --steps 3 --delta 1e-5 --relation add-remove",
            "7",
        ),
        (
            "epsilon --noise-multiplier 1 --sampling fixed:7 --steps 3 --delta 1e-5 --relation add-remove",
            "BATCH/RECORDS",
        ),
        (
            "epsilon --noise-multiplier 1 --sampling none --steps 3 --delta 1e-5 --relation neighbours",
            "neighbours",
        ),
        (
            "epsilon --mechanism gaussian --sampling none --steps 3 --delta 1e-5 --relation add-remove",
            "gaussian",
        ),
        (
            "epsilon --mechanism cauchy:scale=1 --sampling none --steps 3 --delta 1e-5 --relation add-remove",
            "cauchy",
        ),
        ("delta --noise-multiplier 1 --sampling none --steps 3 --epsilon -1 --relation add-remove", "got -1"),
        ("delta --noise-multiplier 1 --sampling none --steps 3 --epsilon inf --relation add-remove", "inf"),
        ("frobnicate", "frobnicate"),
        ("", "Usage"),
    ] {
        let (code, message) = folder.failure(line);
        assert!(code == 2 && message.contains(word), "{line}: {code} {message}");
    }
}

/// An answer that nobody read is no success: a script that kept half of it would not know.
#[test]
fn an_answer_without_a_reader_is_an_error() {
    let line = "epsilon --noise-multiplier 1 --sampling none --steps 3 --delta 1e-5 --relation add-remove";
    let mut command = Command::new(env!("CARGO_BIN_EXE_dp-accountant"));
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let output = command.args(line.split_whitespace()).stdout(writer).stderr(Stdio::piped()).spawn();
    let output = output.expect("started").wait_with_output().expect("ended");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && message.contains("standard output"), "{message}");
}
