//! Which elementwise operations run together in one sweep.
//!
//! Operations join a group when they work on as many elements, and when computing the group at one point in
//! time is possible: no value may be needed by the group and made from it by an operation outside. Values
//! that only the group itself uses never reach memory.

use super::rank::Ranked;
use crate::program::Program;

/// Most operations of one group: more would need more intermediate values than fit the first-level cache.
const LARGEST: usize = 48;

/// About how many uses of values are looked at in all searches together, and the least of one search.
const SEARCHED: usize = 1 << 22;
const LEAST_SEARCHED: usize = 64;

/// The groups of a program in an order in which they can be computed; each a list of instructions, in order.
/// Instructions that are not elementwise stand alone. Instructions for which `skip` holds are in no group.
///
/// Time grows in proportion to the program's length. In a program of more than about 1,600 instructions, two
/// operations that are far apart, with much that depends on the one and much that the other depends on, are
/// not joined though they may be: to find out would take too long.
pub(crate) fn groups(program: &Program, skip: impl Fn(usize) -> bool) -> Vec<Vec<usize>> {
    let longest = (SEARCHED / program.instructions.len().max(1)).max(LEAST_SEARCHED);
    let merged = Groups::merged(program, &skip, longest);
    order(program, &merged.of, &merged.members, &skip).unwrap_or_else(|| {
        // Not reached while the merges are sound; each instruction by itself always has an order.
        let alone = Groups::alone(program);
        order(program, &alone.of, &alone.members, &skip).unwrap_or_default()
    })
}

/// Groups of instructions, named by one of their members.
struct Groups<'p> {
    program: &'p Program,
    /// The group of each instruction.
    of: Vec<usize>,
    /// The instructions of each group, in order; none under a name that is no longer used.
    members: Vec<Vec<usize>>,
    /// The instructions that use each instruction's value.
    users: Users,
    /// An order in which the groups can be computed.
    order: Ranked,
    /// By which search, and from which end, a group was met last.
    met: Vec<(usize, End)>,
    searches: usize,
}

/// From which of two groups a search sets out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Early,
    Late,
}

/// One end of a search.
#[derive(Default)]
struct Front {
    /// Groups whose neighbours have not been looked at, each with the number of these.
    open: Vec<(usize, usize)>,
    /// All groups that were met.
    met: Vec<usize>,
    /// Neighbours looked at.
    spent: usize,
}

impl Front {
    /// What has been looked at when the next group has been; `None` if there is none.
    fn cost(&self) -> Option<usize> {
        self.open.last().map(|(_, neighbours)| self.spent + neighbours)
    }
}

impl<'p> Groups<'p> {
    /// Each instruction by itself.
    fn alone(program: &'p Program) -> Self {
        let count = program.instructions.len();
        Self {
            program,
            of: (0..count).collect(),
            members: (0..count).map(|index| vec![index]).collect(),
            users: Users::new(program),
            order: Ranked::new(count),
            met: vec![(0, End::Early); count],
            searches: 0,
        }
    }

    /// Joins what can be joined and is found to be within searches of at most `longest` uses of values.
    fn merged(program: &'p Program, skip: &impl Fn(usize) -> bool, longest: usize) -> Self {
        let mut groups = Self::alone(program);
        for index in 0..program.instructions.len() {
            if !is_fusible(program, index, skip) {
                continue;
            }
            for &arg in &program.instructions[index].args {
                let (mine, theirs) = (groups.of[index], groups.of[arg]);
                if mine != theirs
                    && is_fusible(program, theirs, skip)
                    && alike(program, theirs, index)
                    && groups.members[mine].len() + groups.members[theirs].len() <= LARGEST
                {
                    groups.join(mine, theirs, longest);
                }
            }
        }
        groups
    }

