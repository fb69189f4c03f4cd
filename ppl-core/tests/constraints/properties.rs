//! Round trips, membership, Jacobians and batches, over random numbers.

use super::{constrained, log_jacobians, run};
use ndarray::{Array1, ArrayD, Axis, stack};
use ppl_core::{Constraint, Shape, gradient, strategies};
use proptest::prelude::*;

/// Places of the elements of a value that are free: as many as there are unconstrained numbers.
fn free(set: Constraint, shape: &[usize]) -> Vec<usize> {
    match (set, shape) {
        (Constraint::Simplex | Constraint::ZeroSum, [n]) => (0..n - 1).collect(),
        (Constraint::CorrelationCholesky | Constraint::Correlation, [n, _]) => {
            (0..*n).flat_map(|i| (0..i).map(move |j| i * n + j)).collect()
        }
        (_, [n, _]) => (0..*n).flat_map(|i| (0..=i).map(move |j| i * n + j)).collect(),
        _ => (0..shape[0]).collect(),
    }
}

/// `ln |det A|` and the largest row sum of `|A⁻¹|`, by elimination.
fn log_determinant(mut a: Vec<Vec<f64>>) -> (f64, f64) {
    let n = a.len();
    for (i, row) in a.iter_mut().enumerate() {
        row.extend((0..n).map(|j| f64::from(i == j)));
    }
    let mut log = 0.0;
    for c in 0..n {
        let pivot = (c..n).max_by(|&r, &s| a[r][c].abs().total_cmp(&a[s][c].abs())).unwrap();
        a.swap(c, pivot);
        log += a[c][c].abs().ln();
        let scale = a[c][c];
        a[c].iter_mut().for_each(|x| *x /= scale);
        for r in (0..n).filter(|&r| r != c) {
            let (factor, from) = (a[r][c], a[c].clone());
            a[r].iter_mut().zip(&from).for_each(|(x, y)| *x -= factor * y);
        }
    }
    let norm = a.iter().map(|row| row[n..].iter().map(|x| x.abs()).sum::<f64>()).fold(0.0, f64::max);
    (log, norm)
}

