//! Arbitrary bytes as a file that a program reads back or is given: refused in one line, or what is read can be used
//! and written again. The first byte says which format it is.

#![no_main]

use dp_examples::harness::idx;
use dp_examples::harness::utility::corpus::Corpus;
use dp_examples::regression::model_file::ModelFile;
use dp_examples::table::Table;
use dp_examples::twin;
use dp_sampler::Seed;
use dp_vi::{Posterior, StoredFit};
use libfuzzer_sys::fuzz_target;
use std::path::PathBuf;

/// A file of this process, in memory where there is such a folder.
fn written(bytes: &[u8]) -> PathBuf {
    let shm = PathBuf::from("/dev/shm");
    let folder = if shm.is_dir() { shm } else { std::env::temp_dir() };
    let path = folder.join(format!("fuzz-files-{}", std::process::id()));
    std::fs::write(&path, bytes).expect("a temporary file can be written");
    path
}

fn one_line(error: &(dyn std::error::Error + 'static)) {
    let line = dp_examples::program::error_line(error);
    assert!(!line.contains(char::is_control), "{line:?}");
}

/// A twin's model gives rows, and is the same when it is written and read again.
fn twins(bytes: &[u8]) {
    match twin::read_model(&written(bytes)) {
        Ok(model) => {
            let json = model.to_json().expect("a model can be written");
            let again = twin::read_model(&written(&json)).expect("what was written can be read");
            assert_eq!(again.to_json().expect("it can be written"), json);
            let generator = || Seed::for_tests(1).streams(dp_sampler::Purpose::Custom("rows")).at(0);
            match (model.sample(20, generator()), again.sample(20, generator())) {
                (Ok(rows), Ok(same)) => {
                    assert_eq!(rows, same);
                    assert!(twin::to_csv(&model, &rows).is_ok());
                }
                (Err(error), Err(_)) => one_line(&error),
                _ => panic!("rows of a model that was read again differ"),
            }
            // Another model that may have led to the same counts has rows, too, or says why there is none.
            if model.records < 1e3 && bytes.len() < 1 << 14 {
                match model.redraw(generator()) {
                    Ok(other) => {
                        if let Ok(rows) = other.sample(20, generator()) {
                            assert!(twin::to_csv(&other, &rows).is_ok());
                        }
                    }
                    Err(error) => one_line(&error),
                }
            }
        }
        Err(error) => one_line(&error),
    }
}

fn regressions(bytes: &[u8]) {
    match ModelFile::read(&written(bytes)) {
        Ok(model) => {
            let json = serde_json::to_vec(&model).expect("a model can be written");
            assert!(ModelFile::read(&written(&json)).is_ok(), "what was written can be read");
        }
        Err(error) => one_line(&error),
    }
}

/// What the library wrote of a posterior and of a fit can be asked for everything that it knows.
fn posteriors(text: &str) {
    match Posterior::from_json(text) {
        Ok(posterior) => {
            let sites: Vec<String> = posterior.sites().map(str::to_owned).collect();
            for site in sites {
                let _ = (posterior.mean(&site), posterior.sd(&site), posterior.interval(&site, 0.9));
            }
            let _ = posterior.draws(3, &Seed::for_tests(1));
            assert!(Posterior::from_json(&posterior.to_json().expect("it was written once")).is_ok());
        }
        Err(error) => one_line(&error),
    }
    if let Err(error) = StoredFit::from_json(text) {
        one_line(&error);
    }
}

fn documents(text: &str) {
    match Corpus::from_text(text) {
        Ok(corpus) => {
            for k in 0..corpus.len() {
                assert!(
                    corpus.document(k).iter().all(|&(word, count)| word < corpus.vocabulary() && count > 0)
                );
            }
        }
        Err(error) => one_line(error.as_ref()),
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((&format, bytes)) = input.split_first() else { return };
    let text = String::from_utf8_lossy(bytes);
    match format % 7 {
        0 => match idx::images(&written(bytes)) {
            Ok(images) => assert!(!images.is_empty()),
            Err(error) => one_line(&error),
        },
        1 => match idx::labels(&written(bytes)) {
            Ok(labels) => assert!(!labels.is_empty()),
            Err(error) => one_line(&error),
        },
        2 => documents(&text),
        3 => twins(bytes),
        4 => regressions(bytes),
        5 => posteriors(&text),
        // Parquet where it begins with that format's mark, otherwise a CSV file, packed or not.
        _ => match Table::read(&written(bytes)) {
            Ok(table) => {
                for name in table.columns().to_vec() {
                    let cells = table.cells(&name).expect("a column that the table has");
                    assert_eq!(cells.count(), table.len());
                }
            }
            Err(error) => one_line(&error),
        },
    }
});
