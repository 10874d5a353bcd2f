//! Goal: a leader and its replicas are one store to clients of all protocols. Method: three built servers with a real
//! NATS between them; skipped where `nats-server` is not installed. `store_cluster_failures` breaks something.

use std::net::TcpStream;

use conformance::RequestKind;

use crate::server::channel::{connect, resp, say};
use crate::server::client::{head, text};
use crate::server::nats::Nats;
use crate::server::patience::until;
use crate::server::{Plan, Server};

/// Writes what the request says, or reads it.
const PAGE: &str = "<% if request.query.value then store.put(request.query.key, request.query.value) end \
                    response:write(tostring(store.get(request.query.key))) %>";

/// A node with a store, which is connected; with a listener for Redis clients.
pub(crate) fn node(nats: &Nats, name: &str, role: &str) -> Server {
    node_in(&nats.section(name), role)
}

/// The same with this section about its cluster.
pub(crate) fn node_in(section: &str, role: &str) -> Server {
    let config =
        format!("[store]\nrole = \"{role}\"\n[[database]]\nname = \"0\"\nhttp = true\n{section}");
    let plan = Plan::new().argument("--listen-resp=127.0.0.1:0").file("page.page.txt", PAGE);
    let store = format!("--store={}", plan.directory.join("store").display());
    let plan = plan.argument(&store).argument("--schedulers=2").argument("--no-pin");
    let server = plan.config(&config).start();
    server.reaches("/cluster/connected", 2);
    server
}

/// A leader and two replicas, which have what it has.
fn three(nats: &Nats) -> [Server; 3] {
    let leader = node(nats, "leader", "leader");
    assert_eq!(redis(&leader, "SET first 1"), "+OK");
    let replicas = ["one", "two"].map(|name| node(nats, name, "replica"));
    replicas.iter().for_each(|replica| until_read(replica, "first", "1"));
    let [one, two] = replicas;
    [leader, one, two]
}

/// The reply to a Redis command.
pub(crate) fn ask(stream: &mut TcpStream, line: &str) -> String {
    let heard = say(stream, format!("{line}\r\nPING the-end\r\n").as_bytes(), b"the-end\r\n");
    let text = String::from_utf8_lossy(&heard).into_owned();
    text.strip_suffix("\r\n$7\r\nthe-end\r\n").unwrap().to_owned()
}

/// The same of a new client.
pub(crate) fn redis(server: &Server, line: &str) -> String {
    ask(&mut connect(resp(server)), line)
}

/// Waits until Redis clients of a server read this.
pub(crate) fn until_read(server: &Server, key: &str, value: &str) {
    let wanted = format!("${}\r\n{value}", value.len());
    let mut client = connect(resp(server));
    until(&format!("{key} to be {value}"), || {
        (ask(&mut client, &format!("GET {key}")) == wanted).then_some(())
    });
}

/// The status of a PUT.
fn put(server: &Server, key: &str, value: &str) -> u16 {
    let length = value.len().to_string();
    let request = head("PUT", &format!("/store/0/{key}"), &[("Content-Length", length.as_str())]);
    let mut client = server.client();
    client.send(request + value).unwrap();
    client.response(RequestKind::Other).unwrap().status
}

/// The text that a page reads after it has written the value, if there is one.
fn page(server: &Server, key: &str, value: Option<&str>) -> String {
    let value = value.map(|value| format!("&value={value}")).unwrap_or_default();
    text(&server.get(&format!("/page?key={key}{value}"))).to_owned()
}

