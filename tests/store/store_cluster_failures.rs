//! Goal: what a store with replicas promises when something breaks. Method: the built servers and a real NATS, which
//! are paused, killed, emptied or promoted; skipped where `nats-server` is not installed.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::server::channel::{connect, resp, say};
use crate::server::nats::Nats;
use crate::server::patience::until;
use crate::server::{PROGRAM, Server, configuration, errors_of, printed_by, run};

use super::store_cluster::{ask, node, redis, until_read};

/// Writes keys with this beginning, each acknowledged, on one connection.
pub(crate) fn write(server: &Server, beginning: &str, count: u64) {
    let mut client = connect(resp(server));
    for number in 0..count {
        assert_eq!(ask(&mut client, &format!("SET {beginning}{number} {number}")), "+OK");
    }
}

/// Waits until a server has all of them.
pub(crate) fn until_has(server: &Server, beginning: &str, count: u64) {
    until_read(server, &format!("{beginning}{}", count - 1), &(count - 1).to_string());
    let mut client = connect(resp(server));
    let keys: String = (0..count).map(|number| format!(" {beginning}{number}")).collect();
    assert_eq!(ask(&mut client, &format!("EXISTS{keys}")), format!(":{count}"));
}

/// A number of the writer of a store.
fn number(server: &Server, name: &str) -> u64 {
    server.told("/stats")["store_writer"][name].as_u64().unwrap()
}

pub(crate) fn until_number(server: &Server, name: &str, value: u64) {
    until(&format!("{name} {value}"), || (number(server, name) == value).then_some(()));
}

/// Waits until the log says this.
pub(crate) fn until_told(server: &Server, text: &str) {
    until(text, || server.printed_errors().contains(text).then_some(()));
}

/// The files that a store has set aside.
pub(crate) fn aside_of(server: &Server) -> Vec<PathBuf> {
    let all = fs::read_dir(server.directory().join("store")).unwrap();
    let all = all.map(|entry| entry.unwrap().path());
    all.filter(|path| path.file_name().unwrap().as_encoded_bytes().starts_with(b"aside-")).collect()
}

fn until_connected(server: &Server) {
    until("to be connected", || {
        (server.told("/status")["cluster"]["state"] == "connected").then_some(())
    });
}

#[test]
fn a_replica_that_starts_later_or_was_emptied_takes_what_the_leader_has() {
    let test = "a_replica_that_starts_later_or_was_emptied_takes_what_the_leader_has";
    let Some(nats) = Nats::start(test) else { return };
    let leader = node(&nats, "leader", "leader");
    write(&leader, "early", 50);
    let mut replica = node(&nats, "one", "replica");
    until_has(&replica, "early", 50);
    replica.signal("KILL");
    replica.wait();
    fs::remove_dir_all(replica.directory().join("store")).unwrap();
    write(&leader, "later", 50);
    let replica = replica.launch_again().stand();
    until_has(&replica, "later", 50);
    until_has(&replica, "early", 50);
    until_told(&replica, "the store has the snapshot");
}

#[test]
fn a_replica_catches_up_when_nats_is_back() {
    let test = "a_replica_catches_up_when_nats_is_back";
    let Some(mut nats) = Nats::start(test) else { return };
    let leader = node(&nats, "leader", "leader");
    write(&leader, "before", 1);
    let replica = node(&nats, "one", "replica");
    until_has(&replica, "before", 1);
    nats.signal("STOP");
    write(&leader, "paused", 20);
    nats.signal("CONT");
    until_has(&replica, "paused", 20);
    // The messages on their way are lost with it.
    nats.kill();
    write(&leader, "ended", 20);
    assert_eq!(redis(&replica, "GET ended19"), "$-1");
    nats.start_again();
    until_has(&replica, "ended", 20);
    assert_eq!(redis(&replica, "SET back 1"), "+OK");
}

/// Ends writers, also when the test fails.
struct StopsAtEnd<'a>(&'a AtomicBool);

impl Drop for StopsAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Writes keys with this beginning until told to stop. Returns how many; each was acknowledged, and read back.
fn write_until(server: &Server, beginning: &str, stop: &AtomicBool) -> u64 {
    let (mut client, mut number) = (connect(resp(server)), 0);
    while !stop.load(Ordering::Relaxed) {
        let key = format!("{beginning}{number}");
        assert_eq!(ask(&mut client, &format!("SET {key} {number}")), "+OK", "{key}");
        let length = number.to_string().len();
        assert_eq!(ask(&mut client, &format!("GET {key}")), format!("${length}\r\n{number}"));
        number += 1;
    }
    number
}

