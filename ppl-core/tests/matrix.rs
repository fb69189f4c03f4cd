//! Contractions and matrix algebra: values, derivatives, both kinds of arguments, both number types, and the
//! edges.

use crate::common::{Argument, check, spread, value};
use ppl_core::op::Einsum;
use ppl_core::{Error, ExecutionPlan, Graph, Program, Shape, Var, gradient};
use proptest::prelude::*;

/// Sums over every assignment of the indices.
fn einsum_reference(subscripts: &str, shapes: &[Shape], values: &[Vec<f64>]) -> Vec<f64> {
    let (terms, out) = subscripts.split_once("->").unwrap();
    let terms: Vec<&str> = terms.split(',').collect();
    let mut letters: Vec<char> = out.chars().collect();
    letters.extend(terms.concat().chars().filter(|letter| !out.contains(*letter)));
    letters.dedup();
    let mut unique: Vec<char> = Vec::new();
    letters.iter().for_each(|&letter| {
        if !unique.contains(&letter) {
            unique.push(letter)
        }
    });
    let length = |letter: char| {
        let found = terms.iter().zip(shapes).find_map(|(term, shape)| {
            term.chars().position(|other| other == letter).map(|axis| shape.dims()[axis])
        });
        found.unwrap()
    };
    let lengths: Vec<usize> = unique.iter().map(|&letter| length(letter)).collect();
    let offset = |term: &str, at: &[usize]| {
        term.chars().fold(0, |offset, letter| {
            let index = unique.iter().position(|&other| other == letter).unwrap();
            offset * lengths[index] + at[index]
        })
    };
    let elements = out.chars().map(length).product();
    let mut result = vec![0.0; elements];
    for mut position in 0..lengths.iter().product() {
        let mut at = vec![0; lengths.len()];
        for (slot, &length) in at.iter_mut().zip(&lengths).rev() {
            *slot = position % length;
            position /= length;
        }
        result[offset(out, &at)] += values[0][offset(terms[0], &at)] * values[1][offset(terms[1], &at)];
    }
    result
}

fn check_einsum(subscripts: &str, left: &[usize], right: &[usize]) {
    let args = [Argument::arbitrary(left, 1), Argument::arbitrary(right, 2)];
    let shapes = [Shape::from(left), Shape::from(right)];
    check(
        &format!("{subscripts} {left:?} {right:?}"),
        &args,
        |v| v[0].einsum(subscripts, v[1]),
        |values| einsum_reference(subscripts, &shapes, values),
        2e-5,
    );
}

#[test]
fn contractions_of_every_form() {
    for (subscripts, left, right) in [
        ("ij,jk->ik", &[2, 3][..], &[3, 4][..]),
        ("ij,kj->ik", &[2, 3], &[4, 3]),
        ("ji,jk->ik", &[3, 2], &[3, 4]),
        ("ij,jk->ki", &[2, 3], &[3, 2]),
        ("bij,bjk->bik", &[2, 2, 3], &[2, 3, 2]),
        ("bij,jk->bik", &[2, 2, 3], &[3, 2]),
        ("ij,ij->i", &[2, 3], &[2, 3]),
        ("ij,ij->ji", &[2, 3], &[2, 3]),
        ("ij,kl->k", &[2, 3], &[2, 2]),
        ("i,j->", &[3], &[2]),
        ("ij,i->j", &[2, 3], &[2]),
        ("i,ji->j", &[3], &[2, 3]),
        ("i,j->ji", &[3], &[2]),
        (",ij->ji", &[], &[2, 3]),
        ("ijk,->ki", &[2, 2, 3], &[]),
        (",->", &[], &[]),
        ("ij,jk->ik", &[2, 0], &[0, 3]),
        ("ij,jk->ik", &[0, 2], &[2, 3]),
        ("ij,k->k", &[0, 2], &[3]),
        ("ij,jk->ik", &[1, 1], &[1, 1]),
    ] {
        check_einsum(subscripts, left, right);
    }
}

