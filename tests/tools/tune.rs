//! Goal: `velodrome tune audit` reports on this host and on another one's files, and finds causes that the test sets up
//! in a network namespace. Method: the built binary; namespaces by unshare, reported as skipped if they are not
//! permitted.
#![expect(clippy::print_stdout, reason = "what is skipped has to be seen")]

use std::process::{Command, Output};

use crate::server::directory::Directory;
use crate::server::patience::until;
use crate::server::{PROGRAM, errors_of, printed_by, run};
use serde_json::Value;

fn audit(words: &[&str]) -> Output {
    run(Command::new(PROGRAM).args(["tune", "audit"]).args(words))
}

fn told(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", errors_of(output));
    serde_json::from_str(&printed_by(output)).unwrap()
}

/// The checks that cost, in their order.
fn costs(report: &Value) -> Vec<String> {
    let checks = report["checks"].as_array().unwrap().iter();
    let costly = checks.filter(|check| check["state"] == "seen" || check["state"] == "set");
    costly.map(|check| check["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn this_host_is_looked_at_twice() {
    let own = std::process::id().to_string();
    let report = told(&audit(&["--json", "--seconds", "0.2", "--pid", &own]));
    let checks = report["checks"].as_array().unwrap();
    assert!(checks.len() > 40);
    assert!(report["host"].as_str().unwrap().ends_with("counters in 0.2 s"), "{}", report["host"]);
    let percent = |check: &Value| check["worth_percent"].to_string();
    let is_short = |text: &String| text.split_once('.').is_some_and(|(_, tail)| tail.len() == 1);
    assert!(checks.iter().map(percent).all(|text| is_short(&text)), "one decimal each: {checks:?}");
    let text = printed_by(&audit(&["--seconds", "0", "--for", "latency"]));
    assert!(text.contains("for latency") && text.contains(" checks: "), "{text}");
    assert!(text.contains("app.workers: needs --pid"), "{text}");
}

#[test]
fn the_files_of_another_host_are_read_and_a_check_is_explained() {
    let copy = Directory::new();
    let root = copy.path().display().to_string();
    for (path, text) in [("proc/sys/kernel", "osrelease"), ("proc/sys/net/core", "somaxconn")] {
        std::fs::create_dir_all(copy.path().join(path)).unwrap();
        let value = if text == "somaxconn" { "64" } else { "5.4.0-other" };
        std::fs::write(copy.path().join(path).join(text), value).unwrap();
    }
    let report = told(&audit(&["--json", "--root", &root, "--for", "connections"]));
    assert_eq!(costs(&report), ["stack.somaxconn"]);
    assert!(report["host"].as_str().unwrap().starts_with("Linux 5.4.0-other"));
    let text = printed_by(&audit(&["--root", &root, "--explain", "stack.somaxconn"]));
    for words in
        ["net.core.somaxconn is 64", "sysctl net.core.somaxconn=4096", "Risk 1 of 5", "Source: "]
    {
        assert!(text.contains(words), "{words} in {text}");
    }
}

#[test]
fn invalid_arguments_are_refused() {
    for (words, why) in [
        (["--explain", "stack.nothing"], "there is no check `stack.nothing`"),
        (["--pid", "4194305"], "there is no process 4194305"),
        (["--root", "/nowhere"], "there is no `proc` in /nowhere"),
        (["--for", "speed"], "invalid value 'speed'"),
    ] {
        let output = audit(&words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(errors_of(&output).contains(why), "{}", errors_of(&output));
    }
}

/// Creates a table of nftables by netlink messages (a batch with `NFT_MSG_NEWTABLE`), because `nft` may not be
/// installed.
const TABLE: &str = r#"python3 -c '
import socket, struct
def message(kind, flags, content):
    return struct.pack("=IHHII", 16 + len(content), kind, flags, 1, 0) + content
begin, end = (message(kind, 1, b"\0\0\0\x0a") for kind in (16, 17))
table = message(10 << 8, 0x401, b"\2\0\0\0" + struct.pack("=HH", 8, 1) + b"one\0")
netfilter = socket.socket(16, 3, 12)
netfilter.send(begin + table + end)
'"#;

/// Runs shell commands in a network namespace; the last one prints the report.
fn in_namespace(test: &str, lines: &str, load: &str) -> Option<Value> {
    let can = Command::new("unshare").args(["--net", "true"]).output();
    if !can.is_ok_and(|output| output.status.success()) {
        println!("SKIPPED {test}: no network namespace can be made here");
        return None;
    }
    let script = format!("{lines}\nexec {PROGRAM} tune audit --json --seconds 1 --for {load}");
    let mut shell = Command::new("unshare");
    Some(told(&run(shell.args(["--net", "sh", "-ec", &script]))))
}

#[test]
fn causes_in_a_network_namespace_are_named() {
    let test = "causes_in_a_network_namespace_are_named";
    let set =
        |name: &str, value: &str| format!("echo {value} > /proc/sys/{}", name.replace('.', "/"));
    let tap = "python3 -c 'import socket, time; s = socket.socket(17, 3, 768); print(flush=True); \
               time.sleep(5)' > ready 2>&1 & while ! [ -s ready ]; do :; done";
    let place = Directory::new();
    let tap = format!("cd {}\n{tap}", place.path().display());
    let modules = std::fs::read_to_string("/proc/modules");
    let has_tables = modules.is_err() || modules.is_ok_and(|all| all.contains("nf_tables "));
    if !has_tables {
        println!(
            "SKIPPED {test}, nftables: the module is not loaded, and is not to be loaded here"
        );
    }
    for (check, load, lines) in [
        ("stack.somaxconn", "connections", set("net.core.somaxconn", "16")),
        ("stack.popular", "latency", set("net.ipv4.tcp_sack", "0")),
        ("stack.ports", "connections", set("net.ipv4.ip_local_port_range", "40000\\ 41000")),
        ("stack.taps", "throughput", tap),
        ("stack.netfilter", "throughput", TABLE.to_owned()),
    ] {
        if check == "stack.netfilter" && !has_tables {
            continue;
        }
        let Some(report) = in_namespace(test, &lines, load) else { return };
        let found = costs(&report);
        assert!(found.contains(&check.to_owned()), "{check}: {found:?}");
    }
}

#[test]
fn changes_are_planned_made_looked_at_and_put_back() {
    let test = "changes_are_planned_made_looked_at_and_put_back";
    let place = Directory::new();
    let state = place.join("state").display().to_string();
    let look = "cat /proc/sys/net/core/somaxconn /proc/sys/net/ipv4/tcp_sack";
    let tune = |words: &str| format!("{PROGRAM} tune {words} --state {state}");
    let lines = [
        "echo 16 > /proc/sys/net/core/somaxconn".to_owned(),
        "echo 0 > /proc/sys/net/ipv4/tcp_sack".to_owned(),
        format!(
            "{PROGRAM} tune plan --for connections --seconds 0 > {0}/plan",
            place.path().display()
        ),
        tune("apply stack.somaxconn stack.popular --for connections --seconds 0"),
        look.to_owned(),
        tune("status"),
        tune("revert stack.popular"),
        look.to_owned(),
        "echo 77 > /proc/sys/net/core/somaxconn".to_owned(),
        format!("{} || echo drifted $?", tune("status")),
        tune("revert all"),
        tune("revert all"),
        look.to_owned(),
    ];
    let can = Command::new("unshare").args(["--net", "true"]).output();
    if !can.is_ok_and(|output| output.status.success()) {
        println!("SKIPPED {test}: no network namespace can be made here");
        return;
    }
    let output = run(Command::new("unshare").args(["--net", "sh", "-ec", &lines.join("\n")]));
    let (most, sack) = ("/proc/sys/net/core/somaxconn", "/proc/sys/net/ipv4/tcp_sack");
    let told = printed_by(&output);
    let mut told: Vec<&str> = told.lines().collect();
    // The order of these two does not matter here.
    told[..2].sort_unstable();
    told[4..6].sort_unstable();
    let expected = [
        &*format!("stack.popular  {sack}: changed"),
        &*format!("stack.somaxconn  {most}: changed"),
        "4096",
        "1",
        &*format!("stack.popular  {sack}: changed"),
        &*format!("stack.somaxconn  {most}: changed"),
        &*format!("stack.popular  {sack}: put back"),
        "4096",
        "0",
        &*format!("stack.somaxconn  {most}: somebody else has changed it to 77"),
        "drifted 5",
        &*format!("stack.somaxconn  {most}: somebody else has changed it to 77"),
        "Nothing is changed.",
        "77",
        "0",
    ];
    assert_eq!(told, expected, "{}", errors_of(&output));
    let plan = place.text("plan");
    assert!(plan.contains(&format!("   {most}: \"16\" -> \"4096\"")), "{plan}");
    assert!(plan.contains("risk 1: reversible at once; lost: nothing"), "{plan}");
}

#[test]
fn a_host_is_recorded_and_audited_elsewhere() {
    let place = Directory::new();
    let path = |name: &str| place.join(name).display().to_string();
    let output = run(Command::new(PROGRAM).args(["tune", "record", "-o", &path("host.tar")]));
    assert_eq!(output.status.code(), Some(0), "{}", errors_of(&output));
    assert!(printed_by(&output).contains("velodrome tune audit --root host"));
    std::fs::create_dir(place.join("host")).unwrap();
    let unpacked = run(Command::new("tar").args(["xf", &path("host.tar"), "-C", &path("host")]));
    assert!(unpacked.status.success(), "{}", errors_of(&unpacked));
    let page = path("audit.html");
    let report = told(&audit(&["--json", "--root", &path("host"), "--html", &page]));
    let own = told(&audit(&["--json", "--seconds", "0"]));
    // Counters move in the meantime, and other tests watch programs; settings do not change.
    let set = |report: &Value| -> Vec<String> {
        let checks = report["checks"].as_array().unwrap().iter();
        let mut set: Vec<String> = checks
            .filter(|check| check["state"] == "set")
            .map(|check| check["id"].as_str().unwrap().to_owned())
            .filter(|id| !id.starts_with("obs."))
            .collect();
        set.sort_unstable();
        set
    };
    assert_eq!(set(&report), set(&own));
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("What costs") && page.contains("stack.somaxconn"), "{page}");
}

#[test]
fn drift_is_detected_and_unit_restores_value() {
    let host = Directory::new();
    let root = host.path().display().to_string();
    let file = "proc/sys/net/core/somaxconn";
    for (path, text) in [
        ("proc/sys/kernel/osrelease", "6.12.0-other"),
        ("proc/sys/kernel/random/boot_id", "first"),
        (file, "64"),
    ] {
        host.write(path, text);
    }
    let tune = |words: &[&str]| {
        let output = run(Command::new(PROGRAM).arg("tune").args(words).args(["--root", &root]));
        (output.status.code().unwrap(), printed_by(&output) + &errors_of(&output))
    };
    assert_eq!(tune(&["unit"]).0, 2);
    assert_eq!(tune(&["apply", "--for", "connections"]).0, 0);
    assert_eq!(tune(&["verify"]), (0, "1 changes hold, 0 do not.\n".to_owned()));
    let (status, unit) = tune(&["unit"]);
    assert!(
        status == 0 && unit.contains("tune apply --again --state /var/lib/velodrome/tune\n"),
        "{unit}"
    );
    host.write(file, "128");
    let (status, told) = tune(&["verify"]);
    assert!(status == 5 && told.ends_with("0 changes hold, 1 do not.\n"), "{told}");
    // A reboot of the host.
    host.write("proc/sys/kernel/random/boot_id", "second");
    assert_eq!(tune(&["verify"]).0, 5);
    let (status, told) = tune(&["apply", "--again"]);
    assert_eq!((status, &*told), (0, "stack.somaxconn  /proc/sys/net/core/somaxconn: changed\n"));
    assert_eq!((host.text(file).trim(), tune(&["verify"]).0), ("4096", 0));
    assert_eq!(tune(&["revert", "all"]).0, 0);
    assert_eq!(host.text(file).trim(), "128");
}

#[test]
fn unconfirmed_change_is_reverted_automatically() {
    let host = Directory::new();
    let root = host.path().display().to_string();
    let file = "proc/sys/net/core/somaxconn";
    for (path, text) in [
        ("proc/sys/kernel/osrelease", "6.12.0-other"),
        ("proc/sys/kernel/random/boot_id", "first"),
        ("proc/sys/net/ipv4/tcp_sack", "0"),
        (file, "64"),
    ] {
        host.write(path, text);
    }
    let tune = |words: &[&str]| {
        let output = run(Command::new(PROGRAM).arg("tune").args(words).args(["--root", &root]));
        (output.status.code().unwrap(), printed_by(&output) + &errors_of(&output))
    };
    assert_eq!(tune(&["apply", "stack.popular"]).0, 0);
    let (status, told) =
        tune(&["apply", "stack.somaxconn", "--for", "connections", "--confirm", "300ms"]);
    assert!(status == 0 && told.contains("unless you type: velodrome tune confirm"), "{told}");
    until("it is put back", || (host.text(file).trim() == "64").then_some(()));
    let way_back = || {
        let lines = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let line = std::fs::read(entry.ok()?.path().join("cmdline")).ok()?;
            Some(String::from_utf8_lossy(&line).into_owned())
        });
        lines.into_iter().any(|line| line.contains("way-back") && line.contains(&root))
    };
    // It has the journal locked until it ends.
    until("the way back has ended", || (!way_back()).then_some(()));
    // Earlier changes stay.
    until("the journal says so", || (tune(&["status"]).1.lines().count() == 1).then_some(()));
    assert_eq!(host.text("proc/sys/net/ipv4/tcp_sack").trim(), "1");
    // Confirmed changes stay: the process ends when its time is over.
    let (status, _) =
        tune(&["apply", "stack.somaxconn", "--for", "connections", "--confirm", "1h"]);
    assert_eq!(status, 0);
    assert_eq!(tune(&["confirm"]).1, "2 changes stay until they are put back.\n");
    until("the way back has ended", || (!way_back()).then_some(()));
    assert_eq!((host.text(file).trim(), tune(&["verify"]).0), ("4096", 0));
}

