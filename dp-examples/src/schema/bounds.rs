//! The bounds file: what everybody may know about a column without looking at the records.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use toml::{Spanned, Value};

use crate::schema::{Kind, Missing, Schema};
use crate::table::condition::Condition;
use crate::table::{Table, read_file, utf8};
use crate::{Error, Result};

/// The entries of a file of columns, with the lines that they stand on; `name` stands for the file in errors.
pub(crate) fn entries(name: &str, bytes: &[u8]) -> Result<BTreeMap<String, (Value, u64)>> {
    let text = utf8(name, bytes)?;
    // Where lines end, so that a file of a hundred thousand lines is not counted through for each of them. In TOML a
    // line ends in LF or CRLF.
    let ends: Vec<usize> =
        text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(place, _)| place).collect();
    let line = |offset: usize| ends.partition_point(|end| *end < offset) as u64 + 1;
    let entries: BTreeMap<String, Spanned<Value>> = toml::from_str(text).map_err(|error| {
        let line = line(error.span().map_or(0, |span| span.start));
        Error::BoundsSyntax { file: name.to_owned(), line, reason: error.message().to_owned() }
    })?;
    let placed = |(column, entry): (String, Spanned<Value>)| {
        let line = line(entry.span().start);
        (column, (entry.into_inner(), line))
    };
    Ok(entries.into_iter().map(placed).collect())
}

/// What is publicly known about one column.
#[derive(Debug, Clone, PartialEq)]
pub enum Bound {
    /// Numbers from `low` to `high`; what lies outside is moved to the nearer end.
    Range {
        /// The smallest value.
        low: f64,
        /// The largest value, above `low`.
        high: f64,
    },
    /// One of these texts; the first is the baseline that the others are compared with.
    Categories(Vec<String>),
}

/// The public bounds of columns, read from a TOML file with a line per column.
///
/// ```toml
/// length = [0.0, 1.0]
/// sex = ["M", "F", "I"]
/// ```
///
/// It may be a [schema](crate::schema), too, of which a design has a use for ranges, categories and `missing =
/// "drop"`; columns with other policies and dates need a formula, and may stand in the file unused.
///
/// # Privacy
///
/// Bounds are part of the algorithm, not of the data: they have to be chosen from what is known about the
/// quantity (a percentage lies between 0 and 100). Bounds read off the records release the most extreme
/// records exactly.
///
/// # Examples
///
/// ```
/// use dp_examples::schema::bounds::{Bound, Bounds};
///
/// let bounds = Bounds::parse("bounds.toml", "length = [0, 1]\nsex = ['M', 'F']".as_bytes())?;
/// assert_eq!(bounds.get("length"), Some(&Bound::Range { low: 0.0, high: 1.0 }));
/// let error = Bounds::parse("bounds.toml", b"length = [1, 0]").unwrap_err();
/// assert!(error.to_string().starts_with("bounds.toml:1: column 'length': '[1, 0]', expected"));
/// # Ok::<(), dp_examples::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Bounds {
    file: Option<String>,
    columns: BTreeMap<String, Bound>,
    schema: Schema,
    public_categories: bool,
}

impl Bounds {
    /// No bounds at all: enough for a table of text columns only.
    pub fn none() -> Self {
        Self::default()
    }

    /// Reads the file at `path`.
    ///
    /// # Errors
    ///
    /// [`Error::Unreadable`], and whatever [`Bounds::parse`] says.
    pub fn read(path: &Path) -> Result<Self> {
        Self::parse(&path.display().to_string(), &read_file(path)?)
    }