/// Two terms of distinct letters, a result of some of them, and a length for each letter.
fn contraction() -> impl Strategy<Value = (String, Vec<usize>, Vec<usize>)> {
    let term = || proptest::sample::subsequence(vec!['a', 'b', 'c', 'd'], 0..=3).prop_shuffle();
    (term(), term(), proptest::collection::vec(0..4_usize, 4))
        .prop_flat_map(|(left, right, lengths)| {
            let all: Vec<char> = "abcd".chars().filter(|c| left.contains(c) || right.contains(c)).collect();
            let most = all.len().min(3);
            (
                Just(left),
                Just(right),
                proptest::sample::subsequence(all, 0..=most).prop_shuffle(),
                Just(lengths),
            )
        })
        .prop_map(|(left, right, out, lengths)| {
            let text = |term: &[char]| term.iter().collect::<String>();
            let shape = |term: &[char]| term.iter().map(|&c| lengths[c as usize - 'a' as usize]).collect();
            (format!("{},{}->{}", text(&left), text(&right), text(&out)), shape(&left), shape(&right))
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn random_contractions((subscripts, left, right) in contraction()) {
        check_einsum(&subscripts, &left, &right);
    }

    #[test]
    fn what_is_called_a_product_of_matrices_is_one((subscripts, left, right) in contraction()) {
        let shapes = [Shape::from(&left[..]), Shape::from(&right[..])];
        let Some(product) = Einsum::new(&subscripts).unwrap().matrix_product(&shapes) else {
            return Ok(());
        };
        let values = [0, 1].map(|k| (0..shapes[k].elements()).map(|e| spread(k as u64, 0, e)).collect::<Vec<f64>>());
        let (m, n, l) = (product.rows, product.columns, product.inner);
        let mut result = vec![0.0; product.batch * m * n];
        for b in 0..product.batch {
            for i in 0..m {
                for j in 0..n {
                    for k in 0..l {
                        let x = if product.left_transposed { k * m + i } else { i * l + k };
                        let y = if product.right_transposed { j * l + k } else { k * n + j };
                        let z = if product.out_transposed { j * m + i } else { i * n + j };
                        result[b * m * n + z] += values[0][b * m * l + x] * values[1][b * l * n + y];
                    }
                }
            }
        }
        let expected = einsum_reference(&subscripts, &shapes, &values);
        prop_assert_eq!(result.len(), expected.len());
        for (got, expected) in result.iter().zip(&expected) {
            prop_assert!((got - expected).abs() < 1e-12);
        }
    }
}

#[test]
fn products_of_matrices_are_recognised_and_others_are_not() {
    let product = |subscripts: &str, left: &[usize], right: &[usize]| {
        Einsum::new(subscripts).unwrap().matrix_product(&[Shape::from(left), Shape::from(right)])
    };
    let found = product("bqij,bqkj->bqki", &[2, 3, 4, 5], &[2, 3, 6, 5]).unwrap();
    assert_eq!((found.batch, found.rows, found.columns, found.inner), (6, 4, 6, 5));
    assert!(!found.left_transposed && found.right_transposed && found.out_transposed);
    assert!(product("ij,k->ik", &[2, 3], &[4]).is_none()); // j is summed in one operand alone
    assert!(product("ibj,bjk->bik", &[4, 2, 5], &[2, 5, 3]).is_none()); // the batch is not outermost
    assert!(product("ij,jk->ik", &[2, 3], &[4, 5]).is_none()); // shapes that do not fit
}

#[test]
fn subscripts_that_mean_nothing_are_told() {
    for (subscripts, told) in [
        ("ij,jk", "no arrow"),
        ("ii,ij->j", "'i' appears twice in \"ii\""),
        ("ij,jk->ii", "'i' appears twice in \"ii\""),
        ("ij,jk->il", "'l' of the result is in no operand"),
        ("i,j,k->i", "3 operands"),
        ("...i,i->i", "'.' is not a letter"),
        ("i1,i->i", "'1' is not a letter"),
        ("abcdefghi,jklmnopqr->a", "18 different indices"),
    ] {
        let error = Einsum::new(subscripts).unwrap_err().to_string();
        assert!(error.contains(told) && error.contains("matrix.rs"), "{subscripts}: {error}");
        let graph = Graph::new();
        let x = graph.input("x", [2, 2]).unwrap();
        let _ = x.einsum(subscripts, x);
        assert!(graph.check().unwrap_err().to_string().contains(told), "{subscripts}");
    }
    let told = |f: &dyn for<'g> Fn(Var<'g>, Var<'g>) -> Var<'g>| {
        let graph = Graph::new();
        let _ = f(graph.input("a", [2, 3]).unwrap(), graph.input("b", [4, 5]).unwrap());
        graph.check().unwrap_err()
    };
    assert!(matches!(told(&|a, b| a.einsum("ij,jk->ik", b)), Error::ShapeMismatch { .. }));
    assert!(matches!(told(&|a, b| a.einsum("ijk,ij->i", b)), Error::UnexpectedShape { .. }));
    assert!(matches!(told(&|a, b| a.einsum("ij->i", b)), Error::Unsupported(_)));
    assert!(matches!(told(&|a, b| a.matmul(b)), Error::ShapeMismatch { operation: "matmul", .. }));
    assert!(matches!(told(&|a, b| a.matmul(b.sum())), Error::ShapeMismatch { operation: "matmul", .. }));
    assert!(matches!(told(&|a, _| a.cholesky()), Error::UnexpectedShape { .. }));
    assert!(matches!(told(&|a, _| a.inverse()), Error::UnexpectedShape { .. }));
    assert!(matches!(told(&|a, _| a.diagonal()), Error::UnexpectedShape { .. }));
    assert!(matches!(told(&|a, _| a.sum().diagonal_matrix()), Error::UnexpectedShape { .. }));
    assert!(matches!(told(&|a, b| a.solve_lower(b)), Error::UnexpectedShape { .. }));
    assert!(matches!(
        told(&|a, b| a.matmul(a.einsum("ij,kj->jk", a)).solve_lower(b)),
        Error::ShapeMismatch { .. }
    ));
}

/// NumPy's rule by its definition: repeat the batch axes, multiply matrix by matrix.
fn matmul_reference(left: &Shape, right: &Shape, values: &[Vec<f64>]) -> (Shape, Vec<f64>) {
    let (a, b) = (left.dims(), right.dims());
    let (rows, inner) = if a.len() == 1 { (1, a[0]) } else { (a[a.len() - 2], a[a.len() - 1]) };
    let columns = if b.len() == 1 { 1 } else { b[b.len() - 1] };
    let (batch_a, batch_b) =
        (Shape::from(&a[..a.len().saturating_sub(2)]), Shape::from(&b[..b.len().saturating_sub(2)]));
    let batch = batch_a.broadcast(&batch_b).unwrap();
    let source = |own: &Shape, mut position: usize| {
        let mut index = vec![0; batch.rank()];
        for (slot, &length) in index.iter_mut().zip(batch.dims()).rev() {
            *slot = position % length;
            position /= length;
        }
        let index = &index[batch.rank() - own.rank()..];
        own.dims()
            .iter()
            .zip(index)
            .fold(0, |at, (&length, &i)| at * length + if length == 1 { 0 } else { i })
    };
    let mut result = Vec::new();
    for position in 0..batch.elements() {
        let (first_a, first_b) =
            (source(&batch_a, position) * rows * inner, source(&batch_b, position) * inner * columns);
        for i in 0..rows {
            for j in 0..columns {
                let term = |k| values[0][first_a + i * inner + k] * values[1][first_b + k * columns + j];
                result.push((0..inner).map(term).sum());
            }
        }
    }
    let mut shape = batch.dims().to_vec();
    shape.extend((a.len() > 1).then_some(rows));
    shape.extend((b.len() > 1).then_some(columns));
    (Shape::from(shape), result)
}

#[test]
fn products_of_matrices_follow_numpy() {
    for (left, right) in [
        (&[3][..], &[3][..]),
        (&[2, 3], &[3]),
        (&[3], &[3, 2]),
        (&[2, 3], &[3, 2]),
        (&[2, 2, 3], &[2, 3, 1]),
        (&[2, 2, 3], &[3, 2]),
        (&[2, 3], &[2, 3, 2]),
        (&[2, 1, 2, 3], &[2, 3, 2]),
        (&[1, 2, 3], &[3]),
        (&[3], &[2, 3, 2]),
        (&[1, 1, 1], &[1, 1, 1]),
        (&[2, 0, 3], &[3, 2]),
        (&[2, 2, 0], &[0, 2]),
        (&[0, 2, 3], &[1, 3, 2]),
    ] {
        let (shape_left, shape_right) = (Shape::from(left), Shape::from(right));
        let args = [Argument::arbitrary(left, 3), Argument::arbitrary(right, 4)];
        check(
            &format!("matmul {left:?} {right:?}"),
            &args,
            |v| {
                let product = v[0].matmul(v[1]);
                let expected = matmul_reference(
                    &shape_left,
                    &shape_right,
                    &[args[0].values[0].clone(), args[1].values[0].clone()],
                )
                .0;
                assert_eq!(product.shape(), expected);
                product
            },
            |values| matmul_reference(&shape_left, &shape_right, values).1,
            2e-5,
        );
    }
}

/// The elements of a batch of `n × n` matrices, from `entry(record, matrix, i, j)`.
fn matrices(leading: &[usize], n: usize, entry: impl Fn(usize, usize, usize, usize) -> f64) -> Argument {
    let shape: Vec<usize> = leading.iter().copied().chain([n, n]).collect();
    Argument::new(shape, |record, element| entry(record, element / (n * n), element / n % n, element % n))
}

/// Symmetric positive definite: `1.5 I + ¼ M Mᵀ`.
fn positive_definite(leading: &[usize], n: usize, seed: u64) -> Argument {
    matrices(leading, n, |record, matrix, i, j| {
        let m = |i: usize, k: usize| spread(seed, record, (matrix * n + i) * n + k);
        let dot: f64 = (0..n).map(|k| m(i, k) * m(j, k)).sum();
        0.25 * dot + if i == j { 1.5 } else { 0.0 }
    })
}

/// Well away from singular, and not symmetric; the larger elements are off the diagonal, so that elimination
/// has to exchange rows.
fn general(leading: &[usize], n: usize, seed: u64) -> Argument {
    matrices(leading, n, |record, matrix, i, j| {
        let large = if (i + 1) % n.max(1) == (j + record) % n.max(1) { 3.0 } else { 0.0 };
        large + 0.4 * spread(seed, record, (matrix * n + i) * n + j)
    })
}

fn cholesky_reference(a: &[f64], n: usize) -> Vec<f64> {
    let mut l = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let dot: f64 = (0..j).map(|k| l[i * n + k] * l[j * n + k]).sum();
            let rest = a[i * n + j] - dot;
            l[i * n + j] = if i == j { rest.sqrt() } else { rest / l[j * n + j] };
        }
    }
    l
}

