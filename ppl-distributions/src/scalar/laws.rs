//! Which laws are laws of single numbers, one a line: what they are called in an example, and whether they have
//! densities or probabilities, and a distribution function.

use super::{Numbers, Outcomes, Summary, at, draw, sound, summary};
use crate::*;
use ppl_core::Distribution;
use rand::Rng;

/// Defines the methods of laws. A line is the law's generics and type, the words of random bits that a draw
/// usually takes, and which methods there are.
macro_rules! laws {
    ($([$($generics:tt)*] $law:ty, $words:literal: $($part:ident)*;)*) => {$(
        /// Of plain numbers.
        impl<'g, $($generics)*> $law {
            $(part! { $part })*

            /// Mean, variance and what else is known in closed form, as numbers.
            #[must_use]
            pub fn summary(&self) -> Summary {
                summary(self)
            }

            /// A draw: a number made of random words, one for each uniform number that the draw is made of and
            /// two for each normal one. NaN where a parameter is out of bounds.
            #[inline]
            pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
                draw(self, $words, || rng.next_u64())
            }
        }

        impl<'g, $($generics)*> rand::distr::Distribution<f64> for $law {
            #[inline]
            fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
                draw(self, $words, || rng.next_u64())
            }
        }
    )*};
}

macro_rules! part {
    (density) => {
        /// The logarithm of the density at a number, or at each of a slice.
        #[inline]
        pub fn ln_pdf<X: Numbers>(&self, x: X) -> X::Answer {
            let sound = sound(self);
            x.each(|x| at(sound, x, |x| Some(Distribution::log_prob(self, x))))
        }

        /// The density at a number, or at each of a slice.
        #[inline]
        pub fn pdf<X: Numbers>(&self, x: X) -> X::Answer {
            let sound = sound(self);
            x.each(|x| at(sound, x, |x| Some(Distribution::log_prob(self, x).exp())))
        }
    };
    (mass) => {
        /// The logarithm of the probability of a number, or of each of a slice.
        #[inline]
        pub fn ln_pmf<X: Numbers>(&self, x: X) -> X::Answer {
            let sound = sound(self);
            x.each(|x| at(sound, x, |x| Some(Distribution::log_prob(self, x))))
        }

        /// The probability of a number, or of each of a slice.
        #[inline]
        pub fn pmf<X: Numbers>(&self, x: X) -> X::Answer {
            let sound = sound(self);
            x.each(|x| at(sound, x, |x| Some(Distribution::log_prob(self, x).exp())))
        }
    };
    (cdf) => {
        /// The probability of an outcome of at most `x`: of a number, of each of a slice, or of a value of a
        /// model.
        #[inline]
        #[track_caller]
        pub fn cdf<X: Outcomes<'g>>(&self, x: X) -> X::Answer {
            let sound = sound(self);
            x.ask(|x| at(sound, x, |x| Distribution::cdf(self, x)), |x| Distribution::cdf(self, x))
        }

        /// The probability of an outcome above `x`, with its digits where it is small.
        #[inline]
        #[track_caller]
        pub fn sf<X: Outcomes<'g>>(&self, x: X) -> X::Answer {
            let sound = sound(self);
            x.ask(|x| at(sound, x, |x| Distribution::sf(self, x)), |x| Distribution::sf(self, x))
        }

        /// The logarithm of [`cdf`](Self::cdf) at a number, or at each of a slice.
        #[inline]
        pub fn ln_cdf<X: Numbers>(&self, x: X) -> X::Answer {
            let sound = sound(self);
            x.each(|x| at(sound, x, |x| Distribution::log_cdf(self, x)))
        }

        /// The logarithm of [`sf`](Self::sf) at a number, or at each of a slice.
        #[inline]
        pub fn ln_sf<X: Numbers>(&self, x: X) -> X::Answer {
            let sound = sound(self);
            x.each(|x| at(sound, x, |x| Distribution::log_sf(self, x)))
        }
    };
    (quantile) => {
        /// The smallest outcome whose distribution function is at least a probability: of a number, of each of
        /// a slice, or of a value of a model.
        #[inline]
        #[track_caller]
        pub fn quantile<X: Outcomes<'g>>(&self, probability: X) -> X::Answer {
            let sound = sound(self);
            probability.ask(
                |p| at(sound, p, |p| Distribution::quantile(self, p)),
                |p| Distribution::quantile(self, p),
            )
        }
    };
}

