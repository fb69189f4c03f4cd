use std::collections::BTreeSet;

use dp_accountant::{Budget, Ledger};
use dp_sampler::{GaussianNoise, NoiseSource, Purpose, Seed};
use nalgebra::{DMatrix, DVector};
use ndarray::Axis;
use ppl_core::{Records, Values};

use super::family::Family;
use super::fitting::{self, Fitted, PrivateFit, Settings};
use super::outcome::outcomes;
use super::posterior::{Draws, Summary};
use super::predict::predict;
use super::prior::NamedPrior;
use super::specification::Specification;
use crate::formula::Formula;
use crate::formula::matrix::Design;
use crate::schema::{Frame, Schema};
use crate::table::Table;

const SCHEMA: &str =
    "age = [20, 60]\nsex = ['f', 'm']\njob = ['a', 'b', 'c']\ny = [0, 20]\nyes = ['no', 'yes']\nz = [1, 4]";

fn table(rows: usize) -> Table {
    let mut csv = "age,sex,job,y,yes,z\n".to_owned();
    for i in 0..rows {
        let (age, sex, job) = (20 + i * 7 % 41, ["f", "m"][i * 5 % 7 % 2], ["a", "b", "c"][i * 3 % 11 % 3]);
        let yes = if (i * 37) % 41 < age - 20 { "yes" } else { "no" };
        csv += &format!(
            "{age},{sex},{job},{},{yes},{}\n",
            (age / 10 + i % 3).min(20),
            1 + (age / 16 + i % 2).min(3)
        );
    }
    Table::parse("people.csv", csv.as_bytes()).unwrap()
}

fn regression(
    formula: &str,
    family: Family,
    priors: &[&str],
) -> crate::Result<(Specification, Design, Vec<f64>)> {
    let formula: Formula = formula.parse()?;
    let (table, schema) = (table(400), Schema::parse("s.toml", SCHEMA.as_bytes())?);
    let (values, outcome) = outcomes(&formula.response, family, &table, &schema)?;
    let design = Design::new(&formula, &Frame::new(&table, &schema, &formula.columns())?)?;
    let priors: Vec<NamedPrior> = priors.iter().map(|prior| prior.parse().unwrap()).collect();
    Ok((Specification::new(family, outcome, &design, &priors)?, design, values))
}

/// A statement lists all that a family releases beside its coefficients, and what it lists costs the budget: Gaussian
/// releases add up by the inverse squares of their noise multipliers.
#[test]
fn statements_list_every_release_of_a_family() {
    let of_dispersion = [
        "logarithms of the outcome",
        "sum of the outcome",
        "squares of the outcome",
        "squares of residuals, after",
    ];
    let of_scale = ["squares of the outcome", "second moments of features and outcome"];
    for (formula, family, expected) in [
        ("yes ~ age + sex", Family::Bernoulli, vec![]),
        (
            "y ~ age + sex",
            Family::Gaussian,
            [
                &of_scale[..],
                &["squares of residuals, before", "squares of residuals, after", "ends of residuals"],
            ]
            .concat(),
        ),
        (
            "y ~ age + sex",
            Family::Student,
            [&of_scale[..], &["histogram of residuals, before", "histogram of residuals, after"]].concat(),
        ),
        ("y ~ age", Family::NegativeBinomial, of_dispersion.to_vec()),
        (
            "y ~ sex",
            Family::ZeroInflatedPoisson,
            vec!["logarithms of the outcome", "histogram of the outcome", "slopes in the share of zeros"],
        ),
    ] {
        let (specification, design, values) = regression(formula, family, &[]).unwrap();
        let records = specification.records(&design, &values).unwrap();
        let settings = Settings { steps: Some(30), ..Settings::default() };
        let fit = fitted(&specification, records, (Budget::add_remove(1.0, 1e-6), 1), &settings);
        let stated: Vec<&str> = fit.privacy().releases.iter().map(|release| release.what).collect();
        let found: Vec<&str> = stated.iter().copied().filter(|what| expected.contains(what)).collect();
        assert_eq!(found, expected, "{formula}: {stated:?}");
        let epsilon = fit.privacy().epsilon.as_ref().unwrap();
        assert!(epsilon.upper <= 1.0 && epsilon.lower > 0.99, "{formula}: {epsilon:?}");
    }
}

