//! What a checkpoint is bound to besides records and settings: the versions of crates, and the arithmetic of
//! the machine.

use ndarray::Array2;

/// The crates of this workspace that decide the digits of a run, with their versions. Distributions are
/// written into the programs of model and guide, which are compared as they are.
pub(crate) const VERSIONS: [(&str, &str); 4] = [
    ("dp-vi", env!("CARGO_PKG_VERSION")),
    ("dp-sampler", dp_sampler::VERSION),
    ("dp-accountant", dp_accountant::VERSION),
    ("ppl-core", ppl_core::VERSION),
];

/// What else decides the last digits of a run: the machine's instructions, for matrix products use fused
/// multiply–add where there is one; and the libraries that compute products and functions, of which some
/// digits are tried.
pub(crate) fn arithmetic() -> String {
    let mut told = std::env::consts::ARCH.to_owned();
    #[cfg(target_arch = "x86_64")]
    for (name, present) in [
        ("fma", std::arch::is_x86_feature_detected!("fma")),
        ("avx512f", std::arch::is_x86_feature_detected!("avx512f")),
    ] {
        if present {
            told = format!("{told} {name}");
        }
    }
    format!("{told}, digits {:016x}", digits())
}

/// The bits of products and function values, hashed (FNV-1a): they differ for another library, or another
/// version of one that computes other values, as far as these inputs show it.
fn digits() -> u64 {
    // Of full length, and exactly the same everywhere: one division each.
    let number = |k: usize| ((k * 7919 + 13) % 4001) as f64 / 4001.0 - 0.5;
    let (a, b) = (
        Array2::from_shape_fn((23, 37), |(i, j)| number(37 * i + j)),
        Array2::from_shape_fn((37, 19), |(i, j)| number(i + 41 * j)),
    );
    let single = a.mapv(|x| x as f32).dot(&b.mapv(|x| x as f32));
    let products = a.dot(&b).into_iter().chain(single.into_iter().map(f64::from));
    let values = (0..64).flat_map(|k| {
        let x = 8.0 * number(k);
        [x.exp(), x.abs().ln(), libm::cos(x), libm::erfc(x), libm::pow(x.abs(), 1.7)]
    });
    let bytes = products.chain(values).flat_map(|x| x.to_bits().to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
