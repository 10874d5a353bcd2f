//! Goal: an operator learns of the end of a certificate in time, in the log, in the status and in the metrics. Method:
//! the clock of a running server is set forward (faketime), which nothing else on this machine notices.

use serde_json::Value;

use crate::moved_clock::{set_days_ahead, with_moved_clock};
use crate::server::certificates::Authority;
use crate::server::client::{Client, text};
use crate::server::patience::until;
use crate::server::{Plan, Server};

/// The life of the certificate, in days.
const LIFE: u64 = 90;

/// The days that the status shows, and lines of the log about an end.
fn told(server: &Server) -> (i64, usize) {
    let status: Value = server.told("/status");
    let days = status["certificates"][0]["days_left"].as_i64().unwrap();
    (days, server.printed_errors().matches("a certificate expires soon: expiring by ").count())
}

#[test]
fn the_end_of_a_certificate_is_told_at_a_third_of_its_life_a_week_before_and_when_it_has_come() {
    const TEST: &str = "the_end_of_a_certificate_is_told_at_a_third_of_its_life_a_week_before_and_when_it_has_come";
    let listener = "[[listener]]\naddress = \"127.0.0.1:0\"\n\
        tls = { certificate = \"expiring.pem\", key = \"expiring.key\" }\n";
    let plan = Plan::new().config(listener);
    let authority = Authority::in_directory(&plan.directory);
    authority.issue_for_days(&plan.directory, "expiring", LIFE);
    let Some(plan) = with_moved_clock(plan, TEST) else { return };
    let server = plan.listen_as_configured(1).start();
    let set = |days| set_days_ahead(&server, days);
    assert_eq!(told(&server), (89, 0));
    set(59);
    until("31 days", || (told(&server) == (30, 0)).then_some(()));
    // The server looks by itself.
    set(61);
    until("the third", || (told(&server) == (28, 1)).then_some(()));
    set(82);
    assert!(server.ctl(&["reload"]).status.success());
    // More than a week is left, and the third has been told. The status reads the clock once a second.
    until("eight days", || (told(&server) == (7, 1)).then_some(()));
    set(84);
    assert!(server.ctl(&["reload"]).status.success());
    until("the week", || (told(&server) == (5, 2)).then_some(()));
    set(91);
    assert!(server.ctl(&["reload"]).status.success());
    until("the end", || (told(&server) == (-2, 2)).then_some(()));
    let errors = server.printed_errors();
    assert!(
        errors.contains("error: a certificate has expired: clients refuse it: expiring"),
        "{errors}"
    );
    let mut control = Client::connect_unix(&server.plan.socket()).unwrap();
    let metrics = control.get("/metrics").unwrap();
    let line = text(&metrics).lines().find(|line| line.contains("names=\"expiring\"")).unwrap();
    let end: f64 = line.rsplit(' ').next().unwrap().parse().unwrap();
    assert!(line.starts_with("velodrome_certificate_not_after_seconds{"), "{line}");
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    assert!((0.0..60.0).contains(&(since.as_secs_f64() + 90.0 * 86_400.0 - end)), "{line}");
}