/// Gauss elimination with partial pivoting, of one system with several right sides.
fn solve_reference(a: &[f64], b: &[f64], n: usize) -> Vec<f64> {
    let m = b.len().checked_div(n).unwrap_or(0);
    let (mut a, mut b) = (a.to_vec(), b.to_vec());
    for c in 0..n {
        let pivot = (c..n).max_by(|&p, &q| a[p * n + c].abs().total_cmp(&a[q * n + c].abs())).unwrap();
        (0..n).for_each(|j| a.swap(c * n + j, pivot * n + j));
        (0..m).for_each(|j| b.swap(c * m + j, pivot * m + j));
        for r in c + 1..n {
            let factor = a[r * n + c] / a[c * n + c];
            (0..n).for_each(|j| a[r * n + j] -= factor * a[c * n + j]);
            (0..m).for_each(|j| b[r * m + j] -= factor * b[c * m + j]);
        }
    }
    for r in (0..n).rev() {
        for j in 0..m {
            let dot: f64 = (r + 1..n).map(|k| a[r * n + k] * b[k * m + j]).sum();
            b[r * m + j] = (b[r * m + j] - dot) / a[r * n + r];
        }
    }
    b
}

/// Applies `f` to each matrix of a batch.
fn each(values: &[f64], size: usize, f: impl Fn(&[f64]) -> Vec<f64>) -> Vec<f64> {
    values.chunks_exact(size.max(1)).flat_map(f).collect()
}

