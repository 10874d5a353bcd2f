//! Causes of devices, sockets and connections.

use super::{Cause, seen, set};
use crate::fake::Fake;
use tune::Load::{Connections, Density, Latency, Throughput};

pub(super) fn of_devices_and_sockets() -> Vec<Cause> {
    vec![
        set("net.irq", Throughput, |fake| {
            for queue in 0..4 {
                fake.write(&format!("proc/irq/{}/effective_affinity_list", 40 + queue), "0");
            }
        }),
        set("net.xps", Throughput, |fake| {
            for queue in 0..4 {
                fake.write(&format!("sys/class/net/eth0/queues/tx-{queue}/xps_cpus"), "0");
            }
        }),
        set("net.rps-twice", Throughput, |fake| {
            fake.write("sys/class/net/eth0/queues/rx-0/rps_cpus", "f")
        }),
        set("net.rps", Throughput, Fake::one_queue),
        set("net.irqbalance", Latency, |fake| fake.program(70, "irqbalance")),
        seen("net.budget", Latency, |fake| {
            fake.write("proc/net/softnet_stat", "00000001 00000020 00000000\n")
        }),
        set("net.queues", Throughput, |fake| fake.device(&[("queues", "2"), ("queues-most", "8")])),
        set("net.coalesce", Throughput, |fake| {
            fake.device(&[("rx-usecs", "0"), ("adaptive-rx", "off")])
        }),
        set("net.rings", Latency, |fake| {
            fake.device(&[("rx-ring", "256")]);
            fake.write("sys/class/net/eth0/statistics/rx_missed_errors", "77");
        }),
        set("net.gro", Throughput, |fake| fake.device(&[("gro", "on")])),
        set("net.lro", Latency, |fake| fake.device(&[("lro", "on")])),
        set("net.busy", Latency, |fake| fake.sysctl("net/core/busy_poll", "0")),
        set("stack.somaxconn", Latency, |fake| fake.sysctl("net/core/somaxconn", "128")),
        seen("stack.somaxconn", Latency, |fake| {
            fake.netstat(&[("ListenOverflows", 300), ("ListenDrops", 300)])
        }),
        seen("stack.synbacklog", Latency, |fake| fake.netstat(&[("TCPReqQFullDrop", 40)])),
        // Without cookies, and not counted as full.
        Cause {
            check: "stack.synbacklog",
            load: Connections,
            plant: |fake| {
                fake.sysctl("net/ipv4/tcp_syncookies", "0");
                fake.sysctl("net/ipv4/tcp_max_syn_backlog", "128");
                let half = |port| format!("accepted 3 80 10.0.0.2/{port}\n");
                fake.connections(&(0..97).map(half).collect::<String>());
            },
            happens: |fake| fake.netstat(&[("ListenDrops", 500)]),
        },
        seen("stack.ports", Connections, |fake| {
            fake.write("proc/net/sockstat", "TCP: inuse 10 orphan 0 tw 27000 alloc 10 mem 1\n");
            fake.connections("opened 1 40000 10.0.0.9/80 data_sent=1\n");
            fake.snmp(&[("Tcp.ActiveOpens", 900)]);
        }),
        set("stack.tcpmem", Connections, |fake| {
            fake.write("proc/net/sockstat", "TCP: inuse 10 orphan 0 tw 0 alloc 10 mem 190000\n");
        }),
        set("stack.file", Connections, |fake| fake.sysctl("fs/file-nr", "950000\t0\t1000000")),
    ]
}

pub(super) fn of_connections() -> Vec<Cause> {
    vec![
        set("app.reuseport", Throughput, |fake| fake.sockets(15, 0, 4096)),
        set("app.nodelay", Latency, |fake| fake.sockets(0, 3, 4096)),
        set("app.nodelay", Latency, |fake| {
            fake.sockets(0, 3, 4096);
            let waits = "unsent=100 mss=1448 unacked=1 window=10";
            let one = |peer| format!("accepted 1 80 127.0.0.1/{peer} {waits}\n");
            fake.connections(&(0..4).map(one).collect::<String>());
        }),
        set("app.backlog", Connections, |fake| {
            fake.write("velodrome/tcp/100", "listens 10 80 0.0.0.0/0 send_queue=10\n")
        }),
        Cause {
            check: "app.backlog",
            load: Connections,
            plant: |fake| {
                fake.write("velodrome/tcp/100", "listens 10 80 0.0.0.0/0 send_queue=10\n")
            },
            happens: |fake| {
                fake.netstat(&[("ListenOverflows", 300)]);
                fake.snmp(&[("Tcp.PassiveOpens", 90)]);
                let full = "listens 10 80 0.0.0.0/0 send_queue=10 drops=300\n";
                fake.write("velodrome/tcp/100", full);
            },
        },
        set("app.irq-suspend", Throughput, Fake::polled),
        seen("app.wakeups", Throughput, |fake| fake.woken(61_000)),
        set("app.sched", Latency, |fake| fake.politeness(10, 0)),
        set("app.sched", Latency, |fake| fake.politeness(0, 5)),
        set("app.thp", Density, |fake| {
            fake.write("proc/100/smaps_rollup", "Rss: 900000 kB\nAnonHugePages: 800000 kB\n")
        }),
    ]
}

