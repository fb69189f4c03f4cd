//! What a budget allows.

use dp_accountant::{Budget, Composition, Event, Ledger, Mechanism, calibrate_noise_multiplier};

use crate::answer::Answer;
use crate::arguments::{Calibrate, Unknown};
use crate::failure::{Failure, Outcome};

/// Finds the noise or the number of steps.
pub(crate) fn run(arguments: &Calibrate) -> Outcome<String> {
    let budget = Budget::from(&arguments.budget);
    let sampling = arguments.sampling;
    let event = |noise_multiplier| Event::new(Mechanism::Gaussian { noise_multiplier }, sampling);
    let missing = |name: &str| Failure::Usage(format!("--{name} is missing"));
    let unneeded = |name: &str| Failure::Usage(format!("--{name} is what is looked for: leave it out"));
    let answer = match arguments.unknown {
        Unknown::Noise => {
            if arguments.noise_multiplier.is_some() {
                return Err(unneeded("noise-multiplier"));
            }
            let steps = arguments.steps.ok_or_else(|| missing("steps"))?;
            let found = calibrate_noise_multiplier(&budget, |noise_multiplier| {
                Ok(Composition::single(event(noise_multiplier)?, steps))
            })?;
            let composition = Composition::single(event(found.noise_multiplier)?, steps);
            Answer::new(budget.relation, &composition)
                .number("noise_multiplier", found.noise_multiplier)
                .certified("epsilon", found.epsilon)
        }
        Unknown::Steps => {
            if arguments.steps.is_some() {
                return Err(unneeded("steps"));
            }
            let event = event(arguments.noise_multiplier.ok_or_else(|| missing("noise-multiplier"))?)?;
            let mut ledger = Ledger::new(budget)?;
            let steps = ledger.affordable(event)?;
            ledger.debit(event, steps)?;
            Answer::new(budget.relation, ledger.events())
                .stored("steps", steps, &steps.to_string())
                .certified("epsilon", ledger.spent()?)
        }
    };
    answer.number("delta", budget.delta).print(arguments.json)
}
