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
        let accountant = Accountant::new(Relation::AddRemove).compose(row.event, row.steps);
        let answer = accountant.relative_width(5e-4).and_then(|a| a.epsilon(row.given)).expect("an answer");
        // The file is right to twelve digits, but for one row.
        let known_to = if row.truth == 10.189139102073602 { 1e-7 } else { 1e-12 * row.truth };
        assert_encloses(answer, row.truth, known_to, &name);
        assert!(answer.width() <= 5e-4 * answer.upper, "{name}: {answer:?}");
    }
}

#[test]
fn delta_encloses_the_truth_in_every_row() {
    for row in rows(include_str!("golden/delta.csv")) {
        let name = format!("{} x {} at epsilon {}", row.event, row.steps, row.given);
        let accountant = Accountant::new(Relation::AddRemove).compose(row.event, row.steps);
        let answer = accountant.relative_width(2e-4).and_then(|a| a.delta(row.given)).expect("an answer");
        // Inverted rows carry an absolute error of about 1e-12 (seen where the file holds closed forms as
        // well), so that a tiny delta is known far better than that only in relative terms: twelve digits, or
        // three below 1e-12.
        let known_to = if row.truth > 1e-12 { 1e-12 * row.truth.max(0.1) } else { 1e-3 * row.truth };
        assert_encloses(answer, row.truth, known_to, &name);
        // The goal for delta is fifty times that for epsilon.
        if row.truth > 1e-20 || row.steps == 1 {
            assert!(answer.width() <= 1e-2 * answer.upper, "{name}: {answer:?}");
        }
    }
}

#[test]
fn the_default_width_is_kept_in_the_common_settings() {
    let settings = [
        (1.0, 0.01, 1_000, 1e-5, 1.828236666516592),
        (1.5, 128.0 / 60_000.0, 9_380, 1.0 / 60_000.0, 0.5357072781961423),
        (2.0, 0.02, 5_000, 1e-8, 4.311177139537134),
    ];
    for (noise_multiplier, rate, steps, delta, truth) in settings {
        let event =
            Event::new(Mechanism::Gaussian { noise_multiplier }, Sampling::Poisson { rate }).expect("valid");
        let answer =
            Accountant::new(Relation::AddRemove).compose(event, steps).epsilon(delta).expect("an answer");
        assert_encloses(answer, truth, 1e-12, &event.to_string());
        assert!(answer.width() <= DEFAULT_RELATIVE_WIDTH * answer.upper, "{answer:?}");
    }
}

#[test]
fn replacing_a_record_costs_as_much_as_half_the_noise() {
    let event = |noise_multiplier| {
        Event::new(Mechanism::Gaussian { noise_multiplier }, Sampling::None).expect("valid")
    };
    let replace =
        Accountant::new(Relation::ReplaceOne).compose(event(4.0), 10).epsilon(1e-8).expect("an answer");
    assert_encloses(replace, 9.697845191656528, 1e-11, "replace-one");
}

#[test]
fn extreme_questions_are_answered_in_time_and_memory() {
    let event = |noise_multiplier, rate| {
        Event::new(Mechanism::Gaussian { noise_multiplier }, Sampling::Poisson { rate }).expect("valid")
    };
    // Epsilon near 0.01 and near 600, a rate next to 1, and parameters at the ends of their ranges.
    for (event, steps, delta, low, high) in [
        (event(10.0, 1e-3), 100, 1e-6, 0.0, 0.02),
        (event(0.05, 0.5), 3, 1e-5, 550.0, 900.0),
        (event(1.0, 1.0 - 1e-12), 10, 1e-5, 10.0, 25.0),
        (event(1e-100, 0.5), 10, 1e-5, 0.0, 1e300),
        (event(1e100, 0.5), u64::MAX, 1e-300, 0.0, 1e-3),
        (event(1.0, 1e-300), 1_000, 1e-200, 0.0, 0.0),
        (event(0.3, 0.9), u64::MAX, 0.999, 0.0, 1e300),
    ] {
        let accountant = Accountant::new(Relation::AddRemove).compose(event, steps);
        let answer = accountant.relative_width(1e-3).and_then(|a| a.epsilon(delta)).expect("an answer");
        assert!(answer.lower <= answer.estimate && answer.estimate <= answer.upper, "{event}: {answer:?}");
        assert!(low <= answer.upper && answer.upper <= high, "{event} x {steps}: {answer:?}");
    }
}
