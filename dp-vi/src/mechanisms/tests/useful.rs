//! How near what is released comes to what would be known without privacy.

use super::*;

/// Expected Hellinger distance of the released from the true posterior, prior (1, 1), 20 coins, uniform over
/// counts: ε; geometric with remap, which equals the best possible (the linear program of an independent
/// computation); geometric clamped; exponential with the global bound; its true ε; the same calibrated.
#[test]
fn what_to_release() {
    const TABLE: [(f64, f64, f64, f64, f64, f64); 4] = [
        (0.1, 0.5615, 0.6420, 0.6972, 0.044, 0.6842),
        (0.5, 0.2827, 0.2873, 0.6551, 0.221, 0.5823),
        (1.0, 0.1477, 0.1477, 0.5969, 0.446, 0.4412),
        (2.0, 0.0511, 0.0511, 0.4701, 0.899, 0.1909),
    ];
    let all: Vec<(Histogram<bool>, Beta)> = histograms(vec![true, false], 20..=20, 100)
        .unwrap()
        .into_iter()
        .map(|coins| (coins.clone(), learn_bias(&coins)))
        .collect();
    let global = dirichlet_hellinger::<ReplaceOne>(&[1.0, 1.0]).unwrap().upper();
    let near = |found: f64, printed: f64, digits: i32| {
        assert!((found - printed).abs() <= 0.5001 * 10.0_f64.powi(-digits), "{found} {printed}");
    };
    for (epsilon, remapped, clamped, exponential, its_epsilon, calibrated) in TABLE {
        let geometric = Geometric::new(epsilon).unwrap().for_records(2, 20).unwrap();
        let remap = bayes_remap::<Hellinger, _, _, _>(&geometric, &all, |_| 1.0).unwrap();
        let found =
            expected_distance::<Hellinger, _, _, _>(&geometric, &all, |noisy| all[remap[noisy]].1).unwrap();
        assert!(found.width() < 1e-6, "{found}");
        near(found.estimate(), remapped, 4);
        let plug_in = |noisy: &Vec<u64>| learn_bias(&coins(20, noisy[0]));
        let found = expected_distance::<Hellinger, _, _, _>(&geometric, &all, plug_in).unwrap();
        near(found.estimate(), clamped, 4);

        let stated = Exponential::new(epsilon).unwrap().over(learn_bias, sets(20), global).unwrap();
        let found = expected_distance::<Hellinger, _, _, _>(&stated, &all, |&place| all[place].1).unwrap();
        near(found.estimate(), exponential, 4);
        near(checked(&stated, &[true, false], 20..=20, ReplaceOne).estimate(), its_epsilon, 3);
        let larger = Exponential::calibrated(epsilon).unwrap();
        let larger = larger.over(learn_bias, sets(20), global).unwrap();
        let found = expected_distance::<Hellinger, _, _, _>(&larger, &all, |&place| all[place].1).unwrap();
        near(found.estimate(), calibrated, 4);
        let loss = checked(&larger, &[true, false], 20..=20, ReplaceOne);
        assert!(loss.upper() <= epsilon && loss.lower() > epsilon * (1.0 - 1e-6), "{loss}");
        assert!(larger.slope() > 2.0 * stated.slope());
    }
}

/// 1,000 coins at ε = 1: .025 for the geometric mechanism, .917 for the exponential one with the global
/// bound.
#[test]
fn a_thousand_coins() {
    let all: Vec<(Histogram<bool>, Beta)> =
        (0..=1000).map(|heads| (coins(1000, heads), learn_bias(&coins(1000, heads)))).collect();
    let geometric = Geometric::new(1.0).unwrap().for_records(2, 1000).unwrap();
    let guess = |noisy: &Vec<u64>| all[noisy[0] as usize].1;
    let found = expected_distance::<Hellinger, _, _, _>(&geometric, &all, guess).unwrap();
    assert!((found.estimate() - 0.028_624).abs() <= 0.5e-6 && found.width() < 1e-5, "{found}");
    let global = dirichlet_hellinger::<ReplaceOne>(&[1.0, 1.0]).unwrap().upper();
    let stated = Exponential::new(1.0).unwrap().over(learn_bias, sets(1000), global).unwrap();
    let found = expected_distance::<Hellinger, _, _, _>(&stated, &all, |&place| all[place].1).unwrap();
    assert!((found.estimate() - 0.918_904).abs() <= 0.5e-6, "{found}");
}