    /// Reads the bytes of a bounds file; `name` stands for the file in errors.
    ///
    /// # Errors
    ///
    /// [`Error::NotUtf8`], [`Error::BoundsSyntax`] for what is not TOML, and [`Error::InvalidBound`] for an
    /// entry that is neither `[low, high]` with finite `low < high` nor a list of at least two different
    /// texts; [`Error::Schema`] for an entry that no schema may have.
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Self> {
        for (column, (entry, line)) in
            entries(name, bytes)?.into_iter().filter(|(_, (entry, _))| !entry.is_table())
        {
            bound(&entry).map_err(|expected| Error::InvalidBound {
                file: name.to_owned(),
                line,
                column,
                value: entry.to_string(),
                expected,
            })?;
        }
        let (schema, mut columns) = (Schema::parse(name, bytes)?, BTreeMap::new());
        for (column, entry) in &schema.columns {
            let bound = match (&entry.kind, &entry.missing) {
                (Kind::Range { low, high }, Missing::Refuse | Missing::Drop) => {
                    Bound::Range { low: *low, high: *high }
                }
                (Kind::Categories(names), Missing::Refuse | Missing::Drop) => {
                    Bound::Categories(names.clone())
                }
                // It is refused where it is used.
                _ => continue,
            };
            columns.insert(column.clone(), bound);
        }
        Ok(Self { file: Some(name.to_owned()), columns, schema, public_categories: false })
    }

    /// The table without the records that lack the label or a feature (of all columns, where none are chosen) and whose
    /// column has the policy that they be left out.
    ///
    /// # Errors
    ///
    /// [`Error::NoRecordsLeft`], and [`Error::Schema`] where the label or a feature needs a formula.
    pub fn complete(&self, table: Table, condition: &Condition, chosen: Option<&[String]>) -> Result<Table> {
        let chosen: Option<HashSet<&String>> = chosen.map(|chosen| chosen.iter().collect());
        let is_used = |column: &&String| {
            chosen.as_ref().is_none_or(|chosen| chosen.contains(*column))
                || column.as_str() == condition.column()
        };
        let used: Vec<String> = table.columns().iter().filter(is_used).cloned().collect();
        used.iter().try_for_each(|column| self.check_use(column))?;
        self.schema.complete(table, &used.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// The same, where the texts that occur in a text column without a list are public: they are then read
    /// from the data.
    ///
    /// # Privacy
    ///
    /// What is read is not protected: that a text occurs shows that some record has it. To be said only where
    /// everybody knows which texts there are.
    #[must_use]
    pub fn with_public_categories(self) -> Self {
        Self { public_categories: true, ..self }
    }

    /// Whether the texts of text columns without a list are public.
    pub fn has_public_categories(&self) -> bool {
        self.public_categories
    }

    /// The bound of a column, where the file has one that a design has a use for.
    pub fn get(&self, column: &str) -> Option<&Bound> {
        self.columns.get(column)
    }

    /// Checks that a design has a use for what the file says of a column, if it says anything.
    ///
    /// # Errors
    ///
    /// [`Error::Schema`] for a date, and for a policy for missing values other than `"drop"`.
    pub(crate) fn check_use(&self, column: &str) -> Result<()> {
        if self.columns.contains_key(column) || self.schema.get(column).is_none() {
            return Ok(());
        }
        let (file, line) = (self.file.clone().unwrap_or_default(), self.schema.line(column));
        Err(Error::Schema { file, line, column: column.to_owned(), reason: NEEDS_A_FORMULA.to_owned() })
    }

    /// The same as a schema.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The file's name as it appears in errors, where there is a file.
    pub fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    /// Checks that every bound is for a column of `table`: a misspelt name must not pass in silence.
    ///
    /// # Errors
    ///
    /// [`Error::BoundForMissingColumn`] for the first one that is not.
    pub fn check_columns(&self, table: &Table) -> Result<()> {
        self.schema.check_columns(table.name(), table.columns())
    }
}

/// A column's name as it is written on the left of a TOML line.
pub(crate) fn toml_key(column: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !column.is_empty() && column.chars().all(bare) { column.to_owned() } else { format!("{column:?}") }
}

const NEEDS_A_FORMULA: &str = "columns by name use ranges, categories and missing = \"drop\"; for dates and other \
                               policies write a formula (fit 'y ~ a + b' DATA), or leave the column out of --features";

const EITHER: &str = "[low, high] or a list of categories like [\"yes\", \"no\"]";

const ENDLESS: &str = "[low, high] with finite ends and a finite distance between them";

/// The bound that a TOML value stands for, or what was expected in its place.
pub(crate) fn bound(value: &Value) -> Result<Bound, &'static str> {
    let items = value.as_array().ok_or(EITHER)?;
    if items.iter().any(Value::is_str) {
        return categories(items);
    }
    let [low, high] = items.as_slice() else {
        return Err(EITHER);
    };
    let (low, high) = (number(low).ok_or(EITHER)?, number(high).ok_or(EITHER)?);
    if low < high {
        // The width is divided by, so it has to be finite as well: [-1e308, 1e308] is refused.
        if (high - low).is_finite() { Ok(Bound::Range { low, high }) } else { Err(ENDLESS) }
    } else {
        // Not a number lands here too: it is below nothing.
        Err("[low, high] with low below high")
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Float(number) => Some(*number),
        Value::Integer(number) => Some(*number as f64),
        _ => None,
    }
}

fn categories(items: &[Value]) -> Result<Bound, &'static str> {
    let mut names: Vec<String> = Vec::with_capacity(items.len());
    let mut seen = HashSet::new();
    for item in items {
        let name = item.as_str().ok_or("a list of texts only, each in quotes")?;
        // Cells are read without the white space around them, so such a category could never be met.
        if name.trim() != name {
            return Err("categories without white space at their ends");
        }
        if !seen.insert(name) {
            return Err("categories that all differ");
        }
        names.push(name.to_owned());
    }
    if names.len() < 2 {
        return Err("at least two categories");
    }
    Ok(Bound::Categories(names))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logistic::design::{Design, Intercept};

