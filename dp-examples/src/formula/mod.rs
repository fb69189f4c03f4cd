//! Formulas in the convention of R, brms and formulaic, and the design matrices they stand for.
//!
//! ```text
//! y ~ a + b            an intercept, a and b
//! a:b, a*b, a/b        the interaction; both and the interaction; a, and b within a
//! (a + b)^2, - a:b     all interactions up to an order; without a term
//! 0 + a, a - 1         no intercept
//! I(x^2), log(x), sqrt(x), exp(x), log1p(x), abs(x), …     functions of numbers, with + − * / ^ inside
//! poly(x, 2)           Legendre polynomials on the public bounds; poly(x, 2, raw=True) powers
//! bs(x, knots=[3, 7])  B-splines with public knots, of degree 3 between the public bounds
//! C(x)                 a column of categories, as it would be by itself
//! offset(x)            a term whose coefficient is 1
//! .                    all other columns that are publicly described, or whose categories are declared public
//! (1 | g), (x | g), (0 + x | g)      intercepts and slopes that differ by group
//! ```
//!
//! Names that are no words are put in backquotes: `` `hours per week` ``. A formula and its parts are read by
//! [`Formula`]; [`matrix`] makes the columns and [`coding`] decides which categories have one, so that the matrix
//! has full rank. Both follow formulaic 1.2 (`peers/formulas.py` compares them).
//!
//! # Privacy
//!
//! What a column holds depends on its own record and on public bounds. Functions whose values depend on all records
//! (`scale`, `center`, splines with knots at quantiles) are refused; R's orthogonal polynomials are replaced by those
//! that are orthogonal over the public bounds, which span the same columns.

pub mod coding;
mod expression;
mod lexer;
pub mod matrix;
mod parser;
mod spline;

use std::collections::HashSet;
use std::fmt;

pub use expression::Expression;

use crate::Result;
use crate::table::condition::Condition;

/// What stands on the left of a formula.
#[derive(Debug, Clone, PartialEq)]
pub enum Response {
    /// A column.
    Column(String),
    /// Whether a column has this value: `y['yes'] ~ …`.
    Level(String, String),
    /// Whether a comparison holds: `rings >= 10 ~ …`.
    Condition(Condition),
}

/// One factor of a term: a function of a record with one or several numbers, or a category.
#[derive(Debug, Clone, PartialEq)]
pub enum Factor {
    /// A column as it is: a number, or a category.
    Column(String),
    /// `C(x)`: a column of categories.
    Category(String),
    /// A number.
    Number(Expression),
    /// Polynomials of a number, from degree 1 on.
    Polynomial {
        /// The number.
        of: Expression,
        /// The largest degree, at least 1.
        degree: usize,
        /// Powers instead of Legendre polynomials.
        raw: bool,
    },
    /// B-splines of a number.
    Spline {
        /// The number.
        of: Expression,
        /// Inner knots, increasing.
        knots: Vec<f64>,
        /// Their degree.
        degree: usize,
        /// Whether the first spline has a column, too.
        intercept: bool,
    },
}

/// A product of factors, in the order in which they were written; none for the intercept.
#[derive(Debug, Clone, Default)]
pub struct Term {
    /// The factors, all different.
    pub factors: Vec<Factor>,
}

impl PartialEq for Term {
    fn eq(&self, other: &Self) -> bool {
        let among = |those: &[Factor], factor| those.contains(factor);
        self.factors.len() == other.factors.len()
            && self.factors.iter().all(|factor| among(&other.factors, factor))
    }
}

/// Intercepts and slopes that differ by group: `(terms | column)`, or `(terms | column:column)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// What has a coefficient for each group.
    pub terms: Vec<Term>,
    /// The columns whose categories, or combinations of them, are the groups.
    pub columns: Vec<String>,
}

impl Group {
    /// `school`, or `school:class`.
    ///
    /// ```
    /// let formula: dp_examples::formula::Formula = "score ~ (1 | school/class)".parse()?;
    /// let groups: Vec<String> = formula.groups.iter().map(|group| group.name()).collect();
    /// assert_eq!(groups, ["school", "school:class"]);
    /// # Ok::<(), dp_examples::Error>(())
    /// ```
    pub fn name(&self) -> String {
        self.columns.join(":")
    }

    /// The same as it is written in a formula.
    pub(crate) fn written(&self) -> String {
        self.columns.iter().map(|column| name(column)).collect::<Vec<_>>().join(":")
    }
}

/// A formula, read and expanded.
///
/// # Examples
///
/// ```
/// use dp_examples::formula::Formula;
///
/// let formula: Formula = "income ~ age*sex - age + offset(log(hours)) + (1 | job)".parse()?;
/// let terms: Vec<String> = formula.terms.iter().map(ToString::to_string).collect();
/// assert_eq!(terms, ["1", "sex", "age:sex"]);
/// assert_eq!((formula.offsets.len(), formula.groups[0].name().as_str()), (1, "job"));
/// assert_eq!(formula.columns(), ["sex", "age", "hours", "job"]);
///
/// let told = "y ~ a + + (b".parse::<Formula>().unwrap_err().to_string();
/// assert_eq!(told, "'y ~ a + + (b' at character 13: expected a closing parenthesis");
/// # Ok::<(), dp_examples::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Formula {
    /// As it was written.
    pub text: String,
    /// The outcome.
    pub response: Response,
    /// The terms by their number of factors, and as they were written among equals. An empty one is the intercept.
    pub terms: Vec<Term>,
    /// What is added to the predictor as it is.
    pub offsets: Vec<Expression>,
    /// Coefficients that differ by group.
    pub groups: Vec<Group>,
}

