//! Random finite programs and kernels obey the rules of composition.

use ppl_core::finite::{
    ChiSquared, Dist, Divergence, Hellinger, InSequence, Interval, KullbackLeibler, LogInterval, Rational,
    Renyi, TotalVariation, Weight, hockey_stick, hockey_stick_at_ratio,
};
use proptest::prelude::*;

const OUTCOMES: usize = 4;

/// Weights of a distribution over four outcomes, zeros among them.
fn weights() -> impl Strategy<Value = Vec<u64>> {
    proptest::collection::vec(prop_oneof![1 => Just(0_u64), 6 => 1_u64..50], OUTCOMES)
        .prop_filter("some weight", |weights| weights.iter().any(|&weight| weight > 0))
}

fn dist(weights: &[u64]) -> Dist<usize, Rational> {
    let pairs = weights.iter().enumerate().map(|(value, &weight)| (value, Rational::ratio(weight, 1)));
    Dist::from_weights(pairs).unwrap().infer().unwrap()
}

/// Two priors, and a kernel for each.
type Runs = (Vec<u64>, Vec<u64>, Vec<Vec<u64>>, Vec<Vec<u64>>);

fn runs() -> impl Strategy<Value = Runs> {
    let kernel = || proptest::collection::vec(weights(), OUTCOMES);
    (weights(), weights(), kernel(), kernel())
}

/// The largest divergence of two kernels.
fn worst<D: Divergence<Dist<usize, Rational>>>(k: &[Vec<u64>], l: &[Vec<u64>]) -> Interval {
    k.iter().zip(l).map(|(k, l)| D::between(&dist(k), &dist(l))).fold(Interval::ZERO, Interval::max)
}

fn obeys<D>(p: &[u64], q: &[u64], k: &[Vec<u64>], l: &[Vec<u64>]) -> Result<(), TestCaseError>
where
    D: Divergence<Dist<usize, Rational>> + InSequence,
{
    let (p, q) = (dist(p), dist(q));
    let (first, second) = (D::between(&p, &q), worst::<D>(k, l));
    let (one, other) = (p.and_then(|&x| dist(&k[x])), q.and_then(|&x| dist(&l[x])));
    let both = D::between(&one, &other);
    prop_assert!(both.lower() <= D::in_sequence(first, second).upper(), "{both} {first} {second}");
    // A function of the outcome tells no more than the outcome.
    let folded = D::between(&p.clone().map(|x| x / 2), &q.clone().map(|x| x / 2));
    prop_assert!(folded.lower() <= first.upper(), "{folded} {first}");
    prop_assert_eq!(D::between(&p, &p).lower(), 0.0);
    prop_assert!(D::between(&p, &p).upper() < 1e-12);
    Ok(())
}

