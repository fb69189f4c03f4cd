//! What lets a primitive be one row of rules, in the file of its subject.
//!
//! An enum of Rust is written down in one place, and its primitives are to stand by subject: the logarithm of
//! the gamma function beside its derivatives, whether they take one argument or two. So a file of a subject
//! gives its rows a name with `rows!`, and a family ([`Unary`](super::Unary), say) collects the rows of all
//! subjects and makes its enum of them: the variants, `ALL`, the names, the values, the derivatives, and the
//! methods of [`Var`](crate::Var).
//!
//! A row is read where the family is made, so paths in it (`math::erf`, `normal::density`) start from there.

/// Defines the rows that a subject adds to a family, as a macro that hands them on.
///
/// `rows! { ($) unary … }` in the file `gamma.rs` defines `gamma::unary`. Called as
/// `gamma::unary! { [beta normal] family {} }`, it puts its rows into the braces and calls `beta::unary`,
/// which does the same; the last one calls `family!` with all rows.
macro_rules! rows {
    (($dollar:tt) $family:ident $($row:tt)*) => {
        macro_rules! $family {
            ([] $dollar collector:ident { $dollar ($dollar before:tt)* }) => {
                $dollar collector! { $dollar ($dollar before)* $($row)* }
            };
            ([$dollar next:ident $dollar ($dollar later:ident)*] $dollar collector:ident { $dollar ($dollar before:tt)* }) => {
                super::$dollar next::$family! { [$dollar ($dollar later)*] $dollar collector { $dollar ($dollar before)* $($row)* } }
            };
        }
        pub(super) use $family;
    };
}

/// The rule that a row holds, or `None` where it holds none.
macro_rules! optional {
    () => {
        None
    };
    ($rule:expr) => {
        Some($rule)
    };
}
