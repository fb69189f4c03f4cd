//! The tables and figures of four papers, run again: what the program `papers` does.
//!
//! | file | what is in it |
//! |---|---|
//! | `experiment` | what an experiment is: files, settings, a function of a seed, what the paper prints |
//! | `lab` | where runs find their files; their hashes |
//! | `run`, `store` | seed by seed, each run left on disk when it ends; a folder of results |
//! | `command` | the options of `papers run`, and what each part of the program does |
//! | `page` | means and standard errors over seeds; the tables of `PAPERS.md` |
//! | `stand_in` | small data made up in memory, for quick runs |
//! | `autoencoder`, `training` | the networks of the images' experiments, their losses; how they are trained, and what steps take |
//! | the others | an experiment each, or a figure and its twin |
//!
//! The papers: Prediger, Loppi, Kaski and Honkela 2022 (d3p); Jälkö, Dikmen and Honkela 2016 (DP-ADVI); Park,
//! Foulds, Chaudhuri and Welling 2020 (VIPS); Barthe and others 2016 (PrivInfer).
//!
//! Seeds are fixed, so that figures can be had again: nothing here is a private use of a file.
//!
//! ```
//! use dp_examples::harness::papers::{Size, find, run};
//!
//! // Figure 4 of VIPS is a curve, and ours is exact; a quick run has one seed and reads no file.
//! let runs = run(find("vips-fig4")?, None, (Size::Quick, None), None, &|_| {})?;
//! let distances = runs[0].rows.iter().filter(|row| row.metric.contains("less"));
//! assert!(distances.clone().count() > 0 && distances.clone().all(|row| row.value.abs() < 1e-14));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod advi_epsilon;
mod advi_fig1;
mod autoencoder;
pub mod command;
mod d3p_epsilon;
mod d3p_fig3;
mod d3p_fig4;
mod d3p_fig5;
mod d3p_fig6;
mod d3p_fig7;
mod d3p_table2;
mod d3p_table2_cifar;
mod d3p_table3;
mod experiment;
mod lab;
mod page;
mod peer;
mod picture;
mod privinfer;
mod privinfer_tables;
mod run;
mod stand_in;
mod store;
mod training;
mod vips_epsilon;
mod vips_fig4;
mod vips_fig8;
mod vips_lda;
mod vips_regression;

pub use experiment::{
    Axes, Expected, Experiment, Machine, NOTICE, Outcome, PapersEpsilon, Printed, Privacy, Reference, Row,
    Size,
};
pub use lab::{Input, Lab};
pub use page::{Mean, page, summaries, table};
pub use peer::{PEERS_RESULT, Peer};
pub use picture::picture;
pub use run::{FIRST_SEED, Told, run};
pub use store::Store;

use crate::error::wording::meant;
use crate::harness::utility::Failure;

/// All experiments, those that take seconds before those that take minutes.
pub static ALL: [&Experiment; 26] = [
    &d3p_epsilon::EXPERIMENT,
    &advi_epsilon::EXPERIMENT,
    &vips_epsilon::EXPERIMENT,
    &vips_fig4::EXPERIMENT,
    &privinfer::LEMMAS,
    &privinfer::BIAS,
    &privinfer::FACES_EXPERIMENT,
    &privinfer_tables::EXPERIMENT,
    &d3p_fig4::EXPERIMENT,
    &d3p_fig5::EXPERIMENT,
    &d3p_fig6::EXPERIMENT,
    &d3p_fig7::EXPERIMENT,
    &advi_fig1::CLIP,
    &advi_fig1::RATE_EXPERIMENT,
    &advi_fig1::DEFAULTS,
    &vips_regression::STROKE,
    &vips_regression::ADULT,
    &vips_fig8::EXPERIMENT,
    &vips_lda::EXPERIMENT,
    &d3p_fig3::EXPERIMENT,
    &d3p_table3::EXPERIMENT,
    &d3p_table2::FASHION,
    &d3p_table2_cifar::RANDOM,
    &d3p_table2::PLAIN,
    &d3p_table2::MNIST,
    &d3p_table2_cifar::FROM_FILES,
];

/// The experiment of this name.
///
/// # Errors
///
/// An unknown name, with those that are nearest.
pub fn find(name: &str) -> Result<&'static Experiment, Failure> {
    ALL.into_iter().find(|experiment| experiment.name == name).ok_or_else(|| {
        let names: Vec<String> = ALL.iter().map(|experiment| experiment.name.to_owned()).collect();
        let shown = crate::error::one_line(name);
        let mut near = meant(name, &names);
        if near.is_empty() && !name.is_empty() {
            // A part of a name, such as "lda".
            let parts: Vec<&str> =
                names.iter().map(String::as_str).filter(|other| other.contains(name)).collect();
            if !parts.is_empty() {
                near = format!("did you mean {}? ", parts.join(" or "));
            }
        }
        format!("there is no experiment '{shown}': {near}'papers list' names all of them").into()
    })
}
