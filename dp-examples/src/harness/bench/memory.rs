//! Peak memory of this process, where the system tells (Linux).

use std::fs;

/// Forgets the peak so far, so that [`peak_mb`] speaks of what comes. Does nothing where the system cannot.
pub fn forget_peak() {
    // Anything else a system may do with this path is an error, and without it the peak is only too large.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// Memory held now, in megabytes.
#[must_use]
pub fn held_mb() -> Option<f64> {
    field("VmRSS:")
}

/// Most memory held since [`forget_peak`], in megabytes.
#[must_use]
pub fn peak_mb() -> Option<f64> {
    field("VmHWM:")
}

fn field(name: &str) -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes / 1024.0)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_peak_outlives_what_caused_it() {
        let before = held_mb().unwrap();
        let large = std::hint::black_box(vec![1_u8; 64 << 20]);
        drop(large);
        // Other tests share the process, so only a lower bound is certain.
        assert!(peak_mb().unwrap() > before + 32.0);
    }
}
