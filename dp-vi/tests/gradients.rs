//! Fits with gradients with respect to the guide's parameters, as comparisons have them.

use dp_accountant::{Budget, Relation};
use dp_sampler::{FullBatch, Seed};
use dp_vi::guides::AutoNormal;
use dp_vi::optimiser::Schedule;
use dp_vi::{Clipping, Correction, DpVi, Fit, Gradients, PrivacyNoise, RecordWeights, Sensitive};
use ppl_core::Records;

use crate::common::{BUDGET, logistic, people};

const COUNT: u64 = 500;

fn fit(gradients: Gradients, budget: Option<Budget>, records: &Sensitive<Records>) -> Fit {
    let vi = DpVi::new(logistic, AutoNormal::new())
        .gradients(gradients)
        .public_records(COUNT)
        .subsample(FullBatch)
        .schedule(Schedule::HoldThenCosine(0.02))
        .steps(600)
        .seed(Seed::for_tests(6));
    match budget {
        Some(budget) => vi
            .budget(budget)
            .weights(RecordWeights::None)
            .clipping(Clipping::Flat)
            .correction(Correction::None)
            .fit(records),
        None => vi.without_privacy().fit(records),
    }
    .unwrap()
}

#[test]
fn without_privacy_all_gradients_find_the_same_posterior() {
    let records = people(COUNT as usize, false);
    let aligned = fit(Gradients::Aligned, None, &records);
    for gradients in [Gradients::Vanilla, Gradients::VanillaWithPrior] {
        let other = fit(gradients, None, &records);
        let both = |of: fn(&Fit) -> Vec<f64>| of(&aligned).into_iter().zip(of(&other));
        // The same draws and the same gradients but for rounding: so is the path of the optimiser, which may
        // magnify it.
        for (a, b) in both(|fit| fit.posterior().mean("w").unwrap().iter().copied().collect()) {
            assert!((a - b).abs() < 1e-6, "{gradients:?}: {a} {b}");
        }
        for (a, b) in both(|fit| fit.posterior().sd("w").unwrap().iter().copied().collect()) {
            assert!((a / b - 1.0).abs() < 1e-6, "{gradients:?}: {a} {b}");
        }
    }
}

#[test]
fn vanilla_gradients_have_the_same_price() {
    let records = people(COUNT as usize, false);
    let budget = Budget { epsilon: 2.0, ..BUDGET };
    let aligned = fit(Gradients::Aligned, Some(budget), &records);
    let vanilla = fit(Gradients::Vanilla, Some(budget), &records);
    assert_eq!(aligned.privacy().releases, vanilla.privacy().releases);
    assert_eq!(aligned.privacy().epsilon, vanilla.privacy().epsilon);
    assert!(aligned.noise_aware().is_none() && vanilla.noise_aware().is_none());
    let w = |fit: &Fit| -> Vec<f64> { fit.posterior().mean("w").unwrap().iter().copied().collect() };
    assert!(w(&vanilla).iter().all(|x| x.is_finite()) && w(&vanilla) != w(&aligned));
}

#[test]
fn what_does_not_go_with_vanilla_gradients_is_refused_with_a_reason() {
    let records = people(40, false);
    let vi = || DpVi::new(logistic, AutoNormal::new()).budget(BUDGET).gradients(Gradients::Vanilla).steps(5);
    let told = |vi: DpVi<_, AutoNormal, _>| {
        vi.fit(&records).err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert!(told(vi().clipping(Clipping::PerSite)).contains("site by site"));
    assert!(told(vi().correction(Correction::Full)).contains("correction"));
    assert!(told(vi().gradients(Gradients::VanillaWithPrior)).contains("public number of records"));
    let plan = vi().plan(records.schema()).unwrap();
    assert!(!plan.weighted && plan.curvature.is_none() && plan.gradients == Gradients::Vanilla);
    assert!(plan.explain().contains("the guide's parameters"));
    // With exact noise, under either relation, with a quantile.
    for relation in [Relation::AddRemove, Relation::ReplaceOne] {
        let quantile = Clipping::Quantile(dp_vi::Quantile::default());
        let vi = vi().budget(Budget { relation, ..BUDGET }).noise(PrivacyNoise::Exact);
        let fit = vi.public_records(40).clipping(quantile).seed(Seed::for_tests(1)).fit(&records).unwrap();
        assert!(fit.posterior().mean("w").unwrap().iter().all(|x| x.is_finite()));
    }
}