proptest! {
    #[test]
    fn total_variation((p, q, k, l) in runs()) {
        obeys::<TotalVariation>(&p, &q, &k, &l)?;
    }

    #[test]
    fn hellinger((p, q, k, l) in runs()) {
        obeys::<Hellinger>(&p, &q, &k, &l)?;
        let (first, second) = (Hellinger::between(&dist(&p), &dist(&q)), worst::<Hellinger>(&k, &l));
        let sum = first.upper() + second.upper();
        prop_assert!(Hellinger::in_sequence(first, second).lower() <= sum);
    }

    #[test]
    fn kullback_leibler((p, q, k, l) in runs()) {
        obeys::<KullbackLeibler>(&p, &q, &k, &l)?;
    }

    #[test]
    fn chi_squared((p, q, k, l) in runs()) {
        obeys::<ChiSquared>(&p, &q, &k, &l)?;
    }

    /// `(ε₁ + ε₂, δ₁ + δ₂)`, exactly: ratios multiply.
    #[test]
    fn hockey_sticks((p, q, k, l) in runs(), (s, t) in (1_u64..5, 1_u64..5)) {
        let (s, t) = (Rational::ratio(s + 1, 2), Rational::ratio(t + 1, 2));
        let delta = |ratio: &Rational, p: &_, q: &_| hockey_stick_at_ratio(ratio, p, q);
        let first = delta(&s, &dist(&p), &dist(&q));
        let second = k.iter().zip(&l).map(|(k, l)| delta(&t, &dist(k), &dist(l))).max().unwrap();
        let (one, other) = (dist(&p).and_then(|&x| dist(&k[x])), dist(&q).and_then(|&x| dist(&l[x])));
        let both = delta(&s.times(&t), &one, &other);
        prop_assert!(both <= first.plus(&second), "{both} {first} {second}");
    }

    /// With the same predicate: unchanged for the same prior; a prior within e^±ε gives posteriors within
    /// e^±2ε.
    #[test]
    fn observations(p in proptest::collection::vec(1_u64..50, OUTCOMES), q in proptest::collection::vec(1_u64..50, OUTCOMES), truth in proptest::collection::vec(0_u64..=8, OUTCOMES)) {
        prop_assume!(truth.iter().any(|&truth| truth > 0));
        let observed = |prior: Dist<usize, Rational>| {
            let coin = |&x: &usize| Dist::bernoulli(ppl_core::finite::Probability::new(truth[x], 8).unwrap());
            prior.observe(coin).unwrap().infer().unwrap()
        };
        let ratio = |p: &Dist<usize, Rational>, q: &Dist<usize, Rational>| {
            p.iter().map(|(x, weight)| weight.over(&q.weight(x)).unwrap()).max().unwrap()
        };
        let (p, q) = (dist(&p), dist(&q));
        let (forward, backward) = (ratio(&p, &q), ratio(&q, &p));
        let either = forward.clone().max(backward);
        let (one, other) = (observed(p.clone()), observed(q));
        prop_assert!(ratio(&one, &other) <= either.times(&either));
        prop_assert_eq!(observed(p), one);
    }

    /// Tables of logarithms give intervals that meet the exact ones.
    #[test]
    fn kinds_of_weights_agree((p, q, _, _) in runs(), epsilon in -1.0..2.0_f64) {
        let (p, q) = (dist(&p), dist(&q));
        let (u, v) = (p.logarithms(), q.logarithms());
        let meet = |a: Interval, b: Interval| {
            (a.lower() <= b.upper() && b.lower() <= a.upper() && a.width() < 1e-6 && b.width() < 1e-6)
                || (a.upper() == b.upper() && a.lower() == b.lower())
        };
        prop_assert!(meet(TotalVariation::between(&p, &q), TotalVariation::between(&u, &v)));
        prop_assert!(meet(Hellinger::between(&p, &q), Hellinger::between(&u, &v)));
        prop_assert!(meet(KullbackLeibler::between(&p, &q), KullbackLeibler::between(&u, &v)));
        prop_assert!(meet(ChiSquared::between(&p, &q), ChiSquared::between(&u, &v)));
        prop_assert!(meet(Renyi::<3>::between(&p, &q), Renyi::<3>::between(&u, &v)));
        let ratio = Interval::exact(epsilon).exp();
        prop_assert!(meet(hockey_stick(ratio, &p, &q), hockey_stick(ratio, &u, &v)));
        // χ² is the Rényi divergence of order 2 under another name.
        let (chi, renyi) = (ChiSquared::between(&p, &q), Renyi::<2>::between(&p, &q));
        prop_assert!(meet(chi, renyi.exp_minus_one()) || chi.lower() == f64::INFINITY);
    }
}

/// Laws of the monad, and of sums: a finite program in two ways.
#[test]
fn two_dice() {
    let die = Dist::<u32, Rational>::uniform(1..=6).unwrap();
    let sum = die.and_then(|&a| die.clone().map(move |b| a + b));
    assert_eq!(sum.weight(&7), Rational::ratio(1, 6));
    assert_eq!(sum.total(), Rational::one());
    let high = sum.clone().observe(|&s| Dist::point(s >= 11)).unwrap();
    assert_eq!(high.total(), Rational::ratio(1, 12));
    assert_eq!(high.infer().unwrap().weight(&12), Rational::ratio(1, 3));
    assert!(sum.mean(|&s| Interval::exact(f64::from(s))).contains(7.0));
    assert_eq!(sum.logarithms().weight(&7).ln(), LogInterval::ratio(1, 6).ln());
}
