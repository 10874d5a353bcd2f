//! A link against JetStream whose answers are written in the test.

use channels::{ClusterOrder, Keeping, Offer, Payload};
use cluster::{LinkFault, NatsLink};

use crate::plan::{SEAT, plan, told};
use crate::scripted::{hears, said, welcome};

const INFO: &str = "$JS.API.STREAM.INFO.";

/// The requests in what the link has said: each with the subject of its answer.
fn requests(said: &str) -> Vec<(String, String)> {
    let lines = said.lines().filter(|line| line.starts_with("PUB ") || line.starts_with("HPUB "));
    let words = lines.map(|line| line.split(' ').map(str::to_owned).collect::<Vec<_>>());
    words
        .filter(|words| words[2].starts_with("_INBOX."))
        .map(|w| (w[1].clone(), w[2].clone()))
        .collect()
}

/// A message to the inbox, which is the first subscription.
fn answer(reply: &str, headers: &str, payload: &str) -> String {
    answer_to(1, reply, headers, payload)
}

fn answer_to(inbox: u64, reply: &str, headers: &str, payload: &str) -> String {
    if headers.is_empty() {
        return format!("MSG {reply} {inbox} {}\r\n{payload}\r\n", payload.len());
    }
    let headers = format!("NATS/1.0{headers}\r\n\r\n");
    let all = headers.len() + payload.len();
    format!("HMSG {reply} {inbox} {} {all}\r\n{headers}{payload}\r\n", headers.len())
}

/// JetStream with streams of this last number, on so many servers.
struct Peer {
    last: u64,
    replicas: u8,
    /// The subscription to answers.
    inbox: u64,
}

impl Peer {
    /// Answers all questions about streams; everything that the link says meanwhile.
    fn answer_all(&self, link: &mut NatsLink, now_ms: u64) -> String {
        let mut all = String::new();
        loop {
            let said = said(link);
            for (subject, reply) in requests(&said) {
                if let Some(stream) = subject.strip_prefix(INFO) {
                    let text = answer_to(self.inbox, &reply, "", &self.info(stream));
                    hears(link, &text, now_ms).unwrap();
                }
            }
            if said.is_empty() {
                return all;
            }
            all += &said;
        }
    }

    /// The same; the requests other than those questions.
    fn answer(&self, link: &mut NatsLink, now_ms: u64) -> Vec<(String, String)> {
        let mut all = requests(&self.answer_all(link, now_ms));
        all.retain(|(subject, _)| !subject.starts_with(INFO));
        all
    }

    fn info(&self, stream: &str) -> String {
        let (prefix, number) = stream.split_once("-h-").unwrap();
        format!(
            r#"{{"config":{{"republish":{{"dest":"{prefix}.r.{number}.>"}},"allow_direct":true,
                "max_msgs_per_subject":100,"max_bytes":100000000,"num_replicas":{}}},
                "created":"2026-01-01T00:00:00Z","state":{{"first_seq":1,"last_seq":{}}},
                "cluster":{{"leader":"a"}},"ts":"2026-01-01T00:00:00Z"}}"#,
            self.replicas, self.last
        )
    }
}

fn connected(peer: &Peer) -> NatsLink {
    let mut link = NatsLink::new(plan(1, 4222, "v"), SEAT, 7, 0);
    link.order(ClusterOrder::Follow { name: "a".into(), keeping: Keeping::History }, 0);
    welcome(&mut link, 0);
    assert_eq!(peer.answer(&mut link, 0), []);
    told(&mut link);
    link
}

fn read(link: &mut NatsLink) {
    link.order(ClusterOrder::Read { name: "a".into(), read: 1, after: 0, at_most: 9 }, 0);
    link.end_orders(0);
}

fn commit(link: &mut NatsLink, commit: u64, text: &str) {
    let offer = Offer::from(Payload::of_text(text));
    link.order(ClusterOrder::Commit { name: "a".into(), offer, commit }, 0);
    link.end_orders(0);
}