    fn message(text: &str) -> String {
        Bounds::parse("b.toml", text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn reads_ranges_and_categories() {
        let text =
            "\u{feff}# shells\nlength = [0.0, 1]\r\n\"whole weight\" = [-3, 4.5]\nsex = [\n \"M\", '' ]\n";
        let bounds = Bounds::parse("b.toml", text.as_bytes()).unwrap();
        assert_eq!(bounds.get("length"), Some(&Bound::Range { low: 0.0, high: 1.0 }));
        assert_eq!(bounds.get("whole weight"), Some(&Bound::Range { low: -3.0, high: 4.5 }));
        assert_eq!(bounds.get("sex"), Some(&Bound::Categories(vec!["M".into(), String::new()])));
        assert_eq!(bounds.get("rings"), None);
        assert_eq!(Bounds::parse("b.toml", b"").unwrap().get("x"), None);
    }

    #[test]
    fn refuses_what_is_neither() {
        let either = "expected [low, high] or a list of categories like [\"yes\", \"no\"]";
        for (value, shown) in [("3", "3"), ("[]", "[]"), ("[1]", "[1]"), ("[1, 2, 3]", "[1, 2, 3]")] {
            assert_eq!(
                message(&format!("a=[0,1]\nx = {value}")),
                format!("b.toml:2: column 'x': '{shown}', {either}")
            );
        }
        assert!(message("x = [true, false]").ends_with(either));
        assert!(
            message("[x]\ny = [0, 1]").starts_with("b.toml:1: column 'x': there is no 'y', expected some of")
        );
        assert!(message("x = [1979-05-27, 2]").ends_with(either));
    }

    #[test]
    fn a_schema_serves_as_far_as_a_design_goes() {
        let text = "x = { range = [0, 1], missing = 'drop' }\ny = { categories = ['a', 'b'] }\nz = [0, 2]";
        let bounds = Bounds::parse("b.toml", text.as_bytes()).unwrap();
        assert_eq!(bounds.get("x"), Some(&Bound::Range { low: 0.0, high: 1.0 }));
        assert_eq!(bounds.get("y"), Some(&Bound::Categories(vec!["a".into(), "b".into()])));
        let table = || Table::parse("a.csv", b"x,y,z\n0.5,a,1\nNA,b,2\n,a,0\n1,b,\n").unwrap();
        let kept = |columns: &[&str]| {
            let columns: Vec<String> = columns.iter().map(|&column| column.to_owned()).collect();
            let condition: Condition = "z>=1".parse().unwrap();
            bounds.complete(table(), &condition, Some(&columns)).unwrap().len()
        };
        // Records are left out for the sake of columns that are used, and by the policy alone.
        assert_eq!((kept(&["x", "y", "z"]), kept(&["y", "z"]), kept(&["no such column"])), (2, 4, 4));
        for entry in [
            "{ range = [0, 1], missing = 0.5 }",
            "{ categories = ['a', 'b'], missing = 'category' }",
            "{ range = ['1920-01-01', '2020-12-31'], since = '1970-01-01' }",
        ] {
            let text = format!("z = [0, 2]\nx = {entry}");
            let bounds = Bounds::parse("b.toml", text.as_bytes()).unwrap();
            let (columns, condition) = (["x".to_owned(), "z".to_owned()], "z>=1".parse().unwrap());
            let told = bounds.complete(table(), &condition, Some(&columns)).err().unwrap().to_string();
            assert!(told.starts_with("b.toml:2: column 'x': ") && told.contains("write a formula"), "{told}");
            let label = bounds.complete(table(), &"x>=1".parse().unwrap(), Some(&columns[1..])).err();
            assert_eq!(label.unwrap().to_string(), told);
            let whole = Table::parse("a.csv", b"x,z\n0.5,1\n1,0\n").unwrap();
            for (chosen, condition) in [(&columns[..1], "z>=1"), (&columns[1..], "x>=1")] {
                let condition = condition.parse().unwrap();
                let design = Design::new(&whole, &bounds, &condition, Some(chosen), Intercept::Included);
                assert_eq!(design.err().unwrap().to_string(), told);
            }
            // Unused, it changes nothing.
            assert_eq!(bounds.complete(table(), &condition, Some(&columns[1..])).unwrap().len(), 4);
        }
    }

    #[test]
    fn refuses_ranges_that_are_empty_or_endless() {
        for value in ["[1, 0]", "[1, 1]", "[nan, 1]", "[0, nan]", "[0.0, -0.0]"] {
            assert!(
                message(&format!("x = {value}")).ends_with("expected [low, high] with low below high"),
                "{value}"
            );
        }
        for value in ["[0, inf]", "[-inf, 0]", "[-1e308, 1e308]"] {
            assert!(message(&format!("x = {value}")).contains("finite distance"), "{value}");
        }
    }

    #[test]
    fn refuses_lists_that_cannot_be_categories() {
        assert!(message("x = [\"a\"]").ends_with("expected at least two categories"));
        assert!(message("x = [\"a\", \"a\"]").ends_with("expected categories that all differ"));
        assert!(
            message("x = [\"a\", \" b\"]").ends_with("expected categories without white space at their ends")
        );
        assert!(message("x = [\"a\", 1]").ends_with("expected a list of texts only, each in quotes"));
    }

    #[test]
    fn malformed_files_name_the_line() {
        let shown = message("length = [0, 1]\nwidth = [0, \n");
        assert!(shown.starts_with("b.toml:2: ") || shown.starts_with("b.toml:3: "), "{shown}");
        assert!(!shown.contains('\n'));
        assert!(message("length = [0, 1]\nlength = [0, 2]\n").starts_with("b.toml:2: "));
        assert!(message("x [0, 1]").starts_with("b.toml:1: not a line like `length = [0.0, 1.0]`: "));
        let error = Bounds::parse("b.toml", b"x = [0, 1]\n\xff").unwrap_err();
        assert!(matches!(error, Error::NotUtf8 { line: 2, .. }));
    }

    #[test]
    fn nesting_is_limited_by_an_error() {
        let deep = format!("x = {}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(Bounds::parse("b.toml", deep.as_bytes()).is_err());
    }

    #[test]
    fn a_bound_for_no_column_is_an_error() {
        let table = Table::parse("a.csv", b"x,y\n1,2\n").unwrap();
        let bounds = Bounds::parse("b.toml", b"x = [0, 1]\nz = [0, 1]\na = [0, 1]").unwrap();
        assert_eq!(
            bounds.check_columns(&table).unwrap_err().to_string(),
            "b.toml:2: no column 'z' in a.csv; the columns are 'x', 'y'"
        );
        assert_eq!(Bounds::none().check_columns(&table), Ok(()));
    }

    #[test]
    fn keys_are_quoted_where_toml_needs_it() {
        assert_eq!(toml_key("whole_weight"), "whole_weight");
        assert_eq!(toml_key("whole weight"), "\"whole weight\"");
        assert_eq!(toml_key(""), "\"\"");
    }
}
