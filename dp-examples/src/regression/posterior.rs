//! A posterior in the units of the file, as draws.

use ndarray::{ArrayD, Axis};
use ppl_core::Values;
use serde::{Deserialize, Serialize};

use super::family::Family;
use super::specification::{Margins, ScaledColumn, Specification, is_constant, is_first_cut, margins};

/// Draws that summaries are made of, where coefficients by group are not so many that fewer have to do.
pub const DRAWS: usize = 4_000;

/// Most numbers that all draws of coefficients by group hold together; 500 draws are made of any number of them.
const MOST_NUMBERS: usize = 40_000_000;

/// How many draws are made of a regression's posterior.
pub(super) fn draws_of(specification: &Specification) -> usize {
    (MOST_NUMBERS / specification.grouped().max(1)).clamp(KEPT, DRAWS)
}

/// Draws that a model file keeps.
pub const KEPT: usize = 500;

/// Coefficients by group, in the units of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupDraws {
    /// The column of the groups.
    pub column: String,
    /// The groups.
    pub levels: Vec<String>,
    /// What is multiplied by the coefficients.
    pub names: Vec<String>,
    /// By draw: group after group, a number for each name.
    pub draws: Vec<Vec<f64>>,
}

impl GroupDraws {
    /// Summaries of the coefficients: group after group, one for each name.
    #[must_use]
    pub fn summaries(&self) -> Vec<Summary> {
        let pairs = self.levels.iter().flat_map(|level| self.names.iter().map(move |name| (level, name)));
        let summary = |(place, (level, name)): (usize, (&String, &String))| {
            Summary::of(&format!("{level}, {name}"), self.draws.iter().map(|draw| draw[place]).collect())
        };
        pairs.enumerate().map(summary).collect()
    }
}

/// Draws of everything that predictions need, in the units of the file: a predictor is the sum of the
/// coefficients times
/// the columns of the design matrix, of the group's coefficients times theirs, and of the offset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Draws {
    /// Names of the coefficients.
    pub names: Vec<String>,
    /// By draw, a number for each name.
    pub coefficients: Vec<Vec<f64>>,
    /// Coefficients to predict means from: where the fit's noisy steps led, or the mean of the draws. `None` in files
    /// that were written before there was one, which is the mean of their draws then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point: Option<Vec<f64>>,
    /// Coefficients by group.
    pub groups: Vec<GroupDraws>,
    /// What the family has beside: `sigma`, `nu`, `phi`, `zeros`, `cut[1]`, …, and `sd(group, name)`.
    pub more: Vec<(String, Vec<f64>)>,
}

/// Mean, standard deviation and the central interval of 90 % of a value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Of what.
    pub name: String,
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub sd: f64,
    /// The interval's lower end.
    pub low: f64,
    /// The interval's upper end.
    pub high: f64,
    /// The standard deviation that there would be without privacy noise, where a fit knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sd_without_noise: Option<f64>,
}

