//! The condition that makes labels: `rings >= 10`, `class == "yes"`.

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

use crate::schema::{Entry, Kind, MISSING_TEXTS, date};
use crate::table::Table;
use crate::{Error, Result};

/// How a cell is compared with the condition's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `>=`
    AtLeast,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `<`
    Below,
    /// `==`, also written `=`
    Equal,
    /// `!=`
    NotEqual,
}

impl Operator {
    fn symbol(self) -> &'static str {
        match self {
            Self::AtLeast => ">=",
            Self::AtMost => "<=",
            Self::Above => ">",
            Self::Below => "<",
            Self::Equal => "==",
            Self::NotEqual => "!=",
        }
    }

    /// The operator at the start of `rest`, and its length in characters.
    fn at(rest: &[char]) -> Option<(Self, usize)> {
        match rest {
            ['>', '=', ..] => Some((Self::AtLeast, 2)),
            ['<', '=', ..] => Some((Self::AtMost, 2)),
            ['=', '=', ..] => Some((Self::Equal, 2)),
            ['!', '=', ..] => Some((Self::NotEqual, 2)),
            ['>', ..] => Some((Self::Above, 1)),
            ['<', ..] => Some((Self::Below, 1)),
            ['=', ..] => Some((Self::Equal, 1)),
            _ => None,
        }
    }

    fn orders(self) -> bool {
        !matches!(self, Self::Equal | Self::NotEqual)
    }
}

/// What cells are compared with.
#[derive(Debug, Clone, PartialEq)]
pub enum Comparand {
    /// A finite number: every cell of the column has to be one too.
    Number(f64),
    /// A text, compared exactly; only with `==` and `!=`.
    Text(String),
}

/// A comparison of one column with one value, true for the positive records.
///
/// The column may be quoted (`"ring count" > 9`); a value is a number if it reads as one, and a text if it is
/// quoted or does not. Inside double quotes `\"` is a quote and `\\` a backslash; single quotes hold what stands
/// between them as it is. White space around the three parts is ignored.
///
/// # Examples
///
/// ```
/// use dp_examples::table::{Table, condition::Condition};
///
/// let table = Table::parse("a.csv", b"rings,kept\n15,yes\n7,no\n10,yes\n")?;
/// let old: Condition = "rings>=10".parse()?;
/// assert_eq!(old.evaluate(&table)?, [true, false, true]);
/// let kept: Condition = "kept == \"yes\"".parse()?;
/// assert_eq!(kept.evaluate(&table)?, [true, false, true]);
/// assert!("rings>>10".parse::<Condition>().is_err());
/// # Ok::<(), dp_examples::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    column: String,
    operator: Operator,
    comparand: Comparand,
}

impl Condition {
    /// A condition from its parts.
    ///
    /// # Errors
    ///
    /// [`Error::ConditionSyntax`] where the column has no name, a number is not finite, or texts would be
    /// ordered.
    pub fn new(column: &str, operator: Operator, comparand: Comparand) -> Result<Self> {
        let condition = Self { column: column.to_owned(), operator, comparand };
        let expected = match &condition.comparand {
            _ if column.is_empty() => Some(COLUMN),
            Comparand::Number(number) if !number.is_finite() => Some(FINITE),
            Comparand::Text(_) if operator.orders() => Some(ORDERED),
            _ => None,
        };
        match expected {
            None => Ok(condition),
            Some(expected) => {
                Err(Error::ConditionSyntax { expression: condition.to_string(), position: 1, expected })
            }
        }
    }

    /// The column whose cells are compared.
    pub fn column(&self) -> &str {
        &self.column
    }

    /// How they are compared.
    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// What they are compared with.
    pub fn comparand(&self) -> &Comparand {
        &self.comparand
    }

