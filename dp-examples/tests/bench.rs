//! The program `bench` as a script meets it.

use std::process::Command;

const BENCH: &str = env!("CARGO_BIN_EXE_bench");

/// The mixture is not among them: it samples a tenth of its records, and to find the noise of a run whose clip norm
/// follows a quantile takes ten seconds there, and hundredths of one here.
#[test]
fn json_is_one_object_with_the_workloads_asked_for() {
    let arguments = ["--json", "--seconds", "0.002", "--workload", "logistic", "--workload", "hierarchical"];
    let output = Command::new(BENCH).args(arguments).output().expect("a program that starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    let workloads = report["workloads"].as_object().expect("workloads by name");
    assert_eq!(workloads.keys().collect::<Vec<_>>(), ["hierarchical", "logistic"]);
    for (name, workload) in workloads {
        for time in ["private_us", "plain_us", "prepare_ms"] {
            assert!(workload[time].as_f64().expect("a number") > 0.0, "{name} {time}");
        }
        for part in ["draw", "gather", "gradient", "clip_and_sum", "noise", "optimiser"] {
            assert!(workload["split"][part].as_f64().expect("a number") >= 0.0, "{name} {part}");
        }
    }
    assert!(workloads["logistic"]["hand_us"].as_f64().expect("a number") > 0.0);
}

#[test]
fn nonsense_is_one_line() {
    for (option, value) in [("--seconds", "0"), ("--seconds", "61"), ("--workload", "none")] {
        let output = Command::new(BENCH).args([option, value]).output().expect("a program that starts");
        let told = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!((output.status.code(), told.lines().count()), (Some(2), 1), "{told}");
        assert!(told.contains(value) && output.stdout.is_empty(), "{told}");
    }
}
