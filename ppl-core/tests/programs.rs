//! Programs on paper: listed, compared, written down and read; and where a number stopped being finite.

use ndarray::array;
use ppl_core::run::Trouble;
use ppl_core::{
    Constraint, Ctx, Distribution, Graph, Noise, Parameter, Program, Record, Records, Result, Schema, Shape,
    Unconstrained, Value, Var, trace,
};
use std::collections::BTreeMap;

fn regression(graph: &Graph) -> Program {
    let schema = Schema::new([("x", Shape::from(2)), ("y", Shape::scalar())]).unwrap();
    let record = Record::new(graph, &schema);
    let (x, y) = (record.get("x").unwrap(), record.get("y").unwrap());
    let w = graph.input("w", 2).unwrap();
    let residual = y - x.dot(w) * 0.5;
    Program::new(graph, &[residual.square() + graph.array(&array![1.0, 2.0].into_dyn()).inner(w)]).unwrap()
}

#[test]
fn a_listing_names_inputs_shows_small_constants_and_aligns_its_columns() {
    let graph = Graph::new();
    let program = regression(&graph);
    let listing = program.to_string();
    let lines: Vec<&str> = listing.lines().collect();
    assert_eq!(lines.len(), program.len() + 1);
    assert!(listing.contains("record [2] column 'x' "), "{listing}");
    assert!(listing.contains("inner %0:x %2:w "), "{listing}");
    assert!(listing.contains(" 0.5 ") && listing.contains("[1.0, 2.0]"), "{listing}");
    assert!(lines[0].contains("; programs.rs:"), "{listing}");
    let marks: Vec<Option<usize>> = lines[..program.len()].iter().map(|line| line.find(';')).collect();
    assert!(marks.iter().all(|mark| *mark == marks[0]), "{listing}");
    assert!(lines[program.len()].starts_with("return %"), "{listing}");
}

#[test]
fn programs_are_compared_without_their_source_lines() {
    let (one, other) = (Graph::new(), Graph::new());
    let (a, b) = (regression(&one), regression(&other));
    assert_eq!(a, b);
    assert_eq!((a.difference(&b), a.fingerprint()), (None, b.fingerprint()));
    let x = one.input("x", 2).unwrap();
    let programs = [
        Program::new(&one, &[x.exp()]).unwrap(),
        Program::new(&one, &[x.log()]).unwrap(),
        Program::new(&one, &[x.exp(), x]).unwrap(),
        Program::new(&one, &[x.exp(), x.exp().sum()]).unwrap(),
        Program::new(&other, &[other.input("x", 3).unwrap().exp()]).unwrap(),
        a,
    ];
    for (i, a) in programs.iter().enumerate() {
        for (j, b) in programs.iter().enumerate() {
            assert_eq!(a.difference(b).is_none(), i == j, "{a}{b}");
            assert_eq!(a.fingerprint() == b.fingerprint(), i == j);
        }
    }
    let told = |i: usize, j: usize| programs[i].difference(&programs[j]).unwrap();
    assert_eq!(told(0, 1), "%1: exp %0 is log %0 in the other");
    assert_eq!(told(0, 2), "outputs [1], [1, 0] in the other");
    assert_eq!(told(0, 3), "2 instructions, 3 in the other");
    assert_eq!(told(0, 4), "%0: input 'x' has shape [2], [3] in the other");
}

/// A fingerprint that was stored must find its program again: this one is pinned.
#[test]
fn a_fingerprint_is_the_same_in_every_run() {
    let graph = Graph::new();
    let program = Program::new(&graph, &[graph.input("x", [2, 3]).unwrap().exp().sum() * 0.5]).unwrap();
    assert_eq!(format!("{:032x}", program.fingerprint()), FINGERPRINT);
}

const FINGERPRINT: &str = "8b4d43b16928584552350c269261e34c";

/// `N(location, 1)` up to a constant, with a mistake in it: a log of what may be negative.
struct Odd<'g>(Var<'g>);