#[test]
fn a_replica_that_is_behind_is_not_taken_for_the_whole_stream() {
    let peer = Peer { last: 9, replicas: 3, inbox: 1 };
    let mut link = connected(&peer);
    read(&mut link);
    let asked = peer.answer(&mut link, 0);
    assert!(asked[0].0.starts_with("$JS.API.DIRECT.GET."), "{asked:?}");
    let first = answer(&asked[0].1, "\r\nNats-Sequence: 4", "tone");
    let end = answer(&asked[0].1, " 204 EOB\r\nNats-Num-Pending: 0", "");
    hears(&mut link, &(first + &end), 0).unwrap();
    // The first server of the stream has one more, and then none.
    let asked = peer.answer(&mut link, 0);
    assert!(asked[0].0.starts_with("$JS.API.STREAM.MSG.GET."), "{asked:?}");
    let next = r#"{"message":{"seq":8,"data":"dHR3bw==","time":"2026-01-01T00:00:00Z"}}"#;
    hears(&mut link, &answer(&asked[0].1, "", next), 0).unwrap();
    let asked = peer.answer(&mut link, 0);
    let none = r#"{"error":{"code":404,"err_code":10037}}"#;
    hears(&mut link, &answer(&asked[0].1, "", none), 0).unwrap();
    peer.answer(&mut link, 0);
    assert_eq!(told(&mut link), [r#"history a 1 after 0 ["4 one", "8 two"] to 9 rest None"#]);
}

#[test]
fn a_stream_on_one_server_is_asked_once() {
    let peer = Peer { last: 9, replicas: 1, inbox: 1 };
    let mut link = connected(&peer);
    read(&mut link);
    let asked = peer.answer(&mut link, 0);
    hears(&mut link, &answer(&asked[0].1, " 404 Message Not Found", ""), 0).unwrap();
    assert_eq!(peer.answer(&mut link, 0), []);
    assert_eq!(told(&mut link), ["history a 1 after 0 [] to 9 rest None"]);
}

#[test]
fn a_message_that_its_stream_could_not_take_is_not_overtaken_by_the_next_one() {
    let peer = Peer { last: 9, replicas: 1, inbox: 1 };
    let mut link = connected(&peer);
    commit(&mut link, 1, "one");
    let first = peer.answer(&mut link, 0);
    hears(&mut link, &answer(&first[0].1, " 503", ""), 0).unwrap();
    commit(&mut link, 2, "two");
    assert_eq!(peer.answer(&mut link, 0), [], "both wait");
    let due_ms = link.next_due_ms().unwrap();
    link.on_time(due_ms).unwrap();
    let text = said(&mut link);
    let (one, two) = (text.find("tone\r\n").unwrap(), text.find("ttwo\r\n").unwrap());
    assert!(one < two, "{text}");
}

#[test]
fn a_commit_is_sent_again_with_the_same_identifier_and_refused_when_it_is_late() {
    let peer = Peer { last: 9, replicas: 1, inbox: 1 };
    let mut link = connected(&peer);
    commit(&mut link, 9, "hi");
    let identifiers = |said: &str| -> Vec<String> {
        let lines = said.lines().filter_map(|line| line.strip_prefix("Nats-Msg-Id: "));
        lines.map(str::to_owned).collect()
    };
    let first = identifiers(&peer.answer_all(&mut link, 10));
    assert_eq!(first.len(), 1);
    link.on_closed(LinkFault::Ended, 20);
    let due_ms = link.next_due_ms().unwrap();
    let said = welcome(&mut link, due_ms);
    let inbox = said.lines().find_map(|line| line.strip_prefix("SUB _INBOX.")).unwrap();
    let inbox = inbox.split(' ').nth(1).unwrap().parse().unwrap();
    let peer = Peer { inbox, ..peer };
    assert_eq!(identifiers(&peer.answer_all(&mut link, due_ms)), first);
    told(&mut link);
    link.on_time(1_999).unwrap();
    assert_eq!(told(&mut link), Vec::<String>::new());
    link.on_time(2_000).unwrap();
    assert_eq!(told(&mut link), ["result 9 Unconfirmed"]);
}

#[test]
fn commits_wait_until_their_stream_is_known_to_be_there() {
    let mut link = NatsLink::new(plan(1, 4222, "v"), SEAT, 7, 0);
    commit(&mut link, 1, "one");
    welcome(&mut link, 0);
    let first = requests(&said(&mut link));
    assert!(
        first.iter().all(|(subject, _)| subject.starts_with("$JS.API.STREAM.INFO.")),
        "{first:?}"
    );
}

#[test]
fn a_message_too_large_for_the_server_is_refused_also_if_it_waited_for_it() {
    let peer = Peer { last: 9, replicas: 1, inbox: 1 };
    let mut link = NatsLink::new(plan(1, 4222, "v"), SEAT, 7, 0);
    commit(&mut link, 1, &"x".repeat(70_000));
    commit(&mut link, 2, "small");
    welcome(&mut link, 0);
    let sent = peer.answer(&mut link, 0);
    assert_eq!(sent.len(), 1, "only the small one");
    assert!(told(&mut link).contains(&"result 1 TooLarge".to_owned()));
    link.on_closed(LinkFault::Ended, 0);
    link.on_time(2_000).unwrap();
    assert!(told(&mut link).contains(&"result 2 Unconfirmed".to_owned()));
}
