//! A list in which items move, and which tells at once which of two comes first.

/// Items `0`, `1`, …, each with a rank that grows along the list.
///
/// An item that moves gets a rank between its new neighbours'. Where there is none left, the smallest
/// surrounding range of ranks that is not too full is dealt out evenly, which costs a number of steps for each
/// move that grows with the logarithm of the length, on average (Bender, Cole, Demaine, Farach-Colton and Zito
/// 2002, "Two simplified algorithms for maintaining order in a list").
pub(super) struct Ranked {
    rank: Vec<u64>,
    /// Neighbours; the last place is that of a head, which stands before the first item and after the last.
    previous: Vec<usize>,
    next: Vec<usize>,
}

/// Ranks are less than two to this power.
const BITS: u32 = 62;
/// A range of `2^k` ranks is too full if it holds more than `(2 / CROWDING)^k` items.
const CROWDING: f64 = 1.3;

impl Ranked {
    /// The items in their own order.
    pub(super) fn new(items: usize) -> Self {
        let places = items + 1;
        let step = (1_u64 << BITS) / places as u64;
        Self {
            // The head, which is last here, has the least rank.
            rank: (1..places as u64).chain([0]).map(|place| place * step).collect(),
            previous: (0..places).map(|item| (item + items) % places).collect(),
            next: (0..places).map(|item| (item + 1) % places).collect(),
        }
    }

    pub(super) fn rank(&self, item: usize) -> u64 {
        self.rank[item]
    }

    /// What stands before an item: another, or the head.
    pub(super) fn previous(&self, item: usize) -> usize {
        self.previous[item]
    }

    /// Moves an item to the place directly after another, or after the head.
    pub(super) fn move_after(&mut self, item: usize, other: usize) {
        if item == other || self.next[other] == item {
            return;
        }
        self.remove(item);
        let (low, high) = loop {
            let (low, high) = (self.rank[other], self.rank_after(other));
            if high - low > 1 {
                break (low, high);
            }
            self.make_room(other);
        };
        self.rank[item] = low + (high - low) / 2;
        let after = self.next[other];
        (self.previous[item], self.next[item]) = (other, after);
        (self.next[other], self.previous[after]) = (item, item);
    }

    /// Takes an item out of the list. It must not be asked for its rank again.
    pub(super) fn remove(&mut self, item: usize) {
        let (before, after) = (self.previous[item], self.next[item]);
        (self.next[before], self.previous[after]) = (after, before);
    }

    fn head(&self) -> usize {
        self.rank.len() - 1
    }

    fn rank_after(&self, item: usize) -> u64 {
        let next = self.next[item];
        if next == self.head() { 1 << BITS } else { self.rank[next] }
    }

    /// Deals ranks out anew around an item, so that one is free after it.
    fn make_room(&mut self, item: usize) {
        let (mut first, mut last, mut count) = (item, item, 1_u64);
        for bits in 1..=BITS {
            let width = 1_u64 << bits;
            let low = self.rank[item] & !(width - 1);
            while first != self.head() && self.rank[self.previous[first]] >= low {
                first = self.previous[first];
                count += 1;
            }
            while self.rank_after(last) < low + width {
                last = self.next[last];
                count += 1;
            }
            // The widest range holds any list that fits memory, so that there is one.
            if count as f64 <= (2.0 / CROWDING).powi(bits as i32) {
                let step = width / count;
                let mut at = first;
                for place in 0..count {
                    self.rank[at] = low + place * step;
                    at = self.next[at];
                }
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(list: &Ranked, expected: &[usize]) {
        let mut found = Vec::new();
        let mut at = list.next[list.head()];
        while at != list.head() {
            assert!(list.rank(at) > list.rank(list.previous(at)) && list.rank(at) < 1 << BITS);
            found.push(at);
            at = list.next[at];
        }
        assert_eq!(found, expected);
    }

    proptest! {
        #[test]
        fn ranks_grow_along_the_list_whatever_moves(
            items in 1..40_usize,
            moves in proptest::collection::vec((any::<usize>(), any::<usize>()), 0..400),
        ) {
            let mut list = Ranked::new(items);
            let mut plain: Vec<usize> = (0..items).collect();
            for (item, place) in moves {
                let item = item % items;
                plain.retain(|&other| other != item);
                let place = place % items;
                list.move_after(item, if place == 0 { items } else { plain[place - 1] });
                plain.insert(place, item);
                check(&list, &plain);
            }
            list.remove(plain.remove(0));
            check(&list, &plain);
        }
    }

    /// Always the same place: the ranks there run out again and again.
    #[test]
    fn there_is_always_room() {
        const ITEMS: usize = 300;
        for at in [0, 1, ITEMS / 2, ITEMS - 1, ITEMS] {
            let (mut list, mut plain) = (Ranked::new(ITEMS), (0..ITEMS).collect::<Vec<_>>());
            for turn in 0..2_000 {
                let item = (turn * 7) % ITEMS;
                if item == at {
                    continue;
                }
                list.move_after(item, at);
                plain.retain(|&other| other != item);
                let place = plain.iter().position(|&other| other == at).map_or(0, |place| place + 1);
                plain.insert(place, item);
            }
            check(&list, &plain);
        }
    }
}
