//! Goal: `velodrome bench channel` measures deliveries over several addresses, checks every message, and cuts and
//! replaces subscribers. Method: the built binary against a server with two listeners, and against WebSocket servers
//! that drop, repeat and swap messages.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Output};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use crate::server::{PROGRAM, Plan, Server, errors_of, printed_by, run};
use serde_json::Value;

fn bench(urls: &[String], words: &str) -> Output {
    let words = words.split_whitespace();
    run(Command::new(PROGRAM).args(["bench", "channel", "-t=1"]).args(urls).args(words))
}

/// Its report, and its exit status.
fn measured(urls: &[String], words: &str) -> (Value, Option<i32>) {
    let output = bench(urls, &format!("{words} --json"));
    let report = serde_json::from_slice(&output.stdout);
    (report.unwrap_or_else(|error| panic!("{error}: {output:?}")), output.status.code())
}

/// A server with two listeners, which are like two nodes for its clients.
fn two_addresses() -> (Server, Vec<String>) {
    let listener = "[[listener]]\naddress = \"127.0.0.1:0\"\n";
    let config = format!("{listener}{listener}[[channel]]\npattern = \"news\"\nhistory = 1000\n");
    let server = Plan::new().config(&config).listen_as_configured(2).start();
    let urls =
        server.addresses().iter().map(|address| format!("{address}/channels/news")).collect();
    (server, urls)
}

/// Gaps, doubles, late ones, and those in different orders.
fn faults(report: &Value) -> [u64; 4] {
    ["gaps", "doubles", "late", "unordered"].map(|name| report["check"][name].as_u64().unwrap())
}

#[test]
fn deliveries_are_told_apart_by_address() {
    let (_server, urls) = two_addresses();
    let (report, _) = measured(&urls, "-c 10 -n 20");
    assert_eq!((&report["received"], &report["reach"]), (&200.into(), &1.0.into()), "{report}");
    assert_eq!(faults(&report), [0; 4], "{report}");
    let pairs = report["pairs"].as_array().unwrap();
    let shown: Vec<(u64, u64, u64)> = pairs
        .iter()
        .map(|pair| ["from", "to", "deliveries"].map(|name| pair[name].as_u64().unwrap()).into())
        .collect();
    assert_eq!(shown, [(0, 0, 50), (0, 1, 50), (1, 0, 50), (1, 1, 50)], "{report}");
    let text = printed_by(&bench(&urls, "-c 10 -n 20 --publish-to 2"));
    assert!(text.contains("2 to 1 ") && !text.contains("1 to 2 "), "{text}");
    assert!(
        text.contains("check       0 gaps, 0 doubles, 0 late, 0 in different orders"),
        "{text}"
    );
}

#[test]
fn subscribers_that_are_cut_come_back_and_miss_nothing() {
    let (_server, urls) = two_addresses();
    let words = "-c 20 --rate 100 -n 100 --storm all@300ms --churn 30";
    let (report, _) = measured(&urls, words);
    let workload = &report["workload"];
    // All but the two that publish, and those that were just replaced.
    assert!((10..=18).contains(&workload["cut"].as_u64().unwrap()), "{report}");
    assert!(workload["left"].as_u64().unwrap() > 5, "{report}");
    assert!(workload["all_back_ns"].as_u64().unwrap() > 0, "{report}");
    assert_eq!((&workload["missing"], faults(&report)), (&0.into(), [0; 4]), "{report}");
    let text = printed_by(&bench(&urls, words));
    assert!(text.contains("cut, all back in ") && text.contains(" left and came; "), "{text}");
}