    /// Whether the condition holds, for each record of `table` in order.
    ///
    /// # Errors
    ///
    /// [`Error::MissingColumn`]; for numbers whatever [`Cell::number`](crate::table::Cell::number) says of a
    /// cell; for texts [`Error::EmptyCell`] unless the empty text is what is compared with: a missing label
    /// is no label.
    pub fn evaluate(&self, table: &Table) -> Result<Vec<bool>> {
        let mut holds = Vec::with_capacity(table.len());
        for cell in table.cells(&self.column)? {
            holds.push(match &self.comparand {
                Comparand::Number(number) => self.compare(cell.number()?, *number),
                Comparand::Text(text) if cell.text().is_empty() && !text.is_empty() => {
                    return Err(cell.empty("a text to compare"));
                }
                Comparand::Text(text) => (cell.text() == text) == (self.operator == Operator::Equal),
            });
        }
        Ok(holds)
    }

    /// Checks a comparison on a column that a schema knows: what is compared with is something that the column can
    /// hold, and a cell without a value, or with one that the column cannot hold, is neither yes nor no. Records that
    /// lack a value and are to be left out have to be left out before.
    ///
    /// # Errors
    ///
    /// [`Error::Formula`] for what is compared with; [`Error::MissingValue`], [`Error::UnknownCategory`],
    /// [`Error::NotANumber`], [`Error::NotFinite`] and [`Error::NotADate`] for cells.
    pub(crate) fn check_described(&self, entry: &Entry, table: &Table) -> Result<()> {
        self.check_comparand(&entry.kind)?;
        let known: HashSet<&str> = match &entry.kind {
            Kind::Categories(names) => names.iter().map(String::as_str).collect(),
            Kind::Range { .. } | Kind::Dates { .. } => HashSet::new(),
        };
        for cell in table.cells(&self.column)? {
            match &entry.kind {
                _ if entry.is_missing(cell.text()) => return Err(cell.missing()),
                Kind::Categories(names) if !known.contains(cell.text()) => return Err(cell.unknown(names)),
                Kind::Dates { .. } if date::days(cell.text()).is_none() => return Err(cell.not_a_date()),
                Kind::Range { .. } => drop(cell.number()?),
                Kind::Categories(_) | Kind::Dates { .. } => {}
            }
        }
        Ok(())
    }

    /// Checks that no record lacks a value of a column that no schema knows: what usually stands for a missing value
    /// does so here, unless it is what is compared with.
    ///
    /// # Errors
    ///
    /// [`Error::MissingColumn`]; [`Error::MissingValue`].
    pub(crate) fn check_undescribed(&self, table: &Table) -> Result<()> {
        let Comparand::Text(text) = &self.comparand else { return Ok(()) };
        let is_missing = |cell: &str| !cell.is_empty() && cell != text && MISSING_TEXTS.contains(&cell);
        match table.cells(&self.column)?.find(|cell| is_missing(cell.text())) {
            Some(cell) => Err(cell.missing()),
            None => Ok(()),
        }
    }

    /// Whether a column of this kind can hold what is compared with: else all records would be on one side.
    fn check_comparand(&self, kind: &Kind) -> Result<()> {
        let column = &self.column;
        let none = |names: &[String], value: &str| {
            format!("'{value}' is none of the categories of {column}: {}", names.join(", "))
        };
        let number = |name: &String| name.parse::<f64>().ok().filter(|number| number.is_finite());
        let reason = match (kind, &self.comparand) {
            (Kind::Categories(names), Comparand::Text(text)) if !names.contains(text) => none(names, text),
            (Kind::Categories(names), Comparand::Number(value)) => {
                match names.iter().find(|name| number(name).is_none()) {
                    Some(name) => format!(
                        "'{self}': {column} has the category '{name}', which is no number; a category is \
                         compared with a text in quotes, as in {column} == \"{name}\""
                    ),
                    None if !self.operator.orders()
                        && !names.iter().any(|name| number(name) == Some(*value)) =>
                    {
                        none(names, &value.to_string())
                    }
                    None => return Ok(()),
                }
            }
            (Kind::Range { .. }, Comparand::Text(text)) => format!(
                "'{self}': {column} is a column of numbers, and \"{text}\" is a text; compare with a number, \
                 without quotes"
            ),
            (Kind::Dates { .. }, Comparand::Text(text)) if date::days(text).is_some() => return Ok(()),
            (Kind::Dates { .. }, _) => format!(
                "'{self}': {column} is a column of dates, which are compared with a date in quotes, as in {column} == \
                 \"2024-02-29\""
            ),
            _ => return Ok(()),
        };
        Err(Error::Formula { reason })
    }

