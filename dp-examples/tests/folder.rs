//! A folder in which a test runs a program, as a user would.

use std::path::PathBuf;
use std::process::{Command, Output};

/// A folder of its own for each test, gone when the test ends.
pub(crate) struct Folder {
    path: PathBuf,
    program: &'static str,
}

/// Arguments of a program: a list, or a line in which spaces part them.
pub(crate) trait Words {
    fn words(&self) -> Vec<&str>;
}

impl Words for str {
    fn words(&self) -> Vec<&str> {
        self.split(' ').collect()
    }
}

impl Words for String {
    fn words(&self) -> Vec<&str> {
        self.split(' ').collect()
    }
}

impl Words for [&str] {
    fn words(&self) -> Vec<&str> {
        self.to_vec()
    }
}

impl<const N: usize> Words for [&str; N] {
    fn words(&self) -> Vec<&str> {
        self.to_vec()
    }
}

impl Words for Vec<&str> {
    fn words(&self) -> Vec<&str> {
        self.clone()
    }
}

impl Folder {
    /// An empty folder for a program. Names of tests have to differ.
    pub(crate) fn new(program: &'static str, name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("dp-examples-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder for temporary files");
        Self { path, program }
    }

    /// Where something in it is.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a file; its path.
    pub(crate) fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, contents).expect("a writable folder");
        path.display().to_string()
    }

    pub(crate) fn read(&self, name: &str) -> String {
        String::from_utf8(std::fs::read(self.path(name)).expect(name)).expect("UTF-8")
    }

    /// The names of the files, sorted.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.path).expect("a readable folder");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// The program with arguments, in this folder.
    pub(crate) fn command(&self, arguments: &(impl Words + ?Sized)) -> Command {
        let mut command = Command::new(self.program);
        command.args(arguments.words()).current_dir(&self.path);
        command
    }

    /// A run of another program.
    pub(crate) fn run_other(&self, program: &str, arguments: &[&str]) -> Output {
        Command::new(program).args(arguments).current_dir(&self.path).output().expect("a program that starts")
    }

    pub(crate) fn run(&self, arguments: &(impl Words + ?Sized)) -> Output {
        self.command(arguments).output().expect("a program that starts")
    }

    /// Standard output of a run that has to succeed.
    pub(crate) fn good(&self, arguments: &(impl Words + ?Sized)) -> String {
        let output = self.run(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{:?}: {said}", arguments.words());
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// The message of a run that has to fail: one line, and nothing on standard output.
    pub(crate) fn bad(&self, arguments: &(impl Words + ?Sized)) -> String {
        let output = self.run(arguments);
        let (said, words) = (String::from_utf8(output.stderr).expect("UTF-8"), arguments.words());
        assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{words:?}: {said}");
        assert!(said.starts_with("error: ") && output.stdout.is_empty(), "{words:?}: {said}");
        said
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
