//! Each piece against the slow, obvious computation, and with the terms of its error made so large that a
//! missing one is seen.
//!
//! Some terms cannot be seen to be missing, because what they bound is far smaller than other terms that are
//! added besides:
//!
//! - what the hard end of a class's lower window adds (`HARD_END_UNITS`, a relative
//!   `Φ(-9)/Φ(-2.1) = 6.4e-18`), what the power series in `waves` leaves out (`2^-13/15!`), and `LEAST` in
//!   `transform` (an absolute 1e-30);
//! - one of several terms of a triangle inequality that are about equal, where the others cover the whole:
//!   `lost` and `low` in `Bulk::left_out` (f and `1 + l` agree to second order), `high`, `own`, `shrunk` and
//!   `edges` there, the three quadrature errors of small losses in `Contour::along`. All of them together are
//!   seen;
//! - the quadrature error of a band in `Contour::along`, because the grid of a plan is always so fine that it
//!   is near roundoff. The number itself is checked on coarse grids;
//! - the rounding of sums and powers by itself, where the reference is rounded as much.

use super::band::Band;
use super::bulk::Bulk;
use super::grid::{Cut, Outline};
use super::side::Side;
use super::snapshot::{Group, Moment, Node, Snapshot, Window};
use super::strip::Strip;
use super::transform::{Complex, Known, Transform, modulus, times};
use super::waves::Waves;
use super::*;
use crate::fourier::{Direction, Law, Patience};
use crate::lattice::{self, Aim, Pair, Part, Query, Replaced, Shelf, Subsampled};
use crate::special::ROUNDOFF;
use crate::{Accountant, Event, Mechanism, Relation, Sampling};
use proptest::prelude::*;

const DIRECTIONS: [Direction; 3] = [Direction::Remove, Direction::Add, Direction::Replace];

fn law(direction: Direction, sigma: f64, rate: f64) -> Law {
    Law { direction, sigma, rate }
}

/// A grid with a coarser spacing and fewer points at its lower end, and one so fine that its errors are only
/// rounding. The odd ratio keeps places half a spacing above a coarse grid point half a spacing above a fine
/// one.
fn grids(law: &Law, coarser: f64, lowest: f64) -> (Outline, Outline) {
    let good = Outline::new(law, 1.0, 60.0).expect("an outline");
    let (low, high) = (good.points[0].u, good.points[good.points.len() - 1].u);
    let spacing = good.spacing * coarser;
    let fine = spacing / (3.0 * (coarser / 2.0).max(1.0).floor().mul_add(2.0, -1.0));
    let index = |u: f64, spacing: f64| (u / spacing).floor() as i64;
    (
        Outline::on(law, 1.0, spacing, index(low * lowest, spacing), index(high, spacing)),
        Outline::on(law, 1.0, fine, index(low, fine), index(high + spacing, fine)),
    )
}

/// A cut at the same place on another grid.
fn same_cut(cut: &Cut, other: &Outline) -> Cut {
    let last = other.index_below(cut.end);
    assert!((other.above(last) / cut.end - 1.0).abs() < 1e-12);
    Cut { last, end: other.above(last), ..*cut }
}

fn agree(a: Rounded, b: Rounded) -> bool {
    (a.value - b.value).abs() <= a.error + b.error
}

#[test]
fn windows_split_every_outcome_and_have_the_moments_of_their_closed_form() {
    let mut seen = false;
    for (sigma, rate) in [(1.0, 1e-4), (0.5, 1e-7), (4.0, 1e-3)] {
        let outline = Outline::new(&law(Direction::Replace, sigma, rate), 1.0, 400.0).expect("an outline");
        let cuts = [0.01, 0.04, 0.16].map(|odds| Cut::new(&outline, odds));
        for p in &outline.points {
            let between: f64 =
                cuts.windows(2).map(|pair| super::band::between(&pair[0], &pair[1], p.u)).sum();
            let whole = cuts[0].small(p.u) + between + cuts[2].large(p.u);
            assert!((whole - 1.0).abs() < 1e-13, "{whole}");
        }
        for cut in cuts {
            let (closed, error) = cut.moments(&outline);
            // The mirror image's factor lives further down, where the outline ends.
            let sum = |factor: &dyn Fn(f64) -> f64| -> f64 {
                let points = outline.points.iter();
                points.map(|p| outline.spacing * p.density * cut.large(p.u) * factor(p.u)).sum()
            };
            let sums = [sum(&|_| 1.0), sum(&f64::exp), sum(&|u| (-u - outline.v).exp())];
            for (closed, sum) in closed.into_iter().zip(sums) {
                assert!((closed - sum).abs() <= (error + 2e-12) * closed + 1e-25, "{closed:e} {sum:e}");
            }
            // A hard end at the centre, so that its part of the mass is seen.
            let cut = Cut { end: cut.centre, ..cut };
            let beyond = |p: &&super::grid::Point| p.u > cut.end;
            let mass = |p: &super::grid::Point| outline.spacing * p.density * p.gain.exp();
            let soft: f64 = outline.points.iter().map(|p| mass(p) * cut.large(p.u)).sum();
            let hard: f64 = outline.points.iter().filter(beyond).map(|p| mass(p) * cut.small(p.u)).sum();
            let bound = cut.large_mass(&outline);
            assert!(soft + hard <= bound, "{soft:e} {hard:e} {bound:e}");
            seen |= hard > 1e-3 * soft;
        }
    }
    assert!(seen);
}

