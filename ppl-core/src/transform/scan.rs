//! The derivative of a scan, which is a scan in the opposite direction.
//!
//! With `(c', y, z) = body(c, x, w)` for the state, a row of inputs, captured values, a row of outputs and a
//! term of sums, and bars for cotangents, its step is the backward pass of the body:
//!
//! ```text
//! (c̄, x̄, w̄) = (∂body)ᵀ (c̄', ȳ, z̄),    c̄ += what the kept state itself received
//! ```
//!
//! `c̄` is carried, `x̄` stacked and `w̄` summed over the steps; `c`, `x` and `ȳ` are inputs; `w` and `z̄`
//! are captured. The body's own values are computed anew in each step. Of all these only those are taken that
//! the derivative needs, so that what is linear stays free of what it does not depend on.

use crate::base::Result;
use crate::op::scan::{ALL_COPIED, Blocks, Body};
use crate::op::{Cotangent, Graph, Op, Scan, Var};
use crate::transform::vector_jacobian;

/// The cotangents of the active arguments of an operation, given that of its result.
pub(crate) fn pulled_back<'g>(
    op: &Op,
    args: &[Var<'g>],
    result: Var<'g>,
    cotangent: Var<'g>,
    active: &[bool],
) -> Vec<Option<Cotangent<'g>>> {
    let Op::Scan(scan) = op else {
        let one = |(which, &active): (usize, &bool)| {
            active.then(|| op.pullback(args, result, cotangent, which)).flatten()
        };
        return active.iter().enumerate().map(one).collect();
    };
    backwards(scan, args, result, cotangent, active).unwrap_or_else(|error| {
        // As any mistake in an expression.
        result.graph().fail(error);
        vec![None; args.len()]
    })
}

/// Which leaves the derivative passes through: of the states also those that come to depend on an active
/// value.
fn active_leaves(scan: &Scan, active: &[bool]) -> (Vec<bool>, Vec<bool>) {
    let body = scan.body();
    let mut leaves = active.to_vec();
    loop {
        let depends = body.depending(&leaves);
        let mut changed = false;
        for (state, &after) in body.carried().iter().enumerate() {
            if depends[after as usize] && !leaves[state] {
                leaves[state] = true;
                changed = true;
            }
        }
        if !changed {
            return (leaves, depends);
        }
    }
}

