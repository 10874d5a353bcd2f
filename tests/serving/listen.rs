//! Goal: no other server of ours can listen at a server's address, which is free at once when it ends; and its pollsets
//! busy-poll devices for the configured time. Method: the built binary, twice.

use std::net::{SocketAddr, TcpListener};

use crate::server::client::{Client, text};
use crate::server::patience::until;
use crate::server::{Plan, Server, errors_of, free_address};

/// Whether this host has IPv6; prints that a part of the test is skipped if not.
#[expect(clippy::print_stdout, reason = "what is skipped has to be seen")]
fn has_ipv6(test: &str) -> bool {
    let has = TcpListener::bind("[::1]:0").is_ok();
    if !has {
        println!("SKIPPED a part of {test}: no IPv6");
    }
    has
}

fn site(body: &str) -> Plan {
    Plan::new().file("a.txt", body)
}

/// The answer of the site at this host and port.
fn answer_at(host: &str, port: u16) -> String {
    let address: SocketAddr = format!("{host}:{port}").parse().unwrap();
    text(&Client::connect(address).unwrap().get("/a.txt").unwrap()).to_owned()
}

/// All schedulers share their port (SO_REUSEPORT): another server of the same user could, too.
#[test]
fn another_server_of_ours_is_refused() {
    let mut pairs = vec![
        ("127.0.0.1", "127.0.0.1"),
        ("0.0.0.0", "0.0.0.0"),
        ("0.0.0.0", "127.0.0.1"),
        ("127.0.0.1", "0.0.0.0"),
    ];
    if has_ipv6("another_server_of_ours_is_refused") {
        pairs.extend([("[::]", "[::]"), ("[::]", "[::1]"), ("[::1]", "[::]")]);
    }
    for (first, second) in pairs {
        let server = site("first").listen(&format!("{first}:0")).start();
        let address = format!("{second}:{}", server.address().port());
        let output = site("second").listen(&address).fail();
        let told = errors_of(&output);
        assert_eq!(output.status.code(), Some(1), "{second} beside {first}: {told}");
        for words in [&address, "another process listens there"] {
            assert!(told.contains(words), "{second} beside {first}: no `{words}` in:\n{told}");
        }
        let host = if first.contains('[') { "[::1]" } else { "127.0.0.1" };
        let port = server.address().port();
        assert_eq!(answer_at(host, port), "first", "the first one is not disturbed");
    }
}

/// A program that listens on both address families conflicts with either.
#[test]
fn listener_on_both_families_is_recognised() {
    if !has_ipv6("listener_on_both_families_is_recognised") {
        return;
    }
    let listener = TcpListener::bind("[::]:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    for host in ["[::]", "0.0.0.0", "127.0.0.1", "[::1]"] {
        let output = site("").listen(&format!("{host}:{port}")).fail();
        let told = errors_of(&output);
        assert!(told.contains("another process listens there"), "{host}: {told}");
    }
}

#[test]
fn all_addresses_of_one_family_leave_the_other_alone() {
    if !has_ipv6("all_addresses_of_one_family_leave_the_other_alone") {
        return;
    }
    let old = site("old").listen("0.0.0.0:0").start();
    let port = old.address().port();
    let new = site("new").listen(&format!("[::]:{port}")).start();
    assert_eq!(new.address().port(), port);
    assert_eq!(answer_at("127.0.0.1", port), "old");
    assert_eq!(answer_at("[::1]", port), "new");
}

/// Neither sees the other when it checks: the kernel decides when they begin to listen.
#[test]
fn of_two_that_start_at_the_same_time_one_stands() {
    for _ in 0..10 {
        let address = format!("127.0.0.1:{}", free_address().port());
        let mut both = [(); 2].map(|()| site("a").listen(&address).launch());
        let stands = |server: &Server| server.directory().text("stdout.txt").contains("http://");
        let standing = until("one to stand and one to end", || {
            let over = both.iter_mut().filter_map(|server| (!server.is_running()).then_some(()));
            let over = over.count();
            let standing = both.iter().filter(|server| stands(server)).count();
            (over + standing == 2).then_some(standing)
        });
        assert_eq!(standing, 1, "both listen at {address}");
        let told: String = both.iter().map(Server::printed_errors).collect();
        assert!(told.contains("another process listens there"), "{told}");
    }
}

/// An address that includes another does not conflict with it, in whatever order they are configured.
#[test]
fn an_address_may_have_a_listener_of_its_own_beside_that_of_all() {
    for hosts in [["0.0.0.0", "127.0.0.1"], ["127.0.0.1", "0.0.0.0"]] {
        let port = free_address().port();
        let [first, second] = hosts.map(|host| format!("{host}:{port}"));
        let config =
            format!("[[listener]]\naddress = \"{first}\"\n[[listener]]\naddress = \"{second}\"\n");
        let plan = site("a").config(&config).listen_as_configured(2);
        let server = plan.argument("--schedulers=2").start();
        for _ in 0..20 {
            assert_eq!(answer_at("127.0.0.1", port), "a");
        }
        for address in hosts.map(|host| format!("{host}:{port}")) {
            let output = site("b").listen(&address).fail();
            assert!(errors_of(&output).contains("another process listens there"), "{output:?}");
        }
        drop(server);
    }
}

#[test]
fn a_killed_server_restarts_at_once_though_connections_are_left() {
    let mut server = site("a").start();
    let port = server.address().port();
    for _ in 0..3 {
        // Open, closed by the server (TIME_WAIT on its side), and in the middle of a request.
        let mut open = server.client();
        open.get("/a.txt").unwrap();
        let mut closed = server.client();
        closed.request("GET", "/a.txt", &[("Connection", "close")]).unwrap();
        closed.rest().unwrap();
        let mut begun = server.client();
        begun.send("GET /a.txt HT").unwrap();
        server = server.kill_and_restart();
        assert_eq!(answer_at("127.0.0.1", port), "a");
    }
}

/// The epoll of each scheduler is asked for its busy-polling time, as `velodrome tune audit` does.
#[test]
fn a_scheduler_polls_devices_as_long_as_it_is_told() {
    let probe = Plan::new().argument("--busy-poll=70us");
    let known = sys::pollset::epoll::Epoll::new(None).unwrap().poll_devices(70).is_ok();
    if !known {
        let told = errors_of(&probe.fail());
        assert!(told.contains("busy_poll needs Linux 6.9 or later"), "{told}");
        return;
    }
    let server = probe.start();
    let threads = std::fs::read_dir(format!("/proc/{}/task", server.id())).unwrap();
    let polls = threads.map(|entry| entry.unwrap().path()).any(|thread| {
        let number: u32 = thread.file_name().unwrap().to_str().unwrap().parse().unwrap();
        let table = sys::foreign::ForeignTable::of(server.id(), number).unwrap();
        let descriptors = std::fs::read_dir(thread.join("fd")).unwrap();
        descriptors.flatten().any(|entry| {
            let number = entry.file_name().to_str().unwrap().parse().unwrap();
            table.polling_us(number).is_ok_and(|us| us == 70)
        })
    });
    assert!(polls, "no epoll of the server polls for 70 us");
}
