//! Goal: certificates by themselves with their state in the store: it survives as in a directory, no client of the
//! store reaches it, and servers that share the store order once. Method: the built binary, Pebble as the authority,
//! and Redis clients, HTTP and pages that try.

use std::net::TcpStream;
use std::path::Path;

use serde_json::Value;
use store::{Database, DatabaseChange, Order, PageOf, Query, Store, StoreOptions};

use crate::acme::{NAME, is_issued, order, secure};
use crate::pebble::Pebble;
use crate::server::channel::{connect, resp, say};
use crate::server::directory::Directory;
use crate::server::patience::until;
use crate::server::{Plan, Server, configuration, errors_of};

const OTHER: &str = "two.example.org";

/// The database of the state.
const DATABASE: &str = ".acme";

/// `[acme]` with its state in a store at this place, and a listener for Redis clients.
fn config(pebble: &Pebble, store: &Path, more: &str) -> String {
    let config = pebble.config(&format!("[\"{NAME}\"]"), "challenges = [\"http-01\"]");
    let config = config.replace("state = \"state\"", "state = \"store\"");
    let redis = "[[listener]]\naddress = \"127.0.0.1:0\"\nprotocol = \"resp\"\n";
    format!("{redis}{config}[store]\npath = \"{}\"\n{more}\n", store.display())
}

fn start(plan: Plan, config: &str) -> Server {
    plan.config(config).listen_as_configured(3).start()
}

/// Sends lines and returns the replies.
fn ask(client: &mut TcpStream, lines: &str) -> String {
    let heard = say(
        client,
        format!("{lines}\r\n*2\r\n$4\r\nPING\r\n$7\r\nthe-end\r\n").as_bytes(),
        b"the-end\r\n",
    );
    let text = String::from_utf8_lossy(&heard).into_owned();
    text.strip_suffix("$7\r\nthe-end\r\n").unwrap().to_owned()
}

/// The names of the records of the state. No server has the store open.
fn records(store: &Path) -> Vec<String> {
    let (opened, state) = opened(store);
    let snapshot = opened.snapshot().unwrap();
    let page = snapshot.answer(state, &Query::Page(PageOf { keys: 100, ..PageOf::default() }), 0);
    let store::StepOutcome::Page(page) = page.unwrap() else { panic!("no page") };
    page.keys.iter().map(|(key, _)| String::from_utf8(key.to_vec()).unwrap()).collect()
}

fn opened(store: &Path) -> (Store, Database) {
    let own_databases = vec![DATABASE.to_owned()];
    let opened = Store::open(&StoreOptions { own_databases, ..StoreOptions::new(store) }).unwrap();
    let state = opened.own_database(DATABASE).unwrap();
    (opened, state)
}

fn stopped(mut server: Server) -> Server {
    server.signal("TERM");
    assert!(server.wait().success());
    server
}

#[test]
fn a_state_in_the_store_survives_a_restart_and_a_record_that_is_missing_is_ordered_anew() {
    const TEST: &str =
        "a_state_in_the_store_survives_a_restart_and_a_record_that_is_missing_is_ordered_anew";
    for sync in ["commit", "log"] {
        let plan = Plan::new().file("a.txt", "a\n");
        let Some(pebble) = Pebble::start(&plan.directory, TEST) else { return };
        let place = plan.directory.join("data");
        let server = start(plan, &config(&pebble, &place, &format!("sync = \"{sync}\"")));
        order(&server, NAME, is_issued);
        let client = pebble.client();
        let before = client.connect(secure(&pebble), NAME).unwrap().certificate();
        let server = server.kill_and_restart_as_configured();
        let after = client.connect(secure(&pebble), NAME).unwrap().certificate();
        assert_eq!(before, after, "{sync}");
        assert!(!server.printed_errors().contains("ordering"), "{}", server.printed_errors());
        let server = stopped(server);
        let names = records(&place);
        let folders: Vec<_> = names.iter().map(|name| name.split('/').next().unwrap()).collect();
        assert_eq!(folders, ["accounts", "certificates", "ledger.json"], "the order is over");
        {
            let (opened, state) = opened(&place);
            let delete = Order::of(state, DatabaseChange::Delete(vec![names[1].as_bytes().into()]));
            opened.writer().execute(&[delete], 0).pop().unwrap().unwrap();
        }
        let server = server.launch_again().stand();
        order(&server, NAME, is_issued);
        let again = client.connect(secure(&pebble), NAME).unwrap().certificate();
        assert_ne!(before, again, "{sync}");
        assert!(server.printed_errors().contains("there is none"), "{}", server.printed_errors());
    }
}