#[test]
fn cholesky_factors_and_log_determinants() {
    for (leading, n) in [(&[][..], 0), (&[], 1), (&[], 2), (&[], 4), (&[2], 3), (&[0], 2), (&[2, 1], 2)] {
        let args = [positive_definite(leading, n, 5)];
        let reference = |values: &[Vec<f64>]| each(&values[0], n * n, |a| cholesky_reference(a, n));
        check(&format!("cholesky {leading:?} {n}"), &args, |v| v[0].cholesky(), reference, 1e-4);
        let log_determinant = |values: &[Vec<f64>]| match n {
            0 => vec![0.0; leading.iter().product()],
            _ => each(&values[0], n * n, |a| {
                let l = cholesky_reference(a, n);
                vec![(0..n).map(|i| l[i * n + i].powi(2)).product::<f64>().ln()]
            }),
        };
        let name = format!("log determinant {leading:?} {n}");
        check(&name, &args, |v| v[0].log_determinant(), log_determinant, 1e-4);
    }
}

#[test]
fn the_gradient_of_a_log_determinant_is_the_inverse() {
    let n = 3;
    let args = [positive_definite(&[], n, 6)];
    let slope = |v: &[Var<'_>]| -> Vec<f64> {
        let graph = v[0].graph();
        let slope = gradient(v[0].log_determinant(), v).unwrap()[0];
        let mut plan = ExecutionPlan::<f64>::new(&Program::new(graph, &[slope]).unwrap());
        plan.set("a", &args[0].values[0]).unwrap();
        plan.run();
        plan.output(0).to_vec()
    };
    let graph = Graph::new();
    let got = slope(&[graph.input("a", [n, n]).unwrap()]);
    let identity: Vec<f64> = (0..n * n).map(|k| if k % (n + 1) == 0 { 1.0 } else { 0.0 }).collect();
    let inverse = solve_reference(&args[0].values[0], &identity, n);
    for i in 0..n {
        for j in 0..n {
            // The lower triangle stands for both.
            let expected = if i == j {
                1.0
            } else if i > j {
                2.0
            } else {
                0.0
            } * inverse[i * n + j];
            assert!((got[i * n + j] - expected).abs() < 1e-14, "{i} {j}");
        }
    }
}

