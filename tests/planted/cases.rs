//! The causes that are planted, each as a shell script after `prelude.sh`.

/// A cause.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// The use of the host.
    pub(crate) load: &'static str,
    /// The programs that the script needs.
    pub(crate) needs: &'static [&'static str],
    /// A file or directory that the script needs: a controller of control groups.
    pub(crate) place: &'static str,
    pub(crate) script: &'static str,
    /// The checks of which one has to be first or second.
    pub(crate) named: &'static [&'static str],
}

const fn case(name: &'static str, named: &'static [&'static str], script: &'static str) -> Case {
    Case { name, load: "throughput", needs: &[], place: "/proc", script, named }
}

impl Case {
    const fn latency(self) -> Self {
        Self { load: "latency", ..self }
    }

    const fn needs(self, needs: &'static [&'static str]) -> Self {
        Self { needs, ..self }
    }

    const fn at(self, place: &'static str) -> Self {
        Self { place, ..self }
    }
}

const CPU_GROUPS: &str = "/sys/fs/cgroup/cpu/cpu.shares";
const TASK_GROUPS: &str = "/sys/fs/cgroup/pids/cgroup.procs";
const DISK_GROUPS: &str = "/sys/fs/cgroup/blkio/blkio.throttle.write_iops_device";
const CPU_SETS: &str = "/sys/fs/cgroup/cpuset/cpuset.cpus";

