//! Priors that are named on the command line: `age=normal(0,2)`.

use std::str::FromStr;

/// A prior for what has this name.
///
/// - `age=normal(0, 2)`: of coefficients, by column or by term of the design matrix, on the scale of the public bounds;
///   `Intercept` is the intercept's name.
/// - `sigma=halfnormal(0.5)`, and `sd(job)=halfnormal(1)` of the spread of groups.
///
/// ```
/// use dp_examples::regression::prior::{Law, NamedPrior};
/// let prior: NamedPrior = "age = normal(0, 2)".parse().unwrap();
/// assert_eq!((prior.name.as_str(), prior.law), ("age", Law::Normal { location: 0.0, scale: 2.0 }));
/// assert!("age=normal(0,-2)".parse::<NamedPrior>().unwrap_err().contains("above 0"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct NamedPrior {
    /// Of what.
    pub name: String,
    /// What it is.
    pub law: Law,
}

/// The laws that priors may have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Law {
    /// A normal.
    Normal {
        /// Its mean.
        location: f64,
        /// Its standard deviation.
        scale: f64,
    },
    /// The absolute value of a normal around 0.
    HalfNormal {
        /// That normal's standard deviation.
        scale: f64,
    },
}

impl FromStr for NamedPrior {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const EXPECTED: &str = "expected a prior like 'age=normal(0,2)' or 'sigma=halfnormal(1)'";
        let (name, law) = text.rsplit_once('=').ok_or(EXPECTED)?;
        let (kind, numbers) =
            law.trim().strip_suffix(')').and_then(|law| law.split_once('(')).ok_or(EXPECTED)?;
        let numbers: Vec<f64> = numbers
            .split(',')
            .map(|number| {
                number.trim().parse::<f64>().ok().filter(|number| number.is_finite()).ok_or(EXPECTED)
            })
            .collect::<Result<_, _>>()?;
        let law = match (kind.trim(), numbers.as_slice()) {
            ("normal", [location, scale]) => Law::Normal { location: *location, scale: *scale },
            ("halfnormal" | "half_normal", [scale]) => Law::HalfNormal { scale: *scale },
            _ => return Err(EXPECTED.to_owned()),
        };
        let (Law::Normal { scale, .. } | Law::HalfNormal { scale }) = law;
        if scale <= 0.0 {
            return Err("the scale of a prior has to be above 0".to_owned());
        }
        Ok(Self { name: name.trim().to_owned(), law })
    }
}
