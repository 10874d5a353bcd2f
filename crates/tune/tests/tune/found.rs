//! Goal: a finding names its cause and its price. Method: the files of a clean host in a directory with one cause set
//! up, and the text of one check.

use tune::{Evidence, Finding, HostReading, Percent, Price};

use crate::fake::Fake;

/// The finding of a check after two readings, with this change in between.
fn found(check: &str, plant: impl FnOnce(&Fake), happens: impl FnOnce(&Fake)) -> Finding {
    let fake = Fake::new();
    plant(&fake);
    let mut host = HostReading::of(fake.path(), Some(100));
    happens(&fake);
    host.look_again(1.0);
    (tune::find(check).unwrap().judge)(&host).unwrap()
}

fn nothing(_: &Fake) {}

/// The range of a price that was counted.
fn range(finding: &Finding) -> Percent {
    match finding {
        Finding::Costs(_, _, Price::Scaled(range) | Price::Measured(range)) => *range,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_upstream_is_named_with_its_program_and_what_bounds_its_connections() {
    let plant = |fake: &Fake| {
        fake.program(77, "database");
        fake.link("proc/77/fd/5", "socket:[4242]");
        let listener = "   0: 0100007F:2382 00000000:0000 0A 0:0 00:0 00 0 0 4242 1\n";
        fake.write("proc/net/tcp", &format!("  sl local rem st\n{listener}"));
        let waits = "data_sent=9 data_received=9 last_sent_ms=8 last_received_ms=20";
        let asks = "data_sent=9 data_received=9 last_sent_ms=90 last_received_ms=50";
        let client = |port| format!("accepted 1 80 10.0.0.2/{port} {asks}\n");
        let clients: String = (0..30).map(client).collect();
        fake.connections(&format!(
            "opened 1 4000 127.0.0.1/9090 {waits}\nopened 1 4001 127.0.0.1/9090 {waits}\n{clients}"
        ));
        fake.write("velodrome/upstreams/100", "8\n127.0.0.1/9090 16 14 0 20\n");
    };
    let finding = found("app.upstream", plant, nothing);
    assert_eq!(
        finding.text(),
        "2.0 connections to other servers at 10 looks: 1.8 wait for an answer, the longest for 20 ms, 0.0 are not \
         open yet; to 127.0.0.1:9090, database (process 77); hardly one of them is free while 30 requests of \
         clients wait: something bounds their number"
    );
    assert_eq!(range(&finding), Percent { low: 45.0, high: 90.0 });
}

#[test]
fn a_pool_that_is_larger_than_its_use_hides_no_wait() {
    let plant = |fake: &Fake| {
        let idle = "data_sent=9 data_received=9 last_sent_ms=9000 last_received_ms=8900";
        let pool = |port| format!("opened 1 {port} 10.0.0.9/80 {idle}\n");
        let asks = "data_sent=9 data_received=9 last_sent_ms=90 last_received_ms=50";
        let pool: String = (0..40).map(pool).collect();
        fake.connections(&format!("{pool}accepted 1 80 10.0.0.2/9 {asks}\n"));
    };
    assert!(matches!(found("app.upstream", plant, nothing), Finding::Good(_)));
    let plant = |fake: &Fake| {
        plant(fake);
        fake.write("velodrome/upstreams/100", "8\n10.0.0.9/80 320 8 0 70\n");
    };
    assert_eq!(range(&found("app.upstream", plant, nothing)), Percent { low: 40.0, high: 80.0 });
}

#[test]
fn a_limit_of_files_that_is_far_away_costs_little() {
    let limit = |open: u32| {
        let plant = |fake: &Fake| {
            let soft =
                "Max open files            20000                524288               files\n";
            fake.write("proc/100/limits", soft);
            (0..open).for_each(|file| fake.write(&format!("proc/100/fd/{file}"), ""));
        };
        match found("app.nofile", plant, nothing) {
            Finding::Costs(Evidence::Set, _, Price::Published(share)) => share,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(limit(7), 0.02);
    assert_eq!(limit(4000), 0.2);
    // They cannot be seen.
    assert_eq!(limit(0), 0.5);
}

#[test]
fn a_limit_of_files_that_refused_nothing_costs_less_than_one_that_did() {
    let near = |calls: &str| {
        let plant = |fake: &Fake| {
            let limits = "Max open files            60                 60               files\n";
            fake.write("proc/100/limits", limits);
            (0..58).for_each(|file| fake.write(&format!("proc/100/fd/{file}"), ""));
            fake.write("velodrome/calls/100", &format!("rate 900\n{calls}"));
        };
        range(&found("app.nofile", plant, nothing)).high
    };
    assert_eq!(near(""), 15.0);
    assert_eq!(near("0.0 40.0 openat: 40 % fail with EMFILE: no descriptors\n"), 90.0);
}

/// The finding for connections that arrive while the server runs for some milliseconds.
fn connected(count: u64, segments: u64, ran: u64) -> Finding {
    found("app.keepalive", nothing, |fake| {
        fake.snmp(&[("Tcp.PassiveOpens", count), ("Tcp.InSegs", segments)]);
        fake.ran(100, ran, 0);
    })
}

#[test]
fn a_handshake_of_tls_costs_what_the_server_ran_for_it() {
    let with_tls = connected(219, 1_800, 980);
    assert!(with_tls.text().contains("the server ran for 4.47 ms for each"), "{with_tls:?}");
    assert!(range(&with_tls).middle() > 30.0, "{with_tls:?}");
    // More requests on each connection: less of it is for the handshake.
    let many = range(&connected(219, 8_000, 980));
    assert!(many.high < 10.0 && many.high > 1.0, "{many:?}");
    // Too few segments for a handshake: the time is for requests.
    assert!(matches!(connected(150, 800, 980), Finding::Good(_)));
    assert!(matches!(connected(15, 120, 980), Finding::Good(_)));
    // Very many connections cost without TLS, however many requests each has.
    assert_eq!(range(&connected(9_000, 50_000, 900)), Percent { low: 15.0, high: 50.0 });
}

#[test]
fn an_idle_server_loses_little_to_its_neighbours() {
    let beside = |ran: u64, waited: u64| {
        found("env.neighbours", nothing, |fake| {
            fake.busy_cpus();
            fake.ran(100, ran, waited);
            fake.beside(50, 0, 90);
        })
    };
    // Half of the time in which it wants to run, which is hardly any.
    assert!(matches!(beside(10, 10), Finding::Good(_)));
    assert_eq!(range(&beside(400, 500)), Percent { low: 35.0, high: 50.0 });
    // A wait that has not ended is not counted, but it was seen at all looks.
    let starved = found("env.neighbours", nothing, |fake| {
        fake.busy_cpus();
        fake.beside(50, 0, 90);
        fake.write("velodrome/threads/100", "100 100 40 40 0 0\n");
    });
    assert_eq!(range(&starved).high, 90.0);
}

/// Half-open connections, SYNs that were dropped while the accept queue had room, and connections that were opened.
fn flooded(half_open: u32, dropped: u64, opened: u64) -> Finding {
    let plant = |fake: &Fake| {
        fake.sysctl("net/ipv4/tcp_syncookies", "0");
        let half = |port| format!("accepted 3 80 10.0.0.2/{port}\n");
        let half: String = (0..half_open).map(half).collect();
        fake.write("velodrome/tcp/100", &format!("listens 10 80 0.0.0.0/0 send_queue=128\n{half}"));
    };
    found("stack.synbacklog", plant, |fake| {
        fake.netstat(&[("ListenDrops", dropped)]);
        fake.snmp(&[("Tcp.PassiveOpens", opened)]);
    })
}

#[test]
fn a_queue_of_half_open_connections_is_seen_full() {
    let full = flooded(97, 500, 1_500);
    assert_eq!(
        full.text(),
        "97 half-open connections, and 500 SYNs a second were dropped while 1500 connections were opened in 1 s; the \
         queue has room for 128, net.ipv4.tcp_syncookies is 0"
    );
    assert_eq!(range(&full), Percent { low: 12.5, high: 25.0 });
    // Something else dropped them.
    assert!(matches!(flooded(3, 500, 1_500), Finding::Good(_)));
}

#[test]
fn datagrams_are_dropped_by_sockets_of_the_server() {
    let socket = |inode: u32, dropped: u32| {
        format!("  7: 0100007F:5A72 00000000:0000 07 0:0 0:0 0 0 0 {inode} 2 0 {dropped}\n")
    };
    let plant = |fake: &Fake| {
        fake.link("proc/100/fd/7", "socket:[4243]");
        fake.write("proc/net/udp", &format!("{}{}", socket(4243, 5), socket(9, 0)));
        fake.snmp(&[("Udp.InDatagrams", 100)]);
    };
    let finding = found("app.datagrams", plant, |fake| {
        fake.write("proc/net/udp", &format!("{}{}", socket(4243, 25), socket(9, 7_000)));
        fake.snmp(&[("Udp.InDatagrams", 180), ("Udp.RcvbufErrors", 7_020)]);
    });
    assert!(
        finding
            .text()
            .starts_with("its 1 UDP sockets dropped 20 datagrams in 1 s, mostly at port 23154")
    );
    assert_eq!(range(&finding), Percent { low: 20.0, high: 30.0 });
    assert!(matches!(found("app.datagrams", plant, nothing), Finding::Good(_)));
}

#[test]
fn unclosed_connections_come_before_the_errors_that_they_cause() {
    let plant = |fake: &Fake| {
        let soft = "Max open files            60                   524288               files\n";
        fake.write("proc/100/limits", soft);
        (0..60).for_each(|file| fake.write(&format!("proc/100/fd/{file}"), ""));
        fake.write("velodrome/calls/100", "rate 900\n1.5 100.0 accept4: 100 % fail with EMFILE\n");
        let line = |port| format!("accepted 8 80 10.0.0.2/{port}\n");
        fake.connections(&(0..55).map(line).collect::<String>());
    };
    let unclosed = found("app.unclosed", plant, nothing);
    assert!(unclosed.text().ends_with("they use up its descriptors: 60 of 60 are open"));
    for other in ["app.calls", "app.nofile"] {
        let other = range(&found(other, plant, nothing));
        assert!(range(&unclosed).middle() > other.middle(), "{other:?}");
    }
}

#[test]
fn a_server_that_answered_meanwhile_is_not_stuck() {
    let asked = |fake: &Fake, answers: u32| {
        let line = format!("accepted 1 80 10.0.0.2/9 received_queue=90 data_sent={answers}\n");
        fake.write(
            "velodrome/tcp/100",
            &format!("listens 10 80 0.0.0.0/0 send_queue=4096 received_queue=3\n{line}"),
        );
        fake.watched("futex/7f00/80", 40);
    };
    let stuck = |answers| {
        found("app.stuck", |fake: &Fake| asked(fake, 7), |fake: &Fake| asked(fake, answers))
    };
    assert!(matches!(stuck(7), Finding::Costs(..)));
    assert!(matches!(stuck(900), Finding::Good(_)));
}

#[test]
fn a_server_that_waits_for_a_cpu_is_not_idle() {
    let upstream = |waited: u64| {
        let plant = |fake: &Fake| {
            let waits = "data_sent=9 data_received=8 last_sent_ms=80 last_received_ms=95";
            fake.connections(&format!("opened 1 4000 10.0.0.9/80 {waits}\n"));
        };
        let finding = found("app.upstream", plant, |fake| {
            fake.busy_cpus();
            fake.beside(50, 0, 90);
            (100..104).for_each(|thread| fake.ran(thread, 200, waited));
        });
        range(&finding).high.round()
    };
    assert_eq!((upstream(0), upstream(700)), (80.0, 57.0));
}

/// The finding for connections that wait at so many of ten looks, in a server that runs for so many milliseconds.
fn waiting_to_be_accepted(looks: u32, ran: u64) -> Finding {
    let plant = |fake: &Fake| {
        let queue = format!("queue_port 80\nqueue_looks {looks}\nqueue_waiting 60\n");
        fake.write("velodrome/socket-looks/100", &format!("looks 10\nopen 80\n{queue}"));
    };
    found("app.limit", plant, |fake| (100..104).for_each(|thread| fake.ran(thread, ran, 0)))
}

#[test]
fn connections_wait_in_a_queue_although_the_server_has_time() {
    let limited = waiting_to_be_accepted(9, 100);
    assert_eq!(
        limited.text(),
        "6.0 connections on average wait to be accepted at port 80, at 9 of 10 looks; 2.0 others are open, and its \
         CPUs were idle for 90 % of the time"
    );
    assert_eq!(range(&limited), Percent { low: 37.5, high: 75.0 });
    // Its thread sleeps in writing to a client, or for a disk; a burst; a server that has no time for them.
    for sums in ["40 10 0 0 write/socket=30", "40 10 0 30 events=10"] {
        let plant = |fake: &Fake| {
            let queue = "queue_port 80\nqueue_looks 9\nqueue_waiting 60\n";
            fake.write("velodrome/socket-looks/100", &format!("looks 10\nopen 80\n{queue}"));
            fake.write("velodrome/threads/100", &format!("100 100 {sums}\n"));
        };
        assert!(matches!(found("app.limit", plant, nothing), Finding::Good(_)), "{sums}");
    }
    assert!(matches!(waiting_to_be_accepted(5, 100), Finding::Good(_)));
    assert!(matches!(waiting_to_be_accepted(9, 900), Finding::Good(_)));
}

/// Connections that were closed with a request unread, of 9,000, in a server that runs for so many milliseconds.
fn closed_unread(check: &str, closed: u64, ran: u64) -> Finding {
    found(check, nothing, |fake| {
        let counts = [("Tcp.PassiveOpens", 9_000), ("Tcp.InSegs", 50_000)];
        fake.snmp(&[counts[0], counts[1], ("TcpExt.TCPAbortOnClose", closed)]);
        fake.ran(100, ran, 0);
    })
}

#[test]
fn refused_connections_are_no_want_of_keep_alive() {
    assert_eq!(range(&closed_unread("app.limit", 4_500, 900)), Percent { low: 50.0, high: 95.0 });
    assert!(matches!(closed_unread("app.keepalive", 4_500, 900), Finding::Good(_)));
    assert!(matches!(closed_unread("app.keepalive", 90, 900), Finding::Costs(..)));
    // Few, and those of another program.
    assert!(matches!(closed_unread("app.limit", 90, 900), Finding::Good(_)));
    assert!(matches!(closed_unread("app.limit", 4_500, 9), Finding::Good(_)));
}

/// The finding for answers of 12 of 16 connections that come in parts, while so many bytes come from other servers.
fn paced(fetched: u64) -> Finding {
    let plant = |fake: &Fake| {
        let sums =
            "connections 16\npaced 12\npaced_rate 500000\npaced_busy_percent 20\npaced_bytes 9000";
        let text = format!("looks 10\n{sums}\nfetched_bytes {fetched}\n");
        fake.write("velodrome/socket-looks/100", &text);
    };
    found("app.pacing", plant, nothing)
}

#[test]
fn answers_in_parts_are_named_unless_another_server_sends_them_so() {
    assert_eq!(range(&paced(100)), Percent { low: 30.0, high: 60.0 });
    assert!(matches!(paced(9_000), Finding::Good(_)));
}

/// The finding of a check for a server that sleeps by the clock while this program has locked a file of it.
fn asleep_while_locked(check: &str, by: u32) -> Finding {
    let plant = |fake: &Fake| {
        fake.program(812, "backup");
        let calls = |thread| format!("{thread} 100 40 10 0 0 events=5 sleep=25\n");
        fake.write("velodrome/threads/100", &(100..104).map(calls).collect::<String>());
        fake.write("velodrome/file-locks/100", &format!("10\n10 10 {by} 0 /var/a b.db\n"));
    };
    found(check, plant, |fake| fake.ran(100, 100, 0))
}

#[test]
fn a_lock_that_is_tried_again_and_again_has_a_file_and_a_holder() {
    let locked = asleep_while_locked("app.lock", 812);
    assert_eq!(
        locked.text(),
        "2.5 of 4 threads sleep by the clock at any time and try again to lock a file, as SQLite does; /var/a b.db was \
         locked at 10 of 10 looks, mostly by backup (process 812)"
    );
    assert!(range(&locked).high > 90.0, "{locked:?}");
    assert!(matches!(asleep_while_locked("app.sleep", 812), Finding::Good(_)));
    // The server itself keeps it locked all the time: the file of its process number.
    assert!(matches!(asleep_while_locked("app.lock", 100), Finding::Good(_)));
    assert!(matches!(asleep_while_locked("app.sleep", 100), Finding::Costs(..)));
}

#[test]
fn a_cpuset_is_named_even_if_the_other_cpus_are_busy() {
    let plant = |fake: &Fake| {
        online(fake);
        fake.write("sys/fs/cgroup/app/cpuset.cpus.effective", "0\n");
    };
    let happens = |fake: &Fake| {
        fake.busy_cpus();
        for thread in 100..104 {
            fake.write(&format!("proc/100/task/{thread}/status"), "Cpus_allowed_list:\t0\n");
            fake.ran(thread, 200, 700);
        }
    };
    for check in ["app.affinity", "app.workers"] {
        let finding = found(check, plant, happens);
        let is_named = finding.text().contains(" of 4, by the cpuset of /sys/fs/cgroup/app");
        assert!(is_named && matches!(finding, Finding::Costs(..)), "{finding:?}");
    }
    let by_affinity = found("app.affinity", online, happens);
    assert!(by_affinity.text().contains("by their affinity"), "{by_affinity:?}");
}

fn online(fake: &Fake) {
    fake.write("sys/devices/system/cpu/online", "0-3");
}
