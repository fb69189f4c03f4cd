//! Topics of a collection of documents, with and without privacy: the words that are most likely in each, printed and
//! drawn.
//!
//! Without arguments on made-up documents; with a file of counts in the format of lda-c and its vocabulary on
//! real ones:
//!
//! `cargo run --release -p dp-examples --example topics -- 20news.ldac.gz 20news.vocab.txt`
#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use dp_examples::harness::utility::corpus::Corpus;
use dp_examples::harness::utility::held_back;
use dp_examples::harness::utility::lda::{mean_topics, model, perplexity, records};
use dp_vi::ConjugateVi;
use dp_vi::prelude::*;
use ndarray::Array2;
use std::fmt::Write;
use std::path::PathBuf;

/// Words of the vocabulary, and topics that are looked for.
const WORDS: usize = 1_000;
const TOPICS: usize = 3;

/// 3,000 documents of 30 words each from three topics of 20 words, a topic or two in each.
fn made_up() -> Result<Corpus, Box<dyn std::error::Error>> {
    let mut text = String::new();
    for d in 0..3_000_usize {
        let (first, second) = (d % 3, (d / 3) % 3);
        let mut counts = [0_u32; 60];
        (0..30).for_each(|n| {
            let topic = if n % 3 == 0 { second } else { first };
            counts[20 * topic + (d * 7 + n * n * 5 + n) % 20 * ((d + n) % 20) / 20] += 1;
        });
        let words: Vec<String> =
            counts.iter().enumerate().filter(|(_, n)| **n > 0).map(|(w, n)| format!("{w}:{n}")).collect();
        writeln!(text, "{} {}", words.len(), words.join(" "))?;
    }
    Corpus::from_text(&text)
}

/// The most likely words of each topic: printed, and drawn as bars.
fn show(
    what: &str,
    topics: &Array2<f64>,
    corpus: &Corpus,
    svg: &mut String,
    left: usize,
) -> std::fmt::Result {
    println!("{what}");
    writeln!(svg, r#"<text x="{left}" y="20" font-weight="bold">{what}</text>"#)?;
    for (k, topic) in topics.rows().into_iter().enumerate() {
        let mut order: Vec<usize> = (0..topic.len()).collect();
        order.sort_by(|&a, &b| topic[b].total_cmp(&topic[a]));
        let top: Vec<String> = order.iter().take(8).map(|&word| corpus.word(word)).collect();
        println!("  topic {}: {}", k + 1, top.join(" "));
        for (place, (&word, name)) in order.iter().zip(&top).enumerate() {
            let (y, width) = (40 + 170 * k + 18 * place, 180.0 * topic[word] / topic[order[0]]);
            writeln!(svg, r##"<rect x="{left}" y="{y}" width="{width:.1}" height="14" fill="#9cc4e4"/>"##)?;
            writeln!(svg, r#"<text x="{}" y="{}">{name}</text>"#, left + 4, y + 12)?;
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let corpus = match &files[..] {
        [] => made_up()?,
        [documents, vocabulary, ..] => Corpus::read(documents, Some(vocabulary))?,
        [documents] => Corpus::read(documents, None)?,
    };
    let corpus = corpus.most_frequent(WORDS.min(corpus.vocabulary()))?;
    let (train, test) = held_back(corpus.len(), 9)?;
    let documents = records(&corpus, &train)?;
    let open = ConjugateVi::new(model(TOPICS)).without_privacy().steps(60).fit(&documents)?;
    let private = ConjugateVi::new(model(TOPICS)).budget(Budget::add_remove(1.0, 1e-5)).fit(&documents)?;
    println!("{}\n", private.privacy());
    let mut svg = String::from(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="460" height="560" font-size="12" font-family="sans-serif">"#,
    );
    for (what, fit, left) in [("without privacy", &open, 20), ("with privacy", &private, 240)] {
        let topics = mean_topics(fit)?;
        show(what, &topics, &corpus, &mut svg, left)?;
        println!("  perplexity of held-back documents: {:.1}\n", perplexity(&topics, &corpus, &test));
    }
    std::fs::write("topics.svg", svg + "</svg>\n")?;
    println!("drawn into topics.svg");
    Ok(())
}
