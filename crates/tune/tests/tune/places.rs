//! Goal: a change is reverted where it was made, and nowhere else: its network namespace, its device under another
//! name, what the kernel has changed besides. Method: the files of a host in a directory.

use tune::apply::{Done, Which, apply, drifted, revert};
use tune::{HostFiles, Journal};

use crate::fake::Fake;
use crate::fake::poor::{journal, poor, steps};

const NAMESPACE: &str = "proc/thread-self/ns/net";

fn text(fake: &Fake, path: &str) -> String {
    std::fs::read_to_string(fake.path().join(path)).unwrap().trim().to_owned()
}

#[test]
fn a_change_of_another_namespace_is_left_alone_and_kept() {
    let fake = poor();
    fake.link(NAMESPACE, "net:[5]");
    let steps = steps(&fake);
    let step = steps.iter().find(|step| step.check.id == "stack.somaxconn").unwrap();
    let mut journal = journal(&fake);
    apply(fake.path(), step, &mut journal).unwrap();
    // The host, whose value is its own.
    fake.remove(NAMESPACE);
    fake.link(NAMESPACE, "net:[1]");
    fake.sysctl("net/core/somaxconn", "4096");
    let elsewhere = Done::Elsewhere("net:[5]".to_owned());
    let files = HostFiles::below(fake.path());
    let drift: Vec<Done> = journal.standing().filter_map(|entry| drifted(&files, entry)).collect();
    assert_eq!(drift, std::slice::from_ref(&elsewhere));
    let done = revert(fake.path(), Which::All, &mut journal).unwrap();
    assert_eq!(done[0].1, elsewhere);
    assert_eq!(text(&fake, "proc/sys/net/core/somaxconn"), "4096");
    // Where it was made, it still stands.
    fake.remove(NAMESPACE);
    fake.link(NAMESPACE, "net:[5]");
    let done = revert(fake.path(), Which::All, &mut journal).unwrap();
    assert_eq!(done[0].1, Done::PutBack);
    assert_eq!(text(&fake, "proc/sys/net/core/somaxconn"), "128");
}

/// The change of a namespace, seen from that of the host.
fn seen_from_the_host(around: impl Fn(&Fake)) -> (Done, usize) {
    let fake = poor();
    fake.link(NAMESPACE, "net:[5]");
    let steps = steps(&fake);
    let step = steps.iter().find(|step| step.check.id == "stack.somaxconn").unwrap();
    let mut journal = journal(&fake);
    apply(fake.path(), step, &mut journal).unwrap();
    fake.remove(NAMESPACE);
    fake.link(NAMESPACE, "net:[1]");
    fake.program(2, "kthreadd");
    for entry in std::fs::read_dir(fake.path().join("proc")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.parse::<u32>().is_ok() {
            fake.link(&format!("proc/{name}/ns/net"), "net:[1]");
        }
    }
    around(&fake);
    let done = revert(fake.path(), Which::All, &mut journal).unwrap();
    (done[0].1.clone(), journal.standing().count())
}

#[test]
fn the_way_to_another_namespace_is_told_and_one_that_is_gone_is_over() {
    let elsewhere = |way: &str| (Done::Elsewhere(format!("net:[5]: nsenter --net{way}")), 1);
    let mounted = "9 8 0:4 net:[5] /run/netns/app rw - nsfs nsfs rw\n";
    let named = seen_from_the_host(|fake| fake.write("proc/self/mountinfo", mounted));
    assert_eq!(named, elsewhere("=/run/netns/app"));
    let by_program = seen_from_the_host(|fake| {
        fake.program(91, "app");
        fake.link("proc/91/ns/net", "net:[5]");
    });
    assert_eq!(by_program, elsewhere(" --target 91"));
    assert_eq!(seen_from_the_host(|_| {}), (Done::NetworkGone, 0));
    let in_container = seen_from_the_host(|fake| fake.program(2, "sh"));
    assert_eq!(in_container, (Done::Elsewhere("net:[5]".to_owned()), 1));
    // Somebody may be in it who is not to be looked at.
    let barred = seen_from_the_host(|fake| fake.program(91, "app"));
    assert_eq!(barred, (Done::Elsewhere("net:[5]".to_owned()), 1));
}

#[test]
fn a_device_that_was_renamed_gets_its_value_back() {
    let fake = poor();
    fake.write("sys/class/net/eth0/threaded", "1");
    let steps = steps(&fake);
    let step = steps.iter().find(|step| step.check.id == "net.threaded").unwrap();
    let mut journal = journal(&fake);
    apply(fake.path(), step, &mut journal).unwrap();
    let of = |name: &str| fake.path().join("sys/class/net").join(name);
    std::fs::rename(of("eth0"), of("lan0")).unwrap();
    let done = revert(fake.path(), Which::All, &mut journal).unwrap();
    assert_eq!(done[0].1, Done::PutBack);
    assert_eq!(text(&fake, "sys/class/net/lan0/threaded"), "1");
}

/// A change that was cut short before it was known what the kernel had changed besides.
#[test]
fn effects_of_a_change_are_put_back() {
    for (read, outcome) in [
        (None, Done::PutBack),
        (Some("67584"), Done::PutBack),
        (Some("5000"), Done::Theirs("67584".to_owned())),
    ] {
        let fake = poor();
        fake.sysctl("vm/min_free_kbytes", "67584");
        let state = fake.path().join("var/lib/velodrome/tune");
        std::fs::create_dir_all(&state).unwrap();
        let begun = r#"{"event":"change","number":1,"check":"vm.thp","boot":"first","device":"","network":"","effect":true,"path":"/proc/sys/vm/min_free_kbytes","old":"1000","new":"1000"}"#;
        let written =
            read.map(|read| format!(r#"{{"event":"written","number":1,"read":"{read}"}}"#));
        let text = format!("{begun}\n{}\n", written.unwrap_or_default());
        std::fs::write(state.join("journal"), text).unwrap();
        let mut journal = Journal::open_alone(&state).unwrap();
        let done = revert(fake.path(), Which::All, &mut journal).unwrap();
        assert_eq!(done[0].1, outcome, "{read:?}");
    }
}

/// Before a change of huge pages, the journal has the value that the kernel may raise.
#[test]
fn an_effect_that_did_not_come_is_over() {
    let fake = poor();
    fake.sysctl("vm/min_free_kbytes", "1000");
    let steps = steps(&fake);
    let step = steps.iter().find(|step| step.check.id == "vm.thp").unwrap();
    let mut journal = journal(&fake);
    apply(fake.path(), step, &mut journal).unwrap();
    let effect = journal.entries.iter().find(|entry| entry.is_effect).unwrap();
    assert_eq!((&*effect.change.path, effect.is_over), ("/proc/sys/vm/min_free_kbytes", true));
    assert!(journal.standing().all(|entry| !entry.is_effect));
}
