//! Tests of the design matrix: every error, and properties over arbitrary tables.

use proptest::prelude::*;

use super::*;
use crate::strategies;

const SHELLS: &[u8] = b"sex,length,rings\nM,0.5,15\nF,0.25,7\nI,2,9\nM,-1,10\n";
const BOUNDS: &[u8] = b"length = [0.0, 1.0]\nsex = ['M', 'F', 'I']";

fn design(csv: &[u8], bounds: &[u8], condition: &str, chosen: Option<&[&str]>) -> Result<Design> {
    let table = Table::parse("a.csv", csv)?;
    let bounds = Bounds::parse("b.toml", bounds)?;
    let chosen: Option<Vec<String>> = chosen.map(|names| names.iter().map(|&name| name.into()).collect());
    Design::new(&table, &bounds, &condition.parse()?, chosen.as_deref(), Intercept::Included)
}

fn message(csv: &[u8], bounds: &[u8], condition: &str, chosen: Option<&[&str]>) -> String {
    design(csv, bounds, condition, chosen).err().expect("an error").to_string()
}

#[test]
fn scales_encodes_and_labels() {
    let design = design(SHELLS, BOUNDS, "rings>=10", None).unwrap();
    assert_eq!(design.names(), ["(intercept)", "sex=F", "sex=I", "length"]);
    let expected = [[1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, -0.5], [1.0, 0.0, 1.0, 1.0], [1.0, 0.0, 0.0, -1.0]];
    assert_eq!(*design.features(), ndarray::arr2(&expected));
    assert_eq!(design.labels().to_vec(), [1.0, 0.0, 0.0, 1.0]);
    assert!(design.notes().is_empty());
    assert!(design.features().is_standard_layout());
    let Meaning::Indicator { column, category, baseline } = design.coefficients()[2].meaning() else {
        panic!()
    };
    assert_eq!((column.as_str(), category.as_str(), baseline.as_str()), ("sex", "I", "M"));
}

#[test]
fn features_are_those_chosen_in_that_order() {
    let chosen = design(SHELLS, BOUNDS, "rings>=10", Some(&["length", "sex"])).unwrap();
    assert_eq!(chosen.names(), ["(intercept)", "length", "sex=F", "sex=I"]);
    let table = Table::parse("a.csv", SHELLS).unwrap();
    let bounds = Bounds::parse("b.toml", BOUNDS).unwrap();
    let one = [String::from("length")];
    let condition = "rings>=10".parse().unwrap();
    let bare = Design::new(&table, &bounds, &condition, Some(&one), Intercept::Omitted).unwrap();
    assert_eq!(bare.names(), ["length"]);
    assert_eq!(bare.features().dim(), (4, 1));
}

#[test]
fn a_wrong_choice_of_columns() {
    assert_eq!(
        message(SHELLS, BOUNDS, "ring>=10", None),
        "a.csv: no column 'ring'; did you mean 'rings'? the columns are 'sex', 'length', 'rings'"
    );
    assert_eq!(
        message(SHELLS, BOUNDS, "rings>=10", Some(&["width"])),
        "a.csv: no column 'width'; the columns are 'sex', 'length', 'rings'"
    );
    assert_eq!(message(SHELLS, BOUNDS, "rings>=10", Some(&["sex", "sex"])), "feature 'sex' is named twice");
    assert_eq!(
        message(SHELLS, BOUNDS, "rings>=10", Some(&["sex", "rings"])),
        "column 'rings' makes the label 'rings >= 10' and cannot be a feature too"
    );
    assert_eq!(
        message(SHELLS, BOUNDS, "rings>=10", Some(&[])),
        "a.csv: no features, expected at least one column besides 'rings'"
    );
    assert_eq!(
        message(b"y\n1\n2\n", b"", "y>1", None),
        "a.csv: no features, expected at least one column besides 'y'"
    );
}

/// Whether both outcomes occur is a fact about the records, which no error tells.
#[test]
fn labels_of_one_class_are_labels() {
    for (condition, label) in [("rings>=100", 0.0), ("rings>0", 1.0)] {
        let bounds = Bounds::parse("b.toml", BOUNDS).unwrap();
        let table = Table::parse("a.csv", SHELLS).unwrap();
        let design =
            Design::new(&table, &bounds, &condition.parse().unwrap(), None, Intercept::Included).unwrap();
        assert!(design.labels().iter().all(|found| *found == label), "{condition}");
    }
}