laws! {
    [] Beta<'g>, 14: density cdf quantile;
    [] Cauchy<'g>, 1: density cdf quantile;
    [] Chi2<'g>, 7: density cdf quantile;
    [] Exponential<'g>, 1: density cdf quantile;
    [] Gamma<'g>, 7: density cdf quantile;
    [] Gumbel<'g>, 1: density cdf quantile;
    [] HalfCauchy<'g>, 1: density cdf quantile;
    [] HalfNormal<'g>, 2: density cdf quantile;
    [] HalfStudentT<'g>, 9: density cdf quantile;
    [] InverseGamma<'g>, 7: density cdf quantile;
    [] Kumaraswamy<'g>, 1: density cdf quantile;
    [] Laplace<'g>, 1: density cdf quantile;
    [] LogNormal<'g>, 2: density cdf quantile;
    [] Logistic<'g>, 1: density cdf quantile;
    [] Normal<'g>, 2: density cdf quantile;
    [] Pareto<'g>, 1: density cdf quantile;
    [] PolyaGamma<'g>, 8: density;
    [] StudentT<'g>, 9: density cdf quantile;
    [] TruncatedNormal<'g>, 1: density cdf quantile;
    [] Uniform<'g>, 1: density cdf quantile;
    [] VonMises<'g>, 7: density cdf quantile;
    [] Weibull<'g>, 1: density cdf quantile;

    [] AsymmetricLaplace<'g>, 1: density cdf quantile;
    [] BetaProportion<'g>, 14: density cdf quantile;
    [] ExponentiallyModifiedGaussian<'g>, 3: density cdf quantile;
    [] Gompertz<'g>, 1: density cdf quantile;
    [] InverseGaussian<'g>, 3: density cdf quantile;
    [] LogUniform<'g>, 1: density cdf quantile;
    [] RelaxedBernoulli<'g>, 1: density cdf quantile;
    [] SkewNormal<'g>, 4: density cdf quantile;

    [] Bernoulli<'g>, 1: mass cdf quantile;
    [] BetaBinomial<'g>, 15: mass cdf quantile;
    [] Binomial<'g>, 1: mass cdf quantile;
    [] DiscreteUniform<'g>, 1: mass cdf quantile;
    [] Geometric<'g>, 1: mass cdf quantile;
    [] NegativeBinomial<'g>, 2: mass cdf quantile;
    [] Poisson<'g>, 1: mass cdf quantile;
    [] DiscreteLaplace<'g>, 1: mass cdf quantile;
    [] Skellam<'g>, 2: mass cdf quantile;
    [] Categorical<'g>, 1: mass cdf quantile;
    [] OrderedLogistic<'g>, 1: mass cdf quantile;
    [] OrderedProbit<'g>, 1: mass cdf quantile;

    [] Delta<'g>, 1: mass cdf quantile;
    [D: Distribution<'g> + 'g, B: Bijection<'g> + 'g] Transformed<D, B>, 1: density cdf quantile;
    [D: Distribution<'g>] ByQuantile<D>, 1: density mass cdf quantile;
    [D: Distribution<'g> + 'g] Truncated<'g, D>, 1: density mass cdf quantile;
    [D: Distribution<'g>] ZeroInflated<'g, D>, 2: mass cdf quantile;
    [D: Distribution<'g>] Censored<'g, D>, 2: density mass cdf quantile;
    [D: Distribution<'g>] Hurdle<'g, D>, 2: density mass cdf quantile;
    [D: Distribution<'g>] MixtureSameFamily<'g, D>, 8: density mass cdf quantile;
    [] Mixture<'g>, 8: density mass cdf quantile;
}
