//! Troubles of the store and of the access log: a full disk, a lock that another program holds, files that cannot be
//! made.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::time::Duration;

use super::Named::{Event, Row};
use super::planted::{Planted, commands, requests};
use super::{Trouble, are_named};
use crate::server::channel::{connect, resp, say};
use crate::server::mounted::Mounted;
use crate::server::patience::pace;
use crate::server::{Plan, Server};

/// The lock of the writers of the store, as another program holds it.
fn lock(server: &Server) -> File {
    let data = File::open(server.directory().join("store").join(store::DATA_FILE)).unwrap();
    data.lock().unwrap();
    data
}

const TROUBLES: &[Trouble] = &[
    Trouble {
        name: "a hot key",
        plant: |server| {
            let mut client = connect(resp(server));
            say(&mut client, b"SET hot 1\r\n", b"+OK\r\n");
            Planted::with(&["hot"]).keep(commands(server, "GET hot\r\n".repeat(50), 7 * 50))
        },
        named: Row { list: "keys", column: "uses", least: 200.0 },
    },
    Trouble {
        name: "another program that holds the lock of the store",
        plant: |server| {
            let lock = lock(server);
            let mut client = connect(resp(server));
            client.write_all(b"INCR a\r\n").unwrap();
            Planted::with(&["the writer has answered nothing"]).keep((lock, client))
        },
        named: Event("store_stuck"),
    },
    Trouble {
        name: "a commit that takes long",
        plant: |server| {
            let lock = lock(server);
            let mut client = connect(resp(server));
            client.write_all(b"INCR a\r\n").unwrap();
            // So slow is the disk.
            pace(Duration::from_millis(200));
            drop(lock);
            Planted::with(&["a commit of 1 orders"]).keep(client)
        },
        named: Event("slow_commit"),
    },
    Trouble {
        name: "a log on a full disk",
        plant: |server| Planted::with(&["of the access log"]).keep(requests(server, "/a.txt")),
        named: Event("log_lost"),
    },
    Trouble {
        name: "a log that cannot be opened again",
        plant: |server| {
            let log = server.directory().join("access.log");
            std::fs::remove_file(&log).unwrap();
            std::fs::create_dir(&log).unwrap();
            server.signal("USR1");
            Planted::default()
        },
        named: Event("log_reopen"),
    },
];

#[test]
fn troubles_of_store_and_log_are_named() {
    let plan = Plan::new()
        .config("[log]\naccess = \"access.log\"\n[store]\nsync = \"none\"\n")
        .file("a.txt", "a\n");
    // It accepts no byte: every write fails as on a full disk.
    symlink("/dev/full", plan.directory.join("access.log")).unwrap();
    let store = format!("--store={}", plan.directory.join("store").display());
    let plan = plan.argument(&store).argument("--listen-resp=127.0.0.1:0");
    are_named(&plan.argument("--schedulers=1").start(), TROUBLES);
}

const FULL: &[Trouble] = &[Trouble {
    name: "a store on a full disk",
    plant: |server| {
        let mut client = connect(resp(server));
        let value = "x".repeat(60_000);
        for number in 0..200 {
            let set = format!("SET k{number} {value}\r\n");
            if !say(&mut client, set.as_bytes(), b"\r\n").starts_with(b"+OK") {
                break;
            }
        }
        Planted::with(&["orders failed"])
    },
    named: Event("store_failed"),
}];

#[test]
fn a_full_disk_of_the_store_is_named() {
    let plan = Plan::new()
        .config("[store]\nsync = \"none\"\nsize = \"64 MiB\"\n")
        .argument("--listen-resp=127.0.0.1:0");
    let place = plan.directory.join("store");
    std::fs::create_dir(&place).unwrap();
    let Some(mounted) = Mounted::small(&place, "4m", "a_full_disk_of_the_store_is_named") else {
        return;
    };
    let server =
        plan.argument(&format!("--store={}", place.display())).argument("--schedulers=1").start();
    are_named(&server, FULL);
    drop(server);
    drop(mounted);
}
