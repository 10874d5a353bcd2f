//! Goal: a store with a role knows it, whatever happens to its server, and says what it may do. Method: Redis and HTTP
//! clients against the built server, with the verbs that an operator has.

use std::net::TcpStream;
use std::process::{Command, Output};

use conformance::RequestKind;

use crate::server::channel::{connect, resp, say};
use crate::server::client::head;
use crate::server::{PROGRAM, Plan, Server, errors_of, printed_by, run};

fn plan(config: &str) -> Plan {
    let plan = Plan::new().argument("--listen-resp=127.0.0.1:0");
    let store = format!("--store={}", plan.directory.join("store").display());
    plan.argument(&store).config(config)
}

fn of_role(role: &str) -> String {
    format!(
        "[store]\nrole = \"{role}\"\n[[database]]\nname = \"0\"\nhttp = true\n[cluster]\nservers = \
         [\"nats://127.0.0.1:1\"]\n"
    )
}

fn ask(stream: &mut TcpStream, line: &str) -> String {
    let heard = say(stream, format!("{line}\r\nPING the-end\r\n").as_bytes(), b"the-end\r\n");
    let text = String::from_utf8_lossy(&heard).into_owned();
    text.strip_suffix("\r\n$7\r\nthe-end\r\n").unwrap().to_owned()
}

fn promote(server: &Server) -> Output {
    let mut command = Command::new(PROGRAM);
    run(command.args(["store", "promote", "--socket"]).arg(server.plan.socket()))
}

/// The numbers of the store's writer.
fn number(server: &Server, name: &str) -> u64 {
    server.told("/stats")["store_writer"][name].as_u64().unwrap()
}

#[test]
fn a_leader_is_one_after_it_was_killed_and_whatever_its_configuration_says() {
    let mut server = plan(&of_role("leader")).start();
    for written in 1..4 {
        let mut client = connect(resp(&server));
        assert_eq!(ask(&mut client, &format!("SET key {written}")), "+OK");
        assert_eq!(ask(&mut client, "GET key"), format!("$1\r\n{written}"));
        crate::server::patience::until("the record is counted", || {
            (number(&server, "record") == written).then_some(())
        });
        assert_eq!((number(&server, "leads"), number(&server, "term")), (1, 1));
        let refused = promote(&server);
        assert_eq!(refused.status.code(), Some(1));
        assert!(errors_of(&refused).contains("the store is the leader"), "{refused:?}");
        // The configuration has the role of a new store.
        server
            .plan
            .directory
            .write("velodrome.toml", crate::server::configuration(&of_role("replica")));
        server = server.kill_and_restart();
    }
}

#[test]
fn a_replica_without_a_leader_is_read_and_says_why_it_does_not_write() {
    let server = plan(&of_role("replica")).start();
    let mut client = connect(resp(&server));
    assert_eq!(ask(&mut client, "GET key"), "$-1");
    let away = "-MASTERDOWN the leader of the store is away; nothing was written";
    assert_eq!(ask(&mut client, "SET key 1"), away);
    let mut http = server.client();
    let request = head("PUT", "/store/0/key", &[("Content-Length", "1")]);
    http.send([request.as_bytes(), b"1"].concat()).unwrap();
    assert_eq!(http.response(RequestKind::Other).unwrap().status, 503);
    let status = server.told("/status");
    assert_eq!(status["store"]["role"], "replica", "{status}");
    assert_eq!(status["store"]["hears_leader"], false);
    let refused = promote(&server);
    assert!(errors_of(&refused).contains("no records of a leader yet"), "{refused:?}");
}

#[test]
fn a_store_with_records_of_its_own_is_not_made_a_replica() {
    let server = plan("[store]\n").start();
    assert_eq!(ask(&mut connect(resp(&server)), "SET key 1"), "+OK");
    server
        .plan
        .directory
        .write("velodrome.toml", crate::server::configuration(&of_role("replica")));
    let store = format!("--store={}", server.plan.directory.join("store").display());
    let config = server.plan.directory.join("velodrome.toml");
    let mut command = Command::new(PROGRAM);
    command.args(["serve", "--listen=127.0.0.1:0"]).arg(store).arg("--config").arg(config);
    let refused = run(&mut command);
    assert!(errors_of(&refused).contains("give it an empty directory"), "{refused:?}");
}

#[test]
fn a_role_needs_writes_that_wait_for_the_disk() {
    let plan = plan("[store]\npath = \"data\"\nrole = \"leader\"\nsync = \"interval\"\n");
    let mut command = Command::new(PROGRAM);
    let checked =
        run(command.arg("check").arg("--config").arg(plan.directory.join("velodrome.toml")));
    let told = printed_by(&checked) + &errors_of(&checked);
    assert!(told.contains("`role` in [store] needs `sync = \"commit\"` or `\"log\"`"), "{told}");
}

#[test]
fn a_leader_without_its_role_says_what_becomes_of_its_replicas() {
    let server = plan(&of_role("leader")).start();
    server.plan.directory.write("velodrome.toml", crate::server::configuration("[store]\n"));
    let server = server.kill_and_restart();
    let told = server.printed_errors();
    assert!(told.contains("the store leads others: they do not hear"), "{told}");
    assert_eq!(ask(&mut connect(resp(&server)), "SET key 1"), "+OK");
}
