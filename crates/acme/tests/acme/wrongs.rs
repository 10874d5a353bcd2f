//! What an authority, or a proxy in front of it, does wrong or refuses: what is told, and what stays in use.

use std::fs;

use acme::UtcSecond;

use crate::directory::{forget_window, only_file, retry_now, settings_of, with_certificate, world};
use crate::fake::Trouble;
use crate::server::Server;

#[test]
fn an_order_that_is_refused_as_a_whole_is_told_in_the_words_of_the_authority() {
    let (fake, state) = world();
    fake.trouble(Trouble::RefusesOrder);
    let server = Server::start(settings_of(&fake, state.path()));
    let error = server.next_failure();
    assert!(error.contains("the order: API error: CAA forbids it"), "{error}");
    server.stop();
}

#[test]
fn an_answer_that_is_not_one_of_acme_is_told_with_its_status() {
    for (status, why) in [(502, "with status 502"), (302, "with status 302"), (200, "not that of")]
    {
        let (fake, state) = world();
        fake.trouble(Trouble::Page(status));
        let server = Server::start(settings_of(&fake, state.path()));
        let error = server.next_failure();
        assert!(error.contains(why), "{error}");
        server.stop();
    }
}

#[test]
fn a_certificate_that_has_ended_does_not_replace_one_that_is_valid() {
    let (fake, state) = world();
    with_certificate(&fake, state.path());
    let file = only_file(state.path(), "certificates");
    let valid = fs::read(&file).unwrap();
    fake.window("2020-01-01T00:00:00Z", "2020-01-02T00:00:00Z");
    fake.trouble(Trouble::Ended);
    forget_window(state.path());
    let server = Server::start(settings_of(&fake, state.path()));
    let end = server.next_certificate().facts.not_after;
    assert!(server.next_failure().contains("has ended, and is not used"));
    let status = server.handle.status()[0].clone();
    assert_eq!(status.not_after, Some(UtcSecond::from_unix(end)));
    server.stop();
    assert_eq!(fs::read(&file).unwrap(), valid);
    // The authority is asked for another one, which is used.
    fake.trouble(Trouble::None);
    retry_now(state.path());
    let server = Server::start(settings_of(&fake, state.path()));
    server.next_issued();
    server.stop();
    assert_eq!(fake.orders().len(), 3);
    assert_ne!(fs::read(&file).unwrap(), valid);
}
