//! Goal: a full disk fails writes with a clear reason and nothing else, and the file of a store grows while it is used.
//! Method: a small file system in memory, where the test may mount one.

use std::io::Write;
use std::net::TcpStream;
use std::os::unix::process::ExitStatusExt;

use ::store::{
    Database, DatabaseChange, Executed, Order, StepOutcome, Store, StoreOptions, Sync, Value,
};

use crate::server::channel::{connect, resp, say};
use crate::server::mounted::Mounted;
use crate::server::patience::until;
use crate::server::{Plan, Server};

/// A full disk on which another program has taken the last byte.
fn fill(path: &std::path::Path) {
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
    for piece in [1 << 20, 64 << 10, 4096, 1] {
        while file.write(&vec![0; piece]).is_ok_and(|written| written == piece) {}
    }
}

#[test]
fn on_a_full_disk_everything_can_be_deleted() {
    let test = "on_a_full_disk_everything_can_be_deleted";
    let place = crate::server::directory::Directory::new();
    let Some(_mounted) = Mounted::small(place.path(), "32m", test) else { return };
    let store = place.path().join("store");
    for sync in ["commit", "log", "interval", "none"] {
        for interval in ["50ms", "1h"] {
            let config = format!("[store]\nsync = \"{sync}\"\nsync_interval = \"{interval}\"\n");
            let mut server = start(&store, &config);
            let mut client = connect(resp(&server));
            let value = "x".repeat(4_000);
            for number in 0..200 {
                assert_eq!(ask(&mut client, &format!("SET {number} {value}")), "+OK\r\n");
            }
            fill(&place.path().join("filler"));
            let told = format!("{sync}, {interval}");
            for number in 0..100 {
                assert_eq!(ask(&mut client, &format!("DEL {number}")), ":1\r\n", "{told}");
            }
            // Also after a restart, which finds the disk full.
            server = server.kill_and_restart();
            client = connect(resp(&server));
            for number in 100..150 {
                assert_eq!(ask(&mut client, &format!("DEL {number}")), ":1\r\n", "{told}");
            }
            assert_eq!(ask(&mut client, "DBSIZE"), ":50\r\n", "{told}");
            assert_eq!(ask(&mut client, "FLUSHDB"), "+OK\r\n", "{told}");
            assert_eq!(ask(&mut client, "DBSIZE"), ":0\r\n", "{told}");
            std::fs::remove_file(place.path().join("filler")).unwrap();
            server.signal("TERM");
            assert!(server.wait().success());
            std::fs::remove_dir_all(&store).unwrap();
        }
    }
}

#[test]
fn on_a_full_disk_everything_can_be_deleted_beside_a_snapshot() {
    let test = "on_a_full_disk_everything_can_be_deleted_beside_a_snapshot";
    let place = crate::server::directory::Directory::new();
    let Some(_mounted) = Mounted::small(place.path(), "64m", test) else { return };
    for sync in [Sync::Commit, Sync::Log, Sync::Interval, Sync::Never] {
        let directory = place.path().join("store");
        let databases = vec!["0".to_owned()];
        let store = Store::open(&StoreOptions { databases, sync, ..StoreOptions::new(&directory) })
            .unwrap();
        let mut writer = store.writer();
        let mut run = |change| writer.execute(&[Order::of(Database(0), change)], 0).remove(0);
        let key = |number: u32| Box::from(number.to_string().as_bytes());
        let value = Value::bytes(&[b'x'; 4_000]);
        for number in 0..200 {
            assert!(run(DatabaseChange::put(&key(number), value.clone())).is_ok());
        }
        // None of the pages that are freed from now on can be used again.
        let snapshot = store.snapshot().unwrap();
        fill(&place.path().join("filler"));
        let one = || Ok(Executed::Done(vec![StepOutcome::Number(1)]));
        for number in 0..50 {
            assert_eq!(run(DatabaseChange::Delete(vec![key(number)])), one(), "{number}, {sync:?}");
        }
        assert!(run(DatabaseChange::Clear).is_ok(), "{sync:?}");
        drop((snapshot, writer, store));
        std::fs::remove_file(place.path().join("filler")).unwrap();
        std::fs::remove_dir_all(&directory).unwrap();
    }
}

#[test]
fn a_store_that_has_filled_its_disk_is_used_again_when_it_is_emptied() {
    let test = "a_store_that_has_filled_its_disk_is_used_again_when_it_is_emptied";
    let place = crate::server::directory::Directory::new();
    let Some(_mounted) = Mounted::small(place.path(), "8m", test) else { return };
    let store = place.path().join("store");
    for sync in ["commit", "log", "interval"] {
        for interval in ["50ms", "1h"] {
            let config = format!("[store]\nsync = \"{sync}\"\nsync_interval = \"{interval}\"\n");
            let mut server = start(&store, &config);
            let mut client = connect(resp(&server));
            let value = "x".repeat(30_000);
            let (mut number, mut refused) = (0, 0);
            while refused < 4 {
                refused +=
                    u32::from(ask(&mut client, &format!("SET {number} {value}")) != "+OK\r\n");
                number += 1;
                assert!(number < 1_000);
            }
            assert_eq!(ask(&mut client, "FLUSHDB"), "+OK\r\n");
            // As large as those that were refused: it needs the pages that were just freed.
            until(&format!("a large write with {sync}, {interval}"), || {
                let reply = ask(&mut client, &format!("SET large {value}"));
                (reply == "+OK\r\n").then_some(())
            });
            assert_eq!(ask(&mut client, "DEL large"), ":1\r\n");
            // More than the log has room for.
            let value = "x".repeat(1_000);
            for number in 0..1_000 {
                until(&format!("write {number} with {sync}, {interval}"), || {
                    let reply = ask(&mut client, &format!("SET a {value}"));
                    (reply == "+OK\r\n").then_some(())
                });
            }
            server = server.kill_and_restart();
            client = connect(resp(&server));
            assert_eq!(ask(&mut client, "STRLEN a"), ":1000\r\n");
            assert_eq!(ask(&mut client, "DBSIZE"), ":1\r\n");
            server.signal("TERM");
            assert!(server.wait().success());
            std::fs::remove_dir_all(&store).unwrap();
        }
    }
}

