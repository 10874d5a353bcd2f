//! Links against a real server of NATS. Skipped where `nats-server` is not on the path.
#![expect(clippy::disallowed_types, reason = "the tests have no scheduler")]
#![expect(clippy::print_stdout, reason = "a test that cannot run says so")]
#![expect(clippy::disallowed_methods, reason = "the tests have no turn")]

use std::fmt::Write as _;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use channels::{
    ClusterAnswer, ClusterNews, ClusterOrder, ClusterQuestion, Findings, Keeping, Member,
    MemberStep, Offer, Payload, SubscriberQuery,
};
use cluster::{ClusterPlan, LinkFault, NatsCredentials, NatsLink, NatsLogin, UserKey};

use crate::plan::{SEAT, plan, short};

/// A server that ends with the test.
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
}

impl Server {
    /// Starts one with JetStream. `None`: it is not installed.
    pub(crate) fn start(more: &[&str]) -> Option<Self> {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        Self::start_at(port, more)
    }

    fn start_at(port: u16, more: &[&str]) -> Option<Self> {
        let directory =
            std::env::temp_dir().join(format!("velodrome-nats-{}-{port}", std::process::id()));
        let child = Command::new("nats-server")
            .args(["-a", "127.0.0.1", "-p", &port.to_string(), "-js", "-sd"])
            .arg(&directory)
            .args(more)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(child) = child else {
            println!("SKIPPED: nats-server is not on the path");
            return None;
        };
        let server = Self { child, port };
        let until = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < until, "nats-server does not listen");
            std::thread::yield_now();
        }
        Some(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _killed = self.child.kill();
        let _ended = self.child.wait();
        let name = format!("velodrome-nats-{}-{}", std::process::id(), self.port);
        let _removed = std::fs::remove_dir_all(std::env::temp_dir().join(name));
    }
}

/// A link with its connection.
pub(crate) struct Node {
    pub(crate) link: NatsLink,
    connection: Option<TcpStream>,
    input: Vec<u8>,
    pub(crate) begun: Instant,
    /// How much faster than time its clock runs.
    pub(crate) pace: u64,
    heard: Vec<String>,
    news: Vec<ClusterNews>,
}

impl Node {
    pub(crate) fn new(plan: Arc<ClusterPlan>) -> Self {
        let link = NatsLink::new(plan, SEAT, fastrand_seed(), 0);
        let (begun, input) = (Instant::now(), Vec::new());
        Self { link, connection: None, input, begun, pace: 1, heard: Vec::new(), news: Vec::new() }
    }

    pub(crate) fn now_ms(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap() * self.pace
    }

    fn close(&mut self, why: LinkFault) {
        self.connection = None;
        self.input.clear();
        self.link.on_closed(why, self.now_ms());
    }

    /// Does what can be done now.
    pub(crate) fn turn(&mut self) {
        let now_ms = self.now_ms();
        if let Some(server) = self.link.dial(now_ms) {
            match TcpStream::connect((&*server.host, server.port)) {
                Ok(connection) => {
                    connection.set_nonblocking(true).unwrap();
                    self.connection = Some(connection);
                    self.link.on_connected(now_ms);
                }
                Err(error) => self.close(LinkFault::Unreachable(error.kind())),
            }
        }
        if let Err(fault) = self.link.on_time(now_ms) {
            self.close(fault);
        }
        self.receive(now_ms);
        if let (Some(output), Some(connection)) = (self.link.take_output(0), &mut self.connection) {
            connection.set_nonblocking(false).unwrap();
            let _sent = connection.write_all(&output);
            connection.set_nonblocking(true).unwrap();
        }
        let news = self.link.take_news();
        self.heard.extend(news.iter().map(short));
        self.news.extend(news);
    }

