//! The files of a host on which nothing costs; removed when dropped.
#![allow(dead_code, reason = "each test file uses a part of it")]

pub(crate) mod poor;
mod times;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

pub(crate) struct Fake {
    root: PathBuf,
}

impl Fake {
    pub(crate) fn empty() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        // In memory, if the host has such a file system: a disk takes ten times as long for thousands of small files.
        let memory = Path::new("/dev/shm");
        let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let root = place.join(format!("velodrome-tune-{}-{number}", std::process::id()));
        std::fs::create_dir_all(root.join("proc")).unwrap();
        Self { root }
    }

    /// Four CPUs, a device with a queue for each, a server with a thread for each.
    pub(crate) fn new() -> Self {
        let fake = Self::empty();
        fake.sysctls();
        fake.vmstat(&[]);
        fake.write(
            "proc/meminfo",
            "MemTotal: 8000000 kB\nHugePages_Total: 0\nHugePages_Free: 0\nHugepagesize: 2048 kB\n",
        );
        fake.write("proc/swaps", "Filename Type\n");
        fake.write("proc/net/packet", "sk RefCnt Type Proto Iface R Rmem User Inode\n");
        fake.write(
            "proc/net/sockstat",
            "sockets: used 10\nTCP: inuse 10 orphan 0 tw 3 alloc 10 mem 100\n",
        );
        fake.write("proc/net/softnet_stat", "00000001 00000000 00000000\n");
        for name in ["cpu", "memory", "io"] {
            fake.waited(name, 1000);
        }
        fake.write("proc/cmdline", "root=/dev/sda");
        fake.netstat(&[]);
        fake.cpus([(0, 0); 4]);
        fake.write("sys/devices/system/cpu/vulnerabilities/meltdown", "Not affected");
        fake.write(
            "sys/devices/system/cpu/vulnerabilities/spectre_v2",
            "Mitigation: Enhanced / Automatic IBRS",
        );
        fake.write("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc");
        fake.write("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "performance");
        fake.write("sys/devices/system/cpu/cpu0/cpuidle/state0/latency", "2");
        fake.write("sys/devices/system/node/node0/x", "");
        fake.write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never");
        fake.device_files();
        for cpu in 0..4 {
            fake.write(
                &format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"),
                &cpu.to_string(),
            );
        }
        fake.write("sys/devices/system/cpu/isolated", "");
        fake.write("sys/class/net/eth0/threaded", "0");
        fake.write("sys/class/net/eth0/gro_flush_timeout", "20000");
        fake.answers();
        fake.programs();
        fake.status("Seccomp:\t0\nSpeculation_Store_Bypass:\tvulnerable\n");
        fake.write(
            "proc/100/limits",
            "Max open files            524288               524288               files\n",
        );
        fake.write("proc/100/cgroup", "0::/app\n");
        fake.write("sys/fs/cgroup/app/cpu.max", "400000 100000\n");
        fake.write("sys/fs/cgroup/app/cpu.weight", "100\n");
        fake.write("sys/fs/cgroup/app/cpu.stat", "nr_periods 100\nnr_throttled 0\n");
        fake.threads(&[(100, 0, "0"), (101, 0, "1"), (102, 0, "2"), (103, 0, "3")]);
        fake.watched("events", 40);
        fake.connections("");
        fake.write("velodrome/audit-rules", "");
        fake.write("velodrome/observers", "");
        fake.write("velodrome/files/100", "50 /var/log/server.log\n");
        fake.write("velodrome/qdisc-counts", "eth0 pfifo_fast 0: packets 10 drops 0 late 0\n");
        fake.write("velodrome/lines/proc/100/maps", "300");
        fake.write("velodrome/calls/100", "rate 9000\n");
        fake.write("velodrome/aids/100", "");
        fake.write("velodrome/names/100", "10 0 0\n");
        fake.write("proc/100/timerslack_ns", "50000");
        fake.write("proc/100/io", "syscr: 10\nsyscw: 10\n");
        fake.write("sys/kernel/tracing/current_tracer", "nop");
        fake.woken(1000);
        fake
    }

    fn sysctls(&self) {
        for (name, value) in [
            ("kernel/osrelease", "6.12.0-clean"),
            ("kernel/numa_balancing", "0"),
            ("kernel/nmi_watchdog", "0"),
            ("vm/swappiness", "10"),
            ("net/core/busy_poll", "50"),
            ("net/core/somaxconn", "4096"),
            ("net/core/default_qdisc", "pfifo_fast"),
            ("net/ipv4/tcp_congestion_control", "cubic"),
            ("net/ipv4/tcp_timestamps", "1"),
            ("net/ipv4/tcp_sack", "1"),
            ("net/ipv4/tcp_syncookies", "1"),
            ("net/ipv4/tcp_slow_start_after_idle", "0"),
            ("net/ipv4/tcp_max_syn_backlog", "4096"),
            ("net/ipv4/tcp_max_tw_buckets", "262144"),
            ("net/ipv4/ip_local_port_range", "32768\t60999"),
            ("net/ipv4/tcp_mem", "100000\t200000\t300000"),
            ("net/ipv4/tcp_notsent_lowat", "131072"),
            ("net/ipv4/tcp_fastopen", "3"),
            ("net/ipv4/tcp_rmem", "4096\t131072\t16777216"),
            ("net/ipv4/tcp_wmem", "4096\t16384\t16777216"),
            ("net/core/rps_sock_flow_entries", "0"),
            ("fs/file-nr", "2000\t0\t1000000"),
            ("fs/nr_open", "1048576"),
            ("vm/max_map_count", "65530"),
        ] {
            self.sysctl(name, value);
        }
    }

    /// A device with a queue for each CPU, each with an interrupt there.
    fn device_files(&self) {
        for queue in 0..4 {
            let mask = format!("{:x}", 1 << queue);
            self.write(&format!("sys/class/net/eth0/queues/rx-{queue}/rps_cpus"), "0");
            self.write(&format!("sys/class/net/eth0/queues/tx-{queue}/xps_cpus"), &mask);
            self.write(&format!("sys/class/net/eth0/device/msi_irqs/{}", 40 + queue), "msi");
            self.write(
                &format!("proc/irq/{}/effective_affinity_list", 40 + queue),
                &queue.to_string(),
            );
            self.write(&format!("proc/irq/{}/smp_affinity", 40 + queue), &mask);
            self.write(&format!("proc/irq/{}/eth0-TxRx-{queue}/x", 40 + queue), "");
        }
        let lines =
            (0..4).map(|queue| format!(" {}: 0 0 0 0 PCI-MSIX eth0-TxRx-{queue}\n", 40 + queue));
        self.write(
            "proc/interrupts",
            &format!("CPU0 CPU1 CPU2 CPU3\n{}", lines.collect::<String>()),
        );
    }

    pub(crate) fn path(&self) -> &Path {
        &self.root
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn remove(&self, path: &str) {
        std::fs::remove_file(self.root.join(path)).unwrap();
    }

    pub(crate) fn sysctl(&self, name: &str, value: &str) {
        self.write(&format!("proc/sys/{name}"), value);
    }

    pub(crate) fn link(&self, path: &str, to: &str) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(to, path).unwrap();
    }

    /// A program that has used no CPU time yet.
    pub(crate) fn program(&self, process: u32, name: &str) {
        self.write(&format!("proc/{process}/comm"), name);
        self.works(process, 0);
    }

    /// Sets the CPU ticks of a program.
    pub(crate) fn works(&self, process: u32, ticks: u64) {
        let stat = format!("{process} (name) S 1 1 1 0 -1 0 0 0 0 0 {ticks} 0 0 0");
        self.write(&format!("proc/{process}/stat"), &stat);
    }

    /// Sets lines of the server's status.
    pub(crate) fn status(&self, lines: &str) {
        self.write("proc/100/status", &format!("{lines}Cpus_allowed_list:\t0-3\n"));
    }

    /// Sets the threads of the server: the CPU ticks of each, and its affinity.
    pub(crate) fn threads(&self, threads: &[(u32, u64, &str)]) {
        for (thread, ticks, cpus) in threads {
            let stat = format!("{thread} (worker) S 1 1 1 0 -1 0 0 0 0 0 {ticks} 0 0 0");
            self.write(&format!("proc/100/task/{thread}/stat"), &stat);
            self.write(
                &format!("proc/100/task/{thread}/status"),
                &format!("Cpus_allowed_list:\t{cpus}\n"),
            );
            self.ran(*thread, ticks * 10, 0);
            self.moved(*thread, 0);
        }
    }

    /// Sets the ticks of each CPU: busy, and stolen.
    pub(crate) fn cpus(&self, ticks: [(u64, u64); 4]) {
        let line = |(at, (worked, stolen)): (usize, &(u64, u64))| {
            format!("cpu{at} {worked} 0 0 {} 0 0 0 {stolen} 0 0\n", 10_000 + worked)
        };
        let lines: String = ticks.iter().enumerate().map(line).collect();
        self.write("proc/stat", &format!("cpu 1 2 3 4 5 6 7 8 9 10\n{lines}"));
    }

    /// Adds twenty threads to the server, which are always idle.
    pub(crate) fn pool(&self) {
        let threads: Vec<(u32, u64, &str)> = (0..20).map(|at| (200 + at, 7, "0-3")).collect();
        self.threads(&threads);
    }

    /// Sets all CPUs busy.
    pub(crate) fn busy_cpus(&self) {
        let lines: String =
            (0..4).map(|at| format!("cpu{at} 100 0 0 10000 0 0 0 0 0 0\n")).collect();
        self.write("proc/stat", &format!("cpu 1 2 3 4 5 6 7 8 9 10\n{lines}"));
    }

    /// Sets the softirq ticks of each CPU.
    pub(crate) fn packets(&self, ticks: [u64; 4]) {
        let line = |(at, ticks): (usize, &u64)| {
            format!("cpu{at} 0 0 0 {} 0 0 {ticks} 0 0 0\n", 10_100 - ticks)
        };
        let lines: String = ticks.iter().enumerate().map(line).collect();
        self.write("proc/stat", &format!("cpu 1 2 3 4 5 6 7 8 9 10\n{lines}"));
    }

    /// Sets TCP counters.
    pub(crate) fn netstat(&self, counts: &[(&str, u64)]) {
        let names = [
            "ListenOverflows",
            "ListenDrops",
            "TCPReqQFullDrop",
            "TCPMemoryPressures",
            "TCPTimeouts",
        ];
        let count = |name: &&str| {
            counts.iter().find(|(known, _)| known == name).map_or(0, |(_, count)| *count)
        };
        let numbers: Vec<String> = names.iter().map(|name| count(name).to_string()).collect();
        self.write(
            "proc/net/netstat",
            &format!("TcpExt: {}\nTcpExt: {}\n", names.join(" "), numbers.join(" ")),
        );
    }

    /// The device has one queue.
    fn programs(&self) {
        self.program(100, "server");
        self.politeness(0, 0);
        self.program(50, "shell");
    }

    /// Sets the answers of its kernel.
    fn answers(&self) {
        self.device(&[]);
        self.write("velodrome/hooks", "ipv4 input 0 selinux_ip_postroute selinux\n");
        self.write("velodrome/qdisc", "eth0 mq\neth0 pfifo_fast\nlo noqueue\n");
        self.write("velodrome/xdp", "");
        self.write("velodrome/socket-looks/100", "looks 10\nopen 200\nconnections 20\n");
        self.write("velodrome/file-locks/100", "10\n");
        self.sockets(0, 0, 4096);
        self.queues([0; 4], 0);
    }

    /// Sets the server's sockets: of 20 connections this many arrive elsewhere, and this many are without TCP_NODELAY.
    pub(crate) fn sockets(&self, elsewhere: u32, waiting: u32, backlog: u32) {
        let text = format!(
            "worker 0 connections 20 elsewhere {elsewhere} waiting {waiting}\nlistener {backlog}\nepoll 0\n"
        );
        self.write("velodrome/sockets/100", &text);
    }

    /// The server busy-polls a device that interrupts nevertheless.
    pub(crate) fn polled(&self) {
        let worker = "worker 0 connections 20 elsewhere 0 waiting 0\nepoll 50\n";
        self.write("velodrome/sockets/100", worker);
        self.write("velodrome/napi", "lo 1\neth0 257 suspend 0");
    }

    /// The kernel steers packets to threads, although the device could do it.
    pub(crate) fn flows_steered_by_kernel(&self) {
        self.sysctl("net/core/rps_sock_flow_entries", "32768");
        for queue in 0..4 {
            self.write(&format!("sys/class/net/eth0/queues/rx-{queue}/rps_flow_cnt"), "8192");
        }
        self.device(&[("ntuple", "off")]);
    }

    /// Sets driver statistics: packets of each queue, and those that exceeded the cloud's limit.
    pub(crate) fn queues(&self, packets: [u32; 4], exceeded: u32) {
        let line = |(queue, count)| format!("queue_{queue}_rx_cnt {count}\n");
        let lines: String = packets.iter().enumerate().map(line).collect();
        self.write(
            "velodrome/statistics/eth0",
            &format!("{lines}pps_allowance_exceeded {exceeded}\n"),
        );
    }

    /// Sets memory counters.
    pub(crate) fn vmstat(&self, counts: &[(&str, u64)]) {
        let clean = [
            ("pswpin", 0),
            ("compact_stall", 0),
            ("allocstall_normal", 0),
            ("drop_pagecache", 0),
            ("nr_dirty", 10),
            ("nr_dirty_threshold", 1000),
        ];
        let count = |(name, clean): &(&str, u64)| {
            let count =
                counts.iter().find(|(known, _)| known == name).map_or(*clean, |found| found.1);
            format!("{name} {count}\n")
        };
        self.write("proc/vmstat", &clean.iter().map(count).collect::<String>());
    }

    /// Sets how often the server was woken.
    pub(crate) fn woken(&self, times: u64) {
        self.write(
            "proc/100/task/100/status",
            &format!("Cpus_allowed_list:\t0\nvoluntary_ctxt_switches:\t{times}\n"),
        );
    }

    /// Sets the nice value and the scheduling policy of the server.
    pub(crate) fn politeness(&self, nice: u32, policy: u32) {
        let zeros = |count: usize| vec!["0"; count].join(" ");
        let stat = format!("100 (server) S {} {nice} {} {policy} 0", zeros(15), zeros(21));
        self.write("proc/100/stat", &stat);
        self.write("proc/100/task/100/stat", &stat);
    }

    pub(crate) fn remove_directory(&self, path: &str) {
        std::fs::remove_dir_all(self.root.join(path)).unwrap();
    }

    /// Sets the settings of a device: those that cost nothing, except for these.
    pub(crate) fn device(&self, changed: &[(&str, &str)]) {
        let clean = [
            ("queues", "4"),
            ("queues-most", "4"),
            ("rx-ring", "1024"),
            ("rx-ring-most", "4096"),
            ("rx-usecs", "64"),
            ("adaptive-rx", "on"),
            ("gro", "off"),
            ("gso", "on"),
            ("tso", "on"),
            ("lro", "off"),
        ];
        for (name, value) in clean.iter().chain(changed) {
            self.write(&format!("velodrome/ethtool/eth0/{name}"), value);
        }
    }

    pub(crate) fn one_queue(&self) {
        for queue in 1..4 {
            for kind in ["rx", "tx"] {
                let path = format!("sys/class/net/eth0/queues/{kind}-{queue}");
                std::fs::remove_dir_all(self.root.join(path)).unwrap();
            }
        }
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.root).unwrap();
    }
}