    /// Makes two groups one, unless there is a way from one to the other through a third, or no short search
    /// can tell.
    ///
    /// That a group stands before another in the program says nothing, for it may depend on an early member
    /// of a group that has late members too. So there is an order of the groups themselves, which changes with
    /// them (as in Pearce and Kelly 2007, "A dynamic topological sort algorithm for directed acyclic graphs"):
    /// a way leads from the earlier of the two to the later and passes only groups between them in that
    /// order. It is looked for from both ends. Once all that follows the earlier one there is known, it can
    /// move behind the later one, where the two become one; or once all that the later one waits for is
    /// known, that can move before the earlier one.
    fn join(&mut self, one: usize, other: usize, longest: usize) {
        let in_order = self.order.rank(one) < self.order.rank(other);
        let (early, late) = if in_order { (one, other) } else { (other, one) };
        let Some((end, mut moving)) = self.apart(early, late, longest) else {
            return;
        };
        moving.sort_unstable_by_key(|&group| self.order.rank(group));
        let (place, mut at) = match end {
            End::Early => (late, late),
            End::Late => (early, self.order.previous(early)),
        };
        for group in moving {
            self.order.move_after(group, at);
            at = group;
        }
        let (keep, drop) =
            if self.members[one].len() >= self.members[other].len() { (one, other) } else { (other, one) };
        self.order.move_after(keep, place);
        self.order.remove(drop);
        let moved = std::mem::take(&mut self.members[drop]);
        moved.iter().for_each(|&member| self.of[member] = keep);
        self.members[keep].extend(moved);
        self.members[keep].sort_unstable();
    }

    /// If no way leads from `early` to `late` through a third group: all groups between them in the order that
    /// follow `early`, or all that `late` waits for, whichever are known first. `None` if there is a way, or
    /// if both would take longer to find than `longest`.
    fn apart(&mut self, early: usize, late: usize, longest: usize) -> Option<(End, Vec<usize>)> {
        self.searches += 1;
        let mut fronts = [Front::default(), Front::default()];
        fronts[0].open.push((early, self.neighbours(early, End::Early)));
        fronts[1].open.push((late, self.neighbours(late, End::Late)));
        loop {
            let (end, front) = match (fronts[0].cost(), fronts[1].cost()) {
                (None, _) => return Some((End::Early, std::mem::take(&mut fronts[0].met))),
                (_, None) => return Some((End::Late, std::mem::take(&mut fronts[1].met))),
                (Some(from_early), Some(from_late)) if from_early.min(from_late) > longest => return None,
                (Some(from_early), Some(from_late)) if from_early <= from_late => {
                    (End::Early, &mut fronts[0])
                }
                _ => (End::Late, &mut fronts[1]),
            };
            if self.meets_the_other(end, front, early, late) {
                return None;
            }
        }
    }

    /// Looks at all neighbours of one group of a front: whether one of them is the other end, or has been met
    /// from there.
    fn meets_the_other(&mut self, end: End, front: &mut Front, early: usize, late: usize) -> bool {
        let Some((group, neighbours)) = front.open.pop() else {
            return false;
        };
        front.spent += neighbours;
        let (start, goal) = if end == End::Early { (early, late) } else { (late, early) };
        let (from, to) = (self.order.rank(early), self.order.rank(late));
        for position in 0..self.members[group].len() {
            let member = self.members[group][position];
            let count = match end {
                End::Early => self.users.of(member).len(),
                End::Late => self.program.instructions[member].args.len(),
            };
            for which in 0..count {
                let next = self.of[match end {
                    End::Early => self.users.of(member)[which],
                    End::Late => self.program.instructions[member].args[which],
                }];
                if next == goal {
                    if group != start {
                        return true;
                    }
                    continue;
                }
                let rank = self.order.rank(next);
                if rank <= from || rank >= to {
                    continue;
                }
                match self.met[next] {
                    (search, from) if search == self.searches => {
                        if from != end {
                            return true;
                        }
                    }
                    _ => {
                        self.met[next] = (self.searches, end);
                        front.met.push(next);
                        front.open.push((next, self.neighbours(next, end)));
                    }
                }
            }
        }
        false
    }