#[test]
fn a_leader_that_is_well_hands_over_while_clients_of_all_servers_write() {
    let test = "a_leader_that_is_well_hands_over_while_clients_of_all_servers_write";
    let Some(nats) = Nats::start(test) else { return };
    let servers = [node(&nats, "leader", "leader"), node(&nats, "replica", "replica")];
    let [leader, replica] = &servers;
    write(leader, "first", 5);
    until_has(replica, "first", 5);
    let stop = AtomicBool::new(false);
    let counts = std::thread::scope(|scope| {
        let stops = StopsAtEnd(&stop);
        let names = ["at-first", "at-second"];
        let writers: Vec<_> = servers
            .iter()
            .zip(names)
            .map(|(server, name)| scope.spawn(|| write_until(server, name, &stop)))
            .collect();
        let mut terms = Vec::new();
        for (old, next) in [(leader, replica), (replica, leader), (leader, replica)] {
            let (before, mut promote) = (number(next, "record"), Command::new(PROGRAM));
            until("more was written", || (number(next, "record") > before + 20).then_some(()));
            let promoted =
                run(promote.args(["store", "promote", "--socket"]).arg(next.plan.socket()));
            terms.push(printed_by(&promoted));
            until_number(old, "leads", 0);
        }
        let record = number(replica, "record");
        until("more was written", || (number(replica, "record") > record + 20).then_some(()));
        drop(stops);
        for (term, told) in (2..).zip(terms) {
            let begin = format!("the store leads in term {term}: the last leader has handed over");
            assert!(told.starts_with(&begin), "{told}");
        }
        writers.into_iter().map(|writer| writer.join().unwrap()).collect::<Vec<_>>()
    });
    for server in &servers {
        until_has(server, "at-first", counts[0]);
        until_has(server, "at-second", counts[1]);
        assert_eq!(aside_of(server), Vec::<PathBuf>::new());
    }
}

#[test]
fn a_replica_is_promoted_and_the_old_leader_sets_aside_what_nobody_got() {
    let test = "a_replica_is_promoted_and_the_old_leader_sets_aside_what_nobody_got";
    let Some(mut nats) = Nats::start(test) else { return };
    let leader = node(&nats, "leader", "leader");
    write(&leader, "shared", 5);
    let (one, two) = (node(&nats, "one", "replica"), node(&nats, "two", "replica"));
    until_has(&one, "shared", 5);
    until_has(&two, "shared", 5);
    nats.kill();
    write(&leader, "unsent", 3);
    leader.signal("STOP");
    nats.start_again();
    until_connected(&one);
    until_connected(&two);
    let mut promote = Command::new(PROGRAM);
    let promoted = run(promote.args(["store", "promote", "--socket"]).arg(one.plan.socket()));
    assert!(promoted.status.success(), "{}", errors_of(&promoted));
    assert_eq!(printed_by(&promoted), "the store leads in term 2\n");
    write(&one, "new", 5);
    until_has(&two, "new", 5);
    assert_eq!(redis(&two, "SET forwarded 1"), "+OK");
    leader.signal("CONT");
    until_number(&leader, "leads", 0);
    until_has(&leader, "new", 5);
    assert_eq!(redis(&leader, "GET unsent0"), "$-1", "it has the new history");
    assert_eq!(redis(&leader, "SET from-old 1"), "+OK", "its new leader executes it");
    until_read(&one, "from-old", "1");
    let aside = aside_of(&leader);
    let [aside] = aside.as_slice() else { panic!("{aside:?}") };
    assert!(aside.extension().is_some_and(|kind| kind == "records"), "{aside:?}");
    until_told(&leader, aside.file_name().unwrap().to_str().unwrap());
    let shown = run(Command::new(PROGRAM).args(["store", "changes"]).arg(aside));
    assert!(shown.status.success(), "{}", errors_of(&shown));
    let shown = printed_by(&shown);
    for (line, key) in shown.lines().zip(["unsent0", "unsent1", "unsent2"]) {
        let change: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!((&change["database"], &change["key"]), (&"0".into(), &key.into()), "{shown}");
        assert!(change["record"].as_u64() > Some(5) && change["value"].is_string(), "{shown}");
    }
    assert_eq!(shown.lines().count(), 3, "{shown}");
    until_told(&leader, "follows the leader of term 2");
    // Also after its end, whatever its configuration says.
    let leader = leader.kill_and_restart();
    until_told(&leader, "the store is a replica, whatever `role` says");
    until_number(&leader, "hears_leader", 1);
    assert_eq!((number(&leader, "leads"), number(&leader, "term")), (0, 2));
    until_read(&leader, "from-old", "1");
    leader.plan.directory.write("velodrome.toml", configuration("[store]\n"));
    let leader = leader.kill_and_restart();
    until_told(&leader, "the store is a replica: it hears nothing of its leader");
    assert!(redis(&leader, "SET from-old 2").starts_with("-READONLY"));
}

