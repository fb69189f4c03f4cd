use super::*;
use ndarray::{Array3, arr0, array};

fn draws() -> BTreeMap<String, ArrayD<f64>> {
    let matrix =
        Array3::from_shape_fn((2, 2, 3), |(draw, row, column)| (100 * draw + 10 * row + column) as f64);
    BTreeMap::from([
        ("layer.m".to_owned(), matrix.into_dyn()),
        ("s".to_owned(), array![f64::NAN, 1e-300].into_dyn()),
        ("none".to_owned(), ndarray::Array2::zeros((2, 0)).into_dyn()),
    ])
}

#[test]
fn names_carry_the_place_with_the_first_index_fastest() {
    let columns = columns(&draws()).unwrap();
    let expected =
        ["layer_m.1.1", "layer_m.2.1", "layer_m.1.2", "layer_m.2.2", "layer_m.1.3", "layer_m.2.3", "s"];
    assert_eq!(columns.names, expected);
    assert_eq!(columns.numbers[3], [11.0, 111.0]);
}

#[test]
fn what_makes_no_table_is_told_with_the_site() {
    let mut uneven = draws();
    uneven.insert("t".to_owned(), array![1.0].into_dyn());
    let told = columns(&uneven).unwrap_err().to_string();
    assert!(told.contains("'t'") && told.contains("1 draws, where site 's' has 2"), "{told}");
    let number = BTreeMap::from([("a".to_owned(), arr0(1.0).into_dyn())]);
    assert!(columns(&number).unwrap_err().to_string().contains("'a'"));
    let mut twice = draws();
    twice.insert("layer_m".to_owned(), array![1.0, 2.0].into_dyn());
    assert!(columns(&twice).unwrap_err().to_string().contains("another site"));
}

#[cfg(feature = "csv")]
#[test]
fn a_file_is_replaced_whole_or_not_at_all() {
    let folder = std::env::temp_dir().join(format!("ppl-core-export-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("draws.csv");
    save_csv(&draws(), &path).unwrap();
    let first = std::fs::read_to_string(&path).unwrap();
    assert!(first.ends_with("0,10,1,11,2,12,NaN\n100,110,101,111,102,112,1e-300\n"), "{first}");
    let bad = BTreeMap::from([("a".to_owned(), arr0(1.0).into_dyn())]);
    assert!(save_csv(&bad, &path).is_err());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), first);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "nothing is left beside it");
    let told = save_csv(&draws(), folder.join("no/such/folder.csv")).unwrap_err().to_string();
    assert!(told.contains("folder.csv") && told.contains("cannot be created"), "{told}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_holds_the_columns() {
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::record::RowAccessor;
    let mut bytes = Vec::new();
    write_parquet(&draws(), &mut bytes).unwrap();
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
    let columns = columns(&draws()).unwrap();
    let mut rows = 0;
    for (number, row) in reader.get_row_iter(None).unwrap().enumerate() {
        let row = row.unwrap();
        for (place, name) in columns.names.iter().enumerate() {
            assert_eq!(row.get_column_iter().nth(place).unwrap().0, name);
            let (got, expected) = (row.get_double(place).unwrap(), columns.numbers[place][number]);
            assert!(got.to_bits() == expected.to_bits() || got == expected);
        }
        rows += 1;
    }
    assert_eq!(rows, 2);
}