#[test]
fn the_moment_less_one_is_that_of_a_closed_form() {
    // E_0[(1 + ρ)²] = 1 + q² (e^v - 1), and E_0[(1 + ρ)³] = 1 + 3 q² (e^v - 1) + q³ (e^3v - 3 e^v + 2).
    for (sigma, rate) in [(1.0, 1e-4), (0.5, 1e-7), (4.0, 1e-3), (2.0, 0.3), (30.0, 1e-5)] {
        let outline = Outline::new(&law(Direction::Remove, sigma, rate), 1.0, 60.0).expect("an outline");
        let (v, q) = (outline.v, rate);
        let second = q * q * v.exp_m1();
        let third = 3.0 * second + q * q * q * ((3.0 * v).exp_m1() - 3.0 * v.exp_m1());
        let bulk = Bulk::new(&outline, Cut::none(&outline));
        for (tilt, truth) in [(1.0, second), (2.0, third)] {
            let found = bulk.tilted(tilt).excess;
            let slip = 32.0 * ROUNDOFF * truth;
            assert!((found.value - truth).abs() <= found.error + slip, "{found:?} {truth:e}");
            assert!(found.error < 2e-12 * truth + 1e-20, "{found:?}");
            assert!((bulk.rough(tilt, 1) / truth - 1.0).abs() < 1e-9);
        }
    }
}

/// Terms one by one: quadrature by a coarse grid, what is below its first point, what the hard end leaves
/// out.
#[test]
fn the_moment_less_one_is_enclosed_however_coarse_the_grid() {
    for direction in DIRECTIONS {
        for (sigma, rate, tilt) in [(1.0, 1e-4, 3.0), (0.5, 1e-6, 1.5), (2.0, 0.05, 8.0)] {
            let law = law(direction, sigma, rate);
            for (coarser, lowest, widths) in [
                (1.0, 1.0, 9.0),
                (4.0, 1.0, 9.0),
                (8.0, 1.0, 9.0),
                (1.0, 0.35, 9.0),
                (1.0, 0.2, 9.0),
                (1.0, 1.0, 2.0),
            ] {
                let (coarse, fine) = grids(&law, coarser, lowest);
                let mut cuts = vec![Cut::new(&coarse, 0.5)];
                if widths == 9.0 {
                    cuts.push(Cut::none(&coarse));
                }
                for cut in cuts {
                    let cut = if widths < 9.0 {
                        let last = coarse.index_below(cut.centre + widths * cut.width);
                        Cut { last, end: coarse.above(last), ..cut }
                    } else {
                        cut
                    };
                    let bad = Bulk::new(&coarse, cut).tilted(tilt);
                    let good = Bulk::new(&fine, same_cut(&cut, &fine)).tilted(tilt);
                    let name = format!(
                        "{law:?} {tilt} {coarser} {lowest} {widths}: {:?} {:?}",
                        bad.excess, good.excess
                    );
                    assert!(agree(bad.excess, good.excess), "{name}");
                    assert!(agree(bad.drift, good.drift), "{name} {:?} {:?}", bad.drift, good.drift);
                    // As a plain sum, which loses digits that are missed only for tiny losses.
                    let (whole, ..) = directly(&fine, &|u| cut.small(u), tilt, cut.end, 0.0);
                    let off = (whole[0] - 1.0 - bad.excess.value).abs();
                    assert!(off <= bad.excess.error + 2e-13, "{name} {off:e}");
                    if widths == 9.0 {
                        assert!(good.excess.error < 1e-9 * good.excess.value.abs(), "{name}");
                    }
                }
            }
        }
    }
}

