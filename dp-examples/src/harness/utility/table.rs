//! All problems at once, on the data sets under `$DP_DATA`.

use std::fmt;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use dp_vi::Gradients;

use super::{
    Failure, Outcome, Protocol, abalone, belief_network, coverage, gain, hierarchical, lda, logistic,
    mixture, regression, statistics,
};

/// The problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Problem {
    /// Hierarchical logistic regression: area under the curve on test records
    Hierarchical,
    /// Logistic regression: distance from the non-private posterior
    Logistic,
    /// Gaussian mixture: log-likelihood of test records
    Mixture,
    /// Abalone: accuracy on held-back records
    Abalone,
    /// Gaussian mixture without a start of its own: log-likelihood of test records
    MixtureByDefaults,
    /// Abalone: standard deviation of the rings' residuals, over that without privacy
    Regression,
    /// Horseshoe regression: share of the gain in log-likelihood without privacy
    Horseshoe,
    /// Zero-inflated Poisson: likewise
    ZeroInflated,
    /// Ordered answers: likewise
    Ordinal,
    /// A network of two layers: likewise
    Network,
    /// Intervals of logistic regressions: share that holds the truth on made-up records, or, with --data,
    /// draws of the posterior without privacy
    Coverage,
    /// Topics of documents from noisy statistics: perplexity of held-back ones
    Lda,
    /// Sigmoid belief network from noisy statistics: held-back pixels
    BeliefNetwork,
    /// Logistic regression from noisy statistics: area under the curve, with --data
    Statistics,
}

/// Files of a problem, as far as it needs them.
#[derive(Debug, Clone, Default)]
pub struct Files {
    /// Training records.
    pub train: Option<PathBuf>,
    /// Test records.
    pub test: Option<PathBuf>,
    /// Public traits of groups.
    pub groups: Option<PathBuf>,
    /// A table of one's own, for coverage and statistics.
    pub own: Option<coverage::OwnTable>,
    /// Documents.
    pub documents: Option<PathBuf>,
    /// Their vocabulary.
    pub vocabulary: Option<PathBuf>,
    /// Labels of images.
    pub labels: Option<PathBuf>,
    /// What is said of topics and hidden units.
    pub latent: Latent,
}

/// What is said of topics of documents, hidden units of images, and batches.
#[derive(Debug, Clone, Copy, Default)]
pub struct Latent {
    /// Words that are kept.
    pub words: Option<usize>,
    /// The part that is held back.
    pub fold: Option<usize>,
    /// Number of topics, or of hidden units.
    pub topics: Option<usize>,
    /// Largest norm of one record's statistics.
    pub clip_norm: Option<f64>,
    /// Number of releases.
    pub steps: Option<u64>,
    /// Probability with which a record is in a batch.
    pub rate: Option<f64>,
}

impl Latent {
    /// Those of these options that were given.
    fn named(&self) -> impl Iterator<Item = &'static str> + use<> {
        let Self { words, fold, topics, clip_norm, steps, rate } = self;
        let all = [
            ("--words", words.is_some()),
            ("--fold", fold.is_some()),
            ("--topics", topics.is_some()),
            ("--clip-norm", clip_norm.is_some()),
            ("--steps", steps.is_some()),
            ("--rate", rate.is_some()),
        ];
        all.into_iter().filter(|(_, given)| *given).map(|(option, _)| option)
    }
}

impl Problem {
    /// All of them, in the order of the table.
    pub const ALL: [Self; 13] = [
        Self::Hierarchical,
        Self::Logistic,
        Self::Mixture,
        Self::MixtureByDefaults,
        Self::Abalone,
        Self::Regression,
        Self::Horseshoe,
        Self::ZeroInflated,
        Self::Ordinal,
        Self::Network,
        Self::Coverage,
        Self::Lda,
        Self::BeliefNetwork,
    ];

