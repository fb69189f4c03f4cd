//! A private choice of where to start, for likelihoods with several optima.

use super::integers::Utilities;
use crate::error::{Error, Result};
use crate::guides::guide::GuideSite;
use crate::objective::exchangeable::{Part, exchangeable_parts};
use crate::objective::initial::{PriorPoints, unconstrained};
use crate::objective::traced::Traced;
use crate::wall::sensitive::Sensitive;
use dp_accountant::{Event, Receipt, Relation};
use dp_sampler::rand_core::Rng;
use dp_sampler::{ExponentialChoice, Purpose, Seed, Streams};
use ndarray::ArrayD;
use ppl_core::{ExecutionPlan, Graph, Model, Program, Records, Unconstrained};
use std::collections::BTreeMap;

/// Starting points to choose from, by how well they fit the records: the exponential mechanism.
///
/// ```text
/// u_c = Σ_i (clip(ln p(x_i | c), a, b) − a)/(b − a)          a term in [0, 1] for each record, rounded down to a multiple of 2⁻³²
/// P(choose c) ∝ exp(s u_c)                                    s = ε₀ under add/remove, ε₀/2 under replace-one, rounded down likewise
/// ```
///
/// # Privacy
/// *Add/remove.* A further record raises every `u_c` by something in [0, 1]: the weight `exp(s u_c)` grows by
/// a factor in `[1, e^s]`, and so does the sum of the weights. Their ratio changes by a factor between `e^−s`
/// and `e^s`: `ε₀ = s`, half of what it would be if some utilities could fall while others rise.
///
/// *Replace-one.* Each `u_c` changes by something in [−1, 1], weight and sum by factors in `[e^−s, e^s]`,
/// their ratio by one in `[e^−2s, e^2s]`: `ε₀ = 2s`.
///
/// *No number is a floating-point sum.* A record's term is computed by itself, so it is, bit for bit, a
/// function of the record and the candidate; it is rounded to an integer before anything is added up, and the
/// choice is made from the integer sums [exactly](dp_sampler::ExponentialChoice): the proof holds for what is
/// computed.
///
/// The candidates and the range `[a, b]` must not depend on the data; they may depend on public bounds of the
/// columns. A likelihood that is no number counts as `a`. One event of pure ε₀ in the ledger.
///
/// # References
/// McSherry, Talwar 2007, "Mechanism Design via Differential Privacy".
#[derive(Clone, Debug)]
pub struct PrivateStart {
    /// The starting points: for each, values of latent sites or parameters by name, in their supports. Sites
    /// that are not named are taken to be at 0 unconstrained, parameters at their initial values, and start
    /// where they would otherwise.
    pub candidates: Vec<BTreeMap<String, ArrayD<f64>>>,
    /// `a` and `b`, the log-likelihoods of one record between which candidates are distinguished.
    pub range: (f64, f64),
    /// The share of the budget's ε that is spent on the choice, strictly between 0 and 1; 0.2 served a
    /// mixture well.
    pub share: f64,
}

/// Values by site.
type Values = BTreeMap<String, ArrayD<f64>>;

/// Most candidates.
const MOST: usize = 1_000_000;

impl PrivateStart {
    pub(crate) fn validate(&self) -> Result<()> {
        let out = |what, requirement, value| Err(Error::OutOfRange { what, requirement, value });
        if !(1..=MOST).contains(&self.candidates.len()) {
            return out(
                "number of candidates to start from",
                "between 1 and 10^6",
                self.candidates.len() as f64,
            );
        }
        let (a, b) = self.range;
        if !(a.is_finite() && b.is_finite() && b - a > 0.0) {
            return out("width of the range of log-likelihoods", "positive and finite", b - a);
        }
        if !(self.share > 0.0 && self.share < 1.0) {
            return out("share of the budget for the start", "strictly between 0 and 1", self.share);
        }
        Ok(())
    }

    /// Makes the choice: unconstrained values by site. Without what was paid nothing is private, and the best candidate
    /// is taken.
    pub(crate) fn choose(
        &self,
        model: &dyn Model,
        records: &Sensitive<Records>,
        mut private: Option<PaidChoices>,
        seed: &Seed,
    ) -> Result<Values> {
        let (utilities, mut values) = self.utilities(model, records)?;
        Ok(values.swap_remove(pick(utilities, private.as_mut(), seed)?))
    }