#[test]
fn numeric_columns_need_bounds() {
    assert_eq!(
        message(SHELLS, b"sex = ['M', 'F', 'I']", "rings>=10", None),
        "a.csv: column 'length' holds numbers and has no public bounds; bounds taken from the data would leak the \
         most extreme records, so add to b.toml a line like `length = [LOW, HIGH]`"
    );
    let table = Table::parse("a.csv", b"whole weight,y\n1,0\n2,1\n").unwrap();
    let error = Design::new(&table, &Bounds::none(), &"y==1".parse().unwrap(), None, Intercept::Omitted)
        .err()
        .unwrap();
    assert!(
        error.to_string().ends_with("so put in a bounds file a line like `\"whole weight\" = [LOW, HIGH]`")
    );
}

#[test]
fn bounds_for_unknown_columns() {
    assert_eq!(
        message(SHELLS, b"length = [0, 1]\nlenght = [0, 1]", "rings>=10", None),
        "b.toml:2: no column 'lenght' in a.csv; did you mean 'length'? the columns are 'sex', 'length', 'rings'"
    );
}

#[test]
fn cells_that_are_no_numbers() {
    for (cell, says) in [
        ("abc", "{} does not hold a number here; "),
        ("", "{}: the cell is empty, expected a number"),
        ("-inf", "{} does not hold a finite number here"),
        ("1e999", "{} does not hold a finite number here"),
        ("0;5", "{} does not hold a number here; "),
    ] {
        let csv = format!("length,y\n0.1,0\n{cell},1\n");
        let expected = says.replace("{}", "a.csv:3: column 'length'");
        let told = message(csv.as_bytes(), b"length = [0, 1]", "y==1", None);
        // What the cell says is not repeated: it belongs to a person.
        assert!(told.starts_with(&expected) && (cell.is_empty() || !told.contains(cell)), "{told}");
        // Without bounds the same cell is what is reported first: it is in a file of otherwise numbers.
        assert_eq!(message(csv.as_bytes(), b"", "y==1", None), told);
    }
    // What stands for no value, by default or by a list, also where it would be a number or a category.
    for (cell, bounds) in [
        ("NaN", "length = [0, 1]"),
        ("N/A", "length = [0, 1]"),
        ("-9", "length = { range = [0, 1], missing_texts = ['-9'] }"),
        ("?", "length = ['0.1', '0.2']"),
    ] {
        let csv = format!("length,y\n0.1,0\n{cell},1\n");
        let told = message(csv.as_bytes(), bounds.as_bytes(), "y==1", None);
        assert!(
            told.starts_with("a.csv:3: column 'length' has no value here") && told.contains("drop"),
            "{told}"
        );
    }
    let label = message(b"length,y\n0.1,0\n0.2,oops\n", b"length = [0, 1]", "y==1", None);
    assert!(
        label.starts_with("a.csv:3: column 'y' does not hold a number here") && !label.contains("oops"),
        "{label}"
    );
    let nan = message(b"x,y\nnan,0\nnan,1\n", b"", "y==1", None);
    assert!(nan.ends_with("does not hold a finite number here"), "{nan}");
    assert!(
        message(b"x,y\n,0\n,1\n", b"", "y==1", None)
            .ends_with("a.csv:2: column 'x': the cell is empty, expected a number")
    );
}

#[test]
fn unknown_categories() {
    assert_eq!(
        message(SHELLS, b"length = [0, 1]\nsex = ['M', 'F']", "rings>=10", None),
        "a.csv:4: column 'sex' does not hold one of the categories 'M', 'F' here"
    );
    // A numeric column may be declared categorical: the cells are then compared as text.
    let codes = design(b"code,y\n1,0\n2,1\n", b"code = ['1', '2']", "y==1", None).unwrap();
    assert_eq!(codes.names(), ["(intercept)", "code=2"]);
}

/// As [`design`], with the texts of text columns without a list declared public.
fn public(csv: &[u8], bounds: &[u8], condition: &str) -> Result<Design> {
    let table = Table::parse("a.csv", csv)?;
    let bounds = Bounds::parse("b.toml", bounds)?.with_public_categories();
    Design::new(&table, &bounds, &condition.parse()?, None, Intercept::Included)
}

