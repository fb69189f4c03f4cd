//! Prefetching: memory is requested some time before it is read.
//!
//! A batch's records lie anywhere in a table, so the processor cannot guess which comes next; the list of
//! them says.

/// Bytes of a cache line.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// Prefetches numbers that will be read soon: a hint, which changes no result. Does nothing where there is no
/// such instruction.
#[inline(always)]
pub(crate) fn prefetch<T>(values: &[T]) {
    #[cfg(target_arch = "x86_64")]
    {
        let line = LINE / size_of::<T>().clamp(1, LINE);
        let lines = values.chunks_exact(4 * line);
        let rest = lines.remainder();
        // Four at a time, so that going on costs less than asking.
        for lines in lines {
            for k in 0..4 {
                safe_arch::prefetch_t0(&lines[k * line]);
            }
        }
        for line in rest.chunks_exact(line) {
            safe_arch::prefetch_t0(&line[0]);
        }
        // They need not begin where a line does, so the last of them may be on one more.
        values.last().into_iter().for_each(safe_arch::prefetch_t0);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = values;
}

#[cfg(test)]
mod tests {
    use super::prefetch;

    #[test]
    fn any_numbers_may_be_asked_for_and_stay_what_they_are() {
        prefetch::<f64>(&[]);
        prefetch(&[(); 3]);
        prefetch(&[[1_u8; 200]; 2]);
        let numbers: Vec<f32> = (0..1_000_u16).map(f32::from).collect();
        (0..numbers.len()).for_each(|from| prefetch(&numbers[from..]));
        assert!(numbers.iter().zip(0..).all(|(&number, k): (&f32, u16)| number == f32::from(k)));
    }
}