pub(super) fn of_the_rest() -> Vec<Cause> {
    vec![
        Cause {
            check: "cpu.smt",
            load: Latency,
            plant: |fake| {
                for (cpu, core) in ["0-1", "0-1", "2-3", "2-3"].iter().enumerate() {
                    let list =
                        format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
                    fake.write(&list, core);
                }
            },
            happens: |fake| fake.threads(&[(100, 95, "0"), (101, 95, "1")]),
        },
        set("cpu.isol", Throughput, |fake| {
            fake.write("sys/devices/system/cpu/isolated", "2-3");
            for thread in [102, 103] {
                let path = format!("proc/100/task/{thread}/status");
                fake.write(&path, "Cpus_allowed_list:\t0-1\n");
            }
        }),
        set("cpu.kernel", Throughput, |fake| fake.sysctl("kernel/osrelease", "5.10.0-28-amd64")),
        seen("vm.minfree", Latency, |fake| fake.vmstat(&[("allocstall_normal", 40)])),
        seen("vm.dropped", Latency, |fake| {
            fake.vmstat(&[("drop_pagecache", 9)]);
            fake.write("velodrome/threads/100", "100 100 40 4 0 36 at/folio_wait_bit=36\n");
        }),
        set("vm.dirty", Latency, |fake| fake.vmstat(&[("nr_dirty", 950)])),
        set("vm.hugepages", Density, |fake| {
            fake.write(
                "proc/meminfo",
                "MemTotal: 8000000 kB\nHugePages_Total: 512\nHugePages_Free: 512\nHugepagesize: 2048 kB\n",
            )
        }),
        seen("net.softirq", Throughput, |fake| fake.packets([60, 0, 0, 0])),
        seen("net.rss", Throughput, |fake| fake.queues([90_000, 5_000, 5_000, 5_000], 0)),
        seen("net.allowance", Throughput, |fake| fake.queues([0; 4], 40)),
        set("net.threaded", Throughput, |fake| fake.write("sys/class/net/eth0/threaded", "1")),
        set("net.rfs", Throughput, |fake| fake.sysctl("net/core/rps_sock_flow_entries", "32768")),
        set("net.arfs", Throughput, Fake::flows_steered_by_kernel),
        set("net.defer", Latency, |fake| {
            fake.write("sys/class/net/eth0/gro_flush_timeout", "2000000")
        }),
        set("app.fastopen", Latency, |fake| fake.sysctl("net/ipv4/tcp_fastopen", "1")),
        Cause {
            check: "app.nopool",
            load: Throughput,
            plant: |fake| fake.pool(),
            happens: |fake| {
                fake.threads(
                    &[0, 1, 2, 3].map(|at| (100 + at, 90, ["0", "1", "2", "3"][at as usize])),
                )
            },
        },
        seen("net.drops", Latency, |fake| fake.write("velodrome/drops", "NETFILTER_DROP 400\n")),
        set("net.tso", Throughput, |fake| fake.device(&[("tso", "off")])),
        set("net.gso", Throughput, |fake| fake.device(&[("gso", "off")])),
        set("net.gso", Throughput, |fake| {
            fake.write("velodrome/segments", "lo 65535 65536\neth0 1 65536\n")
        }),
        set("stack.notsent", Connections, |fake| {
            fake.sysctl("net/ipv4/tcp_notsent_lowat", "4294967295")
        }),
        set("stack.rwmem", Connections, |fake| {
            fake.sysctl("net/ipv4/tcp_rmem", "4096\t4194304\t16777216")
        }),
    ]
}