#[test]
fn text_columns_without_a_list_are_refused() {
    let shown = message(SHELLS, b"length = [0, 1]", "rings>=10", None);
    assert_eq!(
        shown,
        "a.csv: column 'sex' holds texts and has no public list of categories; a list taken from the data would show \
         which texts occur, so add to b.toml a line like `sex = [\"A\", \"B\"]`, or say that they are public: \
         --public-categories"
    );
    // The message reveals nothing of the texts: it does not depend on which there are, nor on how many.
    for csv in
        [&b"sex,length,rings\nX,0.5,15\nX,0.25,7\n"[..], b"sex,length,rings\nA,0.5,15\nB,0.25,7\nC,1,8\n"]
    {
        assert_eq!(message(csv, b"length = [0, 1]", "rings>=10", None), shown);
    }
}

#[test]
fn text_columns_without_a_list_may_be_declared_public_and_say_so() {
    let design = public(SHELLS, b"length = [0, 1]", "rings>=10").unwrap();
    assert_eq!(design.names(), ["(intercept)", "sex=I", "sex=M", "length"]);
    assert_eq!(design.notes(), ["the 3 categories of column 'sex' were read from the records"]);
    // A list is used where there is one.
    assert!(public(SHELLS, BOUNDS, "rings>=10").unwrap().notes().is_empty());
    let error = public(SHELLS, b"sex = ['M', 'F', 'I']", "rings>=10").err().unwrap().to_string();
    assert!(error.contains("'length' holds numbers and has no public bounds"), "{error}");
}

#[test]
fn text_columns_that_cannot_be_categories() {
    assert_eq!(
        public(b"sex,y\nM,0\n,1\n", b"", "y==1").err().unwrap().to_string(),
        "a.csv:3: column 'sex': the cell is empty, expected a category (list '' among the categories to allow it)"
    );
    assert!(design(b"sex,y\nM,0\n,1\n", b"sex = ['M', '']", "y==1", None).is_ok());
    assert_eq!(
        public(b"sex,y\nM,0\nM,1\n", b"", "y==1").err().unwrap().to_string(),
        "a.csv: column 'sex' has the same text in every record, expected at least two categories"
    );
    let told = public(b"name,y\nM,0\nF,1\n", b"", "y==1").err().unwrap().to_string();
    assert!(told.contains("'name' looks like an identifier of persons"), "{told}");
    let mut names = String::from("town,y\n");
    for i in 0..=MOST_INFERRED_CATEGORIES {
        names.push_str(&format!("person{i},{}\n", i % 2));
    }
    let shown = public(names.as_bytes(), b"", "y==1").err().unwrap().to_string();
    assert!(
        shown.starts_with("a.csv: column 'town' holds more than 50 different texts, the most that are read"),
        "{shown}"
    );
}

#[test]
fn coefficient_names_differ() {
    let shown = message(b"sex,sex=F,y\nM,1,0\nF,2,1\n", b"sex = ['M', 'F']\n'sex=F' = [0, 1]", "y==1", None);
    assert_eq!(shown, "two coefficients would both be named 'sex=F'; rename the column");
}

#[test]
fn selects_records() {
    let design = design(SHELLS, BOUNDS, "rings>=10", Some(&["length"])).unwrap();
    let (x, y) = design.select(&[3, 1]).unwrap();
    assert_eq!(x, ndarray::arr2(&[[1.0, -1.0], [1.0, -0.5]]));
    assert_eq!(y.to_vec(), [1.0, 0.0]);
    assert_eq!(design.select(&[]).unwrap().0.dim(), (0, 2));
    assert!(matches!(design.select(&[4]), Err(Error::Length { found: 5, expected: 4, .. })));
    assert!(matches!(design.in_original_units(&[1.0]), Err(Error::Length { found: 1, expected: 2, .. })));
}