#[test]
fn triangular_systems() {
    for (leading, n, columns) in [
        (&[][..], 0, Some(2)),
        (&[], 1, None),
        (&[], 3, None),
        (&[], 3, Some(2)),
        (&[], 2, Some(0)),
        (&[2], 2, None),
        (&[2], 2, Some(3)),
    ] {
        for (lower, transposed) in [(true, false), (true, true), (false, false), (false, true)] {
            // Both triangles are filled, so that reading the wrong one would be seen.
            let matrix = matrices(leading, n, |record, matrix, i, j| {
                let off = spread(7, record, (matrix * n + i) * n + j);
                if i == j { 1.5 + 0.3 * off } else { 0.6 * off }
            });
            let shape: Vec<usize> = leading.iter().copied().chain([n]).chain(columns).collect();
            let args = [matrix, Argument::arbitrary(shape, 8)];
            let m = columns.unwrap_or(1);
            let reference = |values: &[Vec<f64>]| -> Vec<f64> {
                let count = leading.iter().product::<usize>();
                (0..count)
                    .flat_map(|b| {
                        let entry = |i: usize, j: usize| values[0][(b * n + i) * n + j];
                        let triangle =
                            |i: usize, j: usize| if lower == (i > j) || i == j { entry(i, j) } else { 0.0 };
                        let a: Vec<f64> = (0..n * n)
                            .map(|k| if transposed { triangle(k % n, k / n) } else { triangle(k / n, k % n) })
                            .collect();
                        solve_reference(&a, &values[1][b * n * m..(b + 1) * n * m], n)
                    })
                    .collect()
            };
            let name = format!("solve {leading:?} {n} {columns:?} lower {lower} transposed {transposed}");
            check(
                &name,
                &args,
                |v| match (lower, transposed) {
                    (true, false) => v[0].solve_lower(v[1]),
                    (true, true) => v[0].solve_lower_transposed(v[1]),
                    (false, false) => v[0].solve_upper(v[1]),
                    (false, true) => v[0].solve_upper_transposed(v[1]),
                },
                reference,
                1e-4,
            );
        }
    }
}

#[test]
fn inverses_and_solutions_by_factors() {
    for (leading, n) in [(&[][..], 0), (&[], 1), (&[], 2), (&[], 4), (&[2], 3)] {
        let identity: Vec<f64> = (0..n * n).map(|k| if k % (n + 1) == 0 { 1.0 } else { 0.0 }).collect();
        let args = [general(leading, n, 9)];
        let reference = |values: &[Vec<f64>]| each(&values[0], n * n, |a| solve_reference(a, &identity, n));
        check(&format!("inverse {leading:?} {n}"), &args, |v| v[0].inverse(), reference, 1e-4);
        let args = [positive_definite(leading, n, 10)];
        check(
            &format!("inverse by factors {leading:?} {n}"),
            &args,
            |v| {
                let ones = v[0].diagonal() * 0.0 + 1.0;
                v[0].cholesky().cholesky_solve(ones.diagonal_matrix())
            },
            reference,
            1e-4,
        );
    }
}

