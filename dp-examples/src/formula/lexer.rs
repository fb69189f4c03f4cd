//! The signs of a formula.

use crate::table::condition::is_operator;
use crate::{Error, Result};

/// One sign.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Name(String),
    Number(f64),
    Text(String),
    /// An operator or a bracket.
    Sign(&'static str),
    End,
}

/// Longer signs come before those they begin with.
const SIGNS: [&str; 20] =
    ["%in%", "**", "||", "~", "+", "-", "*", "/", ":", "^", "|", "(", ")", "[", "]", ",", "=", "{", "}", "."];

/// Longest formula, in characters.
const LONGEST: usize = 100_000;

pub(super) fn syntax(formula: &str, position: usize, expected: impl Into<String>) -> Error {
    Error::FormulaSyntax { formula: formula.to_owned(), position, expected: expected.into() }
}

/// The signs with the places where they begin, in characters from 1.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, usize)>> {
    let characters: Vec<char> = text.chars().collect();
    if characters.len() > LONGEST {
        return Err(syntax(text, LONGEST, format!("at most {LONGEST} characters")));
    }
    let mut found = Vec::new();
    let mut at = 0;
    'next: while at < characters.len() {
        let (c, start) = (characters[at], at + 1);
        if c.is_whitespace() {
            at += 1;
            continue;
        }
        if c.is_alphabetic() || c == '_' {
            let word = |c: &&char| c.is_alphanumeric() || **c == '_' || **c == '.';
            let name: String = characters[at..].iter().take_while(word).collect();
            at += name.chars().count();
            found.push((Token::Name(name), start));
            continue;
        }
        if c.is_ascii_digit() || c == '.' && characters.get(at + 1).is_some_and(char::is_ascii_digit) {
            let length = number_length(&characters[at..]);
            let digits: String = characters[at..at + length].iter().collect();
            let number = digits.parse::<f64>().ok().filter(|number| number.is_finite());
            found.push((Token::Number(number.ok_or_else(|| syntax(text, start, "a finite number"))?), start));
            at += length;
            continue;
        }
        if matches!(c, '`' | '"' | '\'') {
            let inside: String = characters[at + 1..].iter().take_while(|other| **other != c).collect();
            at += inside.chars().count() + 2;
            if at > characters.len() {
                return Err(syntax(text, start, format!("a closing {c}")));
            }
            found.push((if c == '`' { Token::Name(inside) } else { Token::Text(inside) }, start));
            continue;
        }
        for sign in SIGNS {
            if characters[at..].iter().take(sign.len()).copied().eq(sign.chars()) {
                found.push((Token::Sign(sign), start));
                at += sign.len();
                continue 'next;
            }
        }
        return Err(syntax(text, start, "a column's name, a number, or one of ~ + - * / : ^ ( ) |"));
    }
    found.push((Token::End, characters.len() + 1));
    Ok(found)
}

/// The left side of a formula.
pub(super) struct Left {
    /// Where its `~` stands, in characters from 0.
    pub(super) end: usize,
    /// Whether it is a comparison.
    pub(super) compares: bool,
}

/// The left side of a formula, if there is a `~`. Neither a `~` nor an operator counts in quotes, which begin where a
/// name or a value does; an operator in brackets belongs to a category, and brackets after an operator to a value.
pub(super) fn left(characters: &[char]) -> Option<Left> {
    let (mut at, mut begins, mut compares, mut has_bracket) = (0, true, false, false);
    while let Some(&c) = characters.get(at) {
        let opens = begins && (matches!(c, '"' | '\'') || c == '`' && !compares);
        match c {
            '~' => return Some(Left { end: at, compares }),
            // In a comparison a backslash may stand before a double quote.
            _ if opens => at = closing(characters, at, c == '"' && !has_bracket)?,
            '[' if !compares => has_bracket = true,
            _ if is_operator(c) && !has_bracket => compares = true,
            _ => {}
        }
        begins = !opens && (c == '[' || is_operator(c) || begins && c.is_whitespace());
        at += 1;
    }
    None
}

/// Where a quote that opens at a place is closed.
fn closing(characters: &[char], open: usize, escapes: bool) -> Option<usize> {
    let mut at = open + 1;
    while let Some(&c) = characters.get(at) {
        match c {
            '\\' if escapes => at += 1,
            _ if c == characters[open] => return Some(at),
            _ => {}
        }
        at += 1;
    }
    None
}

/// The characters of `1`, `2.5`, `1e-3`.
fn number_length(characters: &[char]) -> usize {
    let digits = |from: usize| characters[from..].iter().take_while(|c| c.is_ascii_digit()).count();
    let mut length = digits(0);
    if characters.get(length) == Some(&'.') {
        length += 1 + digits(length + 1);
    }
    if matches!(characters.get(length), Some('e' | 'E')) {
        let sign = usize::from(matches!(characters.get(length + 1), Some('+' | '-')));
        let exponent = characters.get(length + 1 + sign..).map_or(0, |_| digits(length + 1 + sign));
        if exponent > 0 {
            length += 1 + sign + exponent;
        }
    }
    length
}
