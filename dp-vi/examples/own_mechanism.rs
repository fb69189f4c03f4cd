//! A privacy mechanism of one's own beside a fit: randomised response on a yes-or-no column, paid for from
//! the same ledger.
//!
//! What makes a mechanism private is its owner's proof. The ledger records what it is *before* it runs, and
//! refuses if it cannot be afforded; the fit then gets what is left.
//!
//! `cargo run --release -p dp-vi --example own_mechanism`

#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use dp_accountant::{Budget, Event, Ledger, Mechanism, Purse, Relation, Sampling, rounded_up};
use dp_sampler::rand_core::Rng;
use dp_sampler::{Purpose, Seed};
use dp_vi::guides::AutoNormal;
use dp_vi::{DpVi, Sensitive};
use ppl_core::{Ctx, Records};
use ppl_distributions::{Bernoulli, Normal};

/// Tells each person's answer truly with probability 3/4, and estimates the share of yes.
///
/// # Privacy
/// Under replace-one each answer is a randomised response of its own, so one record changes one of them: the
/// event is that of a single response with `P(truth) = 3/4`, ε = ln 3. (Under add/remove the number of
/// answers would tell who is there.)
fn noisy_share(answers: &[bool], seed: Seed, purse: &mut impl Purse) -> dp_accountant::Result<f64> {
    let mechanism = Mechanism::RandomizedResponse { categories: 2, truth_probability: 0.75 };
    purse.debit(Event::new(mechanism, Sampling::None)?, 1)?;
    // Two of the 64 bits decide: exactly three of four words are told truly.
    let mut stream = seed.streams(Purpose::Custom("randomised response")).at(0);
    let told = answers.iter().filter(|answer| **answer == (stream.next_u64() & 3 != 0)).count();
    let share = told as f64 / answers.len() as f64;
    // P(told yes) = ¼ + ½ P(yes).
    Ok((2.0 * share - 0.5).clamp(0.0, 1.0))
}

fn model(ctx: &mut Ctx) -> ppl_core::Result<()> {
    let (a, b) = (ctx.sample("a", Normal::new(0.0, 2.0))?, ctx.sample("b", Normal::new(0.0, 2.0))?);
    ctx.each_record(|ctx, record| {
        ctx.observe("yes", Bernoulli::from_logits(record.get("x")? * a + b), record.get("yes")?)
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let x: Vec<f64> = (0..4000).map(|i| f64::from(i % 9) / 4.0 - 1.0).collect();
    let answers: Vec<bool> = (0..4000).map(|i| i % 9 + i % 4 > 6).collect();
    let yes: Vec<f64> = answers.iter().map(|answer| f64::from(u8::from(*answer))).collect();
    let records = Sensitive::new(Records::from_columns([("x", x), ("yes", yes)])?);

    let budget = Budget { epsilon: 3.0, delta: 1e-6, relation: Relation::ReplaceOne };
    let mut ledger = Ledger::new(budget)?;
    let share = noisy_share(&answers, Seed::from_os()?, &mut ledger)?;
    println!("share of yes: about {share:.3}, for epsilon {}", rounded_up(ledger.spent()?.upper));

    let fit = DpVi::new(model, AutoNormal::new())
        .budget(Budget { epsilon: 1.5, ..budget })
        .steps(200)
        .fit_from(&records, &mut ledger)?;
    let slope = fit.posterior().mean("a")?[[]];
    println!("slope {slope:.2}; spent in all: epsilon {} of 3", rounded_up(ledger.spent()?.upper));
    let truth = answers.iter().filter(|answer| **answer).count() as f64 / answers.len() as f64;
    // Standard deviation of the estimate: 2 √(p(1−p)/N) ≤ 0.016.
    assert!((share - truth).abs() < 0.1 && slope > 0.0);
    assert!(ledger.spent()?.upper <= 3.0);
    // The budget holds for the mechanism, too.
    assert!(noisy_share(&answers, Seed::from_os()?, &mut ledger).is_err());
    Ok(())
}