impl Summary {
    /// Of these draws.
    #[must_use]
    pub fn of(name: &str, mut draws: Vec<f64>) -> Self {
        let n = draws.len() as f64;
        let mean = draws.iter().sum::<f64>() / n;
        let sd = (draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt();
        draws.sort_by(f64::total_cmp);
        let (low, high) = (quantile(&draws, 0.05), quantile(&draws, 0.95));
        Self { name: name.to_owned(), mean, sd, low, high, sd_without_noise: None }
    }
}

/// The quantile of sorted numbers at `p`, between the two nearest.
pub(crate) fn quantile(sorted: &[f64], p: f64) -> f64 {
    let place = p * (sorted.len() as f64 - 1.0);
    let (below, share) = (place.floor() as usize, place.fract());
    let at = |k: usize| sorted.get(k).copied().unwrap_or(f64::NAN);
    if share == 0.0 { at(below) } else { at(below) * (1.0 - share) + at(below + 1) * share }
}

/// The mean of rows, column by column.
fn mean_of(rows: &[Vec<f64>]) -> Vec<f64> {
    let mut means = vec![0.0; rows.first().map_or(0, Vec::len)];
    let n = rows.len() as f64;
    rows.iter().for_each(|row| means.iter_mut().zip(row).for_each(|(mean, x)| *mean += x / n));
    means
}

/// Scaled coefficients in the units of the file. What centring takes off goes to the intercept, or to the categories
/// that take its place; where there is neither, nothing is centred.
///
/// ```text
/// β_k = h (b_k/h_k − Σ_j a_jk b_j/h_j)          β_0 = c + h (b_0 − Σ_j b_j c_j/h_j)
/// ```
pub(super) fn unscaled(
    scaled: &[f64],
    (columns, margins): (&[ScaledColumn], &Margins),
    (centre, width): (f64, f64),
) -> Vec<f64> {
    let taken: f64 = scaled.iter().zip(columns).map(|(b, column)| b * column.centre / column.width).sum();
    let mut found: Vec<f64> =
        scaled.iter().zip(columns).map(|(b, column)| width * b / column.width).collect();
    for (product, margins) in margins {
        for (margin, times) in margins {
            found[*margin] -= times * width * scaled[*product] / columns[*product].width;
        }
    }
    for (value, _) in found.iter_mut().zip(columns).filter(|(_, column)| is_constant(&column.of)) {
        *value += centre - width * taken;
    }
    found
}

/// Coefficients on the scale of the public bounds, of those in the units of the file: changes from the middle of the
/// bounds of all numbers. Those of an intercept, and of categories in its place, are what they are there, less `c`.
pub(super) fn scaled_again(
    found: &[f64],
    (columns, margins): (&[ScaledColumn], &Margins),
    centre: f64,
) -> Vec<f64> {
    let mut scaled = found.to_vec();
    for (product, margins) in margins {
        for (margin, times) in margins {
            scaled[*margin] += times * scaled[*product];
        }
    }
    let taken: f64 = scaled.iter().zip(columns).map(|(b, column)| b * column.centre).sum();
    for (value, column) in scaled.iter_mut().zip(columns) {
        *value = if is_constant(&column.of) { *value + taken - centre } else { *value * column.width };
    }
    scaled
}

impl Draws {
    /// What draws of the model's values, on the scale of the public bounds, are in the units of the file.
    ///
    /// # Errors
    ///
    /// A `ppl_core::Error` if they are not draws of this regression.
    pub fn new(specification: &Specification, scaled: &Values) -> ppl_core::Result<Self> {
        let (_, first) = scaled.first_key_value().ok_or_else(|| {
            ppl_core::Error::Values("a regression has at least one value to draw".to_owned())
        })?;
        let count = first.len_of(Axis(0));
        let row = |site: &str, draw: usize| -> Vec<f64> {
            scaled.get(site).map_or_else(Vec::new, |values: &ArrayD<f64>| {
                values.index_axis(Axis(0), draw).iter().copied().collect()
            })
        };
        let (centre, width) = specification.units();
        let mut names: Vec<String> =
            specification.columns.iter().map(|column| column.of.name.clone()).collect();
        let mut coefficients = Vec::with_capacity(count);
        let columns = (specification.columns.as_slice(), &margins(&specification.columns));
        let first_cut =
            specification.columns.iter().position(|column| is_first_cut(specification.family, &column.of));
        let mut first_cuts = Vec::new();
        for draw in 0..count {
            let mut found = unscaled(&row("b", draw), columns, (centre, width));
            first_cuts.extend(first_cut.map(|place| -found.remove(place)));
            coefficients.push(found);
        }
        first_cut.map(|place| names.remove(place));
        let mut more: Vec<(String, Vec<f64>)> = Vec::new();
        let each = |of: &dyn Fn(usize) -> f64| (0..count).map(of).collect::<Vec<f64>>();
        let one = |site: &str, draw: usize| row(site, draw).first().copied().unwrap_or(f64::NAN);
        match specification.family {
            Family::Gaussian | Family::Student => {
                more.push(("sigma".to_owned(), each(&|draw| width * one("sigma", draw))));
                if specification.family == Family::Student {
                    more.push(("nu".to_owned(), each(&|draw| one("nu", draw))));
                }
            }
            Family::NegativeBinomial => more.push(("phi".to_owned(), each(&|draw| one("phi", draw)))),
            Family::ZeroInflatedPoisson => more.push(("zeros".to_owned(), each(&|draw| one("zeros", draw)))),
            Family::Ordinal => {
                for cut in 0..specification.outcome.levels.len().saturating_sub(1) {
                    let first = |draw: usize| first_cuts.get(draw).copied().unwrap_or(f64::NAN);
                    let at = |draw: usize| first(draw) + row("gaps", draw).iter().take(cut).sum::<f64>();
                    more.push((format!("cut[{}]", cut + 1), each(&at)));
                }
            }
            Family::Bernoulli | Family::Poisson => {}
        }
        let mut groups = Vec::new();
        for (k, group) in specification.groups.iter().enumerate() {
            let among = group.columns.len();
            for (place, column) in group.columns.iter().enumerate() {
                let spread = |draw: usize| {
                    width * row(&format!("sd{k}"), draw).get(place).copied().unwrap_or(f64::NAN)
                        / column.width
                };
                more.push((format!("sd({}, {})", group.column, column.of.name), each(&spread)));
            }
            let mut draws = Vec::with_capacity(count);
            for draw in 0..count {
                let mut found = Vec::new();
                for level in row(&format!("u{k}"), draw).chunks(among) {
                    found.extend(unscaled(level, (&group.columns, &Margins::new()), (0.0, width)));
                }
                draws.push(found);
            }
            let names = group.columns.iter().map(|column| column.of.name.clone()).collect();
            groups.push(GroupDraws {
                column: group.column.clone(),
                levels: group.levels.clone(),
                names,
                draws,
            });
        }
        names.shrink_to_fit();
        let point = Some(mean_of(&coefficients));
        Ok(Self { names, coefficients, point, groups, more })
    }

