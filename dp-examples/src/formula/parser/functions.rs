//! Functions of columns that make factors, and their arguments.

use super::terms::one;
use super::{Parser, Piece};
use crate::Result;
use crate::formula::Factor;
use crate::formula::expression::{Expression, Function};
use crate::formula::lexer::Token;

/// Largest degree of polynomials and splines.
const LARGEST_DEGREE: usize = 20;

impl Parser<'_> {
    /// What follows `function(`.
    pub(super) fn function(&mut self, function: &str, place: usize) -> Result<Piece> {
        let factor = match function {
            "offset" => {
                let of = self.expression()?;
                self.closes()?;
                self.offsets.push(of);
                return Ok(Piece::Special);
            }
            "I" => Factor::Number(self.expression()?),
            "C" | "factor" => match self.next() {
                Token::Name(column) => Factor::Category(column),
                _ => return Err(self.wrong("a column")),
            },
            "poly" => self.polynomial()?,
            "bs" => self.spline()?,
            _ => match Function::ALL.iter().find(|(name, _)| *name == function) {
                Some((_, found)) => Factor::Number(Expression::Call(*found, Box::new(self.expression()?))),
                None => {
                    self.at = place;
                    return Err(self.wrong(unknown(function)));
                }
            },
        };
        self.closes()?;
        Ok(Piece::Terms(vec![one(factor)]))
    }

    fn polynomial(&mut self) -> Result<Factor> {
        let of = self.expression()?;
        let (mut degree, mut raw) = (1, false);
        while self.takes(",") {
            match self.keyword()?.as_deref() {
                None | Some("degree") => degree = self.degree(1)?,
                Some("raw") => raw = self.truth()?,
                Some(_) => return Err(self.wrong("degree= or raw=")),
            }
        }
        Ok(Factor::Polynomial { of, degree, raw })
    }

    fn spline(&mut self) -> Result<Factor> {
        let of = self.expression()?;
        let (mut knots, mut degree, mut intercept) = (None, 3, false);
        while self.takes(",") {
            match self.keyword()?.as_deref() {
                Some("knots") => knots = Some(self.numbers()?),
                Some("degree") => degree = self.degree(0)?,
                Some("include_intercept" | "intercept") => intercept = self.truth()?,
                None | Some("df") => {
                    let why = "knots=[…]: knots at quantiles (df=) would be read from the records, so they have to be \
                               named";
                    return Err(self.wrong(why));
                }
                Some(_) => return Err(self.wrong("knots=, degree= or include_intercept=")),
            }
        }
        let knots = knots.ok_or_else(|| self.wrong("knots=[…], public numbers within the public bounds"))?;
        if !knots.is_sorted() {
            return Err(self.wrong("increasing knots"));
        }
        Ok(Factor::Spline { of, knots, degree, intercept })
    }

    /// The name before an equals sign, if there is one.
    fn keyword(&mut self) -> Result<Option<String>> {
        let (Token::Name(name), Some((Token::Sign("="), _))) =
            (self.token().clone(), self.tokens.get(self.at + 1))
        else {
            return Ok(None);
        };
        self.at += 2;
        Ok(Some(name))
    }

    fn degree(&mut self, least: usize) -> Result<usize> {
        match self.token() {
            Token::Number(number)
                if number.fract() == 0.0 && (least..=LARGEST_DEGREE).contains(&(*number as usize)) =>
            {
                let degree = *number as usize;
                self.next();
                Ok(degree)
            }
            _ => Err(self.wrong(format!("a whole degree from {least} to {LARGEST_DEGREE}"))),
        }
    }

    fn truth(&mut self) -> Result<bool> {
        match self.next() {
            Token::Name(word) if matches!(word.as_str(), "True" | "TRUE" | "true") => Ok(true),
            Token::Name(word) if matches!(word.as_str(), "False" | "FALSE" | "false") => Ok(false),
            _ => Err(self.wrong("True or False")),
        }
    }

    /// `[1, 2]` or `c(1, 2)`.
    fn numbers(&mut self) -> Result<Vec<f64>> {
        let close = match self.next() {
            Token::Sign("[") => "]",
            Token::Name(word) if word == "c" && self.takes("(") => ")",
            _ => return Err(self.wrong("numbers in brackets, as in [1, 2.5]")),
        };
        let mut found = Vec::new();
        while !self.takes(close) {
            if !found.is_empty() && !self.takes(",") {
                return Err(self.wrong("a comma or the closing bracket"));
            }
            let minus = self.takes("-");
            let Token::Number(number) = self.next() else {
                return Err(self.wrong("a number"));
            };
            found.push(if minus { -number } else { number });
        }
        Ok(found)
    }
}

pub(super) fn unknown(function: &str) -> String {
    if matches!(function, "scale" | "center" | "standardize" | "zscore" | "ns" | "cr" | "cc" | "lag") {
        return format!(
            "another function: {function} would take numbers from all records; name public ones, as in I((x - 40) / 10)"
        );
    }
    let names: Vec<&str> = Function::ALL.iter().map(|(name, _)| *name).collect();
    format!("one of the functions I, {}, poly, bs, C, offset", names.join(", "))
}