/// Applies, is killed at different moments, and reverts: each time the files are as before.
const KILLED: &str = r#"
cd HERE
set_all() {
  echo 16 > /proc/sys/net/core/somaxconn
  echo 0 > /proc/sys/net/ipv4/tcp_sack
  echo 0 > /proc/sys/net/ipv4/tcp_timestamps
  echo '40000 41000' > /proc/sys/net/ipv4/ip_local_port_range
}
look() {
  cat /proc/sys/net/core/somaxconn /proc/sys/net/ipv4/tcp_sack /proc/sys/net/ipv4/tcp_timestamps /proc/sys/net/ipv4/ip_local_port_range
}
set_all
before="$(look)"
# A trial that is not killed says how long one takes.
PROGRAM tune apply stack.somaxconn stack.popular stack.ports --for connections --seconds 0 --state state > /dev/null
[ "$(look)" != "$before" ]
PROGRAM tune revert all --state state > /dev/null
for round in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; do
  PROGRAM tune apply stack.somaxconn stack.popular stack.ports --for connections --seconds 0 --state state > /dev/null 2>&1 &
  # At another moment each time, from before the first file to behind the last one.
  timeout -s KILL "0.0$(printf %02d $((round * 4)))" tail --pid=$! -f /dev/null > /dev/null 2>&1 || true
  kill -9 $! 2> /dev/null || true
  wait $! 2> /dev/null || true
  PROGRAM tune revert all --state state > told 2>&1
  if [ "$(look)" != "$before" ]; then
    echo "round $round:" $(look) $(cat told)
  fi
