//! What several runs cost together.

use dp_accountant::{Accountant, Composition, Error, Relation, Sampling};
use serde_json::json;

use crate::answer::Answer;
use crate::arguments::Compose;
use crate::failure::Outcome;
use crate::input;

/// Composes all events that were named, and answers about the total.
pub(crate) fn run(arguments: &Compose) -> Outcome<String> {
    let relation = arguments.relation.into();
    let mut sources: Vec<(String, Composition)> = Vec::new();
    for event in &arguments.events {
        sources.push((event.text.clone(), Composition::single(event.event, event.count)));
    }
    for file in &arguments.inputs {
        sources.push((input::shown(file), input::read(file)?.under(relation)?));
    }
    for file in &arguments.ledgers {
        sources.push((input::shown(file), input::read_ledger(file)?.under(relation)?));
    }
    let mut total = Composition::new();
    for (_, events) in &sources {
        refuse_parts_of_epochs(relation, events)?;
        total.extend(events.iter());
    }
    let mut answer = Answer::new(relation, &total);
    for (name, events) in &sources {
        let uses = events.iter().fold(0_u64, |sum, (_, count)| sum.saturating_add(count));
        answer = answer.remark("source", format!("{name} ({uses} events)"));
    }
    let accountant = Accountant::new(relation).with(&total);
    if let Some(delta) = arguments.delta {
        let epsilon = accountant.epsilon(delta)?;
        answer = answer.number("at_delta", delta).certified("epsilon", epsilon);
    }
    if let Some(epsilon) = arguments.epsilon {
        let (delta, log) = (accountant.delta(epsilon)?, accountant.log_delta(epsilon)?);
        answer = answer.number("at_epsilon", epsilon).certified("delta", delta);
        // Where the number itself is out of range, its logarithm is the answer.
        answer = answer.log("log_delta", log, delta.lower == 0.0);
    }
    let sources = sources.iter().map(|(name, events)| json!({ "name": name, "events": events }));
    answer.hidden("sources", sources.collect::<Vec<_>>()).print(arguments.json)
}

/// Refuses a source that holds a part of a shuffled epoch. The counts of equal events add up in the total,
/// where parts of different epochs would look like a whole one and be accounted for as one release instead of
/// two.
fn refuse_parts_of_epochs(relation: Relation, events: &Composition) -> Outcome<()> {
    for (event, steps) in events.iter() {
        let Sampling::Shuffle { batch, records } = event.sampling() else { continue };
        let epoch = records.div_ceil(batch);
        // Under add/remove no number of steps has an answer, and the accountant says so.
        if relation == Relation::ReplaceOne && !steps.is_multiple_of(epoch) {
            // Down where the next epoch ends beyond what can be counted.
            let epochs = steps.div_ceil(epoch);
            let rounded = epochs.checked_mul(epoch).unwrap_or((epochs - 1) * epoch);
            return Err(Error::PartOfEpoch { steps, batch, records, epoch, rounded }.into());
        }
    }
    Ok(())
}
