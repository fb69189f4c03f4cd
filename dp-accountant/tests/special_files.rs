//! FIFOs, sockets, devices, folders and symbolic links where a plain file should be.
#![cfg(all(unix, feature = "ledger-file", feature = "output"))]

use dp_accountant::output::{check_writable, write_whole};
use dp_accountant::{Error, FileLedger};
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use crate::common::{BUDGET, Folder};

fn fifo(folder: &Folder) -> PathBuf {
    let path = folder.0.join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
    path
}

#[test]
fn only_a_plain_file_can_be_a_ledger() {
    let folder = Folder::new();
    let fifo = fifo(&folder);
    let link = folder.0.join("link");
    symlink(&fifo, &link).expect("made");
    // A FIFO would be waited for, /dev/zero has no end, and /dev/null forgets what is written to it.
    for (path, word) in [
        (fifo, "a FIFO"),
        (link, "a FIFO"),
        ("/dev/null".into(), "a device"),
        ("/dev/zero".into(), "a device"),
        (folder.0.clone(), "a folder"),
    ] {
        let errors = [
            FileLedger::create(&path, BUDGET).err(),
            FileLedger::open(&path, BUDGET).err(),
            FileLedger::resume(&path).err(),
            FileLedger::read(&path).err(),
        ];
        for error in errors {
            let error = error.expect("refused");
            assert!(matches!(error, Error::LedgerFile { .. }), "{error}");
            assert!(error.to_string().contains(word), "{error}");
        }
    }
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
fn what_is_no_plain_file_stays_and_so_do_links_to_it() {
    let folder = Folder::new();
    let _socket = UnixListener::bind(folder.0.join("socket")).expect("bound");
    fs::create_dir(folder.0.join("folder")).expect("made");
    fifo(&folder);
    fs::write(folder.0.join("ledger"), b"dp-accountant ledger 1 {}").expect("written");
    let device = PathBuf::from("/dev/null");
    for (target, reason) in [
        (folder.0.join("socket"), "it is a socket"),
        (folder.0.join("folder"), "it is a folder"),
        (folder.0.join("fifo"), "it is a FIFO"),
        (folder.0.join("ledger"), "it is a ledger"),
        (device.clone(), "it is a device"),
        (folder.0.join("nothing"), "it is a symbolic link to nothing"),
    ] {
        let before = fs::symlink_metadata(&target).map(|found| found.file_type()).ok();
        let link = folder.0.join("link");
        symlink(&target, &link).expect("made");
        refused(&link, reason);
        fs::remove_file(&link).expect("removed");
        if before.is_some() {
            refused(&target, reason);
        }
        assert_eq!(fs::symlink_metadata(&target).map(|found| found.file_type()).ok(), before);
    }
    let mut names: Vec<_> =
        fs::read_dir(&folder.0).expect("readable").map(|e| e.expect("readable").file_name()).collect();
    names.sort();
    assert_eq!(names, ["fifo", "folder", "ledger", "socket"]);
}