fn start(store: &std::path::Path, config: &str) -> Server {
    let plan = Plan::new().argument("--listen-resp=127.0.0.1:0");
    plan.argument(&format!("--store={}", store.display())).config(config).start()
}

/// Sends a line and returns the reply.
fn ask(client: &mut TcpStream, line: &str) -> String {
    let heard = say(client, format!("{line}\r\nECHO end\r\n").as_bytes(), b"end\r\n");
    let text = String::from_utf8_lossy(&heard).into_owned();
    text.strip_suffix("$3\r\nend\r\n").unwrap().to_owned()
}

#[test]
fn a_full_disk_fails_writes_and_nothing_else() {
    let test = "a_full_disk_fails_writes_and_nothing_else";
    let place = crate::server::directory::Directory::new();
    let Some(_mounted) = Mounted::small(place.path(), "8m", test) else { return };
    let store = place.path().join("store");
    for sync in ["commit", "log", "interval", "none"] {
        // No checkpoint is due, but one is made because there is no space without it.
        let config = format!("[store]\nsync = \"{sync}\"\nsync_interval = \"1h\"\n");
        let mut server = start(&store, &config);
        let mut client = connect(resp(&server));
        let filler = place.path().join("filler");
        std::fs::write(&filler, vec![0; 5 << 20]).unwrap();
        let value = "x".repeat(3_000);
        let mut written = 0;
        let refusal = loop {
            let reply = ask(&mut client, &format!("SET {sync}:{written} {value}"));
            if reply != "+OK\r\n" {
                break reply;
            }
            written += 1;
            assert!(written < 5_000);
        };
        assert_eq!(refusal, "-OOM the disk is full\r\n", "after {written}");
        assert!(written > 100, "{sync}: {written}");
        // All answered writes exist, also over HTTP and after a kill.
        for number in [0, written / 2, written - 1] {
            assert!(ask(&mut client, &format!("GET {sync}:{number}")).starts_with("$3000\r\n"));
        }
        server = server.kill_and_restart();
        client = connect(resp(&server));
        let count = ask(&mut client, "DBSIZE");
        assert!(ask(&mut client, &format!("GET {sync}:{}", written - 1)).starts_with("$3000\r\n"));
        // There is space again: writes continue without a restart.
        std::fs::remove_file(&filler).unwrap();
        until("a write", || {
            let reply = ask(&mut client, &format!("SET {sync}:more {value}"));
            assert!(["+OK\r\n", "-OOM the disk is full\r\n"].contains(&&*reply), "{reply}");
            (reply == "+OK\r\n").then_some(())
        });
        let more = ask(&mut client, "DBSIZE");
        let number = |text: &str| text.trim_start_matches(':').trim().parse::<u64>().unwrap();
        assert_eq!(number(&more), number(&count) + 1);
        assert_eq!(ask(&mut client, "FLUSHALL"), "+OK\r\n");
        server.signal("TERM");
        assert!(server.wait().success());
        std::fs::remove_dir_all(&store).unwrap();
        until("the kernel to give back what the ended server had mapped", || {
            (used_kib(place.path()) < 100).then_some(())
        });
    }
}

/// KiB in use on the file system of this directory.
fn used_kib(directory: &std::path::Path) -> u64 {
    let mut df = std::process::Command::new("df");
    let told = df.args(["-k", "--output=used"]).arg(directory).output().unwrap();
    let told = String::from_utf8(told.stdout).unwrap();
    told.lines().last().unwrap().trim().parse().unwrap()
}

#[test]
fn a_file_that_is_made_shorter_under_the_server_is_named_before_the_server_ends() {
    let place = crate::server::directory::Directory::new();
    let store = place.path().join("store");
    let mut server = start(&store, "[store]\nsync = \"none\"\n");
    let mut client = connect(resp(&server));
    for number in 0..500 {
        let value = "x".repeat(1_000);
        assert_eq!(ask(&mut client, &format!("SET {number} {value}")), "+OK\r\n");
    }
    let data = store.join(::store::DATA_FILE);
    std::fs::OpenOptions::new().write(true).open(&data).unwrap().set_len(8192).unwrap();
    client.write_all(b"GET 0\r\nGET 499\r\nGET 250\r\n").unwrap();
    // SIGBUS, so that a core dump shows where.
    assert_eq!(server.wait().signal(), Some(7));
    let expected = format!("error: the file `{}` has become shorter", data.display());
    assert!(server.printed_errors().contains(&expected), "{}", server.printed_errors());
}