proptest! {
    #[test]
    fn values_are_members_and_come_back((set, shape, u) in strategies::vector_set(3.0)) {
        let u = Array1::from(u).into_dyn();
        let value = set.constrain_array(&u).unwrap();
        prop_assert_eq!(Shape::from(value.shape()), shape.clone());
        let numbers: Vec<f64> = value.iter().copied().collect();
        prop_assert_eq!(set.violation(&numbers, &shape), None);
        prop_assert_eq!(set.unconstrained_shape(&shape).unwrap(), Shape::from(u.shape()));
        prop_assert_eq!(set.constrained_shape(&Shape::from(u.shape())).unwrap(), shape.clone());
        let back = set.unconstrain_array(&value).unwrap();
        // The inverse magnifies a relative rounding of an element by up to what the element is smaller than
        // the largest by; of a Cholesky factor by the condition number of the matrix.
        let (least, most) = numbers.iter().filter(|x| **x != 0.0).fold((f64::INFINITY, 1.0_f64), |(least, most), x| (least.min(x.abs()), most.max(x.abs())));
        let steps = if matches!(set, Constraint::Ordered | Constraint::PositiveOrdered) { numbers.windows(2).map(|pair| pair[1] - pair[0]).fold(least, f64::min) } else { least };
        let n = shape.dims()[0] as f64;
        let condition = match set {
            Constraint::Ordered | Constraint::PositiveOrdered => most / steps,
            Constraint::PositiveDefinite | Constraint::Correlation => {
                let factor = match set {
                    Constraint::Correlation => Constraint::CorrelationCholesky,
                    _ => Constraint::LowerCholesky,
                };
                let l = factor.constrain_array(&u).unwrap();
                let diagonal = (0..shape.dims()[0]).map(|i| l[[i, i]]).fold(f64::INFINITY, f64::min);
                (most / (diagonal * diagonal)).powi(2).max(1.0)
            }
            _ => 1.0,
        };
        for (a, b) in back.iter().zip(&u) {
            prop_assert!((a - b).abs() <= 16.0 * n * n * f64::EPSILON * condition * (1.0 + b.abs()).powi(2), "{set:?}: {a} against {b}, {condition}");
        }
    }

    #[test]
    fn log_jacobians_are_determinants_of_differences((set, shape, u) in strategies::vector_set(1.5)) {
        let at = |u: &[f64]| constrained(set, &Array1::from(u.to_vec()).into_dyn());
        let (value, log_jacobian) = at(&u);
        let free = free(set, shape.dims());
        prop_assert_eq!(free.len(), u.len());
        let h = 1e-5;
        let columns: Vec<Vec<f64>> = (0..u.len()).map(|k| {
            let (mut up, mut down) = (u.clone(), u.clone());
            up[k] += h;
            down[k] -= h;
            let (up, down) = (at(&up).0, at(&down).0);
            free.iter().map(|&place| (up[place] - down[place]) / (2.0 * h)).collect()
        }).collect();
        let (mut expected, inverse) = log_determinant(columns);
        if set == Constraint::ZeroSum {
            // Volumes of the plane are √n times those of its first n − 1 coordinates.
            expected += 0.5 * (shape.elements() as f64).ln();
        }
        // Each difference quotient is off by h²/6 of the third derivative, at most 8 (that of e^{2u}) times
        // the largest number, and by its rounding.
        let largest = value.iter().fold(1.0_f64, |largest, x| largest.max(x.abs()));
        let each = largest * (8.0 * h * h / 6.0 * 1.1 + 4.0 * f64::EPSILON / h);
        let bound = 1.1 * u.len() as f64 * inverse * each + 1e-13 * (1.0 + expected.abs());
        prop_assume!(bound < 0.1);
        prop_assert!((log_jacobian[0] - expected).abs() <= bound, "{set:?}: {log_jacobian:?} against {expected}, {bound}");
    }

    #[test]
    fn batches_are_one_by_one((set, _, u) in strategies::vector_set(3.0), factor in -1.0..1.0_f64) {
        let first = Array1::from(u).into_dyn();
        let second = first.mapv(|u| factor * u);
        let alone: Vec<_> = [&first, &second].map(|u| constrained(set, u)).into();
        // Two leading axes, of which one is of length 1.
        let both = stack(Axis(0), &[first.view(), second.view()]).unwrap().insert_axis(Axis(1));
        let (value, log_jacobian) = constrained(set, &both);
        prop_assert_eq!(&value, &[&alone[0].0[..], &alone[1].0[..]].concat());
        prop_assert_eq!(&log_jacobian, &[alone[0].1[0], alone[1].1[0]]);
        let total = run(&both, |u| vec![log_jacobians(set, u).sum()]);
        prop_assert_eq!(total[0][0], log_jacobian[0] + log_jacobian[1]);
        let mapped = set.constrain_array(&both).unwrap();
        let back = set.unconstrain_array(&mapped).unwrap();
        prop_assert_eq!(back.index_axis(Axis(0), 1).index_axis(Axis(0), 0).to_owned(),
            set.unconstrain_array(&mapped.index_axis(Axis(0), 1).index_axis(Axis(0), 0).to_owned()).unwrap());
    }

    #[test]
    fn derivatives_are_finite_and_the_inverse_undoes_them((set, _, u) in strategies::vector_set(30.0)) {
        // d/du of Σ (unconstrain(constrain(u)))² is 2u where nothing has been rounded away, and finite
        // wherever the value is a member.
        let u: ArrayD<f64> = Array1::from(u).into_dyn();
        let slopes = run(&u, |u| {
            let inputs = [u];
            let mut outputs = gradient(set.constrain(u).sum(), &inputs).unwrap();
            outputs.extend(gradient(log_jacobians(set, u).sum(), &inputs).unwrap());
            outputs
        });
        prop_assert!(slopes.iter().flatten().all(|slope| slope.is_finite()), "{set:?} {slopes:?}");
    }

    #[test]
    fn the_inverse_as_a_program_has_the_inverse_derivative((set, shape, u) in strategies::vector_set(1.5)) {
        let u: ArrayD<f64> = Array1::from(u).into_dyn();
        let slopes = run(&u, |u| {
            let back = set.unconstrain_var(set.constrain(u));
            gradient((back * back).sum(), &[u]).unwrap()
        });
        let value = set.constrain_array(&u).unwrap();
        let (least, most) = value.iter().filter(|x| **x != 0.0).fold((1.0_f64, 1.0_f64), |(least, most), x| (least.min(x.abs()), most.max(x.abs())));
        let bound = 1e-13 * (shape.elements() as f64 * most / least).powi(2);
        prop_assume!(bound < 1e-3);
        for (slope, u) in slopes[0].iter().zip(&u) {
            prop_assert!((slope - 2.0 * u).abs() <= bound * (1.0 + u.abs()), "{set:?}: {slope} against {}", 2.0 * u);
        }
    }
}