/// `Σ w e^(itL)` and the same less a line, at one frequency.
fn directly(
    outline: &Outline,
    weight: &dyn Fn(f64) -> f64,
    tilt: f64,
    end: f64,
    t: f64,
) -> (Complex, Complex, f64) {
    let (mut whole, mut rest, mut size) = ([0.0; 2], [0.0; 2], 0.0);
    for p in outline.points.iter().filter(|p| p.u < end) {
        let w = weight(p.u) * outline.spacing * (p.log_density + p.gain + tilt * p.loss).exp();
        let (sine, cosine) = (t * p.loss).sin_cos();
        let half = (0.5 * t * p.loss).sin();
        whole = [whole[0] + w * cosine, whole[1] + w * sine];
        // sin y - y loses digits for small y.
        let y = t * p.loss;
        let odd = if y.abs() < 0.05 { -y * y * y / 6.0 * (1.0 - y * y / 20.0) } else { sine - y };
        rest = [rest[0] - 2.0 * w * half * half, rest[1] + w * odd];
        size += w * (1.0 + y.abs());
    }
    (whole, rest, size)
}

#[test]
fn sums_along_the_contour_are_enclosed() {
    for direction in DIRECTIONS {
        for (sigma, rate, tilt, h) in [(1.0, 1e-3, 3.0, 2.0), (0.7, 1e-5, 1.0, 0.3), (2.0, 0.05, 8.0, 0.5)] {
            let law = law(direction, sigma, rate);
            let (outline, fine) = grids(&law, 1.0, 1.0);
            let cut = Cut::new(&outline, 0.5);
            let strip = Strip::new(&outline, None, &cut, tilt, (0, cut.last));
            let count = 200;
            let weight = |u: f64| Rounded { value: cut.small(u), error: ROUNDOFF * cut.units(u, false) };
            for coarser in [1.0, 4.0, 8.0, 16.0] {
                // The grid's spacing may be larger than that of the cells here: then it begins further in
                // than the first cell.
                let ends = strip.ends(strip.all());
                let spacing = outline.spacing * coarser;
                let start = ends.1 - ((ends.1 - ends.0) / spacing).floor() * spacing;
                let beginning = ((start - ends.0) / outline.spacing).ceil() as usize;
                let waves = Waves::new(&outline, weight, tilt, ends, spacing);
                let (whole, rest) = (waves.sums(h, count), waves.sums_less_line(h, count));
                for k in [0, 1, 2, 7, 63, 64, 65, 150, 199] {
                    let t = k as f64 * h;
                    let range = (beginning.saturating_sub(1), cut.last - 1);
                    let range = (range.0, range.1.max(strip.all().1));
                    let quadrature = |t: f64| strip.quadrature_error(spacing, t, range, false);
                    let lines = strip.quadrature_error(spacing, 0.0, range, true);
                    let left_out = strip.weight(t, 0..beginning.max(1));
                    let (direct, direct_rest, size) = directly(&fine, &|u| cut.small(u), tilt, cut.end, t);
                    let slip = 4e-14 * size;
                    let off =
                        |found: Complex, truth: Complex| modulus([found[0] - truth[0], found[1] - truth[1]]);
                    let error = off(whole.values[k], direct);
                    assert!(
                        error <= whole.errors[k] + quadrature(t) + left_out + slip,
                        "{law:?} {coarser} {k}: {error:e} {:e} {:e}",
                        whole.errors[k],
                        quadrature(t)
                    );
                    let error = off(rest.values[k], direct_rest);
                    let bound = rest.errors[k] + quadrature(t) + quadrature(0.0) + t * lines + left_out;
                    assert!(error <= bound + slip, "{law:?} {coarser} {k}: {error:e} {bound:e}");
                    // Small differences are right relative to themselves, at the last frequency that shares a
                    // bound.
                    let small = modulus(direct_rest);
                    assert!(coarser > 1.0 || k != 63 || rest.errors[k] <= 1e-9 * small, "{law:?} {small:e}");
                }
            }
        }
    }
}

#[test]
fn rounding_of_phases_is_bounded_and_seen() {
    // The same sums from other frequencies' rotations: they differ by rounding, which the errors have to
    // cover.
    let outline = Outline::new(&law(Direction::Remove, 1.0, 1e-3), 1.0, 60.0).expect("an outline");
    let cut = Cut::new(&outline, 2.0);
    let strip = Strip::new(&outline, None, &cut, 4.0, (0, cut.last));
    let weight = |u: f64| Rounded { value: cut.small(u), error: 0.0 };
    let waves = Waves::new(&outline, weight, 4.0, strip.ends(strip.all()), outline.spacing);
    let (slow, fast) = (waves.sums(37.0, 400), waves.sums(37.0 * 4.0, 100));
    let mut seen = 0;
    for k in 0..100 {
        let (a, b) = (slow.values[4 * k], fast.values[k]);
        let error = modulus([a[0] - b[0], a[1] - b[1]]);
        assert!(error <= slow.errors[4 * k] + fast.errors[k], "{k}: {error:e}");
        seen += usize::from(error > 0.0);
    }
    assert!(seen > 50, "{seen}");
}

