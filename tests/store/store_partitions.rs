//! Goal: a leader that no longer reaches its replicas, and is written to meanwhile, is fenced when it is back, and what
//! it had acknowledged is had by its new leader or set aside by name. Method: the built servers, and a real NATS in a
//! network namespace of its own, whose cables are cut; skipped where no namespace can be made.

use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::server::channel::{connect, resp};
use crate::server::island::Island;
use crate::server::patience::until;
use crate::server::{PROGRAM, Server, errors_of, printed_by, run};

use super::store_cluster::{ask, node_in, redis, until_read};
use super::store_cluster_failures::{aside_of, until_has, until_number, until_told, write};

fn key(number: u64) -> String {
    format!("key-{number:06}")
}

/// Writes on one connection until it is to end, and returns the numbers of the writes that were acknowledged.
fn write_on(server: &Server, count: &AtomicU64, is_over: &AtomicBool) -> Vec<u64> {
    let mut client = connect(resp(server));
    let mut acknowledged = Vec::new();
    for number in 0.. {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        if ask(&mut client, &format!("SET {} {number}", key(number))) == "+OK" {
            acknowledged.push(number);
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
    acknowledged
}

#[test]
fn a_leader_that_is_written_to_while_it_is_cut_off_is_fenced_and_nothing_is_lost_silently() {
    let test =
        "a_leader_that_is_written_to_while_it_is_cut_off_is_fenced_and_nothing_is_lost_silently";
    let Some(island) = Island::start(test, 3) else { return };
    let node = |cable: u8, name: &str, role: &str| node_in(&island.section(cable, name), role);
    let leader = node(0, "leader", "leader");
    write(&leader, "shared", 5);
    let (one, two) = (node(1, "one", "replica"), node(2, "two", "replica"));
    until_has(&one, "shared", 5);
    until_has(&two, "shared", 5);
    let (count, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let acknowledged = std::thread::scope(|scope| {
        let writer = scope.spawn(|| write_on(&leader, &count, &is_over));
        let until_written = |more: u64| {
            let wanted = count.load(Ordering::Relaxed) + more;
            until("writes", || (count.load(Ordering::Relaxed) >= wanted).then_some(()));
        };
        until_written(50);
        island.cut(0);
        // It goes on, for its own clients.
        until_written(50);
        let mut promote = Command::new(PROGRAM);
        let promoted = run(promote.args(["store", "promote", "--socket"]).arg(one.plan.socket()));
        assert!(promoted.status.success(), "{}", errors_of(&promoted));
        assert_eq!(printed_by(&promoted), "the store leads in term 2\n");
        write(&one, "new", 5);
        until_has(&two, "new", 5);
        until_written(50);
        island.mend(0);
        until_number(&leader, "leads", 0);
        // Its clients write on, and the new leader executes it.
        until_written(5);
        is_over.store(true, Ordering::Relaxed);
        writer.join().unwrap()
    });
    until_has(&leader, "new", 5);
    until_told(&leader, "follows the leader of term 2");
    assert_eq!(redis(&two, "SET last 1"), "+OK");
    until_read(&leader, "last", "1");
    let aside = aside_of(&leader);
    let [aside] = aside.as_slice() else { panic!("{aside:?}") };
    until_told(&leader, aside.file_name().unwrap().to_str().unwrap());
    let bytes = std::fs::read(aside).unwrap();
    let mut new = connect(resp(&one));
    let (mut kept, mut set_aside) = (0, 0);
    for number in acknowledged {
        let key = key(number);
        let is_known = ask(&mut new, &format!("EXISTS {key}")) == ":1";
        let is_aside = bytes.windows(key.len()).any(|part| part == key.as_bytes());
        assert!(is_known || is_aside, "{key} was acknowledged, and is nowhere");
        kept += u64::from(is_known);
        set_aside += u64::from(is_aside);
    }
    assert!(kept >= 50 && set_aside >= 50, "{kept} {set_aside}");
}
