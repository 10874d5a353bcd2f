//! Goal: a request sees every change that was made before it was sent, whatever its scheduler has read before in the
//! same turn. Method: a page that reads and then computes, a change by another program, and a request that is accepted
//! in that turn.

use std::io::ErrorKind;

use ::store::{Database, DatabaseChange, Order, SnapshotReader, Store, StoreOptions, Sync, Value};
use conformance::RequestKind;

use crate::server::Plan;
use crate::server::client::{Client, head, text};
use crate::server::patience::until;

const CONFIG: &str = "[pages]\nslice = \"100ms\"\ncpu_budget = \"60s\"\n[store]\nsync = \"none\"\n";
/// Longer than a slice, so that the turn goes on without it.
const LONG: &str = "<% local read = store.get('key') for _ = 1, 3e8 do end %><%= read %>";
const SHORT: &str = "<%= store.get('key') %>";

#[test]
fn a_request_sees_what_was_changed_before_it_was_sent() {
    let plan = Plan::new().argument("--schedulers=1");
    let directory = plan.directory.join("store");
    let argument = format!("--store={}", directory.display());
    let plan = plan.file("long.page.txt", LONG).file("short.page.txt", SHORT);
    let server = plan.argument(&argument).config(CONFIG).start();
    let databases = vec!["0".to_owned()];
    let settings = StoreOptions { databases, sync: Sync::Never, ..StoreOptions::new(&directory) };
    let store = Store::open(&settings).unwrap();
    let mut writer = store.writer();
    let mut put = |number: u32| {
        let change = DatabaseChange::put(b"key", Value::bytes(number.to_string().as_bytes()));
        writer.execute(&[Order::of(Database(0), change)], 0).remove(0).unwrap();
    };
    let mut number = 0;
    put(number);
    until("a request in the turn of a page that has read something older", || {
        let (mut long, mut short) = (server.client(), server.client());
        long.send(head("GET", "/long", &[])).unwrap();
        let answers = || long.stream.peek(&mut [0]).map_err(|error| error.kind());
        long.stream.set_nonblocking(true).unwrap();
        until("the snapshot from which the page reads", || {
            let is_its = |reader: &SnapshotReader| reader.process == server.id();
            let is_there = store.readers().unwrap().iter().any(is_its) || answers().is_ok();
            is_there.then_some(())
        });
        number += 1;
        put(number);
        short.send(head("GET", "/short", &[])).unwrap();
        let runs = answers();
        long.stream.set_nonblocking(false).unwrap();
        let answer =
            |client: &mut Client| text(&client.response(RequestKind::Other).unwrap()).to_owned();
        assert_eq!(answer(&mut short), number.to_string());
        let was_old = answer(&mut long) == (number - 1).to_string();
        (was_old && runs == Err(ErrorKind::WouldBlock)).then_some(())
    });
}