#[test]
fn what_a_shorter_grid_leaves_out_is_bounded() {
    for direction in DIRECTIONS {
        let law = law(direction, 1.0, 1e-3);
        let outline = Outline::new(&law, 1.0, 60.0).expect("an outline");
        let cut = Cut::new(&outline, 0.5);
        let strip = Strip::new(&outline, None, &cut, 3.0, (0, cut.last));
        let weight = |u: f64| Rounded { value: cut.small(u), error: 0.0 };
        let long = Waves::new(&outline, weight, 3.0, strip.ends(strip.all()), outline.spacing)
            .sums_less_line(5.0, 50);
        for share in [1e-3, 1e-6] {
            let (range, dropped) = strip.range(250.0, share);
            assert!(range.0 > 0 && range.1 < strip.all().1, "{range:?}");
            assert!(dropped < 4.0 * share, "{dropped:e}");
            let short =
                Waves::new(&outline, weight, 3.0, strip.ends(range), outline.spacing).sums_less_line(5.0, 50);
            let mut largest: f64 = 0.0;
            for (k, (a, b)) in long.values.iter().zip(&short.values).enumerate() {
                let error = modulus([a[0] - b[0], a[1] - b[1]]);
                largest = largest.max(error);
                assert!(error <= dropped + long.errors[k] + short.errors[k], "{error:e} {dropped:e}");
            }
            assert!(largest > 1e-4 * dropped, "{largest:e} {dropped:e}");
        }
    }
}

#[test]
fn bands_are_bounded_with_what_lies_below_their_first_point() {
    for (direction, sigma, rate, tilt) in [
        (Direction::Remove, 0.5, 1e-6, 2.0),
        (Direction::Replace, 1.0, 1e-4, 6.0),
        (Direction::Remove, 3.0, 0.01, 20.0),
    ] {
        let outline_law = law(direction, sigma, rate);
        let outline = Outline::new(&outline_law, 1.0, 60.0).expect("an outline");
        let (lower, upper) = (Cut::new(&outline, 0.05), Cut::new(&outline, 0.2));
        let band = Band::new(&outline, lower, upper);
        let found = band.tilted(tilt);
        let all = |low: f64| -> f64 {
            let points = outline.points.iter().filter(|p| low <= p.u && p.u < upper.end);
            points
                .map(|p| {
                    band.weight(p.u).value * outline.spacing * (p.log_density + p.gain + tilt * p.loss).exp()
                })
                .sum()
        };
        let truth = all(f64::NEG_INFINITY);
        assert!(truth <= found.most && found.most <= 1.001 * truth, "{truth:e} {found:?}");
        // A band that begins too late.
        for below in [0.0, 2.0, 4.0] {
            let late = outline.index_below(lower.centre - below * lower.width);
            let band = band.beginning_at(late);
            let found = band.tilted(tilt);
            let start = outline.points[late + 1].u;
            assert!(
                truth - all(start) <= found.left_over,
                "{below}: {:e} {:e}",
                truth - all(start),
                found.left_over
            );
            assert!(truth <= found.most);
            assert!(truth <= found.strip.decay(0.0, found.left_over));
        }
        // Along the contour, at all higher frequencies.
        let fine = grids(&outline_law, 1.0, 1.0).1;
        let points: Vec<_> = fine.points.iter().filter(|p| p.u < upper.end).collect();
        let at = |t: f64| {
            points.iter().fold([0.0; 2], |sum: Complex, p| {
                let w =
                    band.weight(p.u).value * fine.spacing * (p.log_density + p.gain + tilt * p.loss).exp();
                let (sine, cosine) = (t * p.loss).sin_cos();
                [sum[0] + w * cosine, sum[1] + w * sine]
            })
        };
        let (mut largest_above, mut useful): (f64, bool) = (0.0, false);
        for k in (0..200).rev() {
            let t = 4.0 * f64::from(k);
            largest_above = largest_above.max(modulus(at(t)));
            let bound = found.strip.decay(t, found.left_over);
            assert!(
                largest_above <= bound * (1.0 + 1e-12) + 1e-13 * truth,
                "{direction:?} {sigma} {truth:e} {t}: {largest_above:e} {bound:e} {:?}",
                at(t)
            );
            useful |= bound < 0.1 * truth;
        }
        assert!(useful);
    }
}

