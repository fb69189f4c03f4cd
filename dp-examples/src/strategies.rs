//! Property-test strategies for conditions, scales and whole files (feature `proptest`).

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::logistic::design::Scale;
use crate::table::condition::{Comparand, Condition, Operator};

/// Finite numbers of every size, both signs, zero and subnormal ones included.
pub fn finite() -> impl Strategy<Value = f64> {
    use proptest::num::f64::{NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO};
    prop_oneof![POSITIVE | NEGATIVE | NORMAL | SUBNORMAL | ZERO, -10.0..10.0f64]
}

/// Conditions with any column name, operator and value that a condition can have.
pub fn conditions() -> impl Strategy<Value = Condition> {
    let column = prop_oneof!["[a-z_]{1,8}", ".{1,12}", "[ <>=!\"\\\\a]{1,8}"];
    let operators = vec![
        Operator::AtLeast,
        Operator::AtMost,
        Operator::Above,
        Operator::Below,
        Operator::Equal,
        Operator::NotEqual,
    ];
    let comparand = prop_oneof![
        finite().prop_map(Comparand::Number),
        "[a-z0-9]{0,6}".prop_map(Comparand::Text),
        ".{0,12}".prop_map(Comparand::Text),
    ];
    (column, select(operators), comparand)
        .prop_filter_map("texts are not ordered", |(column, operator, value)| {
            Condition::new(&column, operator, value).ok()
        })
}

/// Scales whose bounds have a finite positive width, from the narrowest to the widest.
pub fn scales() -> impl Strategy<Value = Scale> {
    (finite(), finite()).prop_filter_map("bounds must have a finite positive width", |(a, b)| {
        Scale::new(a.min(b), a.max(b)).ok()
    })
}

/// Text of CSV files with the columns `x`, `s` and `y`, mostly well formed, with every kind of odd cell.
pub fn csv_texts() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        8 => (-2.0..2.0f64).prop_map(|number| number.to_string()),
        1 => select(vec!["nan", "inf", "", "abc", "1e999", "\"1\"", "+3", "1,5"]).prop_map(String::from),
    ];
    let text = prop_oneof![
        8 => select(vec!["a", "b", "c"]).prop_map(String::from),
        1 => ".{0,6}",
        1 => select(vec!["", "1", "\"", "\"q,\r\n\"", "NaN"]).prop_map(String::from),
    ];
    let label = prop_oneof![20 => select(vec!["0", "1"]), 1 => select(vec!["", "2", "no"])];
    let line_end = select(vec!["\n", "\r\n", "\n\n"]);
    (vec((number, text, label), 0..12), line_end).prop_map(|(rows, line_end)| {
        let mut file = format!("x,s,y{line_end}");
        for (number, text, label) in rows {
            file.push_str(&format!("{number},{text},{label}{line_end}"));
        }
        file
    })
}

/// Text of bounds files for the columns of [`csv_texts`], with good, missing and bad entries.
pub fn bounds_texts() -> impl Strategy<Value = String> {
    let x = select(vec![
        "x = [-1, 1]",
        "x = [-2.0, 2.0]",
        "x = [0, 1e-300]",
        "",
        "x = [1, 0]",
        "x = ['1', 'nan']",
    ]);
    let s = select(vec!["s = ['a', 'b', 'c']", "", "s = ['a', 'b']", "s = [0, 1]", "s = 1"]);
    let extra = prop_oneof![9 => Just(String::new()), 1 => ".{0,10}"];
    (x, s, extra).prop_map(|(x, s, extra)| format!("{x}\n{s}\n{extra}"))
}
