//! Whether fits find what generated data were made with.

use std::error::Error as StdError;

use dp_accountant::{Budget, Ledger};
use dp_sampler::Seed;
use ppl_core::{handlers, simulate};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use super::family::Family;
use super::fitting::{PrivateFit, Settings};
use super::outcome::outcomes;
use super::posterior::{Summary, unscaled};
use super::specification::{Specification, is_first_cut, margins};
use crate::Error;
use crate::formula::Formula;
use crate::formula::matrix::Design;
use crate::schema::{Frame, Schema};
use crate::table::Table;

/// What repeated fits of one family found.
#[derive(Debug, Clone, PartialEq)]
pub struct Recovery {
    /// Of slopes.
    pub slopes: Recovered,
    /// Of intercepts, as they are said: where all columns are 0. Ordinal regressions have none.
    pub intercepts: Option<Recovered>,
    /// What the intercepts of groups differ by, where there are groups.
    pub groups: Option<Recovered>,
    /// How many runs have intervals that include the privacy noise.
    pub noise_aware: usize,
}

/// What was found of coefficients of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Recovered {
    /// Coefficients in all, over runs.
    pub coefficients: usize,
    /// Share of the 90 % intervals that hold the coefficient with which the data were made.
    pub coverage: f64,
    /// Root mean square distance of posterior means from these, on the scale of the public bounds.
    pub error: f64,
    /// Mean standard deviation of the posterior, on that scale.
    pub sd: f64,
}

/// Sums over coefficients of one kind.
#[derive(Debug, Default)]
struct Sums {
    count: usize,
    covered: usize,
    squares: f64,
    sds: f64,
}

impl Sums {
    /// One more, whose distances are multiplied by `by`.
    fn add(&mut self, found: &Summary, truth: f64, by: f64) {
        self.count += 1;
        self.covered += usize::from(found.low <= truth && truth <= found.high);
        self.squares += ((found.mean - truth) * by).powi(2);
        self.sds += found.sd * by;
    }

    fn recovered(&self) -> Option<Recovered> {
        let count = self.count as f64;
        (self.count > 0).then(|| Recovered {
            coefficients: self.count,
            coverage: self.covered as f64 / count,
            error: (self.squares / count).sqrt(),
            sd: self.sds / count,
        })
    }
}

const SCHEMA: &str =
    "age = [20, 80]\nhours = [0, 60]\nsex = ['f', 'm']\njob = ['a', 'b', 'c', 'd', 'e', 'f']";

/// Coefficients on the scale of the public bounds: intercept, sex, age, hours.
const PLANTED: [f64; 4] = [0.3, 0.4, -0.5, 0.7];

