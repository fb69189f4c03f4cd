//! Arbitrary bytes as a CSV file, a condition and a bounds file: a design with the promised shape, or one
//! line of error.
#![no_main]

use dp_examples::logistic::design::{Design, Intercept};
use dp_examples::schema::bounds::Bounds;
use dp_examples::table::Table;
use dp_examples::table::condition::Condition;
use libfuzzer_sys::fuzz_target;

fn one_line(error: &dp_examples::Error) {
    let line = error.to_string();
    assert!(!line.is_empty() && !line.contains(char::is_control), "{line:?}");
}

fuzz_target!(|input: &[u8]| {
    // The three texts are separated by zero bytes, which none of them needs.
    let mut parts = input.splitn(3, |&byte| byte == 0);
    let mut next = || parts.next().unwrap_or_default();
    let (condition, bounds, csv) = (next(), next(), next());

    let condition = String::from_utf8_lossy(condition).parse::<Condition>();
    let bounds = Bounds::parse("bounds.toml", bounds);
    let table = Table::parse("data.csv", csv);
    for error in [condition.as_ref().err(), bounds.as_ref().err(), table.as_ref().err()].into_iter().flatten()
    {
        one_line(error);
    }
    if let Ok(condition) = &condition {
        assert_eq!(condition.to_string().parse::<Condition>().as_ref(), Ok(condition));
    }
    let (Ok(condition), Ok(bounds), Ok(table)) = (condition, bounds, table) else {
        return;
    };
    match Design::new(&table, &bounds, &condition, None, Intercept::Included) {
        Ok(design) => {
            assert_eq!(design.features().dim(), (table.len(), design.coefficients().len()));
            assert!(design.features().iter().all(|value| (-1.0..=1.0).contains(value)));
            assert!(design.labels().iter().all(|&label| label == 0.0 || label == 1.0));
            let weights = vec![1.0; design.coefficients().len()];
            assert!(design.in_original_units(&weights).is_ok());
        }
        Err(error) => one_line(&error),
    }
});
