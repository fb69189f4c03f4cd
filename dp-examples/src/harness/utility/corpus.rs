//! Documents as counts of words.

use std::collections::BTreeMap;
use std::path::Path;

use dp_sampler::{Purpose, Seed};
use ndarray::Array2;
use rand_core::Rng;

use super::Failure;
use crate::table::read_file;

/// Documents by how often each word of a vocabulary occurs.
#[derive(Debug, Clone)]
pub struct Corpus {
    /// Word and count, of each document.
    documents: Vec<Vec<(usize, u32)>>,
    /// The vocabulary, as far as one was named.
    words: Vec<String>,
    vocabulary: usize,
}

/// Most words of a vocabulary.
const MOST_WORDS: usize = 1 << 24;

impl Corpus {
    /// Reads documents in the format of lda-c, a line for each: the number of its words, and `word:count` for each,
    /// words counted from 0. With a file of the vocabulary, a word a line, there must be a word for each number.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, and a line that is not of this form, with its number.
    pub fn read(path: &Path, vocabulary: Option<&Path>) -> Result<Self, Failure> {
        let text = |path: &Path| -> Result<String, Failure> {
            String::from_utf8(read_file(path)?)
                .map_err(|_| format!("{}: not a file of text", path.display()).into())
        };
        let corpus = Self::parse(&text(path)?, Some(path))?;
        let Some(path) = vocabulary else { return Ok(corpus) };
        let words: Vec<String> = text(path)?.lines().map(|line| line.trim().to_owned()).collect();
        if words.len() < corpus.vocabulary {
            let (found, last) = (words.len(), corpus.vocabulary - 1);
            return Err(format!("{}: {found} words, but a document has word {last}", path.display()).into());
        }
        Ok(Self { vocabulary: words.len(), words, ..corpus })
    }

    /// Documents from text in the format of lda-c, see [`read`](Self::read).
    ///
    /// ```
    /// use dp_examples::harness::utility::corpus::Corpus;
    /// let corpus = Corpus::from_text("2 0:3 2:1\n1 1:5\n")?;
    /// assert_eq!((corpus.len(), corpus.vocabulary()), (2, 3));
    /// assert_eq!(corpus.document(0), [(0, 3), (2, 1)]);
    /// assert!(Corpus::from_text("1 0:-1\n").unwrap_err().to_string().starts_with("line 1"));
    /// # Ok::<(), dp_examples::harness::utility::Failure>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A line that is not of this form, with its number.
    pub fn from_text(text: &str) -> Result<Self, Failure> {
        Self::parse(text, None)
    }

    /// 15,000 documents over a vocabulary of 1,000 words, from twenty subjects, for choosing settings on no one's data.
    ///
    /// ```text
    /// word v of subject k     ∝ (v + 4)⁻¹ exp(1.5 z_kv)        frequencies fall as in languages
    /// subject k of a document ∝ exp(2.5 z_k)                   one or a few subjects
    /// words of a document     exp(3.8 + 0.9 z), at most 600    many short ones, a few long ones
    /// ```
    ///
    /// with standard normals `z`. It is not the model that is fitted: neither law is a Dirichlet.
    #[must_use]
    pub fn made_up(seed: u64) -> Self {
        const DOCUMENTS: usize = 15_000;
        const WORDS: usize = 1_000;
        const SUBJECTS: usize = 20;
        let streams = Seed::for_tests(seed).streams(Purpose::Custom("made-up documents"));
        let cumulative = |weights: Vec<f64>| -> Vec<f64> {
            let total: f64 = weights.iter().sum();
            weights
                .iter()
                .scan(0.0, |sum, weight| {
                    *sum += weight / total;
                    Some(*sum)
                })
                .collect()
        };
        let place =
            |cumulative: &[f64], u: f64| cumulative.partition_point(|&sum| sum < u).min(cumulative.len() - 1);
        let mut rng = streams.at(0);
        let subjects: Vec<Vec<f64>> = (0..SUBJECTS)
            .map(|_| {
                cumulative((0..WORDS).map(|v| (1.5 * normal(&mut rng)).exp() / (v as f64 + 4.0)).collect())
            })
            .collect();
        let documents = (0..DOCUMENTS).map(|number| {
            let mut rng = streams.at(1 + number as u64);
            let own = cumulative((0..SUBJECTS).map(|_| (2.5 * normal(&mut rng)).exp()).collect());
            let length = (3.8 + 0.9 * normal(&mut rng)).exp().clamp(1.0, 600.0) as usize;
            let mut counts = BTreeMap::new();
            for _ in 0..length {
                let subject = &subjects[place(&own, uniform(&mut rng))];
                *counts.entry(place(subject, uniform(&mut rng))).or_insert(0) += 1;
            }
            counts.into_iter().collect()
        });
        Self { documents: documents.collect(), words: Vec::new(), vocabulary: WORDS }
    }

