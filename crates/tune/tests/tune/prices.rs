//! Prices that follow from what was counted, and judgements that need something to have been read.

use tune::{Finding, HostReading, Load, Price, audit};

use crate::fake::Fake;

/// The finding of a check after a change between two readings, one second apart.
fn found(check: &str, plant: impl Fn(&Fake), happens: impl Fn(&Fake)) -> Finding {
    let fake = Fake::new();
    plant(&fake);
    let mut host = HostReading::of(fake.path(), Some(100));
    happens(&fake);
    host.look_again(1.0);
    tune::find(check).unwrap().finding(&host)
}

/// The ends of its price, rounded.
fn price(finding: &Finding) -> (f64, f64) {
    match finding {
        Finding::Costs(_, _, Price::Scaled(range) | Price::Measured(range)) => {
            (range.low.round(), range.high.round())
        }
        other => panic!("{other:?}"),
    }
}

/// Ten connections of the server with these numbers.
fn ten(numbers: &str) -> String {
    (1..11).map(|port| format!("accepted 1 80 10.0.0.2/{port} {numbers}\n")).collect()
}

#[test]
fn segments_that_are_sent_again_cost_by_how_it_was_seen() {
    let lost = |timeouts: u64| {
        let numbers = ten("data_sent=1000 resent=5 rtt_us=200");
        found(
            "net.loss",
            |_| {},
            |fake| {
                fake.connections(&numbers);
                fake.netstat(&[("TCPTimeouts", timeouts)]);
            },
        )
    };
    // Half a percent, and later segments told of all of them: 50 times a round trip of 0.2 ms is nearly nothing.
    assert_eq!(price(&lost(0)), (0.0, 5.0));
    // 40 waits of 200 ms at least, in ten seconds of connections.
    assert_eq!(price(&lost(40)), (80.0, 95.0));
    assert!(lost(40).text().contains("40 after a timeout or a probe"));
}

#[test]
fn packets_that_are_cut_early_cost_by_their_number_on_devices_of_any_kind() {
    let cut = |setting: (&str, &str), bytes: u64| {
        found(
            "net.gso",
            |fake| {
                let queues = "sys/class/net/veth7/queues/tx-0/xps_cpus";
                let settings = [(queues, "0"), ("velodrome/ethtool/veth7/gso", "on"), setting];
                settings.iter().for_each(|(path, text)| fake.write(path, text));
                for count in ["rx_packets", "tx_packets", "tx_bytes"] {
                    fake.write(&format!("sys/class/net/veth7/statistics/{count}"), "0");
                }
            },
            |fake| {
                let sent = [("tx_packets", 20_000), ("tx_bytes", 20_000 * bytes)];
                for (count, value) in sent {
                    let path = format!("sys/class/net/veth7/statistics/{count}");
                    fake.write(&path, &value.to_string());
                }
            },
        )
    };
    for setting in [
        ("velodrome/ethtool/veth7/gso", "off"),
        ("velodrome/segments", "veth 9 9\nveth7 1 65536\n"),
        ("velodrome/segments", "veth7 65535 1500\n"),
    ] {
        assert_eq!(price(&cut(setting, 1_500)), (2.0, 16.0), "{setting:?}");
        let small = cut(setting, 200);
        assert!(matches!(small, Finding::Costs(_, _, Price::Published(_))), "{small:?}");
    }
    let usual = cut(("velodrome/segments", "veth7 65535 65536\n"), 1_500);
    assert_eq!(usual, Finding::Good("on".to_owned()));
}

#[test]
fn packets_that_the_host_drops_may_cost_the_waits_of_its_connections() {
    let drops = |text: &str| {
        found(
            "net.drops",
            |_| {},
            |fake| {
                fake.connections(&ten("data_sent=1000"));
                fake.write("velodrome/drops", &format!("in 1.000\n{text}"));
            },
        )
    };
    let rule = drops("NETFILTER_DROP 20\nTCP_OLD_DATA 7000\n");
    assert_eq!(price(&rule), (0.0, 50.0));
    assert!(rule.text().starts_with("20 packets a second are dropped by a rule"), "{rule:?}");
    // Other reasons are those of every network, or are told by other checks.
    for usual in ["TCP_OLD_DATA 7000\n", "NETFILTER_DROP 4\n", ""] {
        assert!(matches!(drops(usual), Finding::Good(_)), "{usual}");
    }
    let barred =
        found("net.drops", |_| {}, |fake| fake.write("velodrome/drops", "unseen root alone may\n"));
    assert_eq!(barred, Finding::Unknown("they may not be seen: root alone may".to_owned()));
}

