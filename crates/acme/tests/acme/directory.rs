//! State directories of tests: what is in them, and what a test changes between two starts of a server.

use std::fs;
use std::path::{Path, PathBuf};

use acme::RenewalSettings;
use serde_json::Value;
use tempfile::TempDir;

use crate::fake::Fake;
use crate::server::{Server, settings};

/// The name of the certificate.
pub(crate) const NAME: &str = "one.example.org";

/// An authority and an empty state directory.
pub(crate) fn world() -> (Fake, TempDir) {
    (Fake::start(), tempfile::tempdir().unwrap())
}

pub(crate) fn settings_of(fake: &Fake, state: &Path) -> RenewalSettings {
    settings(&[NAME], state, &fake.directory(), &fake.root)
}

/// The only file of a folder of the state directory.
pub(crate) fn only_file(state: &Path, folder: &str) -> PathBuf {
    let mut files = fs::read_dir(state.join(folder)).unwrap().map(|file| file.unwrap().path());
    let file = files.next().expect("there is a file");
    assert_eq!(files.next(), None);
    file
}

pub(crate) fn is_empty(state: &Path, folder: &str) -> bool {
    fs::read_dir(state.join(folder)).unwrap().next().is_none()
}

/// A state directory with a certificate.
pub(crate) fn with_certificate(fake: &Fake, state: &Path) {
    let server = Server::start(settings_of(fake, state));
    server.next_issued();
    server.stop();
}

/// Takes what the authority said about renewals out of the ledger, as if it were time to ask again.
pub(crate) fn forget_window(state: &Path) {
    change_records(state, |record| record["renewal"] = Value::Null);
}

/// Ends the wait after a failure.
pub(crate) fn retry_now(state: &Path) {
    change_records(state, |record| record["retry_at"] = 0.into());
}

fn change_records(state: &Path, change: impl Fn(&mut Value)) {
    let path = state.join("ledger.json");
    let mut ledger: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    ledger["certificates"].as_object_mut().unwrap().values_mut().for_each(change);
    fs::write(path, ledger.to_string()).unwrap();
}