/// The public file that many textbooks use, where the machine has it: `DP_DATA` names the folder with
/// `data/`.
#[test]
fn the_abalone_file() {
    let Some(folder) = std::env::var_os("DP_DATA") else {
        let message =
            "\n*** SKIPPED the_abalone_file: set DP_DATA to the folder that holds data/abalone.csv ***\n";
        std::io::Write::write_all(&mut std::io::stderr(), message.as_bytes()).unwrap();
        return;
    };
    let table = Table::read(&std::path::Path::new(&folder).join("data/abalone.csv")).unwrap();
    let text: String =
        table.columns()[1..8].iter().map(|column| format!("{column} = [0.0, 1.0]\n")).collect();
    let bounds = Bounds::parse("b.toml", text.as_bytes()).unwrap().with_public_categories();
    let condition = "rings>=10".parse().unwrap();
    let design = Design::new(&table, &bounds, &condition, None, Intercept::Included).unwrap();
    // Counts published with the file: 4,177 records, 2,081 of them with at least ten rings, sexes M F I.
    assert_eq!(design.features().dim(), (4177, 10));
    assert_eq!(design.labels().sum(), 2081.0);
    assert_eq!(design.names()[..4], ["(intercept)", "sex=I", "sex=M", "length"]);
    assert_eq!((design.features().column(1).sum(), design.features().column(2).sum()), (1342.0, 1528.0));
    assert!(design.features().iter().all(|value| (-1.0..=1.0).contains(value)));
    assert_eq!(design.notes().len(), 1);
}

proptest! {
    #[test]
    fn scaled_values_lie_between_minus_one_and_one(scale in strategies::scales(), value in strategies::finite()) {
        prop_assert!((-1.0..=1.0).contains(&scale.apply(value)));
        prop_assert_eq!(scale.apply(scale.low()), -1.0);
        prop_assert_eq!(scale.apply(scale.high()), 1.0);
    }

    #[test]
    fn scaling_keeps_order(scale in strategies::scales(), a in strategies::finite(), b in strategies::finite()) {
        let (low, high) = if a <= b { (a, b) } else { (b, a) };
        prop_assert!(scale.apply(low) <= scale.apply(high));
    }

    /// Four roundings on the way out and three on the way back, each of relative size 2⁻⁵³ of a number no
    /// larger than the larger bound; rounding in `value - low` is relative to the width, itself at most twice
    /// that.
    #[test]
    fn inverse_brings_back_what_was_inside(scale in strategies::scales(), part in 0.0..=1.0f64) {
        let value = scale.invert(2.0 * part - 1.0).clamp(scale.low(), scale.high());
        let back = scale.invert(scale.apply(value));
        let size = scale.low().abs().max(scale.high().abs());
        prop_assert!((back - value).abs() <= 16.0 * f64::EPSILON * size, "{back} against {value}");
    }

    /// The predictor in original units equals the scaled one. With |weight| ≤ 10, |bound| ≤ 100 and width ≥ 1
    /// every term is at most 10 · 2 · 100 in size and passes through fewer than 16 roundings.
    #[test]
    fn weights_in_original_units_predict_the_same(
        low in -100.0..99.0f64, width in 1.0..100.0f64, part in 0.0..=1.0f64, weights in prop::array::uniform3(-10.0..10.0f64),
    ) {
        let (high, value) = (low + width, low + part * width);
        let value = value.min(high);
        let csv = format!("s,v,y\na,{value},0\nb,{value},1\n");
        let design = design(csv.as_bytes(), format!("v = [{low:?}, {high:?}]\ns = ['a', 'b']").as_bytes(), "y==1", None).unwrap();
        let units = design.in_original_units(&weights).unwrap();
        for (row, s) in [(0, 0.0), (1, 1.0)] {
            let scaled: f64 = design.features().row(row).iter().zip(&weights).map(|(x, w)| x * w).sum();
            let original = units.constant + units.slopes[1] * s + units.slopes[2] * value;
            prop_assert!((scaled - original).abs() <= 3.0 * 16.0 * f64::EPSILON * 4000.0, "{scaled} against \
             {original}");
        }
    }

    #[test]
    fn any_cells_give_a_design_or_one_line(csv in strategies::csv_texts(), bounds in strategies::bounds_texts()) {
        // Also with what is refused otherwise.
        let _ = design(csv.as_bytes(), bounds.as_bytes(), "y == 1", None)
            .map_err(|error| assert!(!error.to_string().contains(char::is_control), "{error}"));
        match public(csv.as_bytes(), bounds.as_bytes(), "y == 1") {
            Ok(design) => {
                prop_assert_eq!(design.features().nrows(), design.labels().len());
                prop_assert_eq!(design.features().ncols(), design.coefficients().len());
                prop_assert!(design.features().iter().all(|value| (-1.0..=1.0).contains(value)));
                prop_assert!(design.labels().iter().all(|&label| label == 0.0 || label == 1.0));
            }
            Err(error) => prop_assert!(!error.to_string().contains(char::is_control), "{error}"),
        }
    }
}