#[test]
fn write_on_the_leader_is_read_on_replicas_by_all_protocols() {
    let test = "write_on_the_leader_is_read_on_replicas_by_all_protocols";
    let Some(nats) = Nats::start(test) else { return };
    let [leader, one, two] = three(&nats);
    assert_eq!(redis(&leader, "SET key by-redis"), "+OK");
    for replica in [&one, &two] {
        until_read(replica, "key", "by-redis");
        assert_eq!(text(&replica.get("/store/0/key")), "by-redis");
        assert_eq!(page(replica, "key", None), "by-redis");
        // The state that `ctl` tells is published at intervals, so it may come after the value.
        until("the replica to tell that it hears its leader", || {
            let store = replica.told("/status")["store"].clone();
            (store["role"] == "replica" && store["hears_leader"] == true).then_some(())
        });
    }
    // A value that is longer than a message of NATS. What was said before there was a connection was dropped.
    let dropped = leader.count("/cluster/mail_dropped");
    let long = "0123456789".repeat(300_000);
    assert_eq!(put(&leader, "long", &long), 204);
    until_read(&one, "long", &long);
    assert!(leader.count("/cluster/mail_sent") > 6);
    assert_eq!(leader.count("/cluster/mail_dropped"), dropped);
}

#[test]
fn a_client_of_a_replica_reads_its_own_writes_and_others_read_them_then() {
    let test = "a_client_of_a_replica_reads_its_own_writes_and_others_read_them_then";
    let Some(nats) = Nats::start(test) else { return };
    let [leader, one, two] = three(&nats);
    for round in 0..10 {
        let mut client = connect(resp(&one));
        assert_eq!(ask(&mut client, &format!("SET redis r{round}")), "+OK");
        assert_eq!(ask(&mut client, "GET redis"), format!("$2\r\nr{round}"));
        assert_eq!(put(&one, "http", &format!("h{round}")), 204);
        assert_eq!(text(&one.get("/store/0/http")), format!("h{round}"));
        assert_eq!(page(&one, "page", Some(&format!("p{round}"))), format!("p{round}"));
        // The next request, on whatever scheduler.
        assert_eq!(page(&one, "page", None), format!("p{round}"));
        assert_eq!(redis(&one, "GET page"), format!("$2\r\np{round}"));
    }
    for server in [&leader, &two] {
        until_read(server, "redis", "r9");
        until_read(server, "http", "h9");
        until_read(server, "page", "p9");
    }
    // One order of all: no increment is lost.
    std::thread::scope(|scope| {
        for server in [&leader, &one, &two] {
            scope.spawn(move || {
                let mut client = connect(resp(server));
                for _ in 0..50 {
                    assert!(ask(&mut client, "INCR count").starts_with(':'));
                }
            });
        }
    });
    for server in [&leader, &one, &two] {
        until_read(server, "count", "150");
    }
}

#[test]
fn keys_expire_on_replicas() {
    let test = "keys_expire_on_replicas";
    let Some(nats) = Nats::start(test) else { return };
    let [leader, one, two] = three(&nats);
    let mut client = connect(resp(&one));
    assert_eq!(ask(&mut client, "SET key 1 EX 1000"), "+OK");
    let left: u64 = ask(&mut client, "TTL key").trim_start_matches(':').parse().unwrap();
    assert!((900..=1_000).contains(&left), "{left}");
    until_read(&two, "key", "1");
    assert_eq!(redis(&leader, "PEXPIRE key 1"), ":1");
    for server in [&leader, &one, &two] {
        let mut client = connect(resp(server));
        until("the key to expire", || (ask(&mut client, "GET key") == "$-1").then_some(()));
    }
}

#[test]
fn a_transaction_on_a_replica_fails_if_a_watched_key_was_changed_elsewhere() {
    let test = "a_transaction_on_a_replica_fails_if_a_watched_key_was_changed_elsewhere";
    let Some(nats) = Nats::start(test) else { return };
    let [leader, one, two] = three(&nats);
    let mut client = connect(resp(&one));
    let transaction = "MULTI\r\nSET first mine\r\nEXEC";
    assert_eq!(ask(&mut client, "WATCH first"), "+OK");
    assert_eq!(ask(&mut client, transaction), "+OK\r\n+QUEUED\r\n*1\r\n+OK");
    assert_eq!(ask(&mut client, "WATCH first"), "+OK");
    // Whether this replica has it already or not.
    assert_eq!(redis(&leader, "SET first theirs"), "+OK");
    assert_eq!(ask(&mut client, transaction), "+OK\r\n+QUEUED\r\n*-1");
    assert_eq!(ask(&mut client, "GET first"), "$6\r\ntheirs");
    until_read(&two, "first", "theirs");
}
