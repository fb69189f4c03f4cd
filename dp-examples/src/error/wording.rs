//! How messages put text that comes from a file: one line whatever it contains.

use std::fmt::Write;

/// Longest piece of foreign text that a message repeats, in characters.
const LONGEST: usize = 60;
/// Most names that a message lists.
const MOST_NAMES: usize = 40;

/// `'text'`, escaped and cut.
pub(crate) fn quoted(text: &str) -> String {
    let mut shown = String::from("'");
    for (index, character) in text.chars().enumerate() {
        if index == LONGEST {
            shown.push('…');
            break;
        }
        push_visible(&mut shown, character);
    }
    shown.push('\'');
    shown
}

/// A path: escaped, never cut.
pub(super) fn path(text: &str) -> String {
    let mut shown = String::new();
    text.chars().for_each(|character| push_visible(&mut shown, character));
    shown
}

/// Control characters and the marks that reorder or break lines are shown as escapes.
fn push_visible(shown: &mut String, character: char) {
    let reorders =
        matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if character.is_control() || reorders {
        let _ = write!(shown, "{}", character.escape_default());
    } else {
        shown.push(character);
    }
}

/// `text` with every run of white space and control characters made one space.
pub(crate) fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let mut line = String::new();
    for word in words {
        if !line.is_empty() {
            line.push(' ');
        }
        word.chars().for_each(|character| push_visible(&mut line, character));
    }
    line
}

/// `did you mean 'hours'? ` where a name is nearly another one, else nothing.
pub(crate) fn meant(name: &str, names: &[String]) -> String {
    let allowed = (name.chars().count() / 3).min(3);
    let near = names.iter().map(|other| (distance(&name.to_lowercase(), &other.to_lowercase()), other));
    let mut near: Vec<_> = near.filter(|(distance, _)| *distance <= allowed).collect();
    near.sort();
    let shown: Vec<String> = near.iter().take(3).map(|(_, other)| quoted(other)).collect();
    if shown.is_empty() { String::new() } else { format!("did you mean {}? ", shown.join(" or ")) }
}

/// How many characters have to be changed, inserted or taken out (Levenshtein). Of long names only the
/// beginnings count.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) =
        (a.chars().take(LONGEST).collect(), b.chars().take(LONGEST).collect());
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, right) in b.iter().enumerate() {
            let changed = diagonal + usize::from(left != right);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// The columns of a table that lacks one of this name. A number does not name a column: such a line is a record's, of a
/// file without a header, and is not repeated.
pub(super) fn header(name: &str, names: &[String]) -> String {
    if names.iter().any(|name| name.trim().parse::<f64>().is_ok()) {
        return "some columns are named by numbers; is the first line a header?".into();
    }
    format!("{}the columns are {}", meant(name, names), listed(names))
}

/// Names separated by commas.
pub(super) fn listed(names: &[String]) -> String {
    let mut shown: Vec<String> = names.iter().take(MOST_NAMES).map(|name| quoted(name)).collect();
    if names.len() > MOST_NAMES {
        shown.push(format!("and {} more", names.len() - MOST_NAMES));
    }
    shown.join(", ")
}

pub(super) fn bounds_hint(bounds_file: Option<&str>) -> String {
    match bounds_file {
        Some(file) => format!("add to {}", path(file)),
        None => String::from("put in a bounds file"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn foreign_text_cannot_break_the_line() {
        let error = Error::NotANumber {
            file: "a\nb.csv".into(),
            line: 12,
            column: format!("x\ty\u{1b}[31m\r\n\u{202e}{}", "z".repeat(200)),
        };
        let shown = error.to_string();
        assert!(!shown.chars().any(char::is_control), "{shown:?}");
        assert!(shown.chars().count() < 350 && !shown.contains(&"z".repeat(60)), "{shown}");
        assert!(shown.starts_with("a\\nb.csv:12: column 'x\\ty"), "{shown}");
    }

    #[test]
    fn long_lists_are_cut() {
        let names: Vec<String> = (0..45).map(|i| format!("c{i}")).collect();
        let shown = listed(&names);
        assert!(shown.ends_with("'c39', and 5 more"), "{shown}");
        assert_eq!(listed(&names[..2]), "'c0', 'c1'");
    }

    #[test]
    fn records_in_the_place_of_a_header_are_not_repeated() {
        let of = |names: &[&str]| {
            header("agee", &names.iter().map(|&name| name.to_owned()).collect::<Vec<String>>())
        };
        assert_eq!(of(&["age", "sex"]), "did you mean 'age'? the columns are 'age', 'sex'");
        for names in [["Anna", "26"], ["-1e3", "agee"], [" 7", "NaN"]] {
            assert_eq!(of(&names), "some columns are named by numbers; is the first line a header?");
        }
    }

    #[test]
    fn one_line_joins_lines() {
        assert_eq!(one_line("  a\n  | b\t\u{7}c \n"), "a | b c");
        assert_eq!(one_line(""), "");
    }
}
