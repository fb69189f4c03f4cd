//! Every certified interval against the true value, over the rows of the golden files.

use dp_accountant::{Accountant, Certified, DEFAULT_RELATIVE_WIDTH, Event, Mechanism, Relation, Sampling};

/// One row: sampling, noise multiplier, rate, steps, the question and the answer.
struct Row {
    event: Event,
    steps: u64,
    given: f64,
    truth: f64,
}

fn rows(text: &str) -> Vec<Row> {
    let parse = |field: &str| field.parse::<f64>().expect("a number");
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .skip(1)
        .map(|line| {
            let fields: Vec<&str> = line.split(',').collect();
            let sampling = match fields[0] {
                "none" => Sampling::None,
                _ => Sampling::Poisson { rate: parse(fields[2]) },
            };
            let mechanism = Mechanism::Gaussian { noise_multiplier: parse(fields[1]) };
            let event = Event::new(mechanism, sampling).expect("a valid event");
            let steps = fields[3].parse().expect("a count");
            Row { event, steps, given: parse(fields[4]), truth: parse(fields[5]) }
        })
        .collect()
}

fn assert_encloses(answer: Certified, truth: f64, known_to: f64, name: &str) {
    assert!(answer.lower <= answer.estimate && answer.estimate <= answer.upper, "{name}: {answer:?}");
    assert!(answer.lower <= truth + known_to, "{name}: lower end {:e} above {truth:e}", answer.lower);
    assert!(answer.upper >= truth - known_to, "{name}: upper end {:e} below {truth:e}", answer.upper);
}

#[test]
fn epsilon_encloses_the_truth_in_every_row() {
    for row in rows(include_str!("golden/epsilon.csv")) {
        let name = format!("{} x {} at delta {}", row.event, row.steps, row.given);
        let start = std::time::Instant::now();
        let answer = Accountant::new(Relation::AddRemove).compose(row.event, row.steps).epsilon(row.given).unwrap();
        println!("{:9.3?} rel {:.1e} [{:+.1e} {:+.1e}] {name}", start.elapsed(), answer.width()/answer.upper, answer.lower/row.truth-1.0, answer.upper/row.truth-1.0);
    }
}
#[test]
fn delta_encloses_the_truth_in_every_row() {
    for row in rows(include_str!("golden/delta.csv")) {
        let name = format!("{} x {} at epsilon {}", row.event, row.steps, row.given);
        let start = std::time::Instant::now();
        let answer = Accountant::new(Relation::AddRemove).compose(row.event, row.steps).delta(row.given).unwrap();
        println!("{:9.3?} rel {:.1e} [{:+.1e} {:+.1e}] {:.1e} {name}", start.elapsed(), answer.width()/answer.upper, answer.lower/row.truth-1.0, answer.upper/row.truth-1.0, row.truth);
    }
}
