//! An account in a file.

use dp_accountant::{Budget, FileLedger, Label, Ledger};
use serde_json::json;

use crate::answer::Answer;
use crate::arguments::LedgerCommand;
use crate::failure::Outcome;

/// Creates, spends, shows or asks.
pub(crate) fn run(command: &LedgerCommand) -> Outcome<String> {
    match command {
        LedgerCommand::New { file, budget } => {
            let ledger = FileLedger::create(&file.file, Budget::from(budget))?;
            state(ledger.ledger())?.print(file.json)
        }
        LedgerCommand::Debit { file, events, label } => {
            // The events are read first: a ledger that is open is locked, and the standard input may take its
            // time.
            let stated = events.stated()?;
            let mut ledger = FileLedger::resume(&file.file)?;
            let relation = ledger.ledger().budget().relation;
            let events = stated.under(relation)?;
            match label {
                Some(label) => ledger.debit_labelled(&events, label.clone())?,
                None => ledger.debit_all(&events)?,
            };
            state(ledger.ledger())?.print(file.json)
        }
        LedgerCommand::Show { file } => {
            let ledger = FileLedger::read(&file.file)?;
            let mut answer = state(&ledger)?;
            let mut readings = Vec::new();
            for (reading, note) in ledger.odometer().zip(ledger.notes()) {
                let reading = reading?;
                let mut text = format!("epsilon {}", reading.epsilon);
                for part in
                    [note.time.map(|time| time.to_string()), note.label.as_ref().map(Label::to_string)]
                {
                    text.extend(part.iter().flat_map(|part| ["; ", part.as_str()]));
                }
                answer = answer.remark(&format!("after debit {}", reading.debits), text);
                readings.push(json!({
                    "events": reading.events, "epsilon": reading.epsilon, "time": note.time, "label": note.label,
                }));
            }
            answer.hidden("odometer", readings).hidden("debits", ledger.debits()).print(file.json)
        }
        LedgerCommand::Accept { file } => {
            let ledger = FileLedger::accept(&file.file)?;
            state(ledger.ledger())?.print(file.json)
        }
        LedgerCommand::Affordable { file, event } => {
            let steps = FileLedger::read(&file.file)?.affordable(event.event()?)?;
            Answer::default().stored("affordable", steps, &format!("{steps} more")).print(file.json)
        }
    }
}

/// Where an account stands.
fn state(ledger: &Ledger) -> Outcome<Answer> {
    let budget = ledger.budget();
    let words = format!("epsilon {} at delta {} under {}", budget.epsilon, budget.delta, budget.relation);
    let remaining = ledger.remaining()?;
    Ok(Answer::default()
        .stored("budget", budget, &words)
        .events(ledger.events())
        .certified("spent", ledger.spent()?)
        .stored("remaining", remaining, &remaining.to_string()))
}