#[test]
fn small_losses_decay_at_least_as_stated() {
    for direction in DIRECTIONS {
        let outline = Outline::new(&law(direction, 1.0, 1e-2), 1.0, 60.0).expect("an outline");
        let cut = Cut::new(&outline, 0.5);
        let bulk = Bulk::new(&outline, cut);
        let tilted = bulk.tilted(3.0);
        let decay = bulk.decay(3.0, &tilted);
        let moment = 1.0 + tilted.excess.value;
        let (mut largest_above, mut useful): (f64, bool) = (0.0, false);
        for k in (1..=300).rev() {
            let t = 2.0 * f64::from(k);
            let (sum, ..) = directly(&outline, &|u| cut.small(u), 3.0, cut.end, t);
            largest_above = largest_above.max(modulus(sum) / moment);
            let bound = decay.log_bound(t, 0.0).exp();
            assert!(largest_above <= bound + 1e-12, "{direction:?} {t}: {largest_above} {bound}");
            useful |= bound < 0.9;
        }
        assert!(useful);
    }
}

#[test]
fn powers_and_their_difference_are_enclosed() {
    // Products one by one, with moments that are off by as much as is stated in the worst directions.
    let power = |z: Complex, count: usize| (0..count).fold([1.0, 0.0], |product, _| times(product, z));
    let cases = [
        (40, [-1e-3, 2e-3], [1e-5, -3e-5], 1e-7, 1e-9),
        (300, [-1e-2, 1e-2], [2e-3, 1e-3], 1e-6, 1e-6),
        (25, [-0.7, 0.4], [0.2, 0.3], 1e-9, 1e-5),
        (7, [-1.0, 1e-3], [0.4, 0.1], 1e-4, 1e-9),
        (3, [-1.0, 0.0], [1e-3, 1e-3], 1e-5, 1e-6),
        (5_000, [1e-6, -1e-3], [1e-9, 1e-10], 0.0, 0.0),
        (2, [0.5, 3.0], [2.0, -4.0], 0.1, 0.2),
    ];
    for (count, excess, jump, slip, jump_slip) in cases {
        let mut transform = Transform::default();
        let known = Known { value: excess, error: slip };
        transform.add(count as f64, known, Some(Known { value: jump, error: jump_slip }));
        let unit = 0.25;
        let (small, jumps) = (transform.of_small(unit), transform.of_jumps(unit));
        let mut furthest = [0.0f64; 2];
        for turn in 0..16 {
            for other in 0..16 {
                let place = |k: i32, size: f64| {
                    let (sine, cosine) = (f64::from(k) * std::f64::consts::FRAC_PI_8).sin_cos();
                    [size * cosine, size * sine]
                };
                let (a, b) = (place(turn, slip), place(other, jump_slip));
                let base = [1.0 + excess[0] + a[0], excess[1] + a[1]];
                let scale = f64::exp(-unit);
                let low = power(base, count).map(|x| x * scale);
                let high =
                    power([base[0] + jump[0] + b[0], base[1] + jump[1] + b[1]], count).map(|x| x * scale);
                // What the products themselves are rounded by.
                let noise = 8.0 * count as f64 * ROUNDOFF * (modulus(low) + modulus(high)) + 1e-29;
                let off = modulus([small.value[0] - low[0], small.value[1] - low[1]]);
                assert!(off <= small.error + noise, "{count} {excess:?}: {off:e} {:e}", small.error);
                furthest[0] = furthest[0].max(off - noise);
                let difference = [high[0] - low[0], high[1] - low[1]];
                let off = modulus([jumps.value[0] - difference[0], jumps.value[1] - difference[1]]);
                assert!(off <= jumps.error + noise, "{count} {excess:?} {jump:?}: {off:e} {:e}", jumps.error);
                furthest[1] = furthest[1].max(off - noise);
            }
        }
        // The bounds are reached, up to a factor, where the errors can all point in one direction.
        if slip > 0.0 && count < 100 {
            assert!(
                jumps.error < 1e3 * furthest[1].max(1e-12) + 1e-9,
                "{count}: {:e} {furthest:?}",
                jumps.error
            );
        }
    }
}

#[test]
fn differences_of_powers_keep_their_digits() {
    // Π (b + m)^T - Π b^T for b = 1 and T m = 1e-9: about 1e-9, to twelve digits.
    let mut transform = Transform::default();
    let exact = |value| Known { value, error: 0.0 };
    transform.add(1e6, exact([0.0, 0.0]), Some(exact([1e-15, 0.0])));
    let found = transform.of_jumps(0.0);
    assert!((found.value[0] / (1e-9f64).exp_m1() - 1.0).abs() < 1e-12, "{found:?}");
    assert!(found.error < 1e-5 * found.value[0], "{found:?}");
}

