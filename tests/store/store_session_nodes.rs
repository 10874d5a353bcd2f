//! Goal: a session in the store of a cluster is one session on all of its servers: begun, changed and ended on any, and
//! once it has ended it does not come back. Method: three built servers and a real NATS; skipped where `nats-server` is
//! not installed.

use std::io::Write;
use std::process::Command;

use conformance::ParsedResponse;

use crate::server::channel::{connect, say};
use crate::server::client::{field, text};
use crate::server::nats::Nats;
use crate::server::patience::until;
use crate::server::{PROGRAM, Plan, Server, errors_of, run};

use super::store_cluster::{redis, until_read};
use super::store_sessions::{ADD, LOGIN, OUT, SLOW, WHO, cookie};

const LAPS: &str = "<%= request.session.laps or 0 %>";

/// A node with the pages of a site, which is connected.
fn node(nats: &Nats, name: &str, role: &str) -> Server {
    let config = format!(
        "[pages]\nsessions = \"store\"\n[store]\nrole = \"{role}\"\n{}",
        nats.section(name)
    );
    let pages = [
        ("login", LOGIN),
        ("add", ADD),
        ("laps", LAPS),
        ("who", WHO),
        ("out", OUT),
        ("slow", SLOW),
    ];
    let plan = Plan::new().argument("--listen-resp=127.0.0.1:0").argument("--schedulers=2");
    let store = format!("--store={}", plan.directory.join("store").display());
    let plan =
        pages.iter().fold(plan, |plan, (name, page)| plan.file(&format!("{name}.page.txt"), page));
    let server = plan.argument(&store).argument("--no-pin").config(&config).start();
    server.reaches("/cluster/connected", 2);
    server
}

/// A leader and two replicas that follow it.
fn three(nats: &Nats) -> [Server; 3] {
    let leader = node(nats, "leader", "leader");
    assert_eq!(redis(&leader, "SET first 1"), "+OK");
    let replicas = ["one", "two"].map(|name| node(nats, name, "replica"));
    replicas.iter().for_each(|replica| until_read(replica, "first", "1"));
    let [one, two] = replicas;
    [leader, one, two]
}

fn get(server: &Server, path: &str, session: &str) -> ParsedResponse {
    let response = server.request("GET", path, &[("Cookie", &format!("session={session}"))]);
    assert_eq!(response.status, 200, "{path}: {}", server.printed_errors());
    response
}

/// Waits until a server knows a session with so many laps.
fn until_laps(server: &Server, session: &str, laps: usize) {
    let wanted = laps.to_string();
    until("laps", || (text(&get(server, "/laps", session)) == wanted).then_some(()));
}

/// Waits until a server knows the session as that of this user.
fn until_user(server: &Server, session: &str, user: &str) {
    until(user, || (text(&get(server, "/who", session)) == user).then_some(()));
}

#[test]
fn a_session_is_begun_changed_and_ended_on_any_server() {
    let test = "a_session_is_begun_changed_and_ended_on_any_server";
    let Some(nats) = Nats::start(test) else { return };
    let servers = three(&nats);
    for (at, begun) in servers.iter().enumerate() {
        let session = cookie(&begun.get("/login?name=Ada")).unwrap();
        // The server that has answered knows it at once, the others as soon as they have heard.
        assert_eq!(text(&get(begun, "/who", &session)), "Ada");
        servers.iter().for_each(|server| until_user(server, &session, "Ada"));
        // Each goes on where the one before it was, as soon as it has heard of it.
        for (turn, server) in servers.iter().enumerate() {
            until_laps(server, &session, turn);
            assert_eq!(text(&get(server, "/add", &session)), (turn + 1).to_string());
            assert_eq!(text(&get(server, "/laps", &session)), (turn + 1).to_string(), "its own");
        }
        let ended = &servers[(at + 1) % 3];
        assert_eq!(cookie(&get(ended, "/out", &session)).unwrap(), "");
        assert_eq!(text(&get(ended, "/who", &session)), "nobody");
        servers.iter().for_each(|server| until_user(server, &session, "nobody"));
    }
}

#[test]
fn a_session_that_was_revoked_elsewhere_does_not_come_back() {
    let test = "a_session_that_was_revoked_elsewhere_does_not_come_back";
    let Some(nats) = Nats::start(test) else { return };
    let [leader, one, two] = three(&nats);
    let session = cookie(&one.get("/login?name=Ada")).unwrap();
    until_user(&two, &session, "Ada");
    // A page of one server has read it, and writes it back after it was revoked on another one.
    let mut slow = connect(two.address());
    let request = format!("GET /slow HTTP/1.1\r\nHost: a\r\nCookie: session={session}\r\n\r\n");
    slow.write_all(request.as_bytes()).unwrap();
    two.reaches("/pages/waiting", 1);
    let keys = redis(&one, "KEYS session:*");
    let key = keys.rsplit("\r\n").next().unwrap();
    assert_eq!(redis(&one, &format!("DEL {key}")), ":1");
    assert_eq!(redis(&one, "SET go 1"), "+OK");
    let answer = String::from_utf8(say(&mut slow, b"", b"slow")).unwrap();
    assert!(answer.contains("Set-Cookie: session=; Path=/; Max-Age=0"), "{answer}");
    for server in [&leader, &one, &two] {
        until_read(server, "go", "1");
        assert_eq!(text(&get(server, "/who", &session)), "nobody");
    }
}

#[test]
fn sessions_stay_when_another_server_leads() {
    let test = "sessions_stay_when_another_server_leads";
    let Some(nats) = Nats::start(test) else { return };
    let [leader, one, two] = three(&nats);
    let session = cookie(&leader.get("/login?name=Ada")).unwrap();
    until_user(&one, &session, "Ada");
    until_user(&two, &session, "Ada");
    leader.signal("KILL");
    // Replicas know who is who while nobody leads.
    assert_eq!(text(&get(&two, "/who", &session)), "Ada");
    let mut promote = Command::new(PROGRAM);
    let promoted = run(promote.args(["store", "promote", "--socket"]).arg(one.plan.socket()));
    assert!(promoted.status.success(), "{}", errors_of(&promoted));
    assert_eq!(redis(&one, "SET led 1"), "+OK");
    until_read(&two, "led", "1");
    assert_eq!(text(&get(&two, "/add", &session)), "1");
    assert_eq!(cookie(&get(&two, "/out", &session)).unwrap(), "");
    until_user(&one, &session, "nobody");
    assert_eq!(field(&get(&one, "/who", &session), "cache-control"), "private");
}
