//! Goal: `velodrome tune` changes settings of a network device, and reverts them: on command, and by itself if the
//! change may cut the connection to the host. It finds packets that arrive on another CPU than that of their thread.
//! Method: the built binary and a pair of devices in network namespaces; a fake `/sys` in that namespace says that they
//! have hardware behind them.

use std::process::Command;

use crate::server::directory::Directory;
use crate::server::{PROGRAM, errors_of, printed_by, run};

/// Reads the device's settings by ethtool's calls, without the program under test; with an argument it first gets one
/// receive queue and segmentation offload.
const DEVICE: &str = r"
import array, fcntl, socket, struct, sys
asker = socket.socket()
def call(words):
    data = array.array('I', words + [0] * (32 - len(words)))
    fcntl.ioctl(asker, 0x8946, struct.pack('16sPQQ', b'one', data.buffer_info()[0], 0, 0))
    return data.tolist()
if sys.argv[1:]:
    queues = call([0x3c])
    queues[0], queues[5] = 0x3d, 1
    call(queues)
    call([0x2c, 1])
print('queues', call([0x3c])[5], 'gro', call([0x2b])[1])
";

/// The reason why it cannot be tested here.
fn hindrance() -> Option<&'static str> {
    let works = |program: &str, words: &[&str]| {
        Command::new(program).args(words).output().is_ok_and(|output| output.status.success())
    };
    if !works("ip", &["-V"]) || !works("python3", &["-V"]) {
        return Some("`ip` or `python3` is not installed");
    }
    let lines = "mount -t tmpfs none /sys && ip link add one type veth peer name other";
    (!works("unshare", &["--net", "--mount", "sh", "-ec", lines]))
        .then_some("no namespaces with a pair of devices can be made here")
}

#[test]
fn queues_and_offloads_of_a_device_are_changed_and_put_back() {
    if let Some(why) = hindrance() {
        println!("SKIPPED queues_and_offloads_of_a_device_are_changed_and_put_back: {why}");
        return;
    }
    let place = Directory::new();
    place.write("device.py", DEVICE);
    let here = place.path().display();
    let tune = |words: &str| format!("{PROGRAM} tune {words} --state {here}/state");
    let look = format!("python3 {here}/device.py");
    let apply = "apply net.queues net.gro --allow 3 --seconds 0";
    let lines = [
        "ip link add name one numrxqueues 4 numtxqueues 4 type veth peer name other numrxqueues 4 \
         numtxqueues 4"
            .to_owned(),
        "mount -t tmpfs none /sys".to_owned(),
        "mkdir -p /sys/class/net/one/device /sys/class/net/one/queues/rx-0".to_owned(),
        "echo 7 > /sys/class/net/one/ifindex".to_owned(),
        format!("{look} plant"),
        tune(apply),
        look.clone(),
        tune("revert all"),
        look.clone(),
        tune("confirm"),
        // Another device with the same name is left alone.
        tune(apply),
        "echo 8 > /sys/class/net/one/ifindex".to_owned(),
        tune("revert all"),
        look.clone(),
        tune("confirm"),
        // Without confirmation it is reverted by itself.
        format!("{look} plant"),
        tune(&format!("{apply} --confirm 100ms")),
        format!("until {look} | grep -q 'queues 1 gro 1'; do :; done"),
        // The process that reverts has the journal locked until it ends.
        format!("until {} > {here}/told 2>&1; do :; done; cat {here}/told", tune("revert all")),
    ];
    let output =
        run(Command::new("unshare").args(["--net", "--mount", "sh", "-ec", &lines.join("\n")]));
    let (queues, gro) =
        ("net.queues  /velodrome/ethtool/one/queues", "net.gro  /velodrome/ethtool/one/gro");
    let changed = |time: &str| {
        format!(
            "{queues}: changed\n{gro}: changed\nAll of it is put back in {time}, unless you type: velodrome \
             tune confirm\n"
        )
    };
    let cpus = std::thread::available_parallelism().unwrap().get().min(4);
    let mended = format!("queues {cpus} gro 0\n");
    let expected = [
        "queues 1 gro 1\n",
        &changed("60 s"),
        &mended,
        &format!("{gro}: put back\n{queues}: put back\n"),
        "queues 1 gro 1\n",
        "0 changes stay until they are put back.\n",
        &changed("60 s"),
        &format!(
            "{gro}: gone: another device is there now\n{queues}: gone: another device is there now\n"
        ),
        &mended,
        "0 changes stay until they are put back.\n",
        "queues 1 gro 1\n",
        &changed("0 s"),
        "Nothing is changed.\n",
    ];
    assert_eq!(printed_by(&output), expected.concat(), "{}", errors_of(&output));
}

