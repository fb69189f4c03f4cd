//! The program `papers` from outside: every experiment at its quick size against a golden file, folders of results, and
//! one line for everything that is wrong.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU64, Ordering};

use dp_examples::harness::papers::{ALL, Expected, Outcome, Printed, Size, page, run};
use serde_json::Value;

/// A folder of its own for one test, removed afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("papers-test-{}-{count}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn papers(arguments: &[&str], data: Option<&Path>, threads: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_papers"));
    command.args(arguments).env_remove("DP_DATA").env("RAYON_NUM_THREADS", threads);
    if let Some(data) = data {
        command.env("DP_DATA", data);
    }
    command.output().unwrap()
}

fn done(arguments: &[&str], data: Option<&Path>) -> String {
    let output = papers(arguments, data, "2");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// One line on the standard error and exit code 2.
fn refused(arguments: &[&str], data: Option<&Path>) -> String {
    let output = papers(arguments, data, "2");
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
    assert!(told.starts_with("error: ") && told.trim_end().lines().count() == 1, "{told}");
    told
}

/// Numbers to a relative 1e-6, everything else exactly: products of matrices are computed by other instructions on
/// other processors, and differ in their last digits.
fn assert_same(found: &Value, golden: &Value, place: &str) {
    match (found, golden) {
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            assert!((a - b).abs() <= 1e-6 * b.abs().max(1e-3), "{place}: {a} is not {b}");
        }
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len(), "{place}");
            a.iter().zip(b).enumerate().for_each(|(i, (a, b))| assert_same(a, b, &format!("{place}[{i}]")));
        }
        (Value::Object(a), Value::Object(b)) => {
            assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>(), "{place}");
            a.iter().for_each(|(name, a)| assert_same(a, &b[name], &format!("{place}.{name}")));
        }
        _ => assert_eq!(found, golden, "{place}"),
    }
}

/// The golden file holds what `papers run all --quick --json DIR` left, without times: this test writes it anew where
/// `PAPERS_GOLDEN` names a file.
#[test]
fn every_experiment_runs_quickly_and_gives_the_golden_figures() {
    let mut all = Vec::new();
    for experiment in ALL {
        let outcomes = run(experiment, None, (Size::Quick, None), None, &|_| {}).unwrap();
        assert_eq!(outcomes.len(), 1, "{}", experiment.name);
        assert!(outcomes[0].inputs.is_empty() && !outcomes[0].rows.is_empty(), "{}", experiment.name);
        all.extend(outcomes.into_iter().map(Outcome::without_times));
    }
    let found = serde_json::to_value(&all).unwrap();
    if let Some(file) = std::env::var_os("PAPERS_GOLDEN") {
        fs::write(file, serde_json::to_string_pretty(&all).unwrap() + "\n").unwrap();
    }
    let golden: Value = serde_json::from_str(include_str!("golden/papers.json")).unwrap();
    assert_same(&found, &golden, "papers");
    let text = page(&all).unwrap();
    assert!(text.contains("Quick runs on made-up stand-ins") && !text.contains("NaN"), "{text}");
    // A column of ε holds one relation only. The head of the page has a table of algorithms, which holds none.
    let (_, tables) = text.split_once("\n### ").unwrap();
    for line in tables.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| what")) {
        let cells: Vec<&str> = line.split(" | ").collect();
        assert!((6..=9).contains(&cells.len()), "{line}");
    }
    assert!(page(&[]).unwrap_err().to_string().contains("there are no runs"));
}

