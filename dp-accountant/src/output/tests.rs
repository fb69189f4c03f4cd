use super::*;

/// A folder of its own for one test, removed afterwards.
struct TestFolder(PathBuf);

impl TestFolder {
    fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("dp-accountant-output-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).expect("a folder for the test");
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A file with some contents.
    fn with(&self, name: &str, contents: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, contents).expect("written");
        path
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("readable");
        let mut names: Vec<String> =
            entries.map(|entry| entry.expect("readable").file_name().into_string().expect("text")).collect();
        names.sort();
        names
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn contents(path: &Path) -> Vec<u8> {
    fs::read(path).expect("readable")
}

/// Both functions refuse the path as something that may not be replaced, with this reason.
fn refused(path: &Path, reason: &str) {
    for error in [check_writable(path).unwrap_err(), write_whole(path, b"new").unwrap_err()] {
        assert!(matches!(error, Error::NotReplaceable { .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.contains(reason) && text.contains(&path.display().to_string()), "{text}");
    }
}

#[test]
fn replaces_a_file_and_leaves_nothing_else() {
    let folder = TestFolder::new();
    let path = folder.path("out.json");
    for text in [b"one".as_slice(), b"longer", b"", b"again"] {
        write_whole(&path, text).expect("written");
        assert_eq!(contents(&path), text);
    }
    assert_eq!(folder.names(), ["out.json"]);
}

#[test]
fn checking_leaves_nothing() {
    let folder = TestFolder::new();
    let path = folder.path("out.json");
    check_writable(&path).expect("writable");
    assert!(folder.names().is_empty());
    write_whole(&path, b"kept").expect("written");
    check_writable(&path).expect("writable");
    assert_eq!(contents(&path), b"kept");
    assert_eq!(folder.names(), ["out.json"]);
}

#[test]
fn destinations_that_cannot_be() {
    let folder = TestFolder::new();
    let missing = check_writable(folder.path("none/out.json")).unwrap_err();
    assert!(matches!(missing, Error::Unwritable { .. }), "{missing:?}");
    assert!(
        missing.to_string().contains("none/out.json: cannot be written: there is no folder"),
        "{missing}"
    );
    refused(&folder.0, "it is a folder, not a plain file");
    for path in ["", "..", "/"] {
        refused(Path::new(path), "this is no name of a file");
    }
    refused(&folder.path("new/"), "this is no name of a file");
    let inside = folder.with("file", b"x").join("out.json");
    assert!(matches!(check_writable(&inside), Err(Error::Unwritable { .. })));
    assert_eq!(folder.names(), ["file"]);
}

#[test]
fn a_failure_keeps_the_former_file_and_removes_the_new_one() {
    let folder = TestFolder::new();
    let path = folder.with("out.json", b"former");
    // The former file is exchanged after it was examined: by a file that has not been examined, by a folder,
    // by nothing.
    for exchange in [0, 1, 2] {
        let place = Destination::examine(&path).expect("a plain file");
        let mut temporary = Temporary::beside(&place).expect("a temporary file");
        temporary.file.write_all(b"new").expect("written");
        fs::remove_file(&path).expect("removed");
        match exchange {
            0 => fs::write(&path, b"another").expect("written"),
            1 => fs::create_dir(&path).expect("made"),
            _ => {}
        }
        assert!(place.fill(temporary).is_err());
        match exchange {
            0 => {
                assert_eq!(folder.names(), ["out.json"]);
                assert_eq!(contents(&path), b"another");
            }
            1 => {
                assert!(path.is_dir());
                assert_eq!(folder.names(), ["out.json"]);
                fs::remove_dir(&path).expect("removed");
            }
            _ => assert!(folder.names().is_empty()),
        }
        fs::write(&path, b"former").expect("written");
    }
    // Writing fails before the rename: the disk is full, say.
    let place = Destination::examine(&path).expect("a plain file");
    let mut temporary = Temporary::beside(&place).expect("a temporary file");
    temporary.file = File::open(&temporary.path).expect("opened for reading only");
    assert!(temporary.file.write_all(b"new").is_err());
    drop(temporary);
    assert_eq!((contents(&path), folder.names()), (b"former".to_vec(), vec!["out.json".to_string()]));
}

#[test]
fn what_appears_at_an_empty_place_meanwhile_stays() {
    let folder = TestFolder::new();
    let path = folder.path("out.json");
    let place = Destination::examine(&path).expect("nothing there");
    let mut temporary = Temporary::beside(&place).expect("a temporary file");
    temporary.file.write_all(b"new").expect("written");
    folder.with("out.json", b"dp-accountant ledger 1 and so on");
    let error = place.fill(temporary).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(contents(&path), b"dp-accountant ledger 1 and so on");
    assert_eq!(folder.names(), ["out.json"]);
}

#[test]
fn read_only_files_stay() {
    let folder = TestFolder::new();
    let path = folder.with("out.json", b"kept");
    let mut permissions = fs::metadata(&path).expect("there").permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions).expect("set");
    refused(&path, "it is read-only");
    assert_eq!(contents(&path), b"kept");
}

#[test]
fn what_another_process_has_locked_stays() {
    let folder = TestFolder::new();
    // Empty, as a ledger is while it is being created.
    let path = folder.with("out.json", b"");
    let other = File::open(&path).expect("opened");
    other.try_lock().expect("locked");
    refused(&path, "another process has it open and locked");
    other.unlock().expect("unlocked");
    // A lock that readers share is no ledger's.
    other.try_lock_shared().expect("locked");
    write_whole(&path, b"new").expect("written");
    // While it is being replaced, nobody can make a ledger of it.
    let place = Destination::examine(&path).expect("a plain file");
    assert!(File::open(&path).expect("opened").try_lock().is_err());
    drop(place);
    assert!(File::open(&path).expect("opened").try_lock().is_ok());
}

#[test]
fn what_begins_like_a_ledger_or_is_sealed_like_one_stays() {
    let folder = TestFolder::new();
    let sealed = b"\xFF\xFFamaged ledger 1 {} #0123456789abcdef\n1 [] #00";
    for text in [
        b"dp-accountant ledger 1 {".as_slice(),
        b"dp-accountant ledger 7 in a format of later versions",
        b"dp-acc",
        b"d",
        sealed,
        b"lost\nlost\n2 [...] #0123456789abcdef\r\n",
    ] {
        let path = folder.with("out.json", text);
        refused(&path, "it is a ledger");
        assert_eq!(contents(&path), text);
    }
    for text in [
        b"dp-accountant is a crate".as_slice(),
        b"",
        b"#0123456789abcdef",
        b"a colour: #0123456789abcdeg\n",
        b"<svg fill=\"#012345\">\n",
        b"x #0123456789abcdef and more",
    ] {
        let path = folder.with("out.json", text);
        write_whole(&path, b"new").expect("no ledger");
        assert_eq!(contents(&path), b"new");
    }
    assert_eq!(folder.names(), ["out.json"]);
}

#[cfg(feature = "ledger-file")]
#[test]
fn a_ledger_stays_whatever_its_state() {
    use crate::{Budget, Event, FileLedger, Mechanism, Relation, Sampling};

    let folder = TestFolder::new();
    let path = folder.path("spent.ledger");
    let budget = Budget { epsilon: 5.0, delta: 1e-5, relation: Relation::AddRemove };
    let event = Event::new(Mechanism::Gaussian { noise_multiplier: 20.0 }, Sampling::None).expect("valid");
    // Open, and therefore locked; and still usable afterwards.
    let mut ledger = FileLedger::create(&path, budget).expect("created");
    refused(&path, "it is a ledger");
    ledger.debit(event, 1).expect("affordable");
    refused(&path, "it is a ledger");
    ledger.debit(event, 1).expect("affordable");
    drop(ledger);
    // Closed.
    refused(&path, "it is a ledger");
    assert_eq!(FileLedger::read(&path).expect("as it was").debits().len(), 2);
    // Cut off anywhere but before its first byte, and overwritten with zeros at its end or with other bytes
    // at its start.
    let whole = contents(&path);
    for length in 1..whole.len() {
        fs::write(&path, &whole[..length]).expect("written");
        refused(&path, "it is a ledger");
    }
    let header = whole.iter().position(|&byte| byte == b'\n').expect("a line");
    for range in [header + 5..whole.len(), 0..5, 0..header - 20] {
        let mut damaged = whole.clone();
        damaged[range].fill(0);
        fs::write(&path, &damaged).expect("written");
        refused(&path, "it is a ledger");
        assert_eq!(contents(&path), damaged);
    }
    refused(&folder.path("spent.ledger.head"), "it is a ledger");
    assert_eq!(folder.names(), ["spent.ledger", "spent.ledger.head"]);
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn links_are_followed_and_permissions_kept() {
        let folder = TestFolder::new();
        let (file, link) = (folder.with("file", b"old"), folder.path("link"));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("set");
        symlink(&file, &link).expect("made");
        write_whole(&link, b"new").expect("written");
        assert!(link.symlink_metadata().expect("there").is_symlink());
        assert_eq!(contents(&file), b"new");
        assert_eq!(fs::metadata(&file).expect("there").permissions().mode() & 0o777, 0o640);
        // And what is being written is not open to more people meanwhile.
        let temporary = Temporary::beside(&Destination::examine(&file).expect("plain")).expect("made");
        assert_eq!(temporary.file.metadata().expect("there").permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_file_that_cannot_be_read_might_be_a_ledger() {
        let folder = TestFolder::new();
        let path = folder.with("out.json", b"secret");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o200)).expect("set");
        // A privileged process reads everything.
        if File::open(&path).is_err() {
            refused(&path, "it cannot be read");
        }
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_an_error_of_the_operating_system() {
        let folder = TestFolder::new();
        fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o500)).expect("set");
        // A privileged process writes everywhere.
        if File::create(folder.path("other")).is_err() {
            let error = write_whole(folder.path("out.json"), b"new").unwrap_err();
            assert!(matches!(error, Error::Unwritable { .. }), "{error:?}");
        }
        fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o700)).expect("set");
    }
}
