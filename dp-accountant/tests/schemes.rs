//! Every sampling scheme and relation against true values.

// A test that is skipped says so.
#![allow(clippy::print_stderr)]

use std::path::PathBuf;

use dp_accountant::{Accountant, Certified, Event, Mechanism, Relation, Sampling};

fn reference(name: &str) -> Option<String> {
    let Some(folder) = std::env::var_os("DP_DATA") else {
        eprintln!("SKIPPED: set DP_DATA to the folder that holds reference/{name}");
        return None;
    };
    let path = PathBuf::from(folder).join("reference").join(name);
    match std::fs::read_to_string(&path) {
        Ok(text) => Some(text),
        Err(error) => {
            eprintln!("SKIPPED: {}: {error}", path.display());
            None
        }
    }
}

fn gaussian(noise_multiplier: f64, sampling: Sampling) -> Event {
    Event::new(Mechanism::Gaussian { noise_multiplier }, sampling).expect("a valid event")
}

/// A fraction with the value of a rate, for a batch and a number of records.
fn fraction(rate: f64) -> (u64, u64) {
    (1..100_000u64)
        .map(|batch| (batch, (batch as f64 / rate).round() as u64))
        .find(|&(batch, records)| (batch as f64 / records as f64 / rate - 1.0).abs() < 1e-15)
        .expect("a fraction")
}

fn sampling(name: &str, rate: f64) -> Sampling {
    match name {
        "none" => Sampling::None,
        "poisson" => Sampling::Poisson { rate },
        "without_replacement" => {
            let (batch, records) = fraction(rate);
            Sampling::WithoutReplacement { batch, records }
        }
        other => panic!("unknown sampling {other}"),
    }
}

fn relation(name: &str) -> Relation {
    if name == "add_remove" { Relation::AddRemove } else { Relation::ReplaceOne }
}

fn ask(relation: Relation, event: Event, steps: u64) -> Accountant {
    Accountant::new(relation).compose(event, steps)
}

#[test]
fn epsilon_encloses_every_row_of_the_reference() {
    let Some(text) = reference("epsilon.csv") else { return };
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |k: usize| fields[k].parse::<f64>().expect("a number");
        let event = gaussian(number(3), sampling(fields[2], number(4)));
        let accountant =
            ask(relation(fields[1]), event, number(5) as u64).relative_width(5e-5).expect("valid");
        let answer = accountant.epsilon(number(6)).expect("an answer");
        let (lower, upper) = (number(7), number(8));
        // Twelve digits, but for one row that is known to 1e-7.
        let known_to = if lower == 10.189139102073602 { 1e-7 } else { 1e-12 * upper };
        assert!(answer.lower <= lower + known_to && answer.upper >= upper - known_to, "{line}: {answer:?}");
        let excess = answer.width() - (upper - lower);
        // Small noise at tiny rates spreads losses over many orders of magnitude; tests/truth.rs has those
        // rows.
        let goal = if number(3) < 0.5 { 5e-4 } else { 1e-4 };
        assert!(excess <= goal * answer.upper, "{line}: {answer:?}");
    }
}

#[test]
fn delta_encloses_every_row_of_the_reference() {
    let Some(text) = reference("delta.csv") else { return };
    let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split(',').collect()).collect();
    for row in &rows {
        let number = |k: usize| row[k].parse::<f64>().expect("a number");
        let event = gaussian(number(4), sampling(row[3], number(5)));
        let answer = ask(relation(row[2]), event, number(6) as u64).relative_width(1e-3).expect("valid");
        let answer: Certified = answer.delta(number(7)).expect("an answer");
        // The answer is about the larger of the directions in the file; without replacement those are lower
        // bounds.
        let same: Vec<f64> = rows
            .iter()
            .filter(|other| other[1..8] == row[1..8])
            .map(|other| other[8].parse().expect("a number"))
            .collect();
        let truth = same.iter().copied().fold(0.0, f64::max);
        let known_to = 1e-12 * truth.max(0.1);
        assert!(answer.upper >= truth - known_to, "{row:?}: {answer:?}");
        // Rows of one direction alone say nothing from above about the other.
        let all = if row[2] == "add_remove" && row[3] == "poisson" { same.len() == 2 } else { true };
        assert!(!all || answer.lower <= truth + known_to, "{row:?}: {answer:?}");
        if truth > 1e-12 && row[3] != "without_replacement" {
            assert!(answer.width() <= 0.06 * answer.upper, "{row:?}: {answer:?}");
        }
    }
}

/// Rows that `golden/schemes.py` computed in 30 digits; quadrature is right to 15 of them or more.
#[cfg(feature = "serde")]
#[test]
fn delta_encloses_sums_and_quadrature_for_every_pair() {
    for line in include_str!("golden/schemes.csv").lines().filter(|line| !line.starts_with('#')).skip(1) {
        let fields: Vec<&str> = line.split(';').collect();
        let number = |k: usize| fields[k].parse::<f64>().expect("a number");
        let event: Event = serde_json::from_str(fields[1]).expect("an event");
        let answer = ask(relation(fields[0]), event, number(2) as u64)
            .relative_width(2e-5)
            .and_then(|accountant| accountant.delta(number(3)))
            .expect("an answer");
        let (lower, upper) = (number(4), number(5));
        assert!(answer.lower <= lower * (1.0 + 1e-14), "{line}: {answer:?}");
        assert!(answer.upper >= upper * (1.0 - 1e-14), "{line}: {answer:?}");
        // Fifty times the width for epsilon is what the accountant aims at, at either end.
        assert!(answer.lower >= lower - 1e-3 * lower, "{line}: {answer:?}");
        assert!(answer.upper <= upper + 1e-3 * upper, "{line}: {answer:?}");
    }
}
