//! Running a program: planned, over tiles of records, or interpreted, one record at a time.

mod interpret;
pub(crate) mod plan;

pub use interpret::{Argument, Fault, Trouble};
pub use plan::{ExecutionPlan, Explanation, InputId, RecordInputId, StepExplanation};