/// A predictor has the same variance in the units of the file as on the scale of the weights.
#[test]
fn a_covariance_in_original_units_is_that_of_the_same_predictors() {
    let table = Table::parse("a.csv", b"x,z,s,y\n3,-7,u,1\n4.5,90,w,0\n2,11,v,1\n").unwrap();
    let bounds = Bounds::parse("b.toml", b"x = [2, 5]\nz = [-10, 200]\ns = ['u', 'v', 'w']").unwrap();
    let raw = [[3.0, -7.0, 0.0, 0.0], [4.5, 90.0, 0.0, 1.0], [2.0, 11.0, 1.0, 0.0]];
    for intercept in [Intercept::Included, Intercept::Omitted] {
        let design = Design::new(&table, &bounds, &"y == 1".parse().unwrap(), None, intercept).unwrap();
        let count = design.coefficients().len();
        // That of sums of independent numbers, so that it is one.
        let root = |j: usize, k: usize| ((3 * j + 5 * k) % 7) as f64 - 2.5;
        let entry = |j, k| (0..count).map(|m| root(j, m) * root(k, m)).sum::<f64>();
        let covariance: Vec<f64> = (0..count * count).map(|at| entry(at / count, at % count)).collect();
        let found = design.covariance_in_original_units(&covariance).unwrap();
        for (features, raw) in design.features().rows().into_iter().zip(raw) {
            let original: Vec<f64> = [1.0].into_iter().chain(raw).collect();
            let variance = |of: &[f64], by: &dyn Fn(usize, usize) -> f64| -> f64 {
                let pairs = (0..of.len()).flat_map(|j| (0..of.len()).map(move |k| (j, k)));
                pairs.map(|(j, k)| of[j] * of[k] * by(j, k)).sum()
            };
            let scaled = variance(&features.to_vec(), &|j, k| covariance[j * count + k]);
            let of_raw = variance(&original, &|j, k| found[j][k]);
            // Sums of 25 terms of at most 10⁴ each, all of them right to a part in 10¹⁵.
            assert!((scaled - of_raw).abs() < 1e-9, "{scaled} and {of_raw}");
        }
        assert!(matches!(design.covariance_in_original_units(&covariance[1..]), Err(Error::Length { .. })));
    }
}

/// A label that is missing, or that its column cannot have, is neither 0 nor 1.
#[test]
fn labels_are_known() {
    let of = |label: &str, condition: &str, cell: &str| {
        let text = format!("y,x\nhigh,1\nlow,2\n{cell},3\n");
        let table = Table::parse("a.csv", text.as_bytes()).unwrap();
        let bounds = Bounds::parse("b.toml", format!("x = [0, 9]\n{label}").as_bytes()).unwrap();
        let condition: Condition = condition.parse().unwrap();
        let table = bounds.complete(table, &condition, None)?;
        Design::new(&table, &bounds, &condition, None, Intercept::Included)
            .map(|found| found.labels().to_vec())
    };
    let (listed, dropped) = ("y = ['low', 'high']", "y = { categories = ['low', 'high'], missing = 'drop' }");
    for cell in ["?", "NA"] {
        assert!(matches!(of(listed, "y == high", cell), Err(Error::MissingValue { line: 4, .. })), "{cell}");
        assert_eq!(of(dropped, "y == high", cell).unwrap(), [1.0, 0.0]);
    }
    assert!(matches!(of(listed, "y == high", "middle"), Err(Error::UnknownCategory { line: 4, .. })));
    // A text is compared with what is publicly known to occur.
    for condition in ["y == 'high'", "y != 'middling'"] {
        assert!(matches!(of("", condition, "middle"), Err(Error::MissingCategories { .. })), "{condition}");
    }
    assert!(matches!(of(listed, "y == hi", "low"), Err(Error::Formula { .. })));
}