    /// The same, with these coefficients, on the scale of the public bounds, to predict means from.
    #[must_use]
    pub(crate) fn with_point(self, specification: &Specification, scaled: &[f64]) -> Self {
        let columns = (specification.columns.as_slice(), &margins(&specification.columns));
        Self { point: Some(unscaled(scaled, columns, specification.units())), ..self }
    }

    /// The point to predict means from, as the only draw.
    pub(super) fn at_point(&self) -> Self {
        let mean = |rows: &[Vec<f64>]| vec![mean_of(rows)];
        let groups =
            self.groups.iter().map(|group| GroupDraws { draws: mean(&group.draws), ..group.clone() });
        let more = self
            .more
            .iter()
            .map(|(name, found)| (name.clone(), vec![found.iter().sum::<f64>() / found.len() as f64]));
        Self {
            names: self.names.clone(),
            coefficients: vec![self.point.clone().unwrap_or_else(|| mean_of(&self.coefficients))],
            point: None,
            groups: groups.collect(),
            more: more.collect(),
        }
    }

    /// Summaries of the coefficients.
    #[must_use]
    pub fn coefficients(&self) -> Vec<Summary> {
        let column = |j: usize| self.coefficients.iter().map(|draw| draw[j]).collect();
        self.names.iter().enumerate().map(|(j, name)| Summary::of(name, column(j))).collect()
    }

    /// Summaries of what the family and groups have beside.
    #[must_use]
    pub fn others(&self) -> Vec<Summary> {
        self.more.iter().map(|(name, draws)| Summary::of(name, draws.clone())).collect()
    }

    /// The first of them, with twelve digits: what a file keeps. Of columns far from zero slopes and intercepts cancel,
    /// and fewer would be felt.
    #[must_use]
    pub fn kept(&self, draws: usize) -> Self {
        let short =
            |numbers: &Vec<f64>| numbers.iter().map(|x| format!("{x:.11e}").parse().unwrap_or(*x)).collect();
        let rows = |rows: &[Vec<f64>]| rows.iter().take(draws).map(short).collect();
        let more = self
            .more
            .iter()
            .map(|(name, numbers)| (name.clone(), short(&numbers[..draws.min(numbers.len())].to_vec())));
        Self {
            names: self.names.clone(),
            coefficients: rows(&self.coefficients),
            point: self.point.as_ref().map(short),
            groups: self
                .groups
                .iter()
                .map(|group| GroupDraws { draws: rows(&group.draws), ..group.clone() })
                .collect(),
            more: more.collect(),
        }
    }

    /// The draws of one of the others.
    #[must_use]
    pub fn other(&self, name: &str) -> Option<&[f64]> {
        self.more.iter().find(|(other, _)| other == name).map(|(_, draws)| draws.as_slice())
    }
}
