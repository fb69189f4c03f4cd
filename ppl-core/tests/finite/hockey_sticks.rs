//! Divergences with a parameter: hockey-stick of families against golden values, identities and tables; Rényi
//! of any order.

use ppl_core::finite::{
    Beta, Category, ChiSquared, Dirichlet, Dist, Divergence, ExponentialFamily, Hellinger, Histogram,
    HockeyStick, Interval, KullbackLeibler, NormalMean, Rational, ReplaceOne, TotalVariation, hockey_stick,
    neighbours, renyi, total_variation_from_hellinger,
};
use proptest::prelude::*;

fn at(ratio: f64) -> Interval {
    Interval::exact(ratio)
}

fn beta(a: f64, b: f64) -> Beta {
    Beta::new(a, b).unwrap()
}

fn normal(mean: f64, sd: f64) -> NormalMean {
    NormalMean::new(mean, sd, 1.0).unwrap()
}

/// `tests/golden/hockey_sticks.csv`: mpmath 1.3.0, 30 digits.
#[test]
fn golden_values_lie_inside() {
    let mut cases = 0;
    for line in
        include_str!("../golden/hockey_sticks.csv").lines().filter(|line| !line.starts_with('#')).skip(1)
    {
        let mut cells = line.split(',');
        let family = cells.next().unwrap();
        let numbers: Vec<f64> = cells.map(|cell| cell.parse().unwrap()).collect();
        let &[a, b, c, d, ratio, expected] = &numbers[..] else { panic!("{line}") };
        let found = match family {
            "beta" => hockey_stick(at(ratio), &beta(a, b), &beta(c, d)),
            _ => hockey_stick(at(ratio), &normal(a, b), &normal(c, d)),
        };
        // The golden value is rounded to a double.
        let near = Interval::between(expected.next_down(), expected.next_up());
        assert!(found.lower() <= near.upper() && near.lower() <= found.upper(), "{line}: {found}");
        assert!(found.width() < 1e-10, "{line}: {found}");
        cases += 1;
    }
    assert_eq!(cases, 80);
}

/// `E_t(p, q) = 1 − t + t E_{1/t}(q, p)`, falling in `t`, between 1 − t and 1.
fn obeys<P: HockeyStick>(p: &P, q: &P, ratio: f64) -> Result<Interval, TestCaseError> {
    let found = hockey_stick(at(ratio), p, q);
    let mirrored = Interval::ONE - at(ratio) + at(ratio) * hockey_stick(Interval::ONE / at(ratio), q, p);
    prop_assert!(
        found.lower() <= mirrored.upper() && mirrored.lower() <= found.upper(),
        "{found} {mirrored}"
    );
    prop_assert!(hockey_stick(at(2.0 * ratio), p, q).lower() <= found.upper());
    prop_assert!(found.upper() >= 1.0 - ratio && found.upper() <= 1.0 && found.lower() >= 0.0);
    Ok(found)
}

