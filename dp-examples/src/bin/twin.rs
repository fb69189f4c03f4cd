//! Makes a private synthetic copy of any table.

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use dp_accountant::Budget;
use dp_examples::output::write_whole;
use dp_examples::program::{for_the_holder, run, with_values};
use dp_examples::regression::arguments::check_outputs;
use dp_examples::schema::clamped_in_words;
use dp_examples::table::Table;
use dp_examples::twin::arguments::{Arguments, Check, Combine, Fit, Job, Report, Sample};
use dp_examples::twin::{self, Model, Paid, Schema, Settings, Sizes};
use dp_sampler::{Purpose, Seed, Stream};

fn main() -> ExitCode {
    run(|arguments: Arguments| match arguments.job {
        Job::Schema(schema) => dp_examples::regression::others::schema(&schema),
        Job::Fit(fit) => with_values(fit.show_values, make(&fit)),
        Job::Sample(sample) => draw(&sample),
        Job::Check(check) => compare(&check),
        Job::Report(report) => describe(&report),
        Job::Combine(combine) => combined(&combine),
    })
}

fn make(options: &Fit) -> Result<(), Box<dyn Error>> {
    let classes = options.classes()?;
    twin::check_folder(&options.out, options.overwrite)?;
    let inputs = [Some(&options.data), Some(&options.schema), options.ledger.as_ref()];
    let inputs: Vec<&Path> = inputs.into_iter().flatten().map(PathBuf::as_path).collect();
    twin::check_inputs(&options.out, &inputs)?;
    let schema = Schema::read(&options.schema)?;
    if options.count_clamped {
        for_the_holder(&clamped_in_words(&schema.schema().clamped(&options.data)?));
    }
    let data = twin::Data::read(&options.data, schema)?;
    let seed = |further: u64| match options.test_seed_not_private {
        Some(number) => Ok(Seed::for_tests(number.wrapping_add(further))),
        None => Seed::from_os(),
    };
    // Reading may have taken long.
    twin::check_folder(&options.out, options.overwrite)?;
    let mut purse = twin::account(options)?;
    let relation = purse.ledger().budget().relation;
    let budget = Budget { epsilon: options.epsilon, delta: options.delta, relation };
    let settings = Settings { budget, target: options.target.clone(), together: options.together.clone() };
    let fitted = match classes {
        None => twin::fit(data, &settings, purse.as_mut(), seed(0)?)?,
        Some(classes) => {
            let seeds = [seed(0)?, seed(1 << 32)?];
            twin::fit_classes(data, &settings, classes, purse.as_mut(), seeds)?
        }
    };
    let model = fitted.model;
    let sizes = Sizes { rows: options.rows, twins: options.twins };
    let paid = Paid::new(&model, sizes, &fitted.events, purse.ledger())?;
    if let Err(error) = paid.write(&options.out, options.overwrite) {
        if let twin::Error::Unsaved { model, .. } = &error {
            std::io::stdout().write_all(model)?;
        }
        return Err(error.into());
    }
    twin::write_made(&options.out, &model, sizes, &seed(0)?)?;
    say(&twin::summary(&model, sizes, &options.out.display().to_string()))
}

fn draw(options: &Sample) -> Result<(), Box<dyn Error>> {
    check_outputs(&[("the model", Some(&options.model))], &[("--out", Some(&options.out))])?;
    let mut model = twin::read_model(&options.model)?;
    let sizes = Sizes { rows: options.rows, twins: if options.redrawn { 2 } else { 1 } };
    let rows = sizes.rows_of_each(&model);
    for given in &options.given {
        let (column, value) = given
            .split_once('=')
            .ok_or("--given: expected COLUMN=VALUE, as in 'sex=female' or 'age=30..39'")?;
        model = model.given(column.trim(), value.trim())?;
    }
    let drawn = if options.redrawn {
        model = model.redraw(generator()?)?;
        model.sample_independently(rows, generator()?)?
    } else {
        model.sample(rows, generator()?)?
    };
    write_whole(&options.out, &twin::to_csv(&model, &drawn)?)?;
    let mark = if model.provenance.secret {
        ""
    } else {
        ". NOT private: the model's noise came from a seed that is known"
    };
    say(&format!("{rows} rows: {}{mark}\n", options.out.display()))
}

fn compare(options: &Check) -> Result<(), Box<dyn Error>> {
    let model = twin::read_model(&options.model)?;
    let (made, real) = (twin::read_table(&options.twin)?, twin::read_table(&options.real)?);
    let scores = twin::scores(&model, &made, &real)?;
    say(&format!(
        "{}\nExact figures of real rows: NOT covered by the twin's guarantee.\n",
        serde_json::to_string_pretty(&scores)?
    ))
}

fn describe(options: &Report) -> Result<(), Box<dyn Error>> {
    let inputs = [("the model", Some(options.model.as_path())), ("--test", options.test.as_deref())];
    check_outputs(&inputs, &[("--out", Some(&options.out))])?;
    let model: Model = twin::read_model(&options.model)?;
    let rows = model.sample(model.records.round() as u64, generator()?)?;
    let scores = match &options.test {
        Some(path) => {
            let made = Table::parse("the twin", &twin::to_csv(&model, &rows)?)?;
            Some(twin::scores(&model, &made, &twin::read_table(path)?)?)
        }
        None => None,
    };
    write_whole(Path::new(&options.out), twin::report(&model, &rows, scores.as_ref()).as_bytes())?;
    say(&format!("Page: {}\n", options.out.display()))
}

fn combined(options: &Combine) -> Result<(), Box<dyn Error>> {
    let estimates = twin::read_table(&options.estimates)?;
    say(&twin::combine_table(&estimates, options.rows_per_record, options.probability)?)
}

/// What cannot be said is a failure, although files are there: somebody waits for it.
fn say(text: &str) -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout().lock();
    Ok(out.write_all(text.as_bytes()).and_then(|()| out.flush())?)
}

fn generator() -> Result<Stream, dp_sampler::Error> {
    Ok(Seed::from_os()?.streams(Purpose::Custom("rows of a twin")).at(0))
}
