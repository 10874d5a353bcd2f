//! Orders that wait for a limit of authorities: what is told of it.

use std::fs;
use std::sync::Arc;

use acme::ledger::{OrderLedger, OrderLimit};
use acme::limits::{DUPLICATES, DUPLICATES_S};
use acme::{AcmeEvent, Severity, UtcSecond};

use crate::directory::{settings_of, world};
use crate::server::{Server, Told};
use crate::unreachable::unix_seconds;
use crate::waiting::until;

#[test]
fn a_certificate_that_waits_a_week_for_a_limit_is_told_once_with_the_limit() {
    let (fake, state) = world();
    let settings = settings_of(&fake, state.path());
    let mut ledger = OrderLedger::default();
    let first = UtcSecond::from_unix(unix_seconds());
    for _ in 0..DUPLICATES {
        ledger.on_finalize(&settings.certificates[0], first);
    }
    fs::write(state.path().join("ledger.json"), ledger.bytes()).unwrap();
    let server = Server::start(settings);
    let waits = |event: &AcmeEvent| match event {
        AcmeEvent::Waits { reached, severity, .. } => Some((*reached, *severity)),
        _ => None,
    };
    let (reached, severity) = server.next_event(waits);
    assert_eq!((reached.limit, severity), (OrderLimit::Duplicates, Severity::Error));
    assert_eq!(reached.until, first.plus(DUPLICATES_S));
    let status = server.handle.status()[0].clone();
    assert_eq!(status.next_attempt, Some(reached.until));
    assert_eq!(status.limit, Some(OrderLimit::Duplicates));
    let before = server.handle.status();
    until("another look", || {
        server.handle.look_now();
        (!Arc::ptr_eq(&before, &server.handle.status())).then_some(())
    });
    let is_wait = |told: &Told| matches!(told, Told::Event(event) if waits(event).is_some());
    assert!(!server.stop().iter().any(is_wait));
    assert!(fake.orders().is_empty());
}