    /// The candidates' unconstrained values.
    ///
    /// # Errors
    /// If one names no site of the model, or has a value of another shape or outside the support.
    pub(crate) fn unconstrained(&self, sites: &[GuideSite]) -> Result<Vec<Values>> {
        let one = |candidate| unconstrained(sites, candidate, "candidate to start from");
        self.candidates.iter().map(one).collect()
    }

    /// Each candidate's utility, in units of 2⁻³², and its unconstrained values.
    fn utilities(&self, model: &dyn Model, records: &Sensitive<Records>) -> Result<(Utilities, Vec<Values>)> {
        let graph = Graph::new();
        let traced = Traced::new(model, &graph, records.schema())?;
        let candidates = self.unconstrained(&traced.sites)?;
        let mut program = ExecutionPlan::<f64>::new(&Program::new(&graph, &[traced.log_likelihood])?);
        let set = |candidate: &Values, program: &mut _| put(candidate, &traced.sites, program);
        let utilities = Utilities::new(&mut program, records, &candidates, set, |term| self.units(term))?;
        Ok((utilities, candidates))
    }

    /// A record's term in units, from 0 to 2³².
    fn units(&self, term: f64) -> u64 {
        let (a, b) = self.range;
        // NaN becomes `a`: `max` prefers the number. The quotient is at most 1, for rounding does not change
        // an order.
        ((term.max(a).min(b) - a) / (b - a) * UNIT) as u64
    }
}

/// Puts a candidate into a program.
fn put(candidate: &Values, sites: &[GuideSite], program: &mut ExecutionPlan<f64>) {
    for site in sites {
        let values: Vec<f64> = match candidate.get(&site.name).or(site.initial.as_ref()) {
            Some(values) => values.iter().copied().collect(),
            None => vec![0.0; site.elements()],
        };
        if let Ok(input) = program.input(&Unconstrained::input_name(&site.name)) {
            program.input_mut(input).copy_from_slice(&values);
        }
    }
}

/// The slope of the weights for an ε, in units of 2⁻³².
fn slope(epsilon: f64, relation: Relation) -> u64 {
    let slope = match relation {
        Relation::AddRemove => epsilon,
        Relation::ReplaceOne => 0.5 * epsilon,
    };
    // Both factors are exact, and converting rounds down: less is spent than was paid for, if anything.
    // Utilities and slope are in units of 2^-32 each.
    (slope * UNIT) as u64
}

/// The choices that a private start is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct StartPlan {
    /// The ε of each choice: probabilities on neighbours are within `e^ε` of each other.
    pub epsilon: f64,
    /// How many choices there are.
    pub choices: u64,
    /// What each is paid for as. Where the start was named this is any mechanism of that ε; where it is from the
    /// prior, a Gaussian mechanism that costs no less than an exponential mechanism of that ε and whose noise adds up
    /// with that of the steps.
    pub event: Event,
}

/// Choices that were paid for and are yet to be made.
pub(crate) struct PaidChoices {
    receipts: std::vec::IntoIter<Receipt>,
    plan: StartPlan,
    relation: Relation,
    /// The number of the next one, which chooses its random words.
    next: u64,
}

impl PaidChoices {
    /// With a receipt for each choice of the plan.
    pub(crate) fn new(receipts: Vec<Receipt>, plan: StartPlan, relation: Relation) -> Self {
        Self { receipts: receipts.into_iter(), plan, relation, next: 0 }
    }
}

/// The place of the candidate that is chosen: privately, for the next choice that was paid for; without, nothing is
/// private and the best one is taken.
fn pick(utilities: Utilities, private: Option<&mut PaidChoices>, seed: &Seed) -> Result<usize> {
    let Some(paid) = private else { return Ok(utilities.best()) };
    let receipt = paid.receipts.next().ok_or(Error::NotPaid { paid: paid.next })?;
    let number = paid.next;
    paid.next += 1;
    let streams = seed.streams(Purpose::Custom("private start"));
    let choice =
        ExponentialChoice::from_streams(streams, slope(paid.plan.epsilon, paid.relation), 2 * UNIT_BITS)?;
    utilities.choose((receipt, paid.plan.event), (&choice, number))
}

