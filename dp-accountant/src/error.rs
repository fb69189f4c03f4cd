//! What can go wrong, each case with the value that broke its bound.

use crate::classical::Method;
use crate::{Budget, Event, Relation, Sampling};

/// The result of anything in this crate that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// An input outside its range, a question without a proven answer, or a budget that does not suffice.
///
/// ```
/// use dp_accountant::{Event, Mechanism, Sampling};
///
/// let error = Event::new(Mechanism::Gaussian { noise_multiplier: -0.3 }, Sampling::None).unwrap_err();
/// assert_eq!(error.to_string(), "noise multiplier must be between 1e-100 and 1e100, got -0.3");
/// // A `main` that returns an error prints this.
/// assert_eq!(format!("{error:?}"), error.to_string());
/// ```
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The noise multiplier is not a positive number of representable consequence.
    #[error("noise multiplier must be between 1e-100 and 1e100, got {value}")]
    NoiseMultiplier {
        /// The value that was given.
        value: f64,
    },
    /// The Poisson rate is not a probability above zero.
    #[error("Poisson sampling rate must be above 0 and at most 1, got {value}")]
    SamplingRate {
        /// The value that was given.
        value: f64,
    },
    /// A batch without replacement is empty or larger than the data set.
    #[error("batch must have between 1 and {records} records (the size of the data set), got {batch}")]
    Batch {
        /// Records in a batch.
        batch: u64,
        /// Records in the data set.
        records: u64,
    },
    /// Epsilon is negative, infinite or not a number.
    #[error("epsilon must be finite and {bound}, got {value}")]
    Epsilon {
        /// The value that was given.
        value: f64,
        /// The bound it broke.
        bound: &'static str,
    },
    /// Delta is not strictly between zero and one.
    #[error("delta must be above 0 and below 1, got {value}")]
    Delta {
        /// The value that was given.
        value: f64,
    },
    /// The wanted relative width of an interval is out of range.
    #[error("relative width must be between 1e-9 and 1, got {value}")]
    RelativeWidth {
        /// The value that was given.
        value: f64,
    },
    /// The ends of an interval are not ordered.
    #[error(
        "a certified interval needs 0 <= lower <= estimate <= upper < infinity, got {lower}, {estimate}, {upper}"
    )]
    Interval {
        /// The lower end that was given.
        lower: f64,
        /// The estimate that was given.
        estimate: f64,
        /// The upper end that was given.
        upper: f64,
    },
    /// A stored event was written in a format this version does not know.
    #[error("event has format version {found}, this build reads version {supported}")]
    EventVersion {
        /// The version that was found.
        found: u32,
        /// The version this build reads.
        supported: u32,
    },
    /// No engine has a proven answer for this sampling scheme under this relation.
    #[error("{sampling} under {relation} has no certified answer here; {instead}")]
    Unsupported {
        /// The neighbouring relation that was asked for.
        relation: Relation,
        /// The sampling scheme of the offending event.
        sampling: Sampling,
        /// What can be asked instead.
        instead: &'static str,
    },
    /// A debit was refused because the total would exceed the budget. Nothing was recorded.
    #[error(
        "budget exceeded: with this debit epsilon could be as large as {would_be} at delta {delta}; the budget is \
         {budget}, of which at most {spent} is spent"
    )]
    BudgetExceeded {
        /// The upper end of epsilon that had been spent before.
        spent: f64,
        /// The upper end of epsilon that the total would have reached.
        would_be: f64,
        /// The epsilon of the budget.
        budget: f64,
        /// The delta of the budget.
        delta: f64,
    },
    /// No noise multiplier in the searched range meets the budget.
    #[error(
        "no noise multiplier up to {largest} meets epsilon {budget} at delta {delta}: there epsilon is still \
         {epsilon}; use fewer steps, a smaller sampling rate or a larger budget"
    )]
    Unreachable {
        /// The largest noise multiplier that was tried.
        largest: f64,
        /// The upper end of epsilon there.
        epsilon: f64,
        /// The epsilon of the budget.
        budget: f64,
        /// The delta of the budget.
        delta: f64,
    },
    /// A parameter of a mechanism or a sampling scheme is out of range.
    #[error("{name} must be {bound}, got {value}")]
    Parameter {
        /// Which parameter.
        name: &'static str,
        /// The value that was given.
        value: f64,
        /// The bound it broke.
        bound: &'static str,
    },
    /// No engine has a proven answer for this mechanism under this sampling scheme and relation.
    #[error("{event} under {relation} has no certified answer here; {instead}")]
    UnsupportedEvent {
        /// The neighbouring relation that was asked for.
        relation: Relation,
        /// The offending event.
        event: Event,
        /// What can be asked instead.
        instead: &'static str,
    },
    /// No epsilon reaches this delta: with a larger probability an outcome gives everything away.
    #[error("no epsilon has delta {delta}: an outcome gives everything away with probability {catastrophe}")]
    NoEpsilon {
        /// The delta that was asked for.
        delta: f64,
        /// The probability of outcomes with infinite loss.
        catastrophe: f64,
    },
    /// A shuffled run was counted in parts of an epoch.
    #[error(
        "{steps} steps of batches of {batch} from {records} shuffled records are not whole epochs of {epoch} steps; \
         round up to {rounded}"
    )]
    PartOfEpoch {
        /// The count of the event.
        steps: u64,
        /// Records in a batch.
        batch: u64,
        /// Records in the data set.
        records: u64,
        /// Steps in an epoch.
        epoch: u64,
        /// The next multiple of it.
        rounded: u64,
    },
    /// More different subsampled events than one answer can hold.
    #[error(
        "a composition may hold at most {most} different events that need a loss distribution, got {found}"
    )]
    TooManyEvents {
        /// How many there are.
        found: usize,
        /// How many are allowed.
        most: usize,
    },
    /// The theorem behind an older accountant does not cover an event under a relation.
    #[error("the {method} does not cover \"{event}\" under {relation}; {instead}")]
    Inapplicable {
        /// The accountant that was asked.
        method: Method,
        /// The neighbouring relation.
        relation: Relation,
        /// The event.
        event: Event,
        /// What can be asked instead.
        instead: &'static str,
    },
    /// An older accountant's bound is infinite: it says nothing.
    #[error("the {method} gives no finite bound here; ask the certified accountant")]
    NoBound {
        /// The accountant that was asked.
        method: Method,
    },
    /// The order of a Rényi divergence is not a number above 1, or that of a moment is 0.
    #[error("order must be finite and above 1 (a moment's: at least 1), got {value}")]
    Order {
        /// The value that was given.
        value: f64,
    },
    /// A rho is negative or not finite.
    #[error("rho must be finite and not negative, got {value}")]
    Rho {
        /// The value that was given.
        value: f64,
    },
    /// Not even the smallest value of a parameter meets the budget.
    #[error(
        "no choice of {what} meets epsilon {budget} at delta {delta}: at {smallest}, the smallest considered, epsilon is \
         already {epsilon}; use more noise or a larger budget"
    )]
    NoneKeeps {
        /// The parameter.
        what: &'static str,
        /// Its smallest value.
        smallest: f64,
        /// The upper end of epsilon there.
        epsilon: f64,
        /// The epsilon of the budget.
        budget: f64,
        /// The delta of the budget.
        delta: f64,
    },
    /// A ledger's file could not be read or written.
    #[error("ledger {path}: {reason}")]
    LedgerFile {
        /// The file.
        path: String,
        /// What the operating system says.
        reason: String,
    },
    /// There is a file already where a ledger was to be created.
    #[error("ledger {path}: the file exists already; open it instead, or choose another name")]
    LedgerExists {
        /// The file.
        path: String,
    },
    /// Another process, or another value in this one, has the ledger's file open.
    #[error("ledger {path}: it is open elsewhere, and only one writer may spend from it at a time")]
    LedgerLocked {
        /// The file.
        path: String,
    },
    /// A ledger's file was written in a format that this version does not know.
    #[error("ledger {path}: it has format version {found}, this build reads version {supported}")]
    LedgerVersion {
        /// The file.
        path: String,
        /// The version that was found.
        found: u32,
        /// The version this build reads.
        supported: u32,
    },
    /// A line of a ledger's file is not what was written.
    #[error(
        "ledger {path}, line {line}: {reason}{}; restore the file, or count everything that it stood for as \
         spent",
        quoted(found)
    )]
    LedgerLine {
        /// The file.
        path: String,
        /// The number of the line, from 1.
        line: u64,
        /// What is wrong with it.
        reason: &'static str,
        /// The beginning of the line; empty where the file is no ledger, and may hold anything.
        found: String,
    },
    /// The file beside a ledger that says how far it goes is missing, or says that debits are.
    #[error(
        "ledger head {path}: {reason}; restore ledger and head as they were after the last debit. If no debit is missing, or \
         those that are count as spent elsewhere, accept the ledger as it is with `dp-accountant ledger accept --file \
         LEDGER` or FileLedger::accept; remove the head of a ledger that is given up"
    )]
    LedgerHead {
        /// The head's file.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// A ledger's file was created for another budget.
    #[error(
        "ledger {path}: it was created for epsilon {} at delta {} under {}, not for epsilon {} at delta {} under {}",
        found.epsilon, found.delta, found.relation, wanted.epsilon, wanted.delta, wanted.relation
    )]
    LedgerBudget {
        /// The file.
        path: String,
        /// The budget it was created for.
        found: Budget,
        /// The budget that was named.
        wanted: Budget,
    },
    /// A debit's label is empty or too long.
    #[error("a label must have 1 to {most} characters, got {found}")]
    LabelLength {
        /// How many characters it has.
        found: usize,
        /// How many it may have.
        most: usize,
    },
    /// A debit's label has a character that could break a line or disguise a listing.
    #[error(
        "a label must have no control characters, line separators or characters that change the direction of text, got \
         U+{code:04X} as character {position}"
    )]
    LabelCharacter {
        /// The character's number in Unicode.
        code: u32,
        /// Which character it is, from 1.
        position: usize,
    },
    /// A text names no moment.
    #[error("a time must have the form 2024-02-29T12:30:05Z and lie between the years 1970 and 9999, got \"{}\"", found.escape_debug())]
    Timestamp {
        /// The beginning of the text.
        found: String,
    },
    /// A mark is another ledger's.
    #[error("this is not the ledger that was paid from, but another one")]
    OtherLedger,
    /// A ledger lacks debits that were made before a mark.
    #[error(
        "this ledger no longer has the {wanted} debits that had been made from it; it has {found}: it was restored from an old copy"
    )]
    LostDebits {
        /// How many debits the ledger has.
        found: u64,
        /// How many it had at the mark.
        wanted: u64,
    },
    /// A sampling scheme for whose single releases there is no event.
    #[error("no single release has an event under this scheme: {scheme}")]
    UnsupportedScheme {
        /// The scheme, in words.
        scheme: String,
    },
    /// A receipt was requested for uses that the ledger has no debit of.
    #[error("this ledger has no debit of what was paid for: {recorded} of {wanted} uses of {event}")]
    NotDebited {
        /// Uses of the event that the ledger has.
        recorded: u64,
        /// Uses that the receipt was to be for.
        wanted: u64,
        /// The event.
        event: Event,
    },
    /// There is something where an output file was to appear that no output may replace, such as a ledger.
    #[error("{path}: cannot be written: {reason}")]
    NotReplaceable {
        /// The path.
        path: String,
        /// What is there.
        reason: String,
    },
    /// An output file could not be written. A former file is as it was, unless only its folder could not be
    /// brought to the disk.
    #[error("{path}: cannot be written: {reason}")]
    Unwritable {
        /// The path.
        path: String,
        /// What the operating system says.
        reason: String,
    },
    /// An event tree holds a node that cannot be read, or an event for which there is no node.
    #[error("{node} at {path} {reason}")]
    DpEvent {
        /// The way from the root of the tree, as in `$.events[2].event`.
        path: String,
        /// The class of the node.
        node: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// As words, too: what a `main` that returns an error prints is its debugging form.
impl std::fmt::Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// What stands in a line, after a colon.
fn quoted(found: &str) -> String {
    if found.is_empty() { String::new() } else { format!(": \"{found}\"") }
}