fn backwards<'g>(
    scan: &Scan,
    args: &[Var<'g>],
    result: Var<'g>,
    cotangent: Var<'g>,
    active: &[bool],
) -> Result<Vec<Option<Cotangent<'g>>>> {
    let (body, steps) = (scan.body(), scan.steps());
    let [carries, inputs, _] = body.groups();
    let Blocks { carries: states, outputs, sums, .. } = scan.blocks();
    let (leaves, depends) = active_leaves(scan, active);
    let states_active: Vec<usize> = (0..carries).filter(|&state| leaves[state]).collect();
    let inputs_active: Vec<usize> = (carries..carries + inputs).filter(|&at| leaves[at]).collect();
    let captured_active: Vec<usize> = (carries + inputs..leaves.len()).filter(|&at| leaves[at]).collect();

    // The step, in a graph of its own.
    let graph = Graph::new();
    let primal = body.new_leaves(&graph, "leaf");
    let values = body.write(&graph, &primal, |op, args| graph.apply(op.clone(), args));
    // A cotangent for each of some results that are active, and where they are.
    let seeds = |results: &[u32], what: &str| -> Result<Vec<(usize, Var<'_>, Var<'_>)>> {
        let active = results.iter().enumerate().filter(|&(at, &value)| match what {
            // A state that becomes active later is active from the start.
            "state" => leaves[at],
            _ => depends[value as usize],
        });
        let seed = |(at, &value): (usize, &u32)| {
            let value = values[value as usize];
            Ok((at, value, graph.input(format!("cotangent of {what} {at}"), value.shape())?))
        };
        active.map(seed).collect()
    };
    let after = seeds(body.carried(), "state")?;
    let stacked = seeds(body.stacked(), "output")?;
    let summed = seeds(body.summed(), "sum")?;
    // What the states themselves received, because they are kept.
    let received = {
        let leaf =
            |&state: &usize| graph.input(format!("cotangent of kept state {state}"), primal[state].shape());
        states_active.iter().map(leaf).collect::<Result<Vec<_>>>()?
    };
    let pairs: Vec<(Var<'_>, Var<'_>)> =
        after.iter().chain(&stacked).chain(&summed).map(|&(_, value, seed)| (value, seed)).collect();
    let wrt: Vec<Var<'_>> = states_active
        .iter()
        .chain(&inputs_active)
        .chain(&captured_active)
        .map(|&leaf| primal[leaf])
        .collect();
    let mut slopes = vector_jacobian(&pairs, &wrt)?;
    let captured_slopes = slopes.split_off(states_active.len() + inputs_active.len());
    let input_slopes = slopes.split_off(states_active.len());
    let state_slopes: Vec<Var<'_>> =
        slopes.into_iter().zip(&received).map(|(slope, &received)| slope + received).collect();

    let carried_leaves: Vec<Var<'_>> = after.iter().map(|&(_, _, seed)| seed).collect();
    let row_leaves: Vec<Var<'_>> = primal[..carries + inputs]
        .iter()
        .copied()
        .chain(stacked.iter().map(|&(_, _, seed)| seed))
        .chain(received)
        .collect();
    let captured_leaves: Vec<Var<'_>> =
        primal[carries + inputs..].iter().copied().chain(summed.iter().map(|&(_, _, seed)| seed)).collect();
    let cut = Body::cut(
        &graph,
        [&carried_leaves, &row_leaves, &captured_leaves],
        [&state_slopes, &input_slopes, &captured_slopes],
        ALL_COPIED,
    );

    // Its arguments, in the graph of the scan.
    let reversed = scan.is_reversed();
    let (first, last) = if reversed { (steps, 0) } else { (0, steps) };
    let before = if reversed { 1..steps + 1 } else { 0..steps };
    let mut given: Vec<Var<'g>> =
        states_active.iter().map(|&state| states[state].row_of(cotangent, last)).collect();
    let row = |kept: usize| -> Var<'g> {
        let Some(beside) = kept.checked_sub(carries + inputs) else {
            return match kept < carries {
                true => states[kept].rows_of(result, before.clone()),
                false => args[kept],
            };
        };
        match beside.checked_sub(stacked.len()) {
            None => outputs[stacked[beside].0].rows_of(cotangent, 0..steps),
            Some(state) => states[states_active[state]].rows_of(cotangent, before.clone()),
        }
    };
    given.extend(cut.inputs.iter().map(|&kept| row(kept)));
    let captured = body.leaves() - carries - inputs;
    given.extend(cut.captured.iter().map(|&kept| match kept.checked_sub(captured) {
        None => args[carries + inputs + kept],
        Some(sum) => sums[summed[sum].0].row_of(cotangent, 0),
    }));
    let backward = Scan::new(cut.body, steps, !reversed);
    let blocks = backward.blocks();
    let found = result.graph().apply(Op::Scan(backward), &given);

    let mut sent: Vec<Option<Cotangent<'g>>> = vec![None; args.len()];
    for (block, &state) in blocks.carries.iter().zip(&states_active) {
        if active[state] {
            sent[state] = Some(Cotangent::Value(block.row_of(found, first)));
        }
    }
    for (block, &input) in blocks.outputs.iter().zip(&inputs_active) {
        sent[input] = Some(Cotangent::Value(block.rows_of(found, 0..steps)));
    }
    for (block, &captured) in blocks.sums.iter().zip(&captured_active) {
        sent[captured] = Some(Cotangent::Value(block.row_of(found, 0)));
    }
    Ok(sent)
}
