//! One draw of a finite distribution, where enumeration proves that it is private.

use super::{DataSets, Mechanism, sealed};
use crate::error::{Error, Result};
use dp_accountant::Relation;
use dp_sampler::rand_core::Rng;
use dp_sampler::{Purpose, Seed};
use ppl_core::finite::{Dist, Histogram, Rational};
use std::cmp::Ordering;
use std::fmt::Debug;

/// One outcome of the program's distribution, for example a draw of a posterior over a grid.
///
/// A draw is private where the distribution of each neighbour has the same outcomes in nearly the same
/// proportions, which depends on the program; PrivInfer does not handle it. Here all pairs of neighbours are
/// compared, and the release is refused unless the ε that it is paid for is proven.
///
/// For a posterior over biases in `[1/(1 + e^{ε/2}), e^{ε/2}/(1 + e^{ε/2})]`, replacing a record changes each
/// likelihood by a factor in `[e^{−ε/2}, e^{ε/2}]`, and so the normalising sum: the draw has ε.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PosteriorDraw {
    epsilon: f64,
}

impl PosteriorDraw {
    /// Paid for with this ε.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless ε is between 10⁻⁶ and 64.
    pub fn new(epsilon: f64) -> Result<Self> {
        Ok(Self { epsilon: crate::cost::integer_scale::epsilon(epsilon)? })
    }

    /// Of this program at these data sets. It has to say the same of a data set each time: what is proven of it is for
    /// what it said first, and a draw asks it once more.
    ///
    /// # Errors
    /// [`Error::LossAboveClaim`], with a witness, if enumeration does not prove ε. Conditioning on something
    /// that is impossible in *some* data set makes the loss infinite: give the program a public default
    /// there.
    pub fn over<T, O, F>(self, program: F, sets: DataSets<T>) -> Result<PosteriorDrawOf<T, F>>
    where
        T: Ord + Clone + Debug,
        O: Ord + Clone + Debug,
        F: Fn(&Histogram<T>) -> ppl_core::Result<Dist<O, Rational>>,
    {
        let loss = sets.check(|data: &Histogram<T>| sets.seen(data).and_then(|data| Ok(program(&data)?)))?;
        if loss.epsilon().upper() > self.epsilon {
            let witness = loss.witness().map_or_else(String::new, |witness| {
                format!("{:?} at {:?} and {:?}", witness.outcome, witness.first, witness.second)
            });
            return Err(Error::LossAboveClaim {
                claimed: self.epsilon,
                found: loss.epsilon().upper(),
                witness,
            });
        }
        // A law that fails alike at every data set passes the check, and is no law.
        if let Some((data, _)) = loss.laws().next() {
            program(data)?;
        }
        Ok(PosteriorDrawOf { program, epsilon: self.epsilon, sets })
    }
}

/// [`PosteriorDraw`], prepared for a program and data sets.
#[derive(Clone, Debug)]
pub struct PosteriorDrawOf<T, F> {
    program: F,
    epsilon: f64,
    sets: DataSets<T>,
}

impl<T, F> sealed::Sealed for PosteriorDrawOf<T, F> {}

impl<T, O, F> Mechanism<T> for PosteriorDrawOf<T, F>
where
    T: Ord + Clone,
    O: Ord + Clone + Debug,
    F: Fn(&Histogram<T>) -> ppl_core::Result<Dist<O, Rational>>,
{
    type Outcome = O;
    type Weight = Rational;

    fn relation(&self) -> Relation {
        self.sets.relation()
    }

    fn claim(&self) -> f64 {
        self.epsilon
    }

    fn law(&self, data: &Histogram<T>) -> Result<Dist<O, Rational>> {
        Ok((self.program)(&self.sets.seen(data)?)?)
    }

    fn draw(&self, data: &Histogram<T>, seed: &Seed, number: u64) -> Result<O> {
        let law = self.law(data)?;
        let weights =
            Rational::as_integers(law.iter().map(|(_, weight)| weight).collect::<Vec<_>>().into_iter());
        let mut stream = seed.streams(Purpose::Custom("draw of a posterior")).at(number);
        let place = choose(&weights, || stream.next_u64());
        law.outcomes().nth(place).cloned().ok_or(Error::Conflict("a distribution without outcomes"))
    }
}

/// Digits of 64 bits, least significant first, without zeros at the end.
type Digits = Vec<u64>;

fn compare(a: &[u64], b: &[u64]) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.iter().rev().cmp(b.iter().rev()))
}

fn add(a: &[u64], b: &[u64]) -> Digits {
    let mut carry = false;
    let mut sum: Digits = (0..a.len().max(b.len()))
        .map(|place| {
            let digit = |digits: &[u64]| digits.get(place).copied().unwrap_or(0);
            let (partial, first) = digit(a).overflowing_add(digit(b));
            let (total, second) = partial.overflowing_add(u64::from(carry));
            carry = first || second;
            total
        })
        .collect();
    if carry {
        sum.push(1);
    }
    sum
}

/// The place of one of several integers, chosen in proportion to them: exactly, by a uniform integer below
/// their sum.
fn choose(weights: &[Digits], mut word: impl FnMut() -> u64) -> usize {
    let mut ends = Vec::with_capacity(weights.len());
    let mut sum = Digits::new();
    for weight in weights {
        sum = add(&sum, weight);
        ends.push(sum.clone());
    }
    let Some(&top) = sum.last() else { return 0 };
    let mask = u64::MAX >> top.leading_zeros();
    loop {
        // As many bits as the sum has; what is not below it is turned away, at most half of the time.
        let mut uniform: Digits = sum.iter().map(|_| word()).collect();
        if let Some(last) = uniform.last_mut() {
            *last &= mask;
        }
        while uniform.last() == Some(&0) {
            uniform.pop();
        }
        if compare(&uniform, &sum) == Ordering::Less {
            return ends.partition_point(|end| compare(end, &uniform) != Ordering::Greater);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every integer below the sum once: places come out as often as their weights say, over one digit and
    /// two.
    #[test]
    fn weights_are_counted_exactly() {
        for shift in [0, 64] {
            let big = |weight: u64| if shift == 0 { vec![weight] } else { vec![0, weight] };
            let weights = [big(3), vec![], big(1), big(4)].map(|digits| digits.to_vec());
            let mut counts = [0; 4];
            for number in 0..8_u64 {
                // The low digit first; the sum is 8 or 8 · 2⁶⁴, so that four bits of the top digit are drawn.
                let script: Vec<u64> = if shift == 0 { vec![number] } else { vec![7, number] };
                let mut words = script.into_iter();
                counts[choose(&weights, || words.next().unwrap())] += 1;
            }
            assert_eq!(counts, [3, 0, 1, 4]);
        }
        // What is not below the sum is drawn again.
        let mut words = [15, 9, 2].into_iter();
        assert_eq!(choose(&[vec![3], vec![6]], || words.next().unwrap()), 0);
        assert_eq!(add(&[u64::MAX], &[1]), [0, 1]);
        assert_eq!(compare(&[5, 1], &[4, 1]), Ordering::Greater);
        assert_eq!(compare(&[9], &[4, 1]), Ordering::Less);
    }
}