/// A start made of points from the prior, for models with exchangeable parts: the default where none was named.
///
/// One of some hundred points is chosen, and then, several times, the point that was chosen so far or one that differs
/// from it in a part, which is that of another point from the prior, or beside a part that the point has already. A
/// point at random seldom has a component at each of several clusters (of four that are equally likely to be met, one
/// in ten has); one by one they are found.
///
/// ```text
/// u_c = Σ_i max(0, 1 − (max_c' ln p(x_i | c') − ln p(x_i | c))/5)        over the records of a sample
/// ```
///
/// What counts is by how much a candidate falls short of the best one for the record, so no range has to be
/// known, and units of the records do not matter.
///
/// # Privacy
/// As for [`PrivateStart`]: each record's term is in [0, 1] and depends on that record and the candidates, which are
/// the same for all data or follow from what was chosen before. Whether a record is in the sample depends on a random
/// word of its own, independent of all others and equally distributed for all: given which of the other records are
/// in the sample, a further one changes no other's term, wherever in the table it stands. That the point so far
/// counts as often as all others together is a public weight, the same for all data.
///
/// A further record raises logarithms of weights by something in `[0, s]`, so those of probabilities change by numbers
/// within an interval of length `s`; replacing one, within one of length `2s`. Each choice is of bounded range, and
/// paid for as [`bounded_range_event`](crate::cost::pricing::bounded_range_event).
pub(crate) struct PriorStart;

impl PriorStart {
    /// The share of the budget that is spent on the choices: about what a single choice of a tenth of ε costs that is
    /// paid for as any mechanism of that ε. On four made-up tables of four and five clusters and the file of
    /// BENCHMARKS' mixture .1 and .25 did about as well.
    pub(crate) const SHARE: f64 = 0.15;

    /// Most choices.
    pub(crate) const MOST_CHOICES: u64 = 9;

    /// Log-likelihood by which a candidate may fall short before it counts as worth nothing for a record. On
    /// mixtures of Gaussians 3 and 5 lead to better fits than 2, 10 and 20.
    const SHORTFALL: f64 = 5.0;

    /// Records that are compared, about: with more, choices are hardly better and take longer.
    const COMPARED: f64 = 20_000.0;

    /// Most elements of values that all comparisons of one candidate use, which take some ten seconds for all of up
    /// to a thousand candidates.
    const MOST_WORK: f64 = 2e6;

    /// Points that differ in one part, about. With twice as many, or more choices than there are parts, fits of the
    /// same tables were no better.
    const EXCHANGED: usize = 60;

    /// One in how many of these parts is that of another point, and not beside a part that there is. With one in two,
    /// or none beside, fewer clusters were found.
    const OF_PRIOR: usize = 3;

    /// How many choices a start of a model with so many parts is made of.
    pub(crate) fn choices(parts: usize) -> u64 {
        (1 + parts as u64).min(Self::MOST_CHOICES)
    }

    /// Makes the choices, given about how many records there are.
    pub(crate) fn choose(
        model: &dyn Model,
        records: &Sensitive<Records>,
        number: f64,
        mut private: Option<PaidChoices>,
        seed: &Seed,
    ) -> Result<Values> {
        let groups = exchangeable_parts(model, records.schema()).unwrap_or_default();
        let parts: Vec<(&Vec<Part>, &Part)> =
            groups.iter().flat_map(|group| group.iter().map(move |part| (group, part))).collect();
        let graph = Graph::new();
        let traced = Traced::new(model, &graph, records.schema())?;
        let mut comparison = Comparison::new(&traced, records, number, seed)?;
        let exchanges = match &private {
            Some(paid) => paid.plan.choices.saturating_sub(1),
            None => Self::choices(parts.len()) - 1,
        };
        let exchanges = if parts.is_empty() { 0 } else { exchanges };
        // So many points for each part that all are served alike, and for more parts than points for one after the
        // other.
        let each = (Self::EXCHANGED / parts.len().max(1)).max(1);
        let count = (each * parts.len()).min(Self::EXCHANGED);
        let points = PriorPoints::new(model, records.schema(), &traced.sites, count * exchanges as usize)?;
        let mut candidates = points.first()?;
        let mut chosen = pick(comparison.utilities(&candidates)?, private.as_mut(), seed)?;
        let words = seed.streams(Purpose::Custom("parts to exchange"));
        let mut draws = points.candidates()..;
        let mut part = parts.iter().cycle();
        for _ in 0..exchanges {
            let current = candidates.swap_remove(chosen);
            candidates.clear();
            for (&(group, part), draw) in part.by_ref().take(count).zip(draws.by_ref()) {
                let mut words = words.at(draw as u64);
                let mut below = |bound: usize| (words.next_u64() % bound as u64) as usize;
                let level = below(points.levels());
                let near = &group[below(group.len())];
                // One of the prior, or one beside a part that there is: where one is, there may be others.
                candidates.push(match below(Self::OF_PRIOR) {
                    0 => exchanged(&current, part, &points.point(draw, level)?, None),
                    _ => exchanged(&current, part, &points.distance(draw, level)?, Some(near)),
                });
            }
            candidates.push(current);
            let utilities = comparison.utilities(&candidates)?.with_last_repeated(count);
            chosen = pick(utilities, private.as_mut(), seed)?.min(count);
        }
        Ok(candidates.swap_remove(chosen))
    }

