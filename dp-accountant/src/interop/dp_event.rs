//! Event trees of Google's dp_accounting (`DpEvent`), as JSON.
//!
//! The library offers its events as nested named tuples (`to_named_tuple`, `from_named_tuple`) and has no
//! file format of its own. The form here is those tuples as JSON objects, `module_name` and `class_name`
//! beside the fields, as `json` writes them after `_asdict()` on every level.
//! `tests/golden/dp_event/generate.py` has both directions in Python. The command reads this form with
//! `--input`.
//!
//! | dp_accounting 0.6.0 | here |
//! |---|---|
//! | `NoOpDpEvent` | nothing |
//! | `GaussianDpEvent`, `LaplaceDpEvent` | the mechanism; the noise multiplier is the scale over the norm bound in both |
//! | `RandomizedResponseDpEvent` | truth with probability 1 - p + p/k |
//! | `PoissonSampledDpEvent`, `SampledWithoutReplacementDpEvent`, `SampledWithReplacementDpEvent` | the sampling of the mechanism inside |
//! | a sampled composition of Gaussians | one Gaussian, since all see the same sample: 1/σ² = Σ 1/σᵢ² |
//! | `SelfComposedDpEvent`, `ComposedDpEvent` | counts and lines of the composition |
//!
//! Everything else is an error that names the node and the way to it. There is no event there for discrete
//! Gaussian noise, for given (epsilon, delta), or for shuffled batches. Trees do not say under which relation
//! they are meant: that stays the caller's word.

use serde_json::{Map, Value, json};

use super::json::Unambiguous;
use crate::{Composition, Error, Event, Mechanism, Result, Sampling};

/// Nesting deeper than this is refused.
const DEEPEST: usize = 100;

/// The composition that a tree describes.
///
/// # Privacy
/// Two numbers may be rounded, each by a few units in the last place and to the less private side: the
/// multiplier of Gaussians that share a sample, and the truth probability of randomised response.
///
/// # Errors
/// [`Error::DpEvent`] with the path to the node, such as `$.event.events[2]`; also where an object names a
/// field twice, of which other readers take the last.
///
/// ```
/// use dp_accountant::{Composition, Event, Mechanism, Sampling, interop::dp_event};
///
/// let text = r#"{
///     "class_name": "SelfComposedDpEvent", "count": 1000,
///     "event": {
///         "class_name": "PoissonSampledDpEvent", "sampling_probability": 0.01,
///         "event": {"class_name": "GaussianDpEvent", "noise_multiplier": 1.0}
///     }
/// }"#;
/// let run = dp_event::from_json(text)?;
/// let step = Event::new(Mechanism::Gaussian { noise_multiplier: 1.0 }, Sampling::Poisson { rate: 0.01 })?;
/// assert_eq!(run, Composition::single(step, 1_000));
///
/// let error = dp_event::from_json(r#"{"class_name": "NonPrivateDpEvent"}"#).unwrap_err();
/// assert!(error.to_string().contains("NonPrivateDpEvent at $"));
/// # Ok::<(), dp_accountant::Error>(())
/// ```
pub fn from_json(text: &str) -> Result<Composition> {
    let Unambiguous(tree) = serde_json::from_str(text)
        .map_err(|error| refuse("$", "the text", format!("is not JSON: {error}")))?;
    let mut leaves = Vec::new();
    Node::new(&tree, "$".into(), 0)?.read(1, None, &mut leaves)?;
    let mut composition = Composition::new();
    composition.extend(leaves);
    Ok(composition)
}

/// The tree of a composition: a `ComposedDpEvent` of `SelfComposedDpEvent`s.
///
/// # Errors
/// [`Error::DpEvent`] for an event that dp_accounting has no class for.
///
/// ```
/// use dp_accountant::{Composition, Event, Mechanism, Sampling, interop::dp_event};
///
/// let step = Event::new(Mechanism::Gaussian { noise_multiplier: 1.0 }, Sampling::Poisson { rate: 0.01 })?;
/// let run = Composition::single(step, 1_000);
/// assert_eq!(dp_event::from_json(&dp_event::to_json(&run)?)?, run);
/// # Ok::<(), dp_accountant::Error>(())
/// ```
pub fn to_json(composition: &Composition) -> Result<String> {
    let lines: Vec<Value> = composition
        .iter()
        .enumerate()
        .map(|(line, (event, count))| {
            let path = format!("$.events[{line}].event");
            Ok(node("SelfComposedDpEvent", [("event", written(event, &path)?), ("count", json!(count))]))
        })
        .collect::<Result<_>>()?;
    Ok(node("ComposedDpEvent", [("events", Value::Array(lines))]).to_string())
}