    /// The name on the command line and in the table.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Hierarchical => "hierarchical",
            Self::Logistic => "logistic",
            Self::Mixture => "mixture",
            Self::MixtureByDefaults => "mixture-by-defaults",
            Self::Abalone => "abalone",
            Self::Regression => "regression",
            Self::Horseshoe => "horseshoe",
            Self::ZeroInflated => "zero-inflated",
            Self::Ordinal => "ordinal",
            Self::Network => "network",
            Self::Coverage => "coverage",
            Self::Lda => "lda",
            Self::BeliefNetwork => "belief-network",
            Self::Statistics => "statistics",
        }
    }

    /// The δ it is measured at unless another is named.
    #[must_use]
    pub fn delta(self) -> f64 {
        match self {
            Self::Hierarchical => 0.002,
            Self::Mixture | Self::MixtureByDefaults => 1e-3,
            Self::Abalone | Self::BeliefNetwork => 1e-4,
            Self::Statistics => 1e-3,
            Self::Lda
            | Self::Logistic
            | Self::Regression
            | Self::Horseshoe
            | Self::ZeroInflated
            | Self::Ordinal
            | Self::Network
            | Self::Coverage => 1e-5,
        }
    }

    /// The number of runs unless another is named: seeds, splits or data sets.
    #[must_use]
    pub fn runs(self) -> u64 {
        match self {
            Self::Hierarchical => 16,
            // Few runs say little: the error of a single one varies by half.
            Self::Logistic => 60,
            Self::Mixture | Self::MixtureByDefaults | Self::Abalone | Self::Regression => 20,
            Self::Horseshoe | Self::ZeroInflated | Self::Ordinal | Self::Network => 10,
            Self::Coverage => 60,
            Self::Lda => 3,
            Self::BeliefNetwork => 1,
            Self::Statistics => 20,
        }
    }

    /// The budgets of the table.
    fn epsilons(self) -> &'static [f64] {
        match self {
            Self::Hierarchical => &[1.0, 2.0, 4.0, 8.0],
            Self::Logistic => &[0.5, 1.0, 2.0],
            Self::Mixture => &[0.5, 1.0, 2.0, 4.0],
            Self::MixtureByDefaults | Self::Regression => &[1.0, 3.0],
            Self::Horseshoe | Self::ZeroInflated | Self::Ordinal | Self::Network => &[1.0, 3.0],
            Self::Abalone => &[0.1, 0.3, 1.0],
            Self::Coverage => &[0.3, 1.0],
            Self::Lda => &[1.0, 2.0, 4.0, 8.0],
            Self::BeliefNetwork => &[0.3, 1.0, 3.0],
            Self::Statistics => &[],
        }
    }

    /// Its files in a folder like `$DP_DATA`.
    fn files(self, folder: &Path) -> Files {
        let at = |name: &str| Some(folder.join("data").join(name));
        match self {
            Self::Hierarchical => Files {
                train: at("synthetic_hlr_seed201_train.csv"),
                test: at("synthetic_hlr_seed201_test.csv"),
                groups: at("synthetic_hlr_seed201_groups.csv"),
                ..Files::default()
            },
            Self::Logistic => Files { train: at("synthetic_lr_train.csv"), ..Files::default() },
            Self::Mixture | Self::MixtureByDefaults => Files {
                train: at("synthetic_gmm_train.csv"),
                test: at("synthetic_gmm_test.csv"),
                ..Files::default()
            },
            Self::Abalone | Self::Regression => Files { train: at("abalone.csv"), ..Files::default() },
            Self::Lda => Files {
                documents: at("20news.ldac.gz"),
                vocabulary: at("20news.vocab.txt"),
                ..Files::default()
            },
            Self::BeliefNetwork => {
                Files { train: at("mnist-train-images-idx3-ubyte.gz"), ..Files::default() }
            }
            Self::Horseshoe
            | Self::ZeroInflated
            | Self::Ordinal
            | Self::Network
            | Self::Coverage
            | Self::Statistics => Files::default(),
        }
    }

    /// Runs the problem.
    ///
    /// # Errors
    ///
    /// A file that is missing or that it has no use for, and whatever goes wrong.
    pub fn measure(self, files: &Files, protocol: &Protocol) -> Result<Outcome, Failure> {
        let needed = |option: &str, file: &Option<PathBuf>| {
            file.clone()
                .ok_or_else(|| Failure::from(format!("--problem {} needs {option} <FILE>", self.name())))
        };
        let unused: &[(&str, &Option<PathBuf>)] = match self {
            Self::Hierarchical => &[],
            Self::Mixture | Self::MixtureByDefaults => &[("--groups", &files.groups)],
            Self::Logistic | Self::Abalone | Self::Regression => &[("--groups", &files.groups)],
            Self::BeliefNetwork => &[("--test", &files.test), ("--groups", &files.groups)],
            Self::Horseshoe
            | Self::ZeroInflated
            | Self::Ordinal
            | Self::Network
            | Self::Coverage
            | Self::Lda
            | Self::Statistics => {
                &[("--train", &files.train), ("--test", &files.test), ("--groups", &files.groups)]
            }
        };
        if let Some((option, _)) = unused.iter().find(|(_, file)| file.is_some()) {
            return Err(format!("--problem {} has no use for {option}", self.name()).into());
        }
        if files.own.is_some() && !matches!(self, Self::Coverage | Self::Statistics) {
            return Err(format!("--problem {} has no use for --data", self.name()).into());
        }
        let used: &[&str] = match self {
            Self::Lda => &["--words", "--fold", "--topics", "--clip-norm", "--steps"],
            Self::BeliefNetwork => &["--fold", "--topics", "--clip-norm", "--steps"],
            Self::Abalone => &["--clip-norm", "--steps", "--rate"],
            _ => &[],
        };
        if let Some(option) = files.latent.named().find(|option| !used.contains(option)) {
            return Err(format!("--problem {} has no use for {option}", self.name()).into());
        }
        for (option, file, problem) in [
            ("--data without --positive-if", &files.documents, Self::Lda),
            ("--vocabulary", &files.vocabulary, Self::Lda),
            ("--labels", &files.labels, Self::BeliefNetwork),
        ] {
            if file.is_some() && self != problem {
                return Err(format!("--problem {} has no use for {option}", self.name()).into());
            }
        }
        let train = || needed("--train", &files.train);
        let test = || needed("--test", &files.test);
        match self {
            Self::Hierarchical => {
                hierarchical::measure(&train()?, &test()?, &needed("--groups", &files.groups)?, protocol)
            }
            Self::Logistic => logistic::measure(&train()?, protocol),
            Self::Mixture => mixture::measure(&train()?, &test()?, mixture::Start::Public, protocol),
            Self::MixtureByDefaults => {
                mixture::measure(&train()?, &test()?, mixture::Start::ByDefault, protocol)
            }
            Self::Abalone => {
                let mut choice = abalone::Choice::default();
                let Latent { clip_norm, steps, rate, .. } = files.latent;
                choice.clip_norm = clip_norm.unwrap_or(choice.clip_norm);
                choice.steps = steps.unwrap_or(choice.steps);
                choice.rate = rate.unwrap_or(choice.rate);
                abalone::measure(&train()?, choice, protocol)
            }
            Self::Regression => regression::measure(&train()?, protocol),
            Self::Horseshoe => gain::measure::<gain::Horseshoe>(protocol),
            Self::ZeroInflated => gain::measure::<gain::ZeroInflatedPoisson>(protocol),
            Self::Ordinal => gain::measure::<gain::Ordinal>(protocol),
            Self::Network => gain::measure::<gain::Network>(protocol),
            Self::Lda => {
                let Latent { words, fold, topics, clip_norm, steps, .. } = files.latent;
                let settings = lda::Settings {
                    words: words.unwrap_or(1000),
                    fold: fold.unwrap_or(9),
                    topics,
                    clip_norm,
                    steps: steps.unwrap_or(120),
                };
                lda::measure(files.documents.as_deref(), files.vocabulary.as_deref(), settings, protocol)
            }
            Self::BeliefNetwork => {
                let Latent { fold, topics, clip_norm, steps, .. } = files.latent;
                let settings = belief_network::Settings {
                    topics: topics.unwrap_or(50),
                    fold: fold.unwrap_or(9),
                    clip_norm,
                    steps: steps.unwrap_or(12),
                };
                belief_network::measure(&train()?, files.labels.as_deref(), settings, protocol)
            }
            Self::Statistics => match &files.own {
                Some(own) => statistics::measure(own, protocol),
                None => Err("--problem statistics needs --data <FILE> and --positive-if <CONDITION>".into()),
            },
            Self::Coverage => match &files.own {
                Some(own) => coverage::of_table(own, protocol),
                None => coverage::measure(protocol),
            },
        }
    }
}