#[test]
fn messages_that_a_server_calls_lost_are_no_gaps() {
    // Without a history nothing can be recovered, and the server says so.
    let server = Plan::new().config("[[channel]]\npattern = \"news\"\n").start();
    let urls = [format!("{}/channels/news", server.address())];
    let (report, _) = measured(&urls, "-c 20 --rate 2000 -n 1000 --storm all@200ms");
    assert_eq!(faults(&report), [0; 4], "{report}");
    assert_eq!((&report["workload"]["cut"], &report["check"]["away"]), (&19.into(), &0.into()));
    let lost = 20_000 - report["received"].as_u64().unwrap();
    assert_eq!(report["check"]["told"], lost, "{report}");
}

/// The mistake of a server with the messages of its second subscriber.
#[derive(Clone, Copy)]
enum Mistake {
    None,
    Drop,
    Repeat,
    /// It exchanges two messages of one publisher.
    SwapOwn,
    /// It exchanges messages of two publishers.
    SwapOthers,
}

enum Happening {
    /// It has asked for a WebSocket.
    Joined(TcpStream),
    /// At the address with this number.
    Published(usize, Vec<u8>),
}

const ACCEPTED: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

/// The number of the last message that a mistake can be about.
const LAST_OF_MISTAKES: usize = 6;

/// A WebSocket server with two addresses that makes a mistake.
fn wrong_server(mistake: Mistake) -> Vec<String> {
    let (tell, hear) = channel();
    let urls = (0..2).map(|at| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address: SocketAddr = listener.local_addr().unwrap();
        let tell = tell.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, tell) = (stream.unwrap(), tell.clone());
                thread::spawn(move || relay(at, stream, &tell));
            }
        });
        format!("{address}/x")
    });
    let urls = urls.collect();
    thread::spawn(move || {
        let (mut subscribers, mut messages): (Vec<TcpStream>, Vec<Vec<u8>>) = Default::default();
        // The publishers take turns, but the threads that read from them may not. A publisher whose messages are
        // overdue sends several: the last of all may be of one publisher, and nothing may wait for the other there.
        let mut waiting = [VecDeque::new(), VecDeque::new()];
        for happening in hear {
            match happening {
                Happening::Joined(mut stream) => {
                    // It may have ended.
                    let _sent = stream.write_all(ACCEPTED.as_bytes());
                    subscribers.push(stream);
                }
                Happening::Published(at, message) => {
                    waiting[at].push_back(message);
                    while let Some(message) = next(&mut waiting, messages.len()) {
                        messages.push(message);
                        deliver(mistake, &messages, &mut subscribers);
                    }
                }
            }
        }
    });
    urls
}

/// The next message when this many are known: as long as mistakes are made, of the publisher whose turn it is.
fn next(waiting: &mut [VecDeque<Vec<u8>>; 2], known: usize) -> Option<Vec<u8>> {
    let [first, second] = waiting;
    match known {
        0..=LAST_OF_MISTAKES if known.is_multiple_of(2) => first.pop_front(),
        0..=LAST_OF_MISTAKES => second.pop_front(),
        _ => first.pop_front().or_else(|| second.pop_front()),
    }
}

/// Sends subscribers what they get when the last of these messages is known.
fn deliver(mistake: Mistake, messages: &[Vec<u8>], subscribers: &mut [TcpStream]) {
    for (at, stream) in subscribers.iter_mut().enumerate() {
        for number in numbers((at == 1).then_some(mistake), messages.len()) {
            let message = &messages[number];
            let head = [0x81, u8::try_from(message.len()).unwrap()];
            // A subscriber may have ended.
            let _sent = stream.write_all(&[&head, &message[..]].concat());
        }
    }
}

/// The messages to deliver when this many are known. With two publishers in turn, each has every second one.
fn numbers(mistake: Option<Mistake>, known: usize) -> Vec<usize> {
    let last = known - 1;
    match (mistake, last) {
        (Some(Mistake::Drop), 4) => vec![],
        (Some(Mistake::Repeat), 4) => vec![4, 4],
        (Some(Mistake::SwapOwn), 4 | 5) => vec![],
        (Some(Mistake::SwapOwn), 6) => vec![5, 6, 4],
        (Some(Mistake::SwapOthers), 4) => vec![],
        (Some(Mistake::SwapOthers), 5) => vec![5, 4],
        _ => vec![last],
    }
}

