//! What holds a server up although it looks like something else: freezers, limits of groups, paces, packets that are
//! dropped on their way out.

use tune::{Finding, HostReading, Load, Price, audit};

use crate::fake::Fake;

/// The finding of a check after a change between two readings, one second apart.
fn found(check: &str, plant: impl Fn(&Fake), happens: impl Fn(&Fake)) -> Finding {
    looked(plant, happens, |host| tune::find(check).unwrap().finding(host))
}

/// The judgement on a host after the same change, made while its files are there.
fn looked<T>(
    plant: impl Fn(&Fake),
    happens: impl Fn(&Fake),
    judge: impl Fn(&HostReading) -> T,
) -> T {
    let fake = Fake::new();
    plant(&fake);
    let mut host = HostReading::of(fake.path(), Some(100));
    happens(&fake);
    host.look_again(1.0);
    judge(&host)
}

fn nothing(_: &Fake) {}

/// A group of version 1, of this controller.
fn of_version_1(fake: &Fake, controller: &str) {
    fake.write("proc/100/cgroup", &format!("5:{controller}:/app\n"));
    let mount = format!("30 25 0:26 / /sys/fs/cgroup rw - cgroup cgroup rw,{controller}\n");
    fake.write("proc/self/mountinfo", &mount);
}

#[test]
fn a_frozen_group_is_named_in_both_versions() {
    let version_1 = |fake: &Fake| {
        of_version_1(fake, "freezer");
        fake.write("sys/fs/cgroup/app/freezer.state", "FROZEN\n");
        fake.watched("x", 0);
    };
    let version_2 = |fake: &Fake| {
        fake.write("proc/100/cgroup", "0::/app\n");
        fake.write("sys/fs/cgroup/app/cgroup.events", "populated 1\nfrozen 1\n");
        fake.watched("x", 0);
    };
    let judge = |host: &HostReading| {
        let report = audit(host, Load::Throughput);
        let first = &report.findings[0];
        assert_eq!(first.check.id, "app.stopped");
        let text = first.finding.text();
        assert!(text.contains("/sys/fs/cgroup/app is frozen"), "{text}");
    };
    looked(version_1, nothing, judge);
    looked(version_2, nothing, judge);
}

#[test]
fn programs_that_are_killed_for_memory_are_told_from_those_that_a_server_starts() {
    let events = |count: u32| {
        move |fake: &Fake| {
            fake.write("proc/100/cgroup", "0::/app\n");
            fake.write("sys/fs/cgroup/app/memory.current", "4000000");
            fake.write("sys/fs/cgroup/app/memory.max", "4194304");
            fake.write("sys/fs/cgroup/app/memory.events", &format!("max 9\noom_kill {count}\n"));
        }
    };
    let of_control = |count: u32| {
        move |fake: &Fake| {
            of_version_1(fake, "memory");
            fake.write("sys/fs/cgroup/app/memory.usage_in_bytes", "4000000");
            fake.write("sys/fs/cgroup/app/memory.limit_in_bytes", "4194304");
            let text = format!("oom_kill_disable 0\nunder_oom 0\noom_kill {count}\n");
            fake.write("sys/fs/cgroup/app/memory.oom_control", &text);
        }
    };
    let both =
        |check| [found(check, events(3), events(70)), found(check, of_control(3), of_control(70))];
    for killed in both("env.memory") {
        assert!(
            killed.text().contains("67 programs in /sys/fs/cgroup/app were killed"),
            "{killed:?}"
        );
        assert!(killed.text().ends_with(", 4 MiB"), "{killed:?}");
        assert!(matches!(killed, Finding::Costs(..)), "{killed:?}");
    }
    for started in both("app.children") {
        assert!(started.text().ends_with("see env.memory"), "{started:?}");
        assert!(matches!(started, Finding::Good(_)), "{started:?}");
    }
    let none = found("env.memory", events(70), events(70));
    assert!(!none.text().contains("killed"), "{none:?}");
}

#[test]
fn a_limit_for_memory_of_sockets_is_no_small_buffer_of_the_program() {
    let limited = |used: u32, busy_us: u32| {
        move |fake: &Fake| {
            of_version_1(fake, "memory");
            fake.write("sys/fs/cgroup/app/memory.kmem.tcp.limit_in_bytes", "307200");
            fake.write("sys/fs/cgroup/app/memory.kmem.tcp.usage_in_bytes", &used.to_string());
            let numbers = format!("busy_us={busy_us} send_buffer=4608");
            fake.connections(&format!("accepted 1 80 10.0.0.2/9 {numbers}\n"));
        }
    };
    let sockets = found("env.memory", limited(9_000, 1), limited(409_600, 900_000));
    assert!(sockets.text().contains("use 400 of 300 KiB"), "{sockets:?}");
    assert!(matches!(sockets, Finding::Costs(..)), "{sockets:?}");
    let buffer = found("app.sndbuf", limited(9_000, 1), limited(409_600, 900_000));
    assert!(
        matches!(&buffer, Finding::Good(text) if text.ends_with("see env.memory")),
        "{buffer:?}"
    );
    let own = found("app.sndbuf", limited(9_000, 1), limited(9_000, 900_000));
    assert!(own.text().contains("SO_SNDBUF was set"), "{own:?}");
}

