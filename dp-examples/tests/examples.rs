//! The examples, run.

#[path = "../examples/draws.rs"]
#[allow(dead_code, reason = "its main takes a folder from the command line")]
mod draws;

use ndarray::Axis;
use std::path::PathBuf;

/// A folder of its own, gone when the test ends.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The tables hold the draws, number for number, under the names that ArviZ puts together again.
#[test]
fn draws_are_written_as_tables() {
    let folder = Folder(std::env::temp_dir().join(format!("dp-examples-draws-{}", std::process::id())));
    std::fs::create_dir_all(&folder.0).unwrap();
    let (draws, predictions) = draws::export(&folder.0).unwrap();
    assert_eq!(predictions["y"].shape(), [draws::DRAWS, 3]);
    for (file, values, head) in
        [("draws.csv", &draws, "intercept,w.1,w.2"), ("predictions.csv", &predictions, "y.1,y.2,y.3")]
    {
        let text = std::fs::read_to_string(folder.0.join(file)).unwrap();
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