#[test]
fn parts_of_matrices() {
    let n = 3;
    let args = [Argument::arbitrary([2, n, n], 11)];
    let keep = |inside: fn(usize, usize) -> bool| {
        move |values: &[Vec<f64>]| -> Vec<f64> {
            let entry = |(k, &x): (usize, &f64)| if inside(k / n % n, k % n) { x } else { 0.0 };
            values[0].iter().enumerate().map(entry).collect()
        }
    };
    check("lower", &args, |v| v[0].lower_triangle(), keep(|i, j| i >= j), 1e-6);
    check("upper", &args, |v| v[0].upper_triangle(), keep(|i, j| i <= j), 1e-6);
    check("both", &args, |v| v[0].diagonal().diagonal_matrix(), keep(|i, j| i == j), 1e-6);
    let diagonal = |values: &[Vec<f64>]| {
        values[0].chunks_exact(n * n).flat_map(|a| (0..n).map(|i| a[i * (n + 1)])).collect::<Vec<f64>>()
    };
    check(
        "diagonal",
        &args,
        |v| v[0].diagonal().square(),
        |v| diagonal(v).iter().map(|x| x * x).collect(),
        1e-6,
    );
    // What is left out is left out even where it is not a number.
    let nan = [Argument::new([2, 2], |_, k| [2.0, f64::NAN, 1.0, 2.0][k])];
    assert_eq!(value::<f64>(&nan, |v| v[0].lower_triangle()), [2.0, 0.0, 1.0, 2.0]);
    assert_eq!(value::<f64>(&nan, |v| v[0].solve_lower(v[0].diagonal())), [1.0, 0.5]);
    assert_eq!(
        value::<f64>(&nan, |v| v[0].cholesky()),
        [2.0_f64.sqrt(), 0.0, 1.0 / 2.0_f64.sqrt(), 1.5_f64.sqrt()]
    );
}

#[test]
fn matrices_without_a_factor_or_an_inverse_give_nan_and_no_panic() {
    let lower = |values: &[f64], n: usize| -> Vec<f64> {
        let inside = |&(k, _): &(usize, &f64)| k % n <= k / n;
        values.iter().enumerate().filter(inside).map(|(_, &x)| x).collect()
    };
    for (bad, n) in [
        (vec![-1.0], 1),
        (vec![0.0], 1),
        (vec![-0.0], 1),
        (vec![f64::NAN], 1),
        (vec![f64::NEG_INFINITY], 1),
        (vec![4.0, 2.0, 2.0, 1.0], 2),
        (vec![4.0, 2.0, 2.0, 0.5], 2),
        (vec![1.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 1.0], 3),
        (vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, f64::NAN, 0.0, 1.0], 3),
        (vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, f64::INFINITY, 0.0, 1.0], 3),
    ] {
        let args = [Argument::new([n, n], |_, k| bad[k])];
        for l in [value::<f64>(&args, |v| v[0].cholesky()), value::<f32>(&args, |v| v[0].cholesky())] {
            assert!(lower(&l, n).iter().all(|x| x.is_nan()), "{bad:?}: {l:?}");
        }
        assert!(value::<f64>(&args, |v| v[0].log_determinant())[0].is_nan());
    }
    for (bad, n) in
        [(vec![0.0], 1), (vec![0.0; 4], 2), (vec![1.0, 2.0, 2.0, 4.0], 2), (vec![f64::NAN, 0.0, 0.0, 1.0], 2)]
    {
        let args = [Argument::new([n, n], |_, k| bad[k])];
        assert!(value::<f64>(&args, |v| v[0].inverse()).iter().all(|x| x.is_nan()), "{bad:?}");
    }
    // The smallest numbers have factors and inverses where those can be written.
    let tiny = [Argument::new([1, 1], |_, _| 4.0 * f64::from_bits(1))];
    assert_eq!(value::<f64>(&tiny, |v| v[0].cholesky()), [(4.0 * f64::from_bits(1)).sqrt()]);
    assert_eq!(value::<f64>(&tiny, |v| v[0].inverse()), [f64::INFINITY]);
}