    /// A record's term in units, from 0 to 2³²; 0 for NaN.
    fn units(shortfall: f64) -> u64 {
        ((1.0 - shortfall / Self::SHORTFALL).clamp(0.0, 1.0) * UNIT) as u64
    }
}

/// The values of a point whose part is that of another one, or as far from the point's part `near` as the other says.
fn exchanged(point: &Values, part: &Part, other: &Values, near: Option<&Part>) -> Values {
    let mut exchanged = point.clone();
    let of = |values: &Values, site: &str, place: usize| {
        values.get(site).and_then(|values| values.as_slice()?.get(place).copied())
    };
    for (index, (site, places)) in part.iter().enumerate() {
        let Some(values) = exchanged.get_mut(site).and_then(|values| values.as_slice_mut()) else { continue };
        for (k, &place) in places.iter().enumerate() {
            let from = near.map_or(Some(0.0), |near| of(point, &near[index].0, near[index].1[k]));
            if let Some((from, more)) = from.zip(of(other, site, place)) {
                values[place] = from + more;
            }
        }
    }
    exchanged
}

/// What compares candidates by the records of a sample.
struct Comparison<'a> {
    program: ExecutionPlan<f64>,
    sites: &'a [GuideSite],
    records: &'a Sensitive<Records>,
    /// Of each record's 64 random bits, as a number: below which it is in the sample. All are where it is 1 or more.
    share: f64,
    streams: Streams,
}

impl<'a> Comparison<'a> {
    fn new(
        traced: &'a Traced<'_>,
        records: &'a Sensitive<Records>,
        number: f64,
        seed: &Seed,
    ) -> Result<Self> {
        let program = ExecutionPlan::<f64>::new(&Program::new(
            traced.log_likelihood.graph(),
            &[traced.log_likelihood],
        )?);
        let elements = traced.frontier_elements() as f64;
        let share = PriorStart::COMPARED.min(PriorStart::MOST_WORK / elements) / number.max(1.0);
        let streams = seed.streams(Purpose::Custom("records to choose a start by"));
        Ok(Self { program, sites: &traced.sites, records, share, streams })
    }

    fn utilities(&mut self, candidates: &[Values]) -> Result<Utilities> {
        let Self { program, sites, records, share, streams } = self;
        let threshold = (*share * 2f64.powi(64)) as u64;
        let chosen = |place: u64| *share >= 1.0 || streams.at(place).next_u64() < threshold;
        let set = |candidate: &Values, program: &mut _| put(candidate, sites, program);
        Utilities::of_shortfalls(program, records, candidates, set, chosen, PriorStart::units)
    }
}

/// Utilities and slopes are multiples of two to minus this.
const UNIT_BITS: u32 = 32;

