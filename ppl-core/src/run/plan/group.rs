//! Which elementwise operations run together in one sweep.
//!
//! Operations join a group when they work on as many elements, and when computing the group at one point in
//! time is possible: no value may be needed by the group and made from it by an operation outside. Values
//! that only the group itself uses never reach memory.

use crate::program::Program;

/// Most operations of one group: more would need more intermediate values than fit the first-level cache.
const LARGEST: usize = 48;

/// The groups of a program in an order in which they can be computed; each a list of instructions, in order.
/// Instructions that are not elementwise stand alone. Instructions for which `skip` holds are in no group.
pub(crate) fn groups(program: &Program, skip: impl Fn(usize) -> bool) -> Vec<Vec<usize>> {
    let count = program.instructions.len();
    // The group of each instruction; a group is named by a member, and members are found through `members`.
    let mut group_of: Vec<usize> = (0..count).collect();
    let mut members: Vec<Vec<usize>> = (0..count).map(|index| vec![index]).collect();
    let fusible = |index: usize| program.instructions[index].op.is_elementwise() && !skip(index);
    let alike = |a: usize, b: usize| {
        let (a, b) = (&program.instructions[a], &program.instructions[b]);
        a.kind == b.kind && a.shape.elements() == b.shape.elements()
    };
    for index in 0..count {
        if !fusible(index) {
            continue;
        }
        for position in 0..program.instructions[index].args.len() {
            let (mine, theirs) = (group_of[index], group_of[program.instructions[index].args[position]]);
            if mine == theirs || !fusible(theirs) || !alike(theirs, index) {
                continue;
            }
            if members[mine].len() + members[theirs].len() > LARGEST {
                continue;
            }
            let between = |from: usize, to: usize| passes_outside(program, &group_of, &members, from, to);
            if between(mine, theirs) || between(theirs, mine) {
                continue;
            }
            let (keep, drop) =
                if members[mine].len() >= members[theirs].len() { (mine, theirs) } else { (theirs, mine) };
            let moved = std::mem::take(&mut members[drop]);
            moved.iter().for_each(|&member| group_of[member] = keep);
            members[keep].extend(moved);
            members[keep].sort_unstable();
        }
    }
    order(program, &group_of, &members, &skip).unwrap_or_else(|| {
        // Not reached while the merges above are sound; each instruction by itself always has an order.
        let alone: Vec<Vec<usize>> = (0..count).map(|index| vec![index]).collect();
        let group_of: Vec<usize> = (0..count).collect();
        order(program, &group_of, &alone, &skip).unwrap_or_default()
    })
}

/// Whether group `from` depends on group `to` by a path through a third group.
///
/// All groups on the way are looked at: that one stands before another in the program says nothing, for it
/// may depend on an early member of a group that has late members too.
fn passes_outside(
    program: &Program,
    group_of: &[usize],
    members: &[Vec<usize>],
    from: usize,
    to: usize,
) -> bool {
    let mut seen = vec![false; members.len()];
    seen[from] = true;
    let mut stack: Vec<usize> = vec![from];
    while let Some(group) = stack.pop() {
        for &member in &members[group] {
            for &arg in &program.instructions[member].args {
                let next = group_of[arg];
                if next == to && group != from {
                    return true;
                }
                if next != to && !seen[next] {
                    seen[next] = true;
                    stack.push(next);
                }
            }
        }
    }
    false
}

/// Groups in an order of evaluation that stays near the program's own; `None` if there is none, because some
/// depend on each other.
fn order(
    program: &Program,
    group_of: &[usize],
    members: &[Vec<usize>],
    skip: &impl Fn(usize) -> bool,
) -> Option<Vec<Vec<usize>>> {
    let mut done = vec![false; members.len()];
    let mut waiting = vec![false; members.len()];
    let mut ordered = Vec::new();
    for index in 0..program.instructions.len() {
        // Everything this instruction's group waits for, without recursion: groups may be many.
        let mut stack = vec![group_of[index]];
        while let Some(&group) = stack.last() {
            if done[group] {
                stack.pop();
                continue;
            }
            waiting[group] = true;
            let waits = members[group]
                .iter()
                .flat_map(|&member| &program.instructions[member].args)
                .map(|&arg| group_of[arg])
                .find(|&next| next != group && !done[next]);
            match waits {
                Some(next) if waiting[next] => return None,
                Some(next) => stack.push(next),
                None => {
                    done[group] = true;
                    stack.pop();
                    ordered.push(members[group].clone());
                }
            }
        }
    }
    ordered.retain(|group| !group.iter().all(|&index| skip(index)));
    Some(ordered)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Graph;

    #[test]
    fn a_group_is_not_made_of_what_waits_for_itself() {
        let graph = Graph::new();
        let (w, s) = (graph.input("w", [2]).unwrap(), graph.input("s", ()).unwrap());
        let y = w.exp();
        let sum = y.sum();
        let t = s.exp();
        // `y` and `scaled` go together and need `t`; `sum` needs `y`; so `t` and `t + sum` must stay apart.
        let program = Program::new(&graph, &[y * t, t + sum]).unwrap();
        let groups = groups(&program, |index| program.instructions[index].args.is_empty());
        let place = |index: usize| groups.iter().position(|group| group.contains(&index)).unwrap();
        for (index, instruction) in
            program.instructions.iter().enumerate().filter(|(_, each)| !each.args.is_empty())
        {
            for &arg in instruction.args.iter().filter(|&&arg| !program.instructions[arg].args.is_empty()) {
                assert!(place(arg) <= place(index), "{groups:?}");
            }
        }
    }
}