impl<'g> Distribution<'g> for Odd<'g> {
    fn name(&self) -> &'static str {
        "Odd"
    }
    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![Parameter { name: "location", value: Value::from(self.0), domain: Constraint::Real }]
    }
    fn support(&self) -> Constraint {
        Constraint::Real
    }
    fn log_prob(&self, x: Var<'g>) -> Var<'g> {
        -(x - self.0).log().square()
    }
    fn draw(&self, _: &Shape, _: &mut Noise<'g>) -> Result<Var<'g>> {
        Ok(self.0)
    }
}

#[test]
fn the_first_number_that_is_not_finite_names_operation_arguments_line_and_site() {
    let model = |ctx: &mut Ctx<'_>| {
        let w = ctx.param("w", 1.0, Constraint::Real)?;
        ctx.each_record(|ctx, record| {
            let x = record.get("x")?;
            ctx.observe("outcome", Odd(w * x), x)
        })
    };
    let records = Records::from_columns([("x", array![1.0, 2.0, -3.0])]).unwrap();
    let graph = Graph::new();
    let trace = trace(&model, &graph, records.schema(), Unconstrained).unwrap();
    let outcome = trace.sites().iter().find(|site| site.name == "outcome").unwrap();
    let program = Program::new(&graph, &[outcome.log_prob.unwrap()]).unwrap();
    let inputs = BTreeMap::from([(Unconstrained::input_name("w"), vec![0.5])]);
    let fault = |record: u64| program.first_non_finite(&inputs, Some((&records, record))).unwrap();
    assert_eq!((fault(0), fault(1)), (None, None));
    let fault = fault(2).expect("log of −1.5");
    assert_eq!((fault.operation.as_str(), fault.site.as_deref()), ("log", Some("outcome")));
    assert!(matches!(fault.trouble, Trouble::NotFinite { element: 0, value } if value.is_nan()));
    assert_eq!((fault.arguments.len(), fault.arguments[0].least), (1, -1.5));
    assert!(fault.line.contains("programs.rs"), "{}", fault.line);
    let told = fault.to_string();
    assert!(
        told.contains("element 0 is NaN") && told.contains("(-1.5)") && told.contains("site 'outcome'"),
        "{told}"
    );
    assert!(program.to_string().contains("in 'outcome'"), "{program}");
}

#[test]
fn a_fault_is_where_it_begins_and_not_where_it_arrives() {
    let graph = Graph::new();
    let (x, table) = (graph.input("x", 2).unwrap(), graph.input("table", [3, 2]).unwrap());
    let overflow = (x * 1000.0).exp();
    let program = Program::new(&graph, &[(overflow - overflow).sum(), table.gather(x.sum()).sum()]).unwrap();
    let fault = |x: [f64; 2], table: f64| {
        let inputs = BTreeMap::from([("x".to_owned(), x.to_vec()), ("table".to_owned(), vec![table; 6])]);
        program.first_non_finite(&inputs, None).unwrap()
    };
    assert_eq!(
        fault([0.0, 0.5], 1.0).unwrap().trouble,
        Trouble::BadIndex { element: 0, index: 0.5, rows: 3 }
    );
    assert_eq!(
        fault([0.0, -1.0], 1.0).unwrap().trouble,
        Trouble::BadIndex { element: 0, index: -1.0, rows: 3 }
    );
    assert_eq!(fault([0.5, 0.5], 1.0), None);
    let overflowed = fault([0.0, 2.0], 1.0).unwrap();
    assert_eq!((overflowed.operation.as_str(), overflowed.arguments[0].greatest), ("exp", 2000.0));
    assert_eq!(fault([0.0, 1.0], f64::NAN).unwrap().operation, "input 'table'");
}

#[test]
fn what_the_interpreter_is_not_given_it_asks_for() {
    let graph = Graph::new();
    let program = regression(&graph);
    let records = Records::from_columns([("x", array![[1.0, 2.0]])]).unwrap();
    let told = |inputs: &[(&str, usize)], record: Option<(&Records, u64)>| {
        let inputs = inputs.iter().map(|&(name, length)| (name.to_owned(), vec![1.0; length])).collect();
        program.interpret(&inputs, record).unwrap_err().to_string()
    };
    assert!(told(&[("w", 2)], None).contains("column 'x'"));
    assert!(told(&[("w", 2)], Some((&records, 1))).contains("out of range"));
    assert!(told(&[("w", 2)], Some((&records, 0))).contains("'y'"));
    let records = Records::from_columns([
        ("x", ppl_core::Column::from(array![[1.0, 2.0]])),
        ("y", ppl_core::Column::from(array![1.0])),
    ])
    .unwrap();
    assert!(told(&[], Some((&records, 0))).contains("input 'w'"));
    assert!(told(&[("w", 3)], Some((&records, 0))).contains("takes 2 numbers, got 3"));
}

