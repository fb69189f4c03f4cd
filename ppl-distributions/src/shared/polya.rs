//! Counts whose category probabilities have a Dirichlet distribution.

use ppl_core::Var;

/// What one category adds, given its count and its concentration.
type Term<'a, 'g> = &'a dyn Fn(Var<'g>, Var<'g>) -> Var<'g>;

/// `ln [n! Γ(A)/Γ(n + A) Π_i Γ(x_i + α_i)/(x_i! Γ(α_i))]` for counts `x` that sum to `n` and concentrations
/// `α` that sum to `A`. `sum` adds up over the categories what the function it is given says of a count and
/// its concentration.
///
/// With `ρ_i = (x_i + α_i)/(n + A)` and `R` for what `ln x!` has beside `x ln x − x`, it is
///
/// ```text
/// R(n) + R(A) − R(n + A) + ln((n + A)/A)
///   + Σ_i R(x_i + α_i) − R(x_i) − R(α_i) − D(x_i, nρ_i) − D(α_i, Aρ_i) − ln((x_i + α_i)/α_i)
/// ```
///
/// because the linear terms cancel: counts and concentrations are each measured by their deviance from what
/// both suggest together.
#[track_caller]
pub(crate) fn log_prob_of_categories<'g>(
    n: Var<'g>,
    concentration: Var<'g>,
    sum: impl FnOnce(Term<'_, 'g>) -> Var<'g>,
) -> Var<'g> {
    let all = n + concentration;
    let term = |count: Var<'g>, alpha: Var<'g>| {
        let both = count + alpha;
        let share = both / all;
        let left = both.log_factorial_remainder()
            - count.log_factorial_remainder()
            - alpha.log_factorial_remainder();
        left - count.deviance(n * share) - alpha.deviance(concentration * share) + (alpha / both).log()
    };
    let left =
        n.log_factorial_remainder() + concentration.log_factorial_remainder() - all.log_factorial_remainder();
    left + (all / concentration).log() + sum(&term)
}