    fn receive(&mut self, now_ms: u64) {
        let Some(connection) = &mut self.connection else { return };
        let mut bytes = [0; 4096];
        match connection.read(&mut bytes) {
            Ok(0) => self.close(LinkFault::Ended),
            Ok(count) => {
                self.input.extend_from_slice(&bytes[..count]);
                match self.link.on_input(&self.input, now_ms) {
                    Ok(consumed) => drop(self.input.drain(..consumed)),
                    Err(fault) => self.close(fault),
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => self.close(LinkFault::Ended),
        }
    }

    fn order(&mut self, order: ClusterOrder) {
        let now_ms = self.now_ms();
        self.link.order(order, now_ms);
        self.link.end_orders(now_ms);
    }

    fn commit(&mut self, name: &str, text: &str, commit: u64) {
        let offer = Offer::from(Payload::of_text(text));
        self.order(ClusterOrder::Commit { name: name.into(), offer, commit });
    }

    fn follow(&mut self, name: &str, keeping: Keeping) {
        self.order(ClusterOrder::Follow { name: name.into(), keeping });
    }

    fn read(&mut self, name: &str, read: u64, after: u64, at_most: u32) {
        self.order(ClusterOrder::Read { name: name.into(), read, after, at_most });
    }
}

fn fastrand_seed() -> u64 {
    u64::from(std::process::id())
}

/// Runs the nodes until this holds.
fn until(nodes: &mut [&mut Node], what: &str, mut holds: impl FnMut(&[&mut Node]) -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !holds(nodes) {
        for node in &mut *nodes {
            node.turn();
        }
        if Instant::now() > until {
            let mut heard = String::new();
            for node in nodes {
                let _infallible = writeln!(heard, "{:?} {:?}", node.heard, node.link.problem());
            }
            panic!("{what} did not happen; heard:\n{heard}");
        }
        std::thread::yield_now();
    }
}

fn until_heard(nodes: &mut [&mut Node], which: usize, expected: &str) {
    until(nodes, expected, |nodes| nodes[which].heard.iter().any(|heard| heard == expected));
}

fn until_ready(nodes: &mut [&mut Node]) {
    until(nodes, "a connection with all streams", |nodes| {
        nodes.iter().all(|node| node.link.is_ready())
    });
}

#[test]
fn a_message_without_history_reaches_the_nodes_that_follow_its_channel() {
    let Some(server) = Server::start(&[]) else { return };
    let (mut one, mut two) =
        (Node::new(plan(1, server.port, "v")), Node::new(plan(2, server.port, "v")));
    two.follow("chat.hall", Keeping::Nothing);
    until_ready(&mut [&mut one, &mut two]);
    let announce =
        |name: &str| ClusterOrder::Announce { name: name.into(), body: Payload::of_text("hi") };
    one.order(announce("other"));
    one.order(announce("chat.hall"));
    until_heard(&mut [&mut one, &mut two], 1, "announced chat.hall hi");
    two.order(ClusterOrder::FollowAll);
    let member = Member { user: "ann".into(), info: None };
    two.order(ClusterOrder::Member { name: "chat.hall".into(), member, step: MemberStep::Comes });
    one.follow("chat.hall", Keeping::Nothing);
    two.follow("late", Keeping::Nothing);
    until_heard(&mut [&mut one, &mut two], 0, "came 2");
    let read_on =
        |two: &Node| two.heard.iter().filter(|heard| heard.starts_with("announced")).count();
    // A subscription is in force when something said after it was answered.
    two.read("x", 1, 0, 1);
    until(&mut [&mut one, &mut two], "a read", |nodes| {
        nodes[1].heard.iter().any(|heard| heard.starts_with("history x"))
    });
    one.order(announce("chat.hall"));
    one.order(announce("any"));
    until_heard(&mut [&mut one, &mut two], 1, "announced any hi");
    assert_eq!(read_on(&two), 3, "each once: {:?}", two.heard);
}

#[test]
fn all_nodes_see_one_order_and_one_history() {
    let Some(server) = Server::start(&[]) else { return };
    let (mut one, mut two) =
        (Node::new(plan(1, server.port, "v")), Node::new(plan(2, server.port, "v")));
    for node in [&mut one, &mut two] {
        node.follow("a", Keeping::History);
    }
    until_ready(&mut [&mut one, &mut two]);
    one.commit("a", "one", 1);
    two.commit("a", "two", 2);
    one.commit("b", "else", 3);
    let committed = |node: &Node| -> Vec<String> {
        node.heard.iter().filter(|heard| heard.starts_with("committed")).cloned().collect()
    };
    until(&mut [&mut one, &mut two], "both messages", |nodes| {
        nodes.iter().all(|node| committed(node).len() == 2)
    });
    assert_eq!(committed(&one), committed(&two));
    until(&mut [&mut one, &mut two], "all results", |nodes| {
        let results = nodes.iter().flat_map(|node| &node.heard);
        results.filter(|heard| heard.starts_with("result")).count() == 3
    });
    for number in 3..6 {
        two.commit("a", &number.to_string(), number);
    }
    until(&mut [&mut one, &mut two], "five messages", |nodes| {
        nodes.iter().all(|node| committed(node).len() == 5)
    });
    two.read("a", 7, 0, 2);
    until(&mut [&mut two], "a part", |nodes| {
        nodes[0].heard.iter().any(|heard| heard.starts_with("history a 7"))
    });
    let Some(ClusterNews::History { part, .. }) =
        two.news.iter().find(|news| matches!(news, ClusterNews::History { .. }))
    else {
        panic!()
    };
    // Three are kept of a channel.
    let texts: Vec<&[u8]> = part.messages.iter().map(|message| message.body.bytes()).collect();
    assert_eq!(texts, [b"3", b"4"]);
    assert_eq!(part.complete_after, part.messages[0].number - 1);
    assert_eq!((part.rest, part.last), (channels::Remainder::Some, part.messages[1].number));
    assert!(part.messages[0].age_ms < 20_000);
    let last = part.last;
    let of_committed = two.news.iter().find_map(|news| match news {
        ClusterNews::Committed { position, .. } => Some(position.epoch),
        _ => None,
    });
    assert_eq!(Some(part.epoch), of_committed);
    two.read("a", 8, last, 9);
    two.read("nothing", 9, 0, 9);
    until(&mut [&mut two], "parts", |nodes| {
        nodes[0].heard.iter().filter(|heard| heard.starts_with("history")).count() == 3
    });
    let rest = two.heard.iter().find(|heard| heard.starts_with("history a 8")).unwrap();
    assert!(rest.contains(&format!("after {last} [")) && rest.contains(" 5\"] to "), "{rest}");
    let none = two.heard.iter().find(|heard| heard.starts_with("history nothing 9")).unwrap();
    assert!(none.contains(" [] to "), "{none}");
}

#[test]
fn a_repeated_message_is_added_once_and_has_one_position() {
    let Some(server) = Server::start(&[]) else { return };
    let (mut one, mut two) =
        (Node::new(plan(1, server.port, "v")), Node::new(plan(2, server.port, "v")));
    until_ready(&mut [&mut one, &mut two]);
    for (node, commit) in [(&mut one, 1), (&mut two, 2)] {
        let offer = Offer { body: Payload::of_text("x"), key: Some("key".into()) };
        node.order(ClusterOrder::Commit { name: "a".into(), offer, commit });
    }
    until_heard(&mut [&mut one, &mut two], 0, "result 1 1");
    until_heard(&mut [&mut one, &mut two], 1, "result 2 1");
}

#[test]
fn streams_that_were_lost_get_a_new_epoch_and_waiting_commits_are_added() {
    let Some(server) = Server::start(&[]) else { return };
    let port = server.port;
    let mut one = Node::new(plan(1, port, "v"));
    one.follow("a", Keeping::History);
    until_ready(&mut [&mut one]);
    one.commit("a", "one", 1);
    until_heard(&mut [&mut one], 0, "committed a 0 1 one");
    drop(server);
    until_heard(&mut [&mut one], 0, "away");
    one.commit("a", "two", 2);
    let _server = Server::start_at(port, &[]).unwrap();
    one.heard.clear();
    until_heard(&mut [&mut one], 0, "committed a 0 1 two");
    until_heard(&mut [&mut one], 0, "result 2 1");
    let epochs: Vec<u64> = one
        .news
        .iter()
        .filter_map(|news| match news {
            ClusterNews::Committed { position, .. } => Some(position.epoch),
            _ => None,
        })
        .collect();
    assert_eq!(epochs.len(), 2);
    assert_ne!(epochs[0], epochs[1]);
}

#[test]
fn nodes_know_and_ask_each_other() {
    let Some(server) = Server::start(&[]) else { return };
    let (mut one, mut two) =
        (Node::new(plan(1, server.port, "v")), Node::new(plan(2, server.port, "v")));
    until_ready(&mut [&mut one]);
    until_ready(&mut [&mut two]);
    until_heard(&mut [&mut one, &mut two], 0, "came 2");
    until_heard(&mut [&mut one, &mut two], 1, "came 1");
    let question = ClusterQuestion::Subscribers(SubscriberQuery::Patterns);
    one.order(ClusterOrder::Ask { query: 5, to: None, question });
    until(&mut [&mut one, &mut two], "a question", |nodes| {
        nodes[1].news.iter().any(|news| matches!(news, ClusterNews::Asked { .. }))
    });
    let asked = two.news.iter().find_map(|news| match news {
        ClusterNews::Asked { from, .. } => Some(from.clone()),
        _ => None,
    });
    let answer =
        ClusterAnswer::Found(Findings { counts: vec![("n*".into(), 1)], ..Findings::default() });
    two.order(ClusterOrder::Answer { to: asked.unwrap(), answer });
    until_heard(&mut [&mut one, &mut two], 0, "over 5");
    assert!(
        one.heard.iter().any(|heard| heard.starts_with("answered 5 2 Found")),
        "{:?}",
        one.heard
    );
    two.link.leave();
    until_heard(&mut [&mut one, &mut two], 0, "gone 2");
}

#[test]
fn credentials_of_each_kind_are_accepted_and_wrong_ones_named() {
    const SEED: &str = "SUAPM67TC4RHQLKBX55NIQXSMATZDOZK6FNEOSS36CAYA7F7TY66LP4BOM";
    const PUBLIC: &str = "UCNGL4W5QX66CFX6A6DCBVDH5VOHMI7B2UZZU7TXAUQQSI2JPHULCKBR";
    let password = |password: &str| NatsCredentials {
        login: Some(NatsLogin { user: "u".into(), password: password.into() }),
        ..NatsCredentials::default()
    };
    let token =
        |token: &str| NatsCredentials { token: Some(token.into()), ..NatsCredentials::default() };
    let directory = std::env::temp_dir();
    let file = directory.join(format!("velodrome-nkey-{}.conf", std::process::id()));
    std::fs::write(&file, format!("authorization {{ users: [ {{ nkey: {PUBLIC} }} ] }}")).unwrap();
    let by_key = ["-c", file.to_str().unwrap()];
    let key = NatsCredentials {
        key: Some(UserKey::of_seed(SEED).unwrap()),
        ..NatsCredentials::default()
    };
    for (arguments, right, wrong) in [
        (&["--user", "u", "--pass", "secret"][..], password("secret"), password("other")),
        (&["--auth", "token"][..], token("token"), token("x")),
        (&by_key[..], key, NatsCredentials::default()),
    ] {
        let Some(server) = Server::start(arguments) else { return };
        for (credentials, is_right) in [(right, true), (wrong, false)] {
            let plan = plan(1, server.port, "v");
            let mut plan = Arc::into_inner(plan).unwrap();
            plan.credentials = credentials;
            let mut one = Node::new(Arc::new(plan));
            if is_right {
                until_ready(&mut [&mut one]);
            } else {
                until(&mut [&mut one], "a refusal", |nodes| {
                    nodes[0].link.problem().is_some_and(|why| why.contains("credentials"))
                });
            }
        }
    }
    std::fs::remove_file(file).unwrap();
}