#[test]
fn a_request_that_follows_an_answer_at_once_waits_if_it_is_one_more_than_the_answers() {
    let waits = |received: u64, sent: u64| {
        let numbers = format!(
            "data_received={received} data_sent={sent} last_received_ms=40 last_sent_ms=40"
        );
        let connections = ten(&numbers);
        found("app.waiting", |fake| fake.connections(&connections), |_| {})
    };
    // Answers of one segment, and of two: a head and a body.
    for (received, sent) in [(100, 99), (100, 198)] {
        let found = waits(received, sent);
        assert!(matches!(found, Finding::Costs(..)), "{received} {sent} {found:?}");
        let answered = waits(received, sent / (received - 1) * received);
        assert!(matches!(answered, Finding::Good(_)), "{answered:?}");
    }
}

#[test]
fn small_receive_buffers_cost_where_much_is_received() {
    let buffers = |numbers: &str| {
        found(
            "stack.rwmem",
            |fake| fake.sysctl("net/ipv4/tcp_rmem", "4096 131072 16777216"),
            |fake| fake.connections(&ten(numbers)),
        )
    };
    let upload = buffers("received_bytes=900000 data_received=900 data_sent=2 receive_buffer=4608");
    assert_eq!(price(&upload), (40.0, 98.0));
    assert!(upload.text().contains("4.5 KiB"), "{upload:?}");
    assert!(upload.text().contains("SO_RCVBUF"), "{upload:?}");
    for other in [
        // Many small requests, each answered.
        "received_bytes=900000 data_received=900 data_sent=900 receive_buffer=4608",
        // Seldom.
        "received_bytes=9000 data_received=9 data_sent=1 receive_buffer=4608",
        "received_bytes=90000000 data_received=9000 data_sent=1 receive_buffer=131072",
    ] {
        assert!(matches!(buffers(other), Finding::Good(_)), "{other}");
    }
}

/// A group at its memory limit, whose files are read again and again: the limit is the cause, the disk follows.
#[test]
fn a_memory_limit_costs_what_its_pages_that_are_read_again_cost() {
    for (controller, line, stat) in [
        ("0::/app", "", "workingset_refault_file"),
        (
            "5:memory:/app",
            "30 25 0:26 / /sys/fs/cgroup rw - cgroup cgroup rw,memory\n",
            "total_workingset_refault_file",
        ),
    ] {
        let fake = Fake::new();
        fake.write("proc/100/cgroup", &format!("{controller}\n"));
        if !line.is_empty() {
            fake.write("proc/self/mountinfo", line);
        }
        for (name, value) in [
            ("memory.current", "40000000"),
            ("memory.max", "40000000"),
            ("memory.events", "max 0\n"),
            ("memory.usage_in_bytes", "40000000"),
            ("memory.limit_in_bytes", "40000000"),
            ("memory.failcnt", "0"),
        ] {
            fake.write(&format!("sys/fs/cgroup/app/{name}"), value);
        }
        let refaults = |count: u32| {
            let lines = format!("{stat} {count}\nworkingset_refault_anon 0\n");
            fake.write("sys/fs/cgroup/app/memory.stat", &lines);
        };
        refaults(5);
        fake.write("proc/100/io", "syscr: 10\nsyscw: 10\nread_bytes: 0\n");
        let mut host = HostReading::of(fake.path(), Some(100));
        refaults(2005);
        fake.write("proc/100/io", "syscr: 10\nsyscw: 10\nread_bytes: 16384000\n");
        fake.write("sys/fs/cgroup/app/memory.events", "max 70\n");
        fake.write("sys/fs/cgroup/app/memory.failcnt", "70");
        fake.write("velodrome/threads/100", "100 100 40 1 0 38 at/folio_wait_bit=38\n");
        host.look_again(1.0);
        let report = audit(&host, Load::Throughput);
        let first = &report.findings[0];
        assert_eq!(first.check.id, "env.memory", "{stat}");
        // 2,000 pages of 4,096 bytes are half of what was read.
        assert_eq!(price(&first.finding), (39.0, 97.0), "{stat}");
        let second = &report.findings[1];
        assert_eq!(second.check.id, "app.disk", "{stat}");
        assert_eq!(price(&second.finding), (34.0, 49.0), "{stat}");
    }
}

