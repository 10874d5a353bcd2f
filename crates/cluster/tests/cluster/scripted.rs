//! A link against a server whose words are written in the test.

use std::io;
use std::sync::Arc;

use channels::{ClusterOrder, Keeping, Payload};
use cluster::{LinkEvent, LinkFault, NatsLink, NatsServer, limits};

use crate::plan::{SEAT, plan, told};

const INFO: &str =
    "INFO {\"version\":\"2.11.0\",\"max_payload\":70000,\"headers\":true,\"jetstream\":true}\r\n";

fn link() -> NatsLink {
    NatsLink::new(plan(1, 4222, "v"), SEAT, 7, 0)
}

/// The output of the link.
pub(crate) fn said(link: &mut NatsLink) -> String {
    String::from_utf8(link.take_output(0).unwrap_or_default()).unwrap()
}

pub(crate) fn hears(link: &mut NatsLink, text: &str, now_ms: u64) -> Result<usize, LinkFault> {
    link.on_input(text.as_bytes(), now_ms)
}

/// Connects, and returns what the link has said until it was welcome.
pub(crate) fn welcome(link: &mut NatsLink, now_ms: u64) -> String {
    assert!(link.dial(now_ms).is_some());
    link.on_connected(now_ms);
    hears(link, INFO, now_ms).unwrap();
    let said = said(link);
    hears(link, "PONG\r\nPONG\r\n", now_ms).unwrap();
    said
}

#[test]
fn a_link_follows_everything_before_it_says_that_it_is_back() {
    let mut link = link();
    link.order(ClusterOrder::Follow { name: "a.b".into(), keeping: Keeping::Nothing }, 0);
    let said_first = welcome(&mut link, 0);
    assert!(said_first.starts_with("CONNECT {"), "{said_first}");
    assert!(said_first.contains("\"echo\":false"));
    let (before, after) = said_first.split_once("SUB v.c.a=2Eb ").unwrap();
    assert!(before.contains("PING\r\n") && after.ends_with("PING\r\n"), "{said_first}");
    assert_eq!(told(&mut link), ["back"]);
    let server = "127.0.0.1:4222".to_owned();
    assert_eq!(link.take_events(), [LinkEvent::Connected { server }]);
    // One answer alone is not enough.
    let mut other = NatsLink::new(plan(1, 4222, "v"), SEAT, 7, 0);
    other.dial(0).unwrap();
    other.on_connected(0);
    hears(&mut other, INFO, 0).unwrap();
    hears(&mut other, "PONG\r\n", 0).unwrap();
    assert!(!other.is_up());
}

#[test]
fn however_input_is_cut_the_news_are_the_same() {
    let mut link = link();
    link.order(ClusterOrder::Follow { name: "a".into(), keeping: Keeping::Nothing }, 0);
    welcome(&mut link, 0);
    told(&mut link);
    let subscription = 6;
    let text = format!(
        "MSG v.c.a {subscription} 3\r\nthi\r\nPING\r\nMSG v.c.a {subscription} 2\r\nty\r\n"
    );
    let mut kept = Vec::new();
    for byte in text.bytes() {
        kept.push(byte);
        let consumed = link.on_input(&kept, 0).unwrap();
        kept.drain(..consumed);
    }
    assert_eq!(told(&mut link), ["announced a hi", "announced a y"]);
    assert!(said(&mut link).contains("PONG\r\n"));
}

#[test]
fn a_refusal_is_known_by_its_kind_and_the_next_attempt_comes_after_a_pause() {
    let mut link = link();
    link.dial(0).unwrap();
    link.on_connected(0);
    hears(&mut link, INFO, 0).unwrap();
    let fault = hears(&mut link, "-ERR 'Authorization Violation'\r\n", 0).unwrap_err();
    assert_eq!(fault, LinkFault::Credentials("Authorization Violation".to_owned()));
    link.on_closed(fault, 0);
    assert!(link.problem().unwrap().contains("password_file"));
    assert!(matches!(link.take_events()[..], [LinkEvent::Lost { .. }]));
    assert!(link.dial(0).is_none());
    let due_ms = link.next_due_ms().unwrap();
    assert!((1..=100).contains(&due_ms), "{due_ms}");
    assert!(link.dial(due_ms).is_some());
    link.on_closed(LinkFault::Unreachable(io::ErrorKind::ConnectionRefused), due_ms);
    assert_eq!(link.take_events(), [], "it is told once");
    let mut other = NatsLink::new(plan(1, 80, "v"), SEAT, 7, 0);
    other.dial(0).unwrap();
    other.on_connected(0);
    assert_eq!(hears(&mut other, "HTTP/1.1 400 Bad Request\r\n", 0), Err(LinkFault::NotNats));
}

#[test]
fn a_silent_server_is_asked_and_then_left() {
    let mut link = link();
    welcome(&mut link, 0);
    said(&mut link);
    link.on_time(limits::QUIET_MS).unwrap();
    assert!(said(&mut link).contains("PING\r\n"));
    link.on_time(limits::SILENCE_MS - 1).unwrap();
    assert_eq!(link.on_time(limits::SILENCE_MS), Err(LinkFault::Silent));
    let mut other = NatsLink::new(plan(1, 80, "v"), SEAT, 7, 0);
    other.dial(0).unwrap();
    assert_eq!(other.on_time(limits::HANDSHAKE_MS), Err(LinkFault::NotWelcomed));
}

