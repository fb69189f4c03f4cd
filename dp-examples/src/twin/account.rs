//! What a twin is paid from.

use dp_accountant::{Budget, FileLedger, Ledger, Purse, Relation};

use super::arguments::Fit;
use super::{Error, Result};

/// The ledger that a twin is paid from: a file where one is named, and one of its own otherwise.
///
/// # Errors
/// A file that does not exist, where no budget for it is named; one with another relation or budget than was
/// named; whatever the ledger refuses.
pub fn account(options: &Fit) -> Result<Box<dyn Purse>> {
    let wanted = options.relation.map(Relation::from);
    let relation = wanted.unwrap_or(Relation::AddRemove);
    let budget = |epsilon| Budget { epsilon, delta: options.delta, relation };
    let Some(path) = &options.ledger else {
        return Ok(Box::new(Ledger::new(budget(options.epsilon))?));
    };
    let file = match options.ledger_epsilon {
        Some(epsilon) => FileLedger::create_or_open(path, budget(epsilon))?,
        None if !path.exists() => {
            return Err(Error::input(format!(
                "--ledger: there is no file {}; name what all who pay from it may spend, --ledger-epsilon 3, and it \
                 is made",
                path.display()
            )));
        }
        None => FileLedger::resume(path)?,
    };
    let found = file.ledger().budget().relation;
    match wanted {
        Some(wanted) if wanted != found => Err(Error::input(format!(
            "--relation: the ledger {} is one for the relation {found}",
            path.display()
        ))),
        _ => Ok(Box::new(file)),
    }
}