    /// How many uses a search looks at that goes on from a group.
    fn neighbours(&self, group: usize, end: End) -> usize {
        let count = |&member: &usize| match end {
            End::Early => self.users.of(member).len(),
            End::Late => self.program.instructions[member].args.len(),
        };
        self.members[group].iter().map(count).sum()
    }
}

fn is_fusible(program: &Program, index: usize, skip: &impl Fn(usize) -> bool) -> bool {
    program.instructions[index].op.is_elementwise() && !skip(index)
}

fn alike(program: &Program, a: usize, b: usize) -> bool {
    let (a, b) = (&program.instructions[a], &program.instructions[b]);
    a.kind == b.kind && a.shape.elements() == b.shape.elements()
}

/// The instructions that use the value of each instruction.
struct Users {
    /// Users of the first instruction, then of the second, and so on;
    all: Vec<usize>,
    /// and where those of each begin.
    start: Vec<usize>,
}

impl Users {
    fn new(program: &Program) -> Self {
        let mut start = vec![0; program.instructions.len() + 1];
        let uses = || {
            let each = program.instructions.iter().enumerate();
            each.flat_map(|(user, instruction)| instruction.args.iter().map(move |&arg| (arg, user)))
        };
        for (arg, _) in uses() {
            start[arg + 1] += 1;
        }
        for index in 1..start.len() {
            start[index] += start[index - 1];
        }
        let mut all = vec![0; start.last().copied().unwrap_or(0)];
        let mut free = start.clone();
        for (arg, user) in uses() {
            all[free[arg]] = user;
            free[arg] += 1;
        }
        Self { all, start }
    }