#[test]
fn no_client_of_the_store_reads_changes_or_removes_the_state() {
    const TEST: &str = "no_client_of_the_store_reads_changes_or_removes_the_state";
    let page = "<% local ok, told = pcall(function() \
                return store.database(request.query.name):get('ledger.json') end) %>\
                <%= tostring(ok) %> <%= tostring(told) %>";
    let plan = Plan::new().file("a.txt", "a\n").file("try.page.txt", page);
    let Some(pebble) = Pebble::start(&plan.directory, TEST) else { return };
    let place = plan.directory.join("data");
    let more = "databases = [\"cards\"]\n[[database]]\nname = \"cards\"\nhttp = true";
    let server = start(plan, &config(&pebble, &place, more));
    order(&server, NAME, is_issued);
    let mut client = connect(resp(&server));
    // The numbers behind those of the configuration.
    for name in [DATABASE, "16", "17", "18", "64"] {
        let refused = ask(&mut client, &format!("SELECT {name}"));
        assert!(refused.starts_with("-ERR"), "{name}: {refused}");
    }
    assert_eq!(ask(&mut client, "SELECT cards"), "+OK\r\n");
    assert_eq!(ask(&mut client, "SET seen 1"), "+OK\r\n");
    let info = ask(&mut client, "INFO keyspace");
    assert!(info.contains("keys=1") && !info.contains("acme"), "{info}");
    for name in ["0", "cards"] {
        ask(&mut client, &format!("SELECT {name}"));
        for read in ["GET ledger.json", "RANDOMKEY", "KEYS *l*.json", "EXISTS ledger.json"] {
            let read = ask(&mut client, read);
            assert!(!read.contains("ledger") && !read.contains(":1"), "{name}: {read}");
        }
    }
    let mut plain =
        crate::server::client::Client::connect(([127, 0, 0, 1], pebble.plain_port).into()).unwrap();
    for path in ["/store/.acme", "/store/.acme/ledger.json", "/store/16", "/store/17"] {
        assert_eq!(plain.get(path).unwrap().status, 404, "{path}");
    }
    for name in [DATABASE, "17"] {
        let tried = plain.get(&format!("/try?name={name}")).unwrap();
        let told = crate::server::client::text(&tried);
        assert!(told.starts_with("false") && told.contains("there is no database"), "{told}");
    }
    assert_eq!(ask(&mut client, "FLUSHALL"), "+OK\r\n");
    assert_eq!(ask(&mut client, "DBSIZE"), ":0\r\n");
    let server = stopped(server.kill_and_restart_as_configured());
    assert!(!server.printed_errors().contains("ordering"), "{}", server.printed_errors());
    assert_eq!(records(&place).len(), 3);
}

#[test]
fn servers_that_share_a_store_order_once_and_the_other_goes_on_when_the_first_has_ended() {
    const TEST: &str =
        "servers_that_share_a_store_order_once_and_the_other_goes_on_when_the_first_has_ended";
    let plan = Plan::new().file("a.txt", "a\n");
    let Some(pebble) = Pebble::start(&plan.directory, TEST) else { return };
    let place = plan.directory.join("data");
    let text = config(&pebble, &place, "");
    let ca = plan.directory.join("ca.pem").display().to_string();
    let server = start(plan, &text);
    order(&server, NAME, is_issued);
    let others = [pebble.plain_port, pebble.secure_port].iter().fold(text, |text, port| {
        text.replace(&format!("address = \"127.0.0.1:{port}\""), "address = \"127.0.0.1:0\"")
    });
    let others = others.replace("ca.pem", &ca);
    let other = start(Plan::within(Directory::new()), &others);
    let follows = |order: &Value| is_issued(order) && order["next_attempt"] == Value::Null;
    order(&other, NAME, follows);
    let shown = |server: &Server| server.told("/status")["certificates"][0].clone();
    assert_eq!(shown(&server)["fingerprint"], shown(&other)["fingerprint"]);
    assert!(other.printed_errors().contains("another server has the lock"));
    let _ended = stopped(server);
    let other = other.kill_and_restart_as_configured();
    order(&other, NAME, |order| is_issued(order) && order["next_attempt"] != Value::Null);
    assert!(!other.printed_errors().contains("ordering"), "{}", other.printed_errors());
}

#[test]
fn nothing_is_ordered_while_the_store_is_full() {
    const TEST: &str = "nothing_is_ordered_while_the_store_is_full";
    let plan = Plan::new().file("a.txt", "a\n");
    let Some(pebble) = Pebble::start(&plan.directory, TEST) else { return };
    let text = config(&pebble, &plan.directory.join("data"), "size = \"2MiB\"");
    let server = start(plan, &text);
    order(&server, NAME, is_issued);
    let mut client = connect(resp(&server));
    let mut number = 0;
    for length in [100_000, 10_000, 1_000, 10] {
        let value = "x".repeat(length);
        let set =
            |number| format!("*3\r\n$3\r\nSET\r\n$4\r\n{number:04}\r\n${length}\r\n{value}\r\n");
        while ask(&mut client, &set(number)) == "+OK\r\n" {
            number += 1;
        }
    }
    let more = text.replace(&format!("[\"{NAME}\"]"), &format!("[\"{NAME}\", \"{OTHER}\"]"));
    server.directory().write("velodrome.toml", configuration(&more));
    let server = server.kill_and_restart_as_configured();
    let told = until("what the store says", || {
        let told = server.printed_errors();
        told.contains("cannot be written").then_some(told)
    });
    assert!(told.contains("the store is full"), "{told}");
    let none = order(&server, OTHER, |order| order["last_error"].is_string());
    assert_eq!(none["days_left"], Value::Null);
    order(&server, NAME, is_issued);
    let mut client = connect(resp(&server));
    for key in 0..number {
        assert_eq!(ask(&mut client, &format!("DEL {key:04}")), ":1\r\n");
    }
    // The next attempt is a minute later; a server that starts makes one at once.
    let server = server.kill_and_restart_as_configured();
    order(&server, OTHER, is_issued);
}

#[test]
fn a_state_in_a_store_that_is_not_there_and_names_of_own_databases_are_refused() {
    let section = "[[listener]]\naddress = \"127.0.0.1:0\"\ntls = \"acme\"\n\
                   [acme]\nnames = [\"one.example.org\"]\nstate = \"store\"\n";
    for (config, why) in [
        (section.to_owned(), "in [acme] needs a store"),
        (
            format!("{section}[store]\npath = \"data\"\ndatabases = [\".acme\"]\n"),
            "the server's own",
        ),
        (
            format!("{section}[store]\npath = \"data\"\n[[database]]\nname = \".acme\"\n"),
            "there is no database \".acme\"",
        ),
    ] {
        let plan = Plan::new().config(&config).listen_as_configured(1);
        let errors = errors_of(&plan.fail());
        assert!(errors.contains(why), "{errors}");
    }
}
