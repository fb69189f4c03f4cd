//! From text to terms: the algebra of Wilkinson and Rogers (1973), as formulaic has it.

use super::expression::{Expression, Function, Operation};
use super::lexer::{Token, syntax, tokens};
use super::{Factor, Formula, Group, Response, Term};
use crate::{Error, Result};

/// Most nested parentheses, so that a hostile formula cannot exhaust the stack.
const DEEPEST: usize = 50;
/// Most terms of a formula.
const MOST_TERMS: usize = 1_000;
/// Largest degree of polynomials and splines.
const LARGEST_DEGREE: usize = 20;

pub(super) fn parse(text: &str) -> Result<Formula> {
    // A comparison on the left is read as a condition; its place stays empty, so that later places are right.
    let comparison =
        text.split_once('~').filter(|(left, _)| left.contains(['<', '>', '=', '!']) && !left.contains('['));
    let blank;
    let read = match comparison {
        None => text,
        Some((left, right)) => {
            blank = format!("{}~{right}", " ".repeat(left.chars().count()));
            blank.as_str()
        }
    };
    let mut parser =
        Parser { text, tokens: tokens(read)?, at: 0, depth: 0, offsets: Vec::new(), groups: Vec::new() };
    let response = match comparison {
        None => parser.response()?,
        Some((left, _)) => {
            parser.next();
            Response::Condition(left.trim().parse()?)
        }
    };
    let mut terms = match parser.sum(vec![Term::default()])? {
        Piece::Terms(terms) => terms,
        Piece::Special => vec![Term::default()],
    };
    parser.expect_end()?;
    terms.sort_by_key(|term| term.factors.len());
    Ok(Formula {
        text: text.trim().to_owned(),
        response,
        terms,
        offsets: parser.offsets,
        groups: parser.groups,
    })
}

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<(Token, usize)>,
    at: usize,
    depth: usize,
    offsets: Vec<Expression>,
    groups: Vec<Group>,
}

/// What a part of a formula is.
enum Piece {
    Terms(Vec<Term>),
    /// An offset or a group, which has been noted.
    Special,
}

