//! From text to a formula: its two sides, and the tokens that [`terms`], [`functions`] and [`numbers`] are read from.

mod functions;
mod numbers;
mod terms;

use super::expression::Expression;
use super::lexer::{Token, left, syntax, tokens};
use super::{Formula, Group, Response, Term};
use crate::{Error, Result};

/// Most nested parentheses, so that a hostile formula cannot exhaust the stack.
const DEEPEST: usize = 50;
/// Most operations of a formula's numbers, each of which may hold all before it: for the same reason.
const MOST_OPERATIONS: usize = 200;
/// Most terms of a formula.
pub(super) const MOST_TERMS: usize = 1_000;

pub(super) fn parse(text: &str) -> Result<Formula> {
    // A comparison on the left is read as a condition; its place stays empty, so that later places are right.
    let characters: Vec<char> = text.chars().collect();
    let comparison = left(&characters).filter(|left| left.compares).map(|left| left.end);
    let blank: String;
    let read = match comparison {
        None => text,
        Some(end) => {
            blank = " ".repeat(end).chars().chain(characters[end..].iter().copied()).collect();
            blank.as_str()
        }
    };
    let (offsets, groups) = (Vec::new(), Vec::new());
    let mut parser = Parser { text, tokens: tokens(read)?, at: 0, depth: 0, operations: 0, offsets, groups };
    let response = match comparison {
        None => parser.response()?,
        Some(end) => {
            parser.next();
            let left: String = characters[..end].iter().collect();
            Response::Condition(left.trim().parse()?)
        }
    };
    let mut terms = match parser.sum(vec![Term::default()])? {
        Piece::Terms(terms) => terms,
        // The intercept was taken out, and nothing but offsets and groups is left.
        Piece::Special => Vec::new(),
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
    operations: usize,
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
}
