//! What is publicly known to hold of every record, and so has to hold of every row.

use serde::{Deserialize, Serialize};

use super::schema::Kind;

/// `if` all of some comparisons hold, `then` all of others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Constraint {
    pub(super) text: String,
    #[serde(rename = "if")]
    given: Vec<Comparison>,
    then: Vec<Comparison>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Comparison {
    column: String,
    operator: Operator,
    /// A number, a day, or the place of a category.
    value: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Operator {
    Is,
    IsNot,
    Below,
    AtMost,
    Above,
    AtLeast,
}

/// Longer ones come first, for others are their beginnings.
const OPERATORS: [(&str, Operator); 7] = [
    ("!=", Operator::IsNot),
    ("<=", Operator::AtMost),
    (">=", Operator::AtLeast),
    ("==", Operator::Is),
    ("=", Operator::Is),
    ("<", Operator::Below),
    (">", Operator::Above),
];

impl Constraint {
    /// Reads `A => B` or `B`; `find` knows the columns by name. The error says what is wrong.
    pub(super) fn parse<'k>(
        text: &str,
        find: impl Fn(&str) -> Option<(&'k String, &'k Kind)>,
    ) -> Result<Self, String> {
        let parts = outside_quotes(text, "=>");
        let (given, then) = match parts.as_slice() {
            [given, ..] if parts.len() > 1 => (Some(*given), &text[given.len() + "=>".len()..]),
            _ => (None, text),
        };
        let all = |text: &str| {
            outside_quotes(text, " and ").into_iter().map(|part| comparison(part, &find)).collect()
        };
        let given = given.map(all).transpose()?.unwrap_or_default();
        let then: Vec<Comparison> = all(then)?;
        if given.is_empty()
            && let Some(never) =
                then.iter().find(|part| find(&part.column).is_some_and(|(_, kind)| !part.can_hold(kind)))
        {
            return Err(format!("no value of column '{}' within its bounds keeps it", never.column));
        }
        Ok(Self { text: text.trim().to_owned(), given, then })
    }

    /// The columns that it speaks of.
    pub(super) fn columns(&self) -> impl Iterator<Item = &str> {
        self.given.iter().chain(&self.then).map(|comparison| comparison.column.as_str())
    }

    /// Whether a row keeps it, of which `value` gives the numbers, days and places of categories by the name of
    /// the column; none where there is no value.
    pub(super) fn holds(&self, value: impl Fn(&str) -> Option<f64>) -> bool {
        let says = |comparison: &Comparison| value(&comparison.column).map(|x| comparison.holds(x));
        let applies = self.given.iter().all(|comparison| says(comparison) == Some(true));
        !applies || self.then.iter().all(|comparison| says(comparison) != Some(false))
    }
}

impl Comparison {
    /// Whether some value within the bounds keeps it.
    fn can_hold(&self, kind: &Kind) -> bool {
        let (least, most) = match kind {
            Kind::Categories(names) => (0.0, names.len() as f64 - 1.0),
            kind => kind.range(),
        };
        match self.operator {
            Operator::Is => (least..=most).contains(&self.value),
            Operator::IsNot => least < most || self.value != least,
            Operator::Below | Operator::AtMost => self.holds(least),
            Operator::Above | Operator::AtLeast => self.holds(most),
        }
    }

    fn holds(&self, x: f64) -> bool {
        match self.operator {
            Operator::Is => x == self.value,
            Operator::IsNot => x != self.value,
            Operator::Below => x < self.value,
            Operator::AtMost => x <= self.value,
            Operator::Above => x > self.value,
            Operator::AtLeast => x >= self.value,
        }
    }
}

/// The parts of a text between these words, but for words in quotes.
fn outside_quotes<'t>(text: &'t str, between: &str) -> Vec<&'t str> {
    let (mut parts, mut from, mut quoted) = (Vec::new(), 0, false);
    for (at, character) in text.char_indices() {
        quoted ^= character == '"';
        if !quoted && at >= from && text[at..].starts_with(between) {
            parts.push(&text[from..at]);
            from = at + between.len();
        }
    }
    parts.push(&text[from..]);
    parts
}

fn comparison<'k>(
    text: &str,
    find: impl Fn(&str) -> Option<(&'k String, &'k Kind)>,
) -> Result<Comparison, String> {
    let expected = "expected comparisons like age >= 14 or married = yes";
    // The first place where an operator begins, and there the longest one.
    let at = text.find(['!', '<', '>', '=']).ok_or(expected)?;
    let (name, rest) = text.split_at(at);
    let (sign, operator) = OPERATORS.iter().find(|(sign, _)| rest.starts_with(sign)).ok_or(expected)?;
    let unquoted = |text: &str| {
        let text = text.trim();
        let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        inner.unwrap_or(text).to_owned()
    };
    let (name, text) = (unquoted(name), unquoted(&rest[sign.len()..]));
    let (column, kind) = find(&name).ok_or_else(|| format!("the schema has no column '{name}'"))?;
    let value = match kind {
        Kind::Categories(names) if matches!(operator, Operator::Is | Operator::IsNot) => {
            names.iter().position(|name| *name == text).map(|place| place as f64)
        }
        Kind::Categories(_) => return Err(format!("categories of '{name}' have no order: use = or !=")),
        kind => kind.number(&text),
    };
    let value = value.ok_or_else(|| format!("column '{name}' cannot have the value '{text}'"))?;
    Ok(Comparison { column: column.clone(), operator: *operator, value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn constraints_are_read_and_kept() {
        let kinds = BTreeMap::from([
            ("age".to_owned(), Kind::Whole { low: 0, high: 90 }),
            ("married".to_owned(), Kind::Categories(vec!["no".to_owned(), "yes".to_owned()])),
            ("job".to_owned(), Kind::Categories(vec!["none".to_owned(), "food and drink => bar".to_owned()])),
        ]);
        let parse = |text: &str| Constraint::parse(text, |name| kinds.get_key_value(name));
        let rule = parse("married = yes => age >= 14 and age != 99").unwrap();
        let holds = |age: Option<f64>, married: Option<f64>| {
            rule.holds(|name| if name == "age" { age } else { married })
        };
        assert!(holds(Some(14.0), Some(1.0)) && !holds(Some(13.0), Some(1.0)));
        assert!(holds(Some(13.0), Some(0.0)) && holds(Some(13.0), None) && holds(None, Some(1.0)));
        assert!(parse("\"age\" < 80").unwrap().holds(|_| Some(79.0)));
        // What stands in quotes is one text.
        let rule = parse("job = \"food and drink => bar\" and age < 90 => age >= 18").unwrap();
        let holds = |age: f64, job: f64| rule.holds(|name| Some(if name == "age" { age } else { job }));
        assert!(!holds(17.0, 1.0) && holds(18.0, 1.0) && holds(17.0, 0.0));
        // Nothing has to hold where the condition never does.
        assert!(parse("age > 90 => married = yes").is_ok() && parse("age >= 90 and age <= 90").is_ok());
        for (text, part) in [
            ("size > 3", "no column 'size'"),
            ("married > yes", "no order"),
            ("married = perhaps", "cannot have the value 'perhaps'"),
            ("age >= old", "cannot have the value 'old'"),
            ("age > 90", "no value of column 'age' within its bounds keeps it"),
            ("age <= -1", "no value of column 'age'"),
            ("age", "expected comparisons"),
            ("age ! 3", "expected comparisons"),
            ("", "expected comparisons"),
        ] {
            let told = parse(text).unwrap_err();
            assert!(told.contains(part), "{text}: {told}");
        }
    }
}
