//! What noise is added to, and how large it is.

use super::*;
use crate::conjugate::ConjugateVi;
use crate::conjugate::fit::ConjugateTraining;
use crate::conjugate::logistic::weight;
use crate::conjugate::plan::{ConjugatePlan, Said, programs};
use crate::conjugate::{ReplaceBound, logistic_sensitivity};
use crate::wall::bound::clip::{ClipNorm, Rule};
use crate::wall::grid::PrivacyNoise;
use crate::wall::sensitive::Sensitive;
use dp_accountant::{Budget, Relation};
use dp_sampler::Seed;
use ppl_core::conjugate::Statistics;
use ppl_core::{Graph, Scalar, Schema, Shape};

#[test]
fn noise_has_the_size_that_the_plan_states_in_each_relation() {
    for relation in [Relation::AddRemove, Relation::ReplaceOne] {
        let budget = Budget { epsilon: 1.0, delta: 1e-5, relation };
        let said = Said { budget: Some(budget), steps: Some(400), ..Said::default() };
        let records = Sensitive::new(documents());
        let mut ledger = dp_accountant::Ledger::new(budget).unwrap();
        let model: fn(&mut Ctx<'_>) -> Result<()> = lda;
        let mut training =
            ConjugateTraining::new(&model, &said, &records, &Seed::for_tests(2), Some(&mut ledger), false)
                .unwrap();
        let vi = ConjugateVi::new(lda).budget(budget).steps(400);
        let plan = vi.plan(records.schema()).unwrap();
        let (mut square, mut count) = (0.0, 0.0);
        for _ in 0..400 {
            training.step().unwrap();
            square += training.steps_mut().last_noise().iter().map(|z| z * z).sum::<f64>();
            count += 24.0;
            let added = training.steps_mut().noise_added();
            assert!((added / plan.noise - 1.0).abs() < 1e-3, "{added} {}", plan.noise);
        }
        // 9,600 standard normals: a variance off by 0.1 is seven standard errors away.
        assert!((square / count - 1.0_f64).abs() < 0.1);
        // What is accounted for is the noise over the sensitivity.
        let sigma = plan.calibrated.unwrap().noise_multiplier;
        let over = match relation {
            Relation::AddRemove => plan.noise / plan.sensitivity,
            Relation::ReplaceOne => 2.0 * plan.noise / plan.sensitivity,
        };
        assert!(over >= sigma * (1.0 - 1e-8), "{over} {sigma}");
    }
}

/// Where the difference of two records is known to be smaller than twice the norm, a replaced record costs
/// less noise, and no less than it moves the sum by; whether a record is there costs the whole norm.
#[test]
fn what_is_debited_is_the_noise_over_the_sensitivity() {
    let x = Schema::new([("x", Shape::from(2)), ("y", Shape::from(()))]).unwrap();
    let counts = Schema::new([("counts", 12)]).unwrap();
    type AnyProgram = fn(&mut Ctx<'_>) -> Result<()>;
    let all: [(&Schema, AnyProgram, ReplaceBound, f64); 3] = [
        (&x, logistic, ReplaceBound::Logistic, 1.25_f64.sqrt() / 0.5_f64.sqrt()),
        (&counts, lda, ReplaceBound::OneSign, 2.0_f64.sqrt()),
        (&x, mixture, ReplaceBound::Any, 2.0),
    ];
    for (schema, model, bound, over_norm) in all {
        for relation in [Relation::AddRemove, Relation::ReplaceOne] {
            let budget = Budget { epsilon: 1.0, delta: 1e-5, relation };
            let plan = ConjugateVi::new(model).budget(budget).plan(schema).unwrap();
            assert_eq!(plan.replace_bound, bound);
            let expected = match relation {
                Relation::AddRemove => 1.0,
                Relation::ReplaceOne => over_norm,
            };
            assert!(
                (plan.sensitivity / (plan.clip_norm * expected) - 1.0).abs() < 1e-8,
                "{bound:?} {relation}"
            );
            // An event's multiplier is relative to C, and a replaced record is taken to move a sum by 2C.
            let moved = match relation {
                Relation::AddRemove => plan.sensitivity,
                Relation::ReplaceOne => 0.5 * plan.sensitivity,
            };
            let sigma = plan.calibrated.unwrap().noise_multiplier;
            assert!(plan.noise >= sigma * moved * (1.0 - 1e-12), "{bound:?} {relation}");
        }
    }
}

/// Where a record's statistics are probabilities of categories the default norm is that of the largest of them, and no
/// record reaches more, whatever factors are.
#[test]
fn the_norm_of_categories_is_what_a_record_can_reach() {
    fn one(ctx: &mut Ctx<'_>) -> Result<()> {
        let p = ctx.sample("p", Dirichlet::symmetric(1.0, 4))?;
        ctx.each_record(|ctx, r| ctx.observe("a", Categorical::from_probs(p), r.get("a")?))
    }
    fn mixed(ctx: &mut Ctx<'_>) -> Result<()> {
        let pi = ctx.sample("pi", Dirichlet::symmetric(1.0, 3))?;
        let p = ctx.sample("p", Dirichlet::symmetric(1.0, 4).iid(3))?;
        let q = ctx.sample("q", Dirichlet::symmetric(1.0, 2).iid(3))?;
        ctx.each_record(|ctx, r| {
            ctx.enumerate("z", Categorical::from_probs(pi), |ctx, z| {
                ctx.observe("a", Categorical::from_probs(p.gather(z)), r.get("a")?)?;
                ctx.observe("b", Categorical::from_probs(q.gather(z)), r.get("b")?)
            })
        })
    }
    let records = Records::from_columns([
        ("a", (0..60).map(|k| f64::from(k % 4)).collect::<Vec<_>>()),
        ("b", (0..60).map(|k| f64::from(k / 7 % 2)).collect()),
    ])
    .unwrap();
    let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
    type AnyProgram = fn(&mut Ctx<'_>) -> Result<()>;
    type Sites = Vec<(&'static str, usize)>;
    let all: [(AnyProgram, Sites, f64); 2] =
        [(one, vec![("p", 4)], 1.0), (mixed, vec![("pi", 3), ("p", 12), ("q", 6)], 3.0_f64.sqrt())];
    for (model, sites, norm) in all {
        let vi = || ConjugateVi::new(model).budget(budget);
        let plan = vi().plan(records.schema()).unwrap();
        assert_eq!((plan.most_norm, plan.clip_norm), (Some(norm), norm));
        assert!(!plan.explain().contains("no record's norm"), "{}", plan.explain());
        let wide = vi().clip_norm(6.0).plan(records.schema()).unwrap().explain();
        assert!(wide.contains(&format!("no record's norm is above {norm:.6}")), "{wide}");
        let half = vi().scale(sites[0].0, 2.0).plan(records.schema()).unwrap();
        assert!((half.clip_norm.powi(2) - (norm * norm - 0.75)).abs() < 1e-12);
        for seed in 0..20 {
            let at: Vec<(String, Vec<f64>)> = sites
                .iter()
                .map(|(site, n)| {
                    let values = numbers(*n, seed).iter().map(|u| 40.0 * (u - 0.6)).collect();
                    (format!("E[ln {site}]"), values)
                })
                .collect();
            let at: Vec<(&str, Vec<f64>)> = at.iter().map(|(name, x)| (name.as_str(), x.clone())).collect();
            // Of a norm that clips nothing.
            let said = Said { budget: Some(budget), clip_norm: Some(100.0), ..Said::default() };
            let (all, _) = contributions::<f64>(model, &said, &records, &at);
            let (reached, _) = largest(&all);
            assert!(reached > 0.5 && reached <= norm * (1.0 + 1e-12), "{reached} {norm}");
        }
    }
    // Counts of words have no bound.
    let plan = ConjugateVi::new(lda).budget(budget).plan(documents().schema()).unwrap();
    assert_eq!((plan.most_norm, plan.clip_norm), (None, 6.0));
}

/// Where the number of records is public, the report warns of a δ that allows a mechanism to publish some of them
/// whole.
#[test]
fn a_report_knows_how_many_records_there_are_where_that_is_public() {
    let records = Sensitive::new(documents());
    for (relation, known) in [(Relation::ReplaceOne, Some(30.0)), (Relation::AddRemove, None)] {
        let budget = Budget { epsilon: 1.0, delta: 0.05, relation };
        let fit =
            ConjugateVi::new(lda).budget(budget).steps(1).seed(Seed::for_tests(1)).fit(&records).unwrap();
        assert_eq!(fit.privacy().known_records, known);
        assert_eq!(fit.privacy().published_by_delta(), known.map(|known| 0.05 * known));
    }
    let open = ConjugateVi::new(lda).without_privacy().steps(1).fit(&records).unwrap();
    assert_eq!(open.privacy().known_records, None);
}

/// The mechanism refuses by itself, without what a fit says of a ledger of another relation.
#[test]
fn noise_for_replaced_records_is_not_paid_for_where_presence_is_protected() {
    let replaced = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::ReplaceOne };
    let said = Said { budget: Some(replaced), steps: Some(3), ..Said::default() };
    let records = Sensitive::new(documents());
    let model: fn(&mut Ctx<'_>) -> Result<()> = lda;
    for (relation, refused) in [(Relation::AddRemove, true), (Relation::ReplaceOne, false)] {
        let budget = Budget { epsilon: 100.0, relation, ..replaced };
        let mut ledger = dp_accountant::Ledger::new(budget).unwrap();
        let training =
            ConjugateTraining::new(&model, &said, &records, &Seed::for_tests(2), Some(&mut ledger), false);
        let told = training.err().map(|error| error.to_string()).unwrap_or_default();
        assert_eq!(told.contains("whether a record is there"), refused, "{relation}: {told}");
        assert_eq!(ledger.debits().is_empty(), refused, "{relation}");
    }
}

/// Whatever is released is a whole number of steps of the grid, under both relations; with floating-point
/// noise it is not.
#[test]
fn released_statistics_lie_on_the_grid() {
    for relation in [Relation::AddRemove, Relation::ReplaceOne] {
        for noise in [PrivacyNoise::Exact, PrivacyNoise::Continuous] {
            let budget = Budget { epsilon: 1.0, delta: 1e-5, relation };
            let said = Said { budget: Some(budget), noise, steps: Some(5), ..Said::default() };
            let records = Sensitive::new(documents());
            let mut ledger = dp_accountant::Ledger::new(budget).unwrap();
            let (model, seed): (fn(&mut Ctx<'_>) -> Result<()>, _) = (lda, Seed::for_tests(6));
            let purse: &mut dyn dp_accountant::Purse = &mut ledger;
            let mut training =
                ConjugateTraining::new(&model, &said, &records, &seed, Some(purse), false).unwrap();
            let mut beside = 0;
            for _ in 0..5 {
                training.step().unwrap();
                let step = training.steps_mut().noise_added() / 2.0_f64.powi(32);
                let off = |x: &f64| ((x / step).round() * step - x).abs() > 4.0 * f64::EPSILON * x.abs();
                beside += training.released().iter().filter(|x| off(x)).count();
            }
            match noise {
                PrivacyNoise::Exact => assert_eq!(beside, 0),
                PrivacyNoise::Continuous => assert!(beside > 100, "{beside}"),
            }
            let default = ConjugateVi::new(lda).budget(budget).steps(1).seed(Seed::for_tests(1));
            assert_eq!(default.fit(&records).unwrap().privacy().noise, Some(PrivacyNoise::Exact));
        }
    }
}

/// Two data sets, with and without one document that fits nothing else: an attacker who looks at the sum of the words
/// that only this document has cannot tell them apart more often than ε allows.
#[test]
fn a_canary_is_found_no_more_often_than_stated() {
    for relation in [Relation::AddRemove, Relation::ReplaceOne] {
        let budget = Budget { epsilon: 1.0, delta: 1e-5, relation };
        let base = Array2::from_shape_fn((20, 8), |(_, v)| u16::from(v < 4) * 2);
        let mut with = base.clone();
        with.row_mut(0).assign(&ndarray::arr1(&[0, 0, 0, 0, 0, 0, 0, 900_u16]));
        let without = match relation {
            Relation::AddRemove => base.slice(ndarray::s![1.., ..]).to_owned(),
            Relation::ReplaceOne => {
                let mut other = base.clone();
                other.row_mut(0).assign(&ndarray::arr1(&[0, 0, 0, 0, 900_u16, 0, 0, 0]));
                other
            }
        };
        // One topic, so that the whole norm of the document is in one cell.
        let model = |ctx: &mut Ctx<'_>| {
            let beta = ctx.sample("beta", Dirichlet::symmetric(0.1, 8))?;
            ctx.each_record(|ctx, document| {
                ctx.observe(
                    "words",
                    Words::mixed(ctx.constant(vec![1.0]), beta.reshape([1, 8])),
                    document.get("counts")?,
                )
            })
        };
        let score = |counts: Array2<u16>, seed: u64| {
            let records = Sensitive::new(Records::from_columns([("counts", counts)]).unwrap());
            let said = Said { budget: Some(budget), steps: Some(1), clip_norm: Some(6.0), ..Said::default() };
            let mut ledger = dp_accountant::Ledger::new(budget).unwrap();
            let seed = Seed::for_tests(seed);
            let mut training =
                ConjugateTraining::new(&model, &said, &records, &seed, Some(&mut ledger), false).unwrap();
            training.step().unwrap();
            let released = training.released();
            released[7] - released[4]
        };
        let runs = 400;
        // Without the document the score is that of noise alone, around minus the words of the others.
        let middle = |counts: &Array2<u16>| {
            let all: f64 = (0..runs).map(|k| score(counts.clone(), 50_000 + k)).sum();
            all / runs as f64
        };
        let threshold = 0.5 * (middle(&with) + middle(&without));
        let rate = |counts: &Array2<u16>, first: u64| {
            let found = (0..runs).filter(|k| score(counts.clone(), first + k) > threshold).count();
            found as f64 / runs as f64
        };
        let (hits, alarms) = (rate(&with, 0), rate(&without, 10_000));
        // The advantage that ε allows, and 5.2 standard errors of a difference of two shares (a false alarm in 10⁶).
        let advantage = (1.0_f64.exp() - 1.0) / (1.0_f64.exp() + 1.0) + 1e-5;
        let error = 5.2 * (0.5 / runs as f64).sqrt();
        assert!(hits - alarms <= advantage + error, "{relation}: {hits} and {alarms}");
        // The attack sees something: noise that is ten times too large would hide it.
        assert!(hits - alarms > 0.1, "{relation}: {hits} and {alarms}");
    }
}

/// The clipped contribution of each record, in units of the scales, in no particular order.
pub(super) fn contributions<T: Scalar>(
    model: fn(&mut Ctx<'_>) -> Result<()>,
    said: &Said,
    records: &Records,
    at: &[(&str, Vec<f64>)],
) -> (Vec<Vec<f64>>, ConjugatePlan) {
    let graph = Graph::new();
    let statistics = Statistics::new(&model, &graph, records.schema(), programs(said)).unwrap();
    let plan = ConjugatePlan::new(said, &statistics).unwrap();
    let weight = weight(&statistics, &plan).unwrap();
    let words = statistics.words(&plan.scales).filter(|_| weight.is_none() && !said.with_zeros);
    let (value, inputs) = statistics.scaled(&plan.scales, weight).unwrap();
    let mut program = ppl_core::RecordGradient::<T>::new(value, &inputs).unwrap();
    if let Some(words) = words {
        program = program.without_zeros(words).unwrap();
    }
    for (name, values) in at {
        let values: Vec<T> = values.iter().map(|&value| T::of(value)).collect();
        program.set(&format!("scaled {name}"), &values).unwrap();
    }
    // Whatever the states of records' own factors are.
    for (number, kept) in statistics.kept().iter().enumerate() {
        let to = program.record_input_mut(&kept.name, records.len()).unwrap();
        let states = numbers(to.len(), 100 + number as u64);
        to.iter_mut().zip(states).for_each(|(to, u)| *to = T::of(30.0 * (u + 0.5).powi(4)));
    }
    let rule = Rule::Flat(ClipNorm::new(plan.clip_norm, program.dimension()).unwrap());
    let all: Vec<u64> = (0..records.len() as u64).collect();
    let mut takers: Vec<Vec<Vec<f64>>> = (0..rayon::current_num_threads()).map(|_| Vec::new()).collect();
    let take = |taken: &mut Vec<Vec<f64>>, one: &[T]| taken.push(one.iter().map(|x| x.as_f64()).collect());
    rule.each(&mut program, records, &all, &mut takers, take).unwrap();
    (takers.concat(), plan)
}

/// The largest norm, and the largest distance of two out of 10⁵ pairs.
fn largest(all: &[Vec<f64>]) -> (f64, f64) {
    let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
    let distance = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt();
    let most = all.iter().map(|x| norm(x)).fold(0.0, f64::max);
    let n = all.len();
    let pairs = (0..100_000).map(|k| (k % n, (k * 7919 + k / n * 31 + 1) % n));
    (most, pairs.map(|(a, b)| distance(&all[a], &all[b])).fold(0.0, f64::max))
}

#[test]
fn statistics_of_random_pairs_stay_below_each_sensitivity_and_come_near_it() {
    let said = |relation| {
        let budget = Budget { epsilon: 1.0, delta: 1e-5, relation };
        Said { budget: Some(budget), ..Said::default() }
    };
    let check = |name: &str,
                 model: fn(&mut Ctx<'_>) -> Result<()>,
                 said_more: fn(Said) -> Said,
                 records: &Records,
                 at: &[(&str, Vec<f64>)]| {
        let (all, plan) = contributions::<f64>(model, &said_more(said(Relation::AddRemove)), records, at);
        let (norm, _) = largest(&all);
        assert!(norm <= plan.sensitivity * (1.0 + 1e-12), "{name}: norm {norm} {}", plan.sensitivity);
        assert!(norm >= 0.99 * plan.sensitivity, "{name}: norm {norm} {}", plan.sensitivity);
        let (all, plan) = contributions::<f64>(model, &said_more(said(Relation::ReplaceOne)), records, at);
        let (_, distance) = largest(&all);
        assert!(distance <= plan.sensitivity * (1.0 + 1e-12), "{name}: {distance} {}", plan.sensitivity);
        assert!(distance >= 0.99 * plan.sensitivity, "{name}: {distance} {}", plan.sensitivity);
        plan.replace_bound
    };
    // Rows of all lengths and directions, some far longer than R = √2, and many of just this length in nearly one
    // direction.
    let x = Array2::from_shape_fn((2000, 2), |(i, j)| {
        let (angle, length) = match i % 4 {
            0 => (0.0, 2.0_f64.sqrt()),
            1 => (0.01, 2.0_f64.sqrt()),
            _ => (i as f64 * 2.399_963, 0.1 + 0.01 * (i % 700) as f64),
        };
        length * if j == 0 { angle.cos() } else { angle.sin() }
    });
    let y: Array1<f64> = numbers(2000, 8).into_iter().map(|u| f64::from(u > 0.0)).collect();
    let rows = Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))]).unwrap();
    // Along the first axis ξ is ¼, its largest value; a little beside it next to 0, its smallest.
    let beside = [("E[w]", vec![0.0; 2]), ("E[w wᵀ]", vec![0.0, 0.0, 0.0, 1e12])];
    let found = check("logistic", logistic, |said| said, &rows, &beside);
    assert_eq!(found, ReplaceBound::Logistic);
    // Documents of a few words, long and short.
    let counts = Array2::from_shape_fn((2000, 12), |(i, v)| {
        if (i * 7 + i / 12) % 12 == v || i % 11 == v { (i % 40) as u16 } else { 0 }
    });
    let words = Records::from_columns([("counts", counts)]).unwrap();
    let log_beta: Vec<f64> = numbers(36, 9).iter().map(|u| -3.0 + 5.0 * u).collect();
    let found = check("lda", lda, |said| said, &words, &[("E[ln beta]", log_beta)]);
    assert_eq!(found, ReplaceBound::OneSign);
    // Points in all directions, far out.
    let x = Array2::from_shape_fn((2000, 2), |(i, j)| {
        let angle = i as f64 * 2.399_963;
        (1.0 + 0.5 * (i % 500) as f64) * if j == 0 { angle.cos() } else { angle.sin() }
    });
    let points = Records::from_columns([("x", x)]).unwrap();
    // With equal components, points that lie opposite each other have opposite statistics but for small constants.
    let at = [("E[ln pi]", vec![-1.0; 3]), ("E[mu]", vec![0.0; 6]), ("E[mu²]", vec![0.1; 6])];
    let one = |said| Said { clip_norm: Some(2.0), ..said };
    assert_eq!(check("mixture", mixture, one, &points, &at), ReplaceBound::Any);
}

#[test]
fn the_exact_bound_of_logistic_regression_is_the_largest_value_of_its_formula() {
    for scale in [0.3, 1.0, 2.0, 8.0_f64.sqrt(), 5.0, 20.0] {
        let found = logistic_sensitivity(Relation::ReplaceOne, scale).unwrap();
        let at =
            |t: f64| (0.5 * (1.0 + t) + scale * scale * (1.0_f64 / 16.0).max((1.0 - t * t) / 8.0)).sqrt();
        let searched = (0..=100_000).map(|k| at(f64::from(k) / 1e5)).fold(0.0, f64::max);
        assert!((found - searched).abs() <= 1e-9 * searched, "{scale}: {found} {searched}");
    }
    assert!(logistic_sensitivity(Relation::AddRemove, f64::NAN).is_err());
    assert!(logistic_sensitivity(Relation::AddRemove, 0.0).is_err());
}