/// The laws with their counts, the squared mu of unsampled steps, an epsilon, and roughly delta there.
type Setting = (Vec<(Law, f64)>, f64, f64, f64);

fn corner() -> Vec<Setting> {
    let one = |direction, sigma, rate, steps| vec![(law(direction, sigma, rate), steps)];
    let mut two = one(Direction::Remove, 0.65, 2e-6, 3e4);
    two.push((law(Direction::Remove, 2.5, 1e-4), 5e4));
    vec![
        (one(Direction::Remove, 1.0, 1e-4, 1e5), 0.0, 0.2355, 1e-10),
        (one(Direction::Replace, 0.7, 2.5e-5, 5e6), 0.0, 1.9, 8e-14),
        (one(Direction::Replace, 0.65, 3.5e-6, 4.5e4), 0.001, 0.125, 2.6e-7),
        (one(Direction::Remove, 0.5, 1e-6, 3.0), 0.0, 0.5, 5e-15),
        (one(Direction::Add, 1.0, 1e-3, 1e4), 0.0, 0.5, 1e-7),
        (two, 6e-4, 0.25, 2.5e-14),
    ]
}

fn log_at(snapshot: &Snapshot, epsilon: f64) -> LogInterval {
    snapshot.at(epsilon).0
}

/// A narrower window (repetitions), a lower last frequency (what is beyond) and coarser sums.
#[test]
fn bounds_hold_however_badly_the_integrals_are_planned() {
    for (laws, squared_mu, epsilon, delta) in corner() {
        let side = Side::new(&laws, squared_mu, f64::ln(delta), 1e-6).expect("a side");
        let good = log_at(&side.snapshot(epsilon, delta.ln()).expect("a snapshot"), epsilon);
        assert!(good.upper - good.lower < 1e-3, "{laws:?}: {good:?}");
        let mut useful = 0;
        for (window, last, log_share) in [
            (0.6, 1.0, 0.0),
            (0.3, 1.0, 0.0),
            (0.15, 1.0, 0.0),
            (1.0, 0.5, 0.0),
            (1.0, 0.2, 0.0),
            (1.0, 1.0, 12.0),
            (1.0, 1.0, 20.0),
            (0.5, 0.5, 8.0),
        ] {
            let bad = side.snapshot_by(epsilon, delta.ln(), |plan| {
                plan.window.width *= window;
                plan.last *= last;
                plan.log_share += log_share;
            });
            let Some(bad) = bad else { continue };
            let bad = log_at(&bad, epsilon);
            let name = format!("{laws:?} {window} {last} {log_share}: {bad:?} {good:?}");
            assert!(bad.lower <= good.upper && good.lower <= bad.upper, "{name}");
            useful += usize::from(bad.upper < 0.0 && bad.lower > f64::NEG_INFINITY);
        }
        assert!(useful > 3, "{laws:?} {useful}");
    }
}

/// Classes that are bounded and not integrated, and the mass beyond the last cut.
#[test]
fn what_is_not_integrated_is_bounded() {
    let mut seen = 0;
    for (laws, squared_mu, epsilon, delta) in corner() {
        let mut side = Side::new(&laws, squared_mu, f64::ln(delta), 1e-6).expect("a side");
        let good = log_at(&side.snapshot(epsilon, delta.ln()).expect("a snapshot"), epsilon);
        for share in -32..8 {
            let log_share = 0.25 * f64::from(share);
            side.log_share = log_share;
            let Some(snapshot) = side.snapshot(epsilon, delta.ln()) else { continue };
            let bad = log_at(&snapshot, epsilon);
            assert!(
                bad.lower <= good.upper && good.lower <= bad.upper,
                "{laws:?} {log_share}: {bad:?} {good:?}"
            );
            // Without either the upper end would be wrong in some of these.
            assert!(snapshot.rest > 0.0);
            // Without them the upper end would be wrong in some of these.
            let without = Snapshot { bounded: Vec::new(), ..snapshot };
            seen += usize::from(log_at(&without, epsilon).upper < good.lower);
        }
    }
    assert!(seen > 0, "{seen}");
    // The mass beyond the last cut is far below delta, because cuts are a factor of four apart; it counts in
    // full.
    let nothing = Moment { tilt: 2.0, log: -100.0 };
    let snapshot = Snapshot { rest: 1e-3, bounded: vec![nothing], groups: Vec::new() };
    let found = log_at(&snapshot, 1.0).upper;
    assert!(f64::ln(1e-3) <= found && found < f64::ln(1.001e-3), "{found}");
}

