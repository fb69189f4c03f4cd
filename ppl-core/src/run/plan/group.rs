//! Which elementwise operations run together in one sweep.
//!
//! Operations join a group when they work on as many elements, and when computing the group at one point in
//! time is possible: no value may be needed by the group and made from it by an operation outside. Values
//! that only the group itself uses never reach memory.

use super::fused::Function;
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

/// Lets sums, inner products and look-ups in tables go along with the sweep that computes what they go through, and
/// after them the groups that use what was looked up: an array that only they read then never reaches memory. Of groups
/// on shared values in an order of evaluation; `root` is the instruction that a value was computed by.
///
/// A group moves to the last of those that it waits for. All others stand before that, so the order remains one of
/// evaluation. A table has to be whole before the sweep begins, and so has a sum that stands for one number of each
/// element.
pub(crate) fn absorb(program: &Program, root: &[usize], order: &mut Vec<Vec<usize>>) {
    let elements = |index: usize| match program.instructions[index].op.is_elementwise() {
        true => Some(program.instructions[index].shape.elements()),
        false => Function::along(program, index).map(|(_, elements)| elements),
    };
    let mut place = vec![None; root.len()];
    for (position, group) in order.iter().enumerate() {
        group.iter().for_each(|&index| place[index] = Some(position));
    }
    for position in 1..order.len() {
        let Some(width) = order[position].first().and_then(|&first| elements(first)) else {
            continue;
        };
        // The last group that it waits for, and the last of which it needs something whole.
        let (mut last, mut whole) = (None, None);
        for &index in &order[position] {
            let looks_up = matches!(Function::along(program, index), Some((Function::LookUp, _)));
            for (which, &arg) in program.instructions[index].args.iter().enumerate() {
                let from = place[root[arg]].filter(|&from| from != position);
                let swept = program.instructions[root[arg]].shape.elements() == width;
                let latest = if swept && !(looks_up && which == 0) { &mut last } else { &mut whole };
                *latest = (*latest).max(from);
            }
        }
        let Some(to) = last.filter(|_| whole < last) else {
            continue;
        };
        // Its least instruction is elementwise, for what goes along with a sweep waits for one of that.
        let target = order[to][0];
        let sweeps = program.instructions[target].op.is_elementwise() && elements(target) == Some(width);
        if sweeps && order[to].len() + order[position].len() <= LARGEST {
            let moved = std::mem::take(&mut order[position]);
            moved.iter().for_each(|&index| place[index] = Some(to));
            order[to].extend(moved);
            order[to].sort_unstable();
        }
    }
    order.retain(|group| !group.is_empty());
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
    use crate::machine::Scalar;
    use crate::op::{Kind, Var};
    use crate::strategies::programs::{Choices, Menu, grow};
    use crate::{ExecutionPlan, Graph};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn sweeps_with_sums_and_look_ups_compute_what_the_slow_executor_does(
            bytes in prop::collection::vec(any::<u8>(), 8..300),
            lengths in prop::array::uniform2(prop::sample::select(vec![1_usize, 2, 7, 8, 31, 33, 255, 256, 257, 600])),
            bad in any::<bool>(),
        ) {
            let graph = Graph::new();
            let program = Program::new(&graph, &mixture(&graph, lengths, &mut Choices::new(&bytes))).unwrap();
            let wave = |k: usize, of: f64| ((k as f64 + of) * 1.7).sin();
            let mut inputs = BTreeMap::from([("number".to_owned(), vec![0.7])]);
            for (which, length) in lengths.into_iter().enumerate() {
                inputs.insert(format!("a{which}"), (0..length).map(|k| wave(k, 0.3)).collect());
                inputs.insert(format!("b{which}"), (0..length).map(|k| wave(k, 5.0)).collect());
                // Rows of the shorter table; one of them none at all, so that some results are NaN.
                let rows = lengths[0].min(lengths[1]);
                let mut index: Vec<f64> = (0..length).map(|k| ((k * 7 + 3) % rows) as f64).collect();
                index[length / 2] = if bad { 0.5 } else { 0.0 };
                inputs.insert(format!("index{which}"), index);
            }
            prop_assert_eq!(differ::<f64>(&program, &inputs, 1e-11), None);
            prop_assert_eq!(differ::<f32>(&program, &inputs, 2e-3), None);
        }
    }

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

    /// The number of sweeps and other steps of a plan's shared part, and its outputs in bits.
    fn run(graph: &Graph, outputs: &[Var<'_>], inputs: &[(&str, Vec<f64>)]) -> (usize, Vec<Vec<u64>>) {
        let program = Program::new(graph, outputs).unwrap();
        let after = |before: &[f64]| {
            let mut plan = ExecutionPlan::<f64>::new(&program);
            let changes = before.iter().chain(&[0.0]);
            for change in changes {
                for (name, values) in
                    inputs.iter().filter(|(name, _)| program.inputs().any(|(known, _)| known == *name))
                {
                    plan.set(name, &values.iter().map(|x| x + change).collect::<Vec<_>>()).unwrap();
                }
                plan.run();
            }
            let bits = |output: usize| plan.output(output).iter().map(|x| x.to_bits()).collect();
            (plan.explain().shared.len(), (0..outputs.len()).map(bits).collect())
        };
        let alone = after(&[]);
        // Nothing of an earlier run is left in partial sums.
        assert_eq!(alone, after(&[1.5]));
        alone
    }

    /// Lengths around those of vectors, partial sums and chunks.
    const LENGTHS: [usize; 12] = [2, 3, 8, 31, 32, 33, 63, 255, 256, 257, 777, 2048];

    #[test]
    fn sums_along_a_sweep_are_the_sums_of_the_array() {
        for length in LENGTHS {
            let x: Vec<f64> = (0..length).map(|i| ((i * 7919) % 1009) as f64 / 211.0 - 2.0).collect();
            let graph = Graph::new();
            let (v, w) = (graph.input("x", length).unwrap(), graph.input("w", length).unwrap());
            let y = v.exp() * w;
            let inputs = [("x", x.clone()), ("w", x.iter().map(|x| x + 0.3).collect())];
            let (steps, arrays) = run(&graph, &[y], &inputs);
            assert_eq!(steps, 1);
            let y_known: Vec<f64> = arrays[0].iter().map(|&bits| f64::from_bits(bits)).collect();
            // Of an array that is given nothing is swept over.
            let plain = Graph::new();
            let (given, w_given) = (plain.input("y", length).unwrap(), plain.input("w", length).unwrap());
            let outputs = [given.sum(), given.inner(w_given), given.inner(given)];
            let (_, alone) = run(&plain, &outputs, &[("y", y_known), inputs[1].clone()]);
            for outputs in
                [vec![y.sum(), y.inner(w), y.inner(y)], vec![y.sum(), y.inner(w), y.inner(y), y, v.exp()]]
            {
                let (steps, along) = run(&graph, &outputs, &inputs);
                assert_eq!((steps, &along[..3]), (1, &alone[..]), "{length} elements");
            }
        }
    }

    #[test]
    fn what_is_looked_up_is_used_in_the_same_sweep_and_tables_are_whole_before() {
        for length in LENGTHS {
            let table: Vec<f64> = (0..length).map(|i| i as f64 * 0.37 - 1.0).collect();
            let mut index: Vec<f64> = (0..length).map(|i| ((i * 31 + 5) % length) as f64).collect();
            (index[0], index[length - 1]) = (f64::NAN, length as f64);
            let graph = Graph::new();
            let (t, i) = (graph.input("t", length).unwrap(), graph.input("i", length).unwrap());
            let (scaled, place) = (t.exp() * 2.0, i.abs());
            let found = scaled.gather(place);
            // As many elements as the table has: their sweeps must not become one.
            let used = found * scaled + place;
            let (steps, got) = run(&graph, &[used, found], &[("t", table.clone()), ("i", index.clone())]);
            assert_eq!(steps, 2, "{length} elements");
            for k in 0..length {
                let row = index[k] as usize;
                let good = index[k] == row as f64 && row < length;
                let entry = |k: usize| table[k].exponential() * 2.0;
                let wanted = if good { entry(row) } else { f64::NAN };
                let sum = wanted * entry(k) + index[k];
                let [used, found] = [got[0][k], got[1][k]].map(f64::from_bits);
                assert!(found == wanted || (found.is_nan() && wanted.is_nan()), "{k}: {found}, not {wanted}");
                assert!(used == sum || (used.is_nan() && sum.is_nan()), "{k}: {used}, not {sum}");
            }
        }
    }

    /// A sum that a member of the sweep would wait for, if what uses it came along.
    #[test]
    fn nothing_goes_along_with_a_sweep_before_what_it_waits_for() {
        let graph = Graph::new();
        let x = graph.input("x", 300).unwrap();
        let y = x.exp();
        let (share, least) = (y / y.sum(), y.max_axis(0));
        // Operations that take the sum itself, too, as one number for all elements.
        let outputs =
            [share.sum(), (share * least).sum(), y.sum(), (y * y.sum()).sum(), y.less(y.sum()).sum()];
        let values: Vec<f64> = (0..300).map(|i| f64::from(i) * 0.01).collect();
        let (_, got) = run(&graph, &outputs, &[("x", values.clone())]);
        let total: f64 = values.iter().map(|x| x.exp()).sum();
        let largest = values[299].exp() / total * total;
        let close = |bits: u64, wanted: f64| (f64::from_bits(bits) / wanted - 1.0).abs() < 1e-12;
        assert!(close(got[0][0], 1.0) && close(got[1][0], largest), "{got:?}");
        assert!(close(got[2][0], total) && close(got[3][0], total * total), "{got:?}");
        assert!(close(got[3][0], total * total) && close(got[4][0], 300.0), "{got:?}");
    }

    /// A program of what goes along with sweeps and what must not: elementwise operations on arrays of two lengths,
    /// sums and inner products of them, numbers for all elements, look-ups and choices; and its gradient.
    fn mixture<'g>(graph: &'g Graph, lengths: [usize; 2], choices: &mut Choices<'_>) -> Vec<Var<'g>> {
        let inputs = ["a", "b"].map(|name| lengths.map(|length| (name, length)));
        let mut arrays: [Vec<Var<'g>>; 2] = [0, 1].map(|which| {
            inputs
                .iter()
                .map(|of| graph.input(format!("{}{which}", of[which].0), of[which].1).unwrap())
                .collect()
        });
        let given = arrays.clone();
        let index = [0, 1].map(|which| graph.input(format!("index{which}"), lengths[which]).unwrap());
        let mut numbers = vec![graph.input("number", ()).unwrap()];
        while !choices.is_empty() && arrays[0].len() + arrays[1].len() + numbers.len() < 60 {
            let which = choices.below(2);
            let (x, y) = (choices.of(&arrays[which]), choices.of(&arrays[which]));
            let number = choices.of(&numbers);
            match choices.below(10) {
                0 => arrays[which].push(x.tanh()),
                1 => arrays[which].push((x * y + 0.5).sigmoid()),
                2 => arrays[which].push((x - y) * 0.5),
                3 => arrays[which].push(x * number),
                4 => arrays[which].push(given[which][0].less(given[which][1]).select(x, y)),
                5 => arrays[which].push(given[which][0].less(0.0).select(number, x)),
                // A table of either length.
                6 => {
                    let table = choices.below(2);
                    let found = choices.of(&arrays[table]).gather(index[which]);
                    arrays[which].push(found);
                }
                7 => numbers.push(x.mean()),
                8 => numbers.push(x.inner(y) / lengths[which] as f64),
                _ => numbers.push((number * choices.of(&numbers)).tanh()),
            }
        }
        let total = numbers.iter().skip(1).fold(arrays[0][arrays[0].len() - 1].sum(), |sum, &x| sum + x);
        let total = total + arrays[1][arrays[1].len() - 1].sum();
        let mut outputs = crate::gradient(total, &[given[0][0], given[1][1], numbers[0]]).unwrap();
        outputs.push(total);
        for values in [&arrays[0], &arrays[1], &numbers] {
            (0..choices.below(3)).for_each(|_| outputs.push(choices.of(values)));
        }
        outputs
    }

    fn differ<T: Scalar>(
        program: &Program,
        inputs: &BTreeMap<String, Vec<f64>>,
        tolerance: f64,
    ) -> Option<String> {
        let known = program.interpret(inputs, None).unwrap();
        let mut plan = ExecutionPlan::<T>::new(program);
        for (name, values) in inputs.iter().filter(|(name, _)| plan.input(name).is_ok()).collect::<Vec<_>>() {
            plan.set(name, &values.iter().map(|&x| T::of(x)).collect::<Vec<_>>()).unwrap();
        }
        for round in 0..2 {
            plan.run();
            for (output, known) in known.iter().enumerate() {
                let scale = known.iter().fold(1.0_f64, |most, x| most.max(x.abs()));
                for (k, (got, &known)) in plan.output(output).iter().zip(known).enumerate() {
                    let got = got.as_f64();
                    if (got - known).abs() > tolerance * scale || got.is_nan() != known.is_nan() {
                        return Some(format!(
                            "run {round}, output {output}, element {k}: {got}, not {known}"
                        ));
                    }
                }
            }
        }
        None
    }

    /// Values of one of these lengths, sums of them and look-ups in them, one made of the other.
    fn wide<'g>(choices: &mut Choices<'_>, graph: &'g Graph, length: usize) -> Vec<Var<'g>> {
        let input = |name, length: usize| graph.input(name, length).unwrap();
        let mut arrays = vec![input("x", length), input("y", length)];
        let mut numbers = vec![graph.input("z", ()).unwrap()];
        while !choices.is_empty() && arrays.len() + numbers.len() < 40 {
            let (a, b) = (choices.of(&arrays), choices.of(&arrays));
            let number = choices.of(&numbers);
            match choices.below(14) {
                0 => arrays.push(a.tanh()),
                1 => arrays.push((a - b).exp().min(3.0)),
                2 => arrays.push(a * b),
                3 => arrays.push(a + number),
                4 => arrays.push(number / (a.square() + 1.0)),
                5 => arrays.push(a.less(number).select(a, b)),
                6 => arrays.push(number.less(0.5).select(a, number)),
                // Rows of which some are none.
                7 => arrays.push(a.gather((b.abs() * 40.0).floor())),
                8 => arrays.push(b.gather((a.abs() * 3.0).floor()).is_finite().select(a, b)),
                // Now and then with nothing between a sum and what reads it.
                9 => numbers.push(a.sum()),
                10 => numbers.push(a.sum() / length as f64),
                11 => numbers.push(a.inner(b)),
                12 => numbers.push(number * 0.5 + choices.of(&numbers)),
                _ => numbers.push(a.max_axis(0)),
            }
        }
        arrays.drain(..2);
        numbers.extend(arrays.iter().rev().take(3));
        numbers.extend(arrays.iter().map(|x| x.sum()));
        numbers
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        /// Bit for bit, and in the first run of a plan as in the next.
        #[test]
        fn sweeps_do_what_one_operation_after_the_other_does(
            bytes in proptest::collection::vec(any::<u8>(), 0..240),
            length in proptest::sample::select(LENGTHS.to_vec()),
        ) {
            let graph = Graph::new();
            let outputs = wide(&mut Choices::new(&bytes), &graph, length);
            let spread = |seed: usize| {
                (0..length).map(|i| ((i * 7919 + seed) % 1009) as f64 / 500.0 - 1.0).collect::<Vec<_>>()
            };
            let inputs = [("x", spread(3)), ("y", spread(500)), ("z", vec![0.7])];
            let named = inputs.iter().map(|(name, values)| ((*name).to_owned(), values.clone())).collect();
            let (_, got) = run(&graph, &outputs, &inputs);
            let program = Program::new(&graph, &outputs).unwrap();
            let wanted = program.interpret(&named, None).unwrap();
            for (place, (got, wanted)) in got.iter().zip(&wanted).enumerate() {
                for (&got, &wanted) in got.iter().zip(wanted) {
                    let got = f64::from_bits(got);
                    let same = got.to_bits() == wanted.to_bits() || got.is_nan() && wanted.is_nan();
                    prop_assert!(same, "output {place} of {length}: {got}, not {wanted}\n{program}");
                }
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
