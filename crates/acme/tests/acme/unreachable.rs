//! Authorities that are not trusted, not there, silent or slow.

use std::io::Write;
use std::net::TcpStream;
use std::sync::mpsc;
use std::time::{Duration, SystemTime};
use std::{iter, thread};

use acme::{CertificateNames, Name};

use crate::directory::{NAME, settings_of, world};
use crate::server::{OwnCertificate, Server, listener, settings};

#[test]
fn an_authority_that_is_not_trusted_or_not_there_is_told() {
    let (fake, state) = world();
    let mut untrusted = settings_of(&fake, state.path());
    untrusted.roots.clear();
    let server = Server::start(untrusted);
    let error = server.next_failure();
    assert!(error.contains("certificate"), "{error}");
    server.stop();
    assert_eq!(fake.count("directory"), 0);
    let (closed, port) = listener();
    drop(closed);
    let state = tempfile::tempdir().unwrap();
    let server = Server::start(settings(
        &[NAME],
        state.path(),
        &format!("https://127.0.0.1:{port}/"),
        &fake.root,
    ));
    let error = server.next_failure();
    assert!(error.contains("does not accept connections"), "{error}");
    server.stop();
}

#[test]
fn an_authority_that_is_not_there_is_asked_once_and_not_once_for_each_name() {
    let (closed, port) = listener();
    drop(closed);
    let state = tempfile::tempdir().unwrap();
    let own = OwnCertificate::new();
    let directory = format!("https://127.0.0.1:{port}/");
    let mut settings = settings(&[NAME], state.path(), &directory, &own.certificate);
    settings
        .certificates
        .push(CertificateNames::new([Name::parse("two.example.org").unwrap()]).unwrap());
    let server = Server::start(settings);
    server.next_failure();
    let [first, second] = &*server.handle.status() else { panic!("two certificates") };
    assert_eq!((first.failures, second.failures), (1, 0));
    // At least half a minute later: the other one waits as long as the first one has to.
    let now = acme::UtcSecond::from_unix(unix_seconds());
    assert!(second.next_attempt.is_some_and(|at| at.since(now) > 30), "{second:?}");
    server.stop();
}

#[test]
fn an_authority_that_never_answers_does_not_hold_the_end_up() {
    let (listener, port) = listener();
    let state = tempfile::tempdir().unwrap();
    let own = OwnCertificate::new();
    let directory = format!("https://127.0.0.1:{port}/directory");
    let server = Server::start(settings(&[NAME], state.path(), &directory, &own.certificate));
    let _silent: TcpStream = listener.accept().unwrap().0;
    server.stop_for_good();
}

/// A handshake that goes on, and never for so long without a byte that a read gives up.
#[test]
fn an_authority_that_sends_a_byte_at_a_time_does_not_hold_the_end_up() {
    let (listener, port) = listener();
    let state = tempfile::tempdir().unwrap();
    let own = OwnCertificate::new();
    let directory = format!("https://127.0.0.1:{port}/directory");
    let server = Server::start(settings(&[NAME], state.path(), &directory, &own.certificate));
    let mut slow: TcpStream = listener.accept().unwrap().0;
    thread::spawn(move || {
        let (_open, never) = mpsc::channel::<()>();
        // The beginning of a record of 16 KiB, which is not read before its end has come.
        let record = [22, 3, 3, 64, 0].into_iter().chain(iter::repeat(0)).take(16_384);
        for byte in record {
            let _paced = never.recv_timeout(Duration::from_millis(20));
            if slow.write_all(&[byte]).is_err() {
                return;
            }
        }
    });
    server.stop_for_good();
}

pub(crate) fn unix_seconds() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_secs()).unwrap()
}