/// The ends of epsilon are where the bounds on delta decide, also if the search ended in a wrong place.
#[test]
fn ends_of_epsilon_are_on_the_right_sides_of_delta() {
    for (laws, squared_mu, epsilon, delta) in corner() {
        let side = Side::new(&laws, squared_mu, f64::ln(delta), 1e-6).expect("a side");
        let snapshot = side.snapshot(epsilon, delta.ln()).expect("a snapshot");
        let log_delta = log_at(&snapshot, epsilon).estimate;
        for factor in [0.7, 0.8, 0.9, 0.95, 0.99, 1.0, 1.01, 1.05, 1.1, 1.2, 1.3] {
            let Interval { lower, upper } = snapshot.certify(factor * epsilon, log_delta, 1e-14);
            if upper < f64::MAX {
                let at = log_at(&snapshot, upper).upper;
                assert!(at < log_delta, "{laws:?} {factor}: {at} {log_delta}");
            }
            if lower > 0.0 {
                let at = log_at(&snapshot, lower).lower;
                assert!(at > log_delta, "{laws:?} {factor}: {at} {log_delta}");
            }
        }
        let Interval { lower, upper } = snapshot.certify(epsilon, log_delta, 1e-14);
        assert!(
            0.0 < lower && lower < epsilon && epsilon < upper && upper < 1.001 * epsilon,
            "{lower} {upper}"
        );
    }
}

/// The integral of a Gaussian mechanism, whose delta has a closed form, with windows so narrow that
/// repetitions on either side are seen.
#[test]
fn repetitions_of_the_window_are_bounded() {
    let (mu, epsilon) = (1.0f64, 1.5);
    let moment = |tilt: f64| Moment { tilt, log: 0.5 * mu * mu * tilt * (tilt + 1.0) };
    let truth = crate::closed_form::gaussian_delta(mu, 0.0, epsilon);
    let mut seen = [0, 0];
    for (tilt, width) in [(3.0, 1.5), (3.0, 3.0), (4.0, 2.0), (0.5, 1.5), (0.5, 3.0), (0.2, 4.0), (1.0, 2.0)]
    {
        let h = 2.0 * std::f64::consts::PI / width;
        let node = |k: usize| {
            let t = k as f64 * h;
            let half = if k == 0 { 0.5 } else { 1.0 };
            let kernel = (tilt * tilt + t * t).sqrt() * ((tilt + 1.0) * (tilt + 1.0) + t * t).sqrt();
            let size = half * h / std::f64::consts::PI * (-0.5 * mu * mu * t * t).exp() / kernel;
            let angle = t * (tilt + 0.5) * mu * mu - t.atan2(tilt) - t.atan2(tilt + 1.0);
            Node { t, re: size * angle.cos(), im: size * angle.sin(), error: 1e-15 * size }
        };
        let unit = Rounded { value: moment(tilt).log, error: 0.0 };
        let nothing = f64::NEG_INFINITY;
        let at = |above: Moment, below: Moment| {
            let nodes = (0..40).map(node).collect();
            let group = Group { tilt, unit, nodes, tail: 0.0, window: Window { width, above, below } };
            let found = group.at(epsilon);
            (found.lower * found.log_unit.exp(), found.upper * found.log_unit.exp())
        };
        let (above, below) = (moment(tilt + 1.0), moment(0.5 * tilt));
        let (low, high) = at(above, below);
        assert!(low <= truth.upper && truth.lower <= high, "{tilt} {width}: {low:e} {truth:?} {high:e}");
        seen[0] += usize::from(at(Moment { log: nothing, ..above }, below).0 > truth.upper);
        seen[1] += usize::from(at(above, Moment { log: nothing, ..below }).0 > truth.upper);
    }
    assert!(seen[0] > 0 && seen[1] > 0, "{seen:?}");
}

#[test]
fn no_number_is_no_small_number() {
    let moment = Moment { tilt: 2.0, log: 0.0 };
    let below = Moment { tilt: 0.5, log: 0.0 };
    let group = Group {
        tilt: 1.0,
        unit: Rounded { value: 0.0, error: 0.0 },
        nodes: vec![Node { t: 0.0, re: f64::NAN, im: 0.0, error: 0.0 }],
        tail: 0.0,
        window: Window { width: 1.0, above: moment, below },
    };
    let found = group.at(1.0);
    assert!(found.upper == f64::INFINITY && found.lower == 0.0, "{found:?}");
    let snapshot = Snapshot { groups: vec![group], bounded: Vec::new(), rest: 0.0 };
    let found = log_at(&snapshot, 1.0);
    assert!(found.upper == 0.0 && found.lower == f64::NEG_INFINITY, "{found:?}");
    let snapshot = Snapshot { groups: Vec::new(), bounded: vec![moment], rest: f64::NAN };
    assert_eq!(log_at(&snapshot, 1.0).upper, 0.0);
}

