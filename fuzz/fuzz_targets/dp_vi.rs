//! Arbitrary settings and records, hostile numbers among them: refused with an error, or fitted to a finite
//! posterior within the budget.

#![no_main]

use dp_accountant::{Budget, Relation};
use dp_sampler::{FullBatch, Seed};
use dp_vi::guides::AutoNormal;
use dp_vi::optimiser::Schedule;
use dp_vi::{Clipping, DpVi, DrawScheme, Quantile, Sensitive};
use libfuzzer_sys::fuzz_target;
use ndarray::Array2;
use ppl_core::{Column, Ctx, Distribution, Records, Result};
use ppl_distributions::{Bernoulli, HalfNormal, Normal};

struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((&first, rest)) => {
                self.0 = rest;
                first
            }
            None => 0,
        }
    }

    /// Mostly moderate numbers, now and then any bit pattern.
    fn number(&mut self) -> f64 {
        match self.byte() {
            255 => f64::from_le_bytes(std::array::from_fn(|_| self.byte())),
            254 => f64::NAN,
            253 => f64::MAX,
            252 => f64::INFINITY,
            other => (f64::from(other) - 126.0) / 40.0,
        }
    }
}

fn model(ctx: &mut Ctx) -> Result<()> {
    let d = ctx.records().dim("x")?;
    let spread = ctx.sample("spread", HalfNormal::new(1.0))?;
    let w = ctx.sample("w", Normal::new(0.0, spread).iid(d))?;
    ctx.each_record(|ctx, record| {
        ctx.observe("y", Bernoulli::from_logits(record.get("x")?.dot(w)), record.get("y")?)
    })
}

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let budget = Budget { epsilon: bytes.number(), delta: bytes.number(), relation: Relation::AddRemove };
    let (clip, rate, scale) = (bytes.number(), bytes.number(), bytes.number());
    let (rows, width, steps) =
        (usize::from(bytes.byte() % 6), usize::from(bytes.byte() % 4), u64::from(bytes.byte() % 8));
    let draws = if bytes.byte() % 2 == 0 { DrawScheme::Antithetic } else { DrawScheme::Single };
    let clipping = match bytes.byte() % 4 {
        0 => Clipping::PerSite,
        1 => Clipping::Quantile(Quantile { target: bytes.number(), rate: bytes.number() }),
        _ => Clipping::Flat,
    };
    let stated = u64::from(bytes.byte());
    let x = Array2::from_shape_fn((rows, width), |_| bytes.number());
    let y: Vec<f64> = (0..rows).map(|_| f64::from(bytes.byte() % 2)).collect();
    let Ok(records) = Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))]) else {
        return;
    };
    let Ok(guide) = AutoNormal::new().initial_scale(scale) else {
        return;
    };
    let fit = DpVi::new(model, guide)
        .budget(budget)
        .subsample(FullBatch)
        .steps(steps)
        .clip_norm(clip)
        .clipping(clipping)
        .draw_scheme(draws)
        .public_records(stated)
        .schedule(Schedule::Constant(rate))
        .seed(Seed::for_tests(1))
        .fit(&Sensitive::new(records));
    match fit {
        Ok(fit) => {
            let epsilon = fit.privacy().epsilon.as_ref().expect("a private fit states its epsilon");
            assert!(epsilon.upper <= budget.epsilon);
            assert!(!fit.privacy().to_string().is_empty());
            // Steps are bounded by the learning rate, so with moderate settings nothing can leave the real
            // line.
            if rate < 10.0 && scale < 10.0 {
                assert!(fit.posterior().mean("w").expect("a site").iter().all(|mean| mean.is_finite()));
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