#[test]
fn references_are_numbers_or_figures_and_sources_are_named() {
    for experiment in ALL {
        let place = experiment.name;
        assert!(["2016", "2020", "2022"].iter().any(|year| experiment.source.contains(year)), "{place}");
        assert!(experiment.runs >= 1 && experiment.minutes > 0.0, "{place}");
        for reference in experiment.references {
            if let Printed::Number(number) = reference.printed {
                let first =
                    number.split_whitespace().find_map(|word| word.replace(',', "").parse::<f64>().ok());
                assert!(first.is_some(), "{place}: '{number}' holds no number");
            }
            let (value, error) = match reference.expected {
                Expected::Nothing => (0.0, 0.0),
                Expected::Calculated(value, error)
                | Expected::Measured(value, error)
                | Expected::Stated(value, error) => (value, error),
                Expected::AtMost(goal) => (goal, 0.0),
            };
            assert!(value.is_finite() && error >= 0.0 && error.is_finite(), "{place}");
            let same = |other: &&dp_examples::harness::papers::Reference| {
                (other.series, other.metric, other.label)
                    == (reference.series, reference.metric, reference.label)
            };
            assert_eq!(experiment.references.iter().filter(same).count(), 1, "{place}: {reference:?} twice");
        }
        let mut names: Vec<&str> = ALL.iter().map(|experiment| experiment.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
    }
}

#[test]
fn names_are_listed_and_unknown_ones_answered_with_the_nearest() {
    let listed = done(&["list"], None);
    for experiment in ALL {
        assert!(listed.contains(experiment.name), "{} in {listed}", experiment.name);
    }
    assert!(listed.contains("174.06") && listed.contains("figure"), "{listed}");
    assert!(refused(&["run", "d3p-fg4"], None).contains("'d3p-fig4'"));
    assert!(refused(&["run", "everything"], None).contains("papers list"));
    assert!(refused(&["run", "lda"], None).contains("vips-lda"));
    assert!(refused(&["run", "vips-fig4", "--quick", "--runs", "0"], None).contains("--runs"));
    assert!(refused(&["run", "vips-fig4", "--quick", "--runs", "-1"], None).contains("--runs"));
    assert!(refused(&["run"], None).contains("NAMES"));
    let told = refused(&["run", "d3p-fig4"], None);
    assert!(
        told.contains("synthetic_hlr_seed201_train.csv") && told.contains("set DP_DATA, or --data"),
        "{told}"
    );
    // Without files, everything that needs none runs, and the rest is named.
    assert!(refused(&["run", "vips-fig4", "d3p-fg4", "--quick"], None).contains("'d3p-fig4'"));
    assert!(refused(&["table", "no-such-folder"], None).contains("no-such-folder"));
}

/// What a kill leaves is a run less; what is there is not made again, and the whole is the same as without the kill,
/// whatever the number of threads.
#[test]
fn a_run_that_was_killed_goes_on_and_threads_change_nothing() {
    let folder = Folder::new();
    let (whole, parts) = (folder.at("whole"), folder.at("parts"));
    let (whole_name, parts_name) = (whole.display().to_string(), parts.display().to_string());
    let run = |folder: &str, runs: &str, threads: &str| {
        let output = papers(&["run", "d3p-fig4", "--quick", "--runs", runs, "--json", folder], None, threads);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    run(&whole_name, "4", "2");
    run(&parts_name, "2", "1");
    // As if it had been killed while it wrote: a file beside its destination, and no second run.
    fs::remove_file(parts.join("d3p-fig4.2.json")).unwrap();
    fs::write(parts.join(".d3p-fig4.2.json.tmp"), "{\"half").unwrap();
    let kept = fs::read(parts.join("d3p-fig4.1.json")).unwrap();
    let told = run(&parts_name, "4", "1");
    assert!(told.contains("run 1 is there already") && told.contains("run 2 took"), "{told}");
    assert_eq!(fs::read(parts.join("d3p-fig4.1.json")).unwrap(), kept);
    for seed in 1..=4 {
        let read = |folder: &Path| -> Outcome {
            serde_json::from_slice(&fs::read(folder.join(format!("d3p-fig4.{seed}.json"))).unwrap()).unwrap()
        };
        assert_eq!(read(&whole).without_times(), read(&parts).without_times());
    }
    // Results of other settings, and things that are no results, are not mixed with.
    let path = parts.join("d3p-fig4.3.json");
    let good = fs::read_to_string(&path).unwrap();
    let again = ["run", "vips-fig4", "--quick", "--json", parts_name.as_str()];
    fs::write(&path, good.replace("\"clip_norm\": 1.0", "\"clip_norm\": 2.0")).unwrap();
    assert!(refused(&again, None).contains("other settings"));
    fs::write(&path, &good[..good.len() / 2]).unwrap();
    assert!(refused(&again, None).contains("not a run of this program"));
    fs::write(&path, good).unwrap();
    assert!(refused(&["run", "vips-fig4", "--json", &parts_name], None).contains("quick runs"));
    // A folder that may not be written to, and one whose parent is not there.
    let beyond = folder.at("no").join("such").display().to_string();
    assert!(refused(&["run", "vips-fig4", "--quick", "--json", &beyond], None).contains("cannot be made"));
    assert!(refused(&["run", "vips-fig4", "--quick", "--json", "/proc"], None).contains("/proc"));
    let file = folder.at("file");
    fs::write(&file, "x").unwrap();
    assert!(
        refused(&["run", "vips-fig4", "--quick", "--json", &file.display().to_string()], None)
            .contains("it is a file")
    );
    let table = done(&["table", &whole_name], None);
    assert!(table.contains("| private, AUC | ε 1 | figure | "), "{table}");
    let page = folder.at("page.md").display().to_string();
    let pictures = folder.at("pictures");
    done(&["table", &whole_name, "--page", &page], None);
    assert_eq!(fs::read_to_string(&page).unwrap(), table);
    done(&["run", "d3p-fig4", "--quick", "--svg", &pictures.display().to_string()], None);
    assert!(fs::read_to_string(pictures.join("d3p-fig4.svg")).unwrap().contains("</svg>"));
}

/// A process that is killed while it runs, at a moment that chance chooses, and then goes on.
#[cfg(unix)]
#[test]
fn runs_that_ended_before_a_kill_are_kept() {
    use std::io::{BufRead, BufReader};
    let folder = Folder::new();
    let (whole, parts) = (folder.at("whole"), folder.at("parts"));
    const RUNS: u64 = 12;
    let command = |folder: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_papers"));
        command
            .args(["run", "d3p-fig7", "--quick", "--runs", &RUNS.to_string(), "--json"])
            .arg(folder)
            .env_remove("DP_DATA")
            .env("RAYON_NUM_THREADS", "2");
        command
    };
    assert!(command(&whole).output().unwrap().status.success());
    // Kills at the end of runs that differ from one execution of this test to the next.
    let chance = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().subsec_nanos();
    let mut killed = command(&parts).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(killed.stdout.take().unwrap()).lines().map_while(Result::ok);
    let ends = 1 + u64::from(chance) % (RUNS - 1);
    let ended = lines.by_ref().filter(|line| line.contains(" took ")).take(ends as usize).count();
    killed.kill().unwrap();
    killed.wait().unwrap();
    let kept = fs::read_dir(&parts)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|end| end == "json"))
        .count();
    assert!(kept >= ended, "{ended} runs had ended, {kept} are there");
    let output = command(&parts).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && told.matches("is there already").count() == kept, "{told}");
    for seed in 1..=RUNS {
        let read = |folder: &Path| -> Outcome {
            serde_json::from_slice(&fs::read(folder.join(format!("d3p-fig7.{seed}.json"))).unwrap()).unwrap()
        };
        assert_eq!(read(&whole).without_times(), read(&parts).without_times());
    }
}

