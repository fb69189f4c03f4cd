use super::*;
use crate::table::Table;

fn told(text: &str) -> String {
    Schema::parse("s.toml", text.as_bytes()).unwrap_err().to_string()
}

fn frame(csv: &str, toml: &str, columns: &[&str]) -> Result<Frame> {
    let table = Table::parse("a.csv", csv.as_bytes())?;
    let schema = Schema::parse("s.toml", toml.as_bytes())?;
    Frame::new(&schema.complete(table, columns)?, &schema, columns)
}

fn numbers(frame: &Frame, column: &str) -> Vec<f64> {
    match frame.column(column).unwrap() {
        Values::Numbers { values, .. } => values.clone(),
        Values::Categories { codes, .. } => codes.iter().map(|&code| f64::from(code)).collect(),
    }
}

#[test]
fn a_schema_is_a_bounds_file_and_more() {
    let text = "age = [17, 90]\nsex = ['f', 'm']\nborn = { range = ['1970-01-11', '1970-01-21'], since = \
     '1970-01-01' }\n\
                w = { range = [0, 9], missing = 4 }";
    let schema = Schema::parse("s.toml", text.as_bytes()).unwrap();
    assert_eq!(schema.get("born").unwrap().kind, Kind::Dates { low: 10.0, high: 20.0, since: 0 });
    assert_eq!(schema.get("w").unwrap().missing, Missing::Value(4.0));
    let json = serde_json::to_string(&schema).unwrap();
    let back: Schema = serde_json::from_str(&json).unwrap();
    assert_eq!(back.columns, schema.columns);
}

#[test]
fn nonsense_names_line_and_column() {
    for (text, part) in [
        ("a = [1, 0]", "low below high"),
        ("a = { range = [0, 1], missing = 2 }", "within the range"),
        ("a = { range = [0, 1], missing = 'category' }", "within the range"),
        ("a = { categories = ['x', 'y'], missing = 3 }", "category"),
        ("a = { range = [0, 1], categories = ['x', 'y'] }", "either"),
        ("a = { range = ['1970-01-01', '1960-01-01'], since = '1970-01-01' }", "before the last"),
        ("a = { range = ['x', 'y'], since = '1970-01-01' }", "2024-02-29"),
        ("a = { range = [0, 1], colour = 3 }", "'colour'"),
        ("a = 3", "[low, high]"),
    ] {
        let told = told(text);
        assert!(told.starts_with("s.toml:1: column 'a'") && told.contains(part), "{told}");
    }
}

#[test]
fn policies_for_missing_values() {
    let csv = "x,w,c,d\n1,,u,1970-01-02\n20,5,N/A,1970-03-01\nNA,6,v,1970-01-05\n";
    let toml = "x = { range = [0, 10], missing = 'drop' }\nw = { range = [0, 9], missing = 4 }\n\
                c = { categories = ['u', 'v'], missing = 'category' }\n\
                d = { range = ['1970-01-01', '1970-01-31'], since = '1970-01-01' }";
    let frame = frame(csv, toml, &["x", "w", "c", "d"]).unwrap();
    assert_eq!(numbers(&frame, "x"), [1.0, 10.0]); // clamped, and the third record is left out
    assert_eq!((numbers(&frame, "w"), numbers(&frame, "w.missing")), (vec![4.0, 5.0], vec![1.0, 0.0]));
    assert_eq!(numbers(&frame, "c"), [0.0, 2.0]);
    assert_eq!(numbers(&frame, "d"), [1.0, 30.0]);
    assert_eq!(frame.missing(), ["w.missing"]);
}

#[test]
fn no_message_holds_a_cell() {
    let secret = "s3cr3t";
    for (csv, toml) in [
        (format!("x\n{secret}\n1\n"), "x = [0, 1]"),
        (format!("x\nu\n{secret}\n"), "x = ['u', 'v']"),
        (format!("x\n{secret}\n"), "x = { range = ['1970-01-01', '1970-01-31'], since = '1970-01-01' }"),
        (format!("x\n{secret}\n"), ""),
        (format!("x\n1,{secret}\n"), "x = [0, 1]"),
    ] {
        let told = frame(&csv, toml, &["x"]).err().unwrap().to_string();
        assert!(!told.contains(secret) && told.contains("a.csv"), "{told}");
    }
    let told = frame("x\n1\nN/A\n", "x = [0, 1]", &["x"]).err().unwrap().to_string();
    assert!(
        told.starts_with("a.csv:3: column 'x' has no value") && told.contains("missing = \"drop\""),
        "{told}"
    );
}

#[test]
fn drafts_hold_nothing_but_the_header() {
    let table =
        Table::parse("a.csv", b"id,age,date of birth,sex\n1,30,1990-01-01,female\n2,40,1980-01-01,male\n")
            .unwrap();
    let text = draft::draft(&table, false).unwrap();
    for part in [
        "id: left out",
        "#age = [LOW, HIGH]",
        "#\"date of birth\" = { range = [\"FIRST\"",
        "#sex = [\"A\", \"B\"]",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    assert!(!text.contains("female") && !text.contains("1990") && !text.contains("40"));
    assert!(Schema::parse("s.toml", text.as_bytes()).unwrap().columns.is_empty());
    let public = Schema::parse("s.toml", draft::draft(&table, true).unwrap().as_bytes()).unwrap();
    assert!(public.get("sex").unwrap().read_from_records);
    assert_eq!(public.statements(&["sex"]), ["the 2 categories of column 'sex' were read from the records"]);
}