fn refuse(path: &str, node: &str, reason: impl Into<String>) -> Error {
    Error::DpEvent { path: path.into(), node: node.into(), reason: reason.into() }
}

/// One object of the tree and the way to it.
struct Node<'a> {
    class: &'a str,
    fields: &'a Map<String, Value>,
    path: String,
    depth: usize,
}

impl<'a> Node<'a> {
    fn new(value: &'a Value, path: String, depth: usize) -> Result<Self> {
        let Some(fields) = value.as_object() else {
            return Err(refuse(&path, "the value", "is not an object"));
        };
        let Some(class) = fields.get("class_name").and_then(Value::as_str) else {
            return Err(refuse(&path, "the object", "has no class_name"));
        };
        let node = Self { class, fields, path, depth };
        if depth > DEEPEST {
            return Err(node.error(format!("is nested more than {DEEPEST} deep")));
        }
        match fields.get("module_name") {
            None => {}
            Some(Value::String(module)) if module.split('.').next() == Some("dp_accounting") => {}
            Some(module) => {
                return Err(node.error(format!("is of module {module}, which is not dp_accounting")));
            }
        }
        Ok(node)
    }

    fn error(&self, reason: impl Into<String>) -> Error {
        refuse(&self.path, self.class, reason)
    }

    /// Refuses fields that are not known, since they could change the meaning.
    fn only(&self, known: &[&str]) -> Result<()> {
        let unknown = self.fields.keys().find(|key| {
            !known.contains(&key.as_str()) && !["class_name", "module_name"].contains(&key.as_str())
        });
        unknown.map_or(Ok(()), |key| Err(self.error(format!("has an unknown field {key}"))))
    }

    fn number(&self, field: &str) -> Result<f64> {
        let value = self.fields.get(field).and_then(Value::as_f64);
        value.ok_or_else(|| self.error(format!("needs a number in {field}")))
    }

    fn count(&self, field: &str) -> Result<u64> {
        let value = self.fields.get(field).and_then(Value::as_u64);
        value.ok_or_else(|| self.error(format!("needs a whole number that is not negative in {field}")))
    }

