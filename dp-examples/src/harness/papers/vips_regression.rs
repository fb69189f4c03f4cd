//! VIPS, figures 5 and 6: logistic regression by noisy statistics and by noisy gradients.

use dp_accountant::Budget;
use serde_json::json;

use super::experiment::{Axes, Expected, Experiment, Printed, Privacy, Reference, Row, Size};
use super::lab::{Input, Lab};
use super::stand_in;
use crate::harness::utility::Failure;
use crate::harness::utility::statistics::areas;
use crate::logistic::design::{Design, Intercept};
use crate::schema::bounds::Bounds;
use crate::table::Table;

/// Public bounds: round numbers that hold what the columns can hold.
const STROKE_BOUNDS: &str =
    "age = [0, 100]\navg_glucose_level = [50, 300]\nhypertension = [0, 1]\nheart_disease = [0, 1]\n";
const ADULT_BOUNDS: &str = "age = [17, 90]\neducation_num = [1, 16]\ncapital_gain = [0, 100000]\n\
                            capital_loss = [0, 5000]\nhours_per_week = [1, 99]\n";
const PEOPLE_BOUNDS: &str =
    "age = [0, 100]\nhours = [0, 100]\nweight = [-4, 4]\nkind = [\"a\", \"b\", \"c\"]\n";

/// A table, which of its columns are taken, and what is positive.
struct Problem {
    input: &'static Input,
    bounds: &'static str,
    positive: &'static str,
    without: &'static [&'static str],
    epsilons: &'static [f64],
    delta: f64,
}

impl Problem {
    fn design(&self, lab: &Lab) -> Result<Design, Failure> {
        let (table, bounds, positive) = match lab.is_quick() {
            true => {
                let text = stand_in::people(1, 400);
                (Table::parse("stand-in", text.as_bytes())?, PEOPLE_BOUNDS, "outcome=1")
            }
            false => (lab.table(self.input)?, self.bounds, self.positive),
        };
        let bounds = Bounds::parse("public bounds", bounds.as_bytes())?.with_public_categories();
        let condition = positive.parse()?;
        let label = positive.split(['=', ' ']).next().unwrap_or_default();
        let taken = |name: &&String| name.as_str() != label && !self.without.contains(&name.as_str());
        let columns: Vec<String> = table.columns().iter().filter(taken).cloned().collect();
        Ok(Design::new(&table, &bounds, &condition, Some(&columns), Intercept::Included)?)
    }

    fn settings(&self, size: Size) -> serde_json::Value {
        let epsilons = size.pick(self.epsilons, &[1.0]);
        json!({ "epsilons": epsilons, "delta": self.delta, "bounds": self.bounds, "positive": self.positive, "without": self.without })
    }

    fn run(&self, lab: &Lab, seed: u64) -> Result<Vec<Row>, Failure> {
        let design = self.design(lab)?;
        let mut rows = Vec::new();
        let mut plain = None;
        for &epsilon in lab.size().pick(self.epsilons, &[1.0]) {
            let label = format!("ε {epsilon}");
            let [joint, fixed, gradients, exact] =
                areas(&design, Budget::add_remove(epsilon, self.delta), seed)?;
            for (series, (area, report)) in
                [("statistics", joint), ("statistics, fixed curvature", fixed), ("gradients", gradients)]
            {
                let row = Row::new(series, "AUC", &*label, epsilon, area);
                rows.push(row.costing(Privacy::of(&report)?));
            }
            plain = Some(exact.0);
        }
        rows.extend(plain.map(|area| Row::level("not private", "AUC", "no noise", area)));
        Ok(rows)
    }
}

const fn expected(series: &'static str, label: &'static str, value: f64) -> Reference {
    let (printed, expected) = (Printed::Figure, Expected::Stated(value, 0.0005));
    Reference { series, metric: "AUC", label, printed, expected }
}

const fn figure(series: &'static str) -> Reference {
    Reference { series, metric: "AUC", label: "", printed: Printed::Figure, expected: Expected::Nothing }
}

const AXES: Axes = Axes { x: "ε", y: "test AUC", metric: "AUC", logarithmic: true };

