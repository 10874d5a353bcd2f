//! Whole attempts against an authority that can be told to misbehave: what is asked, what is kept, what is in use.

use std::fs;
use std::sync::mpsc;
use std::time::Duration;

use acme::ledger::{Failed, OrderLedger};
use acme::limits::{ATTEMPTS_PER_ORDER, FAILURES_PER_ISSUER};
use acme::{AcmeEvent, Fraction, Issuer, Severity, UtcSecond};
use tls::Certificate;

use crate::directory::{
    NAME, forget_window, is_empty, only_file, retry_now, settings_of, with_certificate, world,
};
use crate::fake::{Fake, Trouble};
use crate::server::{Answers, Confirms, OwnCertificate, Server, Told};
use crate::waiting::until;

#[test]
fn a_certificate_is_ordered_used_and_kept() {
    let (fake, state) = world();
    let server = Server::start(settings_of(&fake, state.path()));
    let certificate = server.next_certificate();
    assert_eq!(certificate.facts.names, [NAME]);
    assert_eq!(certificate.facts, Certificate::read(&certificate.chain[0]).unwrap());
    server.next_issued();
    let status = server.handle.status()[0].clone();
    let end = UtcSecond::from_unix(certificate.facts.not_after);
    assert_eq!(status.not_after, Some(end));
    assert_eq!((status.failures, status.last_error), (0, None));
    let third = (certificate.facts.not_after - certificate.facts.not_before) / 3;
    assert_eq!(status.next_attempt, Some(end.plus(-third)));
    server.stop();
    // Nobody else may read keys (RFC 8555 section 10 leaves it to us, the administrator would not).
    use std::os::unix::fs::PermissionsExt;
    for folder in ["certificates", "accounts"] {
        let mode = fs::metadata(only_file(state.path(), folder)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{folder}");
    }
    assert!(is_empty(state.path(), "orders"));
}

#[test]
fn a_hundred_restarts_with_a_valid_certificate_order_nothing() {
    let (fake, state) = world();
    with_certificate(&fake, state.path());
    for _ in 0..100 {
        let server = Server::start(settings_of(&fake, state.path()));
        assert_eq!(server.next_certificate().facts.names, [NAME]);
        server.stop();
    }
    assert_eq!(fake.orders().len(), 1);
    assert_eq!(fake.count("new-account"), 1);
}

#[test]
fn restarts_without_success_do_not_ask_again_before_it_is_time() {
    let (fake, state) = world();
    fake.trouble(Trouble::NoAccount);
    let server = Server::start(settings_of(&fake, state.path()));
    assert!(server.next_failure().contains("accountDoesNotExist"));
    server.stop();
    for _ in 0..20 {
        let server = Server::start(settings_of(&fake, state.path()));
        server.next_event(|event| (*event == AcmeEvent::Leads).then_some(()));
        let status = server.handle.status()[0].clone();
        assert_eq!(status.failures, 1);
        assert!(status.last_error.unwrap().contains("accountDoesNotExist"));
        server.stop();
    }
    assert_eq!(fake.orders().len(), 1);
    // An account that the authority forgot is made anew.
    assert!(is_empty(state.path(), "accounts"));
}

#[test]
fn a_certificate_that_was_already_replaced_is_ordered_without_saying_so() {
    let (fake, state) = world();
    with_certificate(&fake, state.path());
    fake.window("2020-01-01T00:00:00Z", "2020-01-02T00:00:00Z");
    fake.trouble(Trouble::AlreadyReplaced);
    forget_window(state.path());
    let server = Server::start(settings_of(&fake, state.path()));
    let old = server.next_certificate();
    server.next_event(|event| matches!(event, AcmeEvent::AlreadyReplaced { .. }).then_some(()));
    let new = server.next_certificate();
    assert_ne!(old.facts.fingerprint, new.facts.fingerprint);
    server.next_issued();
    server.stop();
    let replaces: Vec<_> =
        fake.orders().iter().map(|order| order["replaces"].as_str().map(str::to_owned)).collect();
    assert_eq!(replaces, [None, old.facts.renewal_identifier(), None]);
}

#[test]
fn a_lost_file_leads_to_a_new_order_only_if_the_certificate_is_lost() {
    let (fake, state) = world();
    let server = Server::start(settings_of(&fake, state.path()));
    server.next_issued();
    let file = only_file(state.path(), "certificates");
    let content = fs::read(&file).unwrap();
    // The server that runs still has it.
    fs::remove_file(&file).unwrap();
    until("the file is written again", || {
        server.handle.look_now();
        file.exists().then_some(())
    });
    assert_eq!(fs::read(&file).unwrap(), content);
    server.stop();
    assert_eq!(fake.orders().len(), 1);
    fs::remove_file(&file).unwrap();
    let server = Server::start(settings_of(&fake, state.path()));
    server.next_issued();
    server.stop();
    assert_eq!(fake.orders().len(), 2);
    assert_ne!(fs::read(&file).unwrap(), content);
}

#[test]
fn a_file_that_cannot_be_used_is_named_and_replaced() {
    let (fake, state) = world();
    with_certificate(&fake, state.path());
    let file = only_file(state.path(), "certificates");
    let own = OwnCertificate::new();
    let content = String::from_utf8(fs::read(&file).unwrap()).unwrap();
    let chain = &content[content.find("-----BEGIN CERTIFICATE").unwrap()..];
    let broken = [
        (content[..200].to_owned(), "PEM"),
        (format!("{}{chain}", own.key_pem), "key does not belong"),
        (format!("{}{}", own.key_pem, own.pem), "does not name"),
    ];
    for (index, (broken, why)) in broken.iter().enumerate() {
        fs::write(&file, broken).unwrap();
        let server = Server::start(settings_of(&fake, state.path()));
        let (what, error) = server.next_event(|event| match event {
            AcmeEvent::Unreadable { what, error } => Some((what.clone(), error.clone())),
            _ => None,
        });
        assert!(error.contains(why), "{error}");
        let name = file.file_name().unwrap().to_str().unwrap();
        assert_eq!(what, format!("certificates/{name} of {NAME}"));
        server.next_issued();
        server.stop();
        assert_eq!(fake.orders().len(), index + 2);
    }
}

#[test]
fn two_servers_with_one_state_order_once() {
    let (fake, state) = world();
    let (go, gate) = mpsc::channel::<()>();
    fake.before_download(move || gate.recv().unwrap_or_default());
    let first = Server::start(settings_of(&fake, state.path()));
    first.next_event(|event| matches!(event, AcmeEvent::Ordering { .. }).then_some(()));
    let second = Server::start(settings_of(&fake, state.path()));
    second.next_event(|event| (*event == AcmeEvent::Follows).then_some(()));
    assert_eq!(second.handle.status()[0].next_attempt, None);
    go.send(()).unwrap();
    let issued = first.next_certificate();
    first.next_issued();
    second.handle.look_now();
    assert_eq!(second.next_certificate().facts.fingerprint, issued.facts.fingerprint);
    assert_eq!(fake.orders().len(), 1);
    // When the first has gone, the second takes over.
    first.stop();
    second.handle.look_now();
    second.next_event(|event| (*event == AcmeEvent::Leads).then_some(()));
    second.stop();
    assert_eq!(fake.orders().len(), 1);
}

#[test]
fn a_server_whose_lock_was_removed_leaves_the_orders_to_the_one_that_has_it_now() {
    let (fake, state) = world();
    let first = Server::start(settings_of(&fake, state.path()));
    first.next_issued();
    fs::remove_file(state.path().join("lock")).unwrap();
    let second = Server::start(settings_of(&fake, state.path()));
    second.next_event(|event| (*event == AcmeEvent::Leads).then_some(()));
    until("the first follows", || {
        first.handle.look_now();
        first.handle.status()[0].next_attempt.is_none().then_some(())
    });
    first.next_event(|event| (*event == AcmeEvent::Follows).then_some(()));
    second.stop();
    first.handle.look_now();
    first.next_event(|event| (*event == AcmeEvent::Leads).then_some(()));
    first.stop();
}

#[test]
fn a_server_that_follows_tells_once_of_a_certificate_that_it_cannot_read() {
    let (fake, state) = world();
    let first = Server::start(settings_of(&fake, state.path()));
    first.next_issued();
    fs::write(only_file(state.path(), "certificates"), "broken").unwrap();
    let second = Server::start(settings_of(&fake, state.path()));
    second.next_event(|event| matches!(event, AcmeEvent::Unreadable { .. }).then_some(()));
    // It reads the directory again before it leads.
    first.stop();
    second.handle.look_now();
    second.next_event(|event| {
        assert!(!matches!(event, AcmeEvent::Unreadable { .. }), "{event}");
        (*event == AcmeEvent::Leads).then_some(())
    });
    second.stop();
}

#[test]
fn an_order_is_continued_after_a_restart() {
    let (fake, state) = world();
    fake.trouble(Trouble::SilentDownload);
    let server = Server::start(settings_of(&fake, state.path()));
    until("the certificate is asked for", || (fake.count("certificate") > 0).then_some(()));
    server.stop_for_good();
    fake.trouble(Trouble::None);
    let server = Server::start(settings_of(&fake, state.path()));
    server.next_issued();
    server.stop();
    assert_eq!(fake.orders().len(), 1);
    assert_eq!(fake.count("finalize"), 1);
}

#[test]
fn an_order_whose_certificate_is_not_to_be_had_for_now_is_continued_for_some_attempts() {
    for status in [429, 503] {
        let (fake, state) = world();
        fake.trouble(Trouble::BusyDownload(status));
        for _ in 1..ATTEMPTS_PER_ORDER {
            let server = Server::start(settings_of(&fake, state.path()));
            server.next_failure();
            server.stop();
            retry_now(state.path());
        }
        assert_eq!((fake.orders().len(), fake.count("finalize")), (1, 1), "{status}");
        // The last attempt with it: the next makes another one.
        let server = Server::start(settings_of(&fake, state.path()));
        server.next_failure();
        server.stop();
        assert!(is_empty(state.path(), "orders"));
    }
}

#[test]
fn a_ledger_that_cannot_be_read_is_told_and_nothing_is_ordered_before_it_can_be() {
    let (fake, state) = world();
    let ledger = state.path().join("ledger.json");
    fs::write(&ledger, "{").unwrap();
    let server = Server::start(settings_of(&fake, state.path()));
    server.next_event(|event| match event {
        AcmeEvent::Unreadable { what, .. } if what.contains("ledger.json") => Some(()),
        _ => None,
    });
    for _ in 0..3 {
        server.handle.look_now();
    }
    assert_eq!((fs::read(&ledger).unwrap(), fake.orders().len()), (b"{".to_vec(), 0));
    let status = until("the status says why", || {
        let status = server.handle.status()[0].clone();
        status.state_error.is_some().then_some(status)
    });
    assert!(status.state_error.unwrap().contains("ledger.json"));
    assert_eq!(status.next_attempt, None);
    fs::remove_file(&ledger).unwrap();
    server.handle.look_now();
    server.next_issued();
    assert_eq!(server.handle.status()[0].state_error, None);
    server.stop();
}

#[test]
fn an_authority_that_asks_to_be_left_alone_is_and_the_next_issuer_is_asked() {
    let (fake, state) = world();
    let other = Fake::start();
    fake.trouble(Trouble::RateLimited(7_200));
    let server = Server::start(settings_of(&fake, state.path()));
    assert!(server.next_failure().contains("rateLimited"));
    let status = server.handle.status()[0].clone();
    assert!(
        status.next_attempt.unwrap().after(UtcSecond::from(std::time::UNIX_EPOCH)) > Duration::ZERO
    );
    server.stop();
    let mut both = settings_of(&fake, state.path());
    both.issuers.push(Issuer { directory: other.directory(), external_account: None });
    both.roots.push(other.root.clone());
    let ledger: OrderLedger =
        serde_json::from_slice(&fs::read(state.path().join("ledger.json")).unwrap()).unwrap();
    let held = ledger.held_until(&fake.directory()).unwrap();
    assert!(status.next_attempt.unwrap() >= held, "the only issuer is left alone");
    // The wait after the failure is over; that of the first issuer is not.
    retry_now(state.path());
    let server = Server::start(both);
    server.next_issued();
    assert_eq!(server.handle.status()[0].issuer, Some(other.directory()));
    server.stop();
    assert_eq!((fake.orders().len(), other.orders().len()), (1, 1));
}

#[test]
fn the_second_issuer_is_asked_after_failures_of_the_first() {
    let (fake, state) = world();
    let other = Fake::start();
    let mut both = settings_of(&fake, state.path());
    both.issuers.push(Issuer { directory: other.directory(), external_account: None });
    both.roots.push(other.root.clone());
    let mut ledger = OrderLedger::default();
    for _ in 0..FAILURES_PER_ISSUER {
        let failed = Failed { names: &[], error: "no".to_owned(), jitter: Fraction::NONE };
        ledger.on_failed(&both.certificates[0], failed, UtcSecond::from_unix(0));
    }
    fs::write(state.path().join("ledger.json"), ledger.bytes()).unwrap();
    let server = Server::start(both);
    server.next_issued();
    server.stop();
    assert_eq!((fake.orders().len(), other.orders().len()), (0, 1));
}

#[test]
fn an_answer_that_no_scheduler_gives_is_not_announced() {
    let (fake, state) = world();
    fake.trouble(Trouble::Unproved);
    let answers = Answers::default();
    let server = Server::start_with(
        settings_of(&fake, state.path()),
        Confirms::Never,
        answers.clone(),
        Box::new(|_| {}),
    );
    assert!(server.next_failure().contains("did not answer for the challenge"));
    server.stop();
    assert_eq!(fake.count("challenge"), 0);
    assert!(answers.is_empty());
}

#[test]
fn a_refused_name_is_told_counted_and_withdrawn() {
    let (fake, state) = world();
    fake.trouble(Trouble::Unproved);
    let server = Server::start(settings_of(&fake, state.path()));
    server.next(|told| matches!(told, Told::Answer).then_some(()));
    server.next(|told| matches!(told, Told::Withdrawn).then_some(()));
    let (error, severity) = server.next_event(|event| match event {
        AcmeEvent::Failed { error, severity, .. } => Some((error.clone(), *severity)),
        _ => None,
    });
    assert!(error.contains(NAME) && error.contains("the token was not found"), "{error}");
    assert_eq!(severity, Severity::Error, "there is no other certificate");
    assert!(server.answers.is_empty());
    server.stop();
    let ledger = fs::read_to_string(state.path().join("ledger.json")).unwrap();
    let ledger: serde_json::Value = serde_json::from_str(&ledger).unwrap();
    assert_eq!(ledger["failed"][NAME].as_array().unwrap().len(), 1);
    assert!(is_empty(state.path(), "orders"), "an order that failed is not continued");
}

#[test]
fn a_challenge_that_is_asked_about_already_is_answered_and_no_other_begun() {
    let (fake, state) = world();
    fake.trouble(Trouble::AsksAlready);
    let server = Server::start(settings_of(&fake, state.path()));
    server.next(|told| matches!(told, Told::Answer).then_some(()));
    server.next_issued();
    server.stop();
    assert_eq!(fake.count("challenge"), 0, "the authority is not told again");
}

#[test]
fn a_certificate_that_has_ended_by_this_clock_is_ordered_once() {
    let (fake, state) = world();
    fake.trouble(Trouble::Ended);
    let server = Server::start(settings_of(&fake, state.path()));
    assert!(server.next_failure().contains("clock"));
    for _ in 0..3 {
        server.handle.look_now();
    }
    assert!(server.handle.status()[0].not_after.is_some(), "it is better than none");
    server.stop();
    assert_eq!(fake.orders().len(), 1);
    // The next one counts as a failure in a row, so the waits grow.
    retry_now(state.path());
    let server = Server::start(settings_of(&fake, state.path()));
    assert!(server.next_failure().contains("clock"));
    assert_eq!(server.handle.status()[0].failures, 2);
    server.stop();
}

#[test]
fn answers_without_end_and_nonces_that_are_never_right_are_given_up() {
    for (trouble, why) in [(Trouble::LongDirectory, "longer than"), (Trouble::Nonces, "badNonce")] {
        let (fake, state) = world();
        fake.trouble(trouble);
        let server = Server::start(settings_of(&fake, state.path()));
        let error = server.next_failure();
        assert!(error.contains(why), "{error}");
        server.stop();
        assert!(fake.count("new-account") < 30);
    }
}