/// Fits a family to `runs` data sets of `rows` made-up records, which the family's own model made with planted
/// coefficients, and compares. With `groups`, intercepts differ by six groups.
///
/// # Errors
///
/// A fit that fails.
pub fn measure(
    family: Family,
    groups: bool,
    rows: usize,
    epsilon: f64,
    runs: u64,
) -> Result<Recovery, Box<dyn StdError>> {
    let formula = if groups { "y ~ age + hours + sex + (1 | job)" } else { "y ~ age + hours + sex" };
    let formula: Formula = formula.parse()?;
    let entry = match family {
        Family::Bernoulli => "y = ['no', 'yes']",
        Family::Ordinal => "y = ['k', 'l', 'm', 'n']",
        Family::Gaussian | Family::Student => "y = [-1, 1]",
        _ => "y = [0, 60]",
    };
    let schema = Schema::parse("schema.toml", format!("{SCHEMA}\n{entry}").as_bytes())?;
    let (mut slopes, mut intercepts, mut by_group, mut aware) =
        (Sums::default(), Sums::default(), Sums::default(), 0);
    for run in 0..runs {
        let mut rng = ChaCha8Rng::seed_from_u64(1000 + run);
        let mut csv = "age,hours,sex,job,y\n".to_owned();
        for _ in 0..rows {
            let mut below = |n: u64| rng.next_u64() % n;
            let y = match family {
                Family::Bernoulli => "no",
                Family::Ordinal => "k",
                _ => "0",
            };
            csv += &format!(
                "{},{},{},{},{y}\n",
                20 + below(61),
                below(61),
                ["f", "m"][below(2) as usize],
                ["a", "b", "c", "d", "e", "f"][below(6) as usize]
            );
        }
        let table = Table::parse("made-up", csv.as_bytes())?;
        let (blank, outcome) = outcomes(&formula.response, family, &table, &schema)?;
        let design = Design::new(&formula, &Frame::new(&table, &schema, &formula.columns())?)?;
        let specification = Specification::new(family, outcome, &design, &[])?;
        let records = specification.records(&design, &blank)?;
        let planted: Vec<f64> = specification
            .columns
            .iter()
            .map(|column| match column.of.name.as_str() {
                "Intercept" if family.scaled() => 0.0,
                "Intercept" if family == Family::Ordinal => 1.0,
                "Intercept" => PLANTED[0],
                "age" => PLANTED[2] * if family.scaled() { 0.3 } else { 1.0 },
                "hours" => PLANTED[3] * if family.scaled() { 0.3 } else { 1.0 },
                _ => PLANTED[1] * if family.scaled() { 0.3 } else { 1.0 },
            })
            .collect();
        let scalar = |x: f64| ndarray::arr0(x).into_dyn();
        let known = [
            ("b", ndarray::arr1(&planted).into_dyn()),
            ("sigma", scalar(0.15)),
            ("nu", scalar(4.0)),
            ("phi", scalar(2.0)),
            ("zeros", scalar(0.25)),
            ("gaps", ndarray::arr1(&[1.0, 1.2]).into_dyn()),
            // Small enough that outcomes stay within the public bounds: those beyond would be moved there,
            // and pull slopes
            // towards 0.
            ("sd0", ndarray::arr1(&[if family.scaled() { 0.15 } else { 0.5 }]).into_dyn()),
        ];
        let model = specification.model();
        let sites: Vec<&str> = match family {
            Family::Gaussian => vec!["sigma"],
            Family::Student => vec!["sigma", "nu"],
            Family::NegativeBinomial => vec!["phi"],
            Family::ZeroInflatedPoisson => vec!["zeros"],
            Family::Ordinal => vec!["gaps"],
            _ => vec![],
        };
        let known = known
            .into_iter()
            .filter(|(name, _)| *name == "b" || groups && *name == "sd0" || sites.contains(name));
        let drawn = simulate(
            &handlers::seed(handlers::condition(handlers::uncondition(model), known), 77 + run),
            &records,
        )?;
        // As a file would hold them: within the public bounds.
        let (centre, width) = specification.outcome_scale;
        let outcome = &specification.outcome;
        let y: Vec<f64> =
            drawn["y"].iter().map(|y| (centre + width * y).clamp(outcome.low, outcome.high)).collect();
        let records = specification.records(&design, &y)?;
        let budget = Budget::add_remove(epsilon, 1e-6);
        let seed = Seed::for_tests(run);
        let settings = Settings::default();
        let fit = PrivateFit { specification: &specification, budget, settings: &settings, public: &[] };
        let fit = fit.run(records, None::<&mut Ledger>, seed)?;
        aware += usize::from(fit.is_noise_aware());
        let draws = fit.draws(&specification)?;
        let truths = unscaled(
            &planted,
            (&specification.columns, &margins(&specification.columns)),
            specification.units(),
        );
        for (level, truth) in drawn.get("u0").into_iter().flatten().enumerate() {
            let of_level = draws.groups.iter().flat_map(|group| group.draws.iter().map(|draw| draw[level]));
            by_group.add(&Summary::of("", of_level.collect()), truth * width, 1.0 / width);
        }
        let said = specification.columns.iter().zip(truths);
        let said = said.filter(|(column, _)| !is_first_cut(family, &column.of));
        for ((column, truth), summary) in said.zip(draws.coefficients()) {
            let sums = if column.of.name == "Intercept" { &mut intercepts } else { &mut slopes };
            sums.add(&summary, truth, column.width / width);
        }
    }
    let none = || Error::Formula { reason: "recovery takes one run or more".to_owned() };
    Ok(Recovery {
        slopes: slopes.recovered().ok_or_else(none)?,
        intercepts: intercepts.recovered(),
        groups: by_group.recovered(),
        noise_aware: aware,
    })
}
