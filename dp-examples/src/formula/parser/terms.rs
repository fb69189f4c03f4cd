//! Sums and products of terms: the algebra of Wilkinson and Rogers (1973), as formulaic has it.

use super::{MOST_TERMS, Parser, Piece};
use crate::Result;
use crate::formula::lexer::Token;
use crate::formula::{Factor, Group, Term};

impl Parser<'_> {
    /// `a + b - c`, beginning with these terms.
    pub(super) fn sum(&mut self, mut terms: Vec<Term>) -> Result<Piece> {
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
            // Stands for all columns until [`Formula::with_columns`] puts them in its place.
            Token::Sign(".") => Ok(Piece::Terms(vec![one(Factor::Column(".".to_owned()))])),
            _ => {
                self.at = place;
                Err(self.wrong("a column, a function of columns, 0, 1 or a parenthesis"))
            }
        }
    }

    /// Terms in parentheses, or `terms | group`. Groups `a/b` are those of `a`, and those of `a:b`.
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
        let mut columns = Vec::new();
        self.groups_of_columns(&mut columns)?;
        let mut nested = vec![columns.clone()];
        while self.takes("/") {
            self.groups_of_columns(&mut columns)?;
            nested.push(columns.clone());
        }
        if matches!(self.token(), Token::Sign("*" | "+")) {
            return Err(
                self.wrong("(1 | a) + (1 | b) for groups that cross; (1 | a:b) for their combinations")
            );
        }
        self.closes()?;
        if terms.is_empty() {
            return Err(self.wrong("an intercept or a column that differs by group"));
        }
        for columns in nested {
            let same = |group: &&Group| {
                group.columns.len() == columns.len()
                    && group.columns.iter().all(|column| columns.contains(column))
            };
            if self
                .groups
                .iter()
                .filter(same)
                .any(|group| group.terms.iter().any(|term| terms.contains(term)))
            {
                return Err(self.wrong(format!(
                    "each coefficient of groups once: there is one by {} already",
                    columns.join(":")
                )));
            }
            self.groups.push(Group { terms: terms.clone(), columns });
        }
        Ok(Piece::Special)
    }

    /// Columns whose combinations are groups, after those within which they are: `a:b`.
    fn groups_of_columns(&mut self, columns: &mut Vec<String>) -> Result<()> {
        loop {
            let place = self.at;
            match self.next() {
                Token::Name(column) if !columns.contains(&column) => columns.push(column),
                Token::Name(_) => {
                    self.at = place;
                    return Err(self.wrong("each column of groups once"));
                }
                _ => {
                    self.at = place;
                    return Err(self.wrong("the column of the groups, as in (1 | group)"));
                }
            }
            if !self.takes(":") {
                return Ok(());
            }
        }
    }
}

pub(super) fn one(factor: Factor) -> Term {
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