    fn compare(&self, cell: f64, number: f64) -> bool {
        match self.operator {
            Operator::AtLeast => cell >= number,
            Operator::AtMost => cell <= number,
            Operator::Above => cell > number,
            Operator::Below => cell < number,
            Operator::Equal => cell == number,
            Operator::NotEqual => cell != number,
        }
    }
}

impl fmt::Display for Condition {
    /// Writes the condition so that it reads back as itself.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bare = !self.column.is_empty()
            && self.column.trim() == self.column
            && !self.column.starts_with(['"', '\'', '`'])
            && !self.column.contains(is_operator);
        if bare {
            f.write_str(&self.column)?;
        } else {
            write_quoted(f, &self.column)?;
        }
        write!(f, " {} ", self.operator.symbol())?;
        match &self.comparand {
            Comparand::Number(number) => write!(f, "{number}"),
            Comparand::Text(text) => write_quoted(f, text),
        }
    }
}

fn write_quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    write!(f, "\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

const COLUMN: &str = "expected the name of a column";
const OPERATOR: &str = "expected one of >= <= > < == !=";
const VALUE: &str = "expected a number or a text to compare with";
const QUOTES: &str =
    "expected a number or a text; a text that begins with one of < > = ! goes in quotes, as in == \">50K\"";
const FINITE: &str = "expected a finite number (a text of that name goes in quotes)";
const ORDERED: &str = "expected a number, since texts are compared with == or != only";
const CLOSING: &str = "the quote opened here is never closed";
const ESCAPE: &str = "expected \\\" or \\\\ after a backslash";
const NOTHING: &str = "expected nothing after the value; a condition is one comparison";

/// Whether an operator begins with it.
pub(crate) fn is_operator(character: char) -> bool {
    matches!(character, '<' | '>' | '=' | '!')
}

impl FromStr for Condition {
    type Err = Error;

    fn from_str(expression: &str) -> Result<Self> {
        let characters: Vec<char> = expression.chars().collect();
        parse(&characters).map_err(|(index, expected)| Error::ConditionSyntax {
            expression: expression.to_owned(),
            position: index + 1,
            expected,
        })
    }
}

/// The index of a mistake, and what was expected there.
type Mistake = (usize, &'static str);

fn parse(all: &[char]) -> Result<Condition, Mistake> {
    let start = skip_space(all, 0);
    let (column, after) = if all.get(start) == Some(&'"') {
        quoted_text(all, start)?
    } else if matches!(all.get(start), Some('`' | '\'')) {
        // As a formula writes names that are no words.
        literal_text(all, start)?
    } else {
        let end = (start..all.len()).find(|&i| is_operator(all[i])).unwrap_or(all.len());
        (trimmed(&all[start..end]), end)
    };
    if column.is_empty() {
        return Err((start, COLUMN));
    }
    let at = skip_space(all, after);
    let (operator, length) = Operator::at(&all[at..]).ok_or((at, OPERATOR))?;
    let at = skip_space(all, at + length);
    let comparand = value(all, at)?;
    if operator.orders() && matches!(comparand, Comparand::Text(_)) {
        return Err((at, ORDERED));
    }
    Ok(Condition { column, operator, comparand })
}

fn value(all: &[char], start: usize) -> Result<Comparand, Mistake> {
    match all.get(start) {
        None => Err((start, VALUE)),
        Some(quote @ ('"' | '\'')) => {
            let (text, after) =
                if *quote == '"' { quoted_text(all, start)? } else { literal_text(all, start)? };
            let end = skip_space(all, after);
            if end < all.len() { Err((end, NOTHING)) } else { Ok(Comparand::Text(text)) }
        }
        Some(&first) if is_operator(first) => Err((start, QUOTES)),
        Some(_) => {
            if let Some(extra) = (start..all.len()).find(|&i| is_operator(all[i])) {
                return Err((extra, NOTHING));
            }
            let text = trimmed(&all[start..]);
            match text.parse::<f64>() {
                Ok(number) if number.is_finite() => Ok(Comparand::Number(number)),
                Ok(_) => Err((start, FINITE)),
                Err(_) => Ok(Comparand::Text(text)),
            }
        }
    }
}

/// The text between the quote at `start` and the one that closes it, and the index after that.
fn quoted_text(all: &[char], start: usize) -> Result<(String, usize), Mistake> {
    let (mut text, mut at) = (String::new(), start + 1);
    while let Some(&character) = all.get(at) {
        match (character, all.get(at + 1)) {
            ('"', _) => return Ok((text, at + 1)),
            ('\\', Some(&next @ ('"' | '\\'))) => {
                text.push(next);
                at += 1;
            }
            ('\\', _) => return Err((at, ESCAPE)),
            _ => text.push(character),
        }
        at += 1;
    }
    Err((start, CLOSING))
}

/// The text between the quote at `start` and the next one like it, as it is, and the index after that.
fn literal_text(all: &[char], start: usize) -> Result<(String, usize), Mistake> {
    let end = (start + 1..all.len()).find(|&i| all[i] == all[start]).ok_or((start, CLOSING))?;
    Ok((all[start + 1..end].iter().collect(), end + 1))
}

fn skip_space(all: &[char], from: usize) -> usize {
    (from..all.len()).find(|&i| !all[i].is_whitespace()).unwrap_or(all.len())
}

fn trimmed(characters: &[char]) -> String {
    characters.iter().collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::schema::Schema;
    use crate::strategies;

    fn parts(expression: &str) -> (String, Operator, Comparand) {
        let condition: Condition = expression.parse().unwrap();
        (condition.column, condition.operator, condition.comparand)
    }

    fn message(expression: &str) -> String {
        expression.parse::<Condition>().unwrap_err().to_string()
    }

    /// As in a formula.
    #[test]
    fn names_may_stand_in_backquotes() {
        let expected = ("ring count".to_owned(), Operator::Above, Comparand::Number(9.0));
        assert_eq!(parts("`ring count` > 9"), expected);
        assert_eq!(parts(" `ring count`>9"), expected);
        assert!(message("`ring count > 9").contains("never closed"));
        for name in ["`x", "'x'"] {
            let odd: Condition = Condition::new(name, Operator::Equal, Comparand::Number(1.0)).unwrap();
            assert_eq!(odd.to_string().parse::<Condition>().unwrap(), odd);
        }
    }

    /// As in a formula, where both kinds of quotes hold a text: the quotes are none of it.
    #[test]
    fn single_quotes_are_quotes() {
        let text = |text: &str| Comparand::Text(text.to_owned());
        assert_eq!(parts("income == 'high'"), ("income".to_owned(), Operator::Equal, text("high")));
        assert_eq!(parts("income != '>50K' ").2, text(">50K"));
        assert_eq!(parts(r#"a == '\"b\'"#).2, text(r#"\"b\"#));
        assert_eq!(parts("a == '10'").2, text("10"));
        assert_eq!(parts("'ring count' > 9").0, "ring count");
        assert_eq!(parts("name == O'Neill").2, text("O'Neill"));
        assert_eq!(message("a == 'b"), format!("'a == 'b' at character 6: {CLOSING}"));
        assert_eq!(message("a == 'b' c"), format!("'a == 'b' c' at character 10: {NOTHING}"));
    }

    /// What a comparison on a described column is refused for, and with which cells.
    #[test]
    fn described_columns_hold_what_is_compared_and_have_a_value_everywhere() {
        let told = |entry: &str, condition: &str, cell: &str| {
            let schema = Schema::parse("s.toml", format!("y = {entry}").as_bytes()).unwrap();
            let table = Table::parse("a.csv", format!("y,x\n{cell},1\n").as_bytes()).unwrap();
            let condition: Condition = condition.parse().unwrap();
            let checked = condition.check_described(schema.get("y").unwrap(), &table);
            checked.err().map_or_else(String::new, |error| error.to_string())
        };
        let numbers = "{ range = [0, 120], missing_texts = ['99'] }";
        let dates = "{ range = ['1920-01-01', '2020-12-31'], since = '1970-01-01' }";
        for (entry, condition, cell, expected) in [
            (numbers, "y >= 10", "98", ""),
            (numbers, "y >= 10", "99", "a.csv:2: column 'y'"),
            (numbers, "y >= 10", "", "a.csv:2: column 'y'"),
            (numbers, "y == '10'", "10", "a column of numbers"),
            ("['1', '2', '3']", "y >= 2", "3", ""),
            ("['1', '2', '3']", "y >= 2", "4", "one of the categories"),
            ("['1', '2', '3']", "y >= 2", "NA", "a.csv:2: column 'y'"),
            ("['1', '2', '3']", "y == 5", "1", "none of the categories of y"),
            ("['1', '2', 'more']", "y == 1", "1", "y == \"more\""),
            ("['low', 'high']", "y == 'high'", "low", ""),
            ("['low', 'high']", "y == 'high'", "?", "a.csv:2: column 'y'"),
            ("['low', 'high']", "y == 'high'", "middle", "one of the categories"),
            ("['low', 'high']", "y != 'hi'", "low", "none of the categories"),
            ("['low', '?']", "y == 'low'", "?", ""),
            (dates, "y == '2000-01-01'", "1999-12-31", ""),
            (dates, "y == '2000-01-01'", "x", "a date like"),
            (dates, "y == '2000-01-01'", "NA", "a.csv:2: column 'y'"),
            (dates, "y == 'yes'", "1999-12-31", "a date in quotes"),
        ] {
            let told = told(entry, condition, cell);
            let as_expected = if expected.is_empty() { told.is_empty() } else { told.contains(expected) };
            assert!(as_expected, "{entry}, {condition}, {cell}: {told}");
        }
        let table = Table::parse("a.csv", b"y,x\nyes,1\nNA,1\n").unwrap();
        let undescribed = |text: &str| text.parse::<Condition>().unwrap().check_undescribed(&table);
        assert!(matches!(undescribed("y == yes"), Err(Error::MissingValue { line: 3, .. })));
        assert_eq!(undescribed("y == NA"), Ok(()));
    }

    #[test]
    fn every_operator_and_spacing() {
        for (symbol, operator) in [
            (">=", Operator::AtLeast),
            ("<=", Operator::AtMost),
            (">", Operator::Above),
            ("<", Operator::Below),
            ("==", Operator::Equal),
            ("=", Operator::Equal),
            ("!=", Operator::NotEqual),
        ] {
            for expression in [format!("rings{symbol}10"), format!("  rings  {symbol}\t10.0 ")] {
                assert_eq!(
                    parts(&expression),
                    ("rings".into(), operator, Comparand::Number(10.0)),
                    "{expression}"
                );
            }
        }
    }

    #[test]
    fn numbers_texts_and_quotes() {
        assert_eq!(parts("a == -1.5e3").2, Comparand::Number(-1500.0));
        assert_eq!(parts("class == yes").2, Comparand::Text("yes".into()));
        assert_eq!(parts("class == \"yes\"").2, Comparand::Text("yes".into()));
        assert_eq!(parts("class == \"10\"").2, Comparand::Text("10".into()));
        assert_eq!(parts("class != \"\"").2, Comparand::Text(String::new()));
        assert_eq!(parts(r#"class == "a \"b\" \\ <c>""#).2, Comparand::Text(r#"a "b" \ <c>"#.into()));
        assert_eq!(parts("ring count > 1").0, "ring count");
        assert_eq!(parts("\"a>b\" > 1").0, "a>b");
        assert_eq!(parts("größe > 1").0, "größe");
        assert_eq!(
            parts("income == <=50K".replace("<=50K", "\"<=50K\"").as_str()).2,
            Comparand::Text("<=50K".into())
        );
    }

    #[test]
    fn mistakes_name_the_expression_and_the_place() {
        assert_eq!(message(""), format!("'' at character 1: {COLUMN}"));
        assert_eq!(message("  >= 3"), format!("'  >= 3' at character 3: {COLUMN}"));
        assert_eq!(message("\"\" > 3"), format!("'\"\" > 3' at character 1: {COLUMN}"));
        assert_eq!(message("rings"), format!("'rings' at character 6: {OPERATOR}"));
        assert_eq!(message("rings ! 3"), format!("'rings ! 3' at character 7: {OPERATOR}"));
        assert_eq!(message("\"rings\" 3"), format!("'\"rings\" 3' at character 9: {OPERATOR}"));
        assert_eq!(message("rings >="), format!("'rings >=' at character 9: {VALUE}"));
        assert_eq!(message("rings >>10"), format!("'rings >>10' at character 8: {QUOTES}"));
        assert_eq!(message("rings === 10"), format!("'rings === 10' at character 9: {QUOTES}"));
        assert_eq!(message("pay==>50K"), format!("'pay==>50K' at character 6: {QUOTES}"));
        assert_eq!(message("rings > old"), format!("'rings > old' at character 9: {ORDERED}"));
        assert_eq!(message("1 < rings < 3"), format!("'1 < rings < 3' at character 11: {NOTHING}"));
        assert_eq!(message("a == \"b\" c"), format!("'a == \"b\" c' at character 10: {NOTHING}"));
        assert_eq!(message("a == \"b"), format!("'a == \"b' at character 6: {CLOSING}"));
        assert_eq!(message("a == \"b\\n\""), format!("'a == \"b\\n\"' at character 8: {ESCAPE}"));
        assert_eq!(message("a == nan"), format!("'a == nan' at character 6: {FINITE}"));
        assert_eq!(message("a >= 1e999"), format!("'a >= 1e999' at character 6: {FINITE}"));
    }

    #[test]
    fn parts_are_checked_too() {
        assert!(Condition::new("", Operator::Equal, Comparand::Number(1.0)).is_err());
        assert!(Condition::new("a", Operator::Equal, Comparand::Number(f64::NAN)).is_err());
        assert!(Condition::new("a", Operator::Below, Comparand::Text("b".into())).is_err());
        assert!(Condition::new("a", Operator::Below, Comparand::Number(1.0)).is_ok());
    }

    #[test]
    fn evaluates_numbers() {
        let table = Table::parse("a.csv", b"x,y\n1,a\n2,b\n3,c\n").unwrap();
        let expected = [
            (">=", [false, true, true]),
            ("<=", [true, true, false]),
            (">", [false, false, true]),
            ("<", [true, false, false]),
            ("==", [false, true, false]),
            ("!=", [true, false, true]),
        ];
        for (symbol, holds) in expected {
            let condition: Condition = format!("x {symbol} 2").parse().unwrap();
            assert_eq!(condition.evaluate(&table).unwrap(), holds, "{symbol}");
        }
    }

    #[test]
    fn evaluates_texts() {
        let table = Table::parse("a.csv", b"x,y\n1,a\n01,b\n3,\n").unwrap();
        let evaluate = |text: &str| text.parse::<Condition>().unwrap().evaluate(&table);
        assert_eq!(evaluate("x == \"1\"").unwrap(), [true, false, false]);
        assert_eq!(evaluate("x == 1").unwrap(), [true, true, false]);
        assert_eq!(evaluate("y != \"\"").unwrap(), [true, true, false]);
        assert_eq!(
            evaluate("y == a").unwrap_err().to_string(),
            "a.csv:4: column 'y': the cell is empty, expected a text to compare"
        );
        let told = evaluate("y == 1").unwrap_err().to_string();
        assert!(told.starts_with("a.csv:2: column 'y' does not hold a number here"), "{told}");
        assert_eq!(
            evaluate("z == 1").unwrap_err().to_string(),
            "a.csv: no column 'z'; the columns are 'x', 'y'"
        );
    }

    proptest! {
        #[test]
        fn reads_back_what_it_writes(condition in strategies::conditions()) {
            prop_assert_eq!(condition.to_string().parse::<Condition>(), Ok(condition));
        }

        #[test]
        fn never_panics(expression in ".{0,40}") {
            if let Err(error) = expression.parse::<Condition>() {
                prop_assert!(!error.to_string().contains('\n'));
            }
        }
    }
}
