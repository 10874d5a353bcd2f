//! Goal: what others of the host do is not taken for a cause of the server, and a guess does not come before what was
//! counted. Method: the files of a clean host in a directory with one such thing set up, and the text of one check.

use tune::{Evidence, Finding, HostReading, Percent, Price};

use crate::fake::Fake;

/// The finding of a check after two readings a second apart, with this change in between.
fn found(check: &str, plant: impl FnOnce(&Fake), happens: impl FnOnce(&Fake)) -> Finding {
    let fake = Fake::new();
    plant(&fake);
    let mut host = HostReading::of(fake.path(), Some(100));
    happens(&fake);
    host.look_again(1.0);
    tune::find(check).expect("it is a check").finding(&host)
}

#[test]
fn ports_of_connections_that_others_have_ended_are_not_the_servers() {
    let ended = |opened: u64| {
        found(
            "stack.ports",
            |fake| {
                let ended = "TCP: inuse 10 orphan 0 tw 27000 alloc 10 mem 1\n";
                fake.write("proc/net/sockstat", ended);
                fake.connections("opened 1 40000 10.0.0.9/80 data_sent=1\n");
            },
            |fake| fake.snmp(&[("Tcp.ActiveOpens", opened)]),
        )
    };
    assert!(matches!(ended(2), Finding::Good(_)), "{:?}", ended(2));
    assert!(matches!(ended(900), Finding::Costs(..)), "{:?}", ended(900));
}

/// Connections that are ended before their handshake is, as health checks do it.
fn checked(check: &str) -> Finding {
    found(
        check,
        |fake| {
            fake.write("velodrome/socket-looks/100", "looks 10\nopen 80\n");
            fake.write("proc/net/netstat", "TcpExt: TCPAbortOnData EmbryonicRsts\nTcpExt: 0 0\n");
        },
        |fake| {
            fake.snmp(&[("Tcp.AttemptFails", 9_000), ("Tcp.ActiveOpens", 9_000)]);
            let ended = "TcpExt: TCPAbortOnData EmbryonicRsts\nTcpExt: 9000 9000\n";
            fake.write("proc/net/netstat", ended);
            fake.ran(100, 900, 0);
        },
    )
}

#[test]
fn health_checks_are_neither_refused_clients_nor_attempts_that_fail() {
    for check in ["app.limit", "app.connect"] {
        let finding = checked(check);
        assert!(matches!(finding, Finding::Good(_)), "{check}: {finding:?}");
    }
}

/// The finding for work that takes most of the time.
fn spent(work: &str) -> Finding {
    found("app.work", |fake| fake.write("velodrome/work/100", work), |_| {})
}

#[test]
fn a_kind_of_work_is_measured_and_a_function_a_guess() {
    let function = "function 90.0 90.0 one function: parse\n";
    let kind = spent(&format!("seen\n{function}kind 60.0 60.0 compression (deflate)\n"));
    assert_eq!(kind.text(), "60 % of the time: compression (deflate)");
    let measured = Price::Measured(Percent { low: 18.0, high: 60.0 });
    assert!(matches!(kind, Finding::Costs(Evidence::Seen, _, price) if price == measured));
    let alone = spent(&format!("seen\n{function}"));
    let scaled = Price::Scaled(Percent { low: 0.0, high: 90.0 });
    assert!(matches!(alone, Finding::Costs(Evidence::Set, _, price) if price == scaled));
    assert!(matches!(spent("seen\n"), Finding::Good(_)));
    assert!(matches!(spent("unseen only root\n"), Finding::Unknown(_)));
}

#[test]
fn work_of_many_threads_is_a_part_of_all_cpus() {
    // Four CPUs, and threads that are a quarter of their time in it.
    let many = spent("seen\nkind 25.0 300.0 garbage collection (scan)\n");
    assert_eq!(many.text(), "75 % of the time: garbage collection (scan)");
    assert!(matches!(spent("seen\nkind 5.0 20.0 JSON (parse)\n"), Finding::Good(_)));
}

