//! Goal: everything that was changed is reverted, and nothing that others changed. Method: the files of a host in a
//! directory.

use std::path::Path;

use tune::apply::{Done, Which, again, apply, drifted, is_persisted, persist, revert};
use tune::ladder::{HostState, Rung, RungChange};
use tune::{Allowed, HostFiles, HostReading, Journal, Load, PlanStep, Risk, audit, is_same, plan};

use crate::fake::poor::{BOOT, journal, plain, poor, put, state, steps};

#[test]
fn applied_change_is_reverted_once() {
    let fake = poor();
    let steps = steps(&fake);
    assert!(steps.len() >= 6, "{steps:?}");
    let before = state(&fake, &steps);
    let mut journal = journal(&fake);
    for step in &steps {
        for (path, done) in apply(fake.path(), step, &mut journal).unwrap() {
            assert_eq!(done, Done::Written, "{path}");
        }
    }
    let changed = state(&fake, &steps);
    assert!(before.iter().all(|(path, old)| changed[path] != *old), "{changed:?}");
    assert_eq!(persist(fake.path(), &journal).unwrap(), 7);
    assert!(is_persisted(fake.path()));
    let files = HostFiles::below(fake.path());
    assert!(journal.standing().all(|entry| drifted(&files, entry).is_none()));
    for _ in 0..2 {
        revert(fake.path(), Which::All, &mut journal).unwrap();
        let after = state(&fake, &steps);
        for (path, old) in &before {
            assert_eq!(after[path], plain(old), "{path}");
        }
        assert_eq!(persist(fake.path(), &journal).unwrap(), 0);
        assert!(!is_persisted(fake.path()));
    }
}

#[test]
fn value_changed_by_others_is_not_reverted() {
    let fake = poor();
    let steps = steps(&fake);
    let mut journal = journal(&fake);
    for step in &steps {
        apply(fake.path(), step, &mut journal).unwrap();
    }
    fake.sysctl("net/core/somaxconn", "9999");
    let files = HostFiles::below(fake.path());
    let drift: Vec<Done> = journal.standing().filter_map(|entry| drifted(&files, entry)).collect();
    assert_eq!(drift, [Done::Theirs("9999".to_owned())]);
    let done = revert(fake.path(), Which::Check("stack.somaxconn"), &mut journal).unwrap();
    assert_eq!(done.len(), 1);
    assert_eq!(done[0].1, Done::Theirs("9999".to_owned()));
    assert_eq!(files_text(fake.path(), "net/core/somaxconn"), "9999");
    // The others stay in force until a reboot undoes them.
    assert!(journal.standing().count() > 3);
    fake.sysctl(BOOT, "second");
    let done = revert(fake.path(), Which::All, &mut journal).unwrap();
    assert!(done.iter().all(|(_, done)| *done == Done::Gone), "{done:?}");
    assert_eq!(files_text(fake.path(), "net/core/busy_poll"), "50\n");
}

fn files_text(root: &Path, sysctl: &str) -> String {
    std::fs::read_to_string(root.join("proc/sys").join(sysctl)).unwrap()
}

#[test]
fn failed_write_ends_step_with_message() {
    let fake = poor();
    let steps = steps(&fake);
    let step = steps.iter().find(|step| step.check.id == "cpu.noise").unwrap();
    let path = fake.path().join("proc/sys/kernel/nmi_watchdog");
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    let mut journal = journal(&fake);
    let done = apply(fake.path(), step, &mut journal).unwrap();
    assert_eq!(done.len(), 1, "the second file is left alone");
    assert!(matches!(&done[0].1, Done::Refused(why) if why.contains("directory")), "{done:?}");
    assert_eq!(journal.standing().count(), 0);
}

