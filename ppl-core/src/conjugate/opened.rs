//! Shared latent values on their way to posterior factors: inputs for their statistics, and expected priors.

use super::form::{Bound, Form, Known, Moment, Rows};
use super::rules::Rules;
use crate::base::{Error, Result};
use crate::handlers::Constrained;
use crate::model::{Distribution, ExponentialFamily, Handler, Message, Site, SiteKind, Statistic};
use crate::op::Var;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

/// Makes latent values inputs, and keeps their distributions.
pub(super) struct Watch<'g>(pub(super) Rc<RefCell<Laws<'g>>>);

/// The distributions of sites, by name.
pub(super) type Laws<'g> = HashMap<String, Rc<dyn Distribution<'g> + 'g>>;

impl<'g> Handler<'g> for Watch<'g> {
    fn process(&self, message: &mut Message<'g>) -> Result<()> {
        if !message.wants_value() || message.enumerable {
            return Ok(());
        }
        if message.kind == SiteKind::Param {
            return Err(Error::Unsupported(
                "a parameter has no prior, and so no statistics; give it one, or fit the model with gradients (DpVi)"
                    .to_owned(),
            ));
        }
        if message.mask.is_some() || message.scale.is_some() {
            return Err(Error::Unsupported(
                "a latent value whose prior is masked or scaled, which its family does not know of; fit the model with \
                 gradients (DpVi)"
                    .to_owned(),
            ));
        }
        if let Some(distribution) = &message.distribution {
            self.0.borrow_mut().insert(message.name.clone(), Rc::clone(distribution));
        }
        Constrained::make_input(message)
    }
}

/// The inputs that a real value's second moments may be.
pub(super) struct Seconds<'g> {
    pub(super) each: Var<'g>,
    pub(super) rows: Option<(Var<'g>, Option<Var<'g>>)>,
}

/// A site on its way to a factor.
pub(super) struct Open<'g> {
    pub(super) site: Site<'g>,
    pub(super) family: Box<dyn ExponentialFamily<'g> + 'g>,
    /// Name and variable of each statistic, in the family's order.
    pub(super) inputs: Vec<(Statistic, String, Var<'g>)>,
    pub(super) seconds: Option<Seconds<'g>>,
}

pub(super) fn family_of<'g>(site: &Site<'g>, laws: &Laws<'g>) -> Result<Box<dyn ExponentialFamily<'g> + 'g>> {
    let family = laws.get(&site.name).and_then(|law| law.family());
    family.ok_or_else(|| {
        let problem = format!(
            "statistics: its prior {} is no exponential family with statistics that are known here ({}); \
             fit the model with gradients (DpVi)",
            site.distribution.unwrap_or("of no name"),
            site.source_line
        );
        Error::Unsupported(problem).at_site(&site.name)
    })
}

pub(super) fn refused(site: &Site<'_>, problem: &str) -> Error {
    Error::Unsupported(format!(
        "statistics: {problem} ({}); fit the model with gradients (DpVi)",
        site.source_line
    ))
    .at_site(&site.name)
}

pub(super) fn name_of(statistic: Statistic, site: &str) -> String {
    format!("E[{}]", statistic.name_of(site))
}

/// The shared inputs and what they say of the site's value.
pub(super) fn open<'g>(site: &Site<'g>, laws: &Laws<'g>, number: usize) -> Result<(Open<'g>, Form<'g>)> {
    let (graph, family) = (site.value.graph(), family_of(site, laws)?);
    let shape = site.value.shape();
    let mut form = Form { sites: BTreeSet::from([number]), ..Form::default() };
    let (mut inputs, mut seconds) = (Vec::new(), None);
    for statistic in family.statistics() {
        let name = name_of(statistic, &site.name);
        let input = graph.input(name.clone(), statistic.shape(&shape))?;
        match statistic {
            Statistic::Value => {
                form.powers.insert(1, Moment::exact(input));
            }
            Statistic::Square => {
                form.powers.insert(2, Moment { each: input, total: Some(input.sum()), bound: Bound::Exact });
                let rows = match shape.rank() {
                    0 => None,
                    rank => {
                        let outer = name_of(Statistic::Outer, &site.name);
                        let each = graph.input(outer.clone(), Statistic::Outer.shape(&shape))?;
                        let n = shape.dims()[rank - 1];
                        let total = match rank {
                            1 => None,
                            _ => Some(graph.input(format!("Σ {outer}"), [n, n])?),
                        };
                        form.rows = Some(Rows { each, total });
                        Some((each, total))
                    }
                };
                seconds = Some(Seconds { each: input, rows });
            }
            Statistic::Outer => {
                form.rows = Some(Rows { each: input, total: None });
                form.powers.insert(2, Moment::exact(input.diagonal()));
            }
            Statistic::Log => form.log = Some((input, Bound::Exact)),
            Statistic::LogComplement => form.log_complement = Some(input),
            Statistic::LogDeterminant | Statistic::Indicators(_) => {
                return Err(refused(site, &format!("a shared value with prior {}", family.name())));
            }
        }
        inputs.push((statistic, name, input));
    }
    if site.support.is_discrete() {
        return Err(refused(site, "a discrete value that all records share"));
    }
    Ok((Open { site: site.clone(), family, inputs, seconds }, form))
}

/// `E[ln p(x | parameters)]` of a latent value without its base measure, from the moments of its statistics.
pub(super) fn expected_prior<'g>(
    rules: &mut Rules<'g>,
    site: &Site<'g>,
    family: &(dyn ExponentialFamily<'g> + 'g),
    moments: &[Moment<'g>],
) -> Result<Var<'g>> {
    let graph = site.value.graph();
    let _site = graph.enter_site(&site.name, site.source_line);
    let mut sum = graph.constant(0.0);
    for (natural, moment) in family.natural(graph).into_iter().zip(moments) {
        let natural = match rules.of(natural)? {
            Known::Fixed(natural) => natural,
            Known::Random(form) => match form.mean() {
                Some(mean) if mean.bound == Bound::Exact => mean.each,
                _ => return Err(refused(site, "its prior's parameters have no expectation that is known")),
            },
        };
        sum = sum
            + match natural.shape().is_scalar() {
                true => natural * moment.total(),
                false => (natural.broadcast_to(moment.each.shape()) * moment.each).sum(),
            };
    }
    let partition = -family.own_log_partition(graph);
    let each = rules.expectation(partition)?;
    let copies = site.value.shape().elements() / family.outcome().elements().max(1);
    Ok(sum + each.sum() * (copies as f64 / each.shape().elements() as f64))
}