#[test]
fn answers_that_wait_for_their_pace_or_a_filter_are_not_held_back_by_the_program() {
    let of = |check: &str, numbers: &str, drops: &str| {
        let line = |port| format!("accepted 1 80 10.0.0.2/{port} unsent=90 mss=1448 {numbers}\n");
        let lines: String = (1..11).map(line).collect();
        let happens = |fake: &Fake| {
            fake.connections(&lines.replace("busy_us=1 ", "busy_us=900000 "));
            fake.write("velodrome/drops", &format!("in 1.000\n{drops}"));
        };
        found(check, |fake| fake.connections(&lines), happens)
    };
    let corked = of("app.nodelay", "", "");
    assert!(corked.text().contains("TCP_CORK"), "{corked:?}");
    for other in [
        of("app.nodelay", "", "NETFILTER_DROP 90\n"),
        of("app.nodelay", "busy_us=1 pace=200000 ", ""),
    ] {
        assert!(!other.text().contains("TCP_CORK"), "{other:?}");
    }
    let pace = of("app.pacing", "busy_us=1 pace=200000 ", "");
    assert!(pace.text().contains("200 kB/s at most (SO_MAX_PACING_RATE)"), "{pace:?}");
    let Finding::Costs(_, _, Price::Measured(range)) = &pace else { panic!("{pace:?}") };
    assert!(range.high > 80.0, "{range:?}");
}

#[test]
fn a_thread_of_a_runtime_that_looks_at_the_clock_is_no_sleep_of_the_server() {
    let sleeps = |lines: &str| {
        let lines = lines.to_owned();
        found("app.sleep", move |fake| fake.write("velodrome/threads/100", &lines), nothing)
    };
    // The first one is that of the runtime; it was seen in a short call once.
    let go = sleeps(
        "100 100 40 2 0 0 sleep=37 events=1\n101 100 40 10 0 0 events=30\n102 100 40 38 0 0 sleep=2\n",
    );
    assert!(matches!(go, Finding::Good(_)), "{go:?}");
    // One that serves and spins is woken after some microseconds each time.
    let spins = found(
        "app.sleep",
        |fake| (100..104).for_each(|thread| fake.thread_woken(thread, 0)),
        |fake| {
            (100..104).for_each(|thread| fake.thread_woken(thread, 9_000));
            let line = |thread| format!("{thread} 100 40 10 0 0 sleep=8 events=20\n");
            fake.write("velodrome/threads/100", &(100..104).map(line).collect::<String>());
        },
    );
    assert!(matches!(spins, Finding::Good(_)), "{spins:?}");
    let pool = sleeps("100 100 40 2 0 0 sleep=37 receive=1\n101 100 40 2 0 0 sleep=36 receive=2\n");
    assert!(matches!(pool, Finding::Costs(..)), "{pool:?}");
}

#[test]
fn a_timer_slack_is_named_where_threads_sleep() {
    let sleep = found(
        "app.sleep",
        |fake| {
            fake.write("proc/100/timerslack_ns", "50000000");
            fake.watched("sleep", 36);
            let lines =
                (100..104).map(|thread| format!("{thread} 100 40 2 0 0 sleep=30 events=8\n"));
            fake.write("velodrome/threads/100", &lines.collect::<String>());
        },
        nothing,
    );
    assert!(
        sleep.text().contains("each up to 50.0 ms longer than asked (timer slack)"),
        "{sleep:?}"
    );
}

#[test]
fn a_disk_of_others_is_none_of_a_server_that_was_not_seen_waiting() {
    let waits = |threads: &str| {
        let threads = threads.to_owned();
        let pressure = |us: u64| {
            let text = format!("some avg10=0.10 avg60=0.00 avg300=0.00 total={us}\n");
            move |fake: &Fake| fake.write("sys/fs/cgroup/app/io.pressure", &text)
        };
        let before = pressure(0);
        let after = pressure(800_000);
        found(
            "env.disk",
            move |fake| {
                fake.write("proc/100/cgroup", "0::/app\n");
                before(fake);
                fake.write("velodrome/threads/100", &threads);
            },
            after,
        )
    };
    let idle = waits("100 100 40 10 0 0 events=30\n");
    assert!(matches!(idle, Finding::Good(_)), "{idle:?}");
    let waiting = waits("100 100 40 10 0 20 at/folio_wait=20\n");
    assert!(matches!(waiting, Finding::Costs(..)), "{waiting:?}");
}
