//! Designs of files that are read in parts.

use std::path::Path;

use super::{Columns, Design, Intercept, feature_columns, holds, numbers};
use crate::Error;
use crate::formula::matrix::check_size;
use crate::schema::bounds::Bounds;
use crate::table::Table;
use crate::table::condition::Condition;

impl Design {
    /// The design of a file, each part of which is numbers before the next is text: a whole table takes as much
    /// memory as its design, or more. `None` where the file has to be read as a whole, and wherever something
    /// is wrong with anything: then the whole table says what.
    pub(crate) fn read_in_parts(
        path: &Path,
        bounds: &Bounds,
        condition: &Condition,
        chosen: Option<&[String]>,
        intercept: Intercept,
    ) -> Option<Self> {
        // Categories that are read from the records are those of all of them.
        if bounds.has_public_categories() {
            return None;
        }
        let mut found: Option<Self> = None;
        Table::in_parts(path, |part, _| {
            let part = match bounds.complete(part, condition, chosen) {
                Ok(part) => part,
                // There may be some in other parts.
                Err(Error::NoRecordsLeft { .. }) => return Some(()),
                Err(_) => return None,
            };
            if found.is_none() {
                bounds.check_columns(&part).ok()?;
            }
            let columns = feature_columns(&part, condition, chosen).ok()?;
            // Those of a part may all be the same.
            let labels = numbers(holds(&part, bounds, condition).ok()?);
            let more = Columns::filled(&part, bounds, &columns, labels, intercept).ok()?.finish().ok()?;
            match &mut found {
                None => found = Some(more),
                Some(found) => found.append(&more)?,
            }
            Some(())
        })?;
        found.filter(|found| [0.0, 1.0].iter().all(|label| found.labels.iter().any(|other| other == label)))
    }

    /// Adds more records, after those that there are.
    fn append(&mut self, more: &Self) -> Option<()> {
        check_size(self.labels.len() + more.labels.len(), self.coefficients.len()).ok()?;
        self.features.append(ndarray::Axis(0), more.features.view()).ok()?;
        self.labels.append(ndarray::Axis(0), more.labels.view()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::tests::TestFolder;

    #[test]
    fn parts_make_what_the_table_makes() {
        let folder = TestFolder::new();
        let path = folder.0.join("shells.csv");
        let bounds = b"length = { range = [0, 1], missing = 'drop' }\nsex = ['f', 'm']\nrings = [1, 30]";
        let bounds = Bounds::parse("b.toml", bounds).unwrap();
        let row = |i: usize| {
            let length = if i.is_multiple_of(5) { String::new() } else { format!("{}", i as f64 / 150.0) };
            format!("{length},{},{}\n", ["f", "m"][i % 2], i / 10)
        };
        let text = "length,sex,rings\n".to_owned() + &(0..200).map(row).collect::<String>();
        let condition: Condition = "rings >= 10".parse().unwrap();
        let read = |text: &str, bounds: &Bounds| {
            std::fs::write(&path, text).unwrap();
            Design::read_in_parts(&path, bounds, &condition, None, Intercept::Included)
        };
        let design = read(&text, &bounds).unwrap();
        let table = bounds.complete(Table::read(&path).unwrap(), &condition, None).unwrap();
        let whole = Design::new(&table, &bounds, &condition, None, Intercept::Included).unwrap();
        assert_eq!(design.labels().len(), 160);
        assert_eq!((design.features(), design.labels()), (whole.features(), whole.labels()));
        assert_eq!((design.names(), design.notes()), (whole.names(), whole.notes()));
        assert!(design.features().is_standard_layout());
        // What is wrong, and what depends on all records, is left to the whole table.
        let begin: String = text.split_inclusive('\n').take(90).collect();
        assert!(read(&begin, &bounds).is_none(), "all labels are 0");
        assert!(read(&(text.clone() + "0.5,x,3\n"), &bounds).is_none());
        assert!(read(&text, &bounds.with_public_categories()).is_none());
    }
}
