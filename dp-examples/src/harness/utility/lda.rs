//! Topics of documents: perplexity of held-back ones.

use std::path::Path;

use dp_accountant::{Budget, Ledger};
use dp_sampler::Seed;
use dp_vi::summaries::Summaries;
use dp_vi::{ConjugateVi, Fit, Sensitive};
use ndarray::Array2;
use ppl_core::{Ctx, Distribution, Model, Records};
use ppl_distributions::{Dirichlet, Words};

use super::corpus::Corpus;
use super::{Failure, Outcome, Protocol, RunOutcome, held_back};

/// What is said of the problem.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Words of the vocabulary that are kept: those that most documents have.
    pub words: usize,
    /// Documents `i` with `i % 10` equal to this are held back.
    pub fold: usize,
    /// Number of topics; by default as many as suit the budget, see [`suited`].
    pub topics: Option<usize>,
    /// Largest norm of one document's expected counts; by default [`NORM`].
    pub clip_norm: Option<f64>,
    /// Number of releases.
    pub steps: u64,
}

/// Concentration of a document's topics.
pub const ALPHA: f64 = 0.3;

/// Most topics that are chosen.
pub const MOST_TOPICS: usize = 50;

/// Largest norm of one document's expected counts, where none is named: that of [`ConjugateVi`]. On made-up
/// documents ([`Corpus::made_up`]) norms from 4 to 8 came to the same perplexity within its errors at any ε
/// from 1 to 8; 12 was worse at 1 and within half a percent elsewhere. For each, without a file of documents:
///
/// `utility --problem lda --epsilon 1 --clip-norm 6 --runs 2`
pub const NORM: f64 = 6.0;

/// Latent Dirichlet allocation with this many topics: the words of a document are drawn from topics that it mixes.
pub fn model(topics: usize) -> impl Model {
    move |ctx: &mut Ctx<'_>| {
        let words = ctx.records().dim("counts")?;
        let beta = ctx.sample("beta", Dirichlet::symmetric(0.01, words).iid(topics))?;
        ctx.each_record(|ctx, document| {
            let theta = ctx.sample("theta", Dirichlet::symmetric(ALPHA, topics))?;
            ctx.observe("words", Words::mixed(theta, beta), document.get("counts")?)
        })
    }
}

/// The documents behind the wall.
///
/// # Errors
///
/// A count that is too large.
pub fn records(corpus: &Corpus, documents: &[usize]) -> Result<Sensitive<Records>, Failure> {
    Ok(Sensitive::new(Records::from_columns([("counts", corpus.counts(documents)?)])?))
}

/// Share of the budget's ε that is not the fit's: more than the number of counts costs, which the ledger checks.
const FOR_COUNTS: f64 = 0.005;

/// How many times as large as that of a single release of the fit's statistics the noise multiplier of the number of
/// counts is.
const QUIET: f64 = 20.0;

/// As many topics as suit a budget, from a number of counts that is paid for, see
/// [`rows_for`](dp_vi::conjugate::ConjugatePlan::rows_for); at most [`MOST_TOPICS`].
///
/// # Errors
///
/// A budget that cannot be met.
pub fn suited<M: Model>(
    documents: &Sensitive<Records>,
    fit: impl Fn(usize) -> ConjugateVi<M>,
    norm: f64,
    seed: Seed,
    ledger: &mut Ledger,
) -> Result<usize, Failure> {
    // One topic is no table.
    let plan = fit(2).plan(documents.schema())?;
    let multiplier =
        plan.calibrated.ok_or("a plan without noise suits any number of topics")?.noise_multiplier;
    let single = multiplier / (plan.steps as f64).sqrt();
    let counts = Summaries::new(documents, seed)?.clipped_counts("counts", norm, QUIET * single, ledger)?;
    Ok(plan.rows_for(counts).unwrap_or(1).min(MOST_TOPICS))
}

/// A fit with as many topics as suit the budget, and the upper end of the ε of both.
///
/// # Errors
///
/// A budget that cannot be met.
pub fn suited_fit(
    documents: &Sensitive<Records>,
    budget: Budget,
    norm: f64,
    steps: u64,
    seed: u64,
) -> Result<(Fit, f64), Failure> {
    let mut ledger = Ledger::new(budget)?;
    let less = Budget { epsilon: budget.epsilon * (1.0 - FOR_COUNTS), ..budget };
    let fit = |topics: usize| ConjugateVi::new(model(topics)).budget(less).clip_norm(norm).steps(steps);
    // Not the seed of the fit, whose noise would be the same.
    let of_counts = Seed::for_tests(seed ^ 1 << 63);
    let topics = suited(documents, fit, norm, of_counts, &mut ledger)?;
    let fit = fit(topics).seed(Seed::for_tests(seed)).fit_from(documents, &mut ledger)?;
    Ok((fit, ledger.spent()?.upper))
}

