//! VIPS, figures 2 and 3 and table 3: topics of documents.

use dp_accountant::Budget;
use ndarray::Array2;
use serde_json::json;

use super::experiment::{Axes, Expected, Experiment, Printed, Privacy, Reference, Row, Size};
use super::lab::{Input, Lab};
use super::stand_in;
use crate::harness::utility::Failure;
use crate::harness::utility::corpus::Corpus;
use crate::harness::utility::lda::{NORM, mean_topics, perplexity, records, suited_fit, unigrams};

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

fn epsilons(size: Size) -> &'static [f64] {
    size.pick(&[1.0, 2.0, 4.0, 8.0], &[8.0])
}

fn settings(size: Size) -> serde_json::Value {
    let (words, steps) = how(size);
    json!({
        "words": words, "steps": steps, "delta": DELTA, "epsilons": epsilons(size), "fold": 9, "clip_norm": NORM,
        "topics": "as many as suit the budget, from a paid number of counts",
    })
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
    if corpus.vocabulary() < words {
        let (found, file) = (corpus.vocabulary(), INPUTS[1].file);
        return Err(format!("{file}: {found} words, expected at least {words}").into());
    }
    let corpus = corpus.most_frequent(words)?;
    let (test, train): (Vec<usize>, Vec<usize>) = (0..corpus.len()).partition(|i| i % 10 == 9);
    let hidden = records(&corpus, &train)?;
    let mut rows = Vec::new();
    for &epsilon in epsilons(lab.size()) {
        let budget = Budget::add_remove(epsilon, DELTA);
        let (fit, spent) = suited_fit(&hidden, budget, NORM, steps, seed)?;
        let topics = mean_topics(&fit)?;
        let (label, value) = (format!("ε {epsilon}"), perplexity(&topics, &corpus, &test));
        let words = if lab.is_quick() { String::new() } else { most_frequent(&topics, &corpus) };
        let privacy = Privacy { epsilon: spent, delta: DELTA, ..Privacy::of(fit.privacy())? };
        rows.push(Row::new(SERIES, METRIC, &*label, epsilon, value).costing(privacy).saying(words));
        rows.push(Row::new(SERIES, "their number", label, epsilon, topics.nrows() as f64));
    }
    let one = perplexity(&unigrams(&corpus, &train), &corpus, &test);
    rows.push(Row::level("one topic, not private", METRIC, "no noise", one));
    Ok(rows)
}

const SERIES: &str = "topics";
const METRIC: &str = "perplexity of held-back documents";

const fn expected(label: &'static str, value: f64, error: f64) -> Reference {
    let printed = Printed::Figure;
    Reference { series: SERIES, metric: METRIC, label, printed, expected: Expected::Measured(value, error) }
}

pub(super) static EXPERIMENT: Experiment = Experiment {
    name: "vips-lda",
    item: "VIPS, figures 2 and 3 and table 3: topics, on 20 Newsgroups INSTEAD OF the paper's articles",
    source: "Park et al. 2020, section 5 (400,000 articles of Wikipedia, which are not at hand)",
    inputs: &INPUTS,
    minutes: 0.5,
    runs: 3,
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
            expected: Expected::Calculated(758.0, 1.0),
        },
    ],
    remarks: &[
        "Less is better. 18,846 posts and 1,000 words, which are treated as public. How many topics suits a budget is found from a number of \
         counts that is paid for, and the norm is from made-up documents; the expected numbers are a simulation's whose topics and norms were \
         chosen on these posts, and with eight topics in place of its five the perplexity at ε 8 is lower.",
    ],
    axes: Some(Axes { x: "ε", y: METRIC, metric: METRIC, logarithmic: true }),
};
