//! What the privacy statement says, in words and as data.

use dp_accountant::{Accountant, Budget, Ledger, Relation};
use dp_sampler::{FullBatch, Poisson};
use dp_vi::{AutoNormal, DpVi, Fit, Sensitive};
use ppl_core::{Ctx, Records, Result};
use ppl_distributions::Normal;
use std::ops::ControlFlow;

fn model(ctx: &mut Ctx) -> Result<()> {
    let mean = ctx.sample("mean", Normal::new(0.0, 1.0))?;
    ctx.each_record(|ctx, record| ctx.observe("x", Normal::new(mean, 1.0), record.get("x")?))
}

fn records() -> Sensitive<Records> {
    Sensitive::new(Records::from_columns([("x", vec![0.5; 40])]).unwrap())
}

fn budget(relation: Relation) -> Budget {
    Budget { epsilon: 1.0, delta: 1e-5, relation }
}

#[test]
fn advantage_and_success_are_those_of_all_releases() {
    for relation in [Relation::AddRemove, Relation::ReplaceOne] {
        let vi = DpVi::new(model, AutoNormal::new()).budget(budget(relation)).steps(50);
        let fit = vi.subsample(Poisson::rate(0.25).unwrap()).fit(&records()).unwrap();
        let report = fit.privacy();
        let mut accountant = Accountant::new(relation);
        for release in &report.releases {
            accountant = accountant.compose(release.event, release.count);
        }
        let (told, upper) = (report.advantage.unwrap(), accountant.advantage().unwrap().upper);
        assert!(told.lower <= upper && (told.upper / upper - 1.0).abs() < 1e-9);
        let success = accountant.success(0.5).unwrap();
        assert!(report.attack_success().unwrap() >= success.lower);
        assert!((report.attack_success().unwrap() / success.upper - 1.0).abs() < 1e-9);
        // And with pure ε a bound that is known: the advantage is at most tanh(ε/2), and δ more.
        assert!(told.upper <= (0.5_f64).tanh() + 1e-5);
        let text = report.to_string();
        let number = match relation {
            Relation::AddRemove => "add/remove: how many records there are is protected too",
            Relation::ReplaceOne => "replace-one: how many records there are is treated as public",
        };
        assert!(text.contains(number), "{text}");
        assert_eq!(report.public_number_of_records, relation == Relation::ReplaceOne);
        for release in &report.releases {
            assert!(text.contains(&format!("{} x {}", release.count, release.event)), "{text}");
        }
    }
}

#[test]
fn a_run_that_stopped_states_the_cost_of_all_it_planned() {
    let vi = || {
        DpVi::new(model, AutoNormal::new()).budget(budget(Relation::AddRemove)).subsample(FullBatch).steps(50)
    };
    let stop = |progress: dp_vi::Progress| match progress.done < 20 {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    };
    let mut ledger = Ledger::new(Budget { epsilon: 2.0, ..budget(Relation::AddRemove) }).unwrap();
    let fit: Fit = vi().on_progress(stop).fit_from(&records(), &mut ledger).unwrap();
    let report = fit.privacy();
    assert_eq!((report.steps, report.steps_done), (50, 20));
    assert!(report.epsilon.unwrap().upper > 0.999);
    let text = report.to_string();
    assert!(text.contains("20 of them made; stated is the cost of all"), "{text}");
    assert!(text.contains("spent in all, by everything that was paid from it"), "{text}");
    assert_eq!(report.ledger_spent.unwrap(), ledger.spent().unwrap());
    // A ledger of the fit's own is nobody else's business.
    assert!(vi().fit(&records()).unwrap().privacy().ledger_spent.is_none());
}

#[test]
fn what_is_not_private_says_so_first() {
    let fit = DpVi::new(model, AutoNormal::new()).without_privacy().steps(20).fit(&records()).unwrap();
    let report = fit.privacy();
    assert!(report.to_string().starts_with("NOT PRIVATE. No gradient was clipped and no noise was added"));
    assert!(!report.is_private() && report.releases.is_empty() && report.attack_success().is_none());
    assert!(report.epsilon.is_none() && report.advantage.is_none());
}

/// Everything that the text says can be had by programs, too.
#[test]
fn the_report_is_data() {
    let vi = DpVi::new(model, AutoNormal::new()).budget(budget(Relation::AddRemove)).steps(50);
    let fit = vi.subsample(Poisson::rate(0.25).unwrap()).fit(&records()).unwrap();
    let data = serde_json::to_value(fit.privacy()).unwrap();
    assert_eq!(data["budget"]["relation"], "add_remove");
    assert_eq!(data["scheme"]["poisson"]["rate"], 0.25);
    assert_eq!((&data["steps"], &data["steps_done"]), (&50.into(), &50.into()));
    assert_eq!(data["secret_seed"], true);
    let upper = fit.privacy().epsilon.unwrap().upper;
    assert_eq!(data["epsilon"]["upper"].as_f64(), Some(upper));
    assert!(data["advantage"]["upper"].as_f64().unwrap() < 0.5);
    let last = data["releases"].as_array().unwrap().last().unwrap();
    assert_eq!(last["count"], 50);
    let sigma = last["event"]["mechanism"]["gaussian"]["noise_multiplier"].as_f64();
    assert_eq!(sigma, fit.privacy().noise_multiplier);
    for list in ["assumes", "not_covered"] {
        assert!(!data[list].as_array().unwrap().is_empty());
    }
    assert!(data["record"].as_str().unwrap().starts_with("one row of the records"));
    #[cfg(feature = "json")]
    assert_eq!(serde_json::from_str::<serde_json::Value>(&fit.privacy().to_json().unwrap()).unwrap(), data);
}
