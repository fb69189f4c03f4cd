use super::matrix::{Design, matrix};
use super::*;
use crate::schema::{Frame, Schema};
use crate::table::Table;

const TABLE: &str = include_str!("../../peers/formulas.csv");
/// Made by `peers/formulas.py` with formulaic 1.2.2: a formula a line, then its columns, comma-separated with
/// 17 digits.
const GOLDEN: &str = include_str!("../../peers/formulas.golden");
const SCHEMA: &str = "y = [0, 10]\na = [0, 10]\nb = [1, 9]\nc = [-4, 4]\ns = ['u', 'v', 'w']\nt = ['p', 'q']\n\
                      r = ['k', 'l', 'm', 'n']\n'the x' = [0, 1]";

fn frame() -> Frame {
    let table = Table::parse("formulas.csv", TABLE.as_bytes()).unwrap();
    let schema = Schema::parse("s.toml", SCHEMA.as_bytes()).unwrap();
    Frame::new(&table, &schema, &["y", "a", "b", "c", "s", "t", "r", "the x"]).unwrap()
}

fn told(formula: &str) -> String {
    match formula.parse::<Formula>() {
        Err(error) => error.to_string(),
        Ok(formula) => {
            Design::new(&formula, &frame()).err().map_or_else(String::new, |error| error.to_string())
        }
    }
}

/// Every column within 10⁻¹² of formulaic's, relative to its largest entry, in formulaic's order.
#[test]
fn design_matrices_are_those_of_formulaic() {
    let frame = frame();
    let mut formulas = 0;
    for block in GOLDEN.split("\n\n").filter(|block| !block.trim().is_empty()) {
        let mut lines = block.lines().filter(|line| !line.starts_with('#'));
        let Some(text) = lines.next() else { continue };
        let formula: Formula = format!("y ~ {text}").parse().unwrap();
        let found = matrix(&formula.terms, &frame).unwrap();
        let columns: Vec<Vec<f64>> =
            lines.map(|line| line.split(',').map(|x| x.parse().unwrap()).collect()).collect();
        let names: Vec<&str> = found.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(found.columns.len(), columns.len(), "{text}: {names:?}");
        for ((expected, (values, column)), place) in
            columns.iter().zip(found.values.columns().into_iter().zip(&found.columns)).zip(0..)
        {
            let largest = expected.iter().fold(1.0_f64, |largest, x| largest.max(x.abs()));
            for (x, y) in values.iter().zip(expected) {
                assert!(
                    (x - y).abs() <= 1e-12 * largest,
                    "{text}: column {place}, {}: {x} and {y}",
                    column.name
                );
                let slack = 1e-12 * largest;
                assert!(
                    column.low - slack <= *x && *x <= column.high + slack,
                    "{text}: {} leaves its range",
                    column.name
                );
            }
            assert_eq!(values.len(), expected.len());
        }
        formulas += 1;
    }
    assert!(formulas >= 50, "{formulas}");
}

/// R's orthogonal polynomials and those that are orthogonal over the bounds span the same columns: each of the former
/// is a combination of the constant and the latter.
#[test]
fn polynomials_span_what_raw_ones_do() {
    let frame = frame();
    let of = |text: &str| matrix(&text.parse::<Formula>().unwrap().terms, &frame).unwrap().values;
    let (legendre, raw) = (of("y ~ poly(a, 3)"), of("y ~ poly(a, 3, raw=True)"));
    // Gram and Schmidt on the Legendre columns, then what they leave of the powers.
    let mut basis: Vec<ndarray::Array1<f64>> = Vec::new();
    for column in legendre.columns() {
        let mut rest = column.to_owned();
        for _ in 0..2 {
            for one in &basis {
                let share = rest.dot(one);
                rest.scaled_add(-share, one);
            }
        }
        let norm = rest.dot(&rest).sqrt();
        assert!(norm > 1e-6);
        basis.push(rest / norm);
    }
    for column in raw.columns() {
        let mut rest = column.to_owned();
        for one in &basis {
            let share = rest.dot(one);
            rest.scaled_add(-share, one);
        }
        assert!(rest.dot(&rest).sqrt() < 1e-10 * column.dot(&column).sqrt());
    }
    assert!(legendre.iter().all(|x| x.abs() <= 1.0));
}

#[test]
fn groups_offsets_and_outcomes() {
    let formula: Formula = "rings >= 10 ~ a + offset(log(b)) + (a | s) + (0 + b || t)".parse().unwrap();
    assert!(
        matches!(&formula.response, Response::Condition(condition) if condition.to_string() == "rings >= 10")
    );
    let design = Design::new(&formula, &frame()).unwrap();
    let names = |group: usize| -> Vec<&str> {
        design.groups[group].matrix.columns.iter().map(|column| column.name.as_str()).collect()
    };
    assert_eq!((names(0), names(1)), (vec!["Intercept", "a"], vec!["b"]));
    assert_eq!(design.groups[0].levels, ["u", "v", "w"]);
    assert!(design.offset.is_some_and(|offset| offset.iter().all(|x| x.is_finite())));
    let formula: Formula = "y['yes'] ~ `the x`".parse().unwrap();
    assert_eq!(formula.response, Response::Level("y".into(), "yes".into()));
    assert_eq!(formula.terms[1].to_string(), "`the x`");
}