/// The finding for a server whose requests wait from one reading to the next, while its other threads rest in a pool.
fn unread(check: &str, running: u32) -> Finding {
    found(
        check,
        |fake| {
            fake.connections("accepted 1 80 10.0.0.2/9 received_queue=70 data_sent=5\n");
            let rest =
                (101..105).map(|thread| format!("{thread} 100 40 0 0 0 futex/7f00/189=40\n"));
            let one = format!("100 100 40 {running} 0 0 futex/7f10/0={}\n", 40 - running);
            fake.write("velodrome/threads/100", &(one + &rest.collect::<String>()));
            fake.write("velodrome/work/100", "seen\nfunction 90.0 90.0 one function: match\n");
        },
        |_| {},
    )
}

#[test]
fn a_server_that_computes_all_the_time_is_not_stuck_but_busy() {
    assert!(matches!(unread("app.stuck", 0), Finding::Costs(..)), "{:?}", unread("app.stuck", 0));
    assert!(matches!(unread("app.stuck", 40), Finding::Good(_)), "{:?}", unread("app.stuck", 40));
    let busy = unread("app.work", 40);
    assert!(matches!(busy, Finding::Costs(Evidence::Seen, ..)), "{busy:?}");
    assert!(busy.text().contains("1 sockets had requests"), "{busy:?}");
}

#[test]
fn a_thread_that_waits_for_a_virus_scanner_waits_for_no_disk() {
    let at = |place: &str| {
        let line = format!("100 100 40 4 0 36 at/{place}=36\n");
        found("app.disk", |fake| fake.write("velodrome/threads/100", &line), |_| {})
    };
    assert!(at("folio_wait_bit").text().contains("wait for a disk"));
    assert!(at("fanotify_handle_event").text().contains("virus scanner"));
}

#[test]
fn a_listener_beside_costs_if_it_accepts_nothing() {
    let queued = |before: u32, now: u32| {
        let listeners = |fake: &Fake, queue: u32| {
            let other = format!("beside 10 80 0.0.0.0/0 inode=44 received_queue={queue}\n");
            fake.connections(&format!("listens 10 80 0.0.0.0/0\n{other}"));
        };
        found("app.beside", |fake| listeners(fake, before), |fake| listeners(fake, now))
    };
    assert!(queued(3, 5).text().starts_with("5 connections wait"), "{:?}", queued(3, 5));
    // It accepts some of them.
    assert!(matches!(queued(5, 1), Finding::Good(_)));
    assert!(matches!(queued(0, 4), Finding::Good(_)));
}

/// The finding for connections with something to send whose clients have acknowledged so many bytes at both readings.
fn unsent(acked: [u32; 2]) -> Finding {
    let all = |fake: &Fake, acked: u32| {
        let one = |port| format!("accepted 1 80 10.0.0.2/{port} unsent=6000 acked_bytes={acked}\n");
        fake.connections(&(0..8).map(one).collect::<String>());
    };
    found("net.loss", |fake| all(fake, acked[0]), |fake| all(fake, acked[1]))
}

#[test]
fn data_that_never_leaves_the_host_is_lost_although_nothing_is_sent_again() {
    let held = unsent([500, 500]);
    assert!(held.text().starts_with("8 of 8 connections have something to send"), "{held:?}");
    assert!(matches!(unsent([500, 900]), Finding::Good(_)));
}

#[test]
fn connections_that_others_of_its_network_open_are_not_the_servers() {
    let among = |check: &str, calls: &str| {
        let calls = format!("rate 900 {calls}\n");
        found(
            check,
            |fake| fake.write("velodrome/calls/100", &calls),
            |fake| {
                let counts = ["Tcp.PassiveOpens", "Tcp.ActiveOpens", "Tcp.AttemptFails"];
                fake.snmp(&counts.map(|name| (name, 9_000)));
                fake.ran(100, 900, 0);
            },
        )
    };
    let good = |finding: Finding| matches!(finding, Finding::Good(_));
    for (check, its_own) in [("app.keepalive", "8000 0"), ("app.connect", "0 8000")] {
        let others = among(check, "0 0");
        assert!(good(others.clone()), "{check}: {others:?}");
        assert!(!good(among(check, its_own)), "{check}");
        // An old record does not tell.
        assert!(!good(among(check, "")), "{check}");
    }
}
