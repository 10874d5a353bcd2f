//! Troubles of a scheduler that gets too little of its core.

use std::process::{Command, Stdio};

use super::Named::Event;
use super::planted::{Again, Planted, thread_of};
use super::{Trouble, are_named};
use crate::server::client::Client;
use crate::server::{Ending, Plan, Server};

/// A core that this test may use.
fn core() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    list.trim().split([',', '-']).next().unwrap().to_owned()
}

/// Takes the core of the scheduler away from it.
fn starved(server: &Server) -> Planted {
    let (core, address) = (core(), server.address());
    // Its thread runs only when no other thread wants the core.
    let idle = Command::new("chrt")
        .args(["--idle", "--pid", "0", &thread_of(server, "velodrome-0")])
        .status();
    assert!(idle.unwrap().success(), "chrt of util-linux is needed");
    let busy = || {
        let mut command = Command::new("taskset");
        command.args(["-c", &core, "sh", "-c", "while :; do :; done"]);
        Ending(command.stdin(Stdio::null()).spawn().unwrap())
    };
    let work = Again::and_again(move || drop(Client::connect(address).unwrap().get("/work")));
    Planted::default().keep(work).keep([busy(), busy()])
}

const TROUBLES: &[Trouble] = &[
    Trouble { name: "a core that other programs use", plant: starved, named: Event("starved") },
    Trouble {
        name: "deadlines that are noticed late",
        plant: |server| {
            let address = server.address();
            starved(server).keep(Again::and_again(move || {
                // It says nothing, and is closed at its deadline.
                let _closed = Client::connect(address).unwrap().rest();
            }))
        },
        named: Event("timers_late"),
    },
];

#[test]
fn a_core_that_others_use_is_named() {
    let core = core();
    let work = "<% for n = 1, 100000 do local x = n % 7 end %>";
    let plan = Plan::new().config("[limits]\nkeep_alive = \"200ms\"\n");
    let plan = plan.wrapped(&["taskset", "-c", &core]).file("work.page.txt", work);
    are_named(&plan.argument("--schedulers=1").start(), TROUBLES);
}