#[cfg(feature = "serde")]
mod written {
    use super::*;

    fn input(name: &str, shape: &str) -> String {
        format!(
            r#"{{"op":{{"Input":{{"Shared":"{name}"}}}},"shape":{shape},"kind":"Shared","source":{{"line":"m:1:1"}}}}"#
        )
    }

    fn program(instructions: &[String], outputs: &str) -> String {
        format!(r#"{{"version":2,"instructions":[{}],"outputs":{outputs}}}"#, instructions.join(","))
    }

    fn told(text: &str) -> String {
        Program::from_json(text).expect_err(text).to_string()
    }

    #[test]
    fn a_program_read_back_is_the_same_with_its_lines_and_its_special_numbers() {
        let graph = Graph::new();
        let nan = f64::from_bits(0xfff8_0000_0000_0123);
        let numbers = array![0.1, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, nan, 5e-324, 1.0 / 3.0];
        let special = graph.array(&numbers.into_dyn());
        let shift = graph.record_input("noise", ()).unwrap();
        let program = Program::new(&graph, &[special * shift]).unwrap();
        for program in [program, regression(&Graph::new())] {
            let read = Program::from_json(&program.to_json().unwrap()).unwrap();
            assert_eq!(program.difference(&read), None);
            assert_eq!(program.to_string(), read.to_string());
            assert_eq!(program.fingerprint(), read.fingerprint());
            assert_eq!(read.to_json().unwrap(), program.to_json().unwrap());
        }
    }

    #[test]
    fn other_versions_and_other_texts_are_refused() {
        assert!(told(r#"{"version":1,"instructions":[],"outputs":[]}"#).contains("version 2"));
        assert!(told(r#"{"instructions":[],"outputs":[]}"#).contains("version"));
        assert!(told(r#"{"version":2,"instructions":[],"outputs":[],"more":1}"#).contains("more"));
        for text in
            ["", "null", "[]", "{", "7", "\"\u{0}\"", &"[".repeat(100_000), &r#"{"a":"#.repeat(100_000)]
        {
            assert!(Program::from_json(text).is_err());
        }
        assert!(Program::from_json(&program(&[], "[]")).unwrap().is_empty());
    }

    #[test]
    fn whatever_could_not_have_been_traced_is_refused() {
        let x = input("x", "[2,3]");
        let op = |op: &str, args: &str, shape: &str| {
            format!(r#"{{"op":{op},"args":{args},"shape":{shape},"kind":"Shared","source":{{"line":""}}}}"#)
        };
        let (exp, add, matvec) = (r#"{"Unary":"Exp"}"#, r#"{"Binary":"Add"}"#, r#"{"Linear":"MatVec"}"#);
        let reshape = |shape: &str| op(&format!(r#"{{"Shaping":{{"Reshape":{shape}}}}}"#), "[0]", shape);
        let broadcast = |shape: &str| op(&format!(r#"{{"Shaping":{{"Broadcast":{shape}}}}}"#), "[0]", shape);
        let one = |instruction: String| told(&program(&[x.clone(), instruction], "[1]"));
        assert!(Program::from_json(&program(&[x.clone(), op(exp, "[0]", "[2,3]")], "[1]")).is_ok());
        // Arguments: forward, itself, far away, too few, too many.
        assert!(one(op(exp, "[1]", "[2,3]")).contains("does not come before"));
        assert!(one(op(exp, "[18446744073709551615]", "[2,3]")).contains("does not come before"));
        assert!(one(op(exp, "[]", "[2,3]")).contains("does not take"));
        assert!(one(op(add, "[0]", "[2,3]")).contains("does not take"));
        assert!(one(op(exp, "[0,0]", "[2,3]")).contains("does not take"));
        // Shapes: one that does not follow, huge ones, many axes.
        assert!(one(op(exp, "[0]", "[3,2]")).contains("has shape [2, 3], not [3, 2]"));
        assert!(one(reshape("[7]")).contains("does not take"));
        assert!(one(broadcast("[4294967296,2,3]")).contains("too many elements"));
        assert!(
            one(broadcast("[18446744073709551615,18446744073709551615,2,3]")).contains("too many elements")
        );
        assert!(one(reshape(&format!("[2,3{}]", ",1".repeat(40)))).contains("axes"));
        assert!(one(op(matvec, "[0,0]", "[2]")).contains("does not take"));
        // Many large arrays, none of them too large alone.
        let large: Vec<String> = (0..20).map(|k| input(&format!("x{k}"), "[1000000000]")).collect();
        assert!(told(&program(&large, "[0]")).contains("too large together"));
        // Kinds, outputs, names.
        assert!(
            one(op(exp, "[0]", "[2,3]").replace("\"kind\":\"Shared\"", "\"kind\":\"PerRecord\""))
                .contains("Shared")
        );
        assert!(
            told(&program(&[x.replace("\"kind\":\"Shared\"", "\"kind\":\"PerRecord\"")], "[0]"))
                .contains("Shared")
        );
        assert!(told(&program(std::slice::from_ref(&x), "[1]")).contains("output %1"));
        assert!(one(x.clone()).contains("twice"));
        assert!(one(op(r#"{"Unary":"Magic"}"#, "[0]", "[2,3]")).contains("`Magic`"));
        assert!(one(op(r#"{"Input":{"Shared":"y"}}"#, "[0]", "[2,3]")).contains("has no arguments"));
        assert!(
            one(op(r#"{"Input":{"Column":{"index":0,"name":"y","more":1}}}"#, "[]", "[2]")).contains("more")
        );
        assert!(
            one(op(r#"{"Shaping":{"Reshape":[6]}}"#, "[0]", "[3,2]")).contains("has shape [6], not [3, 2]")
        );
        // Constants.
        let constant = |values: &str, shape: &str| {
            op(&format!(r#"{{"Constant":{{"shape":{shape},"values":"{values}"}}}}"#), "[]", shape)
        };
        assert!(one(constant("1 2", "[3]")).contains("2 numbers"));
        assert!(one(constant("1 x", "[2]")).contains("'x' is no number"));
        assert!(one(constant("NaN:0", "[]")).contains("no number"));
        assert!(one(constant("", "[2000000000]")).contains("0 numbers"));
        assert!(
            one(constant("1 2", "[2]").replace(r#""shape":[2],"kind""#, r#""shape":[1,2],"kind""#))
                .contains("shape [2]")
        );
    }

    #[test]
    fn parameters_are_checked_too() {
        let x = input("x", "[1,4,4]");
        let op = |op: &str, shape: &str| {
            format!(r#"{{"op":{op},"args":[0],"shape":{shape},"kind":"Shared","source":{{"line":""}}}}"#)
        };
        let read = |instruction: String| Program::from_json(&program(&[x.clone(), instruction], "[1]"));
        let pool = |window: &str| format!(r#"{{"Pooling":{{"Average":{{{window}}}}}}}"#);
        let window = r#""image":[4,4],"size":[2,2],"stride":[2,2],"padding":[0,0]"#;
        let einsum = |subscripts: &str| format!(r#"{{"Einsum":"{subscripts}"}}"#);
        let polygamma = |order: &str| format!(r#"{{"Unary":{{"Polygamma":{order}}}}}"#);
        assert!(read(op(&pool(window), "[1,2,2]")).is_ok());
        assert!(read(op(&einsum("abc->cb"), "[4,4]")).is_ok());
        assert!(read(op(&polygamma("3"), "[1,4,4]")).is_ok());
        for (parameters, shape) in [
            (pool(&window.replace(r#""stride":[2,2]"#, r#""stride":[0,2]"#)), "[1,2,2]"),
            (pool(&window.replace(r#""size":[2,2]"#, r#""size":[9,2]"#)), "[1,2,2]"),
            (pool(&window.replace(r#""image":[4,4]"#, r#""image":[99999999999,4]"#)), "[1,2,2]"),
            (pool(&window.replace(r#","padding":[0,0]"#, "")), "[1,2,2]"),
            (pool(&format!(r#"{window},"more":1"#)), "[1,2,2]"),
            (einsum("abc->ad"), "[1,4]"),
            (einsum("aab->b"), "[4]"),
            (einsum(""), "[4]"),
            (polygamma("0"), "[1,4,4]"),
            (polygamma("200"), "[1,4,4]"),
            (r#"{"Unary":{"Exp":7}}"#.to_owned(), "[1,4,4]"),
            (r#"{"Reduce":{"Max":{"axis":7}}}"#.to_owned(), "[1,4]"),
            (r#"{"Structure":{"Slice":{"axis":0,"start":0,"step":0,"length":1}}}"#.to_owned(), "[1,4,4]"),
        ] {
            assert!(read(op(&parameters, shape)).is_err(), "{parameters}");
        }
    }
}
