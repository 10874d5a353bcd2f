//! Troubles of threads that wait in the kernel: a scheduler that does not turn, and a disk that takes long. Method:
//! strace makes each system call of a kind take seconds in one thread.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::thread;

use super::Named::Event;
use super::planted::{Again, Planted, thread_of};
use super::{Trouble, are_named};
use crate::server::channel::{connect, resp, say};
use crate::server::patience::until;
use crate::server::{Ending, Plan, Server, errors_of, has};

/// Connections that are spread over the schedulers: that one of two gets none of them is not to be expected.
const CONNECTIONS: usize = 16;

/// From now on these system calls of a thread, and of those that it starts, take three seconds. `None` if strace may
/// not look at programs here.
fn slow_calls(server: &Server, thread: &str, calls: &str) -> Option<Ending> {
    slow_with(&["-f"], server, thread, calls)
}

/// The same with these flags of strace.
fn slow_with(flags: &[&str], server: &Server, thread: &str, calls: &str) -> Option<Ending> {
    let thread = thread_of(server, thread);
    let mut strace = Command::new("strace");
    strace.args(flags).args(["-o", "/dev/null", "-p", &thread, "-e", &format!("trace={calls}")]);
    strace.args(["-e", &format!("inject={calls}:delay_enter=3000000")]);
    let strace = strace.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut strace = Ending(strace);
    let status = format!("/proc/{}/task/{thread}/status", server.id());
    let is_watched = until("strace to watch it or to end", || {
        let status = std::fs::read_to_string(&status).unwrap();
        let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:")).unwrap();
        let has_ended = strace.0.try_wait().unwrap().is_some();
        if tracer.trim() != "0" { Some(true) } else { has_ended.then_some(false) }
    });
    is_watched.then_some(strace)
}

/// Whether the test can be made here.
#[expect(clippy::print_stdout, reason = "what is skipped has to be seen")]
fn can_slow(server: &Server, test: &str) -> bool {
    if !has("strace", test) {
        return false;
    }
    let can = slow_calls(server, "velodrome-0", "reboot").is_some();
    if !can {
        println!("SKIPPED {test}: strace may not look at programs here");
    }
    can
}

/// A scheduler that waits for the kernel again and again, while others have messages for it.
fn stopped(server: &Server, text: &str) -> Planted {
    let subscribed = (0..CONNECTIONS).map(|_| {
        let mut subscriber = connect(resp(server));
        say(&mut subscriber, b"PSUBSCRIBE news.*\r\n", b":1\r\n");
        // It reads whatever comes.
        thread::spawn(move || while subscriber.read(&mut [0; 4096]).is_ok_and(|count| count > 0) {})
    });
    let subscribed: Vec<_> = subscribed.collect();
    let publishers: Vec<_> = (0..CONNECTIONS).map(|_| connect(resp(server))).collect();
    // strace is ended first, so that nothing waits for the scheduler any more.
    let strace = slow_calls(server, "velodrome-1", "recvfrom");
    let mut planted = Planted::with(&[text]).keep(strace).keep(subscribed);
    for (number, mut publisher) in publishers.into_iter().enumerate() {
        // Half of these channels have their home on the other scheduler, half of the publishers are its clients.
        let orders = format!("PUBLISH news.{number} x\r\n").repeat(20);
        planted = planted.keep(Again::and_again(move || {
            publisher.write_all(orders.as_bytes()).unwrap();
            // Those that the stopped scheduler has to answer wait.
            let _answered = publisher.read(&mut [0; 4096]);
        }));
    }
    planted
}

const OF_A_SCHEDULER: &[Trouble] = &[Trouble {
    name: "a scheduler that does not turn",
    plant: |server| stopped(server, "it has not finished a turn"),
    named: Event("stuck"),
}];

#[test]
fn a_scheduler_that_does_not_turn_is_named() {
    let plan = Plan::new().argument("--schedulers=2").argument("--listen-resp=127.0.0.1:0");
    let server = plan.config("[[channel]]\npattern = \"news.*\"\n").start();
    if can_slow(&server, "a_scheduler_that_does_not_turn_is_named") {
        are_named(&server, OF_A_SCHEDULER);
    }
}

/// The ids of the connections of scheduler 1.
fn connections(server: &Server) -> Vec<String> {
    let shown = super::top(server, "connections", "");
    let rows = shown["list"]["rows"].as_array().unwrap();
    let ids = rows.iter().map(|row| row["id"].as_str().unwrap().to_owned());
    ids.filter(|id| id.starts_with("c-1-")).collect()
}

#[test]
fn end_of_connection_on_silent_scheduler_is_told_to_come_and_comes() {
    let test = "end_of_connection_on_silent_scheduler_is_told_to_come_and_comes";
    let server = Plan::new().argument("--schedulers=2").file("a.txt", "a\n").start();
    if !can_slow(&server, test) {
        return;
    }
    let mut clients: Vec<_> = (0..CONNECTIONS).map(|_| server.client()).collect();
    clients.iter_mut().for_each(|client| assert_eq!(client.get("/a.txt").unwrap().status, 200));
    let ids = connections(&server);
    // The other threads go on.
    let waits = "epoll_wait,epoll_pwait,epoll_pwait2";
    let strace = slow_with(&[], &server, "velodrome-1", waits);
    let told = |id: &String| {
        let told = errors_of(&server.ctl(&["kill", id]));
        told.contains("scheduler 1 has not answered").then(|| id.clone())
    };
    let late = ids.iter().find_map(told).expect("it takes seconds for each turn");
    drop(strace);
    until("it to be ended", || (!connections(&server).contains(&late)).then_some(()));
}

const OF_A_DISK: &[Trouble] = &[Trouble {
    name: "a checkpoint that takes long",
    plant: |server| {
        let strace = slow_calls(server, "store", "fdatasync,sync_file_range");
        let mut client = connect(resp(server));
        say(&mut client, b"SET a 1\r\n", b"+OK\r\n");
        Planted::with(&["a checkpoint took"]).keep(strace)
    },
    named: Event("slow_checkpoint"),
}];

#[test]
fn a_slow_disk_of_the_store_is_named() {
    let plan = Plan::new().config("[store]\nsync = \"interval\"\nsync_interval = \"200ms\"\n");
    let store = format!("--store={}", plan.directory.join("store").display());
    let plan = plan.argument(&store).argument("--listen-resp=127.0.0.1:0");
    let server = plan.argument("--schedulers=1").start();
    if can_slow(&server, "a_slow_disk_of_the_store_is_named") {
        are_named(&server, OF_A_DISK);
    }
}
