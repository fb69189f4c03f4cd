//! What a plan says, and what is refused.

use super::*;
use crate::conjugate::ConjugateVi;
use crate::wall::sensitive::Sensitive;
use dp_accountant::{Budget, Relation};
use dp_sampler::Seed;
use ppl_core::Schema;
use ppl_distributions::Beta;

/// How many topics a budget carries follows from public numbers: what a mean cell must be, and the noise.
#[test]
fn a_plan_says_how_many_rows_a_table_of_counts_may_have() {
    let schema = Schema::new([("counts", 1000)]).unwrap();
    let topics = |k: usize| {
        move |ctx: &mut Ctx<'_>| {
            let beta = ctx.sample("beta", Dirichlet::symmetric(0.01, 1000).iid(k))?;
            ctx.each_record(|ctx, document| {
                let theta = ctx.sample("theta", Dirichlet::symmetric(0.3, k))?;
                ctx.observe("words", Words::mixed(theta, beta), document.get("counts")?)
            })
        }
    };
    let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
    let plan = ConjugateVi::new(topics(3)).budget(budget).plan(&schema).unwrap();
    // One release of multiplier 3.73 (ε = 1, δ = 1e-5) at C = 6 has noise 22.4; 120 of them averaged, 1.44 times that.
    assert!((plan.averaged_noise() / 32.3 - 1.0).abs() < 0.01, "{}", plan.averaged_noise());
    let needed = plan.counts_needed().unwrap();
    assert!((needed / (4.0 * plan.averaged_noise() * 3000.0) - 1.0).abs() < 1e-12);
    // The documents of 20 Newsgroups have about 420,000 counts, clipped: three topics, not ten.
    assert_eq!(plan.most_rows(420_000.0), Some(3));
    assert_eq!((plan.most_rows(0.0), plan.rows_for(0.0)), (Some(1), Some(1)));
    // With few counts the bound decides, with many the root: 130 rows' worth of counts make eleven, not thirty-two.
    assert_eq!((plan.rows_for(420_000.0), plan.rows_for(4_200_000.0)), (Some(3), Some(11)));
    assert_eq!((plan.most_rows(4_200_000.0), plan.rows_for(-1.0)), (Some(32), Some(1)));
    assert!(plan.explain().contains("3 rows of 1000 counts"), "{}", plan.explain());
    let ten = ConjugateVi::new(topics(10)).budget(budget).plan(&schema).unwrap();
    assert!(ten.counts_needed().unwrap() > 1e6 && ten.most_rows(420_000.0) == Some(3));
    // Without a table, or without noise, there is nothing to say.
    let open = ConjugateVi::new(topics(3)).without_privacy().plan(&schema).unwrap();
    assert_eq!((open.counts_needed(), open.most_rows(1e6)), (None, None));
}

#[test]
fn bad_input_is_an_error_with_the_value_and_the_bound() {
    let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::ReplaceOne };
    let records = Sensitive::new(documents());
    let schema = records.schema().clone();
    let told = |vi: ConjugateVi<fn(&mut Ctx<'_>) -> Result<()>>| vi.plan(&schema).unwrap_err().to_string();
    let vi = || ConjugateVi::new(lda as fn(&mut Ctx<'_>) -> Result<()>).budget(budget);
    assert!(told(ConjugateVi::new(lda as fn(&mut Ctx<'_>) -> Result<()>)).contains("budget"));
    assert!(told(vi().steps(0)).contains("at least 1"));
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(told(vi().clip_norm(bad)).contains("positive"));
        assert!(told(vi().scale("beta", bad)).contains("positive"));
        assert!(told(vi().feature_norm(bad)).contains("positive"));
    }
    assert!(told(vi().scale("gamma", 1.0)).contains("E[ln beta]"));
    // A fraction, or a negative count: the message does not quote it.
    for wrong in [1.5, -2.0, f64::NAN] {
        let mut counts = Array2::<f64>::ones((4, 8));
        counts[[2, 3]] = wrong;
        let records = Sensitive::new(Records::from_columns([("counts", counts)]).unwrap());
        let error = vi().fit(&records).unwrap_err().to_string();
        assert!(!error.contains("1.5") && !error.contains("-2"), "{error}");
    }
    // Empty documents, and no documents at all, are allowed.
    let empty = Records::from_columns([("counts", Array2::<u8>::zeros((3, 8)))]).unwrap();
    vi().steps(2).seed(Seed::for_tests(1)).fit(&Sensitive::new(empty)).unwrap();
    let none = Records::from_columns([("counts", Array2::<u8>::zeros((0, 8)))]).unwrap();
    vi().steps(2).seed(Seed::for_tests(1)).fit(&Sensitive::new(none)).unwrap();
    // A prior outside its domain.
    let broken = |ctx: &mut Ctx<'_>| {
        let p = ctx.sample("p", Beta::new(-1.0, 1.0))?;
        ctx.each_record(|ctx, r| ctx.observe("y", Bernoulli::from_probs(p), r.get("counts")?.element(0, 0)))
    };
    let error = ConjugateVi::new(broken).budget(budget).plan(&schema).unwrap_err().to_string();
    assert!(error.contains("'p'") && error.contains("-1"), "{error}");
    // No topics, and no words.
    let no_topics = |ctx: &mut Ctx<'_>| {
        let beta = ctx.sample("beta", Dirichlet::symmetric(0.1, 8).iid(0))?;
        ctx.each_record(|ctx, document| {
            let theta = ctx.sample("theta", Dirichlet::symmetric(0.3, 0))?;
            ctx.observe("words", Words::mixed(theta, beta), document.get("counts")?)
        })
    };
    assert!(ConjugateVi::new(no_topics).budget(budget).plan(&schema).is_err());
    let no_words = Schema::new([("counts", 0)]).unwrap();
    assert!(vi().plan(&no_words).is_err());
    // Noise for replaced records does not protect presence.
    let mut ledger = dp_accountant::Ledger::new(Budget { relation: Relation::AddRemove, ..budget }).unwrap();
    assert!(vi().fit_from(&records, &mut ledger).is_err());
}

/// Where a matrix of second moments takes most of the noise, a plan names the other way to fit; with few features,
/// where statistics ranked records better, and without privacy it does not.
#[test]
fn a_plan_names_gradients_where_there_are_many_second_moments() {
    let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
    let plan = |features: usize, vi: ConjugateVi<fn(&mut Ctx<'_>) -> Result<()>>| {
        vi.plan(&Schema::new([("x", features), ("y", 1)]).unwrap()).unwrap()
    };
    let vi = || ConjugateVi::new(one_outcome as fn(&mut Ctx<'_>) -> Result<()>);
    for features in [17, 50] {
        let plan = plan(features, vi().budget(budget));
        assert!(plan.advice().is_some_and(|note| note.contains("DpVi")), "{features}");
        assert!(plan.explain().contains("note") && plan.explain().contains("DpVi"), "{}", plan.explain());
    }
    assert_eq!(plan(9, vi().budget(budget)).advice(), None);
    assert_eq!(plan(50, vi().without_privacy()).advice(), None);
}

/// Outcomes in a column of vectors of one element.
fn one_outcome(ctx: &mut Ctx) -> Result<()> {
    let d = ctx.records().dim("x")?;
    let w = ctx.sample("w", Normal::new(0.0, 4.0).iid(d))?;
    ctx.each_record(|ctx, record| {
        let logit = record.get("x")?.dot(w);
        ctx.observe("y", Bernoulli::from_logits(logit), record.get("y")?.element(0, 0))
    })
}