/// Tells of a client that asks for a WebSocket, and of what it publishes.
fn relay(at: usize, mut stream: TcpStream, tell: &Sender<Happening>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read_exact(&mut byte).is_err() {
            return;
        }
        head.push(byte[0]);
    }
    tell.send(Happening::Joined(stream.try_clone().unwrap())).unwrap();
    // Two bytes of head and four of a mask that is zero.
    let mut head = [0; 6];
    while stream.read_exact(&mut head).is_ok() && head[0] == 0x81 {
        let mut message = vec![0; usize::from(head[1] & 0x7f)];
        if stream.read_exact(&mut message).is_err() {
            return;
        }
        tell.send(Happening::Published(at, message)).unwrap();
    }
}

#[test]
fn wrong_messages_are_named_and_make_the_result_invalid() {
    let words = "-c 4 --rate 100 -n 10";
    for (mistake, expected, told) in [
        (
            Mistake::Drop,
            [1, 0, 0, 0],
            "1 messages never arrived, and the server did not say so, such as 2 of ",
        ),
        (Mistake::Repeat, [0, 1, 0, 0], "1 messages arrived again, such as 2 of publisher "),
        (
            Mistake::SwapOwn,
            [0, 0, 1, 3],
            "1 messages arrived after a later one of the same publisher, such as 2 ",
        ),
        (
            Mistake::SwapOthers,
            [0, 0, 0, 2],
            "2 messages came in different orders to different subscribers: 2 of ",
        ),
    ] {
        let urls = wrong_server(mistake);
        let (report, status) = measured(&urls, words);
        assert_eq!((faults(&report), status), (expected, Some(3)), "{report}");
        let reasons = report["reasons"].to_string();
        assert!(reasons.contains(told), "{reasons}");
    }
}

#[test]
fn subscribers_without_a_position_expect_nothing_from_while_they_were_away() {
    let urls = wrong_server(Mistake::None);
    let (report, _) = measured(&urls, "-c 6 --rate 500 -n 300 --storm 3@200ms");
    assert_eq!(faults(&report), [0; 4], "{report}");
    assert_eq!((&report["workload"]["cut"], &report["check"]["told"]), (&3.into(), &0.into()));
    let missed = 1_800 - report["received"].as_u64().unwrap();
    assert_eq!(report["check"]["away"], missed, "{report}");
}

#[test]
fn an_order_that_is_not_expected_violates_nothing() {
    let is_told = |words: &str| {
        let urls = wrong_server(Mistake::SwapOthers);
        let (report, _) = measured(&urls, &format!("-c 4 --rate 100 -n 10 {words}"));
        assert_eq!(faults(&report), [0, 0, 0, 2], "{report}");
        report["reasons"].to_string().contains("different orders")
    };
    assert!(is_told("--order all") && !is_told("--order publisher") && !is_told("--unchecked"));
}

#[test]
fn channel_words_that_are_wrong_are_told_with_their_mend() {
    let two = ["127.0.0.1:1/a".to_owned(), "127.0.0.1:1/b".to_owned()];
    for (words, expected) in [
        ("--storm 5s --rate 1", "--storm: `5s` is not a storm; write all@5s"),
        ("--storm all@10s --rate 1", "--storm: it is due when publishing is over"),
        ("--storm all@1s", "--rate"),
        ("--churn 5", "--rate"),
        ("--rate 0", "--rate 0: choose more than 0"),
        ("--publish-to 3", "--publish-to 3: choose from 1 to 2"),
        ("--size 31", "--size 31: choose from 32"),
        ("", "two URLs are the same server; name each once"),
    ] {
        let output = bench(&two, words);
        assert_eq!(output.status.code(), Some(2), "{words}");
        assert!(errors_of(&output).contains(expected), "{words}: {}", errors_of(&output));
    }
}