done
echo done
"#;

#[test]
fn whatever_was_written_before_a_kill_is_put_back() {
    let can = Command::new("unshare").args(["--net", "true"]).output();
    if !can.is_ok_and(|output| output.status.success()) {
        println!(
            "SKIPPED whatever_was_written_before_a_kill_is_put_back: no network namespace can be made here"
        );
        return;
    }
    let place = Directory::new();
    let script =
        KILLED.replace("HERE", &place.path().display().to_string()).replace("PROGRAM", PROGRAM);
    let output = run(Command::new("unshare").args(["--net", "sh", "-ec", &script]));
    assert_eq!(printed_by(&output), "done\n", "{}", errors_of(&output));
}

#[test]
fn a_plan_says_what_cannot_be_written_in_a_container() {
    let place = Directory::new();
    let state = place.join("state").display().to_string();
    let lines = format!(
        "echo 16 > /proc/sys/net/core/somaxconn\n\
         mount --bind /proc/sys /proc/sys\n\
         mount -o remount,bind,ro /proc/sys\n\
         {PROGRAM} tune plan --for connections --seconds 0 | grep -A2 stack.somaxconn\n\
         {PROGRAM} tune audit --for connections --seconds 0 | grep -A2 stack.somaxconn\n\
         {PROGRAM} tune apply stack.somaxconn --for connections --seconds 0 --state {state} || echo status $?"
    );
    let mut shell = Command::new("unshare");
    shell.args(["--net", "--mount", "sh", "-ec", &lines]);
    let output = run(&mut shell);
    let (told, errors) = (printed_by(&output), errors_of(&output));
    if errors.contains("unshare") || errors.contains("mount:") {
        println!("SKIPPED a_plan_says_what_cannot_be_written_in_a_container: {errors}");
        return;
    }
    let why = "it is mounted read-only, as in a container: it is for the host to write";
    for line in [
        format!("   it cannot be written here: {why}\n"),
        format!("      the fix cannot be written here: {why}\n"),
        "stack.somaxconn  /proc/sys/net/core/somaxconn: refused: Read-only file system".to_owned(),
        "status 1\n".to_owned(),
    ] {
        assert!(told.contains(&line), "{line} in {told} {errors}");
    }
}
