//! The program of a paper beside ours: its steps, timed by the scripts in `dp-examples/peers`.

use std::path::Path;
use std::process::Command;

use crate::harness::utility::Failure;
use crate::output::write_whole;

/// A program that can be timed beside ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Peer {
    /// d3p 0.2.0, and NumPyro, on the workloads of `bench`
    D3p,
}

/// Where a peer's answer lies in the folder of results. Its ending keeps it apart from the runs.
pub const PEERS_RESULT: &str = "peer-d3p.txt";

impl Peer {
    /// Runs `compare` of the repository's folder of peers, which makes a Python environment (it needs Python
    /// 3.11 and a network, once) and prints a table; returns it, and leaves it in a folder of results.
    ///
    /// # Errors
    ///
    /// If the script is not there, or fails.
    pub fn run(self, folder: Option<&Path>) -> Result<String, Failure> {
        let Self::D3p = self;
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join("compare");
        let told = |why: String| Failure::from(format!("--peer d3p: {}: {why}", script.display()));
        let done = Command::new(&script)
            .args(["--seconds", "0.5"])
            .output()
            .map_err(|error| told(format!("cannot be run: {error}")))?;
        if !done.status.success() {
            let words = String::from_utf8_lossy(&done.stderr);
            let last = words.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
            return Err(told(format!("it failed: {last}")));
        }
        let table = String::from_utf8_lossy(&done.stdout).into_owned();
        if let Some(folder) = folder {
            write_whole(&folder.join(PEERS_RESULT), table.as_bytes())?;
        }
        Ok(table)
    }
}
