#![allow(clippy::print_stdout)]
//! Sweep: one line a setting.
use dp_accountant::*;

struct Rng(u64);
impl Rng {
    fn next(&mut self) -> f64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        (z >> 11) as f64 / (1u64 << 53) as f64
    }
    fn log(&mut self, low: f64, high: f64) -> f64 {
        (low.ln() + self.next() * (high / low).ln()).exp()
    }
}

/// Nanoseconds on the processor, which other programs do not count into.
fn clock() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split_whitespace().next().unwrap().parse::<f64>().unwrap() * 1e-9
}

/// The mean time of enough runs.
fn best<T>(work: impl Fn() -> T) -> (T, f64) {
    let start = clock();
    let mut value = work();
    let mut total = clock() - start;
    let mut runs = 1;
    while total < 0.05 && runs < 200 {
        let start = clock();
        for _ in 0..4 {
            value = work();
        }
        total += clock() - start;
        runs += 4;
    }
    (value, total / f64::from(runs))
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let region = arguments.get(1).map(String::as_str).unwrap_or("corner");
    let count: usize = arguments.get(2).and_then(|s| s.parse().ok()).unwrap_or(300);
    let skip: usize = arguments.get(3).and_then(|s| s.parse().ok()).unwrap_or(0);
    let mut rng = Rng(if region == "corner" { 20_260_701 } else { 77 });
    for k in 0..count {
        let (rate, sigma, steps, delta) = if region == "corner" {
            (rng.log(1e-7, 1e-3), rng.log(0.5, 4.0), rng.log(1.0, 1e7).round() as u64, rng.log(1e-15, 1e-4))
        } else if region == "extreme" {
            (rng.log(1e-14, 0.95), rng.log(0.05, 1e3), rng.log(1.0, 1e14).round() as u64, rng.log(1e-200, 0.5))
        } else {
            (rng.log(1e-3, 0.5), rng.log(0.4, 10.0), rng.log(1.0, 1e5).round() as u64, rng.log(1e-10, 1e-3))
        };
        let relation = if rng.next() < 0.6 { Relation::AddRemove } else { Relation::ReplaceOne };
        let mixed = rng.next() < 0.2;
        let inverse = rng.next() < 0.25;
        let release = rng.log(3.0, 300.0);
        let second = (rng.log(1e-7, 1e-3), rng.log(0.5, 4.0), rng.log(1.0, 1e6).round() as u64);
        let two = rng.next() < 0.15;
        if k < skip { continue; }
        let event = Event::new(Mechanism::Gaussian { noise_multiplier: sigma }, Sampling::Poisson { rate }).unwrap();
        let mut accountant = Accountant::new(relation).compose(event, steps);
        if mixed {
            accountant = accountant.compose(Event::new(Mechanism::Gaussian { noise_multiplier: release }, Sampling::None).unwrap(), 1);
        }
        if two {
            accountant = accountant.compose(Event::new(Mechanism::Gaussian { noise_multiplier: second.1 }, Sampling::Poisson { rate: second.0 }).unwrap(), second.2);
        }
        if let Ok(width) = std::env::var("WIDTH") {
            accountant = accountant.relative_width(width.parse().unwrap()).unwrap();
        }
        let (e, time) = best(|| accountant.epsilon(delta));
        let e = match e { Ok(e) => e, Err(error) => { println!("{k} error {error}"); continue; } };
        print!("{k} {} {sigma:.6e} {rate:.6e} {steps} {delta:.6e} mix={} two={} | eps {:.17e} {:.17e} w {:.2e} {:?}/{:?} {:.2}ms",
            if relation == Relation::AddRemove { "AR" } else { "RO" }, u8::from(mixed), u8::from(two),
            e.lower, e.upper, e.width() / e.upper.max(1e-3), e.lower_engine, e.upper_engine, time * 1e3);
        if inverse {
            let (d, time) = best(|| accountant.delta(e.estimate).unwrap());
            print!(" | del {:.17e} {:.17e} w {:.2e} {:?}/{:?} {:.2}ms", d.lower, d.upper, d.width() / d.upper, d.lower_engine, d.upper_engine, time * 1e3);
        }
        println!();
    }
}