/// Numbers of a size that parameters have.
fn parameter() -> impl Strategy<Value = f64> {
    prop_oneof![0.05..1.0_f64, 1.0..50.0_f64, (1_u32..40).prop_map(f64::from)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn betas((a, b, c, d) in (parameter(), parameter(), parameter(), parameter()), ratio in 0.05..20.0_f64) {
        let (p, q) = (beta(a, b), beta(c, d));
        let found = obeys(&p, &q, ratio)?;
        prop_assert!(found.width() < 1e-9, "{found}");
        let total = TotalVariation::between(&p, &q);
        let hellinger = Hellinger::between(&p, &q);
        prop_assert!(total.lower() <= total_variation_from_hellinger(hellinger).upper());
        prop_assert!(total.upper() >= hellinger.square().lower());
        // Both ways round, and with categories exchanged.
        let mirrored = hockey_stick(at(ratio), &beta(b, a), &beta(d, c));
        prop_assert!(found.lower() <= mirrored.upper() && mirrored.lower() <= found.upper());
        // Two categories are a Dirichlet, whose enclosure may be another one of the same number.
        let two = |a, b| Dirichlet::new([a, b]).unwrap();
        let dirichlet = hockey_stick(at(ratio), &two(a, b), &two(c, d));
        prop_assert!(found.lower() <= dirichlet.upper() && dirichlet.lower() <= found.upper(), "{found} {dirichlet}");
    }

    /// A grid that is fine enough for what is compared: the sum over it is that of a coarser distribution.
    #[test]
    fn normals((m, s, n, r) in (-3.0..3.0_f64, 0.3..3.0_f64, -3.0..3.0_f64, 0.3..3.0_f64), ratio in 0.05..20.0_f64) {
        let (p, q) = (normal(m, s), normal(n, r));
        let found = obeys(&p, &q, ratio)?;
        prop_assert!(found.width() < 1e-9, "{found}");
        let density = |x: f64, m: f64, s: f64| (-0.5 * ((x - m) / s).powi(2)).exp() / (s * (2.0 * std::f64::consts::PI).sqrt());
        let step = 1e-3;
        let excess = |k: i32| {
            let x = step * f64::from(k);
            (density(x, m, s) - ratio * density(x, n, r)).max(0.0)
        };
        // The integrand has kinks, and slopes of at most 5 or so beside them.
        let sum = step * (-20_000..=20_000).map(excess).sum::<f64>();
        prop_assert!((sum - found.estimate()).abs() < 2e-5 * (1.0 + ratio), "{sum} {found}");
    }

    /// Posteriors of neighbours are as far apart as one proportion says, and others are between what is said
    /// of them.
    #[test]
    fn dirichlets(prior in proptest::collection::vec(0.1..3.0_f64, 3), counts in proptest::collection::vec(0_u32..9, 3), ratio in 0.2..5.0_f64) {
        let member = |add: [u32; 3]| {
            Dirichlet::new(std::array::from_fn::<f64, 3, _>(|k| prior[k] + f64::from(counts[k] + add[k]))).unwrap()
        };
        for (one, other) in [([1, 0, 0], [0, 1, 0]), ([0, 0, 1], [0, 0, 0]), ([1, 0, 0], [0, 2, 1])] {
            let (p, q) = (member(one), member(other));
            let found = obeys(&p, &q, ratio)?;
            let total = TotalVariation::between(&p, &q);
            prop_assert!(total.lower() <= total_variation_from_hellinger(Hellinger::between(&p, &q)).upper());
            if other != [0, 2, 1] {
                prop_assert!(found.width() < 1e-9, "{found}");
            }
        }
    }

    /// Orders between 0 and 1, around 1 and above: rising in the order, and what the tables of a fine grid
    /// have.
    #[test]
    fn renyi_divergences_rise((a, b, c, d) in (parameter(), parameter(), parameter(), parameter()), order in 0.1..4.0_f64) {
        let (p, q) = (beta(a, b), beta(c, d));
        let found = renyi(order, &p, &q);
        prop_assert!(found.lower() <= renyi(order + 0.3, &p, &q).upper());
        let kl = KullbackLeibler::between(&p, &q);
        prop_assert!(renyi(0.999, &p, &q).lower() <= kl.upper() && kl.lower() <= renyi(1.001, &p, &q).upper());
        prop_assert_eq!(renyi(1.0, &p, &q), kl);
        // χ² is that of order 2 under another name; half an order is the affinity.
        let (chi, two) = (ChiSquared::between(&p, &q), renyi(2.0, &p, &q).exp_minus_one());
        prop_assert!(chi.lower() <= two.upper() && two.lower() <= chi.upper() || chi.lower() == f64::INFINITY);
        let hellinger = (Interval::ONE - (-(at(0.5) * renyi(0.5, &p, &q))).exp()).positive().sqrt();
        let expected = Hellinger::between(&p, &q);
        prop_assert!(hellinger.lower() <= expected.upper() && expected.lower() <= hellinger.upper());
    }
}

/// Normal means with the same variance: `α (m − n)²/(2v)` of any order, and infinite past the edge of the
/// family.
#[test]
fn renyi_divergences_of_orders_that_are_no_integers() {
    for order in [0.25, 0.5, 1.5, 2.75, 10.1] {
        let found = renyi(order, &normal(0.5, 0.5), &normal(0.25, 0.5));
        assert!(found.contains(order * 0.0625 / 0.5) && found.width() < 1e-12, "{order}: {found}");
    }
    // σ² of p four times that of q: infinite from the order 4/3 on.
    let (wide, narrow) = (normal(0.0, 1.0), normal(0.0, 0.5));
    assert!(renyi(1.25, &wide, &narrow).upper() < f64::INFINITY);
    assert_eq!(renyi(1.5, &wide, &narrow).lower(), f64::INFINITY);
    let tables = |weights: [u64; 2]| {
        Dist::from_weights(weights.iter().enumerate().map(|(k, &w)| (k, Rational::ratio(w, 8)))).unwrap()
    };
    let found = renyi(0.5, &tables([8, 0]), &tables([2, 6]));
    assert!(found.contains(4.0_f64.ln()), "{found}"); // −2 ln √(1/4)
    assert_eq!(renyi(1.5, &tables([4, 4]), &tables([8, 0])).lower(), f64::INFINITY);
    for order in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(renyi(order, &wide, &narrow), Interval::between(0.0, f64::INFINITY));
    }
}

/// Worst neighbours by total variation of three categories are those of two.
#[test]
fn total_variation_of_faces() {
    let prior = Dirichlet::new([1.0; 3]).unwrap();
    let learn = |faces: &Histogram<Category<3>>| prior.observe_all(faces);
    let worst = neighbours(4, ReplaceOne).worst::<TotalVariation, _>(learn).unwrap();
    assert!(worst.value().contains(0.5) && worst.value().width() < 1e-12, "{worst:?}");
    assert_eq!(beta(1.0, 2.0).natural(), [1.0, 2.0]);
}

/// The same distribution, ratios at the edges, and densities that only touch.
#[test]
fn edges() {
    let (p, q) = (beta(2.0, 1.0), beta(1.0, 1.0));
    assert_eq!(hockey_stick(at(0.25), &p, &p), at(0.75));
    assert_eq!(hockey_stick(at(2.0), &p, &p), Interval::ZERO);
    assert!(hockey_stick(at(0.0), &p, &q).contains(1.0));
    // 2x never is above 2.
    let touching = hockey_stick(at(2.0), &p, &q);
    assert!(touching.contains(0.0) && touching.upper() < 1e-14, "{touching}");
    assert!(hockey_stick(at(f64::INFINITY), &p, &q).contains(0.0));
    // Nearly all weight within 10⁻¹⁶ of the ends.
    let (low, high) = (beta(0.01, 1.0), beta(1.0, 0.01));
    let apart = hockey_stick(Interval::ONE, &low, &high);
    assert!(apart.lower() > 0.98 && apart.width() < 1e-10, "{apart}");
}