    fn of(&self, index: usize) -> &[usize] {
        &self.all[self.start[index]..self.start[index + 1]]
    }
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
    // Everything a group waits for, without recursion: groups may be many. With each the place of the member
    // and of its argument from which on it has not been asked what it waits for.
    let mut stack: Vec<(usize, usize, usize)> = Vec::new();
    for index in 0..program.instructions.len() {
        stack.push((group_of[index], 0, 0));
        while let Some((group, member, arg)) = stack.last_mut() {
            let group = *group;
            waiting[group] = true;
            let mut waits = None;
            while !done[group] && waits.is_none() && *member < members[group].len() {
                match program.instructions[members[group][*member]].args.get(*arg) {
                    Some(&value) => {
                        *arg += 1;
                        waits = Some(group_of[value]).filter(|&next| next != group && !done[next]);
                    }
                    None => (*member, *arg) = (*member + 1, 0),
                }
            }
            match waits {
                Some(next) if waiting[next] => return None,
                Some(next) => stack.push((next, 0, 0)),
                None => {
                    stack.pop();
                    if !std::mem::replace(&mut done[group], true) {
                        ordered.push(members[group].clone());
                    }
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
    use crate::op::{Kind, Var};
    use crate::strategies::programs::{Choices, Menu, grow};
    use proptest::prelude::*;

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

    /// Whether group `from` depends on group `to` by a path through a third group: the slow, obvious search,
    /// through everything that `from` waits for.
    fn passes_outside(program: &Program, groups: &Groups<'_>, from: usize, to: usize) -> bool {
        let mut seen = vec![false; groups.members.len()];
        seen[from] = true;
        let mut stack = vec![from];
        while let Some(group) = stack.pop() {
            for &member in &groups.members[group] {
                for &arg in &program.instructions[member].args {
                    let next = groups.of[arg];
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

    /// The members of the groups that the slow search leads to.
    fn slowly_merged(program: &Program, skip: &impl Fn(usize) -> bool) -> Vec<Vec<usize>> {
        let mut groups = Groups::alone(program);
        for index in 0..program.instructions.len() {
            for &arg in &program.instructions[index].args {
                let (mine, theirs) = (groups.of[index], groups.of[arg]);
                if mine == theirs
                    || !is_fusible(program, index, skip)
                    || !is_fusible(program, theirs, skip)
                    || !alike(program, theirs, index)
                    || groups.members[mine].len() + groups.members[theirs].len() > LARGEST
                    || passes_outside(program, &groups, mine, theirs)
                    || passes_outside(program, &groups, theirs, mine)
                {
                    continue;
                }
                let larger = groups.members[mine].len() >= groups.members[theirs].len();
                let (keep, drop) = if larger { (mine, theirs) } else { (theirs, mine) };
                let moved = std::mem::take(&mut groups.members[drop]);
                moved.iter().for_each(|&member| groups.of[member] = keep);
                groups.members[keep].extend(moved);
                groups.members[keep].sort_unstable();
            }
        }
        groups.members
    }

    /// A random program of up to some hundred operations, with derivatives in half of them: backward passes
    /// use values that are far away.
    fn random_program(bytes: &[u8]) -> Option<Program> {
        let graph = Graph::new();
        let mut choices = Choices::new(bytes);
        let differentiated = choices.below(2) == 0;
        let mut known: Vec<Var<'_>> = vec![
            graph.input("a", 2).unwrap(),
            graph.input("b", ()).unwrap(),
            graph.record_input("x", 2).unwrap(),
            graph.record_input("y", ()).unwrap(),
        ];
        let wrt = [known[0], known[1]];
        let menu = if differentiated { Menu::Smooth } else { Menu::Everything };
        let last = grow(&mut choices, &mut known, menu, 500)?;
        let mut outputs = vec![last];
        if differentiated {
            outputs.extend(crate::gradient(last.sum(), &wrt).unwrap());
        } else {
            outputs.extend(known.iter().rev().take(4));
        }
        Some(Program::new(&graph, &outputs).unwrap())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn the_short_searches_find_what_the_obvious_one_finds(
            bytes in proptest::collection::vec(any::<u8>(), 0..3_000),
        ) {
            if let Some(program) = random_program(&bytes) {
                for skip_leaves in [true, false] {
                    let skip = |index: usize| skip_leaves && program.instructions[index].args.is_empty();
                    let found = Groups::merged(&program, &skip, usize::MAX);
                    prop_assert_eq!(&found.members, &slowly_merged(&program, &skip));
                    // So short a program is searched to the end.
                    let longest = (SEARCHED / program.instructions.len()).max(LEAST_SEARCHED);
                    prop_assert_eq!(&found.members, &Groups::merged(&program, &skip, longest).members);
                }
            }
        }

        /// Also where searches are given up, and where a part of the program is computed elsewhere.
        #[test]
        fn groups_of_random_programs_can_always_be_ordered(
            bytes in proptest::collection::vec(any::<u8>(), 0..3_000),
            longest in prop_oneof![Just(0_usize), 1..20_usize, Just(usize::MAX)],
            skipped in 0..4_usize,
        ) {
            if let Some(program) = random_program(&bytes) {
                let skip = |index: usize| match skipped {
                    0 => program.instructions[index].args.is_empty(),
                    1 => program.instructions[index].kind == Kind::Shared,
                    2 => program.instructions[index].kind == Kind::PerRecord,
                    _ => index % 7 == 3,
                };
                let groups = Groups::merged(&program, &skip, longest);
                let ordered = order(&program, &groups.of, &groups.members, &|_| false);
                let ordered = ordered.expect("an order of evaluation");
                let mut place = vec![usize::MAX; program.instructions.len()];
                for (position, group) in ordered.iter().enumerate() {
                    group.iter().for_each(|&index| place[index] = position);
                }
                for (index, instruction) in program.instructions.iter().enumerate() {
                    prop_assert!(place[index] < ordered.len());
                    prop_assert!(instruction.args.iter().all(|&arg| place[arg] <= place[index]));
                    // The order that the merges keep is one of evaluation, too.
                    let rank = |index: usize| groups.order.rank(groups.of[index]);
                    prop_assert!(instruction.args.iter().all(|&arg| rank(arg) <= rank(index)));
                }
            }
        }
    }
}