/// A server on one CPU, a client on the other: a packet between two such devices is handled on the CPU that sent it.
const ELSEWHERE: &str = r"
cd HERE
ip link set lo up
ip link add one type veth peer name other
ip addr add 10.99.0.1/24 dev one
ip link set one up
taskset -c 0 PROGRAM serve site --listen 10.99.0.1:8088 --schedulers 1 --pin --admin-socket HERE/socket > served 2>&1 &
server=$!
unshare --net sh -ec '
  : > there
  until ip link show other > /dev/null 2>&1; do :; done
  ip addr add 10.99.0.2/24 dev other
  ip link set other up
  exec taskset -c 1 PROGRAM bench http http://10.99.0.1:8088/ -c 32 -d 1m
' > client 2>&1 &
client=$!
trap 'kill $client $server' EXIT
until [ -e there ]; do :; done
ip link set other netns $client
tries=0
until PROGRAM tune audit --seconds 0 --pid $server > told && grep -A1 '^seen  app.reuseport' told > found; do
  tries=$((tries + 1))
  [ $tries -lt 60 ]
done
grep -o 'packets of .*' found
";

#[test]
fn packets_that_arrive_on_another_cpu_are_seen() {
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let why = hindrance().or((cpus < 2).then_some("there is one CPU"));
    if let Some(why) = why {
        println!("SKIPPED packets_that_arrive_on_another_cpu_are_seen: {why}");
        return;
    }
    let place = Directory::new();
    place.write("site/index.html", "one\n");
    let script =
        ELSEWHERE.replace("HERE", &place.path().display().to_string()).replace("PROGRAM", PROGRAM);
    let output = run(Command::new("unshare").args(["--net", "sh", "-ec", &script]));
    let told = printed_by(&output);
    let is_said =
        told.starts_with("packets of ") && told.ends_with("connections come to another CPU\n");
    let client = std::fs::read_to_string(place.join("client")).unwrap_or_default();
    assert!(is_said, "{told} {} {client}", errors_of(&output));
}

/// A program of two instructions that accepts every packet, attached by tc (tc-bpf(8)).
const BEHIND: &str = "
ip link add one type veth peer name other
PROGRAM tune audit --seconds 0 | grep -c stack.xdp || true
tc qdisc add dev one clsact
tc filter add dev one ingress bpf bytecode '1,6 0 0 0,' classid 1:1
PROGRAM tune audit --seconds 0 | grep -A1 stack.xdp | tail -n 1
";

#[test]
fn a_program_behind_a_device_is_named() {
    let test = "a_program_behind_a_device_is_named";
    if let Some(why) = hindrance() {
        println!("SKIPPED {test}: {why}");
        return;
    }
    let script = BEHIND.replace("PROGRAM", PROGRAM);
    let output = run(Command::new("unshare").args(["--net", "sh", "-ec", &script]));
    if !output.status.success() {
        println!(
            "SKIPPED {test}: tc is not installed, or the kernel has no such place: {}",
            errors_of(&output)
        );
        return;
    }
    let expected = "0\n      BPF programs at a device (XDP, tc): one at one\n";
    assert_eq!(printed_by(&output), expected, "{}", errors_of(&output));
}