/// Tilts are about the reciprocal of the rate: their powers must not leave the range of f64 unnoticed.
#[test]
fn tiny_rates_have_no_upper_end_below_the_truth() {
    let mut answered = 0;
    for k in (20..200).step_by(4) {
        for (direction, sigma) in [(Direction::Remove, 2.0), (Direction::Replace, 1.0)] {
            let rate = 10f64.powi(-k);
            let composition = Composition {
                directions: vec![vec![(law(direction, sigma, rate), 1_000.0)]],
                squared_mu: 0.0,
            };
            // One step's delta at 0 is the distance of its two laws, `q` times that of normal laws 1 or 2
            // apart.
            let distance = if direction == Direction::Replace { 2.0 } else { 1.0 };
            let one = rate * (1.0 - 2.0 * crate::special::upper_tail(0.5 * distance / sigma));
            let relation =
                if direction == Direction::Replace { Relation::ReplaceOne } else { Relation::AddRemove };
            let event =
                Event::new(Mechanism::Gaussian { noise_multiplier: sigma }, Sampling::Poisson { rate });
            let accountant = Accountant::new(relation).compose(event.expect("a valid event"), 1_000);
            let whole = accountant.delta(0.0).expect("an answer");
            assert!(one <= whole.upper && whole.lower <= 1_000.0 * one, "{direction:?} {rate} {whole:?}");
            if let Some(found) = composition.delta_by_jumps(0.0, 1e-3) {
                assert!(one <= found.upper && found.lower <= 1_000.0 * one, "{direction:?} {rate} {found:?}");
                answered += 1;
            }
        }
    }
    assert!(answered > 10, "{answered}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// This engine, one contour for all losses, and loss distributions are three computations of one number.
    #[test]
    fn all_engines_enclose_one_number(
        log_sigma in -0.7f64..1.4, log_rate in -14.0f64..-2.0, log_steps in 0.0f64..13.0, log_delta in -30.0f64..-4.0,
        squared_mu in prop_oneof![Just(0.0), 1e-6f64..0.1], replace in any::<bool>(),
    ) {
        let (sigma, rate, steps, delta) = (log_sigma.exp(), log_rate.exp(), log_steps.exp().round(), log_delta.exp());
        let side = |direction| vec![(law(direction, sigma, rate), steps)];
        let directions = if replace { vec![side(Direction::Replace)] } else { vec![side(Direction::Remove), side(Direction::Add)] };
        let composition = Composition { directions, squared_mu };
        let found = composition.epsilon_by_jumps(delta, 1e-6);
        prop_assume!(found.is_some());
        let found = found.expect("assumed");
        prop_assert!(0.0 <= found.lower && found.lower <= found.upper);
        if let Some(other) = composition.epsilon(delta, 1e-4, Patience::Much) {
            prop_assert!(found.lower <= other.upper && other.lower <= found.upper, "{:?} {:?}", found, other);
        }
        let line = Subsampled { sigma, rate };
        let pair = if replace { Pair::Replaced(Replaced { sigma, rate }) } else { Pair::Subsampled(line) };
        let mut parts = vec![Part { pair, count: steps }];
        if squared_mu > 0.0 {
            let line = Subsampled { sigma: 1.0 / squared_mu.sqrt(), rate: 1.0 };
            parts.push(Part { pair: Pair::Subsampled(line), count: 1.0 });
        }
        let known = Interval { lower: 0.0, upper: 1e6 };
        let shelf = &mut Shelf::default();
        let other = lattice::solve(&parts, Query::Epsilon { delta }, known, Aim::both(1e-2), shelf);
        prop_assert!(found.lower <= other.upper && other.lower <= found.upper, "{:?} {:?}", found, other);
        // The other question.
        if found.upper < f64::MAX && found.lower > 0.0 {
            let answers = (composition.delta_by_jumps(found.upper, 1e-4), composition.delta_by_jumps(found.lower, 1e-4));
            if let (Some(low), Some(high)) = answers {
                prop_assert!(low.lower <= delta && delta <= high.upper, "{:?} {:?}", low, high);
            }
        }
    }
}
