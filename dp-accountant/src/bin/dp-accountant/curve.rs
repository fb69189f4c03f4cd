//! The trade-off curve in numbers and as a picture.

use dp_accountant::Accountant;
use dp_accountant::output::{check_writable, write_whole};
use serde_json::json;

use crate::answer::Answer;
use crate::arguments::Curve;
use crate::failure::Outcome;
use crate::picture;

/// False positive rates that are printed.
const RATES: [f64; 3] = [1e-3, 1e-2, 1e-1];

/// Computes, prints and draws the curve.
pub(crate) fn run(arguments: &Curve) -> Outcome<String> {
    // A place that cannot be written is refused before the long work, not after it.
    if let Some(file) = &arguments.out {
        check_writable(file)?;
    }
    let relation = arguments.relation.into();
    let composition = arguments.events.composition(relation)?;
    let accountant = Accountant::new(relation).with(&composition);
    let curve = accountant.trade_off(arguments.width)?;
    // The advantage is delta at epsilon 0, where the curve begins.
    let advantage = match curve.corners() {
        [first, ..] if first.epsilon == 0.0 => first.delta,
        _ => accountant.advantage()?,
    };
    let mut answer = Answer::new(relation, &composition).certified("advantage", advantage);
    let mut rates = Vec::new();
    for rate in RATES {
        let power = curve.true_positive_rate(rate)?;
        answer =
            answer.remark(&format!("true positive rate at false positive rate {rate}"), power.to_string());
        rates.push(json!({ "false_positive_rate": rate, "true_positive_rate": power }));
    }
    let corners = curve.corners().iter().map(|c| json!({ "epsilon": c.epsilon, "delta": c.delta }));
    let profile: Vec<_> = corners.collect();
    let mut samples = Vec::new();
    for alpha in picture::positions() {
        samples.push(
            json!({ "false_positive_rate": alpha, "false_negative_rate": curve.false_negative_rate(alpha)? }),
        );
    }
    answer = answer.hidden("rates", rates).hidden("trade_off", samples).hidden("profile", profile);
    if let Some(file) = &arguments.out {
        write_whole(file, picture::draw(&curve)?.as_bytes())?;
        answer = answer.stored("picture", file, &file.display().to_string());
    }
    answer.print(arguments.json)
}