/// Measures the perplexity of held-back documents at the mean topics; of made-up documents where no file is named.
///
/// # Errors
///
/// A file that cannot be read, and a fit that fails.
pub fn measure(
    data: Option<&Path>,
    vocabulary: Option<&Path>,
    settings: Settings,
    protocol: &Protocol,
) -> Result<Outcome, Failure> {
    let corpus = match data {
        Some(data) => Corpus::read(data, vocabulary)?,
        None => Corpus::made_up(protocol.first_seed),
    };
    let corpus = corpus.most_frequent(settings.words)?;
    let (train, test) = held_back(corpus.len(), settings.fold)?;
    let records = records(&corpus, &train)?;
    let norm = settings.clip_norm.unwrap_or(NORM);
    let unigrams = perplexity(&unigrams(&corpus, &train), &corpus, &test);
    protocol.measure("perplexity", |seed| {
        let budget = protocol.budget();
        let (fit, spent) = match settings.topics {
            Some(topics) => {
                let fit =
                    ConjugateVi::new(model(topics)).budget(budget).clip_norm(norm).steps(settings.steps);
                let mut ledger = Ledger::new(budget)?;
                let fit = fit.seed(Seed::for_tests(seed)).fit_from(&records, &mut ledger)?;
                (fit, ledger.spent()?.upper)
            }
            None => suited_fit(&records, budget, norm, settings.steps, seed)?,
        };
        let topics = mean_topics(&fit)?;
        let mut run = RunOutcome::new(perplexity(&topics, &corpus, &test), fit.privacy())?;
        run.epsilon_upper = spent;
        run.more.insert("unigrams", unigrams);
        run.more.insert("topics", topics.nrows() as f64);
        Ok(run)
    })
}

/// The posterior means of the topics, a row for each.
///
/// # Errors
///
/// A fit that has none.
pub fn mean_topics(fit: &Fit) -> Result<Array2<f64>, Failure> {
    Ok(fit.posterior().mean("beta")?.into_dimensionality()?)
}

/// One topic of all words as often as they occur, with a pseudo-count of 1/100.
#[must_use]
pub fn unigrams(corpus: &Corpus, documents: &[usize]) -> Array2<f64> {
    let mut counts = Array2::from_elem((1, corpus.vocabulary()), 0.01);
    for &document in documents {
        corpus.document(document).iter().for_each(|&(word, count)| counts[[0, word]] += f64::from(count));
    }
    let total = counts.sum();
    counts / total
}

/// `exp(−Σ_d L_d / Σ_d n_d)` with the bound on each document's log-likelihood, its topics inferred anew:
///
/// ```text
/// L = Σ_v n_v ln Σ_k e^{E ln θ_k} β_kv + Σ_k (α − γ_k) E ln θ_k + Σ_k ln Γ(γ_k) − ln Γ(Σγ) + ln Γ(Kα) − K ln Γ(α)
/// ```
///
/// (equation 32 of VIPS, Park and others 2020).
#[must_use]
pub fn perplexity(topics: &Array2<f64>, corpus: &Corpus, documents: &[usize]) -> f64 {
    let k = topics.nrows();
    let (mut bound, mut words) = (0.0, 0.0);
    for &document in documents {
        let own: Vec<(usize, f64)> =
            corpus.document(document).iter().map(|&(word, count)| (word, f64::from(count))).collect();
        let total: f64 = own.iter().map(|(_, count)| count).sum();
        let mut gamma = vec![ALPHA + total / k as f64; k];
        let log_theta = |gamma: &[f64]| -> Vec<f64> {
            let rest = digamma(gamma.iter().sum());
            gamma.iter().map(|g| digamma(*g) - rest).collect()
        };
        for _ in 0..200 {
            let weights: Vec<f64> = log_theta(&gamma).iter().map(|x| x.exp()).collect();
            let mut next = vec![ALPHA; k];
            for &(word, count) in &own {
                let sum: f64 = (0..k).map(|t| weights[t] * topics[[t, word]]).sum();
                for t in 0..k {
                    next[t] += count * weights[t] * topics[[t, word]] / sum;
                }
            }
            let change = gamma.iter().zip(&next).map(|(a, b)| (a - b).abs()).sum::<f64>() / k as f64;
            gamma = next;
            if change < 1e-4 {
                break;
            }
        }
        let logs = log_theta(&gamma);
        for &(word, count) in &own {
            let sum: f64 = (0..k).map(|t| logs[t].exp() * topics[[t, word]]).sum();
            bound += count * sum.ln();
        }
        bound += gamma.iter().zip(&logs).map(|(g, l)| (ALPHA - g) * l + libm::lgamma(*g)).sum::<f64>();
        bound += libm::lgamma(k as f64 * ALPHA)
            - libm::lgamma(gamma.iter().sum())
            - k as f64 * libm::lgamma(ALPHA);
        words += total;
    }
    (-bound / words).exp()
}

/// `ψ(x)` for `x > 0`: by recurrence up to 10 and the asymptotic series from there, to about 1e-12.
fn digamma(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < 10.0 {
        sum -= 1.0 / x;
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    sum + x.ln() - 0.5 / x - y * (1.0 / 12.0 - y * (1.0 / 120.0 - y * (1.0 / 252.0 - y / 240.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digamma_function_is_right() {
        // −γ, ψ(1/2) = −γ − 2 ln 2, ψ(5) (Abramowitz and Stegun, table 6.1)
        let euler = 0.577_215_664_901_532_9;
        assert!((digamma(1.0) + euler).abs() < 1e-11);
        assert!((digamma(0.5) + euler + 2.0 * 2.0_f64.ln()).abs() < 1e-11);
        assert!((digamma(5.0) - 1.506_117_668_431_800_5).abs() < 1e-11);
    }
}
