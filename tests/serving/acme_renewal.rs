//! Goal: a certificate is renewed when its time has come, not before. Method: the clock of a server is set forward
//! (faketime) between two starts; Pebble, whose clock is right, says when to renew: about when a third of the life is
//! left.

use crate::acme::{NAME, is_issued, order, secure};
use crate::moved_clock::{set_days_ahead, with_moved_clock};
use crate::pebble::Pebble;
use crate::server::Plan;

#[test]
fn a_certificate_is_ordered_again_once_the_clock_is_past_the_window_of_its_authority() {
    const TEST: &str =
        "a_certificate_is_ordered_again_once_the_clock_is_past_the_window_of_its_authority";
    let plan = Plan::new().file("a.txt", "a\n");
    let Some(pebble) = Pebble::start(&plan.directory, TEST) else { return };
    let config = pebble.config(&format!("[\"{NAME}\"]"), "profile = \"default\"");
    let Some(plan) = with_moved_clock(plan.config(&config), TEST) else { return };
    let server = plan.listen_as_configured(2).start();
    order(&server, NAME, is_issued);
    let shown = || pebble.client().connect(secure(&pebble), NAME).unwrap().certificate();
    let first = shown();
    // Of 90 days, 40 are left.
    set_days_ahead(&server, 50);
    let server = server.kill_and_restart_as_configured();
    order(&server, NAME, |order| order["days_left"] == 39 && !order["next_attempt"].is_null());
    assert!(!server.printed_errors().contains("ordering"), "{}", server.printed_errors());
    assert_eq!(shown(), first);
    set_days_ahead(&server, 63);
    let server = server.kill_and_restart_as_configured();
    // The issued certificate is due at once, too: for the authority these days have not passed.
    let renewed = order(&server, NAME, |order| order["failures"] == 1);
    let told = server.printed_errors();
    assert!(renewed["last_error"].as_str().unwrap().contains("clock"), "{renewed}");
    let why = format!("ordering a certificate for {NAME} from ");
    assert_eq!(told.matches(&why).count(), 1, "{told}");
    assert!(told.contains("the authority asks for its renewal"), "{told}");
    assert_ne!(shown(), first);
}
