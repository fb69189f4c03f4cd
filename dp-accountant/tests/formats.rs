//! Stored events, budgets and intervals: what was written is read back, what is not valid is refused.
#![cfg(feature = "serde")]

use dp_accountant::{Accountant, Budget, Certified, Composition, Event, Mechanism, Relation, Sampling};

const EVENT: &str =
    r#"{"version":1,"mechanism":{"gaussian":{"noise_multiplier":1.5}},"sampling":{"poisson":{"rate":0.01}}}"#;

#[test]
fn an_event_is_read_back_and_its_format_is_pinned() {
    let event = Event::new(Mechanism::Gaussian { noise_multiplier: 1.5 }, Sampling::Poisson { rate: 0.01 })
        .expect("valid");
    assert_eq!(serde_json::to_string(&event).expect("serialises"), EVENT);
    assert_eq!(serde_json::from_str::<Event>(EVENT).expect("reads"), event);
    let composition = Composition::single(event, 7);
    let text = serde_json::to_string(&composition).expect("serialises");
    assert_eq!(serde_json::from_str::<Composition>(&text).expect("reads"), composition);
}

/// What version 1 could not say is version 2.
const NEWER: [&str; 7] = [
    r#"{"version":2,"mechanism":{"gaussian":{"noise_multiplier":1.5}},"sampling":{"with_replacement":{"batch":3,"records":20}}}"#,
    r#"{"version":2,"mechanism":{"gaussian":{"noise_multiplier":1.5}},"sampling":{"shuffle":{"batch":3,"records":20}}}"#,
    r#"{"version":2,"mechanism":{"laplace":{"scale":2.0}},"sampling":"none"}"#,
    r#"{"version":2,"mechanism":{"discrete_gaussian":{"sigma":3.0,"sensitivity":2}},"sampling":"none"}"#,
    r#"{"version":2,"mechanism":{"randomized_response":{"categories":3,"truth_probability":0.5}},"sampling":"none"}"#,
    r#"{"version":2,"mechanism":{"pure_dp":{"epsilon":0.5}},"sampling":"none"}"#,
    r#"{"version":2,"mechanism":{"approximate_dp":{"epsilon":0.5,"delta":1e-6}},"sampling":{"poisson":{"rate":0.5}}}"#,
];

#[test]
fn newer_events_are_pinned_and_gaussian_events_are_read_in_either_version() {
    for text in NEWER {
        let event: Event = serde_json::from_str(text).expect("reads");
        let again = serde_json::to_string(&event).expect("serialises");
        assert_eq!(again.replace("e-06", "e-6"), text);
        assert!(!event.to_string().is_empty());
    }
    let newer = EVENT.replace("\"version\":1", "\"version\":2");
    let event: Event = serde_json::from_str(&newer).expect("reads");
    assert_eq!(serde_json::to_string(&event).expect("serialises"), EVENT);
    for (text, from, to, word) in [
        (NEWER[0], "\"records\":20", "\"records\":1", "records must be at least 2, got 1"),
        (NEWER[0], "\"batch\":3", "\"batch\":0", "batch must be at least 1, got 0"),
        (NEWER[1], "\"batch\":3", "\"batch\":21", "got 21"),
        (NEWER[2], "2.0", "0.0", "scale must be between 1e-100 and 1e100, got 0"),
        (NEWER[3], "3.0", "-3.0", "sigma must be between 1e-3 and 1e9, got -3"),
        (NEWER[3], "\"sensitivity\":2", "\"sensitivity\":0", "sensitivity must be between 1 and 2^40, got 0"),
        (NEWER[4], "\"categories\":3", "\"categories\":1", "categories must be at least 2, got 1"),
        (NEWER[4], "0.5", "0.3", "below 1, got 0.3"),
        (NEWER[4], "0.5", "1.0", "below 1, got 1"),
        (NEWER[5], "0.5", "-0.5", "epsilon must be between 0 and 1e6, got -0.5"),
        (NEWER[6], "1e-6", "1.0", "delta must be at least 0 and below 1, got 1"),
    ] {
        let error = serde_json::from_str::<Event>(&text.replace(from, to)).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn what_is_not_a_valid_event_is_refused_with_its_value() {
    for (from, to, word) in [
        ("\"version\":1", "\"version\":3", "version 3"),
        ("\"version\":1", "\"version\":0", "version 0"),
        ("\"version\":1,", "", "version"),
        ("1.5", "-0.3", "-0.3"),
        ("1.5", "0", "got 0"),
        ("1.5", "null", "null"),
        ("0.01", "1.01", "1.01"),
        ("0.01", "0.0", "got 0"),
        ("poisson", "binomial", "binomial"),
        ("\"rate\":0.01", "\"rate\":0.01,\"seed\":1", "seed"),
    ] {
        let error = serde_json::from_str::<Event>(&EVENT.replace(from, to)).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
    let swapped = r#"{"lower":2.0,"estimate":1.0,"upper":3.0,"engine":"closed_form"}"#;
    assert!(serde_json::from_str::<Certified>(swapped).is_err());
}

#[test]
fn parameters_out_of_range_are_errors_that_show_them() {
    for value in [f64::NAN, f64::INFINITY, 0.0, -1.0] {
        let shown = value.to_string();
        let noise = Event::new(Mechanism::Gaussian { noise_multiplier: value }, Sampling::None).unwrap_err();
        let mechanism = Mechanism::Gaussian { noise_multiplier: 1.0 };
        let rate = Event::new(mechanism, Sampling::Poisson { rate: value }).unwrap_err();
        let accountant = Accountant::new(Relation::AddRemove);
        let delta = accountant.epsilon(value).unwrap_err();
        let width = accountant.clone().relative_width(value).unwrap_err();
        for error in [noise, rate, delta, width] {
            assert!(error.to_string().contains(&shown), "{error}");
        }
        if value != 0.0 {
            assert!(accountant.delta(value).unwrap_err().to_string().contains(&shown));
        }
    }
    // A guarantee beyond any use would overflow where guarantees are added up.
    for epsilon in [f64::NAN, f64::INFINITY, -1e-300, 1e6f64.next_up(), 1e300] {
        for mechanism in [Mechanism::PureDp { epsilon }, Mechanism::ApproximateDp { epsilon, delta: 1e-6 }] {
            let error = Event::new(mechanism, Sampling::None).unwrap_err().to_string();
            assert!(error.contains("between 0 and 1e6"), "{error}");
        }
    }
    let empty = Sampling::WithoutReplacement { batch: 0, records: 3 };
    assert!(Event::new(Mechanism::Gaussian { noise_multiplier: 1.0 }, empty).is_err());
}

#[test]
fn other_values_are_read_back_too() {
    let budget = Budget { epsilon: 1.0, delta: 0.25, relation: Relation::AddRemove };
    let text = serde_json::to_string(&budget).expect("serialises");
    assert_eq!(text, r#"{"epsilon":1.0,"delta":0.25,"relation":"add_remove"}"#);
    assert_eq!(serde_json::from_str::<Budget>(&text).expect("reads"), budget);
    let nothing = Accountant::new(Relation::AddRemove).epsilon(1e-5).expect("an answer");
    assert_eq!((nothing.lower, nothing.upper), (0.0, 0.0));
    let text = serde_json::to_string(&nothing).expect("serialises");
    assert_eq!(serde_json::from_str::<Certified>(&text).expect("reads"), nothing);
}
