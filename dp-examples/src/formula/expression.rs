//! Functions of a record's numbers: `I(x^2)`, `log(x + 1)`, and where their values lie.

use std::fmt;

use super::name;

/// An operation on two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `^`, also written `**`
    Power,
}

/// A function of one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// The natural logarithm.
    Log,
    /// The logarithm to base 2.
    Log2,
    /// The logarithm to base 10.
    Log10,
    /// `log(1 + x)`
    Log1p,
    /// `e^x`
    Exp,
    /// The square root.
    Sqrt,
    /// The absolute value.
    Abs,
}

impl Function {
    pub(super) const ALL: [(&'static str, Self); 7] = [
        ("log", Self::Log),
        ("log2", Self::Log2),
        ("log10", Self::Log10),
        ("log1p", Self::Log1p),
        ("exp", Self::Exp),
        ("sqrt", Self::Sqrt),
        ("abs", Self::Abs),
    ];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, function)| *function == self).map_or("", |(name, _)| name)
    }

    fn of(self, x: f64) -> f64 {
        match self {
            Self::Log => x.ln(),
            Self::Log2 => x.log2(),
            Self::Log10 => x.log10(),
            Self::Log1p => x.ln_1p(),
            Self::Exp => x.exp(),
            Self::Sqrt => x.sqrt(),
            Self::Abs => x.abs(),
        }
    }
}

/// A number computed from a record's columns.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// A constant.
    Constant(f64),
    /// A column of numbers.
    Column(String),
    /// Minus a number.
    Minus(Box<Expression>),
    /// An operation on two numbers.
    Binary(Operation, Box<Expression>, Box<Expression>),
    /// A function of a number.
    Call(Function, Box<Expression>),
}

/// Numbers from a low to a high end.
pub(crate) type Range = (f64, f64);

impl Expression {
    /// The columns it is computed from.
    pub fn columns(&self) -> Vec<&str> {
        match self {
            Self::Constant(_) => Vec::new(),
            Self::Column(column) => vec![column],
            Self::Minus(of) | Self::Call(_, of) => of.columns(),
            Self::Binary(_, left, right) => [left.columns(), right.columns()].concat(),
        }
    }

    /// The column and the exponent of `x`, `x^2`, `x * x`, …
    pub(super) fn power(&self) -> Option<(&str, u32)> {
        match self {
            Self::Column(column) => Some((column, 1)),
            Self::Binary(Operation::Power, base, exponent) => match (base.power()?, exponent.as_ref()) {
                ((column, power), Self::Constant(exponent))
                    if exponent.fract() == 0.0 && (1.0..=8.0).contains(exponent) =>
                {
                    Some((column, power * *exponent as u32))
                }
                _ => None,
            },
            Self::Binary(Operation::Multiply, left, right) => {
                let ((column, power), (other, more)) = (left.power()?, right.power()?);
                (column == other).then_some((column, power + more))
            }
            _ => None,
        }
    }

    pub(super) fn is_call(&self) -> bool {
        matches!(self, Self::Call(..))
    }

    /// The value where columns have these values.
    pub(crate) fn value(&self, column: &impl Fn(&str) -> f64) -> f64 {
        match self {
            Self::Constant(value) => *value,
            Self::Column(name) => column(name),
            Self::Minus(of) => -of.value(column),
            Self::Call(function, of) => function.of(of.value(column)),
            Self::Binary(operation, left, right) => {
                let (left, right) = (left.value(column), right.value(column));
                match operation {
                    Operation::Add => left + right,
                    Operation::Subtract => left - right,
                    Operation::Multiply => left * right,
                    Operation::Divide => left / right,
                    Operation::Power => left.powf(right),
                }
            }
        }
    }