/// Units in one.
const UNIT: f64 = (1_u64 << UNIT_BITS) as f64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::pricing::bounded_range_event;
    use crate::wall::integers::each_alone;
    use dp_accountant::{Accountant, Budget, Composition, Ledger};
    use ndarray::{Array2, arr1};
    use ppl_core::{Column, Ctx, Distribution};
    use ppl_distributions::{Bernoulli, Combine, MixtureSameFamily, Normal};
    use proptest::prelude::*;

    fn start(range: (f64, f64)) -> PrivateStart {
        PrivateStart { candidates: Vec::new(), range, share: 0.2 }
    }

    proptest! {
        /// Between nothing and one unit, whatever the likelihood and the range; and within a unit of the
        /// quotient.
        #[test]
        fn a_records_term_is_between_zero_and_one(
            term in prop_oneof![any::<f64>(), -100.0..100.0_f64],
            a in -1e3..1e3_f64,
            width in prop_oneof![1e-300..1e-3_f64, 1e-3..1e3_f64, 1e3..1e300_f64],
        ) {
            let b = a + width;
            prop_assume!(b > a);
            let units = start((a, b)).units(term);
            prop_assert!(units <= 1 << UNIT_BITS);
            if term.is_nan() || term <= a {
                prop_assert_eq!(units, 0);
            } else if term >= b {
                prop_assert_eq!(units, 1 << UNIT_BITS);
            } else {
                let exact = (term - a) / (b - a) * UNIT;
                prop_assert!((units as f64 - exact).abs() <= 1.0);
            }
        }
    }

    /// `any` makes neither NaN nor infinities.
    #[test]
    fn nan_is_worth_nothing() {
        for range in [(-7.3, -0.001), (-1.0, 2.0), (3.0, 5.0)] {
            let start = start(range);
            let units = [f64::NAN, f64::NEG_INFINITY, f64::INFINITY].map(|term| start.units(term));
            assert_eq!(units, [0, 0, 1_u64 << UNIT_BITS], "{range:?}");
        }
        let units = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(PriorStart::units);
        assert_eq!(units, [0, 0, 1_u64 << UNIT_BITS]);
    }

    /// Utilities as integers: a data set's is that of the others and what the record adds, exactly, in any
    /// order and number.
    #[test]
    fn a_record_moves_utilities_by_its_own_integer_and_nothing_else() {
        fn model(ctx: &mut Ctx) -> ppl_core::Result<()> {
            let w = ctx.sample("w", Normal::new(0.0, 4.0).iid(ctx.records().dim("x")?))?;
            ctx.each_record(|ctx, record| {
                ctx.observe("y", Bernoulli::from_logits(record.get("x")?.dot(w)), record.get("y")?)
            })
        }
        let candidates: Vec<_> = (0..4)
            .map(|k| {
                let values = (0..17).map(|j| f64::from(k * 17 + j).sin()).collect::<Vec<_>>();
                BTreeMap::from([("w".to_owned(), arr1(&values).into_dyn())])
            })
            .collect();
        let start = PrivateStart { candidates, range: (-7.3, -0.001), share: 0.2 };
        let of = |rows: &[usize]| {
            let x = Array2::from_shape_fn((rows.len(), 17), |(i, j)| {
                ((rows[i] * 31 + j * 17) as f64 * 0.7).sin()
            });
            let y: Vec<f64> = rows.iter().map(|k| (k % 2) as f64).collect();
            let records = Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))]).unwrap();
            start.utilities(&model, &Sensitive::new(records)).unwrap().0.exact()
        };
        let all: Vec<usize> = (0..131).collect();
        let whole = of(&all);
        for removed in [0, 7, 64, 130] {
            let mut others: Vec<usize> = all.iter().copied().filter(|&k| k != removed).collect();
            others.reverse();
            let (without, alone) = (of(&others), of(&[removed]));
            for ((whole, without), alone) in whole.iter().zip(without).zip(alone) {
                assert_eq!(whole - without, alone);
                assert!(alone <= 1 << UNIT_BITS);
            }
        }
    }

    proptest! {
        /// Between nothing and one unit, whatever the likelihoods; all of it for the best, nothing for NaN.
        #[test]
        fn a_shortfall_is_worth_between_zero_and_one(
            shortfall in prop_oneof![any::<f64>(), -10.0..10.0_f64],
        ) {
            let units = PriorStart::units(shortfall);
            prop_assert!(units <= 1 << UNIT_BITS);
            if shortfall.is_nan() || shortfall >= PriorStart::SHORTFALL {
                prop_assert_eq!(units, 0);
            } else if shortfall <= 0.0 {
                prop_assert_eq!(units, 1 << UNIT_BITS);
            } else {
                let exact = (1.0 - shortfall / PriorStart::SHORTFALL) * UNIT;
                prop_assert!((units as f64 - exact).abs() <= 1.0);
            }
        }
    }

    fn mixture(ctx: &mut Ctx) -> ppl_core::Result<()> {
        let locs = ctx.sample("locs", Normal::new(0.0, 10.0).iid(3))?;
        ctx.each_record(|ctx, record| {
            let weights = ctx.graph().constant(1.0 / 3.0).broadcast_to([3]);
            ctx.enumerate(
                "component",
                ppl_distributions::Categorical::from_probs(weights),
                |ctx, component| ctx.observe("y", Normal::new(locs.gather(component), 1.0), record.get("y")?),
            )
        })
    }

    fn points(rows: &[usize]) -> Sensitive<Records> {
        // One of them has a likelihood of zero everywhere.
        let y: Vec<f64> =
            rows.iter().map(|&k| if k == 5 { 1e200 } else { (k % 3) as f64 * 6.0 - 6.0 }).collect();
        Sensitive::new(Records::from_columns([("y", y)]).unwrap())
    }

    /// Those of the points that a start from the prior begins with.
    fn utilities(rows: &[usize], number: f64, seed: &Seed) -> Vec<u128> {
        let (records, graph) = (points(rows), Graph::new());
        let traced = Traced::new(&mixture, &graph, records.schema()).unwrap();
        let points = PriorPoints::new(&mixture, records.schema(), &traced.sites, 0).unwrap();
        let candidates = points.first().unwrap();
        Comparison::new(&traced, &records, number, seed).unwrap().utilities(&candidates).unwrap().exact()
    }

    /// As above, for the start from the prior: without the record each utility is less by that record's own
    /// integer, whether other records are taken into the sample or not.
    #[test]
    fn a_record_moves_shortfalls_by_its_own_integer_and_nothing_else() {
        let seed = Seed::for_tests(3);
        // 5,000 records and more are in several blocks.
        for (count, number) in [(40, 40.0), (40, 1e9), (5_000, 5_000.0)] {
            let of = |rows: &[usize]| utilities(rows, number, &seed);
            let all: Vec<usize> = (0..count).collect();
            let (whole, without) = (of(&all), of(&all[..count - 1]));
            let mut alone = vec![of(&all[count - 1..])];
            // The last record of many is not in the sample where the first one is: it may add nothing.
            alone.push(vec![0; whole.len()]);
            let differences: Vec<u128> = whole.iter().zip(&without).map(|(a, b)| a - b).collect();
            assert!(alone.contains(&differences), "{count} {number}");
            assert!(differences.iter().all(|&difference| difference <= 1 << UNIT_BITS));
        }
        // A sample of 20,000 of 10^9 is none of 40; of 40 it is all of them.
        let none = utilities(&[0, 1], 1e18, &seed);
        assert!(none.iter().all(|&utility| utility == 0));
    }

    /// The candidate that is chosen without privacy has its centres near the three clusters.
    #[test]
    fn the_best_start_is_near_the_clusters() {
        let all: Vec<usize> = (6..606).collect();
        let chosen = PriorStart::choose(&mixture, &points(&all), 0.0, None, &Seed::for_tests(1)).unwrap();
        for cluster in [-6.0, 0.0, 6.0] {
            assert!(chosen["locs"].iter().any(|loc| (loc - cluster).abs() < 2.5), "{:?}", chosen["locs"]);
        }
    }

    /// Receipts of a start of this model and budget, and the plan that they are for.
    fn paid(epsilon: f64, choices: u64, relation: Relation) -> PaidChoices {
        let event = bounded_range_event(relation, epsilon).unwrap();
        let budget = Budget { epsilon: 50.0, delta: 1e-5, relation };
        let mut ledger = Ledger::new(budget).unwrap();
        let receipts = (0..choices).map(|_| ledger.debit(event, 1).unwrap()).collect();
        PaidChoices::new(receipts, StartPlan { epsilon, choices, event }, relation)
    }

    /// Five clusters, of which points from the prior hardly ever have all: each gets a centre by exchanging parts,
    /// with a budget and without.
    #[test]
    fn each_cluster_gets_a_component() {
        fn five(ctx: &mut Ctx) -> ppl_core::Result<()> {
            let locs = ctx.sample("locs", Normal::new(0.0, 10.0).iid([5, 2]))?;
            ctx.each_record(|ctx, record| {
                let fifths = ctx.graph().constant(0.2).broadcast_to([5]);
                let law = MixtureSameFamily::new(
                    ppl_distributions::Categorical::from_probs(fifths),
                    Normal::new(locs, ctx.graph().constant(1.0).broadcast_to([5, 2])).independent(1),
                );
                ctx.observe("y", law, record.get("y")?)
            })
        }
        let centres = [[-6.0, -6.0], [6.0, -6.0], [-6.0, 6.0], [6.0, 6.0], [0.0, 0.0]];
        let y =
            Array2::from_shape_fn((1000, 2), |(i, j)| centres[i % 5][j] + (i as f64 * 0.7 + j as f64).sin());
        let records = Sensitive::new(Records::from_columns([("y", Column::from(y))]).unwrap());
        // 200 records of a cluster, of which a component that is far away explains none: ε of 0.3 is e⁶⁰ for them.
        for private in [None, Some(paid(0.3, 9, Relation::AddRemove))] {
            let chosen = PriorStart::choose(&five, &records, 1000.0, private, &Seed::for_tests(2)).unwrap();
            for centre in centres {
                let near = |k: usize| {
                    let apart = |j: usize| chosen["locs"][[k, j]] - centre[j];
                    apart(0).hypot(apart(1)) < 4.0
                };
                assert!((0..5).any(near), "{centre:?}: {:?}", chosen["locs"]);
            }
        }
    }

    /// Each choice has random words and a receipt of its own, and there are no more than were paid for.
    #[test]
    fn choices_are_independent_and_paid_for() {
        let mut paid = paid(0.5, 3, Relation::AddRemove);
        let (records, seed) = (points(&[]), Seed::for_tests(1));
        let graph = Graph::new();
        let traced = Traced::new(&mixture, &graph, records.schema()).unwrap();
        let mut comparison = Comparison::new(&traced, &records, 1.0, &seed).unwrap();
        // Without records all candidates are alike: two choices of a thousand agree with probability 1/1000.
        let candidates = vec![Values::new(); 1000];
        let mut choose = || pick(comparison.utilities(&candidates).unwrap(), Some(&mut paid), &seed);
        let chosen = [(); 3].map(|()| choose().unwrap());
        assert!(chosen[0] != chosen[1] && chosen[1] != chosen[2] && chosen[0] != chosen[2], "{chosen:?}");
        assert!(matches!(choose(), Err(Error::NotPaid { paid: 3 })));
    }

    proptest! {
        /// Of bounded range: with the utilities of any records and what any record adds, or replaces, the choice's δ
        /// is at most that of the Gaussian mechanism it is paid for as.
        #[test]
        fn a_choice_costs_at_most_its_gaussian(
            candidates in proptest::collection::vec((0.0..30.0_f64, 0.0..=1.0_f64, 0.0..=1.0_f64), 2..7),
            epsilon in prop_oneof![0.01..0.3_f64, 0.3..4.0_f64],
            replaces in any::<bool>(),
        ) {
            let relation = if replaces { Relation::ReplaceOne } else { Relation::AddRemove };
            let s = slope(epsilon, relation) as f64 / UNIT;
            let law = |utilities: Vec<f64>| {
                let weights: Vec<f64> = utilities.iter().map(|u| (s * u).exp()).collect();
                let sum: f64 = weights.iter().sum();
                weights.into_iter().map(|weight| weight / sum).collect::<Vec<_>>()
            };
            let one = law(candidates.iter().map(|(u, added, _)| u + added).collect());
            let other = law(candidates.iter().map(|(u, _, added)| if replaces { u + added } else { *u }).collect());
            let gaussian = Accountant::new(relation)
                .with(&Composition::single(bounded_range_event(relation, epsilon).unwrap(), 1));
            for a in [0.0, 0.2, 0.5, 0.8].map(|share| share * epsilon) {
                let bound = gaussian.delta(a).unwrap().upper;
                for (p, q) in [(&one, &other), (&other, &one)] {
                    let delta: f64 = p.iter().zip(q).map(|(p, q)| (p - a.exp() * q).max(0.0)).sum();
                    prop_assert!(delta <= bound * (1.0 + 1e-9) + 1e-15, "{} {} {}", a, delta, bound);
                }
            }
        }
    }

    /// Outputs that a program computes for records, and one that is a column as it is.
    #[test]
    fn each_record_is_computed_alone() {
        let x = Array2::from_shape_fn((9, 3), |(i, j)| ((i * 3 + j) as f64).sin());
        let y: Vec<f64> = (0..9).map(f64::from).collect();
        let records =
            Records::from_columns([("x", Column::from(x.clone())), ("y", Column::from(y.clone()))]).unwrap();
        let graph = Graph::new();
        let record = ppl_core::Record::new(&graph, records.schema());
        let w = graph.input("w", 3).unwrap();
        for (output, expected) in [
            (record.get("x").unwrap().dot(w), x.rows().into_iter().map(|x| x[0] + 2.0 * x[1]).collect()),
            (record.get("y").unwrap(), y),
        ] {
            let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[output]).unwrap());
            if let Ok(input) = plan.input("w") {
                plan.input_mut(input).copy_from_slice(&[1.0, 2.0, 0.0]);
            }
            let mut found = Vec::new();
            each_alone(&mut plan, &records, |value| found.push(value)).unwrap();
            let expected: Vec<f64> = expected;
            assert!(
                found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-15) && found.len() == 9,
                "{found:?}"
            );
        }
    }

    /// The choice's law at every histogram of up to 12 coins, two candidates of which each fits one side as well as can
    /// be and the other not at all: under add/remove the loss is that of its proof as coins become many; under
    /// replace-one the ratio of `e^(s k)/(e^(s k) + e^(s (n − k)))` at neighbours.
    #[test]
    fn the_check_finds_the_loss_of_the_choice() {
        use crate::mechanisms::choice_law;
        use ppl_core::finite::{AddRemove, Check, Histogram, ReplaceOne};
        for epsilon in [0.1, 1.0, 3.0] {
            let law = |relation| {
                move |coins: &Histogram<bool>| {
                    let utilities = [true, false].map(|side| u128::from(coins.count(&side)) << UNIT_BITS);
                    choice_law(&utilities, slope(epsilon, relation), 2 * UNIT_BITS)
                }
            };
            let s = slope(epsilon, Relation::AddRemove) as f64 / UNIT;
            let added = Check::new(law(Relation::AddRemove)).records(0..=12).alphabet([true, false]);
            let added = added.neighbours(AddRemove).run().unwrap();
            // One more tail with none so far: P(true) falls from 1/(1 + e^(−12 s)) to that of one less … largest where
            // the chosen one is hopeless: from e^0/(e^0 + e^(11 s)) to e^0/(e^0 + e^(12 s)).
            let share = |k: f64, n: f64, s: f64| 1.0 / (1.0 + ((n - 2.0 * k) * s).exp());
            let expected = (share(0.0, 11.0, s) / share(0.0, 12.0, s)).ln();
            assert!((added.epsilon().estimate() - expected).abs() < 1e-12, "{} {expected}", added.epsilon());
            assert!(added.epsilon().width() <= 1e-12 && added.epsilon().upper() < epsilon + 1e-12);
            let s = slope(epsilon, Relation::ReplaceOne) as f64 / UNIT;
            let replaced = Check::new(law(Relation::ReplaceOne)).records(12..=12).alphabet([true, false]);
            let replaced = replaced.neighbours(ReplaceOne).run().unwrap();
            let expected = (share(1.0, 12.0, s) / share(0.0, 12.0, s)).ln();
            assert!((replaced.epsilon().estimate() - expected).abs() < 1e-12, "{}", replaced.epsilon());
            assert!(replaced.epsilon().width() <= 1e-12 && replaced.epsilon().upper() < epsilon + 1e-12);
        }
        // The utilities are those of the model: each coin is a term of the whole unit or of nothing.
        let candidates =
            [0.0, 1.0].map(|side| BTreeMap::from([("side".to_owned(), arr1(&[side]).into_dyn())]));
        fn model(ctx: &mut Ctx) -> ppl_core::Result<()> {
            let side = ctx.sample("side", Normal::new(0.0, 1.0).iid(1))?;
            ctx.each_record(|ctx, record| {
                ctx.factor("coin", -(record.get("coin")? - side.sum()).abs() * 10.0)
            })
        }
        let start = PrivateStart { candidates: candidates.into(), range: (-10.0, 0.0), share: 0.2 };
        let records = Records::from_columns([("coin", vec![1.0, 1.0, 0.0])]).unwrap();
        let utilities = start.utilities(&model, &Sensitive::new(records)).unwrap().0.exact();
        assert_eq!(utilities, [1 << UNIT_BITS, 2 << UNIT_BITS]);
    }
}
