//! How many values lie outside their public bounds: for the person who holds the file.

use std::path::Path;

use super::{Kind, Schema, date};
use crate::error::quoted;
use crate::table::Table;
use crate::{Error, Result};

/// How many values of a column lie outside its public bounds, and are moved to the nearer one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clamped {
    /// The column.
    pub column: String,
    /// Values below the lower bound or above the upper one.
    pub outside: u64,
    /// All values that are not missing.
    pub values: u64,
}

impl Schema {
    /// Counts the values of a file that lie outside their public bounds, column by column in the schema's order. Cells
    /// that hold no number or date are not counted; a fit says what is wrong with them.
    ///
    /// # Privacy
    ///
    /// These are exact figures of the records, which no guarantee covers: for the person who holds the file, who may
    /// have written bounds in the wrong unit, and never for release. Bounds that are chosen by them are no longer
    /// public.
    ///
    /// # Errors
    ///
    /// [`Error::Unreadable`] for what is no file that can be read twice, such as a pipe, and what [`Table::read`] says.
    pub fn clamped(&self, path: &Path) -> Result<Vec<Clamped>> {
        let reason = "values outside their bounds are counted in a file that can be read twice";
        if !path.metadata().is_ok_and(|about| about.is_file()) {
            let (file, reason) = (path.display().to_string(), reason.to_owned());
            return Err(Error::Unreadable { file, reason });
        }
        let mut found = Vec::new();
        let all = Table::in_parts(path, |part, _| {
            self.add_clamped(&part, &mut found);
            Some(())
        });
        if all.is_none() {
            found.clear();
            self.add_clamped(&Table::read(path)?, &mut found);
        }
        Ok(found)
    }

    /// The same for columns of a table, which need not be all of the schema's.
    pub(crate) fn clamped_in(&self, table: &Table, columns: &[&str]) -> Vec<Clamped> {
        let mut found = Vec::new();
        self.add_clamped(table, &mut found);
        found.retain(|one| columns.contains(&one.column.as_str()));
        found
    }

    fn add_clamped(&self, table: &Table, found: &mut Vec<Clamped>) {
        let mut place = 0;
        for (column, entry) in &self.columns {
            let (low, high, since) = match entry.kind {
                Kind::Range { low, high } => (low, high, None),
                Kind::Dates { low, high, since } => (low, high, Some(since)),
                Kind::Categories(_) => continue,
            };
            let Ok(cells) = table.cells(column) else { continue };
            if place == found.len() {
                found.push(Clamped { column: column.clone(), outside: 0, values: 0 });
            }
            for cell in cells.filter(|cell| !entry.is_missing(cell.text())) {
                let value = match since {
                    Some(since) => date::days(cell.text()).map(|days| (days - since) as f64),
                    None => cell.number().ok(),
                };
                let Some(value) = value else { continue };
                found[place].values += 1;
                found[place].outside += u64::from(!(low..=high).contains(&value));
            }
            place += 1;
        }
    }
}

/// What has to be said of such figures.
pub(crate) const EXACT: &str =
    "These are exact figures of the records, NOT covered by the guarantee: do not publish them.";

/// Which columns have values outside their bounds, and how many, if any has.
pub(crate) fn outside_in_words(found: &[Clamped]) -> Option<String> {
    let outside: Vec<String> = found
        .iter()
        .filter(|column| column.outside > 0)
        .map(|column| format!("{} of {} of {}", column.outside, column.values, quoted(&column.column)))
        .collect();
    let said = |outside: String| {
        format!("Values outside their public bounds, which are moved to the nearer one: {outside}.")
    };
    (!outside.is_empty()).then(|| said(outside.join(", ")))
}

/// The figures in a sentence, with what has to be said of them.
pub fn clamped_in_words(found: &[Clamped]) -> String {
    let said =
        outside_in_words(found).unwrap_or_else(|| "No value lies outside its public bounds.".to_owned());
    format!("{said} {EXACT}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::tests::TestFolder;

    #[test]
    fn values_outside_their_bounds_are_counted() {
        let folder = TestFolder::new();
        let path = folder.0.join("a.csv");
        let schema = b"age = [18, 60]\nborn = { range = ['1950-01-01', '2000-01-01'], since = '1970-01-01', missing = 'drop' }\n\
                       sex = ['f', 'm']\nweight = { range = [40, 120], missing = 75 }";
        let schema = Schema::parse("s.toml", schema).unwrap();
        let rows = "f,17,1949-12-31,40\nm,18,1950-01-01,120.5\nf,60,,?\nm,1e300,2000-01-02,x\n".repeat(50);
        std::fs::write(&path, "sex,age,born,weight\n".to_owned() + &rows).unwrap();
        let found = schema.clamped(&path).unwrap();
        let told: Vec<_> = found.iter().map(|c| (c.column.as_str(), c.outside, c.values)).collect();
        assert_eq!(told, [("age", 100, 200), ("born", 100, 150), ("weight", 50, 100)]);
        let words = clamped_in_words(&found);
        assert!(
            words.contains("100 of 200 of 'age', 100 of 150 of 'born', 50 of 100 of 'weight'"),
            "{words}"
        );
        assert!(words.contains("NOT covered"), "{words}");
        assert!(clamped_in_words(&found[..0]).starts_with("No value lies outside"));
        assert!(schema.clamped(Path::new("/dev/null")).unwrap_err().to_string().contains("read twice"));
        // Columns that the file lacks, and a file that is read as a whole because of what is wrong with it.
        std::fs::write(&path, "age\n5\n").unwrap();
        assert_eq!(schema.clamped(&path).unwrap().len(), 1);
        std::fs::write(&path, "age\n5\n6,7\n").unwrap();
        assert!(schema.clamped(&path).is_err());
    }
}
