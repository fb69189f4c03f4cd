//! All accountants on one run.

use dp_accountant::{Error, classical, rounded_up};
use serde_json::json;

use crate::answer::Answer;
use crate::arguments::Compare;
use crate::failure::Outcome;

/// Prints what each of them says, and which says nothing.
pub(crate) fn run(arguments: &Compare) -> Outcome<String> {
    let (relation, delta) = (arguments.relation.into(), arguments.delta);
    let composition = arguments.events.composition(relation)?;
    if !(delta > 0.0 && delta < 1.0) {
        return Err(Error::Delta { value: delta }.into());
    }
    let mut answer = Answer::new(relation, &composition).number("delta", delta);
    let mut rows = Vec::new();
    for row in classical::compare(relation, &composition, delta) {
        let published = if row.proven { "" } else { ", not proven for this use" };
        let text = match &row.epsilon {
            Ok(epsilon) => format!("epsilon {} ({}{published})", rounded_up(*epsilon), row.theorem),
            Err(problem) => format!("none: {problem}"),
        };
        answer = answer.remark(row.name, text);
        let (epsilon, problem) =
            (row.epsilon.as_ref().ok(), row.epsilon.as_ref().err().map(Error::to_string));
        rows.push(json!({
            "name": row.name, "epsilon": epsilon, "problem": problem, "theorem": row.theorem, "proven": row.proven,
        }));
    }
    answer.hidden("comparison", rows).print(arguments.json)
}