#[test]
fn a_plan_names_who_else_sets_the_same_and_what_is_left_out() {
    let fake = poor();
    fake.write("etc/sysctl.d/50-own.conf", "# mine\nnet.core.somaxconn = 200\n");
    fake.write("etc/sysctl.conf", "-net/ipv4/tcp_sack=0\n");
    fake.program(70, "irqbalance");
    fake.program(71, "dockerd");
    // A user's profile that includes one of tuned's.
    fake.write("etc/tuned/active_profile", "own\n");
    fake.write("etc/tuned/own/tuned.conf", "[main]\ninclude = network-throughput\n");
    fake.write(
        "usr/lib/tuned/profiles/network-throughput/tuned.conf",
        "[sysctl]\nnet.ipv4.tcp_max_syn_backlog = 8192\n",
    );
    let host = HostReading::of(fake.path(), Some(100));
    let report = audit(&host, Load::Latency);
    let found = plan(&host, &report, &Allowed::up_to(Risk::Reversible));
    let of = |id: &str| found.steps.iter().find(|step| step.check.id == id).unwrap();
    let owners = |id: &str| -> Vec<String> {
        of(id).owners.iter().map(|owner| format!("{} {}", owner.name, owner.when)).collect()
    };
    assert_eq!(owners("stack.somaxconn"), ["/etc/sysctl.d/50-own.conf at the start of the host"]);
    assert_eq!(owners("stack.popular"), ["/etc/sysctl.conf at the start of the host"]);
    assert_eq!(owners("net.irq"), ["irqbalance (process 70) every ten seconds"]);
    assert_eq!(
        owners("stack.synbacklog"),
        ["/usr/lib/tuned/profiles/network-throughput/tuned.conf when tuned starts"]
    );
    let typed = found.left_out.iter().find(|(check, _)| check.id == "stack.docker").unwrap();
    assert!(typed.1.contains("dockerd (process 71) makes such rules anew"), "{}", typed.1);
    let left: Vec<&str> = found.left_out.iter().map(|(check, _)| check.id).collect();
    assert!(left.contains(&"vm.thp") && left.contains(&"net.busy"), "{left:?}");
    assert!(found.steps.iter().all(|step| step.check.risk <= Risk::Reversible));
}

/// The steps of a ladder are applied one after the other, in any order, and none of them is left when it ends.
#[test]
fn a_ladder_leaves_the_host_as_it_was() {
    let fake = poor();
    let all = steps(&fake);
    let now = || -> Vec<String> { state(&fake, &all).values().map(|value| plain(value)).collect() };
    let before = now();
    let rungs: Vec<Rung> = steps(&fake).into_iter().map(Rung::of_host).collect();
    assert!(rungs.len() > 4);
    let holds = |rung: &Rung| {
        let RungChange::Host(step) = &rung.what else { panic!("a step of the host") };
        step.changes.iter().all(|change| {
            let path = fake.path().join(change.path.trim_start_matches('/'));
            is_same(&std::fs::read_to_string(path).unwrap(), &change.new)
        })
    };
    let mut host = HostState::new(fake.path(), Some(journal(&fake)));
    for wanted in [&[][..], &[0], &[0, 2, 3], &[1, 3], &[1], &[], &[4, 1, 0, 2, 3]] {
        assert_eq!(host.set(wanted.iter().map(|at| &rungs[*at])).unwrap(), Ok(()));
        for (at, rung) in rungs.iter().enumerate() {
            assert_eq!(holds(rung), wanted.contains(&at), "{} with {wanted:?}", rung.name);
        }
    }
    drop(host);
    assert_eq!(now(), before);
    assert_eq!(journal(&fake).standing().count(), 0);
    let mut host = HostState::new(fake.path(), Some(journal(&fake)));
    host.set([&rungs[1]]).unwrap().unwrap();
    host.keep();
    assert!(holds(&rungs[1]), "it was to be kept");
    assert!(journal(&fake).standing().count() > 0);
    revert(fake.path(), Which::All, &mut journal(&fake)).unwrap();
    assert_eq!(now(), before);
}

#[test]
fn journal_is_reapplied_after_reboot() {
    let fake = poor();
    let all = steps(&fake);
    let now = || -> Vec<String> { state(&fake, &all).values().map(|value| plain(value)).collect() };
    let mut log = journal(&fake);
    all.iter().for_each(|step| drop(apply(fake.path(), step, &mut log).unwrap()));
    let applied = now();
    assert!(again(fake.path(), &mut journal(&fake)).unwrap().is_empty(), "it is the same start");
    // A reboot: all values are the kernel's defaults, except for one that another program sets like we did.
    let defaults: Vec<(String, String)> = all
        .iter()
        .flat_map(|step| &step.changes)
        .map(|change| (change.path.clone(), plain(&change.old)))
        .collect();
    for (path, value) in &defaults {
        let is_set = path.ends_with("somaxconn");
        put(&fake, path, if is_set { "4096" } else { value });
    }
    fake.sysctl(BOOT, "second");
    let done = again(fake.path(), &mut journal(&fake)).unwrap();
    assert_eq!(done.len(), defaults.len());
    assert!(done.iter().all(|(_, done)| *done == Done::Written), "{done:?}");
    assert_eq!(now(), applied);
    assert!(again(fake.path(), &mut journal(&fake)).unwrap().is_empty(), "twice is once");
    revert(fake.path(), Which::All, &mut journal(&fake)).unwrap();
    let back: Vec<String> = defaults.iter().map(|(_, value)| value.clone()).collect();
    let (mut back, mut now) = (back, now());
    back.sort_unstable();
    now.sort_unstable();
    assert_eq!(now, back, "what the one program has set is put back to what was before it");
}

