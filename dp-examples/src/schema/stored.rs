//! Schemas as JSON, for programs that keep them.

use super::{Entry, Kind, Missing, Schema};
use crate::{Error, Result};

/// The version that is written.
const VERSION: u32 = 1;

const FORMAT: &str = "dp-examples schema";

/// A JSON text of this format and version, or what is wrong with it; `what` it should be, for the message.
pub(crate) fn versioned(
    bytes: &[u8],
    (format, known): (&str, u32),
    what: &str,
) -> Result<serde_json::Value, String> {
    let value: serde_json::Value =
        serde_json::from_slice(bytes).map_err(|error| format!("it is not JSON: {error}"))?;
    if value["format"] != format {
        return Err(format!("it is not {what}"));
    }
    match value["version"].as_u64() {
        Some(version) if version == u64::from(known) => Ok(value),
        Some(version) if version > u64::from(known) => {
            Err(format!("it is of version {version}, and this program knows up to {known}: take a newer one"))
        }
        _ => Err("it has no version that is known".to_owned()),
    }
}

impl Schema {
    /// The schema as JSON, with the version of the format. Files' names and lines, which are for messages, are left
    /// out.
    ///
    /// # Examples
    ///
    /// ```
    /// use dp_examples::schema::Schema;
    ///
    /// let schema = Schema::parse("s.toml", b"age = [17, 90]\nsex = ['f', 'm']")?;
    /// let back = Schema::from_json("s.json", &schema.to_json())?;
    /// assert_eq!(back.columns, schema.columns);
    /// # Ok::<(), dp_examples::Error>(())
    /// ```
    #[must_use]
    pub fn to_json(&self) -> String {
        let columns = serde_json::to_value(&self.columns).unwrap_or_default();
        format!("{:#}\n", serde_json::json!({ "format": FORMAT, "version": VERSION, "columns": columns }))
    }

    /// A schema from what [`to_json`](Self::to_json) wrote; `name` stands for the file in errors.
    ///
    /// # Errors
    ///
    /// [`Error::SchemaFile`] for what is not such a text, is of a newer version, or holds what no schema can.
    pub fn from_json(name: &str, text: &str) -> Result<Self> {
        let wrong = |reason: String| Error::SchemaFile { file: name.to_owned(), reason };
        let value = versioned(text.as_bytes(), (FORMAT, VERSION), "a schema that Schema::to_json wrote")
            .map_err(wrong)?;
        let schema: Self = serde_json::from_value(value).map_err(|error| wrong(error.to_string()))?;
        for (column, entry) in &schema.columns {
            check_entry(entry).map_err(|reason| wrong(format!("column '{column}': {reason}")))?;
        }
        Ok(Self { file: Some(name.to_owned()), ..schema })
    }
}

/// What a schema in TOML is checked for.
pub(crate) fn check_entry(entry: &Entry) -> Result<(), &'static str> {
    match &entry.kind {
        Kind::Range { low, high } | Kind::Dates { low, high, .. }
            if !(low < high && (high - low).is_finite()) =>
        {
            Err("its range has no finite width above 0")
        }
        Kind::Categories(names) => {
            let different: std::collections::HashSet<&String> = names.iter().collect();
            if different.len() != names.len() || names.len() < 2 {
                Err("its categories are not at least two that differ")
            } else if names.iter().any(|name| name.trim() != name) {
                Err("a category has white space at its ends")
            } else if matches!(entry.missing, Missing::Value(_)) {
                Err("a missing category has no number in its place")
            } else {
                Ok(())
            }
        }
        Kind::Range { low, high } => match entry.missing {
            Missing::Value(value) if !(low..=high).contains(&&value) => {
                Err("the value in the place of a missing one lies outside its range")
            }
            Missing::Category => Err("missing numbers are no category"),
            _ => Ok(()),
        },
        Kind::Dates { .. } => match entry.missing {
            Missing::Refuse | Missing::Drop => Ok(()),
            Missing::Value(_) | Missing::Category => Err("missing dates are refused or dropped"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_are_read_back_and_what_is_newer_or_damaged_is_refused() {
        let text = "age = [17, 90]\nborn = { range = ['1970-01-11', '1970-01-21'], since = '1970-01-01' }\n\
                    job = { categories = ['a', 'b'], missing = 'category', missing_texts = ['?'], constraints = ['job = a => age > 20'] }\n\
                    w = { range = [0, 9], missing = 4 }";
        let schema = Schema::parse("s.toml", text.as_bytes()).unwrap();
        let json = schema.to_json();
        let back = Schema::from_json("s.json", &json).unwrap();
        assert_eq!((back.columns, back.file.as_deref()), (schema.columns, Some("s.json")));
        let told = |from: &str, to: &str| {
            assert!(json.contains(from), "{from} in {json}");
            Schema::from_json("s.json", &json.replacen(from, to, 1)).unwrap_err().to_string()
        };
        assert!(told("\"version\": 1", "\"version\": 2").contains("knows up to 1"));
        assert!(told("\"version\": 1", "\"version\": \"x\"").contains("no version"));
        assert!(told("dp-examples schema", "dp-examples regression").contains("not a schema"));
        assert!(told("90.0", "-90.0").contains("'age'"));
        assert!(told("\"b\"", "\"a\"").contains("at least two that differ"));
        assert!(told("4.0", "40.0").contains("outside its range"));
        assert!(told("\"columns\"", "\"names\"").contains("s.json"));
        assert!(Schema::from_json("s.json", &json[..json.len() / 2]).is_err());
    }
}
