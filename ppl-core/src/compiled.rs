//! The engine for both types of numbers, compiled with this crate.
//!
//! Plans and gradients are generic in the type of their numbers, and a compiler makes generic code where it is
//! first asked for: each program, test and example that runs a model would compile the whole engine once more,
//! which took half of the time of a build. What is named here is compiled in this crate, and the others link it
//! where the compiler shares generic code: at an `opt-level` of 0, 1, "s" or "z". Release builds share none, and are
//! spared the code.

use crate::base::Result;
use crate::machine::Scalar;
use crate::op::Var;
use crate::program::Program;
use crate::record_gradient::{MaterialisedGradient, MixedWords, RecordGradient};
use crate::records::Records;
use crate::run::{ExecutionPlan, Explanation};
use ndarray::Array2;

/// What writes a row of numbers about records.
type OfRecords<P, T> = fn(&mut P, &Records, &[u64], &mut [T]) -> Result<()>;
/// What makes a table about records.
type Table<P, T> = fn(&mut P, &Records, &[u64]) -> Result<Array2<T>>;

/// Methods of the engine. Nobody calls them through here.
#[expect(dead_code, clippy::type_complexity, reason = "named to be compiled")]
struct Engine<T: 'static> {
    plan: fn(&Program) -> ExecutionPlan<T>,
    copy_of_plan: fn(&ExecutionPlan<T>) -> ExecutionPlan<T>,
    set: fn(&mut ExecutionPlan<T>, &str, &[T]) -> Result<()>,
    run: fn(&mut ExecutionPlan<T>),
    run_records: fn(&mut ExecutionPlan<T>, &Records, &[u64]) -> Result<()>,
    evaluate: fn(&mut ExecutionPlan<T>, &Records, &[u64], usize) -> Result<Array2<T>>,
    evaluate_all: Table<ExecutionPlan<T>, T>,
    explain: fn(&ExecutionPlan<T>) -> Explanation,
    gradient: fn(Var<'_>, &[Var<'_>]) -> Result<RecordGradient<T>>,
    copy_of_gradient: fn(&RecordGradient<T>) -> RecordGradient<T>,
    grouped: fn(Var<'_>, &[Var<'_>], &[usize]) -> Result<RecordGradient<T>>,
    with_bounded_sums: fn(Var<'_>, &[Var<'_>], &[usize]) -> Result<RecordGradient<T>>,
    without_zeros: fn(RecordGradient<T>, MixedWords) -> Result<RecordGradient<T>>,
    set_of_gradient: fn(&mut RecordGradient<T>, &str, &[T]) -> Result<()>,
    weighted_sum: fn(&mut RecordGradient<T>, &Records, &[u64], fn(&[T], &mut [T]), &mut [T]) -> Result<()>,
    sum: OfRecords<RecordGradient<T>, T>,
    squared_norms: OfRecords<RecordGradient<T>, T>,
    keep: Table<RecordGradient<T>, T>,
    each: fn(
        &mut RecordGradient<T>,
        &Records,
        &[u64],
        fn(&[T], &mut [T]),
        &mut [T],
        fn(&mut T, &[T]),
    ) -> Result<()>,
    materialised: fn(Var<'_>, &[Var<'_>]) -> Result<MaterialisedGradient<T>>,
    rows: Table<MaterialisedGradient<T>, T>,
}

impl<T: Scalar> Engine<T> {
    const ALL: Self = Self {
        plan: ExecutionPlan::new,
        copy_of_plan: Clone::clone,
        set: ExecutionPlan::set,
        run: ExecutionPlan::run,
        run_records: ExecutionPlan::run_records,
        evaluate: ExecutionPlan::evaluate,
        evaluate_all: ExecutionPlan::evaluate_all,
        explain: ExecutionPlan::explain,
        gradient: RecordGradient::new,
        copy_of_gradient: Clone::clone,
        grouped: RecordGradient::grouped,
        with_bounded_sums: RecordGradient::with_bounded_sums,
        without_zeros: RecordGradient::without_zeros,
        set_of_gradient: RecordGradient::set,
        weighted_sum: RecordGradient::weighted_sum,
        sum: RecordGradient::sum,
        squared_norms: RecordGradient::squared_norms,
        keep: RecordGradient::keep,
        each: RecordGradient::each_weighted,
        materialised: MaterialisedGradient::new,
        rows: MaterialisedGradient::rows,
    };
}

#[used]
static IN_F32: Engine<f32> = Engine::ALL;
#[used]
static IN_F64: Engine<f64> = Engine::ALL;
