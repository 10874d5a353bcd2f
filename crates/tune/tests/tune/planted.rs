//! Goal: a cause is listed first or second, and a host on which nothing costs gets no finding. Method: the files of a
//! clean host in a directory, and one cause set up in each copy. `cargo test -p velodrome-tune --test tune planted --
//! --nocapture` prints the table.

use tune::{Finding, HostReading, Load, audit};

use crate::fake::Fake;

mod network;
mod peers;
mod waits;

/// A cause: the check that must find it, for which load, and the changes to the files before and between the two
/// readings.
struct Cause {
    check: &'static str,
    load: Load,
    plant: fn(&Fake),
    /// The change between the two readings.
    happens: fn(&Fake),
}

fn nothing(_: &Fake) {}

/// A cause that is a setting.
fn set(check: &'static str, load: Load, plant: fn(&Fake)) -> Cause {
    Cause { check, load, plant, happens: nothing }
}

/// A cause that counters show.
fn seen(check: &'static str, load: Load, happens: fn(&Fake)) -> Cause {
    Cause { check, load, plant: nothing, happens }
}

use Load::{Connections, Latency, Throughput};

/// Six threads for four CPUs, with this many ticks each.
fn six(ticks: u64) -> [(u32, u64, &'static str); 6] {
    let cpus = ["0", "1", "2", "3", "0", "1"];
    std::array::from_fn(|thread| (100 + thread as u32, ticks, cpus[thread]))
}

fn causes() -> Vec<Cause> {
    let all = [
        of_packets(),
        of_processes(),
        of_the_machine(),
        network::of_devices_and_sockets(),
        network::of_connections(),
        network::of_the_rest(),
        waits::of_threads(),
        waits::of_uses(),
        waits::of_transport(),
        waits::of_groups(),
        waits::of_observers(),
        peers::of_calls(),
        peers::of_peers(),
        peers::of_locks_and_disks(),
    ];
    all.into_iter().flatten().collect()
}

fn of_packets() -> Vec<Cause> {
    vec![
        set("stack.netfilter", Throughput, |fake| {
            fake.remove("velodrome/hooks");
            fake.write("proc/net/ip_tables_names", "filter\nnat\n")
        }),
        set("stack.netfilter", Throughput, |fake| {
            fake.remove("velodrome/hooks");
            fake.write("proc/modules", "nf_tables 1 2 - Live 0\nnft_chain_nat 1 0 - Live 0\n")
        }),
        set("stack.conntrack-size", Connections, |fake| {
            fake.sysctl("net/netfilter/nf_conntrack_count", "250000");
            fake.sysctl("net/netfilter/nf_conntrack_max", "262144");
        }),
        set("stack.notrack", Throughput, |fake| {
            fake.sysctl("net/netfilter/nf_conntrack_count", "5000");
            fake.sysctl("net/netfilter/nf_conntrack_max", "262144");
        }),
        set("stack.taps", Throughput, |fake| {
            fake.write(
                "proc/net/packet",
                "sk RefCnt Type Proto Iface R Rmem User Inode\n0000 3 3 0003 2 1 0 0 4242\n",
            );
            fake.program(77, "tcpdump");
            fake.link("proc/77/fd/5", "socket:[4242]");
        }),
        set("stack.qdisc", Throughput, |fake| {
            fake.remove("velodrome/qdisc");
            fake.sysctl("net/core/default_qdisc", "fq_codel");
        }),
        set("stack.netfilter", Throughput, |fake| {
            fake.write(
                "velodrome/hooks",
                "ipv4 input 0 ipt_do_table iptable_filter\nipv4 output -200 nf_conntrack_local \
                 nf_conntrack\n",
            )
        }),
        set("stack.netfilter", Throughput, |fake| {
            fake.write("velodrome/hooks", "ipv4 input 0 nft_do_chain_ipv4 nf_tables\n")
        }),
        set("stack.netfilter", Throughput, |fake| {
            fake.remove("velodrome/hooks");
            fake.write("velodrome/nftables", "inet firewall\n");
        }),
        set("stack.xdp", Throughput, |fake| fake.write("velodrome/xdp", "eth0\n")),
        set("stack.qdisc", Throughput, |fake| {
            fake.write("velodrome/qdisc", "eth0 fq_codel\neth0 mq\nlo noqueue\n")
        }),
        Cause {
            check: "stack.cc",
            load: Throughput,
            plant: |fake| {
                fake.sysctl("net/ipv4/tcp_congestion_control", "bbr");
                let near = |peer| format!("accepted 1 80 10.0.0.{peer}/1 rtt_us=100\n");
                fake.connections(&(0..10).map(near).collect::<String>());
            },
            happens: |fake| fake.snmp(&[("Tcp.OutSegs", 50_000)]),
        },
        set("stack.docker", Throughput, |fake| fake.program(90, "dockerd")),
        set("stack.docker", Throughput, |fake| {
            fake.write("sys/class/net/br0/bridge/x", "");
        }),
        set("stack.popular", Latency, |fake| fake.sysctl("net/ipv4/tcp_sack", "0")),
        set("stack.slow-start", Latency, |fake| {
            fake.sysctl("net/ipv4/tcp_slow_start_after_idle", "1")
        }),
    ]
}

fn of_processes() -> Vec<Cause> {
    vec![
        seen("env.quota", Throughput, |fake| {
            fake.write("sys/fs/cgroup/app/cpu.stat", "nr_periods 130\nnr_throttled 80\n")
        }),
        seen("env.steal", Throughput, |fake| fake.cpus([(100, 40); 4])),
        seen("env.neighbours", Throughput, |fake| {
            fake.busy_cpus();
            fake.ran(100, 300, 600);
            fake.beside(50, 0, 90);
        }),
        Cause {
            check: "env.pressure",
            load: Latency,
            plant: |fake| fake.remove_directory("proc/100/task"),
            happens: |fake| fake.waited("cpu", 551_000),
        },
        seen("app.workers", Throughput, |fake| fake.threads(&[(100, 95, "0"), (101, 0, "1")])),
        Cause {
            check: "app.workers",
            load: Throughput,
            plant: |fake| fake.threads(&six(0)),
            happens: |fake| {
                fake.threads(&six(60));
                (100..106).for_each(|thread| fake.ran(thread, 600, 300));
            },
        },
        seen("app.pin", Latency, |fake| {
            let four: Vec<_> = (0..4).map(|thread| (100 + thread, 95, "0-3")).collect();
            fake.threads(&four);
            (100..104).for_each(|thread| fake.moved(thread, 500));
        }),
        set("app.nofile", Connections, |fake| {
            fake.write(
                "proc/100/limits",
                "Max open files            1024                 524288               files\n",
            )
        }),
        set("app.seccomp", Throughput, |fake| {
            fake.status("Seccomp:\t2\nSeccomp_filters:\t3\nSpeculation_Store_Bypass:\tvulnerable\n")
        }),
        set("app.ssbd", Throughput, |fake| {
            fake.status("Seccomp:\t0\nSpeculation_Store_Bypass:\tthread force mitigated\n")
        }),
    ]
}

fn of_the_machine() -> Vec<Cause> {
    vec![
        set("cpu.mitigations", Throughput, |fake| {
            fake.write("sys/devices/system/cpu/vulnerabilities/meltdown", "Mitigation: PTI");
            fake.write(
                "sys/devices/system/cpu/vulnerabilities/mds",
                "Mitigation: Clear CPU buffers",
            );
        }),
        set("cpu.audit", Throughput, |fake| fake.program(60, "auditd")),
        set("cpu.audit", Throughput, |fake| fake.write("velodrome/audit-rules", "exit always\n")),
        set("cpu.clocksource", Latency, |fake| {
            fake.write("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet")
        }),
        set("cpu.governor", Latency, |fake| {
            fake.write("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave")
        }),
        set("cpu.idle", Latency, |fake| {
            fake.write("sys/devices/system/cpu/cpu0/cpuidle/state3/latency", "890");
            fake.write("sys/devices/system/cpu/cpu0/cpuidle/state3/disable", "0");
        }),
        set("cpu.numa", Latency, |fake| {
            fake.write("sys/devices/system/node/node1/x", "");
            fake.sysctl("kernel/numa_balancing", "1");
        }),
        set("cpu.noise", Latency, |fake| fake.sysctl("kernel/nmi_watchdog", "1")),
        Cause {
            check: "vm.swap",
            load: Latency,
            plant: |fake| fake.write("proc/swaps", "Filename Type\n/swap file\n"),
            happens: |fake| fake.vmstat(&[("pswpin", 900)]),
        },
        set("vm.thp", Latency, |fake| {
            fake.write("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never")
        }),
        seen("vm.pressure", Latency, |fake| fake.waited("memory", 120_000)),
    ]
}

/// Reads twice, with this change in between.
fn looked(fake: &Fake, happens: fn(&Fake)) -> HostReading {
    let mut host = HostReading::of(fake.path(), Some(100));
    happens(fake);
    host.look_again(1.0);
    host
}

#[test]
fn a_clean_host_is_told_nothing() {
    for load in [Throughput, Latency, Connections, Load::Density] {
        let fake = Fake::new();
        let host = looked(&fake, nothing);
        for audited in audit(&host, load).findings {
            let Finding::Costs(..) = audited.finding else { continue };
            panic!("{load:?}: {} says {:?}", audited.check.id, audited.finding);
        }
    }
}

#[test]
fn each_cause_is_named_first_or_second() {
    let (mut found, mut missed) = (0, Vec::new());
    for Cause { check, load, plant, happens } in causes() {
        let fake = Fake::new();
        plant(&fake);
        let report = audit(&looked(&fake, happens), load);
        let costs: Vec<_> = report
            .findings
            .iter()
            .filter(|audited| matches!(audited.finding, Finding::Costs(..)))
            .collect();
        let place = costs.iter().position(|audited| audited.check.id == check);
        let named: Vec<&str> = costs.iter().map(|audited| audited.check.id).collect();
        println!("planted {check:22} place {:?}  all {}", place.map(|at| at + 1), named.join(", "));
        match place {
            Some(0 | 1) if costs.len() <= 2 => found += 1,
            _ => missed.push((check, named.join(", "))),
        }
    }
    println!("{found} found, {} missed or with something false", missed.len());
    assert_eq!(missed, []);
    assert!(found >= 85, "{found}");
}

/// Other programs use the CPUs that the server could use: another thread would gain nothing.
#[test]
fn threads_that_wait_for_others_are_not_too_few() {
    let fake = Fake::new();
    let host = looked(&fake, |fake| {
        fake.threads(&[(100, 95, "0"), (101, 40, "1")]);
        fake.busy_cpus();
    });
    let found = tune::find("app.workers").unwrap().finding(&host);
    assert_eq!(found.text(), "1 of its threads are busy, and no CPU was idle");
}

#[test]
fn every_check_is_told_wholly_and_has_a_cause() {
    let planted: Vec<&str> = causes().iter().map(|cause| cause.check).collect();
    for check in tune::ALL.iter().flat_map(|checks| checks.iter()) {
        for text in [check.title, check.expected, check.lost, check.why, check.fix, check.source] {
            assert!(!text.is_empty(), "{}", check.id);
        }
        // It cannot be shown by files here.
        let is_known = planted.contains(&check.id) || ["net.sriov", "stack.tw"].contains(&check.id);
        assert!(is_known, "nothing is planted for {}", check.id);
        assert_eq!(tune::find(check.id).unwrap().title, check.title);
    }
}

#[test]
fn a_host_without_files_cannot_be_judged_and_nothing_fails() {
    let fake = Fake::empty();
    for process in [None, Some(1)] {
        let mut host = HostReading::of(fake.path(), process);
        host.look_again(1.0);
        let report = audit(&host, Throughput);
        // A value that cannot be read is never right.
        let is_judged =
            |finding: &Finding| matches!(finding, Finding::Costs(..) | Finding::Good(_));
        let judged = report.findings.iter().filter(|audited| is_judged(&audited.finding));
        let judged: Vec<_> = judged.map(|one| (one.check.id, one.finding.text())).collect();
        assert_eq!(judged, [], "{process:?}");
        assert!(tune::to_text(&report).contains("cannot be judged"));
    }
}
