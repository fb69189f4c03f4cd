//! A schema to fill in, from a header.

use crate::Result;
use crate::schema::bounds::toml_key;
use crate::table::Table;

use super::categories_of;

/// Words in a column's name that mark what identifies a person.
const IDENTIFIERS: [&str; 17] = [
    "id",
    "ids",
    "uuid",
    "guid",
    "identifier",
    "name",
    "surname",
    "firstname",
    "lastname",
    "email",
    "mail",
    "phone",
    "telephone",
    "ssn",
    "passport",
    "iban",
    "address",
];

/// Words that mark a date.
const DATES: [&str; 5] = ["date", "born", "birthday", "dob", "timestamp"];

fn words(column: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut lower = false;
    for c in column.chars() {
        // Words end at signs, and where a capital follows a small letter.
        if !c.is_alphanumeric() || lower && c.is_uppercase() {
            words.push(String::new());
        }
        if c.is_alphanumeric() {
            words.last_mut().into_iter().for_each(|word| word.extend(c.to_lowercase()));
        }
        lower = c.is_lowercase();
    }
    words
}

/// Whether a column's name says that it identifies a person: `id`, `customerId`, `e_mail`.
///
/// ```
/// use dp_examples::schema::draft::looks_like_identifier;
/// assert!(["id", "patient_id", "customerId", "last name", "E-Mail"].iter().all(|name| looks_like_identifier(name)));
/// assert!(["idle", "width", "age", "paid"].iter().all(|name| !looks_like_identifier(name)));
/// ```
#[must_use]
pub fn looks_like_identifier(column: &str) -> bool {
    words(column).iter().any(|word| IDENTIFIERS.contains(&word.as_str()))
}

/// A schema to fill in: every column of the header with the lines that it may have, as comments. Nothing but the
/// header is looked at.
///
/// With `public_categories` text columns of up to 50 texts get the texts that occur in them, and say that they were
/// read from the records.
///
/// # Errors
///
/// [`Error::TooManyCategories`](crate::Error::TooManyCategories) and its kin are comments, not errors; there are none.
pub fn draft(table: &Table, public_categories: bool) -> Result<String> {
    let mut text = String::from(
        "# What everybody may know of the columns. Uncomment one line for each and fill in public values: they \
         must not\n\
         # be read off the records. Columns without a line cannot be used.\n#\n\
         #   missing = \"refuse\" (the default), \"drop\" (leave the record out), \"category\" (of categories), \
         or a public\n\
         #   number (of ranges) to put in its place\n\n",
    );
    for column in table.columns() {
        let key = toml_key(column);
        if looks_like_identifier(column) {
            text += &format!("# {key}: left out, for it looks like an identifier of persons\n\n");
            continue;
        }
        if public_categories {
            match categories_of(table, column) {
                Ok(Some(categories)) => {
                    let listed: Vec<String> = categories
                        .iter()
                        .map(|category| toml::Value::from(category.as_str()).to_string())
                        .collect();
                    text += &format!(
                        "# The texts that occur, treated as public: not protected, as the privacy statement says.\n\
                         {key} = {{ categories = [{}], read_from_records = true }}\n\n",
                        listed.join(", ")
                    );
                    continue;
                }
                Ok(None) => {}
                Err(_) => {
                    text += &format!(
                        "# {key}: has one text or more than 50 different ones, which are not listed\n"
                    );
                }
            }
        }
        if words(column).iter().any(|word| DATES.contains(&word.as_str())) {
            text += &format!("#{key} = {{ range = [\"FIRST\", \"LAST\"], since = \"2000-01-01\" }}\n");
        }
        text += &format!(
            "#{key} = [LOW, HIGH]\n#{key} = {{ range = [LOW, HIGH], missing = \"drop\" }}\n#{key} = [\"A\", \"B\"]\n\n"
        );
    }
    Ok(text)
}
