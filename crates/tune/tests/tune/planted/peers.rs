//! Causes in calls, locks of the kernel, and in what is at the other end of a connection.

use super::{Cause, nothing, seen, set};
use crate::fake::Fake;
use tune::Load::{Connections, Latency, Throughput};

pub(super) fn of_calls() -> Vec<Cause> {
    vec![
        set("app.calls", Throughput, |fake| {
            let calls = "rate 120000\n30.1 0.0 newfstatat: 50000 calls a second\n";
            fake.write("velodrome/calls/100", calls);
        }),
        set("app.calls", Latency, |fake| {
            let calls =
                "rate 900\n1.5 84.0 connect: 84 % fail with EADDRNOTAVAIL: no local port is left\n";
            fake.write("velodrome/calls/100", calls);
        }),
        set("app.work", Throughput, |fake| {
            fake.write("velodrome/work/100", "seen\nkind 80.0 80.0 compression (deflate)\n");
        }),
        set("app.debug", Throughput, |fake| {
            fake.write("velodrome/aids/100", "2 30 MALLOC_PERTURB_=165\n")
        }),
    ]
}

pub(super) fn of_peers() -> Vec<Cause> {
    vec![
        set("app.dns", Latency, |fake| fake.write("velodrome/names/100", "10 6 8\n10.0.0.2 8\n")),
        seen("app.connect", Throughput, |fake| {
            fake.snmp(&[("Tcp.AttemptFails", 3_000), ("Tcp.ActiveOpens", 6_000)]);
            fake.ran(100, 400, 0);
        }),
        Cause {
            check: "app.pool",
            load: Latency,
            plant: |fake| {
                fake.connections("listens 10 80 0.0.0.0/0 received_queue=7 send_queue=511\n");
                fake.watched("receive", 40);
            },
            happens: nothing,
        },
        Cause {
            check: "app.waiting",
            load: Latency,
            plant: |fake| {
                let waits = "data_received=9 last_received_ms=12 last_sent_ms=40";
                fake.connections(&format!("accepted 1 80 10.0.0.2/9 {waits}\n"));
            },
            happens: nothing,
        },
        set("app.limit", Connections, |fake| {
            let queue = "queue_port 80\nqueue_looks 9\nqueue_waiting 60\n";
            fake.write("velodrome/socket-looks/100", &format!("looks 10\nopen 80\n{queue}"));
        }),
        set("app.pacing", Latency, |fake| {
            let paced = "connections 16\npaced 12\npaced_rate 500000\npaced_busy_percent 9\npaced_bytes 9000000\n";
            fake.write("velodrome/socket-looks/100", &format!("looks 10\nopen 160\n{paced}"));
        }),
        set("app.beside", Connections, |fake| {
            let other = "beside 10 80 0.0.0.0/0 inode=44 received_queue=5\n";
            fake.connections(&format!("listens 10 80 0.0.0.0/0\n{other}"));
        }),
        seen("app.unclosed", Connections, |fake| {
            let line = |port| format!("accepted 8 80 10.0.0.2/{port}\n");
            fake.connections(&(0..90).map(line).collect::<String>());
        }),
        Cause {
            check: "app.datagrams",
            load: Throughput,
            plant: |fake| datagrams(fake, 0),
            happens: |fake| datagrams(fake, 900),
        },
        set("app.nodelay", Latency, |fake| {
            fake.connections("accepted 1 80 10.0.0.2/9 mss=1448 unsent=600\n")
        }),
    ]
}

/// A UDP socket of the server, and one of another program, that have dropped so many datagrams.
fn datagrams(fake: &Fake, dropped: u64) {
    let one = |port: &str, inode: u32| {
        format!("  7: 0100007F:{port} 00000000:0000 07 0:0 0:0 0 0 0 {inode} 2 0 {dropped}\n")
    };
    fake.write("proc/net/udp", &format!("{}{}", one("5A72", 4243), one("0035", 4244)));
    if dropped == 0 {
        fake.link("proc/100/fd/7", "socket:[4243]");
    }
    fake.snmp(&[("Udp.InDatagrams", dropped * 5)]);
}

/// Sets the looks at the four threads of the server: those of one call.
fn waiting(fake: &Fake, call: &str) {
    for thread in 100..104 {
        fake.ran(thread, 200, 0);
    }
    let line = |thread| format!("{thread} 100 40 10 0 0 events=5 {call}=25\n");
    fake.write("velodrome/threads/100", &(100..104).map(line).collect::<String>());
}

pub(super) fn of_locks_and_disks() -> Vec<Cause> {
    vec![
        seen("app.lock", Throughput, |fake| waiting(fake, "file-lock")),
        seen("app.lock", Throughput, |fake| waiting(fake, "memory-lock")),
        seen("app.lock", Throughput, |fake| {
            waiting(fake, "sleep");
            fake.write("velodrome/file-locks/100", "10\n8 8 812 0 /var/visits.db\n");
        }),
        set("app.output", Latency, |fake| {
            fake.write(
                "velodrome/threads/100",
                "100 100 40 10 0 0 write/local-socket=20 events=10\n",
            );
        }),
        set("env.io", Latency, |fake| {
            fake.write("sys/fs/cgroup/app/io.max", "254:0 wiops=20\n");
            fake.write("velodrome/threads/100", "100 100 40 1 0 38 at/folio_wait_bit=38\n");
        }),
    ]
}
