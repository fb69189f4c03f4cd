//! The gallery is whole: it names every program and example with its command, and its pictures are those there are.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn text(name: &str) -> String {
    fs::read_to_string(path(name)).unwrap()
}

/// The names, without their extension, of the files of a folder that have this one.
fn stems(folder: &str, extension: &str) -> BTreeSet<String> {
    let paths = fs::read_dir(path(folder)).unwrap().map(|file| file.unwrap().path());
    let found = paths.filter(|path| path.extension().is_some_and(|found| found == extension));
    found.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect()
}

/// What stands between two marks, wherever a text has both, one after the other, on one line.
fn between<'t>(text: &'t str, begin: &str, end: &str) -> BTreeSet<&'t str> {
    let rests = text.lines().flat_map(|line| line.split(begin).skip(1));
    rests.filter_map(|rest| rest.split_once(end)).map(|(found, _)| found).collect()
}

/// The names behind `--bin` or `--example` in the page's commands.
fn in_commands(page: &str, option: &str) -> BTreeSet<String> {
    let rests = page.split("cargo run --release -p dp-examples ").skip(1);
    let names = rests.filter_map(|rest| rest.strip_prefix(option)?.strip_prefix(' '));
    let end = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    names.filter_map(|rest| rest.split(end).next()).map(str::to_owned).collect()
}

#[test]
fn every_program_and_example_has_its_command() {
    let page = text("GALLERY.md");
    assert_eq!(in_commands(&page, "--bin"), stems("src/bin", "rs"));
    assert_eq!(in_commands(&page, "--example"), stems("examples", "rs"));
    // The quickstart is the program of no name.
    assert!(page.lines().any(|line| line == "cargo run --release -p dp-examples"));
}

#[test]
fn every_picture_is_there_and_is_shown() {
    let page = text("GALLERY.md");
    let shown: BTreeSet<String> =
        between(&page, "](gallery/", ".svg)").into_iter().map(str::to_owned).collect();
    let there = stems("gallery", "svg");
    assert_eq!(shown, there);
    let script = text("gallery/make.py");
    for name in there {
        let picture = text(&format!("gallery/{name}.svg"));
        assert!(picture.starts_with("<svg") && picture.trim_end().ends_with("</svg>"), "{name}.svg");
        assert!(script.contains(&format!("\"{name}\"")), "make.py does not make {name}.svg");
    }
}

#[test]
fn every_file_that_is_linked_is_there() {
    let page = text("GALLERY.md");
    let linked = between(&page, "](", ")");
    assert!(linked.len() > 20, "only {} links", linked.len());
    for file in linked {
        assert!(path(file).exists(), "{file}");
    }
}