/// The network, and limits of the server.
pub(crate) const OF_THE_NETWORK: &[Case] = &[
    case(
        "rules",
        &["stack.netfilter"],
        "{ echo 'table ip filter { chain in { type filter hook input priority 0; policy accept;'
           i=0; while [ $i -lt 1000 ]; do i=$((i + 1)); echo \"ip saddr 192.0.2.7 tcp dport $((20000 + i)) drop;\"; done
           echo '}'; echo '}'; } > rules
         plant nft -f rules; begin $SERVER none 0; load -c 16; audit",
    )
    .needs(&["nft"]),
    case(
        "shaper",
        &["net.shaper", "net.loss"],
        "plant tc qdisc add dev lo root tbf rate 20mbit burst 70kb limit 80kb
         begin $SERVER none 0 size=20000; load -c 16; audit",
    )
    .latency()
    .needs(&["tc"]),
    case(
        "somaxconn",
        &["stack.somaxconn"],
        "plant sysctl -qw net.core.somaxconn=4; begin $SERVER compute 500 keep=0; load -c 200 --close; audit",
    )
    .latency(),
    case(
        "backlog",
        &["app.backlog"],
        "begin $SERVER compute 500 keep=0 $(with backlog=2); load -c 200 --close; audit",
    )
    .latency(),
    case(
        "descriptors",
        &["app.nofile"],
        "plant ulimit -S -n 20; begin $SERVER none 0; ulimit -S -n 1024
         plant beside python3 -c 'import socket, time
a = [socket.create_connection((\"127.0.0.1\", 8080)) for _ in range(30)]
time.sleep(20)'
         plant until_true '[ $(ls /proc/$server/fd | wc -l) -ge 20 ]'; load -c 4 --timeout 1s; audit",
    )
    .needs(&["python3"]),
    case(
        "nagle",
        &["app.nodelay"],
        "begin $SERVER none 0 pieces=3 $(with nodelay=0); load -c 4; audit",
    )
    .latency(),
    case(
        "send buffer",
        &["app.sndbuf", "app.sleep"],
        "begin $SERVER none 0 size=200000 $(with buffer=4096); load -c 16; audit",
    ),
    case("keep-alive", &["app.keepalive"], "begin $SERVER none 0 $(with keep=0); load -c 8 $(with --close); audit"),
    case(
        "ports",
        &["stack.ports"],
        "plant sysctl -qw 'net.ipv4.ip_local_port_range=32768 32867'
         begin $SERVER connect 0; load -c 4; plant until_true '[ $(wc -l < /proc/net/tcp) -gt 100 ]'; audit",
    ),
    case(
        "packet size",
        &["net.mtu"],
        "ip link set lo mtu 1500
         echo 'table inet f { chain in { type filter hook input priority 0; policy accept; meta length > 900 drop; }; }' > rules
         plant nft -f rules
         begin $SERVER none 0 size=5000; load -c 4; audit",
    )
    .latency()
    .needs(&["nft"]),
    case(
        "upstream",
        &["app.upstream"],
        "taskset -c 1 $SERVER sleep 100000 port=8081 > /dev/null & pids=$!
         until_true \"grep -q ':1F91 ' /proc/net/tcp\"
         begin $SERVER $(with ask 0); load -c 4; audit",
    )
    .latency(),
    case(
        "tap",
        &["stack.taps"],
        "plant beside python3 -c 'import socket, time
s = socket.socket(17, 3, 768)
time.sleep(20)'
         plant until_true \"grep -q ' 0003 ' /proc/net/packet\"; begin $SERVER none 0; load -c 4; audit",
    )
    .needs(&["python3"]),
    case(
        "dropped requests",
        &["net.drops"],
        "echo 'table inet f { chain in { type filter hook input priority 0; policy accept;
             tcp dport 8080 ip id & 0x1f == 7 drop; }; }' > rules
         plant nft -f rules; begin $SERVER none 0; load -c 16; audit",
    )
    .latency()
    .needs(&["nft"]),
    case(
        "no selective acknowledgements",
        &["stack.popular"],
        "plant sysctl -qw net.ipv4.tcp_sack=0; begin $SERVER none 0; load -c 4 --rate 200; audit",
    )
    .latency(),
    case(
        "name server",
        &["app.dns"],
        "printf 'nameserver 127.0.0.8\\noptions timeout:1 attempts:1\\n' > servers
         mount --bind servers /etc/resolv.conf; plant beside python3 -c 'import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((\"127.0.0.8\", 53))
time.sleep(20)'
         plant until_true 'grep -q 0800007F:0035 /proc/net/udp'
         begin $SERVER resolve 0; load -c 4; audit",
    )
    .latency()
    .needs(&["python3"]),
    case(
        "IPv6 first",
        &["app.connect", "app.calls"],
        "taskset -c 1 $SERVER port=8081 > /dev/null & pids=$!
         until_true \"grep -q ':1F91 ' /proc/net/tcp\"
         begin $SERVER $(with connect-twice 0); load -c 4; audit",
    ),
    case(
        "cork",
        &["app.nodelay"],
        "begin $SERVER $(with cork=1); load -c 4; audit",
    )
    .latency(),
    case(
        "connections not closed",
        &["app.unclosed"],
        "begin $SERVER $(with forgets=1); load -c 8 --requests-per-connection 20; audit",
    ),
    case(
        "send buffers of the host",
        &["stack.rwmem"],
        "plant sysctl -qw 'net.ipv4.tcp_wmem=4096 4096 4096'; begin $SERVER size=200000; load -c 8; audit",
    ),
];