#[test]
fn a_journal_has_nothing_to_do_with_other_files() {
    let fake = poor();
    fake.write("etc/passwd", "new");
    let paths = ["/etc/passwd", "/proc/sys/../../etc/passwd", "/sys/../etc/passwd", ""];
    let line = |path: &str| {
        format!(
            "{{\"event\":\"change\",\"number\":1,\"boot\":\"first\",\"path\":\"{path}\",\"old\":\"old\",\"new\":\"new\"}}\n"
        )
    };
    fake.write("state/journal", &paths.map(line).concat());
    assert_eq!(revert(fake.path(), Which::All, &mut journal(&fake)).unwrap(), []);
    fake.sysctl(BOOT, "second");
    assert_eq!(again(fake.path(), &mut journal(&fake)).unwrap(), []);
    assert_eq!(std::fs::read_to_string(fake.path().join("etc/passwd")).unwrap(), "new");
}

#[test]
fn one_changes_a_host_at_a_time() {
    let fake = poor();
    let place = fake.path().join("state");
    let alone = Journal::open_alone(&place).unwrap();
    let other = Journal::open_alone(&place).unwrap_err();
    assert_eq!(other.kind(), std::io::ErrorKind::WouldBlock);
    assert!(other.to_string().contains("another velodrome tune"), "{other}");
    assert!(Journal::open(&place).is_ok(), "to look is always allowed");
    drop(alone);
    assert!(Journal::open_alone(&place).is_ok());
}

#[test]
fn a_ladder_ends_where_another_program_changes_its_files() {
    let fake = poor();
    let rungs: Vec<Rung> = steps(&fake).into_iter().map(Rung::of_host).collect();
    let RungChange::Host(step) = &rungs[0].what else { panic!("a step of the host") };
    let mut host = HostState::new(fake.path(), Some(journal(&fake)));
    host.set([&rungs[0]]).unwrap().unwrap();
    put(&fake, &step.changes[0].path, "77");
    let why = host.set([]).unwrap_err().to_string();
    assert!(why.contains("another program has changed it to 77"), "{why}");
}

#[test]
fn another_device_of_the_same_name_is_left_alone() {
    let fake = poor();
    let wanted = |step: &&PlanStep| ["net.irq", "net.coalesce"].contains(&step.check.id);
    let host = HostReading::of(fake.path(), Some(100));
    let all = plan(&host, &audit(&host, Load::Throughput), &Allowed::of(&[])).steps;
    let mut log = journal(&fake);
    for step in all.iter().filter(wanted) {
        apply(fake.path(), step, &mut log).unwrap();
    }
    let changed = state(&fake, &all);
    assert_eq!(changed["/proc/irq/42/smp_affinity"], "4");
    assert_eq!(changed["/velodrome/ethtool/eth0/adaptive-rx"], "on");
    // One interrupt belongs to another device now, and so does the name.
    std::fs::remove_dir_all(fake.path().join("proc/irq/42/eth0-TxRx-2")).unwrap();
    fake.write("proc/irq/42/nvme0q1/x", "");
    fake.write("sys/class/net/eth0/ifindex", "9");
    let done = revert(fake.path(), Which::All, &mut log).unwrap();
    let others: Vec<&str> = done
        .iter()
        .filter(|(_, done)| *done == Done::OtherDevice)
        .map(|(entry, _)| &*entry.change.path)
        .collect();
    assert_eq!(others, ["/velodrome/ethtool/eth0/adaptive-rx", "/proc/irq/42/smp_affinity"]);
    let after = state(&fake, &all);
    assert_eq!(after["/proc/irq/42/smp_affinity"], "4");
    assert!(is_same(&after["/proc/irq/41/smp_affinity"], "f"), "{after:?}");
}

#[test]
fn risky_setting_is_reapplied_only_if_confirmed() {
    let fake = poor();
    fake.device(&[("queues", "1")]);
    let host = HostReading::of(fake.path(), Some(100));
    let found = plan(&host, &audit(&host, Load::Throughput), &Allowed::of(&[3]));
    let step = found.steps.iter().find(|step| step.check.id == "net.queues").unwrap();
    let mut log = journal(&fake);
    let queues = "/velodrome/ethtool/eth0/queues";
    for (boot, is_confirmed) in [("second", false), ("third", true)] {
        apply(fake.path(), step, &mut log).unwrap();
        if is_confirmed {
            log.confirm().unwrap();
        }
        fake.sysctl(BOOT, boot);
        put(&fake, queues, "1");
        let done = again(fake.path(), &mut log).unwrap();
        let last = done.last().map(|(_, done)| done.clone());
        match is_confirmed {
            true => assert_eq!(last, Some(Done::Written)),
            false => assert_eq!(last, Some(Done::Refused("it was never confirmed".to_owned()))),
        }
        let expected = if is_confirmed { "4" } else { "1" };
        let path = fake.path().join(queues.trim_start_matches('/'));
        assert_eq!(std::fs::read_to_string(path).unwrap().trim(), expected);
    }
}
