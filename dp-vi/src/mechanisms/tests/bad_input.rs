//! Every kind of bad input has its error, and nothing is paid.

use super::*;

#[test]
fn bad_input_is_refused_with_the_bound() {
    for epsilon in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-7, 65.0] {
        for error in [
            Geometric::new(epsilon).unwrap_err(),
            Exponential::new(epsilon).unwrap_err(),
            Exponential::calibrated(epsilon).unwrap_err(),
            Laplace::new(epsilon).unwrap_err(),
            PosteriorDraw::new(epsilon).unwrap_err(),
            RandomisedResponse::for_epsilon(epsilon, 2).unwrap_err(),
        ] {
            assert!(error.to_string().contains(&format!("between 1e-6 and 64, got {epsilon}")), "{error}");
        }
    }
    assert!(Geometric::new(1.0).unwrap().for_records(1, 5).is_err());
    assert!(Laplace::new(1.0).unwrap().for_records(vec![2, 2], 5).is_err());
    assert!(Laplace::new(1.0).unwrap().for_at_most(vec![0], 5).is_err());
    assert!(RandomisedResponse::new(Probability::new(1, 1).unwrap()).is_err());
    let seldom = RandomisedResponse::new(Probability::new(1, 4).unwrap()).unwrap();
    assert!(seldom.for_categories(3).is_err() && seldom.for_categories(4).is_ok());
    for distance in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(
            Bound::<Hellinger, ReplaceOne>::stated(Interval::between(0.0, distance)).is_err()
                || distance < 0.0
        );
    }
    // More data sets than the exponential mechanism takes, said before anything is computed.
    let error = Exponential::new(1.0).unwrap().over(learn_bias, sets(3000), 0.5).unwrap_err();
    assert!(error.to_string().contains("3001 histograms, and the limit is 3000"), "{error}");
    // A bound that was enumerated up to fewer records than there are.
    let data = Sensitive::new(coins(20, 3));
    let worst = neighbours(10, ReplaceOne).worst::<Hellinger, _>(learn_bias).unwrap();
    let error = Private::over(&data, learn_bias).bounded_by(worst).err().unwrap();
    assert!(error.to_string().contains("got 20"), "{error}");
    // A mechanism that was prepared for others.
    let other = Geometric::new(1.0).unwrap().for_records(2, 5).unwrap();
    assert!(other.law(&coins(6, 1)).is_err());
    // A column with a value that is in no list; the value is not said.
    let people = Sensitive::new(ppl_core::Records::from_columns([("age", vec![1.0, 47.0])]).unwrap());
    let told = people.histogram("age", &[(0.0, 'a'), (1.0, 'b')]).err().unwrap().to_string();
    assert!(told.contains("'age'") && !told.contains("47"), "{told}");
}