#[test]
fn only_a_variable_of_python_is_the_lock_of_its_interpreter() {
    let lock = |maps: &str| {
        let happens = |fake: &Fake| {
            let line = |thread| {
                fake.ran(thread, 250, 0);
                fake.thread_woken(thread, 90_000);
                format!("{thread} 100 40 10 0 0 futex/7f08/189=25\n")
            };
            let text: String = (100..104).map(line).collect();
            fake.write("velodrome/threads/100", &text);
        };
        let plant = |fake: &Fake| {
            (100..104).for_each(|thread| fake.thread_woken(thread, 0));
            fake.write("proc/100/comm", "python3.11");
            fake.write("proc/100/maps", maps);
        };
        found("app.lock", plant, happens).text().to_owned()
    };
    assert!(lock("7000-8000 rw-p 0 fd:00 12 /usr/bin/python3.11\n").contains("(GIL)"));
    for allocated in ["7000-8000 rw-p 0 00:00 0 [heap]\n", ""] {
        let text = lock(allocated);
        assert!(text.contains("wait for one lock at any time"), "{text}");
    }
}

/// A server whose descriptors cannot be read, and one without a connection.
#[test]
fn sockets_that_were_not_read_are_not_called_good() {
    let of_sockets = ["app.sndbuf", "net.receivers", "net.loss", "net.mtu", "app.waiting"];
    for (sockets, checks) in [("", &of_sockets[..]), ("listens 10 80 0.0.0.0/0\n", &of_sockets)] {
        for check in checks {
            let finding = found(check, |fake| fake.write("velodrome/tcp/100", sockets), |_| {});
            assert!(matches!(finding, Finding::Unknown(_)), "{check}: {finding:?}");
        }
    }
}

#[test]
fn a_sampler_costs_what_it_takes_from_the_cpu_of_the_server_too() {
    let beside = |process: u32| {
        let plant = |fake: &Fake| {
            fake.write("velodrome/observers", "perf 50 1 perf\n");
            fake.write("proc/interrupts", "     CPU0 CPU1\nLOC: 0 0 Local timer interrupts\n");
            fake.program(process, "perf");
        };
        let happens = |fake: &Fake| {
            let text = "     CPU0 CPU1\nLOC: 8000 8000 Local timer interrupts\n";
            fake.write("proc/interrupts", text);
            fake.busy_cpus();
            fake.ran(100, 700, 300);
            fake.beside(process, 0, 30);
        };
        price(&found("obs.perf", plant, happens))
    };
    assert_eq!(beside(60), (0.0, 2.0), "another program had the CPU");
    assert_eq!(beside(50), (15.0, 32.0));
}

#[test]
fn sleeps_by_the_clock_are_told_once() {
    let calls = |threads: &str| {
        let plant = |fake: &Fake| {
            fake.write("velodrome/calls/100", "rate 900\n98.0 0.0 clock_nanosleep: 900 calls\n");
            fake.write("velodrome/threads/100", threads);
        };
        found("app.calls", plant, |_| {})
    };
    assert!(matches!(calls("100 100 40 10 0 0 sleep=20 events=10\n"), Finding::Good(_)));
    // A thread that serves nobody sleeps: `app.sleep` does not tell of it.
    assert!(matches!(calls("100 100 40 10 0 0 sleep=30\n"), Finding::Costs(..)));
}

#[test]
fn a_server_that_mostly_sleeps_loses_little_to_its_affinity() {
    let bound = |ran: u64, waited: u64| {
        let plant = |fake: &Fake| fake.write("sys/devices/system/cpu/online", "0-3");
        let happens = |fake: &Fake| {
            for thread in 100..104 {
                let status = "Cpus_allowed_list:\t0\n";
                fake.write(&format!("proc/100/task/{thread}/status"), status);
                fake.ran(thread, ran, waited);
            }
        };
        price(&found("app.affinity", plant, happens))
    };
    assert_eq!(bound(240, 720), (36.0, 72.0));
    assert_eq!(bound(60, 60), (3.0, 6.0));
}

#[test]
fn a_lock_costs_little_where_its_threads_would_wait_for_a_cpu() {
    let locked = |ran: u64, times: u64| {
        let happens = |fake: &Fake| {
            fake.busy_cpus();
            let line = |thread| {
                fake.thread_woken(thread, times);
                fake.ran(thread, ran, 0);
                format!("{thread} 100 40 10 0 0 events=5 futex/7f00/80=25\n")
            };
            let text: String = (100..104).map(line).collect();
            fake.write("velodrome/threads/100", &text);
        };
        found(
            "app.lock",
            |fake| (100..104).for_each(|thread| fake.thread_woken(thread, 0)),
            happens,
        )
    };
    assert_eq!(price(&locked(250, 900)).1, 71.0);
    let all_used = locked(1_000, 900);
    assert!(all_used.text().ends_with("but it uses all CPUs that it may use"), "{all_used:?}");
    // What the sleeps and wake-ups themselves cost stays.
    assert_eq!(price(&locked(1_000, 9_000)).1, 31.0);
}