/// Every family is fitted, has finite summaries in the units of the file, and predicts means within its range.
#[test]
fn every_family_fits_and_predicts() {
    for (formula, family) in [
        ("yes ~ age + sex", Family::Bernoulli),
        ("yes ~ age + (1 | job)", Family::Bernoulli),
        ("y ~ age*sex + (age | job)", Family::Gaussian),
        ("y ~ age + sex", Family::Student),
        ("y ~ age", Family::Poisson),
        ("y ~ age + offset(log(age))", Family::NegativeBinomial),
        ("y ~ sex", Family::ZeroInflatedPoisson),
        ("z ~ age + sex", Family::Ordinal),
    ] {
        let (specification, design, values) = regression(formula, family, &[]).unwrap();
        let records = specification.records(&design, &values).unwrap();
        let settings = Settings { steps: Some(30), ..Settings::default() };
        let budget = Budget::add_remove(1.0, 1e-6);
        let fit = fitted(&specification, records, (budget, 1), &settings);
        assert!(fit.privacy().epsilon.as_ref().unwrap().upper <= 1.0);
        let draws = fit.draws(&specification).unwrap();
        for summary in draws.coefficients().iter().chain(&draws.others()) {
            assert!(
                summary.mean.is_finite() && summary.sd > 0.0 && summary.low < summary.high,
                "{formula}: {summary:?}"
            );
        }
        let predicted = predict(&specification, &draws.kept(50), &design).unwrap();
        assert_eq!(predicted.len(), 400);
        for one in predicted {
            assert!(one.low <= one.high && one.mean.is_finite(), "{formula}: {one:?}");
            let bounds = specification.outcome.low..=specification.outcome.high;
            assert!([one.low, one.mean, one.high].iter().all(|x| bounds.contains(x)), "{formula}: {one:?}");
            let by_probability = matches!(family, Family::Bernoulli | Family::Ordinal);
            assert_eq!(one.outcome.is_none(), by_probability, "{formula}");
            if let Some((low, high)) = one.outcome {
                assert!(low <= high && [low, high].iter().all(|x| bounds.contains(x)), "{formula}: {one:?}");
            }
            match family {
                Family::Bernoulli | Family::Gaussian | Family::Student => {}
                Family::Ordinal => assert!((one.probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-9),
                _ => assert!(one.mean > 0.0),
            }
        }
    }
}

/// A mean is that of one point, where the noisy steps led; of a file that has none, the mean of its draws.
#[test]
fn means_are_predicted_at_the_point() {
    let (specification, design, values) = regression("yes ~ age + sex", Family::Bernoulli, &[]).unwrap();
    let records = specification.records(&design, &values).unwrap();
    let fit = fitted(&specification, records, (Budget::add_remove(1.0, 1e-6), 1), &Settings::default());
    let draws = fit.draws(&specification).unwrap();
    let probabilities = |coefficients: &[f64]| {
        let at = |row: usize| {
            let eta: f64 = design.matrix.values.row(row).iter().zip(coefficients).map(|(x, b)| x * b).sum();
            1.0 / (1.0 + (-eta).exp())
        };
        (0..400).map(at).collect::<Vec<f64>>()
    };
    let off = |draws: &Draws, expected: &[f64]| {
        let predicted = predict(&specification, draws, &design).unwrap();
        predicted.iter().zip(expected).map(|(one, p)| (one.mean - p).abs()).fold(0.0, f64::max)
    };
    let means: Vec<f64> = draws.coefficients().iter().map(|summary| summary.mean).collect();
    let point = draws.point.clone().unwrap();
    assert!(off(&draws, &probabilities(&point)) < 1e-12);
    let without = Draws { point: None, ..draws.clone() };
    assert!(off(&without, &probabilities(&means)) < 1e-12);
    // They are no more alike than the noise lets them be.
    assert!(off(&draws, &probabilities(&means)) > 1e-6);
    // Another family has the mean of its draws for a point.
    let (specification, design, values) = regression("y ~ age", Family::Gaussian, &[]).unwrap();
    let records = specification.records(&design, &values).unwrap();
    let fit = fitted(&specification, records, (Budget::add_remove(1.0, 1e-6), 1), &Settings::default());
    let draws = fit.draws(&specification).unwrap();
    for (point, summary) in draws.point.clone().unwrap().iter().zip(draws.coefficients()) {
        assert!((point - summary.mean).abs() <= 1e-9 * summary.mean.abs(), "{point} {summary:?}");
    }
}

/// The predictor in the units of the file is that on the scale of the public bounds, whatever is centred.
#[test]
fn units_of_the_file() {
    for (formula, family) in [
        ("y ~ age*sex + poly(age, 2)", Family::Gaussian),
        ("y ~ 0 + age + sex", Family::Gaussian),
        ("y ~ 0 + job + age*sex*z", Family::Gaussian),
        ("y ~ age*z + I(age^2) + I(z * z)", Family::Gaussian),
        ("y ~ age + age:sex + poly(z, 3, raw=True)", Family::Gaussian),
        ("z ~ age*sex", Family::Ordinal),
        ("z ~ age", Family::Ordinal),
        ("y ~ age + (age | job)", Family::Gaussian),
        ("yes ~ age*sex", Family::Bernoulli),
        ("y ~ age + offset(age)", Family::Gaussian),
    ] {
        let (specification, design, values) = regression(formula, family, &[]).unwrap();
        let records = specification.records(&design, &values).unwrap();
        let settings = Settings { steps: Some(2), ..Settings::default() };
        let budget = Budget::add_remove(1.0, 1e-6);
        let fit = fitted(&specification, records.clone(), (budget, 1), &settings);
        let draws = fit.draws(&specification).unwrap();
        let scaled = fit.scaled_draws(&specification).unwrap();
        let (centre, width) = specification.outcome_scale;
        let wide = specification.columns.len();
        let x = records.column(records.schema().find("x").unwrap().0);
        for draw in [0, 17] {
            for row in [0, 5, 399] {
                let mut eta: f64 = (0..wide)
                    .map(|j| x.numbers().nth(row * wide + j).unwrap() * scaled["b"][[draw, j]])
                    .sum();
                let mut found: f64 = draws.coefficients[draw]
                    .iter()
                    .zip(&draws.names)
                    .map(|(b, name)| {
                        let place =
                            design.matrix.columns.iter().position(|column| column.name == *name).unwrap();
                        b * design.matrix.values[[row, place]]
                    })
                    .sum();
                if let Some(offset) = &design.offset {
                    // In the middle of its bounds an outcome is one with an intercept of zero.
                    let offset = offset[row];
                    let (low, high) = design.offset_range;
                    eta += (offset - 0.5 * (low + high)) / width;
                    found += offset;
                }
                if let Some(group) = design.groups.first() {
                    let level = group.codes[row] as usize;
                    let z = &specification.groups[0].columns;
                    for (j, column) in z.iter().enumerate() {
                        let value = group.matrix.values[[row, j]];
                        eta += (value - column.centre) / column.width * scaled["u0"][[draw, level, j]];
                        found += value * draws.groups[0].draws[draw][level * 2 + j];
                    }
                }
                if family == Family::Ordinal {
                    // The intercept of the fit is minus the first cut.
                    found -= draws.other("cut[1]").unwrap()[draw];
                }
                let expected = centre + width * eta;
                assert!(
                    (found - expected).abs() < 1e-9 * (1.0 + expected.abs()),
                    "{formula}: {found} and {expected}"
                );
            }
        }
    }
}

/// Draws of a model that was altered are not those of its columns.
#[test]
fn a_model_predicts_for_its_own_columns_only() {
    let (specification, design, values) = regression("y ~ age + (age | job)", Family::Gaussian, &[]).unwrap();
    let records = specification.records(&design, &values).unwrap();
    let settings = Settings { steps: Some(2), ..Settings::default() };
    let fit = fitted(&specification, records, (Budget::add_remove(1.0, 1e-6), 1), &settings);
    let draws = fit.draws(&specification).unwrap();
    let predicted = |specification: &Specification| {
        super::predict::predict(specification, &draws, &design).map_err(|error| error.to_string())
    };
    assert!(predicted(&specification).is_ok());
    let mut bounds = specification.clone();
    bounds.columns[1].of.high *= 2.0;
    assert!(predicted(&bounds).unwrap_err().contains("another column 'age'"));
    let mut levels = specification.clone();
    levels.groups[0].levels.swap(0, 1);
    assert!(predicted(&levels).unwrap_err().contains("another group 'job'"));
    let mut slopes = specification.clone();
    slopes.groups[0].columns.pop();
    assert!(predicted(&slopes).is_err());
}

/// A cell without a value is neither yes nor no, and a category that there is not is no outcome.
#[test]
fn conditions_are_on_categories_that_there_are() {
    let told =
        |formula: &str| regression(formula, Family::Bernoulli, &[]).err().map(|error| error.to_string());
    assert_eq!(told("job == a ~ age"), None);
    assert!(told("job == z ~ age").unwrap().contains("none of the categories of job"));
}

#[test]
fn mistakes_say_what_to_do() {
    for (formula, family, prior, part) in [
        ("job ~ age", Family::Bernoulli, "age=normal(0,1)", "job['c'] ~"),
        ("job['x'] ~ age", Family::Bernoulli, "age=normal(0,1)", "none of the categories"),
        ("y ~ age", Family::Bernoulli, "age=normal(0,1)", "y >= 10 ~"),
        ("sex ~ age", Family::Gaussian, "age=normal(0,1)", "sex = [LOW, HIGH]"),
        ("y >= 3 ~ age", Family::Poisson, "age=normal(0,1)", "is yes or no"),
        ("z ~ 0 + age", Family::Ordinal, "age=normal(0,1)", "cutpoints"),
        ("y ~ 0 + age + offset(age) + (1 | job)", Family::Poisson, "age=normal(0,1)", "need an intercept"),
        ("y ~ age", Family::Gaussian, "agee=normal(0,1)", "no coefficient or term 'agee'"),
        ("y ~ age", Family::Gaussian, "age=halfnormal(1)", "sigma (halfnormal)"),
    ] {
        let told = regression(formula, family, &[prior]).err().unwrap().to_string();
        assert!(told.contains(part), "{formula}: {told}");
    }
    let (specification, ..) = regression(
        "y ~ age + sex + (1 | job)",
        Family::Gaussian,
        &["age=normal(1,0.5)", "sigma=halfnormal(2)", "sd(job)=halfnormal(3)"],
    )
    .unwrap();
    assert_eq!(
        (specification.columns[2].of.name.as_str(), specification.columns[2].prior),
        ("sex[T.m]", (0.0, 2.0))
    );
    let age = specification.columns.iter().find(|column| column.of.name == "age").unwrap();
    assert_eq!((age.prior, specification.sigma, specification.groups[0].spread), ((1.0, 0.5), 2.0, 3.0));
}

fn fitted(
    specification: &Specification,
    records: Records,
    (budget, seed): (Budget, u64),
    settings: &Settings,
) -> Fitted {
    let fit = PrivateFit { specification, budget, settings, public: &[] };
    fit.run(records, None::<&mut Ledger>, Seed::for_tests(seed)).unwrap()
}

fn logistic(priors: &[&str], epsilon: f64, seed: u64) -> (Specification, Fitted, Vec<[f64; 2]>) {
    let (specification, design, values) =
        regression("yes ~ age*sex + job", Family::Bernoulli, priors).unwrap();
    let records = specification.records(&design, &values).unwrap();
    let budget = Budget::add_remove(epsilon, 1e-6);
    let fit = fitted(&specification, records, (budget, seed), &Settings::default());
    let draws = fit.scaled_draws(&specification).unwrap();
    let moments = draws["b"].axis_iter(Axis(1)).map(|draws| {
        let mean = draws.mean().unwrap();
        [mean, draws.map(|b| (b - mean).powi(2)).mean().unwrap().sqrt()]
    });
    let moments = moments.collect();
    (specification, fit, moments)
}

const NAMED: [&str; 3] = ["age=normal(1.5,0.5)", "sex=normal(-2,0.25)", "Intercept=normal(0.5,3)"];

/// A budget that says next to nothing gives the prior that was named, whatever the coordinates of the fit. A mean that
/// is off by a quarter of a standard deviation is what 6 % of the prior's variance move it by.
#[test]
fn priors_are_those_that_were_named() {
    let (specification, fit, found) = logistic(&NAMED, 0.01, 3);
    assert!(fit.privacy().releases.iter().any(|release| release.what == "second moments of features"));
    for (column, [mean, sd]) in specification.columns.iter().zip(found) {
        let (location, scale) = column.prior;
        let name = &column.of.name;
        assert!(((mean - location) / scale).abs() < 0.25, "{name}: {mean} and {location}");
        assert!((sd / scale - 1.0).abs() < 0.07, "{name}: {sd} and {scale}");
    }
}

/// Where nothing sound follows from what was released, all values have their prior, cutpoints too.
#[test]
fn where_nothing_is_known_draws_are_those_of_the_prior() {
    let (specification, ..) = regression("z ~ age + sex", Family::Ordinal, &["age=normal(2,0.5)"]).unwrap();
    let shapes = [("b", vec![4000, 3]), ("gaps", vec![4000, 2])];
    let mut draws = shapes.map(|(name, shape)| (name.to_owned(), ndarray::ArrayD::zeros(shape))).into();
    fitting::from_prior(&mut draws, &specification, &Seed::for_tests(1));
    let moments = |name: &str, j: usize| {
        let of: Vec<f64> = draws[name].axis_iter(Axis(0)).map(|row| *row.iter().nth(j).unwrap()).collect();
        let mean = of.iter().sum::<f64>() / 4000.0;
        (mean, (of.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 4000.0).sqrt())
    };
    // Half-normal with scale 2: mean 2 √(2/π), standard deviation 2 √(1 − 2/π). Five standard errors are .08
    // deviations.
    let wanted = [("b", 0, 1.5, 3.0), ("b", 1, 2.0, 0.5), ("b", 2, 0.0, 10.0), ("gaps", 1, 1.596, 1.206)];
    for (name, j, mean, deviation) in wanted {
        let (found, spread) = moments(name, j);
        assert!((found - mean).abs() < 0.08 * deviation, "{name}: {found}");
        assert!((spread / deviation - 1.0).abs() < 0.08, "{name}: {spread}");
    }
}

/// Gaps whose logarithms are normal as a fit has them where nothing is known, with the prior's approximation around
/// their mean: those that are kept have no tail that the prior does not have, and what lies below the mean stays as
/// frequent beside each other. Gaps that are known well are all kept.
#[test]
fn gaps_that_no_prior_has_are_not_kept() {
    let mut standard = vec![0.0; 8000];
    GaussianNoise::with_purpose(&Seed::for_tests(3), Purpose::Custom("test")).fill(0, &mut standard);
    let of = |middle: f64, deviation: f64| {
        let gaps: Vec<f64> = standard.iter().map(|z| (middle + deviation * z).exp()).collect();
        let places: Vec<f64> = (0..4000).map(f64::from).collect();
        let gaps = ndarray::Array2::from_shape_vec((4000, 2), gaps).unwrap().into_dyn();
        let mut draws = Values::from([
            ("gaps".to_owned(), gaps),
            ("b".to_owned(), ndarray::Array1::from(places).into_dyn()),
        ]);
        fitting::keep_by_prior(&mut draws, &Seed::for_tests(1));
        draws
    };
    let wide = of(0.3, 2.0);
    let largest = wide["gaps"].iter().fold(0.0_f64, |a, b| a.max(*b));
    assert!(largest < 12.0, "{largest}");
    let mean = wide["gaps"].iter().sum::<f64>() / 8000.0;
    assert!((0.5..2.5).contains(&mean), "{mean}");
    // Values of one draw stay together.
    let first = of(0.3, 1e-9);
    assert_eq!(
        first["b"].iter().map(|place| *place as usize).collect::<Vec<_>>(),
        (0..4000).collect::<Vec<_>>()
    );
    // Where noise has carried all of them beyond.
    assert!(of(12.0, 1.0)["gaps"].iter().all(|gap| *gap == 10.0));
    let kept: BTreeSet<usize> = wide["b"].iter().map(|place| *place as usize).collect();
    assert!((800..3600).contains(&kept.len()), "{}", kept.len());
    for (row, place) in wide["b"].iter().enumerate() {
        assert_eq!(wide["gaps"][[row, 1]], (0.3 + 2.0 * standard[2 * *place as usize + 1]).exp());
    }
}

/// With next to no noise a fit of a whitened design is the posterior without privacy, on the scale of the public
/// bounds.
#[test]
fn with_little_noise_the_posterior_is_that_without_privacy() {
    let (specification, _, found) = logistic(&NAMED, 30.0, 4);
    let (_, design, values) = regression("yes ~ age*sex + job", Family::Bernoulli, &NAMED).unwrap();
    let records = specification.records(&design, &values).unwrap();
    let n = specification.columns.len();
    let place = records.schema().find("x").unwrap().0;
    let x: Vec<f64> = records.column(place).numbers().collect();
    let mut w = DVector::<f64>::zeros(n);
    let mut covariance = DMatrix::zeros(n, n);
    for _ in 0..40 {
        let prior = |j: usize| specification.columns[j].prior;
        let mut gradient = DVector::from_fn(n, |j, _| (prior(j).0 - w[j]) / prior(j).1.powi(2));
        let mut curvature = DMatrix::from_diagonal(&DVector::from_fn(n, |j, _| prior(j).1.powi(-2)));
        for (row, y) in x.chunks(n).zip(&values) {
            let row = DVector::from_column_slice(row);
            let p = 1.0 / (1.0 + (-row.dot(&w)).exp());
            gradient += (y - p) * &row;
            curvature += p * (1.0 - p) * &row * row.transpose();
        }
        covariance = curvature.try_inverse().unwrap();
        w += &covariance * gradient;
    }
    for (j, [mean, sd]) in found.into_iter().enumerate() {
        let (name, exact) = (&specification.columns[j].of.name, covariance[(j, j)].sqrt());
        assert!((mean - w[j]).abs() < 0.35 * exact, "{name}: {mean} and {} +- {exact}", w[j]);
        assert!((0.9..1.3).contains(&(sd / exact)), "{name}: {sd} and {exact}");
    }
}

/// What a fit is refused for it is refused for before anything is paid, its coordinates included.
#[test]
fn a_fit_that_is_refused_pays_for_nothing() {
    for (formula, family) in [
        ("yes ~ age*sex", Family::Bernoulli),
        ("y ~ age", Family::Poisson),
        ("z ~ age", Family::Ordinal),
        ("y ~ age", Family::Gaussian),
        ("y ~ age", Family::NegativeBinomial),
    ] {
        let (specification, design, values) = regression(formula, family, &[]).unwrap();
        let records = || specification.records(&design, &values).unwrap();
        let run = |epsilon, steps, ledger: &mut Ledger| {
            let (settings, budget) =
                (Settings { steps, ..Settings::default() }, Budget::add_remove(epsilon, 1e-6));
            let fit = PrivateFit { specification: &specification, budget, settings: &settings, public: &[] };
            fit.run(records(), Some(ledger), Seed::for_tests(5))
        };
        let mut ledger = Ledger::new(Budget::add_remove(1.0, 1e-6)).unwrap();
        for (epsilon, steps) in [(2.0, Some(30)), (1.0, Some(u64::MAX)), (1.0, Some(2_000_000_000))] {
            assert!(run(epsilon, steps, &mut ledger).is_err(), "{formula}: {epsilon} {steps:?}");
            assert!(ledger.debits().is_empty(), "{formula}: {epsilon} {steps:?}");
        }
        // What it says it needs is what it needs.
        run(1.0, Some(30), &mut ledger).unwrap();
        assert!(ledger.spent().unwrap().upper <= 1.0);
        // A second one is refused as a whole.
        let before = ledger.debits().len();
        assert!(run(0.5, Some(30), &mut ledger).is_err());
        assert_eq!(ledger.debits().len(), before);
    }
}

fn gaussian(epsilon: f64, seed: u64) -> (Specification, Fitted, ppl_core::Values) {
    let priors = ["age=normal(0.2,0.5)", "sigma=halfnormal(0.5)"];
    let (specification, design, values) = regression("y ~ age*sex + job", Family::Gaussian, &priors).unwrap();
    let records = specification.records(&design, &values).unwrap();
    let budget = Budget::add_remove(epsilon, 1e-6);
    let fit = fitted(&specification, records, (budget, seed), &Settings::default());
    let spent = fit.privacy().epsilon.unwrap();
    assert!(spent.upper <= epsilon && spent.lower > 0.99 * epsilon, "{spent:?}");
    let draws = fit.scaled_draws(&specification).unwrap();
    (specification, fit, draws)
}

fn moments(draws: &ndarray::ArrayD<f64>, j: usize) -> (f64, f64) {
    let of: Vec<f64> = draws.axis_iter(Axis(0)).map(|row| *row.iter().nth(j).unwrap()).collect();
    let mean = of.iter().sum::<f64>() / of.len() as f64;
    (mean, (of.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / of.len() as f64).sqrt())
}

/// With next to no noise coefficients of a Gaussian regression have the posterior without privacy, given σ at its mode
/// a normal; of σ 400 records leave some noise, and what is said of it is so.
#[test]
fn with_little_noise_a_gaussian_has_its_exact_posterior() {
    let (specification, fit, draws) = gaussian(30.0, 4);
    let (_, design, values) = regression("y ~ age*sex + job", Family::Gaussian, &[]).unwrap();
    let records = specification.records(&design, &values).unwrap();
    let n = specification.columns.len();
    let column = |name: &str| -> Vec<f64> {
        records.column(records.schema().find(name).unwrap().0).numbers().collect()
    };
    let (x, y) = (DMatrix::from_row_slice(400, n, &column("x")), DVector::from_vec(column("y")));
    let prior = DVector::from_fn(n, |j, _| specification.columns[j].prior.1.powi(-2));
    let centre = DVector::from_fn(n, |j, _| specification.columns[j].prior.0);
    let (mut sigma, mut mode, mut covariance) = (0.3_f64, centre.clone(), DMatrix::zeros(n, n));
    for _ in 0..50 {
        covariance =
            (x.transpose() * &x / sigma.powi(2) + DMatrix::from_diagonal(&prior)).try_inverse().unwrap();
        mode = &covariance * (x.transpose() * &y / sigma.powi(2) + prior.component_mul(&centre));
        sigma = ((&y - &x * &mode).norm_squared() / (400.0 - n as f64)).sqrt();
    }
    // What is said of σ has noise of about a tenth of it, which the deviations of coefficients follow.
    let drawn = moments(&draws["sigma"], 0).0 / sigma;
    for j in 0..n {
        let (name, exact) = (&specification.columns[j].of.name, covariance[(j, j)].sqrt());
        let (mean, sd) = moments(&draws["b"], j);
        assert!((mean - mode[j]).abs() < 0.5 * exact, "{name}: {mean} and {} +- {exact}", mode[j]);
        let (least, most) = (0.85 * drawn.min(1.0), 1.5 * drawn.max(1.0));
        assert!((least..most).contains(&(sd / exact)), "{name}: {sd} and {exact}, sigma {drawn} of the mode");
    }
    let (mean, sd) = moments(&draws["sigma"], 0);
    assert!((mean - sigma).abs() < 3.0 * sd && sd < 0.15 * sigma, "{mean} +- {sd} and {sigma}");
    assert!(fit.intervals().starts_with("include the privacy noise, if few"), "{}", fit.intervals());
}

/// A column is that of numbers less their middles where its margins are in the formula, and the prior does not depend
/// on where zero is: years from 1990 to 2020 and from -15 to 15 make the same records.
#[test]
fn priors_of_products_do_not_depend_on_where_zero_is() {
    let records = |formula: &str, first: i64| {
        let mut csv = "year,temp,sex,y\n".to_owned();
        for i in 0..60_i64 {
            csv += &format!(
                "{},{},{},{}\n",
                first + i * 7 % 31,
                35 + i % 8,
                ["f", "m"][(i * 5 % 7 % 2) as usize],
                i % 20
            );
        }
        let schema =
            format!("year = [{first}, {}]\ntemp = [35, 42]\nsex = ['f', 'm']\ny = [0, 20]", first + 30);
        let (table, schema) = (
            Table::parse("a.csv", csv.as_bytes()).unwrap(),
            Schema::parse("s.toml", schema.as_bytes()).unwrap(),
        );
        let formula: Formula = formula.parse().unwrap();
        let (values, outcome) = outcomes(&formula.response, Family::Gaussian, &table, &schema).unwrap();
        let design =
            Design::new(&formula, &Frame::new(&table, &schema, &formula.columns()).unwrap()).unwrap();
        let found = Specification::new(Family::Gaussian, outcome, &design, &[]).unwrap();
        let records = found.records(&design, &values).unwrap();
        let x: Vec<f64> = records.column(records.schema().find("x").unwrap().0).numbers().collect();
        (x, found.expected_squares())
    };
    for formula in [
        "y ~ year*sex",
        "y ~ year*temp*sex",
        "y ~ year + I(year^2)",
        "y ~ poly(year, 3, raw=True)",
        "y ~ 0 + sex + year + year:sex",
        "y ~ temp*year + I(year**2)",
    ] {
        let ((raw, squares), (centred, same)) = (records(formula, 1990), records(formula, -15));
        assert_eq!(squares, same, "{formula}");
        for (a, b) in raw.iter().zip(&centred) {
            assert!((a - b).abs() < 1e-6 && a.abs() < 1.0 + 1e-9, "{formula}: {a} {b}");
        }
    }
    // Without its margins a product is what it is.
    let ((raw, _), (centred, _)) = (records("y ~ year:temp", 1990), records("y ~ year:temp", -15));
    assert!(raw.iter().zip(&centred).any(|(a, b)| (a - b).abs() > 0.1));
}

/// Categories with a column each take the intercept's place: what is centred, and how outcomes are scaled, is the same.
#[test]
fn categories_in_the_place_of_an_intercept_have_its_prior() {
    for (family, with, without) in [
        (Family::Gaussian, "y ~ job + age", "y ~ 0 + job + age"),
        (Family::Poisson, "y ~ job + age", "y ~ 0 + job + age"),
    ] {
        let (one, _, _) = regression(with, family, &[]).unwrap();
        let (other, _, _) = regression(without, family, &[]).unwrap();
        assert_eq!(one.outcome_scale, other.outcome_scale);
        let of = |specification: &Specification, name: &str| {
            let found = specification.columns.iter().find(|column| column.of.name == name).unwrap();
            (found.centre, found.width, found.prior)
        };
        assert_eq!(of(&one, "age"), of(&other, "age"));
        assert_eq!(of(&one, "Intercept").2, of(&other, "job[a]").2);
    }
    let (plain, _, _) = regression("y ~ 0 + age", Family::Gaussian, &[]).unwrap();
    assert_eq!(plain.columns[0].centre, 0.0);
}

/// Log-normal residuals of σ 2.2, 20,000 records at ε = 1: without what gradients cut off them the intercept, 5 + .65,
/// is 5 standard deviations too small. n = 8 fits, of which with intervals of 90 % at most 2 hold it with a chance of
/// 2e-5 each; the mean of what is missing is less than a fifth of it.
#[test]
fn skewed_residuals_do_not_move_a_gaussian_intercept() {
    let n = 20_000;
    let mut csv = "x,y\n".to_owned();
    for i in 0..n {
        let p = ((i as f64 + 0.5) * 0.618_033_988_749_895).fract();
        let z = ppl_distributions::Normal::new(0.0, 1.0).quantile(p);
        csv += &format!("{},{:.4}\n", i * 7 % 101, (5.0 + z.exp()).min(50.0));
    }
    let (table, schema) = (
        Table::parse("a.csv", csv.as_bytes()).unwrap(),
        Schema::parse("s.toml", b"x = [0, 100]\ny = [0, 50]").unwrap(),
    );
    let formula: Formula = "y ~ x".parse().unwrap();
    let (values, outcome) = outcomes(&formula.response, Family::Gaussian, &table, &schema).unwrap();
    let design = Design::new(&formula, &Frame::new(&table, &schema, &formula.columns()).unwrap()).unwrap();
    let specification = Specification::new(Family::Gaussian, outcome, &design, &[]).unwrap();
    let truth = values.iter().sum::<f64>() / n as f64;
    let records = specification.records(&design, &values).unwrap();
    let (mut held, mut away) = (0, 0.0);
    for seed in 0..8 {
        let fit = fitted(
            &specification,
            records.clone(),
            (Budget::add_remove(1.0, 1e-6), seed),
            &Settings::default(),
        );
        let draws = fit.draws(&specification).unwrap();
        // In the middle of x, where the mean is that of all.
        let mean = draws.coefficients.iter().map(|draw| draw[0] + 50.0 * draw[1]).collect();
        let found = Summary::of("mean", mean);
        held += u32::from(found.low <= truth && truth <= found.high);
        away += (found.mean - truth) / 8.0;
    }
    // Of log-normal residuals gradients leave out .1.
    assert!(held > 2 && away.abs() < 0.05, "{held} of 8, {away}");
}

/// Under a budget that says next to nothing, the prior that was named is what is left: of its variance at least four
/// fifths are open, and means have moved by what is not. Over 8 fits of 6 coefficients `shift² + variance` is that of
/// the prior on average; of such sums the mean has a standard error of about .03. Likewise for σ, of which there is one
/// in each fit: a release whose noise is twice its deviation moves it by two thirds of the prior's, and makes it
/// narrower where it came out low. (Of 57 seeds deviations were .76 to 1.24 of the prior's, and the mean of the sums
/// .99.)
#[test]
fn without_a_budget_a_gaussian_has_its_prior() {
    let (mut total, mut of_sigma) = (0.0, 0.0);
    for seed in 0..8 {
        let (specification, _, draws) = gaussian(0.01, seed);
        for (j, column) in specification.columns.iter().enumerate() {
            let ((mean, sd), (location, scale)) = (moments(&draws["b"], j), column.prior);
            let (shift, width) = ((mean - location) / scale, sd / scale);
            assert!(
                (0.89..1.06).contains(&width) && shift.abs() < 1.5,
                "{}: {shift} {width}",
                column.of.name
            );
            total += (shift * shift + width * width) / 48.0;
        }
        // Half-normal of scale 0.5: a mean of 0.399 and a standard deviation of 0.301.
        let (mean, sd) = moments(&draws["sigma"], 0);
        let (shift, width) = ((mean - 0.399) / 0.301, sd / 0.301);
        assert!((0.7..1.4).contains(&width) && shift.abs() < 1.5, "sigma: {shift} {width}");
        of_sigma += (shift * shift + width * width) / 8.0;
    }
    assert!((0.85..1.3).contains(&of_sigma), "{of_sigma}");
    assert!((0.85..1.15).contains(&total), "{total}");
}

/// 90 % intervals of σ hold it as often as they say, where the noise is most of what is open: 40 fits, of which 28 to
/// 40 hold it with a chance of 1 − 1e-6 if the share is .9 or more.
#[test]
fn intervals_of_sigma_hold_it() {
    let (_, _, exact) = gaussian(30.0, 4);
    let sigma = moments(&exact["sigma"], 0).0;
    let held = (0..40).filter(|seed| {
        let (specification, fit, _) = gaussian(1.0, 100 + seed);
        let draws = fit.scaled_draws(&specification).unwrap();
        let mut of: Vec<f64> = draws["sigma"].iter().copied().collect();
        of.sort_by(f64::total_cmp);
        let ends = [0.05, 0.95].map(|p| super::posterior::quantile(&of, p));
        ends[0] <= sigma && sigma <= ends[1]
    });
    let held = held.count();
    assert!(held >= 26, "{held} of 40");
}

/// The smallest count whose distribution function is at least `p`, of a negative binomial with this mean.
fn count(p: f64, mean: f64, phi: f64) -> usize {
    let mut mass = (phi / (phi + mean)).powf(phi);
    let (mut below, mut y) = (mass, 0);
    while below < p && y < 1000 {
        y += 1;
        mass *= (phi + y as f64 - 1.0) / y as f64 * mean / (phi + mean);
        below += mass;
    }
    y
}

/// 3,000 counts at the quantiles of negative binomials, of mean 2 and 5. With next to no noise both families have the
/// logarithms of the means, and the negative binomial has its dispersion. Bounds that are a million times too wide
/// change that by little.
#[test]
fn counts_have_their_means_and_their_dispersion() {
    let phi = 2.5;
    for (high, epsilon) in [(60, 30.0), (60_000_000, 30.0), (60, 3.0)] {
        let mut csv = "sex,y\n".to_owned();
        for i in 0..3000 {
            let p = ((i / 2) as f64 + 0.5) / 1500.0;
            let (sex, mean) = [("f", 2.0), ("m", 5.0)][i % 2];
            csv += &format!("{sex},{}\n", count(p, mean, phi));
        }
        let table = Table::parse("counts.csv", csv.as_bytes()).unwrap();
        let schema = format!("sex = ['f', 'm']\ny = [0, {high}]");
        let schema = Schema::parse("s.toml", schema.as_bytes()).unwrap();
        let formula: Formula = "y ~ sex".parse().unwrap();
        for family in [Family::Poisson, Family::NegativeBinomial] {
            let (values, outcome) = outcomes(&formula.response, family, &table, &schema).unwrap();
            let frame = Frame::new(&table, &schema, &formula.columns()).unwrap();
            let design = Design::new(&formula, &frame).unwrap();
            let specification = Specification::new(family, outcome, &design, &[]).unwrap();
            let records = specification.records(&design, &values).unwrap();
            let budget = Budget::add_remove(epsilon, 1e-6);
            let fit = fitted(&specification, records, (budget, 2), &Settings::default());
            let spent = fit.privacy().epsilon.unwrap();
            assert!(spent.upper <= epsilon && spent.lower > 0.99 * epsilon, "{spent:?}");
            assert_eq!(fit.intervals(), "include the privacy noise");
            let draws = fit.scaled_draws(&specification).unwrap();
            // Without privacy variances are 1/Σ μ/(1 + μ/φ); the intercept's prior N(m, (1 + m)²) is next to flat.
            let information = match family {
                Family::Poisson => [2.0, 5.0],
                _ => [2.0 / 1.8, 5.0 / 3.0],
            };
            let [first, second] = information.map(|of| 1.0 / (1500.0 * of));
            let sd = [f64::sqrt(first), f64::sqrt(first + second)];
            let exact = [2.0_f64.ln(), 2.5_f64.ln()];
            let wide = if epsilon < 10.0 { 2.2 } else { 1.6 };
            for j in 0..2 {
                let (mean, found) = moments(&draws["b"], j);
                assert!((mean - exact[j]).abs() < 2.0 * found, "{family:?} {high} {j}: {mean} +- {found}");
                assert!((0.85..wide).contains(&(found / sd[j])), "{family:?} {high} {j}: {found} {}", sd[j]);
            }
            if family == Family::NegativeBinomial {
                let (mean, found) = moments(&draws["phi"], 0);
                // At ε = 3 the noise is two fifths of what says it, A − B, and the upper end of φ is far.
                assert!((mean - phi).abs() < 2.5 * found, "{high}: {mean} +- {found}");
                assert!(epsilon < 10.0 || found < 0.6, "{found}");
            }
        }
    }
}

/// A category that two of a hundred records have makes long rows in whitened coordinates. Steps and clip norms do not
/// follow them: a larger budget makes nothing worse.
#[test]
fn a_rare_category_does_not_carry_a_gaussian_away() {
    let mut csv = "x,k,y\n".to_owned();
    for i in 0..20_000_usize {
        let uniform = |of: usize| ((i * of + 13 * of) % 20_011) as f64 / 20_011.0;
        let (x, rare) = (4.0 * uniform(7_919) - 2.0, i % 50 == 7);
        let left = (0..6).map(|k| uniform(1_009 + 2_003 * k) - 0.5).sum::<f64>() * 2.0_f64.sqrt();
        let y = 0.5 * x + 3.0 * f64::from(u8::from(rare)) + left;
        csv += &format!("{x},{},{y}\n", if rare { "b" } else { "a" });
    }
    let table = Table::parse("rare.csv", csv.as_bytes()).unwrap();
    let schema = Schema::parse("s.toml", b"x = [-5, 5]\nk = ['a', 'b']\ny = [-20, 20]").unwrap();
    let formula: Formula = "y ~ x + k".parse().unwrap();
    let (values, outcome) = outcomes(&formula.response, Family::Gaussian, &table, &schema).unwrap();
    let design = Design::new(&formula, &Frame::new(&table, &schema, &formula.columns()).unwrap()).unwrap();
    let specification = Specification::new(Family::Gaussian, outcome, &design, &[]).unwrap();
    for epsilon in [1.0, 3.0, 6.0, 12.0] {
        let records = specification.records(&design, &values).unwrap();
        let budget = Budget::add_remove(epsilon, 1e-6);
        let fit = fitted(&specification, records, (budget, 6), &Settings::default());
        let draws = fit.draws(&specification).unwrap();
        let found = draws.coefficients();
        for (summary, truth) in found.iter().zip([0.0, 0.5, 3.0]) {
            assert!((summary.mean - truth).abs() < 4.0 * summary.sd, "{epsilon}: {summary:?}");
        }
        assert!(found[0].sd < 0.02 && found[1].sd < 0.02 && found[2].sd < 1.0, "{epsilon}: {found:?}");
    }
}

/// A fit to `sex,y` lines, with draws on the scale of the file.
fn of_two_groups(
    csv: &str,
    family: Family,
    bounds: &str,
    epsilon: f64,
) -> (Fitted, Vec<Summary>, Vec<Summary>) {
    let table = Table::parse("groups.csv", csv.as_bytes()).unwrap();
    let schema = format!("sex = ['f', 'm']\ny = {bounds}");
    let schema = Schema::parse("s.toml", schema.as_bytes()).unwrap();
    let formula: Formula = "y ~ sex".parse().unwrap();
    let (values, outcome) = outcomes(&formula.response, family, &table, &schema).unwrap();
    let design = Design::new(&formula, &Frame::new(&table, &schema, &formula.columns()).unwrap()).unwrap();
    let specification = Specification::new(family, outcome, &design, &[]).unwrap();
    let records = specification.records(&design, &values).unwrap();
    let fit = fitted(&specification, records, (Budget::add_remove(epsilon, 1e-6), 2), &Settings::default());
    let spent = fit.privacy().epsilon.unwrap();
    assert!(spent.upper <= epsilon && spent.lower > 0.99 * epsilon, "{spent:?}");
    assert!(fit.intervals().starts_with("include the privacy noise"), "{}", fit.intervals());
    let draws = fit.draws(&specification).unwrap();
    (fit, draws.coefficients(), draws.others())
}

/// 3,000 outcomes at the quantiles of Student's t around 1 and 4, and bounds that hold them or are a hundred times too
/// wide. Without privacy a location of 1,500 records has the variance `(ν + 3) σ²/((ν + 1) 1500)`.
#[test]
fn heavy_tails_are_found_with_their_coefficients() {
    let (sigma, nu) = (0.5, 3.0);
    let law = ppl_distributions::StudentT::new(nu, 0.0, sigma);
    let mut csv = "sex,y\n".to_owned();
    for i in 0..3000 {
        let left: f64 = law.quantile(((i / 2) as f64 + 0.5) / 1500.0);
        csv += &[format!("f,{}\n", 1.0 + left), format!("m,{}\n", 4.0 + left)][i % 2];
    }
    for (bounds, epsilon) in [("[-20, 20]", 30.0), ("[-2000, 2000]", 30.0), ("[-20, 20]", 3.0)] {
        let (_, found, more) = of_two_groups(&csv, Family::Student, bounds, epsilon);
        let one = ((nu + 3.0) / (nu + 1.0) / 1500.0).sqrt() * sigma;
        let wide = if epsilon < 10.0 { 2.0 } else { 1.5 };
        for (summary, (exact, sd)) in found.iter().zip([(1.0, one), (3.0, one * 2.0_f64.sqrt())]) {
            assert!((summary.mean - exact).abs() < 2.5 * summary.sd, "{bounds} {epsilon}: {summary:?}");
            assert!((0.85..wide).contains(&(summary.sd / sd)), "{bounds} {epsilon}: {summary:?} and {sd}");
        }
        for (summary, exact) in more.iter().zip([sigma, nu]) {
            assert!((summary.mean - exact).abs() < 2.5 * summary.sd, "{bounds} {epsilon}: {summary:?}");
            assert!(summary.sd < 0.25 * exact, "{bounds} {epsilon}: {summary:?}");
        }
    }
}

/// 3,000 counts at the quantiles of Poisson distributions of mean 2 and 5, and a quarter of zeros beside them. Without
/// privacy the precision is the information of the three values.
#[test]
fn more_zeros_are_found_with_their_coefficients() {
    let (share, means) = (0.25, [2.0, 5.0]);
    let mut csv = "sex,y\n".to_owned();
    for i in 0..3000 {
        let p = (((i / 2) as f64 + 0.5) / 1500.0 - share) / (1.0 - share);
        let (sex, mean) = [("f", means[0]), ("m", means[1])][i % 2];
        csv += &format!("{sex},{}\n", count(p, mean, 1e7));
    }
    // Of η and λ, for each mean: E −ℓ″.
    let mut information = DMatrix::<f64>::zeros(3, 3);
    for (j, mean) in means.into_iter().enumerate() {
        let none = f64::exp(-mean);
        let (zeros, by) = (share + (1.0 - share) * none, share * (1.0 - share));
        let slope = (1.0 - none) / zeros;
        let of_share = zeros * slope * slope + (1.0 - zeros) / (1.0 - share).powi(2);
        let mixed = -mean * none / zeros;
        let poisson = (1.0 - share) * none / zeros;
        let of_mean = (1.0 - share) * (mean - none * mean * mean) + zeros * (poisson * mean).powi(2);
        let x = DVector::from_vec(vec![1.0, j as f64]);
        let block = &x * x.transpose() * (1500.0 * of_mean);
        for (a, b) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            information[(a, b)] += block[(a, b)];
        }
        for a in 0..2 {
            information[(a, 2)] += 1500.0 * mixed * by * x[a];
            information[(2, a)] += 1500.0 * mixed * by * x[a];
        }
        information[(2, 2)] += 1500.0 * of_share * by * by;
    }
    let exact = information.try_inverse().unwrap();
    for (bounds, epsilon) in [("[0, 60]", 30.0), ("[0, 60000000]", 30.0), ("[0, 60]", 3.0)] {
        let (_, found, more) = of_two_groups(&csv, Family::ZeroInflatedPoisson, bounds, epsilon);
        let wide = if epsilon < 10.0 { 2.5 } else { 1.6 };
        for (j, (summary, truth)) in found.iter().zip([2.0_f64.ln(), 2.5_f64.ln()]).enumerate() {
            let sd = exact[(j, j)].sqrt();
            assert!((summary.mean - truth).abs() < 2.5 * summary.sd, "{bounds} {epsilon}: {summary:?}");
            assert!((0.85..wide).contains(&(summary.sd / sd)), "{bounds} {epsilon}: {summary:?} and {sd}");
        }
        let sd = exact[(2, 2)].sqrt() * share * (1.0 - share);
        assert!((more[0].mean - share).abs() < 2.5 * more[0].sd, "{bounds} {epsilon}: {more:?}");
        assert!((0.85..3.0).contains(&(more[0].sd / sd)), "{bounds} {epsilon}: {more:?} and {sd}");
    }
}

/// Intercepts are looked at, too: at the place where all columns are 0, far from the middle of their bounds.
#[test]
fn recovery_is_of_intercepts_too() {
    for family in [Family::Gaussian, Family::Poisson] {
        let found = super::recovery::measure(family, false, 2000, 20.0, 2).unwrap();
        let intercepts = found.intercepts.unwrap();
        assert_eq!((found.slopes.coefficients, intercepts.coefficients), (6, 2));
        for found in [found.slopes, intercepts] {
            // Root mean squares of two numbers: above 4.2 standard deviations once in 1e7 runs.
            assert!(0.0 < found.error && found.error < 4.2 * found.sd, "{found:?}");
            assert!(found.sd < 0.2, "{found:?}");
        }
    }
    let found = super::recovery::measure(Family::Ordinal, false, 500, 5.0, 1).unwrap();
    assert_eq!((found.slopes.coefficients, found.intercepts), (3, None));
}