/// A sign of life of another node, to a link that has said this when it connected.
fn sign(said_first: &str, number: u64) -> String {
    let (_, rest) = said_first.split_once("SUB v.n ").expect("a link listens to other nodes");
    let (subscription, _) = rest.split_once("\r\n").expect("an operation is a line");
    let form = format!(
        "{{\"node\":9,\"name\":\"b\",\"version\":\"1\",\"schedulers\":1,\"link\":0,\"connection\":1,\
         \"number\":{number}}}"
    );
    format!("MSG v.n {subscription} {}\r\n{form}\r\n", form.len())
}

/// A link that has missed a sign, and what it has said when it connected.
fn link_behind_a_cut() -> (NatsLink, String) {
    let mut link = link();
    let said_first = welcome(&mut link, 0);
    hears(&mut link, &sign(&said_first, 0), 0).unwrap();
    hears(&mut link, &sign(&said_first, 2), 0).unwrap();
    (link, said_first)
}

#[test]
fn a_further_cut_puts_off_the_connection_that_follows_the_first() {
    let (mut link, said_first) = link_behind_a_cut();
    let again_ms = limits::AGREEMENT_MS - 1;
    hears(&mut link, &sign(&said_first, 4), again_ms).unwrap();
    let longest_ms = limits::AGREEMENT_MS + limits::REJOIN_MS;
    assert_eq!(link.on_time(longest_ms), Ok(()), "the second cut has just ended");
    hears(&mut link, "PING\r\n", longest_ms).unwrap();
    assert_eq!(link.on_time(again_ms + longest_ms), Err(LinkFault::CutOff));
}

#[test]
fn a_connection_that_is_lost_behind_a_cut_is_followed_by_another_one_when_servers_agree() {
    let longest_ms = limits::AGREEMENT_MS + limits::REJOIN_MS;
    for (back_ms, expected) in [(1_000, Err(LinkFault::CutOff)), (longest_ms, Ok(()))] {
        let (mut link, _) = link_behind_a_cut();
        link.on_closed(LinkFault::Ended, 0);
        welcome(&mut link, back_ms);
        assert_eq!(link.on_time(back_ms), Ok(()));
        let late_ms = back_ms.max(longest_ms);
        hears(&mut link, "PING\r\n", late_ms).unwrap();
        assert_eq!(link.on_time(late_ms), expected, "it is back after {back_ms} ms");
    }
}

#[test]
fn a_link_stays_at_its_server_when_it_connects_again_behind_a_cut() {
    let mut plan = Arc::into_inner(plan(1, 4222, "v")).unwrap();
    plan.servers.push(NatsServer { port: 4223, ..plan.servers[0].clone() });
    let mut link = NatsLink::new(Arc::new(plan), SEAT, 7, 0);
    welcome(&mut link, 0);
    link.on_closed(LinkFault::CutOff, 0);
    assert_eq!(link.server().unwrap().port, 4222);
    link.on_closed(LinkFault::Ended, 0);
    assert_eq!(link.server().unwrap().port, 4222, "there is no connection");
    welcome(&mut link, limits::FIRST_PAUSE_MS);
    link.on_closed(LinkFault::Ended, limits::FIRST_PAUSE_MS);
    assert_eq!(link.server().unwrap().port, 4223);
}

#[test]
fn a_node_that_ends_behind_a_cut_keeps_its_connection() {
    let (mut link, _) = link_behind_a_cut();
    link.leave();
    let late_ms = limits::AGREEMENT_MS + limits::REJOIN_MS;
    hears(&mut link, "PING\r\n", late_ms).unwrap();
    assert_eq!(link.on_time(late_ms), Ok(()));
}

#[test]
fn a_node_that_ends_is_not_woken_for_signs_that_it_does_not_send() {
    let (mut link, _) = link_behind_a_cut();
    link.leave();
    let late_ms = limits::AGREEMENT_MS + limits::REJOIN_MS + limits::HEARTBEAT_MS;
    hears(&mut link, "PING\r\n", late_ms).unwrap();
    assert_eq!(link.on_time(late_ms), Ok(()));
    assert_eq!(link.next_due_ms(), Some(late_ms + limits::QUIET_MS), "it asks its server then");
}

