//! Mail of stores against a server whose words are written in the test.

use cluster::{LinkEvent, LinkFault, NatsLink, StoreMail, StoreMailNews, limits};

use crate::plan::{SEAT, plan};
use crate::scripted::{hears, welcome};

/// A size of messages that the server of `welcome` takes.
const PART: usize = 60_000;

fn link() -> NatsLink {
    let mut link = NatsLink::new(plan(1, 4222, "v"), SEAT, 7, 0);
    link.carry_mail(0xab);
    link
}

/// How many parts the link sends now.
fn parts(link: &mut NatsLink) -> usize {
    let out = link.take_output(0).unwrap_or_default();
    out.windows(9).filter(|bytes| bytes == b"PUB v.s.a").count()
}

fn all(count: usize) -> Vec<StoreMail> {
    vec![StoreMail::Everyone(vec![b'x'; PART]); count]
}

#[test]
fn mail_is_followed_and_addressed() {
    let mut link = link();
    let said = welcome(&mut link, 0);
    assert!(said.contains("SUB v.s.all ") && said.contains("SUB v.s.n.ab "), "{said}");
    assert_eq!(link.take_mail(), [StoreMailNews::Back]);
    let number = said.split("SUB v.s.n.ab ").nth(1).unwrap().lines().next().unwrap();
    hears(&mut link, &format!("MSG v.s.n.ab {number} 2\r\nhi\r\n"), 0).unwrap();
    assert_eq!(link.take_mail(), [StoreMailNews::Heard(b"hi".to_vec())]);
    let _rest = link.take_output(0);
    link.post(vec![StoreMail::One(0xcd, b"to one".to_vec())]);
    link.end_orders(0);
    let said = String::from_utf8(link.take_output(0).unwrap()).unwrap();
    assert!(said.contains("PUB v.s.n.cd 6\r\nto one\r\n"), "{said}");
    link.on_closed(LinkFault::Ended, 1);
    assert_eq!(link.take_mail(), [StoreMailNews::Away]);
    // A node without a role follows nothing of this.
    let mut other = NatsLink::new(plan(1, 4222, "v"), SEAT, 7, 0);
    assert!(!welcome(&mut other, 0).contains("v.s."));
    assert_eq!(other.take_mail(), []);
}

#[test]
fn mail_waits_until_nats_has_taken_what_is_under_way() {
    let mut link = link();
    welcome(&mut link, 0);
    let _rest = link.take_output(0);
    let window = limits::MAIL_UNDER_WAY.div_ceil(PART);
    link.post(all(window * 2 + 1));
    link.end_orders(0);
    assert_eq!(parts(&mut link), window);
    // The link asks on its own account, too.
    link.on_time(limits::QUIET_MS).unwrap();
    link.end_orders(limits::QUIET_MS);
    assert_eq!(parts(&mut link), 0);
    hears(&mut link, "PONG\r\n", 2_001).unwrap();
    assert_eq!(parts(&mut link), window);
    hears(&mut link, "PONG\r\n", 2_002).unwrap();
    assert_eq!(parts(&mut link), 0, "that was the answer to the other question");
    hears(&mut link, "PONG\r\n", 2_003).unwrap();
    assert_eq!(parts(&mut link), 1);
    assert_eq!(link.stats().mail_sent, 2 * window as u64 + 1);
    assert!(link.is_idle());
}

#[test]
fn mail_beyond_the_bound_is_dropped_whole() {
    let mut link = link();
    link.post(all(3));
    assert_eq!(link.stats().mail_dropped, 3, "it is not connected");
    welcome(&mut link, 0);
    link.post(all(limits::MAIL_BYTES / PART + 1));
    assert_eq!(link.stats().mail_dropped, 3);
    link.post(all(2));
    assert_eq!(link.stats().mail_dropped, 5);
    link.on_closed(LinkFault::Ended, 1);
    assert_eq!(link.stats().mail_dropped as usize, 5 + limits::MAIL_BYTES / PART + 1);
}

#[test]
fn mail_that_is_too_long_for_nats_is_dropped_and_told_once() {
    let mut link = link();
    welcome(&mut link, 0);
    let _connected = link.take_events();
    for _ in 0..2 {
        link.post(vec![StoreMail::Everyone(vec![0; 70_001])]);
        link.end_orders(0);
    }
    let events = link.take_events();
    assert!(
        matches!(&events[..], [LinkEvent::Problem(why)] if why.contains("raise its `max_payload`")),
        "{events:?}"
    );
    assert_eq!(link.stats().mail_dropped, 2);
}
