//! Expressions: numbers that are computed from the columns of a record.

use super::functions::unknown;
use super::{MOST_OPERATIONS, Parser};
use crate::Result;
use crate::formula::expression::{Expression, Function, Operation};
use crate::formula::lexer::Token;

impl Parser<'_> {
    /// A number: sums of products of powers.
    pub(super) fn expression(&mut self) -> Result<Expression> {
        self.deeper(|parser| parser.binary(0))
    }

    fn binary(&mut self, level: usize) -> Result<Expression> {
        const LEVELS: [[(&str, Operation); 2]; 2] = [
            [("+", Operation::Add), ("-", Operation::Subtract)],
            [("*", Operation::Multiply), ("/", Operation::Divide)],
        ];
        let Some(signs) = LEVELS.get(level) else {
            return self.signed();
        };
        let mut left = self.binary(level + 1)?;
        while let Some((_, operation)) = signs.iter().find(|(sign, _)| self.takes(sign)) {
            self.operations += 1;
            if self.operations > MOST_OPERATIONS {
                return Err(self.wrong(format!("at most {MOST_OPERATIONS} operations")));
            }
            let right = self.binary(level + 1)?;
            left = Expression::Binary(*operation, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn signed(&mut self) -> Result<Expression> {
        if self.takes("-") {
            return Ok(match self.deeper(Self::signed)? {
                Expression::Constant(value) => Expression::Constant(-value),
                of => Expression::Minus(Box::new(of)),
            });
        }
        let base = self.number()?;
        if self.takes("^") || self.takes("**") {
            let exponent = self.deeper(Self::signed)?;
            return Ok(Expression::Binary(Operation::Power, Box::new(base), Box::new(exponent)));
        }
        Ok(base)
    }

    fn number(&mut self) -> Result<Expression> {
        let place = self.at;
        match self.next() {
            Token::Number(value) => Ok(Expression::Constant(value)),
            Token::Sign("(") => {
                let inside = self.expression()?;
                self.closes()?;
                Ok(inside)
            }
            Token::Name(name) if self.takes("(") => {
                let Some((_, function)) = Function::ALL.iter().find(|(known, _)| *known == name) else {
                    self.at = place;
                    return Err(self.wrong(unknown(&name)));
                };
                let of = self.expression()?;
                self.closes()?;
                Ok(Expression::Call(*function, Box::new(of)))
            }
            Token::Name(column) => Ok(Expression::Column(column)),
            _ => {
                self.at = place;
                Err(self.wrong("a number, a column or a function of columns"))
            }
        }
    }
}