    /// An interval that holds the value wherever columns lie within these ranges, from the ranges alone. What is
    /// not finite somewhere in them is an error, in words.
    pub(crate) fn range<E>(
        &self,
        column: &impl Fn(&str) -> Result<Range, E>,
        wrong: &impl Fn(String) -> E,
    ) -> Result<Range, E> {
        let found = match self {
            Self::Constant(value) => (*value, *value),
            Self::Column(name) => column(name)?,
            Self::Minus(of) => {
                let (low, high) = of.range(column, wrong)?;
                (-high, -low)
            }
            Self::Call(function, of) => {
                let (low, high) = of.range(column, wrong)?;
                let least = match function {
                    Function::Log | Function::Log2 | Function::Log10 => Some((0.0, low > 0.0)),
                    Function::Log1p => Some((-1.0, low > -1.0)),
                    Function::Sqrt => Some((0.0, low >= 0.0)),
                    Function::Exp | Function::Abs => None,
                };
                if let Some((limit, false)) = least {
                    let side = if *function == Function::Sqrt { "below" } else { "at or below" };
                    return Err(wrong(format!(
                        "{self}: by the public bounds {of} may be {low}, and there is no {} of numbers {side} {limit}; \
                         add a constant, as in {}({of} + 1), or move the bound",
                        function.name(),
                        function.name(),
                    )));
                }
                if *function == Function::Abs && low < 0.0 {
                    ((-high).max(low).max(0.0), high.max(-low))
                } else {
                    (function.of(low), function.of(high))
                }
            }
            Self::Binary(operation, left, right) => {
                let (a, b) = left.range(column, wrong)?;
                let (c, d) = right.range(column, wrong)?;
                let hull = |f: fn(f64, f64) -> f64| {
                    let corners = [f(a, c), f(a, d), f(b, c), f(b, d)];
                    (
                        corners.iter().copied().fold(f64::INFINITY, f64::min),
                        corners.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                    )
                };
                match operation {
                    Operation::Add => (a + c, b + d),
                    Operation::Subtract => (a - d, b - c),
                    Operation::Multiply => hull(|x, y| x * y),
                    Operation::Divide if c <= 0.0 && d >= 0.0 => {
                        return Err(wrong(format!("{self}: by the public bounds {right} may be 0")));
                    }
                    Operation::Divide => hull(|x, y| x / y),
                    Operation::Power => {
                        let whole = c == d && c.fract() == 0.0;
                        if !whole && a < 0.0 || c < 0.0 && a <= 0.0 && b >= 0.0 {
                            return Err(wrong(format!(
                                "{self}: by the public bounds {left} may be {}, which has no such power",
                                if a < 0.0 && !whole { a } else { 0.0 }
                            )));
                        }
                        let (low, high) = hull(f64::powf);
                        // An even power is smallest at zero.
                        if whole && c % 2.0 == 0.0 && a < 0.0 && b > 0.0 { (0.0, high) } else { (low, high) }
                    }
                }
            }
        };
        if !(found.0.is_finite() && found.1.is_finite()) {
            return Err(wrong(format!("{self}: by the public bounds it may be too large to compute with")));
        }
        Ok(found)
    }

    fn strength(&self) -> u8 {
        match self {
            Self::Binary(Operation::Add | Operation::Subtract, ..) => 1,
            Self::Binary(Operation::Multiply | Operation::Divide, ..) => 2,
            Self::Minus(_) => 3,
            Self::Constant(value) if *value < 0.0 => 3,
            Self::Binary(Operation::Power, ..) => 4,
            _ => 5,
        }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Parentheses where the inner operation binds less tightly.
        let inner = |of: &Expression, least: u8| match of.strength() < least {
            true => format!("({of})"),
            false => of.to_string(),
        };
        match self {
            Self::Constant(value) => write!(f, "{value}"),
            Self::Column(column) => f.write_str(&name(column)),
            Self::Minus(of) => write!(f, "-{}", inner(of, 4)),
            Self::Call(function, of) => write!(f, "{}({of})", function.name()),
            Self::Binary(operation, left, right) => {
                let (sign, left_least, right_least) = match operation {
                    Operation::Add => (" + ", 1, 1),
                    Operation::Subtract => (" - ", 1, 2),
                    Operation::Multiply => (" * ", 2, 2),
                    Operation::Divide => (" / ", 2, 3),
                    Operation::Power => ("^", 5, 4),
                };
                write!(f, "{}{sign}{}", inner(left, left_least), inner(right, right_least))
            }
        }
    }
}
