//! How well values of the latent sites explain the records: the private stand-in for a loss.

use super::mean::{add, unit};
use super::{NoisyMean, Summaries, check_bounds};
use crate::error::Result;
use dp_accountant::Purse;
use ppl_core::{Model, Values};

impl Summaries<'_> {
    /// The mean over all records of `ln p(x_i | θ)`, each term clipped to the bounds: a loss, up to its sign,
    /// that is paid for.
    ///
    /// ```text
    /// ℓ_i = clip(ln p(x_i | θ), lower, upper),    released like the mean of a column
    /// ```
    ///
    /// # Privacy
    /// `values` must be public: [`Posterior::means`](crate::Posterior::means) of what has been released, say.
    /// The price is that of [`mean`](Summaries::mean) with the same noise multiplier, each time it is asked
    /// for; asking at each step of a run costs that many releases. Bounds must be chosen without looking at
    /// the data. A term that is not a number counts as the lower bound, as does `ln 0`.
    ///
    /// ```
    /// use dp_accountant::{Budget, Ledger, Relation};
    /// use dp_sampler::Seed;
    /// use dp_vi::guides::AutoNormal;
    /// use dp_vi::summaries::Summaries;
    /// use dp_vi::{DpVi, Sensitive};
    /// use ppl_core::{Ctx, Records};
    /// use ppl_distributions::Normal;
    ///
    /// fn model(ctx: &mut Ctx) -> ppl_core::Result<()> {
    ///     let mean = ctx.sample("mean", Normal::new(0.0, 10.0))?;
    ///     ctx.each_record(|ctx, record| ctx.observe("x", Normal::new(mean, 1.0), record.get("x")?))
    /// }
    /// let x: Vec<f64> = (0..2000).map(|k| 3.0 + f64::from(k % 21 - 10) / 10.0).collect();
    /// let records = Sensitive::new(Records::from_columns([("x", x)])?);
    ///
    /// let mut ledger = Ledger::new(Budget { epsilon: 1.0, delta: 1e-6, relation: Relation::AddRemove })?;
    /// // Half of the budget for the fit, from the same ledger; then the loss, from what is left.
    /// let half = Budget { epsilon: 0.5, ..*ledger.budget() };
    /// let fit = DpVi::new(model, AutoNormal::new()).budget(half).steps(100).fit_from(&records, &mut ledger)?;
    /// let mut summaries = Summaries::new(&records, Seed::from_os()?)?;
    /// let found = summaries.log_likelihood(&model, &fit.posterior().means()?, (-10.0, 0.0), 20.0, &mut ledger)?;
    /// assert!((found.value + 1.1).abs() < 8.0 * found.noise + 0.3, "{found:?}"); // −½ ln 2π − ½·0.37
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`mean`](Summaries::mean), if `values` are not those of the model's sites, if the records do not
    /// fit the model, or if it [says something of records by their place](ppl_core::record_log_likelihoods), as a
    /// seeded model does of each record's own values: a record more would change the terms of those behind it. Then
    /// nothing is debited.
    pub fn log_likelihood(
        &mut self,
        model: &(impl Model + ?Sized),
        values: &Values,
        bounds: (f64, f64),
        noise_multiplier: f64,
        purse: &mut (impl Purse + ?Sized),
    ) -> Result<NoisyMean> {
        check_bounds(bounds.0, bounds.1)?;
        let unit = unit(purse, noise_multiplier)?;
        let each = |term: f64, sums: &mut [i128]| {
            add(if term.is_nan() { bounds.0 } else { term }, bounds, unit, sums);
        };
        let sums = self.records.sums_of_log_likelihoods(model, values, self.numbers(purse), each)?;
        self.mean_of(sums, unit, bounds, purse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wall::sensitive::Sensitive;
    use dp_accountant::{Budget, Ledger, Relation};
    use dp_sampler::Seed;
    use ndarray::{Array1, arr0};
    use ppl_core::{Column, Ctx, Records};
    use ppl_distributions::Normal;

    fn model(ctx: &mut Ctx) -> ppl_core::Result<()> {
        let mean = ctx.sample("mean", Normal::new(0.0, 1.0))?;
        ctx.each_record(|ctx, record| ctx.observe("x", Normal::new(mean, 1.0), record.get("x")?))
    }

    fn at(mean: f64) -> Values {
        Values::from([("mean".to_owned(), arr0(mean).into_dyn())])
    }

    fn ledger(relation: Relation) -> Ledger {
        Ledger::new(Budget { epsilon: 50.0, delta: 1e-5, relation }).unwrap()
    }

    #[test]
    fn it_is_the_mean_of_clipped_terms_and_costs_what_a_mean_costs() {
        let x: Vec<f64> = (0..4000).map(|k| f64::from(k % 9)).collect();
        let term = |x: f64| -0.5 * (2.0 * std::f64::consts::PI).ln() - 0.5 * (x - 0.7) * (x - 0.7);
        let exact = x.iter().map(|&x| term(x).clamp(-12.0, 0.0)).sum::<f64>() / x.len() as f64;
        let records = Sensitive::new(Records::from_columns([("x", Column::from(x))]).unwrap());
        for relation in [Relation::AddRemove, Relation::ReplaceOne] {
            let (mut loss, mut mean) = (ledger(relation), ledger(relation));
            let mut summaries = Summaries::new(&records, Seed::for_tests(3)).unwrap();
            let found = summaries.log_likelihood(&model, &at(0.7), (-12.0, 0.0), 2.0, &mut loss).unwrap();
            // Six standard deviations: a false alarm in 5e8.
            assert!((found.value - exact).abs() < 6.0 * found.noise, "{found:?} {exact}");
            assert!(found.noise < 0.01, "{found:?}");
            summaries.mean("x", (0.0, 9.0), 2.0, &mut mean).unwrap();
            assert_eq!(loss.spent().unwrap().upper, mean.spent().unwrap().upper);
        }
    }

    /// A term is bounded for its own record's sake: of a model that has numbers for each record by its place, one
    /// record more at the front would change all terms.
    #[test]
    fn models_that_number_the_records_are_refused() {
        let mixture = |ctx: &mut Ctx| {
            let mean = ctx.sample("mean", Normal::new(0.0, 1.0))?;
            ctx.each_record(|ctx, record| {
                let own = ctx.sample("own", Normal::new(0.0, 1.0))?;
                ctx.observe("x", Normal::new(mean + own, 1.0), record.get("x")?)
            })
        };
        let column = Array1::from(vec![1.0; 5]);
        let records = Sensitive::new(Records::from_columns([("x", column.clone())]).unwrap());
        let mut summaries = Summaries::new(&records, Seed::for_tests(3)).unwrap();
        let mut ledger = ledger(Relation::AddRemove);
        let mut told = |model: &dyn Model, values: &Values| {
            summaries.log_likelihood(model, values, (-9.0, 0.0), 1.0, &mut ledger).unwrap_err().to_string()
        };
        let mut of_each = at(0.0);
        // Not how many numbers are needed, which would be how many records there are.
        of_each.insert("own".to_owned(), Array1::<f64>::zeros(3).into_dyn());
        let given = ppl_core::handlers::condition(model, [("x", column.into_dyn())]);
        let seeded = ppl_core::handlers::seed(mixture, 1);
        let hidden = ppl_core::handlers::block(ppl_core::handlers::seed(mixture, 1), ["own"]);
        for message in [
            told(&mixture, &of_each),
            told(&mixture, &at(0.0)),
            told(&given, &at(0.0)),
            told(&seeded, &Values::new()),
            told(&hidden, &Values::new()),
        ] {
            assert!(message.contains("by its place") && !message.contains('5'), "{message}");
        }
        assert!(ledger.debits().is_empty());
    }

    #[test]
    fn what_cannot_be_found_costs_nothing() {
        let records = Sensitive::new(Records::from_columns([("x", Array1::from(vec![1.0; 5]))]).unwrap());
        let mut summaries = Summaries::new(&records, Seed::for_tests(3)).unwrap();
        let mut ledger = ledger(Relation::AddRemove);
        let mut told = |values: &Values, bounds, noise| {
            summaries.log_likelihood(&model, values, bounds, noise, &mut ledger).unwrap_err().to_string()
        };
        assert!(told(&Values::new(), (-1.0, 0.0), 1.0).contains("mean"));
        assert!(told(&at(0.0), (0.0, -1.0), 1.0).contains("-1"));
        assert!(told(&at(0.0), (-1.0, 0.0), 0.0).contains('0'));
        assert!(told(&at(f64::NAN), (-1.0, 0.0), 1.0).contains("NaN"));
        assert!(ledger.debits().is_empty());
    }
}
