//! Goal: a subscriber counts for as long as it gets messages, and no longer. Method: Redis clients that do not read.

use std::net::TcpStream;

use crate::server::Plan;
use crate::server::channel::{connect, resp, say};
use crate::server::patience::until;

/// Publishes, and returns the answer.
fn publish(client: &mut TcpStream, text: &str) -> String {
    let told = say(client, format!("PUBLISH slow {text}\r\n").as_bytes(), b"\r\n");
    String::from_utf8_lossy(&told).trim().to_owned()
}

#[test]
fn a_subscriber_that_is_cut_for_being_slow_does_not_count() {
    let plan = Plan::new().argument("--listen-resp=127.0.0.1:0");
    let server = plan.argument("--schedulers=2").start();
    let address = resp(&server);
    let mut publisher = connect(address);
    let (mut slow, mut wild) = (connect(address), connect(address));
    say(&mut slow, b"SUBSCRIBE slow\r\n", b":1\r\n");
    say(&mut wild, b"PSUBSCRIBE slo*\r\n", b":1\r\n");
    assert_eq!(publish(&mut publisher, "x"), ":2");
    // Neither reads: the kernel takes some megabytes, the server one more.
    let large = "x".repeat(60_000);
    until("both to be cut", || {
        let told = publish(&mut publisher, &large);
        (told == ":0").then_some(())
    });
    let told = say(&mut publisher, b"PUBSUB NUMSUB slow\r\n", b":0\r\n");
    assert_eq!(String::from_utf8_lossy(&told), "*2\r\n$4\r\nslow\r\n:0\r\n");
    assert_eq!(say(&mut publisher, b"PUBSUB NUMPAT\r\n", b"\r\n"), b":0\r\n");
    assert_eq!(server.count("/channels/disconnected_slow"), 2);
}
