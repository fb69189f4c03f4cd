//! The examples, run.

#[path = "../examples/draws.rs"]
#[allow(dead_code, reason = "its main takes a folder from the command line")]
mod draws;

use ndarray::Axis;
use std::path::PathBuf;

use crate::folder::Folder;

/// The tables hold the draws, number for number, under the names that ArviZ puts together again.
#[test]
fn draws_are_written_as_tables() {
    let folder = Folder::new("", "draws");
    let (draws, predictions) = draws::export(&folder.path("")).unwrap();
    assert_eq!(predictions["y"].shape(), [draws::DRAWS, 3]);
    for (file, values, head) in
        [("draws.csv", &draws, "intercept,w.1,w.2"), ("predictions.csv", &predictions, "y.1,y.2,y.3")]
    {
        let text = folder.read(file);
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some(head));
        let columns = ppl_core::draws::export::columns(values).unwrap();
        let mut rows = 0;
        for (row, line) in lines.enumerate() {
            let numbers: Vec<f64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
            let expected: Vec<f64> = columns.numbers.iter().map(|column| column[row]).collect();
            assert_eq!(numbers, expected);
            rows += 1;
        }
        assert_eq!(rows, draws::DRAWS);
    }
    // The first weight is positive and the second negative, and the new people's outcomes follow them.
    let share = |person: usize| predictions["y"].index_axis(Axis(1), person).sum();
    assert!(share(0) > share(1) && share(1) > share(2));
}

/// Programs say what there is to say; what they do is in the library.
#[test]
fn programs_are_short() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/bin");
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let lines = std::fs::read_to_string(&path).unwrap().lines().count();
        assert!(lines <= 150, "{} has {lines} lines", path.display());
    }
}

/// Examples of models are short enough to be read at a glance, and two of them, each a whole program, fit on a
/// quarter of a page. Comments and blank lines do not count for the latter.
#[test]
fn examples_of_models_are_short() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut seen = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.lines().count() < 100, "{name} has {} lines", text.lines().count());
        let code = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
        if ["hierarchical_logistic", "zero_inflated_poisson"].contains(&name.as_str()) {
            let code = code.count();
            assert!(code <= 25, "{name} has {code} lines of code");
            seen += 1;
        }
    }
    assert_eq!(seen, 2);
}