const STROKE_INPUT: [Input; 1] = [Input {
    file: "stroke_kaggle.csv",
    hash: "66f7f35e753e823ffca35cb92d42efd1b8d65a933686f4bbabae5eeaa27d634b",
}];
const ADULT_INPUT: [Input; 1] = [Input {
    file: "adult.csv.gz",
    hash: "91d0065f76ca4fe26053a13c25162da6f319d9572e28f2193155236bded95307",
}];

static STROKE_PROBLEM: Problem = Problem {
    input: &STROKE_INPUT[0],
    bounds: STROKE_BOUNDS,
    positive: "stroke=1",
    without: &["id", "bmi"],
    epsilons: &[0.5, 1.0, 2.0],
    delta: 1e-4,
};

pub(super) static STROKE: Experiment = Experiment {
    name: "vips-fig5",
    item: "VIPS, figure 5: logistic regression on stroke, ANOTHER DATA SET than the paper's",
    source: "Park et al. 2020, figure 5 (12,586 records of 4,146 columns, which are not public; here Kaggle's 5,110 of 10)",
    inputs: &STROKE_INPUT,
    minutes: 0.1,
    runs: 20,
    alone: false,
    settings: |size| STROKE_PROBLEM.settings(size),
    run: |lab, seed| STROKE_PROBLEM.run(lab, seed),
    references: &[
        expected("statistics", "ε 0.5", 0.733),
        expected("statistics", "ε 1", 0.776),
        expected("statistics", "ε 2", 0.814),
        expected("statistics, fixed curvature", "ε 0.5", 0.698),
        expected("statistics, fixed curvature", "ε 1", 0.783),
        expected("statistics, fixed curvature", "ε 2", 0.832),
        expected("gradients", "ε 0.5", 0.811),
        expected("gradients", "ε 1", 0.832),
        expected("gradients", "ε 2", 0.841),
        expected("not private", "no noise", 0.851),
    ],
    remarks: &[
        "The paper's data are not public, and nothing here compares with its figure. The expected numbers are a simulation's on 17 columns, with \
         features scaled in another way; `bmi`, which has missing values, is left out here. Statistics rank better than in it where ε is small: fits \
         begin at expectations of 0, where the curvature is a quarter, the second statistic has a larger scale, and eigenvalues are raised less \
         (as in the simulation they came to .732 at ε 0.5, see BENCHMARKS.md); these choices are from made-up tables.",
    ],
    axes: Some(AXES),
};

static ADULT_PROBLEM: Problem = Problem {
    input: &ADULT_INPUT[0],
    bounds: ADULT_BOUNDS,
    positive: "income == \">50K\"",
    // A weight of the survey, the years of education in words, and 42 countries.
    without: &["split", "fnlwgt", "education", "native_country"],
    epsilons: &[0.05, 0.2, 0.8],
    delta: 1e-3,
};

pub(super) static ADULT: Experiment = Experiment {
    name: "vips-fig6",
    item: "VIPS, figure 6: logistic regression on Adult, statistics against gradients",
    source: "Park et al. 2020, figure 6",
    inputs: &ADULT_INPUT,
    minutes: 0.5,
    runs: 3,
    alone: false,
    settings: |size| ADULT_PROBLEM.settings(size),
    run: |lab, seed| ADULT_PROBLEM.run(lab, seed),
    references: &[
        expected("statistics", "ε 0.05", 0.885),
        expected("statistics", "ε 0.2", 0.881),
        expected("statistics", "ε 0.8", 0.892),
        expected("gradients", "ε 0.05", 0.889),
        expected("gradients", "ε 0.2", 0.897),
        expected("gradients", "ε 0.8", 0.899),
        figure("statistics, fixed curvature"),
        figure("not private"),
    ],
    remarks: &[
        "In the paper statistics rank better than gradients; here gradients rank better at every ε, on the same records at the same cost. The \
         expected numbers are a simulation's with about fifty columns, here there are 44 (the survey's weight, education in words and native \
         countries are left out); statistics rank better than in it where their fits begin at the curvature of expectations of 0.",
    ],
    axes: Some(AXES),
};