/// Groups within groups are those of the outer column, and those of all combinations.
#[test]
fn groups_are_nested() {
    let frame = frame();
    let design = |text: &str| Design::new(&text.parse().unwrap(), &frame).unwrap();
    let nested = design("y ~ (a | s/t)");
    let both = design("y ~ (a | s) + (a | s:t)");
    assert!(nested == both);
    let [outer, inner] = &nested.groups[..] else { panic!("{}", nested.groups.len()) };
    assert_eq!((outer.column.as_str(), inner.column.as_str()), ("s", "s:t"));
    assert_eq!(inner.levels, ["u:p", "u:q", "v:p", "v:q", "w:p", "w:q"]);
    let of = |column: &str| design(&format!("y ~ (1 | {column})")).groups.remove(0);
    let of_t = of("t");
    for ((code, s), t) in inner.codes.iter().zip(&outer.codes).zip(&of_t.codes) {
        let (s, t) = (&outer.levels[*s as usize], &of_t.levels[*t as usize]);
        assert_eq!(inner.levels[*code as usize], format!("{s}:{t}"));
    }
    let three: Formula = "y ~ (1 | s:t/r)".parse().unwrap();
    assert_eq!(three.groups.iter().map(Group::name).collect::<Vec<_>>(), ["s:t", "s:t:r"]);
    assert_eq!(three.columns(), ["s", "t", "r"]);
    assert_eq!(of("s:t:r").levels.len(), 24);
    // Without correlation between them.
    assert_eq!(design("y ~ (1 | s) + (0 + a | s)").groups.len(), 2);
}

/// A `~`, an operator or a bracket in quotes belongs to a name or a text.
#[test]
fn outcomes_are_told_apart_by_their_tokens() {
    let level = |column: &str, level: &str| Response::Level(column.to_owned(), level.to_owned());
    let compares = |column: &str, operator, text: &str| {
        let comparand = crate::table::condition::Comparand::Text(text.to_owned());
        Response::Condition(Condition::new(column, operator, comparand).unwrap())
    };
    use crate::table::condition::Operator::{Equal, NotEqual};
    for (text, expected) in [
        ("y == \"x[1]\" ~ a", compares("y", Equal, "x[1]")),
        ("y == 'x[1]' ~ a", compares("y", Equal, "x[1]")),
        ("y != '~' ~ a", compares("y", NotEqual, "~")),
        ("y == \"a\\\"~b\" ~ a", compares("y", Equal, "a\"~b")),
        ("\"y~[1]\" == u ~ a", compares("y~[1]", Equal, "u")),
        ("`y[1]` == 'u' ~ a", compares("y[1]", Equal, "u")),
        ("y == O'Neill ~ a", compares("y", Equal, "O'Neill")),
        ("the dog's name == 'u' ~ a", compares("the dog's name", Equal, "u")),
        ("`a=b` ~ a", Response::Column("a=b".to_owned())),
        ("`a~b` ~ a", Response::Column("a~b".to_owned())),
        ("`a>b`['u'] ~ a", level("a>b", "u")),
        ("y['>50K'] ~ a", level("y", ">50K")),
        ("y['a~b'] ~ a", level("y", "a~b")),
        ("y[\"a\\\"] ~ a", level("y", "a\\")),
    ] {
        let formula: Formula = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(formula.response, expected, "{text}");
        assert_eq!(formula.terms.iter().map(ToString::to_string).collect::<Vec<_>>(), ["1", "a"], "{text}");
        let dotted: Formula = text.replace("~ a", "~ .").parse().unwrap();
        let columns = ["a", formula.outcome()];
        assert_eq!(dotted.with_columns(columns).unwrap().text, text.replace("~ a", "~ (a)"));
    }
    assert!(told("y == \"a ~ b").contains("a closing \""));
    assert!(told("y[>50K] ~ a").contains("at character 3"), "{}", told("y[>50K] ~ a"));
}

/// An intercept that was taken out stays out, also where nothing but offsets and groups is left.
#[test]
fn an_intercept_that_was_taken_out_does_not_come_back() {
    for (text, terms) in [
        ("y ~ 0 + (1 | s)", &[][..]),
        ("y ~ 0 + offset(a)", &[]),
        ("y ~ -1 + (0 + a | s)", &[]),
        ("y ~ (1 | s) - 1", &[]),
        ("y ~ offset(a)", &["1"]),
        ("y ~ (1 | s)", &["1"]),
        ("y ~ 0 + (1 | s) + 1", &["1"]),
        ("y ~ 0 + a + (1 | s)", &["a"]),
    ] {
        let formula: Formula = text.parse().unwrap();
        assert_eq!(formula.terms.iter().map(ToString::to_string).collect::<Vec<_>>(), terms, "{text}");
    }
}

