//! Goal: subscribers see what a publisher did in its order, from the moment at which they are told that they are
//! subscribed.
//!
//! Method: two schedulers, with subscribers and publishers on both, and channels whose homes are both.

use std::io::{Read, Write};

use crate::server::channel::{connect, post, resp, say, websocket};
use crate::server::{Plan, Server};

const CONFIG: &str = "[[channel]]\npattern = \"*\"\n";

fn site() -> Server {
    let plan = Plan::new().config(CONFIG).argument("--listen-resp=127.0.0.1:0");
    plan.argument("--schedulers=2").start()
}

/// Publishes and waits for the answer.
fn publish(client: &mut std::net::TcpStream, channel: &str, text: &str) -> String {
    let command = format!("PUBLISH {channel} {text}\r\n");
    let told = say(client, command.as_bytes(), b"\r\n");
    String::from_utf8_lossy(&told).trim().to_owned()
}

#[test]
fn a_subscriber_of_many_channels_sees_the_order_of_a_publisher() {
    const ROUNDS: usize = 3_000;
    let server = site();
    let address = resp(&server);
    let channels = ["a", "b", "c", "d", "e", "f"];
    let mut subscribers: Vec<_> = (0..6).map(|_| connect(address)).collect();
    for (number, subscriber) in subscribers.iter_mut().enumerate() {
        let command = if number < 4 {
            format!("SUBSCRIBE {}\r\nPING\r\n", channels.join(" "))
        } else {
            "PSUBSCRIBE *\r\nPING\r\n".to_owned()
        };
        say(subscriber, command.as_bytes(), b"pong");
    }
    let seen: Vec<Vec<usize>> = std::thread::scope(|scope| {
        let readers: Vec<_> = subscribers
            .iter_mut()
            .map(|subscriber| {
                scope.spawn(|| {
                    let heard = say(subscriber, b"", format!("m{ROUNDS}\r\n").as_bytes());
                    let heard = String::from_utf8(heard).unwrap();
                    let numbers = heard.lines().filter_map(|line| line.strip_prefix('m'));
                    numbers.filter_map(|number| number.parse().ok()).collect()
                })
            })
            .collect();
        let mut publisher = connect(address);
        for number in 1..=ROUNDS / 2 {
            publish(&mut publisher, channels[number % channels.len()], &format!("m{number}"));
        }
        // The rest at once, without waiting.
        let rest: String = (ROUNDS / 2 + 1..=ROUNDS)
            .map(|number| format!("PUBLISH {} m{number}\r\n", channels[number % channels.len()]))
            .collect();
        publisher.write_all(rest.as_bytes()).unwrap();
        let mut answers = vec![0; 4 * (ROUNDS - ROUNDS / 2)];
        publisher.read_exact(&mut answers).unwrap();
        readers.into_iter().map(|reader| reader.join().unwrap()).collect()
    });
    for (number, seen) in seen.iter().enumerate() {
        let expected: Vec<usize> = (1..=ROUNDS).collect();
        let swapped = seen.iter().zip(&expected).position(|(seen, expected)| seen != expected);
        assert_eq!(swapped, None, "subscriber {number}: {:?}", swapped.map(|at| &seen[at..]));
        assert_eq!(seen.len(), ROUNDS);
    }
}

#[test]
fn a_confirmed_pattern_gets_every_message_from_then_on() {
    let server = site();
    let address = resp(&server);
    let mut publishers: Vec<_> = (0..4).map(|_| connect(address)).collect();
    for number in 0..50 {
        let mut subscriber = connect(address);
        let order = format!("PSUBSCRIBE p{number}* q{number}*\r\nPING\r\n");
        say(&mut subscriber, order.as_bytes(), b"pong");
        for (of, publisher) in publishers.iter_mut().enumerate() {
            for name in ["p", "q"] {
                let told = publish(publisher, &format!("{name}{number}-{of}"), "hello");
                assert_eq!(told, ":1", "{name}{number} by publisher {of}");
                say(&mut subscriber, b"", b"\r\nhello\r\n");
            }
        }
    }
}

#[test]
fn an_open_socket_or_stream_gets_every_message_from_then_on() {
    let server = site();
    for number in 0..40 {
        let path = format!("/channels/w{number}");
        let mut socket = websocket(&server, &path);
        assert_eq!(post(&server, &path, b"hello"), 200);
        say(&mut socket, b"", b"hello");
        let mut stream = connect(server.address());
        let path = format!("/channels/s{number}");
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n");
        let mut heard = say(&mut stream, request.as_bytes(), b"\r\n\r\n");
        assert_eq!(post(&server, &path, b"hello"), 200);
        if !heard.ends_with(b"hello\n\n") {
            heard.extend(say(&mut stream, b"", b"hello\n\n"));
        }
    }
}

#[test]
fn a_pattern_that_is_left_and_joined_again_in_a_turn_gets_a_message_once() {
    let plan = Plan::new().config(CONFIG).argument("--listen-resp=127.0.0.1:0");
    let server = plan.argument("--schedulers=1").start();
    let mut client = connect(resp(&server));
    let commands = "HELLO 3\r\nPSUBSCRIBE a*\r\nPUNSUBSCRIBE a*\r\nPUBLISH ax one\r\nPSUBSCRIBE a*\r\n\
        PUBLISH ax two\r\nPUBLISH ax end\r\n";
    let heard = say(&mut client, commands.as_bytes(), b"$3\r\nend\r\n");
    let heard = String::from_utf8(heard).unwrap();
    assert_eq!(heard.matches("$3\r\ntwo\r\n").count(), 1, "{heard}");
    assert_eq!(heard.matches("$3\r\none\r\n").count(), 0, "{heard}");
}