#[test]
fn no_acknowledged_write_is_lost_if_the_leader_is_killed() {
    let test = "no_acknowledged_write_is_lost_if_the_leader_is_killed";
    let Some(nats) = Nats::start(test) else { return };
    let leader = node(&nats, "leader", "leader");
    let replica = node(&nats, "one", "replica");
    until_number(&replica, "hears_leader", 1);
    std::thread::scope(|scope| {
        scope.spawn(|| write(&leader, "own", 100));
        scope.spawn(|| write(&replica, "forwarded", 100));
    });
    let leader = leader.kill_and_restart();
    until_has(&leader, "own", 100);
    until_has(&leader, "forwarded", 100);
    until_has(&replica, "own", 100);
    // And the replica writes again.
    until_number(&replica, "hears_leader", 1);
    until("the new connection of the leader", || {
        (redis(&replica, "SET again 1") == "+OK").then_some(())
    });
    until_read(&leader, "again", "1");
}

#[test]
fn a_replica_that_ends_in_order_answers_the_writes_that_wait_for_the_leader() {
    let test = "a_replica_that_ends_in_order_answers_the_writes_that_wait_for_the_leader";
    let Some(nats) = Nats::start(test) else { return };
    let leader = node(&nats, "leader", "leader");
    let mut replica = node(&nats, "one", "replica");
    write(&leader, "before", 1);
    until_has(&replica, "before", 1);
    nats.signal("STOP");
    let sent = || replica.count("/cluster/mail_sent");
    let before = sent();
    let mut client = connect(resp(&replica));
    client.write_all(b"SET waits 1\r\n").unwrap();
    until("the order to be sent", || (sent() > before).then_some(()));
    replica.signal("TERM");
    until("its listener to close", || TcpStream::connect(replica.address()).is_err().then_some(()));
    nats.signal("CONT");
    say(&mut client, b"", b"+OK\r\n");
    assert!(replica.wait().success());
    assert_eq!(redis(&leader, "GET waits"), "$1\r\n1");
}

#[test]
fn a_role_needs_a_cluster() {
    let plan = crate::server::Plan::new().config("[store]\npath = \"data\"\nrole = \"leader\"\n");
    let config = plan.directory.join("velodrome.toml");
    for verb in ["check", "serve"] {
        let refused = run(Command::new(PROGRAM).arg(verb).arg("--config").arg(&config));
        let told = printed_by(&refused) + &errors_of(&refused);
        assert!(!refused.status.success(), "{told}");
        assert!(told.contains("`role` in [store] needs a [cluster]"), "{told}");
    }
}

#[test]
fn a_leader_that_ends_in_order_sends_its_replicas_what_it_has_acknowledged() {
    let test = "a_leader_that_ends_in_order_sends_its_replicas_what_it_has_acknowledged";
    let Some(nats) = Nats::start(test) else { return };
    let leader = node(&nats, "leader", "leader");
    let replica = node(&nats, "one", "replica");
    write(&leader, "first", 1);
    until_has(&replica, "first", 1);
    let counts: Vec<u64> = std::thread::scope(|scope| {
        let writers: Vec<_> = ["a", "b", "c", "d"]
            .map(|beginning| scope.spawn(|| write_until_it_ends(&leader, beginning)))
            .into_iter()
            .collect();
        until("writes", || (number(&leader, "record") > 100).then_some(()));
        leader.signal("TERM");
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    for (beginning, count) in ["a", "b", "c", "d"].into_iter().zip(counts) {
        assert!(count > 0);
        until_has(&replica, beginning, count);
    }
}

/// Writes on one connection until the server closes it, and returns how many writes were acknowledged.
fn write_until_it_ends(server: &Server, beginning: &str) -> u64 {
    let mut client = connect(resp(server));
    for number in 0.. {
        let order = format!("SET {beginning}{number} {number}\r\n");
        let mut answer = [0; 5];
        let answered =
            client.write_all(order.as_bytes()).and_then(|()| client.read_exact(&mut answer));
        if answered.is_err() || &answer != b"+OK\r\n" {
            return number;
        }
    }
    unreachable!("the server ends before the numbers do")
}