/// One line of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    problem: Problem,
    outcome: Outcome,
}

impl Line {
    /// A problem's line.
    #[must_use]
    pub fn new(problem: Problem, outcome: Outcome) -> Self {
        Self { problem, outcome }
    }

    /// The heads of the columns.
    #[must_use]
    pub fn heads() -> String {
        format!(
            "{:<20}{:>8}{:>8}  {:<16}{:>9}{:>10}{:>10}  {:<12}{}",
            "problem", "epsilon", "delta", "metric", "mean", "error", "smallest", "eps upper", "beside it"
        )
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Outcome { metric, mean, standard_error, epsilon_upper, epsilon, delta, smallest, more, .. } =
            &self.outcome;
        let name = self.problem.name();
        write!(
            f,
            "{name:<20}{epsilon:>8}{delta:>8.0e}  {metric:<16}{mean:>9.4}{standard_error:>10.4}{smallest:>10.4} \
              {epsilon_upper:<12.8}"
        )?;
        let more: Vec<String> = more.iter().map(|(name, value)| format!("{name} {value:.3}")).collect();
        write!(f, "{}", more.join(", "))?;
        let weights = &self.outcome.weights;
        let width = weights.iter().map(|weight| weight.name.chars().count()).max().unwrap_or(0);
        if !weights.is_empty() {
            write!(
                f,
                "\n\n{:<width$} {:>12} {:>9} {:>9} {:>9} {:>9}",
                "weight", "not private", "sd", "coverage", "length", "error"
            )?;
        }
        for weight in weights {
            let (mean, sd) = weight.reference;
            write!(
                f,
                "\n{:<width$} {mean:>12.3} {sd:>9.3} {:>9.2} {:>9.2} {:>9.2}",
                weight.name, weight.coverage, weight.length, weight.error_sd
            )?;
        }
        Ok(())
    }
}

/// Runs everything, and tells each line as it is found.
///
/// # Errors
///
/// What goes wrong first.
pub fn all(
    folder: &Path,
    runs: Option<u64>,
    first_seed: u64,
    mut tell: impl FnMut(&Line) -> Result<(), Failure>,
) -> Result<Vec<Outcome>, Failure> {
    let mut outcomes = Vec::new();
    for problem in Problem::ALL {
        let files = problem.files(folder);
        for &epsilon in problem.epsilons() {
            let protocol = Protocol {
                relation: dp_accountant::Relation::AddRemove,
                epsilon,
                delta: problem.delta(),
                runs: runs.unwrap_or(problem.runs()),
                first_seed,
                gradients: Gradients::Aligned,
            };
            let line = Line::new(problem, problem.measure(&files, &protocol)?);
            tell(&line)?;
            outcomes.push(line.outcome);
        }
    }
    Ok(outcomes)
}