    /// As [`from_text`](Self::from_text), for text from a file.
    fn parse(text: &str, from: Option<&Path>) -> Result<Self, Failure> {
        let mut documents = Vec::new();
        let mut vocabulary = 0;
        for (number, line) in text.lines().enumerate() {
            let wrong = |problem: &str| -> Failure {
                let place = match from {
                    Some(path) => format!("{}:{}", path.display(), number + 1),
                    None => format!("line {}", number + 1),
                };
                format!("{place}: {problem}; a line is 'M word:count …'").into()
            };
            let mut parts = line.split_ascii_whitespace();
            let words: usize =
                parts.next().and_then(|m| m.parse().ok()).ok_or_else(|| wrong("no number of words"))?;
            let document: Vec<(usize, u32)> = parts
                .map(|part| {
                    let (word, count) = part.split_once(':')?;
                    let word: usize = word.parse().ok().filter(|word| *word < MOST_WORDS)?;
                    Some((word, count.parse().ok().filter(|count| *count > 0)?))
                })
                .collect::<Option<_>>()
                .ok_or_else(|| {
                    wrong("a part that is not word:count, a word below 2^24 and a count of at least 1")
                })?;
            if document.len() != words {
                return Err(wrong("another number of words than it says"));
            }
            vocabulary = document.iter().map(|(word, _)| word + 1).fold(vocabulary, usize::max);
            documents.push(document);
        }
        if documents.is_empty() || vocabulary == 0 {
            let place = from.map_or_else(String::new, |path| format!("{}: ", path.display()));
            return Err(format!("{place}no word in any document").into());
        }
        Ok(Self { documents, vocabulary, words: Vec::new() })
    }

    /// Number of documents.
    #[must_use]
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// Whether there is no document.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// Number of words of the vocabulary.
    #[must_use]
    pub fn vocabulary(&self) -> usize {
        self.vocabulary
    }

    /// A word, or its number where no vocabulary was named.
    #[must_use]
    pub fn word(&self, number: usize) -> String {
        self.words.get(number).cloned().unwrap_or_else(|| number.to_string())
    }

    /// Word and count of one document.
    #[must_use]
    pub fn document(&self, number: usize) -> &[(usize, u32)] {
        &self.documents[number]
    }

    /// Keeps the words that most documents have. *Which words these are is treated as public.*
    ///
    /// # Errors
    ///
    /// If there are fewer.
    pub fn most_frequent(&self, words: usize) -> Result<Self, Failure> {
        if words == 0 || words > self.vocabulary {
            return Err(
                format!("--words must be from 1 to {}, the size of the vocabulary", self.vocabulary).into()
            );
        }
        let mut frequency = vec![0_u32; self.vocabulary];
        for document in &self.documents {
            document.iter().filter(|(_, count)| *count > 0).for_each(|(word, _)| frequency[*word] += 1);
        }
        let mut order: Vec<usize> = (0..self.vocabulary).collect();
        order.sort_by_key(|&word| (std::cmp::Reverse(frequency[word]), word));
        order.truncate(words);
        order.sort_unstable();
        let places: BTreeMap<usize, usize> =
            order.iter().enumerate().map(|(place, &word)| (word, place)).collect();
        let kept = |document: &Vec<(usize, u32)>| {
            document.iter().filter_map(|(word, count)| Some((*places.get(word)?, *count))).collect()
        };
        Ok(Self {
            documents: self.documents.iter().map(kept).collect(),
            words: order.iter().filter(|_| !self.words.is_empty()).map(|&word| self.word(word)).collect(),
            vocabulary: words,
        })
    }

    /// The counts of some documents, a row for each.
    ///
    /// # Errors
    ///
    /// A count beyond 65,535.
    pub fn counts(&self, documents: &[usize]) -> Result<Array2<u16>, Failure> {
        let mut counts = Array2::zeros((documents.len(), self.vocabulary));
        for (row, &document) in documents.iter().enumerate() {
            for &(word, count) in &self.documents[document] {
                let sum = u32::from(counts[[row, word]]).saturating_add(count);
                counts[[row, word]] = u16::try_from(sum)
                    .map_err(|_| format!("document {document}: a word occurs more than 65,535 times"))?;
            }
        }
        Ok(counts)
    }
}

/// A number between 0 and 1.
fn uniform(rng: &mut impl Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// A standard normal number.
fn normal(rng: &mut impl Rng) -> f64 {
    (-2.0 * (1.0 - uniform(rng)).ln()).sqrt() * (std::f64::consts::TAU * uniform(rng)).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Corpus, Failure> {
        let path =
            std::env::temp_dir().join(format!("dp-examples-corpus-{}-{}", std::process::id(), text.len()));
        std::fs::write(&path, text)?;
        let corpus = Corpus::read(&path, None);
        std::fs::remove_file(&path)?;
        corpus
    }

    #[test]
    fn documents_are_counts_and_mistakes_name_the_line() {
        let corpus = read("2 0:3 2:1\n0\n1 2:5\n").unwrap();
        assert_eq!((corpus.len(), corpus.vocabulary()), (3, 3));
        assert_eq!(corpus.counts(&[0, 1]).unwrap(), ndarray::array![[3, 0, 1], [0, 0, 0]]);
        let frequent = corpus.most_frequent(1).unwrap();
        assert_eq!(frequent.counts(&[0, 2]).unwrap(), ndarray::array![[1], [5]]);
        assert!(read("1 0:1\n2 0:1\n").unwrap_err().to_string().contains(":2: "));
        for (text, line) in
            [("1 0:1\n2 0:1\n", 2), ("1 0:-1\n", 1), ("1 0:0\n", 1), ("x\n", 1), ("1 0:1.5\n", 1)]
        {
            let told = Corpus::from_text(text).unwrap_err().to_string();
            assert!(told.starts_with(&format!("line {line}: ")), "{told}");
        }
        assert!(Corpus::from_text("0\n").is_err() && corpus.most_frequent(9).is_err());
        assert!(Corpus::from_text("1 0:70000\n").unwrap().counts(&[0]).is_err());
    }
}