impl Parser<'_> {
    fn token(&self) -> &Token {
        &self.tokens[self.at].0
    }

    fn wrong(&self, expected: impl Into<String>) -> Error {
        syntax(self.text, self.tokens[self.at].1, expected)
    }

    fn next(&mut self) -> Token {
        let token = self.token().clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn takes(&mut self, sign: &str) -> bool {
        let found = matches!(self.token(), Token::Sign(other) if *other == sign);
        if found {
            self.next();
        }
        found
    }

    fn closes(&mut self) -> Result<()> {
        if self.takes(")") { Ok(()) } else { Err(self.wrong("a closing parenthesis")) }
    }

    fn deeper<R>(&mut self, inside: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.wrong(format!("at most {DEEPEST} nested parentheses")));
        }
        let found = inside(self);
        self.depth -= 1;
        found
    }

    fn expect_end(&self) -> Result<()> {
        match self.token() {
            Token::End => Ok(()),
            Token::Sign("|") => Err(self.wrong("groups in parentheses, as in (1 | group)")),
            Token::Sign("~") => Err(self.wrong("a single ~")),
            _ => Err(self.wrong("one of + - * / : ^ or the end")),
        }
    }

    fn response(&mut self) -> Result<Response> {
        let Token::Name(column) = self.next() else {
            self.at = 0;
            return Err(self.wrong("the outcome's column and a ~, as in y ~ a + b"));
        };
        let response = if self.takes("[") {
            let level = match self.next() {
                Token::Text(level) | Token::Name(level) => level,
                Token::Number(level) => level.to_string(),
                _ => return Err(self.wrong("a category in quotes, as in y['yes'] ~ a")),
            };
            if !self.takes("]") {
                return Err(self.wrong("a closing bracket"));
            }
            Response::Level(column, level)
        } else {
            Response::Column(column)
        };
        if self.takes("~") {
            Ok(response)
        } else {
            Err(self.wrong("a ~ after the outcome's column, as in y ~ a + b"))
        }
    }

    /// `a + b - c`, beginning with these terms.
    fn sum(&mut self, mut terms: Vec<Term>) -> Result<Piece> {
        let mut special = false;
        let mut first = true;
        loop {
            let mut minus = false;
            let mut signs = 0;
            // Several signs are one, as elsewhere.
            loop {
                if self.takes("-") {
                    minus = !minus;
                } else if !self.takes("+") {
                    break;
                }
                signs += 1;
            }
            if signs == 0 && !first {
                break;
            }
            first = false;
            let zero = matches!(self.token(), Token::Number(number) if *number == 0.0);
            match self.product()? {
                Piece::Special if minus => {
                    return Err(self.wrong("no minus before an offset or a group"));
                }
                Piece::Special => special = true,
                // `+ 0` is `- 1`.
                Piece::Terms(_) if zero && !minus => terms.retain(|term| !term.factors.is_empty()),
                Piece::Terms(_) if zero => add(&mut terms, vec![Term::default()]),
                Piece::Terms(others) if minus => terms.retain(|term| !others.contains(term)),
                Piece::Terms(others) => add(&mut terms, others),
            }
            if terms.len() > MOST_TERMS {
                return Err(self.wrong(format!("at most {MOST_TERMS} terms")));
            }
        }
        Ok(if special && terms.is_empty() { Piece::Special } else { Piece::Terms(terms) })
    }

    fn product(&mut self) -> Result<Piece> {
        let mut left = self.interaction()?;
        loop {
            let sign = match self.token() {
                Token::Sign(sign @ ("*" | "/" | "%in%")) => *sign,
                Token::Name(word) if word == "in" => "%in%",
                _ => return Ok(left),
            };
            self.next();
            let right = self.interaction()?;
            let (Piece::Terms(a), Piece::Terms(b)) = (left, right) else {
                return Err(self.wrong("no offset or group in a product"));
            };
            left = Piece::Terms(match sign {
                "*" => {
                    let both = self.products(&a, &b)?;
                    let mut all = a;
                    add(&mut all, b);
                    add(&mut all, both);
                    all
                }
                "/" => self.nested(a, &b)?,
                _ => self.nested(b, &a)?,
            });
        }
    }

    /// `outer / inner`: the outer terms, and the inner ones within all of them together.
    fn nested(&self, outer: Vec<Term>, inner: &[Term]) -> Result<Vec<Term>> {
        let whole = outer.iter().fold(Term::default(), |whole, term| times(&whole, term));
        let within = self.products(&[whole], inner)?;
        let mut all = outer;
        add(&mut all, within);
        Ok(all)
    }

    fn products(&self, a: &[Term], b: &[Term]) -> Result<Vec<Term>> {
        if a.len() * b.len() > MOST_TERMS {
            return Err(self.wrong(format!("at most {MOST_TERMS} terms")));
        }
        let mut all = Vec::new();
        for left in a {
            add(&mut all, b.iter().map(|right| times(left, right)).collect());
        }
        Ok(all)
    }

    fn interaction(&mut self) -> Result<Piece> {
        let mut left = self.power()?;
        while self.takes(":") {
            let right = self.power()?;
            let (Piece::Terms(a), Piece::Terms(b)) = (left, right) else {
                return Err(self.wrong("no offset or group in an interaction"));
            };
            left = Piece::Terms(self.products(&a, &b)?);
        }
        Ok(left)
    }

    fn power(&mut self) -> Result<Piece> {
        let base = self.atom()?;
        if !(self.takes("^") || self.takes("**")) {
            return Ok(base);
        }
        let (Piece::Terms(terms), Token::Number(order)) = (base, self.token().clone()) else {
            return Err(self.wrong("terms and a whole number, as in (a + b)^2; a square is I(a^2)"));
        };
        if !(1.0..=20.0).contains(&order) || order.fract() != 0.0 {
            return Err(self.wrong("a whole number from 1 to 20"));
        }
        self.next();
        let mut all = terms.clone();
        for _ in 1..order as usize {
            let more = self.products(&all, &terms)?;
            add(&mut all, more);
        }
        Ok(Piece::Terms(all))
    }

    fn atom(&mut self) -> Result<Piece> {
        let place = self.at;
        match self.next() {
            Token::Number(number) if number == 1.0 || number == 0.0 => Ok(Piece::Terms(match number {
                1.0 => vec![Term::default()],
                _ => Vec::new(),
            })),
            Token::Number(_) => {
                self.at = place;
                Err(self.wrong("0 or 1 for the intercept; a multiple of a column is I(2 * x)"))
            }
            Token::Sign("(") => self.deeper(Self::parenthesis),
            Token::Name(function) if self.takes("(") => {
                self.deeper(|parser| parser.function(&function, place))
            }
            Token::Name(column) => Ok(Piece::Terms(vec![one(Factor::Column(column))])),
            _ => {
                self.at = place;
                Err(self.wrong("a column, a function of columns, 0, 1 or a parenthesis"))
            }
        }
    }

    /// Terms in parentheses, or `terms | group`.
    fn parenthesis(&mut self) -> Result<Piece> {
        let begun = (self.at, self.offsets.len(), self.groups.len());
        let inside = self.sum(Vec::new())?;
        if !(self.takes("|") || self.takes("||")) {
            self.closes()?;
            return Ok(inside);
        }
        // Within a group the intercept is there unless it is taken out, so the terms are read again.
        let after = self.at;
        self.at = begun.0;
        let Piece::Terms(terms) = self.sum(vec![Term::default()])? else {
            return Err(self.wrong("terms before the |"));
        };
        if self.offsets.len() > begun.1 || self.groups.len() > begun.2 {
            return Err(self.wrong("no offset or group before a |"));
        }
        self.at = after;
        let Token::Name(column) = self.next() else {
            self.at = after;
            return Err(self.wrong("the column of the groups, as in (1 | group)"));
        };
        if matches!(self.token(), Token::Sign(":" | "/" | "*" | "+")) {
            return Err(self.wrong("one column of groups; groups within groups are a column of their own"));
        }
        self.closes()?;
        if terms.is_empty() {
            return Err(self.wrong("an intercept or a column that differs by group"));
        }
        self.groups.push(Group { terms, column });
        Ok(Piece::Special)
    }

    /// What follows `function(`.
    fn function(&mut self, function: &str, place: usize) -> Result<Piece> {
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

    /// A number: sums of products of powers.
    fn expression(&mut self) -> Result<Expression> {
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

fn unknown(function: &str) -> String {
    if matches!(function, "scale" | "center" | "standardize" | "zscore" | "ns" | "cr" | "cc" | "lag") {
        return format!(
            "another function: {function} would take numbers from all records; name public ones, as in I((x - 40) / 10)"
        );
    }
    let names: Vec<&str> = Function::ALL.iter().map(|(name, _)| *name).collect();
    format!("one of the functions I, {}, poly, bs, C, offset", names.join(", "))
}

fn one(factor: Factor) -> Term {
    Term { factors: vec![factor] }
}

/// The terms that are not there yet, at the end.
fn add(terms: &mut Vec<Term>, others: Vec<Term>) {
    for term in others {
        if !terms.contains(&term) {
            terms.push(term);
        }
    }
}

fn times(a: &Term, b: &Term) -> Term {
    let more = b.factors.iter().filter(|factor| !a.factors.contains(factor));
    Term { factors: a.factors.iter().chain(more).cloned().collect() }
}
