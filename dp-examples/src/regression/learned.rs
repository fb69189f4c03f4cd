//! What a fit has learned of its coefficients, beside what the prior and the noise leave open.

use nalgebra::DMatrix;

use super::posterior::{Draws, Summary, scaled_again, unscaled};
use super::specification::{Specification, margins};

/// A coefficient whose standard deviation is at least this share of the prior's has hardly been learned.
const HARDLY: f64 = 0.9;

/// Most coefficients whose covariance is brought into the units of the file: it takes the third power of their number.
const MOST: usize = 512;

/// Which coefficients a fit has hardly learned, in a sentence for people: a budget, or a number of records, that says
/// next to nothing of them. Of each its name, its standard deviation and that of its prior, on one scale; `None` where
/// all have been learned.
pub fn hardly_learned<'n>(coefficients: impl IntoIterator<Item = (&'n str, f64, f64)>) -> Option<String> {
    let (mut open, mut all) = (Vec::new(), 0);
    for (name, sd, prior) in coefficients {
        all += 1;
        if sd >= HARDLY * prior {
            open.push(name);
        }
    }
    match open.len() {
        0 => None,
        count if count == all => Some(
            "At this budget next to nothing is learned of any coefficient: all stay close to the prior."
                .to_owned(),
        ),
        _ => Some(format!("At this budget next to nothing is learned of: {}.", open.join(", "))),
    }
}

/// Summaries of coefficients for numbers that are scaled by their public bounds, where they can be compared with each
/// other; of outcomes that are scaled, too, in the outcome's units.
pub(super) fn on_public_scale(specification: &Specification, draws: &Draws) -> Vec<Summary> {
    let (centre, _) = specification.units();
    let columns = specification.said_columns();
    let columns = (&*columns, &margins(&columns));
    let scaled: Vec<Vec<f64>> =
        draws.coefficients.iter().map(|draw| scaled_again(draw, columns, centre)).collect();
    let of = |(j, name): (usize, &String)| Summary::of(name, scaled.iter().map(|draw| draw[j]).collect());
    draws.names.iter().enumerate().map(of).collect()
}

/// As [`hardly_learned`], of a regression's own coefficients.
pub(super) fn hardly_learned_of(specification: &Specification, draws: &Draws) -> Option<String> {
    let (scaled, (_, width)) = (on_public_scale(specification, draws), specification.units());
    let columns = specification.said_columns();
    let columns = scaled.iter().zip(&*columns);
    hardly_learned(columns.map(|(found, column)| (found.name.as_str(), found.sd / width, column.prior.1)))
}

/// Standard deviations in the units of the file, for a covariance on the scale of the public bounds. `None` for more
/// coefficients than 512.
pub(super) fn deviations_in_units(specification: &Specification, scaled: &DMatrix<f64>) -> Option<Vec<f64>> {
    let count = specification.columns.len();
    if count > MOST || scaled.nrows() != count {
        return None;
    }
    let columns = (specification.columns.as_slice(), &margins(&specification.columns));
    let in_units = |scaled: &[f64]| unscaled(scaled, columns, specification.units());
    let origin = in_units(&vec![0.0; count]);
    let mut map = DMatrix::zeros(count, count);
    for k in 0..count {
        let mut unit = vec![0.0; count];
        unit[k] = 1.0;
        for (j, (found, origin)) in in_units(&unit).into_iter().zip(&origin).enumerate() {
            map[(j, k)] = found - origin;
        }
    }
    let found = &map * scaled * map.transpose();
    Some(found.diagonal().iter().map(|variance| variance.max(0.0).sqrt()).collect())
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;
    use ppl_core::Values;

    use super::*;
    use crate::regression::family::Family;
    use crate::regression::prepare::prepare_with_outcomes;
    use crate::schema::Schema;
    use crate::table::Table;

    /// Points whose deviations from their mean have a covariance exactly, brought into the units of the file as draws
    /// are: products of numbers, centring and a scaled outcome included.
    #[test]
    fn deviations_are_those_of_draws() {
        let table = Table::parse("a.csv", b"y,a,b,s\n1,2,3,u\n2,5,1,v\n3,9,9,u\n").unwrap();
        let schema =
            Schema::parse("s.toml", b"y = [0, 10]\na = [1, 10]\nb = [-3, 9]\ns = ['u', 'v']").unwrap();
        for (formula, family) in
            [("y ~ a*b + s", Family::Gaussian), ("y >= 2 ~ 0 + a + b:s", Family::Bernoulli)]
        {
            let formula = formula.parse().unwrap();
            let (_, design, (_, outcome)) =
                prepare_with_outcomes(formula, table.clone(), schema.clone(), family).unwrap();
            let specification = Specification::new(family, outcome, &design, &[]).unwrap();
            let count = specification.columns.len();
            let root = DMatrix::from_fn(count, count, |j, k| ((3 * j + 7 * k) % 11) as f64 - 4.0);
            let covariance = &root * root.transpose();
            let mut points = Array2::from_elem((2 * count, count), 0.7);
            for k in 0..count {
                for j in 0..count {
                    let away = (count as f64).sqrt() * root[(j, k)];
                    points[(2 * k, j)] += away;
                    points[(2 * k + 1, j)] -= away;
                }
            }
            let mut values = Values::from([("b".to_owned(), points.into_dyn())]);
            if family == Family::Gaussian {
                values.insert("sigma".to_owned(), ndarray::ArrayD::ones(vec![2 * count]));
            }
            let draws = Draws::new(&specification, &values).unwrap().coefficients();
            let found = deviations_in_units(&specification, &covariance).unwrap();
            for (draws, found) in draws.iter().zip(found) {
                assert!(
                    (draws.sd - found).abs() < 1e-9 * draws.sd,
                    "{} and {found} of {}",
                    draws.sd,
                    draws.name
                );
            }
        }
    }

    #[test]
    fn what_is_hardly_learned_is_named() {
        let told =
            |sds: &[f64]| hardly_learned(["a", "b"].into_iter().zip(sds).map(|(name, sd)| (name, *sd, 2.0)));
        assert_eq!(told(&[0.3, 1.79]), None);
        assert_eq!(told(&[0.3, 1.81]).as_deref(), Some("At this budget next to nothing is learned of: b."));
        assert!(told(&[1.9, 2.1]).is_some_and(|said| said.contains("of any coefficient")));
    }
}