impl std::str::FromStr for Formula {
    type Err = crate::Error;

    fn from_str(text: &str) -> Result<Self> {
        parser::parse(text)
    }
}

impl Formula {
    /// Whether there is a constant term.
    pub fn has_intercept(&self) -> bool {
        self.terms.iter().any(|term| term.factors.is_empty())
    }

    /// The same with columns in the place of each `.`: those among `columns` that are neither the outcome nor the
    /// groups of a term, as a sum in parentheses. A formula without a `.` is not changed.
    ///
    /// # Errors
    ///
    /// [`Error::Formula`](crate::Error::Formula) where no column is left, or more than a formula may have terms.
    ///
    /// ```
    /// use dp_examples::formula::Formula;
    /// let formula: Formula = "y ~ . - a:b + (1 | g)".parse()?;
    /// let written = formula.with_columns(["a", "b", "g", "y", "hours a week"])?;
    /// assert_eq!(written.text, "y ~ (a + b + `hours a week`) - a:b + (1 | g)");
    /// # Ok::<(), dp_examples::Error>(())
    /// ```
    pub fn with_columns<'c>(&self, columns: impl IntoIterator<Item = &'c str>) -> Result<Self> {
        // On the left a dot can only belong to a number or to the name of a column.
        let characters: Vec<char> = self.text.chars().collect();
        let left = lexer::left(&characters).map_or(0, |left| left.end);
        let right: String = characters.iter().skip(left + 1).collect();
        let dots: Vec<usize> = lexer::tokens(&right)?
            .into_iter()
            .filter(|(token, _)| *token == lexer::Token::Sign("."))
            .map(|(_, place)| place - 1)
            .collect();
        if dots.is_empty() {
            return Ok(self.clone());
        }
        let taken = |column: &str| {
            column == self.outcome()
                || self.groups.iter().any(|group| group.columns.iter().any(|other| other == column))
        };
        let names: Vec<String> = columns.into_iter().filter(|column| !taken(column)).map(name).collect();
        if names.is_empty() {
            let reason = format!(
                "'{self}': the . stands for all columns that the schema describes, and there is no other"
            );
            return Err(crate::Error::Formula { reason });
        }
        if names.len() > parser::MOST_TERMS {
            let reason = format!(
                "'{self}': the . stands for {} columns; a formula has at most {} terms, so name those that matter",
                names.len(),
                parser::MOST_TERMS
            );
            return Err(crate::Error::Formula { reason });
        }
        let all = format!("({})", names.join(" + "));
        let mut text: String = self.text.chars().take(left + 1).collect();
        for (place, c) in right.chars().enumerate() {
            if dots.contains(&place) { text += &all } else { text.push(c) }
        }
        text.parse()
    }

    /// The columns that are predicted from, each once, in the order in which they are met.
    pub fn columns(&self) -> Vec<&str> {
        let (mut found, mut seen) = (Vec::new(), HashSet::new());
        let mut add = |column| {
            if seen.insert(column) {
                found.push(column);
            }
        };
        let groups = self.groups.iter().flat_map(|group| &group.terms);
        for factor in self.terms.iter().chain(groups).flat_map(|term| &term.factors) {
            factor.columns().into_iter().for_each(&mut add);
        }
        self.offsets.iter().flat_map(Expression::columns).for_each(&mut add);
        self.groups.iter().flat_map(|group| &group.columns).map(String::as_str).for_each(&mut add);
        found
    }

    /// The response's column.
    pub fn outcome(&self) -> &str {
        match &self.response {
            Response::Column(column) | Response::Level(column, _) => column,
            Response::Condition(condition) => condition.column(),
        }
    }
}

impl Factor {
    fn columns(&self) -> Vec<&str> {
        match self {
            Self::Column(column) | Self::Category(column) => vec![column],
            Self::Number(of) | Self::Polynomial { of, .. } | Self::Spline { of, .. } => of.columns(),
        }
    }
}

/// A column's name as it is written in a formula.
pub(crate) fn name(column: &str) -> String {
    let mut characters = column.chars();
    let word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let plain = characters.next().is_some_and(|c| c.is_alphabetic() || c == '_') && characters.all(word);
    if plain { column.to_owned() } else { format!("`{column}`") }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Column(column) => f.write_str(&name(column)),
            Self::Category(column) => write!(f, "C({})", name(column)),
            Self::Number(of) if of.is_call() => write!(f, "{of}"),
            Self::Number(of) => write!(f, "I({of})"),
            Self::Polynomial { of, degree, raw } => {
                write!(f, "poly({of}, {degree}{})", if *raw { ", raw=True" } else { "" })
            }
            Self::Spline { of, knots, degree, intercept } => {
                let knots: Vec<String> = knots.iter().map(ToString::to_string).collect();
                write!(f, "bs({of}, knots=[{}]", knots.join(", "))?;
                if *degree != 3 {
                    write!(f, ", degree={degree}")?;
                }
                f.write_str(if *intercept { ", include_intercept=True)" } else { ")" })
            }
        }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.factors.is_empty() {
            return f.write_str("1");
        }
        let names: Vec<String> = self.factors.iter().map(ToString::to_string).collect();
        f.write_str(&names.join(":"))
    }
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests;