/// One bad record spoils nothing but itself.
#[test]
fn a_bad_matrix_stays_with_its_record() {
    use ppl_core::{Column, Record, Records};
    let matrices = vec![4.0, 2.0, 2.0, 5.0, 1.0, 2.0, 2.0, 1.0, 9.0, 3.0, 3.0, 5.0];
    let column = ndarray::ArrayD::from_shape_vec(vec![3, 2, 2], matrices).unwrap();
    let records = Records::from_columns([("a", Column::from(column))]).unwrap();
    let graph = Graph::new();
    let a = Record::new(&graph, records.schema()).get("a").unwrap();
    let outputs = [a.cholesky(), a.inverse()];
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &outputs).unwrap());
    let l = plan.evaluate(&records, &[0, 1, 2], 0).unwrap();
    assert_eq!(l.row(0).to_vec(), [2.0, 0.0, 1.0, 2.0]);
    assert!(l[[1, 0]].is_nan() && l[[1, 2]].is_nan() && l[[1, 3]].is_nan());
    assert_eq!(l.row(2).to_vec(), [3.0, 0.0, 1.0, 2.0]);
    let inverse = plan.evaluate(&records, &[0, 1, 2], 1).unwrap();
    assert!((inverse[[1, 0]] + 1.0 / 3.0).abs() < 1e-15 && (inverse[[1, 1]] - 2.0 / 3.0).abs() < 1e-15);
}

/// What is computed for a record by itself has the bits of what is computed for several side by side, in products of
/// every kind with fewer, as many and more rows than are taken together, and where elements are put in other places.
#[test]
fn products_of_one_record_are_those_of_several() {
    use ppl_core::{Column, Record, Records};
    for (p, d) in [(1, 1), (1, 7), (5, 1), (8, 3), (9, 16), (24, 5), (54, 53)] {
        let number =
            |k: usize| (k as f64 * 12.9898 + 1.0).sin() * if k.is_multiple_of(11) { -0.0 } else { 1.0 };
        let numbers = |from: usize, shape: &[usize]| {
            let values = (0..shape.iter().product()).map(|k: usize| number(1000 * from + k)).collect();
            ndarray::ArrayD::from_shape_vec(shape, values).unwrap()
        };
        let columns = [("a", numbers(1, &[5, p, d])), ("x", numbers(2, &[5, d])), ("y", numbers(3, &[5, p]))];
        let records =
            Records::from_columns(columns.map(|(name, values)| (name, Column::from(values)))).unwrap();
        let graph = Graph::new();
        let record = Record::new(&graph, records.schema());
        let [a, x, y] = ["a", "x", "y"].map(|name| record.get(name).unwrap());
        let shared = graph.array(&numbers(4, &[p, d]));
        let outputs = [
            a.matvec(x),
            shared.matvec(x),
            y.vecmat(a),
            y.vecmat(shared),
            y.outer(x),
            a.inner(shared),
            a.inner(a),
            x.inner(x),
            x.pad(0, 2, 1).square(),
            a.flip(0).slice(1, ..1).exp(),
        ];
        let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &outputs).unwrap());
        for output in 0..outputs.len() {
            let several = plan.evaluate(&records, &[0, 1, 2, 3, 4], output).unwrap();
            for one in 0..5 {
                let alone = plan.evaluate(&records, &[one], output).unwrap();
                let bits =
                    |row: ndarray::ArrayView1<'_, f64>| row.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(alone.row(0)), bits(several.row(one as usize)), "{p} {d}: {output} of {one}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn factors_of_random_matrices(n in 1..6_usize, seed in 0..10_000_u64) {
        let args = [positive_definite(&[], n, seed)];
        check("cholesky", &args, |v| v[0].cholesky(), |v| cholesky_reference(&v[0], n), 1e-4);
        let general = [general(&[], n, seed)];
        let identity: Vec<f64> = (0..n * n).map(|k| if k % (n + 1) == 0 { 1.0 } else { 0.0 }).collect();
        check("inverse", &general, |v| v[0].inverse(), |v| solve_reference(&v[0], &identity, n), 1e-4);
    }
}
