//! Causes of waits: threads, what they use up, their connections, their groups, and who watches them.

use super::{Cause, seen, set};
use crate::fake::Fake;
use tune::Load::{Connections, Density, Latency, Throughput};

/// Sets the sums of one thread: looks, running, stopped, waiting for a disk, and its calls.
fn one(fake: &Fake, sums: &str) {
    fake.write("velodrome/threads/100", &format!("100 100 {sums}\n"));
}

pub(super) fn of_threads() -> Vec<Cause> {
    vec![
        seen("app.affinity", Throughput, |fake| {
            fake.write("sys/devices/system/cpu/online", "0-3");
            for thread in 100..104 {
                let status = "Cpus_allowed_list:\t0\n";
                fake.write(&format!("proc/100/task/{thread}/status"), status);
                fake.ran(thread, 200, 700);
            }
        }),
        Cause {
            check: "app.lock",
            load: Throughput,
            plant: |fake| (100..104).for_each(|thread| fake.thread_woken(thread, 0)),
            happens: |fake| {
                let line = |thread| {
                    fake.thread_woken(thread, 900);
                    fake.ran(thread, 250, 0);
                    format!("{thread} 100 40 10 0 0 events=5 futex/7f00/80=25\n")
                };
                let text: String = (100..104).map(line).collect();
                fake.write("velodrome/threads/100", &text);
            },
        },
        Cause {
            check: "app.stuck",
            load: Latency,
            plant: |fake| {
                fake.connections("accepted 1 80 10.0.0.2/9 received_queue=90\n");
                fake.watched("futex/7f00/80", 40);
            },
            happens: |_| {},
        },
        set("app.stopped", Latency, |fake| one(fake, "40 2 20 0 events=18")),
        set("app.stopped", Latency, |fake| {
            fake.write("sys/fs/cgroup/app/cgroup.events", "populated 1\nfrozen 1\n");
            one(fake, "40 0 0 0 events=40");
        }),
        set("app.tracer", Throughput, |fake| {
            fake.program(99, "strace");
            fake.write("proc/100/task/100/status", "Cpus_allowed_list:\t0\nTracerPid:\t99\n");
            one(fake, "40 10 30 0");
        }),
        set("app.disk", Latency, |fake| one(fake, "40 10 0 28 fsync=30")),
        set("app.output", Latency, |fake| one(fake, "40 10 0 0 write/pipe=20 events=10")),
        set("app.sleep", Latency, |fake| one(fake, "40 10 0 0 sleep=20 events=10")),
        Cause {
            check: "app.children",
            load: Throughput,
            plant: |fake| one(fake, "40 10 0 0 wait-child=20 events=10"),
            happens: |fake| {
                let ticks: String =
                    (0..4).map(|cpu| format!("cpu{cpu} 0 0 0 10000 0 0 0 0 0 0\n")).collect();
                fake.write("proc/stat", &format!("cpu 1\n{ticks}processes 900\n"));
                fake.ran(100, 100, 0);
            },
        },
    ]
}

pub(super) fn of_uses() -> Vec<Cause> {
    vec![
        set("app.maps", Throughput, |fake| fake.write("velodrome/lines/proc/100/maps", "65531")),
        seen("app.maps", Throughput, |fake| fake.write("velodrome/lines/proc/100/maps", "9000")),
        seen("app.faults", Throughput, |fake| {
            let stat = "100 (worker) S 1 1 1 0 -1 0 400000 0 0 0 0 0 0 0";
            fake.write("proc/100/task/100/stat", stat);
            fake.ran(100, 400, 0);
        }),
        Cause {
            check: "app.leak",
            load: Density,
            plant: |fake| {
                fake.status(
                    "Seccomp:\t0\nSpeculation_Store_Bypass:\tvulnerable\nVmRSS:\t50000 kB\n",
                )
            },
            happens: |fake| {
                fake.status(
                    "Seccomp:\t0\nSpeculation_Store_Bypass:\tvulnerable\nVmRSS:\t90000 kB\n",
                )
            },
        },
        set("app.disk-full", Throughput, |fake| fake.write("velodrome/files/100", "0.000 /log\n")),
        Cause {
            check: "env.memory",
            load: Throughput,
            plant: |fake| fake.write("sys/fs/cgroup/app/memory.events", "oom_kill 2\n"),
            happens: |fake| fake.write("sys/fs/cgroup/app/memory.events", "oom_kill 40\n"),
        },
        set("app.slack", Latency, |fake| fake.write("proc/100/timerslack_ns", "5000000")),
    ]
}

