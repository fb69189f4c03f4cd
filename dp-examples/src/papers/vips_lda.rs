//! VIPS, figures 2 and 3 and table 3: topics of documents.

use dp_accountant::Budget;
use dp_sampler::Seed;
use dp_vi::ConjugateVi;
use ndarray::Array2;
use serde_json::json;

use super::experiment::{Axes, Experiment, Printed, Privacy, Reference, Row, Size};
use super::lab::{Input, Lab};
use super::stand_in;
use crate::utility::Failure;
use crate::utility::corpus::Corpus;
use crate::utility::lda::{mean_topics, model, perplexity, records, unigrams};

const INPUTS: [Input; 2] = [
    Input {
        file: "20news.ldac.gz",
        hash: "76713e8040f443354fceea27bb0ae542cea34eb4e1430a03b0da854b34236256",
    },
    Input {
        file: "20news.vocab.txt",
        hash: "78a74b1cb5dd40b8fb8ff39cf8e84f2723c0b6da1666997c7c73c80594a4b662",
    },
];

const DELTA: f64 = 1e-5;

/// Words that are kept, and releases.
fn how(size: Size) -> (usize, u64) {
    size.pick((1_000, 120), (30, 10))
}

/// ε, topics, and the largest norm of a document's expected counts: chosen on these very documents.
fn choices(size: Size) -> &'static [(f64, usize, f64)] {
    size.pick(&[(1.0, 3, 6.0), (2.0, 3, 6.0), (4.0, 5, 8.0), (8.0, 5, 12.0)], &[(8.0, 2, 12.0)])
}

fn settings(size: Size) -> serde_json::Value {
    let (words, steps) = how(size);
    json!({ "words": words, "steps": steps, "delta": DELTA, "epsilon_topics_norm": choices(size), "fold": 9 })
}

/// The five most frequent words of each topic.
fn most_frequent(topics: &Array2<f64>, corpus: &Corpus) -> String {
    let words = |row: ndarray::ArrayView1<'_, f64>| {
        let mut order: Vec<usize> = (0..row.len()).collect();
        order.sort_by(|&a, &b| row[b].total_cmp(&row[a]).then(a.cmp(&b)));
        order.iter().take(5).map(|&word| corpus.word(word)).collect::<Vec<_>>().join(" ")
    };
    topics.rows().into_iter().map(words).collect::<Vec<_>>().join("; ")
}

fn run(lab: &Lab, seed: u64) -> Result<Vec<Row>, Failure> {
    let (words, steps) = how(lab.size());
    let corpus = match lab.is_quick() {
        true => Corpus::from_text(&stand_in::documents(1, 200, 30))?,
        false => Corpus::read(&lab.path(&INPUTS[0])?, Some(&lab.path(&INPUTS[1])?))?,
    };
    let corpus = corpus.most_frequent(words)?;
    let (test, train): (Vec<usize>, Vec<usize>) = (0..corpus.len()).partition(|i| i % 10 == 9);
    let hidden = records(&corpus, &train)?;
    let mut rows = Vec::new();
    for &(epsilon, topics, norm) in choices(lab.size()) {
        let fit = ConjugateVi::new(model(topics))
            .budget(Budget::add_remove(epsilon, DELTA))
            .clip_norm(norm)
            .steps(steps)
            .seed(Seed::for_tests(seed))
            .fit(&hidden)?;
        let topics = mean_topics(&fit)?;
        let value = perplexity(&topics, &corpus, &test);
        let row = Row::new("topics", METRIC, format!("ε {epsilon}"), epsilon, value);
        let words = if lab.is_quick() { String::new() } else { most_frequent(&topics, &corpus) };
        rows.push(row.costing(Privacy::of(fit.privacy())?).saying(words));
    }
    let one = perplexity(&unigrams(&corpus, &train), &corpus, &test);
    rows.push(Row::new("one topic, not private", METRIC, "no noise", 16.0, one));
    Ok(rows)
}

const METRIC: &str = "perplexity of held-back documents";

const fn expected(label: &'static str, value: f64, error: f64) -> Reference {
    let printed = Printed::Figure;
    Reference { series: "topics", metric: METRIC, label, printed, expected: Some((value, error)) }
}

pub(super) static EXPERIMENT: Experiment = Experiment {
    name: "vips-lda",
    item: "VIPS, figures 2 and 3 and table 3: topics, on 20 Newsgroups INSTEAD OF the paper's articles",
    source: "Park et al. 2020, section 5 (400,000 articles of Wikipedia, which are not at hand)",
    inputs: &INPUTS,
    minutes: 6.0,
    runs: 1,
    alone: false,
    settings,
    run,
    references: &[
        expected("ε 1", 710.0, 3.0),
        expected("ε 2", 689.0, 1.0),
        expected("ε 4", 682.0, 2.0),
        expected("ε 8", 673.0, 1.0),
        Reference {
            series: "one topic, not private",
            metric: METRIC,
            label: "",
            printed: Printed::Nothing,
            expected: Some((758.0, 0.5)),
        },
    ],
    remarks: &[
        "18,846 posts and 1,000 words, which are treated as public; topics and norms were chosen on these documents. Less is better.",
    ],
    axes: Some(Axes { x: "ε", y: METRIC, metric: METRIC, logarithmic: true }),
};