    fn child(&self, field: &str) -> Result<Node<'a>> {
        let value = self.fields.get(field).ok_or_else(|| self.error(format!("needs a node in {field}")))?;
        Node::new(value, format!("{}.{field}", self.path), self.depth + 1)
    }

    fn children(&self, field: &str) -> Result<Vec<Node<'a>>> {
        let values = self.fields.get(field).and_then(Value::as_array);
        let values = values.ok_or_else(|| self.error(format!("needs a list of nodes in {field}")))?;
        let path = |index| format!("{}.{field}[{index}]", self.path);
        values.iter().enumerate().map(|(i, value)| Node::new(value, path(i), self.depth + 1)).collect()
    }

    fn event(&self, mechanism: Mechanism, sampling: Sampling) -> Result<Event> {
        Event::new(mechanism, sampling).map_err(|error| self.error(error.to_string()))
    }

    /// Adds `count` times what this node describes.
    fn read(&self, count: u64, within: Option<Sampling>, leaves: &mut Vec<(Event, u64)>) -> Result<()> {
        let sampling = match self.class {
            "NoOpDpEvent" => return self.only(&[]),
            "SelfComposedDpEvent" => {
                self.only(&["event", "count"])?;
                let count = count.checked_mul(self.count("count")?);
                let count = count.ok_or_else(|| self.error("is repeated more than 2^64 times"))?;
                return self.child("event")?.read(count, within, leaves);
            }
            "ComposedDpEvent" => {
                self.only(&["events"])?;
                return self.children("events")?.iter().try_for_each(|node| node.read(count, within, leaves));
            }
            "PoissonSampledDpEvent" => {
                self.only(&["sampling_probability", "event"])?;
                Sampling::Poisson { rate: self.number("sampling_probability")? }
            }
            "SampledWithoutReplacementDpEvent" | "SampledWithReplacementDpEvent" => {
                self.only(&["source_dataset_size", "sample_size", "event"])?;
                let (records, batch) = (self.count("source_dataset_size")?, self.count("sample_size")?);
                match self.class {
                    "SampledWithoutReplacementDpEvent" => Sampling::WithoutReplacement { batch, records },
                    _ => Sampling::WithReplacement { batch, records },
                }
            }
            _ => {
                let mechanism = self.mechanism()?;
                if count > 0 {
                    leaves.push((self.event(mechanism, Sampling::None)?, count));
                }
                return Ok(());
            }
        };
        if within.is_some() {
            return Err(self.error("samples from a sample, which cannot be expressed"));
        }
        let mut inside = Vec::new();
        self.child("event")?.read(1, Some(sampling), &mut inside)?;
        if count > 0
            && let Some(mechanism) = self.on_one_sample(&inside)?
        {
            leaves.push((self.event(mechanism, sampling)?, count));
        }
        Ok(())
    }

    /// The one mechanism that equals everything that runs on the same sample.
    fn on_one_sample(&self, inside: &[(Event, u64)]) -> Result<Option<Mechanism>> {
        match inside {
            [] => return Ok(None),
            [(only, 1)] => return Ok(Some(only.mechanism())),
            _ => {}
        }
        let mut precision = 0.0;
        for (event, count) in inside {
            let Mechanism::Gaussian { noise_multiplier } = event.mechanism() else {
                let reason =
                    "runs several mechanisms on the same sample, which can be expressed for Gaussians only";
                return Err(self.error(reason));
            };
            precision += *count as f64 / noise_multiplier / noise_multiplier;
        }
        // Each line adds at most three roundings of half a unit.
        let slack = (2 * inside.len() + 4) as f64 * f64::EPSILON;
        Ok(Some(Mechanism::Gaussian { noise_multiplier: (1.0 - slack) / precision.sqrt() }))
    }

    fn mechanism(&self) -> Result<Mechanism> {
        match self.class {
            "GaussianDpEvent" => {
                self.only(&["noise_multiplier"])?;
                Ok(Mechanism::Gaussian { noise_multiplier: self.number("noise_multiplier")? })
            }
            "LaplaceDpEvent" => {
                self.only(&["noise_multiplier"])?;
                Ok(Mechanism::Laplace { scale: self.number("noise_multiplier")? })
            }
            "RandomizedResponseDpEvent" => {
                self.only(&["noise_parameter", "num_buckets"])?;
                let (noise, categories) = (self.number("noise_parameter")?, self.count("num_buckets")?);
                if !(0.0..=1.0).contains(&noise) || categories < 2 {
                    return Err(self.error("needs a noise_parameter between 0 and 1 and at least 2 buckets"));
                }
                let truth = 1.0 - noise + noise / categories as f64;
                // To the next number, so that it is not rounded down; at least the probability of a pure
                // guess.
                let truth_probability = if noise == 0.0 { 1.0 } else { truth.next_up().next_up() };
                Ok(Mechanism::RandomizedResponse { categories, truth_probability })
            }
            "NonPrivateDpEvent" => Err(self.error("has no finite privacy loss")),
            _ => Err(self.error("cannot be expressed")),
        }
    }
}

fn node<const N: usize>(class: &str, fields: [(&str, Value); N]) -> Value {
    let head = [("module_name", json!("dp_accounting.dp_event")), ("class_name", json!(class))];
    Value::Object(head.into_iter().chain(fields).map(|(key, value)| (key.to_string(), value)).collect())
}

fn written(event: Event, path: &str) -> Result<Value> {
    let mechanism = match event.mechanism() {
        Mechanism::Gaussian { noise_multiplier } => {
            node("GaussianDpEvent", [("noise_multiplier", json!(noise_multiplier))])
        }
        Mechanism::Laplace { scale } => node("LaplaceDpEvent", [("noise_multiplier", json!(scale))]),
        Mechanism::RandomizedResponse { categories, truth_probability } => {
            // Rounded down: less noise is the less private side.
            let others = categories as f64 / (categories as f64 - 1.0);
            let noise = ((1.0 - truth_probability) * others * (1.0 - 4.0 * f64::EPSILON)).clamp(0.0, 1.0);
            let fields = [("noise_parameter", json!(noise)), ("num_buckets", json!(categories))];
            node("RandomizedResponseDpEvent", fields)
        }
        other => return Err(refuse(path, &other.to_string(), "has no class in dp_accounting 0.6.0")),
    };
    let fixed = |class, batch: u64, records: u64, event| {
        let fields =
            [("source_dataset_size", json!(records)), ("sample_size", json!(batch)), ("event", event)];
        node(class, fields)
    };
    Ok(match event.sampling() {
        Sampling::None => mechanism,
        Sampling::Poisson { rate } => {
            node("PoissonSampledDpEvent", [("sampling_probability", json!(rate)), ("event", mechanism)])
        }
        Sampling::WithoutReplacement { batch, records } => {
            fixed("SampledWithoutReplacementDpEvent", batch, records, mechanism)
        }
        Sampling::WithReplacement { batch, records } => {
            fixed("SampledWithReplacementDpEvent", batch, records, mechanism)
        }
        other => return Err(refuse(path, &other.to_string(), "has no class in dp_accounting 0.6.0")),
    })
}