/// CPUs: who has them, and who may use them.
pub(crate) const OF_CPUS: &[Case] = &[
    case(
        "quota of a group above",
        &["env.quota"],
        "g=/sys/fs/cgroup/cpu/velodrome-pod; mkdir $g $g/app; later rmdir $g/app $g
         with 5000 > $g/cpu.cfs_quota_us; begin $SERVER none 0; echo $server > $g/app/cgroup.procs
         load -c 16; audit; kill -9 $server",
    )
    .latency()
    .at(CPU_GROUPS),
    case(
        "weight",
        &["env.weight", "env.neighbours"],
        "g=/sys/fs/cgroup/cpu/velodrome-light; mkdir $g; later rmdir $g; with 50 > $g/cpu.shares
         begin $SERVER none 0; echo $server > $g/cgroup.procs
         beside taskset -c 0 sh -c 'while :; do :; done'; load -c 16; audit; kill -9 $server",
    )
    .latency()
    .at(CPU_GROUPS),
    case(
        "CPU set",
        &["app.affinity", "app.workers"],
        "g=/sys/fs/cgroup/cpuset/velodrome-set; mkdir $g; later rmdir $g
         echo 0-1 > $g/cpuset.cpus; with 0 > $g/cpuset.cpus; echo 0 > $g/cpuset.mems
         cpus=0-1; begin $SERVER compute 2000 threads=8; echo $server > $g/cgroup.procs
         load -c 16; audit; kill -9 $server",
    )
    .at(CPU_SETS),
    case(
        "neighbour",
        &["env.neighbours"],
        "begin $SERVER none 0; plant beside taskset -c 0 sh -c 'while :; do :; done'; load -c 16; audit",
    )
    .latency(),
    case(
        "nice",
        &["app.sched", "env.neighbours"],
        "begin $(with nice -n 19) $SERVER none 0; beside taskset -c 0 sh -c 'while :; do :; done'; load -c 16; audit",
    )
    .latency(),
    case(
        "affinity",
        &["app.affinity", "app.workers"],
        "cpus=0$(without -1); begin $SERVER compute 2000 threads=8; load -c 16; audit",
    ),
    case(
        "workers of a master",
        &["app.workers", "app.affinity"],
        "cpus=0$(without -1); begin $SERVER compute 2000 processes=4; load -c 16; audit",
    )
    .latency(),
];

