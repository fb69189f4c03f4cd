//! Golden-section search.

/// The share of an interval that a round keeps.
const KEPT: f64 = 0.618_033_988_749_894_9;

/// Rounds after which the place is known to a few per cent of the interval: enough to plan by.
pub(crate) const ROUGHLY: u32 = 8;

/// The minimum of a unimodal function between two arguments: its place and its value. Each round keeps 0.618
/// of the interval. Infinite or undefined values are as bad as can be.
pub(crate) fn minimise(
    mut f: impl FnMut(f64) -> f64,
    (mut low, mut high): (f64, f64),
    rounds: u32,
) -> (f64, f64) {
    let mut f = |x: f64| Some(f(x)).filter(|y| y.is_finite()).unwrap_or(f64::MAX);
    let (mut a, mut b) = (high - KEPT * (high - low), low + KEPT * (high - low));
    let (mut fa, mut fb) = (f(a), f(b));
    for _ in 0..rounds {
        // On a plateau of the worst value move to smaller arguments, where exponents are tame.
        if fa <= fb {
            (high, b, fb) = (b, a, fa);
            a = high - KEPT * (high - low);
            fa = f(a);
        } else {
            (low, a, fa) = (a, b, fb);
            b = low + KEPT * (high - low);
            fb = f(b);
        }
    }
    if fa <= fb { (a, fa) } else { (b, fb) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minimum_is_found_to_what_the_rounds_leave() {
        for centre in [-3.0, 0.2, 4.9] {
            for rounds in [8, 17] {
                let (place, value) = minimise(|x| (x - centre).powi(2) + 1.0, (-5.0, 5.0), rounds);
                assert!((place - centre).abs() <= 10.0 * KEPT.powi(rounds as i32), "{place} {centre}");
                assert_eq!(value, (place - centre).powi(2) + 1.0);
            }
        }
        // Where all is undefined the smaller arguments are as good.
        assert_eq!(minimise(|_| f64::NAN, (0.0, 1.0), 8).1, f64::MAX);
        assert!(minimise(|x| if x > 0.1 { f64::INFINITY } else { x }, (0.0, 1.0), 17).0 <= 0.1);
    }
}
