//! Goal: a server without free descriptors waits for some: it neither spins nor exits nor floods its log,
//! and recovers when there is room. Method: a low limit, and connections that are held open.

use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::server::client::{Client, head, text};
use crate::server::patience::until;
use crate::server::{Plan, Server, has, run};

/// One scheduler, so that few connections reach the limit. It has its own descriptor table, so the control socket is
/// not affected.
const CONFIG: &str = "schedulers = 1\n[pages]\ndeadline = \"10m\"\n";

/// Connections that a test opens: more than the limit of descriptors.
const CONNECTIONS: usize = 400;

/// A request that waits, so its connection is in use.
const WAIT: &str = "<% sleep(tonumber(request.query.seconds)) -%>waited";

fn limited(limit: u32) -> Server {
    let limit = format!("ulimit -n {limit} && exec \"$@\"");
    Plan::new()
        .config(CONFIG)
        .file("a.txt", "a\n")
        .file("wait.page.txt", WAIT)
        .wrapped(&["sh", "-c", &limit, "sh"])
        .start()
}

/// Connections whose requests wait for their answer: they are in use, so none is closed in favour of another.
fn occupy(server: &Server) -> Vec<Client> {
    let mut clients = Vec::new();
    for number in 0..CONNECTIONS {
        // The first one is answered while all others wait.
        let seconds = if number == 0 { 4 } else { 500 };
        let asked = head("GET", &format!("/wait?seconds={seconds}"), &[]);
        // The kernel completes connections that the server does not accept, up to the backlog.
        let mut client = server.client();
        client.send(&asked).unwrap();
        clients.push(client);
    }
    clients
}

/// CPU time of a process, in clock ticks of a hundredth of a second.
fn processor_ticks(process: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    // The name may contain spaces; fields 14 and 15 of proc(5) follow its bracket.
    let behind = stat.rsplit_once(')').unwrap().1;
    let fields: Vec<&str> = behind.split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

/// The limit is known from the start: this many connections are never accepted.
#[test]
fn under_a_low_limit_it_waits_and_recovers() {
    wait_and_recover(limited(300));
}

/// The limit is found in the kernel, as when all processes together have used up all descriptors.
#[test]
fn out_of_descriptors_it_waits_and_recovers() {
    if !has("prlimit", "out_of_descriptors_it_waits_and_recovers") {
        return;
    }
    let server =
        Plan::new().config(CONFIG).file("a.txt", "a\n").file("wait.page.txt", WAIT).start();
    // The first request opens files that are opened once.
    assert_eq!(text(&server.get("/a.txt")), "a\n");
    let process = format!("--pid={}", server.id());
    let output = run(Command::new("prlimit").args([&process, "--nofile=100:100"]));
    assert!(output.status.success(), "{output:?}");
    wait_and_recover(server);
}

/// The lines that it has printed so far, apart from events: those of this, and of a machine that others keep busy.
fn lines_of_pauses(server: &Server) -> Vec<String> {
    let printed = server.printed_errors();
    printed.lines().filter(|line| !line.contains(": event ")).map(str::to_owned).collect()
}

fn wait_and_recover(mut server: Server) {
    let mut clients = occupy(&server);
    until("accepting to pause", || (server.count("/network/accept_pauses") > 0).then_some(()));
    // Retrying is pointless, so the server must not use CPU time.
    let ticks = processor_ticks(server.id());
    let began = Instant::now();
    let told = lines_of_pauses(&server);
    until("two seconds to pass", || (began.elapsed() >= Duration::from_secs(2)).then_some(()));
    let spent = processor_ticks(server.id()) - ticks;
    assert!(spent <= 20, "{spent} hundredths of a second in two seconds");
    assert!(server.is_running());
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("accepting pauses") && told[0].contains("ulimit -n"), "{told:?}");
    // Connections that were accepted are served in the meantime.
    let response = clients[0].response(conformance::RequestKind::Other).unwrap();
    assert_eq!(text(&response), "waited");
    drop(clients);
    until("an answer when there is room", || {
        let mut client = Client::connect(server.address()).ok()?;
        client.get("/a.txt").ok().filter(|response| response.status == 200)
    });
    assert_eq!(lines_of_pauses(&server), told, "not said again");
    server.signal("TERM");
    assert!(server.wait().success());
}

/// Idle connections are closed for new ones.
#[test]
fn idle_connections_give_way() {
    let server = limited(300);
    let mut idle: Vec<Client> = Vec::new();
    for number in 0..CONNECTIONS {
        let mut client = server.client();
        let response = client.get("/a.txt").unwrap_or_else(|error| panic!("{number}: {error}"));
        assert_eq!(text(&response), "a\n", "connection {number}");
        idle.push(client);
    }
    until("some to be closed", || (server.count("/closed/evicted") > 0).then_some(()));
    let (_, end) = idle[0].rest().unwrap();
    assert_eq!(end, crate::server::client::End::Closed, "the longest idle one went first");
    assert_eq!(text(&idle.last_mut().unwrap().get("/a.txt").unwrap()), "a\n");
}

#[test]
fn the_limit_of_connections_is_kept() {
    const LIMIT: u64 = 50;
    let config = format!("{CONFIG}[limits]\nconnections = {LIMIT}\n");
    let server =
        Plan::new().config(&config).file("a.txt", "a\n").file("wait.page.txt", WAIT).start();
    let held: Vec<TcpStream> = occupy(&server).into_iter().map(|client| client.stream).collect();
    until("the limit to be reached", || (server.count("/connections") >= LIMIT).then_some(()));
    assert_eq!(server.count("/network/connections_max"), LIMIT);
    drop(held);
    until("room", || (server.count("/connections") == 0).then_some(()));
    assert_eq!(text(&server.get("/a.txt")), "a\n");
}

/// With few descriptors most of them are for connections; with fewer than that the server does not start.
#[test]
fn a_low_limit_of_descriptors_leaves_most_of_them_to_connections() {
    let server = limited(200);
    let held: Vec<Client> = (0..150).map(|_| server.client()).collect();
    until("all to be accepted", || (server.count("/connections") >= 150).then_some(()));
    assert_eq!(server.count("/closed/evicted"), 0);
    drop(held);
    let limit = "ulimit -n 63 && exec \"$@\"";
    let refused = Plan::new().file("a.txt", "a").wrapped(&["sh", "-c", limit, "sh"]).fail();
    let told = crate::server::errors_of(&refused);
    assert!(
        told.contains("has 63 descriptors, and needs 64: raise the limit (ulimit -n"),
        "{told}"
    );
}