/// The work of a server, and the program that disturbs it.
pub(crate) const OF_PROGRAMS: &[Case] = &[
    case("filter", &["app.seccomp"], "begin $SERVER $(with filter 400); load -c 16; audit"),
    case(
        "tracer",
        &["app.tracer"],
        "begin $SERVER none 0; plant beside strace -f -e trace=none -o /dev/null -p $server
         plant until_true '! grep -q \"TracerPid:.0\" /proc/$server/status'; load -c 16; audit",
    )
    .needs(&["strace"]),
    case(
        "stopped",
        &["app.stopped"],
        "begin $SERVER none 0; load -c 16
         plant beside sh -c \"while :; do kill -STOP $server; sleep 0.4; kill -CONT $server; sleep 0.3; done\"; audit",
    )
    .latency(),
    case(
        "sampler",
        &["obs.perf"],
        "begin $SERVER none 0; plant beside \"$PROGRAM\" profile --pid $server -d 20s -F 9999
         plant until_true 'ls -l /proc/[0-9]*/fd 2> /dev/null | grep -q perf_event'; load -c 16; audit",
    ),
    case("mappings", &["app.maps"], "begin $SERVER $(with map 200); load -c 16; audit"),
    case(
        "full disk",
        &["app.disk-full"],
        "mkdir full; mount -t tmpfs -o size=$(with 64k)$(without 1g) planted full; later umount full
         plant head -c 100000 /dev/zero > full/x 2> /dev/null
         begin $SERVER log 20 log=full/log; load -c 16; audit; kill -9 $server",
    ),
    case("lock", &["app.lock"], "cpus=0-1; begin $SERVER $(with lock 2000) $(without compute 2000) threads=4; load -c 16; audit"),
    case("page faults", &["app.faults"], "begin $SERVER $(with fault 1000); load -c 16; audit"),
    case("programs", &["app.children"], "begin $SERVER $(with start 0); load -c 16; audit"),
    case("leak", &["app.leak", "app.faults"], "begin $SERVER $(with leak 20); load -c 4; audit"),
    case(
        "pipe",
        &["app.output"],
        "mkfifo own.fifo; beside python3 -c 'import os, sys, time
f = os.open(\"own.fifo\", os.O_RDONLY)
while os.read(f, 5000): time.sleep(0.05 * len(sys.argv[1:]))' $(with slow)
         log=own.fifo; begin $SERVER log 1; load -c 8; audit",
    )
    .latency()
    .needs(&["python3"]),
    case("stuck", &["app.stuck"], "begin $SERVER $(with stuck 30000000) threads=8; load -c 16; audit").latency(),
    case("sleep", &["app.sleep"], "begin $SERVER $(with sleep 5000); load -c 4; audit").latency(),
    case("timer slack", &["app.slack"], "begin $SERVER none 0 $(with slack_us=20000); load -c 4 --rate 200; audit")
        .latency(),
    case(
        "number of threads",
        &["env.pids"],
        "g=/sys/fs/cgroup/pids/velodrome-few; mkdir $g; later rmdir $g
         begin $SERVER thread 1; with 1 > $g/pids.max; echo $server > $g/cgroup.procs
         load -c 4; audit; kill -9 $server",
    )
    .at(TASK_GROUPS),
    case("signals of a timer", &["app.calls"], "begin $SERVER none 0 $(with alarm_us=60); load -c 16; audit"),
    case("missing files", &["app.calls"], "begin $SERVER $(with look 300); load -c 16; audit"),
    case("single bytes", &["app.calls"], "begin $SERVER $(with bytes 500); load -c 16; audit"),
    case("events for nothing", &["app.calls"], "begin $SERVER $(with events=5); load -c 4 --rate 500; audit"),
    case(
        "lock of a file",
        &["app.lock"],
        "cpus=0-1; loads=0-1; begin $SERVER $(with lock-file 2000) $(without compute 2000) processes=4; load -c 16; audit",
    ),
    case(
        "lock of the address space",
        &["app.lock", "app.faults"],
        "cpus=0-1; begin $SERVER $(with fault 100) threads=8; load -c 32; audit",
    ),
    case(
        "writes that wait for the disk",
        &["app.disk", "app.calls"],
        "begin $SERVER $(with sync 0); load -c 8; audit",
    )
    .latency(),
    case(
        "limit of disk requests",
        &["env.io", "app.disk"],
        "g=/sys/fs/cgroup/blkio/velodrome-disk; mkdir $g; later rmdir $g
         plant sh -c \"echo $(stat -c %Hd:%Ld .) 50 > $g/blkio.throttle.write_iops_device\"
         begin $SERVER sync 0; echo $server > $g/cgroup.procs; load -c 8; audit; kill -9 $server",
    )
    .latency()
    .at(DISK_GROUPS),
    case(
        "log service",
        &["app.output"],
        "beside python3 -c 'import socket, sys, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(\"service\")
while s.recv(99): time.sleep(0.005 * len(sys.argv[1:]))' $(with slow)
         until_true 'test -S service'; begin $SERVER tell 0; load -c 8; audit",
    )
    .latency()
    .needs(&["python3"]),
    case(
        "filled allocations",
        &["app.debug"],
        "export MALLOC_MMAP_THRESHOLD_=100000000; plant export MALLOC_PERTURB_=165
         begin $SERVER allocate 1000; load -c 16; audit",
    ),
    case(
        "idle clients",
        &["app.pool"],
        "cat > workers.py <<'END'
import os, socket
listener = socket.create_server(('127.0.0.1', 8080))
for _ in range(2): os.fork()
while True:
    connection = listener.accept()[0]
    while connection.recv(4096): connection.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok')
END
         begin python3 workers.py; plant beside python3 -c 'import socket, time
all = [socket.create_connection((\"127.0.0.1\", 8080)) for _ in range(9)]
time.sleep(20)'
         plant until_true '[ $(grep -c \":1F90 .* 01 \" /proc/net/tcp) -ge 9 ]'
         load -c 4 --timeout 1s; audit",
    )
    .latency()
    .needs(&["python3"]),
    case(
        "lock of an interpreter",
        &["app.lock", "app.workers"],
        "cat > threads.py <<'END'
import socket, threading
def serve(connection):
    while connection.recv(4096):
        sum(range(40000))
        connection.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok')
listener = socket.create_server(('127.0.0.1', 8080))
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
END
         cpus=0-1; begin python3 threads.py; load -c 8; audit",
    )
    .needs(&["python3"]),
];