pub(super) fn of_transport() -> Vec<Cause> {
    vec![
        seen("net.loss", Latency, |fake| {
            fake.connections("accepted 1 80 10.0.0.2/9 data_sent=900 resent=60\n")
        }),
        seen("net.mtu", Latency, |fake| {
            let hangs = "mss=1448 backoff=3 unacked=4 send_queue=5000 data_sent=9 resent=1";
            fake.connections(&format!("accepted 1 80 10.0.0.2/9 {hangs}\n"));
        }),
        seen("net.shaper", Throughput, |fake| {
            let counts = "packets 9000 bytes 2400000 drops 700 late 3000 waiting 5";
            let line = format!("eth0 tbf 1: {counts} bytes_a_second 2500000\n");
            fake.write("velodrome/qdisc-counts", &line);
        }),
        seen("app.sndbuf", Throughput, |fake| {
            fake.connections(
                "accepted 1 80 10.0.0.2/9 busy_us=900000 buffer_full_us=800000 send_buffer=90000\n",
            )
        }),
        seen("app.sndbuf", Throughput, |fake| {
            fake.connections("accepted 1 80 10.0.0.2/9 busy_us=900000 send_buffer=4608\n")
        }),
        seen("net.receivers", Latency, |fake| {
            fake.connections("accepted 1 80 10.0.0.2/9 busy_us=900000 peer_full_us=800000\n")
        }),
        seen("app.keepalive", Throughput, |fake| {
            fake.snmp(&[("Tcp.PassiveOpens", 9000), ("Tcp.InSegs", 50_000)]);
            fake.ran(100, 900, 0);
        }),
        seen("app.upstream", Latency, |fake| {
            let waits = "data_sent=9 last_sent_ms=80 last_received_ms=95";
            fake.connections(&format!("opened 1 40000 10.0.0.9/80 {waits}\n"));
        }),
        // Each answer is followed by the next request at once: at both readings the times are the same.
        set("app.upstream", Latency, |fake| {
            let one =
                |port| format!("opened 1 {port} 127.0.0.1/9090 data_sent=9 data_received=30\n");
            fake.connections(&(0..16).map(one).collect::<String>());
            fake.write("velodrome/upstreams/100", "10\n127.0.0.1/9090 160 120 0 76\n");
        }),
    ]
}

pub(super) fn of_groups() -> Vec<Cause> {
    vec![
        // Version 1, in a group above that of the server.
        Cause {
            check: "env.quota",
            load: Latency,
            plant: |fake| {
                fake.write("proc/100/cgroup", "3:cpu,cpuacct:/pod/app\n");
                fake.write(
                    "proc/self/mountinfo",
                    "30 25 0:26 / /sys/fs/cgroup/cpu rw shared:4 - cgroup cgroup rw,cpu,cpuacct\n",
                );
                fake.write("sys/fs/cgroup/cpu/pod/app/cpu.cfs_quota_us", "-1");
                fake.write("sys/fs/cgroup/cpu/pod/cpu.cfs_quota_us", "20000");
                fake.write("sys/fs/cgroup/cpu/pod/cpu.cfs_period_us", "100000");
                fake.write("sys/fs/cgroup/cpu/pod/cpu.shares", "1024");
                fake.write("sys/fs/cgroup/cpu/pod/cpu.stat", "nr_periods 0\nnr_throttled 0\n");
            },
            happens: |fake| {
                let stat = "nr_periods 10\nnr_throttled 9\nthrottled_time 700000000\n";
                fake.write("sys/fs/cgroup/cpu/pod/cpu.stat", stat);
                fake.ran(100, 200, 0);
            },
        },
        Cause {
            check: "env.weight",
            load: Throughput,
            plant: |fake| fake.write("sys/fs/cgroup/app/cpu.weight", "10\n"),
            happens: |fake| {
                fake.busy_cpus();
                fake.ran(100, 100, 800);
                fake.beside(50, 0, 90);
            },
        },
        Cause {
            check: "env.memory",
            load: Latency,
            plant: |fake| {
                fake.write("sys/fs/cgroup/app/memory.current", "99000000");
                fake.write("sys/fs/cgroup/app/memory.high", "100000000");
                fake.write("sys/fs/cgroup/app/memory.events", "high 1\nmax 0\n");
            },
            happens: |fake| fake.write("sys/fs/cgroup/app/memory.events", "high 90\nmax 0\n"),
        },
        Cause {
            check: "env.pids",
            load: Connections,
            plant: |fake| {
                fake.write("sys/fs/cgroup/app/pids.current", "40");
                fake.write("sys/fs/cgroup/app/pids.max", "40");
                fake.write("sys/fs/cgroup/app/pids.events", "max 0\n");
            },
            happens: |fake| fake.write("sys/fs/cgroup/app/pids.events", "max 7\n"),
        },
        Cause {
            check: "env.disk",
            load: Latency,
            plant: |fake| {
                fake.write("sys/fs/cgroup/app/io.pressure", "some avg10=0 total=5\n");
                one(fake, "40 10 0 2 at/folio_wait_bit_common=2 events=28");
            },
            happens: |fake| {
                fake.write("sys/fs/cgroup/app/io.pressure", "some avg10=0 total=700005\n")
            },
        },
    ]
}

pub(super) fn of_observers() -> Vec<Cause> {
    vec![
        Cause {
            check: "obs.perf",
            load: Throughput,
            plant: |fake| {
                fake.write("velodrome/observers", "perf 812 4 perf\n");
                fake.write("proc/interrupts", "     CPU0 CPU1\nLOC: 0 0 Local timer interrupts\n");
            },
            happens: |fake| {
                let text = "     CPU0 CPU1\nLOC: 40000 40000 Local timer interrupts\n";
                fake.write("proc/interrupts", text);
            },
        },
        set("obs.bpf", Throughput, |fake| fake.write("velodrome/observers", "bpf 9 2 agent\n")),
        set("obs.trace", Throughput, |fake| {
            fake.write("sys/kernel/tracing/current_tracer", "function")
        }),
        set("obs.trace", Throughput, |fake| {
            fake.write("sys/kernel/tracing/uprobe_events", "p:uprobes/p1 /usr/bin/server:0x10\n")
        }),
    ]
}