#[test]
fn mistakes_say_where_and_what_to_do() {
    for (formula, part) in [
        ("", "as in y ~ a + b"),
        ("a + b", "a ~ after the outcome's column"),
        ("y ~ a ~ b", "a single ~"),
        ("y ~ a |", "(1 | group)"),
        ("y ~ (1 | s*t)", "groups that cross"),
        ("y ~ (1 | s + t)", "(1 | a) + (1 | b)"),
        ("y ~ (1 | s/s)", "each column of groups once"),
        ("y ~ (1 | s) + (a | s/t)", "one by s already"),
        ("y ~ (1 | t:s) + (1 | s:t)", "one by s:t already"),
        ("y ~ (1 | s:)", "the column of the groups"),
        ("y ~ (1 | s:a)", "(1 | s:a): groups are categories, and a is a column of numbers"),
        ("y ~ scale(a)", "all records"),
        ("y ~ bs(a, df=4)", "would be read from the records"),
        ("y ~ bs(a, knots=[11])", "does not lie between the public bounds 0 and 10"),
        ("y ~ log(a)", "log(a + 1)"),
        ("y ~ I(1 / c)", "c may be 0"),
        ("y ~ log(s)", "column of categories"),
        ("y ~ (1 | a)", "list its values as categories"),
        ("y ~ C(a)", "list its values as categories"),
        ("y ~ zzz", "no column 'zzz'"),
        ("y ~ 0", "nothing to fit"),
        ("y ~ a^2.5", "whole number"),
        ("y ~ exp(exp(exp(a)))", "too large"),
        ("y ~ a:offset(b)", "in an interaction"),
        ("y ~ 3 * a", "I(2 * x)"),
        ("y ~ `a", "a closing `"),
        ("y ~ poly(a, 0)", "a whole degree from 1"),
    ] {
        let told = told(formula);
        assert!(told.contains(part), "{formula}: {told}");
    }
    let deep = format!("y ~ {}a{}", "(".repeat(5000), ")".repeat(5000));
    assert!(told(&deep).contains("characters") || told(&deep).contains("nested"), "{}", told(&deep));
    assert!(told(&format!("y ~ I({}a", "(".repeat(400))).contains("nested"));
    assert!(
        told("y ~ (a+b+c+s+t+r+I(a^2)+I(b^2)+I(c^2)+I(a*b)+I(a*c)+I(b*c))^12").contains("at most 1000 terms")
    );
}

/// What a formula prints is read as the same formula.
#[test]
fn expressions_print_as_they_are_read() {
    for text in
        ["I(-(a + b)^2)", "I((a - b) - (b - a))", "I(a / (b * c))", "log(a + 1)", "I(2^-a)", "I((a^2)^3)"]
    {
        let formula: Formula = format!("y ~ {text}").parse().unwrap();
        let again: Formula = format!("y ~ {}", formula.terms[1]).parse().unwrap();
        assert_eq!(formula.terms, again.terms, "{text} printed as {}", formula.terms[1]);
    }
}

/// A chain of operations is a tree as deep as it is long, and a term of many categories has all products of them: both
/// are refused before anything is made of them.
#[test]
fn long_sums_and_interactions_of_many_categories_are_refused() {
    let sum = format!("y ~ I({}a)", "a + ".repeat(20_000));
    assert!(told(&sum).contains("at most 200 operations"), "{}", told(&sum));
    assert_eq!(told(&format!("y ~ I({}a)", "a + ".repeat(199))), "");
    let mut header = "y".to_owned();
    let (mut row, mut schema) = ("1".to_owned(), "y = [0, 10]\n".to_owned());
    for k in 0..30 {
        header += &format!(",c{k}");
        row += ",u";
        schema += &format!("c{k} = ['u', 'v']\n");
    }
    let table = Table::parse("c.csv", format!("{header}\n{row}\n").as_bytes()).unwrap();
    let schema = Schema::parse("s.toml", schema.as_bytes()).unwrap();
    let names: Vec<String> = (0..30).map(|k| format!("c{k}")).collect();
    let columns: Vec<&str> = names.iter().map(String::as_str).chain(["y"]).collect();
    let frame = Frame::new(&table, &schema, &columns).unwrap();
    for factors in [11, 30] {
        let formula: Formula = format!("y ~ {}", names[..factors].join(":")).parse().unwrap();
        assert!(matches!(Design::new(&formula, &frame), Err(crate::Error::DesignSize { .. })), "{factors}");
    }
}
