//! Which elementwise operations run together in one sweep.
//!
//! Operations join a group when they work on as many elements, and when computing the group at one point in time is possible:
//! no value may be needed by the group and made from it by an operation outside. Values that only the group itself uses
//! never reach memory.

use crate::program::Program;

/// Most operations of one group: more would need more intermediate values than fit the first-level cache.
const LARGEST: usize = 48;

/// The groups of a program in an order in which they can be computed; each a list of instructions, in order. Instructions that
/// are not elementwise stand alone. Instructions for which `skip` holds are in no group.
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
    order(program, &group_of, &mut members, skip)
}

/// Whether group `from` depends on group `to` by a path through a third group.
fn passes_outside(
    program: &Program,
    group_of: &[usize],
    members: &[Vec<usize>],
    from: usize,
    to: usize,
) -> bool {
    let first = members[to][0];
    let mut seen = vec![from, to];
    let mut stack: Vec<usize> = vec![from];
    while let Some(group) = stack.pop() {
        for &member in &members[group] {
            for &arg in &program.instructions[member].args {
                let next = group_of[arg];
                if next == to && group != from {
                    return true;
                }
                // A group whose members all stand before `to` cannot depend on it.
                let after = members[next].last().is_some_and(|&last| last > first);
                if after && !seen.contains(&next) {
                    seen.push(next);
                    stack.push(next);
                }
            }
        }
    }
    false
}

/// Groups in an order of evaluation that stays near the program's own.
fn order(
    program: &Program,
    group_of: &[usize],
    members: &mut [Vec<usize>],
    skip: impl Fn(usize) -> bool,
) -> Vec<Vec<usize>> {
    let mut done = vec![false; members.len()];
    let mut ordered = Vec::new();
    for index in 0..program.instructions.len() {
        // Everything this instruction's group waits for, without recursion: groups may be many.
        let mut stack = vec![group_of[index]];
        while let Some(&group) = stack.last() {
            if done[group] {
                stack.pop();
                continue;
            }
            let waits = members[group]
                .iter()
                .flat_map(|&member| &program.instructions[member].args)
                .map(|&arg| group_of[arg])
                .find(|&next| next != group && !done[next]);
            match waits {
                Some(next) => stack.push(next),
                None => {
                    done[group] = true;
                    stack.pop();
                    ordered.push(std::mem::take(&mut members[group]));
                }
            }
        }
    }
    ordered.retain(|group| !group.iter().all(|&index| skip(index)));
    ordered
}