#[test]
fn a_link_that_misses_a_sign_of_another_node_connects_again_and_no_sign_of_its_own_is_missing() {
    let mut link = link();
    for (connection, first) in [(1, 0), (2, 50)] {
        let mut now_ms = first * limits::HEARTBEAT_MS;
        let said_first = welcome(&mut link, now_ms);
        let mut own = said(&mut link);
        let mut fault = None;
        // The third one does not arrive.
        for number in [0, 1, 3, 4, 5, 6, 7, 8] {
            now_ms += limits::HEARTBEAT_MS;
            fault = link.on_time(now_ms).err();
            if fault.is_some() {
                break;
            }
            own += &said(&mut link);
            hears(&mut link, &sign(&said_first, first + number), now_ms).unwrap();
        }
        assert_eq!(fault, Some(LinkFault::CutOff));
        for number in 0..4 {
            let mine = format!("\"connection\":{connection},\"number\":{number},");
            assert_eq!(own.matches(&mine).count(), 1, "{own}");
        }
        link.on_closed(LinkFault::CutOff, now_ms);
        assert_eq!(told(&mut link).last().map(String::as_str), Some("away"));
    }
}

#[test]
fn a_server_that_is_about_to_stop_is_left_for_another_one() {
    let mut link = link();
    welcome(&mut link, 0);
    let leaving =
        INFO.replace("\"headers\"", "\"ldm\":true,\"connect_urls\":[\"127.0.0.2:1\"],\"headers\"");
    assert_eq!(hears(&mut link, &leaving, 0), Err(LinkFault::ServerStops));
    link.on_closed(LinkFault::ServerStops, 0);
    assert_eq!(link.server().unwrap().to_string(), "127.0.0.2:1");
}

#[test]
fn a_subscription_is_in_force_when_the_server_has_answered_behind_it() {
    let mut link = link();
    welcome(&mut link, 0);
    told(&mut link);
    said(&mut link);
    let follow = || ClusterOrder::Follow { name: "a".into(), keeping: Keeping::Nothing };
    link.order(follow(), 0);
    link.order(ClusterOrder::FollowAll, 0);
    link.end_orders(0);
    let first = said(&mut link);
    assert!(first.starts_with("SUB v.c.a ") && first.ends_with("PING\r\n"), "{first}");
    assert_eq!(told(&mut link), Vec::<String>::new());
    // It is taken back, and comes again: the first answer is not for that one.
    link.order(ClusterOrder::Unfollow { name: "a".into(), keeping: Keeping::Nothing }, 0);
    link.order(follow(), 0);
    link.end_orders(0);
    assert_eq!(said(&mut link).matches("PING").count(), 1);
    hears(&mut link, "PONG\r\n", 0).unwrap();
    assert_eq!(told(&mut link), ["followed all"]);
    hears(&mut link, "PONG\r\n", 0).unwrap();
    assert_eq!(told(&mut link), ["followed a"]);
    // Nothing is left of a connection that is lost.
    link.order(ClusterOrder::FollowAll, 0);
    link.end_orders(0);
    link.on_closed(LinkFault::Ended, 0);
    let due_ms = link.next_due_ms().unwrap();
    welcome(&mut link, due_ms);
    assert_eq!(told(&mut link), ["away", "back"]);
}

#[test]
fn orders_without_a_connection_end_at_once() {
    let mut link = NatsLink::new(Arc::clone(&plan(1, 4222, "v")), SEAT, 7, 0);
    link.order(ClusterOrder::Read { name: "a".into(), read: 1, after: 0, at_most: 1 }, 0);
    link.order(ClusterOrder::Announce { name: "a".into(), body: Payload::of_text("x") }, 0);
    assert_eq!(told(&mut link), ["read failed a 1"]);
    assert_eq!(link.stats().dropped, 1);
}

#[test]
fn a_message_that_nats_does_not_take_is_told() {
    let mut link = link();
    welcome(&mut link, 0);
    assert_eq!(link.take_events().len(), 1, "it is connected");
    let body = Payload::of_text(&"x".repeat(70_000));
    for _ in 0..2 {
        link.order(ClusterOrder::Announce { name: "a".into(), body: body.clone() }, 0);
    }
    let [LinkEvent::Problem(why)] = &link.take_events()[..] else { panic!("once") };
    assert!(why.contains("70000 bytes") && why.contains("channel a"), "{why}");
    assert_eq!(link.stats().dropped, 2);
}

#[test]
fn members_of_a_node_that_was_never_heard_itself_leave_when_it_is_silent() {
    let mut link = link();
    link.order(ClusterOrder::Follow { name: "a".into(), keeping: Keeping::Nothing }, 0);
    let said_first = welcome(&mut link, 0);
    let (_, after) = said_first.split_once("SUB v.c.a ").unwrap();
    let subscription = after.split("\r\n").next().unwrap();
    told(&mut link);
    // The node has ended before its next sign of life.
    let member = r#"m{"node":9,"member":{"user":"ann"},"comes":true}"#;
    let length = member.len();
    hears(&mut link, &format!("MSG v.c.a {subscription} {length}\r\n{member}\r\n"), 1_000).unwrap();
    assert_eq!(told(&mut link).len(), 1);
    assert_eq!(link.nodes().count(), 0, "it has not said who it is");
    for now_ms in (2_000..7_000).step_by(1_000) {
        hears(&mut link, "PING\r\n", now_ms).unwrap();
        link.on_time(now_ms).unwrap();
        assert_eq!(told(&mut link), Vec::<String>::new());
    }
    link.on_time(7_000).unwrap();
    assert_eq!(told(&mut link), ["gone 9"]);
}