#[test]
fn another_file_is_a_warning_and_another_shape_an_error() {
    let folder = Folder::new();
    let data = folder.at("data");
    fs::create_dir(&data).unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(data.join(name), bytes).unwrap();
    let mut rows = String::from("x0,x1,group,y\n");
    for i in 0..60 {
        rows.push_str(&format!("{},{},{},{}\n", i % 7 - 3, i % 5 - 2, i % 2, u8::from(i % 7 > 3)));
    }
    write("synthetic_hlr_seed201_train.csv", rows.as_bytes());
    write("synthetic_hlr_seed201_test.csv", rows.as_bytes());
    write("synthetic_hlr_seed201_groups.csv", b"g0\n1\n-1\n");
    let told = done(&["run", "d3p-fig4", "--runs", "1"], Some(&folder.0));
    assert!(told.contains("WARNING") && told.contains("its hash differs"), "{told}");
    write("synthetic_hlr_seed201_test.csv", b"x0,group,y\n1,0,0\n2,1,1\n");
    assert!(refused(&["run", "d3p-fig4", "--runs", "1"], Some(&folder.0)).contains("columns of features"));
    // Images of another size, images for labels, and a file that ends early.
    let image = [0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 7, 9];
    let labels = [0, 0, 8, 1, 0, 0, 0, 1, 5];
    for part in ["train", "t10k"] {
        write(&format!("mnist-{part}-images-idx3-ubyte.gz"), &image);
        write(&format!("mnist-{part}-labels-idx1-ubyte.gz"), &labels);
    }
    let plain = ["run", "d3p-table2-plain"];
    assert!(refused(&plain, Some(&folder.0)).contains("expected 784"));
    write("mnist-train-labels-idx1-ubyte.gz", &image);
    assert!(refused(&plain, Some(&folder.0)).contains("it holds images, expected labels"));
    write("mnist-train-labels-idx1-ubyte.gz", &[0, 0, 8, 1, 0, 0, 0, 2, 5, 5]);
    assert!(refused(&plain, Some(&folder.0)).contains("2 labels, and there are 1 images"));
    write("mnist-train-images-idx3-ubyte.gz", &image[..17]);
    assert!(refused(&plain, Some(&folder.0)).contains("another number"));
    fs::remove_file(data.join("mnist-train-images-idx3-ubyte.gz")).unwrap();
    assert!(refused(&plain, Some(&folder.0)).contains("does not hold mnist-train-images-idx3-ubyte.gz"));
    write("20news.ldac.gz", b"1 7:1\n");
    write("20news.vocab.txt", b"a\nb\n");
    assert!(refused(&["run", "vips-lda"], Some(&folder.0)).contains("a document has word 7"));
    for bad in ["1 0:0\n", "1 0:-2\n", "1 99999999999:1\n"] {
        write("20news.ldac.gz", bad.as_bytes());
        assert!(refused(&["run", "vips-lda"], Some(&folder.0)).contains("a count"), "{bad}");
    }
    write("20news.ldac.gz", b"0\n0\n");
    assert!(refused(&["run", "vips-lda"], Some(&folder.0)).contains("no word in any document"));
    // Documents without words are allowed, a small vocabulary is not.
    write("20news.ldac.gz", b"0\n2 0:1 1:2\n");
    assert!(refused(&["run", "vips-lda"], Some(&folder.0)).contains("expected at least 1000"));
    // Head and length are in order, and the bytes between are not what was packed.
    write("20news.ldac.gz", &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1, 2, 3]);
    assert!(refused(&["run", "vips-lda"], Some(&folder.0)).contains("cannot be unpacked"));
}
