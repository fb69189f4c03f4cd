//! Event trees that dp_accounting 0.6.0 wrote (`golden/dp_event/generate.py`), read and written back.
#![cfg(feature = "json")]

use dp_accountant::{Composition, Error, Event, Mechanism, Sampling, interop::dp_event};

fn event(mechanism: Mechanism, sampling: Sampling) -> Event {
    Event::new(mechanism, sampling).expect("a valid event")
}

fn gaussian(noise_multiplier: f64) -> Mechanism {
    Mechanism::Gaussian { noise_multiplier }
}

fn round_trip(composition: &Composition) {
    let text = dp_event::to_json(composition).expect("expressible");
    assert_eq!(&dp_event::from_json(&text).expect("readable"), composition, "{text}");
}

#[test]
fn a_training_run_is_read() {
    let run = dp_event::from_json(include_str!("golden/dp_event/training.json")).expect("readable");
    assert_eq!(run, Composition::single(event(gaussian(1.0), Sampling::Poisson { rate: 0.01 }), 1_000));
    round_trip(&run);
}

#[test]
fn a_mixed_tree_is_read() {
    let run = dp_event::from_json(include_str!("golden/dp_event/mixed.json")).expect("readable");
    let without = Sampling::WithoutReplacement { batch: 128, records: 60_000 };
    let with = Sampling::WithReplacement { batch: 64, records: 60_000 };
    let lines: Vec<_> = run.iter().collect();
    assert_eq!(lines[0], (event(gaussian(12.5), Sampling::None), 1));
    assert_eq!(lines[1], (event(Mechanism::Laplace { scale: 3.0 }, Sampling::None), 1));
    assert_eq!(lines[2], (event(gaussian(1.5), without), 7));
    assert_eq!(lines[3], (event(gaussian(2.5), with), 7));
    // 1 - 1/4 + 1/16, rounded up by two units.
    let (response, 1) = lines[4] else { panic!("{:?}", lines[4]) };
    let Mechanism::RandomizedResponse { categories: 4, truth_probability } = response.mechanism() else {
        panic!("{response}")
    };
    assert!((0.8125..0.8125 + 1e-15).contains(&truth_probability));
    assert_eq!(lines.len(), 5);
    let mut exact = Composition::new();
    exact.extend(lines.into_iter().take(4));
    round_trip(&exact);
}

#[test]
fn gaussians_on_one_sample_are_one_gaussian() {
    let run = dp_event::from_json(include_str!("golden/dp_event/one_sample.json")).expect("readable");
    let (only, 1) = run.iter().next().expect("one line") else { panic!("{run:?}") };
    assert_eq!(only.sampling(), Sampling::Poisson { rate: 0.02 });
    let Mechanism::Gaussian { noise_multiplier } = only.mechanism() else { panic!("{only}") };
    // 1/9 + 2/16 = 17/72; less noise rather than more.
    let truth = (72.0f64 / 17.0).sqrt();
    assert!(noise_multiplier <= truth && noise_multiplier > truth * (1.0 - 1e-14));
}

#[test]
fn what_cannot_be_expressed_is_named_with_its_path() {
    for (text, expected_path, expected_node) in [
        (include_str!("golden/dp_event/non_private.json"), "$.events[1]", "NonPrivateDpEvent"),
        (include_str!("golden/dp_event/tree.json"), "$.event", "SingleEpochTreeAggregationDpEvent"),
        (include_str!("golden/dp_event/zero_concentrated.json"), "$", "ZCDpEvent"),
        (r#"{"class_name": "GaussianDpEvent", "noise_multiplier": -1}"#, "$", "GaussianDpEvent"),
        (
            r#"{"class_name": "GaussianDpEvent", "noise_multiplier": 1, "sensitivity": 2}"#,
            "$",
            "GaussianDpEvent",
        ),
        (
            r#"{"class_name": "GaussianDpEvent", "module_name": "mine", "noise_multiplier": 1}"#,
            "$",
            "GaussianDpEvent",
        ),
        (r#"{"class_name": "SelfComposedDpEvent", "count": -3, "event": {}}"#, "$", "SelfComposedDpEvent"),
        (r#"{"class_name": "ComposedDpEvent", "events": [{"class_name": 3}]}"#, "$.events[0]", "the object"),
        ("[1]", "$", "the value"),
        ("{", "$", "the text"),
        (
            r#"{"class_name": "PoissonSampledDpEvent", "sampling_probability": 0.5, "event":
                {"class_name": "SelfComposedDpEvent", "count": 2, "event":
                {"class_name": "LaplaceDpEvent", "noise_multiplier": 1}}}"#,
            "$",
            "PoissonSampledDpEvent",
        ),
        (
            r#"{"class_name": "PoissonSampledDpEvent", "sampling_probability": 0.5, "event":
                {"class_name": "PoissonSampledDpEvent", "sampling_probability": 0.5, "event":
                {"class_name": "GaussianDpEvent", "noise_multiplier": 1}}}"#,
            "$.event",
            "PoissonSampledDpEvent",
        ),
    ] {
        match dp_event::from_json(text) {
            Err(Error::DpEvent { path, node, .. }) => {
                assert_eq!((path.as_str(), node.as_str()), (expected_path, expected_node), "{text}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
    let shuffled = Sampling::Shuffle { batch: 2, records: 10 };
    let shuffled = dp_event::to_json(&Composition::single(event(gaussian(1.0), shuffled), 5)).unwrap_err();
    assert!(shuffled.to_string().contains("$.events[0].event"), "{shuffled}");
    // Deep nesting is an error, not a crash.
    let deep =
        format!("{}{}", r#"{"class_name":"SelfComposedDpEvent","count":1,"event":"#.repeat(5_000), "1");
    assert!(dp_event::from_json(&deep).is_err());
}
