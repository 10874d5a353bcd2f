//! Goal: memory of a load that has gone is given back to the kernel, without a restart and without another load.
//! Method: the built server, many unfinished requests, and its resident memory.

use std::time::Duration;

use crate::server::patience::{until, within};
use crate::server::{Plan, Server};

/// Connections, and bytes of the head that each has sent: more than the server needs by itself.
const CONNECTIONS: usize = 2_000;
const HEAD: usize = 7_000;

/// Long enough for a machine on which others work: the server decides every five seconds whether it is quiet.
const WAIT: Duration = Duration::from_secs(120);

fn resident(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
fn memory_of_a_load_that_has_gone_is_given_back() {
    let server = Plan::new().argument("--schedulers=1").start();
    let before = resident(&server);
    let head = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}", "y".repeat(HEAD));
    for _ in 0..2 {
        let mut clients: Vec<_> = (0..CONNECTIONS).map(|_| server.client()).collect();
        for client in &mut clients {
            client.send(&head).unwrap();
        }
        let loaded = (CONNECTIONS * HEAD) as u64;
        until("the memory of the load", || (resident(&server) > before + loaded / 2).then_some(()));
        drop(clients);
        within(WAIT, "the memory to be given back", || {
            (resident(&server) < before + loaded / 4).then_some(())
        });
    }
}
