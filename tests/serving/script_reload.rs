//! Goal: an edit of a page is served from the next request on, a broken one is not, and no running request is affected.
//! Method: the built binary, a site that is edited while it is served, clients that send requests all the time.

use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::server::client::{Client, head, text};
use crate::server::directory::Directory;
use crate::server::patience::{pace, until};
use crate::server::{PROGRAM, Plan, Server, configuration, errors_of, printed_by, run};
use conformance::RequestKind;
use serde_json::Value;

/// Clients that keep their connections, each a thread.
const CLIENTS: usize = 3;

/// Per client: a load during the edits that leaves room for them on a busy host.
const BETWEEN_REQUESTS: Duration = Duration::from_millis(1);

/// The test waits for each.
const EDITS: u64 = 120;

/// One edit of this many comes with a reload of the configuration.
const RELOAD_EVERY: u64 = 10;

/// By then the engines have allocated what any number of edits needs.
const SETTLED: u64 = 40;

/// How much the server may have grown from then on: garbage that was not collected yet.
const GROWTH_KIB: u64 = 2 * 1024 + 256;

/// Writes in place.
fn edit(server: &Server, name: &str, text: &str) {
    fs::write(server.directory().join(&format!("site/{name}")), text).unwrap();
}

/// As most editors save: a new file renamed over the old one.
fn replace(server: &Server, name: &str, text: &str) {
    server.directory().write(&format!("site/{name}"), text);
}

/// Waits for an answer with this status and text.
fn expect(server: &Server, path: &str, status: u16, body: &str) {
    until(&format!("{status} {body} at {path}"), || {
        let response = server.get(path);
        (response.status == status && text(&response).contains(body)).then_some(())
    });
}

/// Resident memory of the server, in KiB.
fn resident_kib(server: &Server) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// The pages in `ctl status`.
fn pages(server: &Server) -> Value {
    server.told("/status")["pages"].take()
}

#[test]
fn an_edit_a_new_page_and_a_removed_one_are_seen() {
    let mut server = Plan::new().file("a.page.txt", "one").start();
    assert_eq!(text(&server.get("/a")), "one");
    edit(&server, "a.page.txt", "two");
    expect(&server, "/a", 200, "two");
    // Temporary files of editors are neither pages nor errors.
    let locked = server.directory().join("site/.#a.page.txt");
    symlink("nobody@nowhere.1", locked).unwrap();
    edit(&server, "a.page.txt~", "two");
    replace(&server, "a.page.txt", "three");
    expect(&server, "/a", 200, "three");
    assert_eq!(server.get("/b").status, 404);
    edit(&server, "b.page.txt", "b");
    expect(&server, "/b", 200, "b");
    fs::remove_file(server.directory().join("site/a.page.txt")).unwrap();
    expect(&server, "/a", 404, "");
    assert_eq!(text(&server.get("/b")), "b");
    assert_eq!(pages(&server)["count"], 1);
    // None of this was a reload of the configuration, or an error.
    assert_eq!(server.told("/status")["last_reload"]["number"], 0);
    assert_eq!(server.printed_troubles(), "");
    server.signal("TERM");
    assert!(server.wait().success());
}

#[test]
fn the_first_page_of_a_site_and_one_in_a_new_directory_are_seen() {
    let server = Plan::new().file("a.txt", "a").start();
    assert_eq!(server.get("/d/").status, 404);
    let site = server.directory().join("site");
    fs::create_dir_all(site.join("d/e")).unwrap();
    edit(&server, "d/index.page.html", "<%= 1 + 1 %>");
    edit(&server, "d/e/f.page.txt", "f");
    expect(&server, "/d/", 200, "2");
    expect(&server, "/d/e/f", 200, "f");
    // The directory is watched by now, also under another name.
    fs::rename(site.join("d"), site.join("g")).unwrap();
    expect(&server, "/g/e/f", 200, "f");
    assert_eq!(server.get("/d/").status, 404);
    edit(&server, "g/e/f.page.txt", "other");
    expect(&server, "/g/e/f", 200, "other");
    fs::remove_dir_all(site.join("g")).unwrap();
    expect(&server, "/g/e/f", 404, "");
}

#[test]
fn a_part_is_included_as_it_is_now_and_not_when_it_is_gone() {
    let page = "<% include('_part.txt') %>";
    let server = Plan::new().file("a.page.txt", page).file("_part.page.txt", "one").start();
    assert_eq!(text(&server.get("/a")), "one");
    edit(&server, "_part.page.txt", "two");
    expect(&server, "/a", 200, "two");
    fs::remove_file(server.directory().join("site/_part.page.txt")).unwrap();
    expect(&server, "/a", 500, "");
    assert!(server.printed_errors().contains("there is no part '_part.txt'"));
}

#[test]
fn a_broken_edit_keeps_the_good_version_and_is_told() {
    let server = Plan::new().file("a.page.txt", "good").file("b.page.txt", "b").start();
    edit(&server, "a.page.txt", "one\n<% for i = 1 do %>");
    edit(&server, "new.page.txt", "\n\n  <% never closed");
    let told = until("the problems", || {
        let problems = pages(&server)["problems"].take();
        (problems.as_array().unwrap().len() == 2).then_some(problems)
    });
    let [of_edit, of_new] = [&told[0], &told[1]];
    assert!(of_edit["file"].as_str().unwrap().ends_with("/site/a.page.txt"), "{told}");
    assert_eq!((&of_edit["line"], &of_edit["column"]), (&2.into(), &14.into()));
    assert_eq!(of_edit["served"], "the version before is served");
    assert!(of_edit["problem"].as_str().unwrap().contains("`do`"), "{told}");
    assert_eq!((&of_new["line"], &of_new["column"]), (&3.into(), &3.into()));
    assert_eq!(of_new["served"], "it is answered 500");
    let shown = printed_by(&server.ctl(&["status"]));
    assert!(shown.contains("a.page.txt") && shown.contains("the version before"), "{shown}");
    expect(&server, "/new", 500, "");
    assert_eq!(text(&server.get("/a")), "good");
    // A reload also reads pages: the good version survives it, and a known error is not reported again.
    assert_eq!(server.ctl_json(&["reload"])["state"], "in force");
    assert_eq!(text(&server.get("/a")), "good");
    let printed = server.printed_errors();
    assert_eq!(printed.matches("site/a.page.txt:2:14: ").count(), 1, "{printed}");
    assert_eq!(printed.matches("site/new.page.txt:3:3: ").count(), 1, "{printed}");
    edit(&server, "a.page.txt", "mended");
    expect(&server, "/a", 200, "mended");
    edit(&server, "new.page.txt", "new");
    expect(&server, "/new", 200, "new");
    until("no problem", || (pages(&server)["problems"] == Value::Array(vec![])).then_some(()));
}

#[test]
fn a_request_across_an_edit_ends_with_the_page_it_began_with() {
    let server = Plan::new()
        .argument("--schedulers=1")
        .file("a.page.txt", "<% print('begun') sleep(2) %>old <%= request.path %>")
        .file("b.page.txt", "<% print('b begun') sleep(2) %>b")
        .start();
    let [mut one, mut other] = [server.client(), server.client()];
    one.send(head("GET", "/a", &[])).unwrap();
    other.send(head("GET", "/b", &[])).unwrap();
    until("both have begun", || {
        let printed = server.printed_errors();
        (printed.contains("a: begun") && printed.contains("b begun")).then_some(())
    });
    edit(&server, "a.page.txt", "new");
    fs::remove_file(server.directory().join("site/b.page.txt")).unwrap();
    expect(&server, "/a", 200, "new");
    expect(&server, "/b", 404, "");
    assert_eq!(text(&one.response(RequestKind::Other).unwrap()), "old /a");
    assert_eq!(text(&other.response(RequestKind::Other).unwrap()), "b");
    assert_eq!(text(&one.get("/a").unwrap()), "new");
    assert_eq!(other.get("/b").unwrap().status, 404);
}

#[test]
fn a_request_across_a_reload_ends_with_the_page_it_began_with() {
    let server = Plan::new()
        .argument("--schedulers=1")
        .file("a.page.txt", "<% print('begun') sleep(2) %>old")
        .start();
    let mut client = server.client();
    client.send(head("GET", "/a", &[])).unwrap();
    until("it has begun", || server.printed_errors().contains("begun").then_some(()));
    let route = "[[route]]\npath = \"/a\"\nrespond = { body = \"route\" }\n";
    server.directory().write("velodrome.toml", configuration(route));
    assert_eq!(server.ctl_json(&["reload"])["state"], "in force");
    expect(&server, "/a", 200, "route");
    assert_eq!(text(&client.response(RequestKind::Other).unwrap()), "old");
    assert_eq!(text(&client.get("/a").unwrap()), "route");
}

#[test]
fn a_reload_follows_the_edits_of_its_own_roots() {
    let server = Plan::new().file("a.page.txt", "one").file("in/a.page.txt", "inner").start();
    assert_eq!(text(&server.get("/a")), "one");
    server.directory().write("velodrome.toml", "root = \"site/in\"\n");
    assert_eq!(server.ctl_json(&["reload"])["state"], "in force");
    expect(&server, "/a", 200, "inner");
    edit(&server, "a.page.txt", "two");
    edit(&server, "in/a.page.txt", "edited");
    expect(&server, "/a", 200, "edited");
    server.directory().write("velodrome.toml", configuration(""));
    assert_eq!(server.ctl_json(&["reload"])["state"], "in force");
    expect(&server, "/a", 200, "two");
    edit(&server, "a.page.txt", "three");
    expect(&server, "/a", 200, "three");
}

/// Sends requests over one connection until told to stop: the numbers never decrease.
fn keep_asking(address: SocketAddr, stop: &AtomicBool) -> Result<u64, String> {
    let mut client = Client::connect(address).map_err(|error| error.to_string())?;
    let (mut newest, mut asked) = (0, 0);
    while !stop.load(Ordering::SeqCst) {
        let response = client.get("/n").map_err(|error| error.to_string())?;
        let number: u64 = text(&response)
            .parse()
            .map_err(|_| format!("{} {}", response.status, text(&response)))?;
        if response.status != 200 || number < newest {
            return Err(format!("{} {number} after {newest}", response.status));
        }
        newest = number;
        asked += 1;
        pace(BETWEEN_REQUESTS);
    }
    Ok(asked)
}

#[test]
fn hundreds_of_edits_under_load_fail_no_request_and_take_no_memory() {
    let page = |number: u64| format!("<%= {number} %>");
    let plan = Plan::within(Directory::in_memory());
    let mut server = plan.file("n.page.txt", page(0)).start();
    let stop = Arc::new(AtomicBool::new(false));
    let address = server.address();
    let client = |_| {
        let stop = Arc::clone(&stop);
        thread::spawn(move || keep_asking(address, &stop))
    };
    let clients: Vec<_> = (0..CLIENTS).map(client).collect();
    let mut settled_kib = 0;
    for number in 1..=EDITS {
        replace(&server, "n.page.txt", &page(number));
        if number % RELOAD_EVERY == 0 {
            // Read for a reload and for the edit at the same time.
            server.signal("HUP");
        }
        let body = number.to_string();
        until("the edit", || (text(&server.get("/n")) == body).then_some(()));
        if number == SETTLED {
            settled_kib = resident_kib(&server);
        }
    }
    let grown_kib = resident_kib(&server).saturating_sub(settled_kib);
    assert!(grown_kib < GROWTH_KIB, "from {settled_kib} KiB by {grown_kib} KiB");
    stop.store(true, Ordering::SeqCst);
    for client in clients {
        let asked = client.join().unwrap().unwrap();
        assert!(asked > EDITS, "{asked} requests");
    }
    assert!(server.is_running());
    assert_eq!(server.printed_troubles(), "");
    assert_eq!(server.count("/closed/failed") + server.count("/turns/panics"), 0);
    // An edit that a reload has read as well does not take effect twice.
    let edits = pages(&server)["edits"].as_u64().unwrap();
    assert!((EDITS - EDITS / RELOAD_EVERY..=EDITS).contains(&edits), "{edits}");
    let reloads = server.told("/status")["last_reload"]["number"].as_u64().unwrap();
    assert!((1..=EDITS / RELOAD_EVERY).contains(&reloads), "{reloads}");
}

#[test]
fn broken_pages_are_named_by_check() {
    let plan = Plan::new().file("good.page.txt", "good");
    let check = || {
        let site = plan.directory.join("site");
        let config = format!("--config={}", plan.directory.join("velodrome.toml").display());
        run(Command::new(PROGRAM).arg("check").arg(site).arg(config))
    };
    let good = check();
    assert!(good.status.success(), "{good:?}");
    assert!(printed_by(&good).contains("velodrome.toml: valid ("), "{good:?}");
    let plan_with = |name: &str, text: &str| plan.directory.write(&format!("site/{name}"), text);
    plan_with("a.page.txt", "\n<% for i = 1 do %>");
    plan_with("b.page.txt", "<% never closed");
    let broken = check();
    assert_eq!(broken.status.code(), Some(1), "{broken:?}");
    assert!(!printed_by(&broken).contains("right"), "{broken:?}");
    let told = errors_of(&broken);
    for words in ["2 problems in pages", "site/a.page.txt:2:14: ", "site/b.page.txt:1:1: "] {
        assert!(told.contains(words), "no `{words}` in:\n{told}");
    }
}

#[test]
fn names_that_are_not_there_are_told_and_the_page_is_served() {
    let page = "<% local total = 5 -%>\n<% if request.query.lap then -%>\n  <%= totl %> <%= totl * 2 %>\n<% \
                end -%>\n<%= total %>";
    let plan =
        Plan::new().file("a.page.txt", page).file("b.page.txt", "<% count = tonumbr('1') %>");
    let site = plan.directory.join("site");
    let config = format!("--config={}", plan.directory.join("velodrome.toml").display());
    let check = || run(Command::new(PROGRAM).arg("check").arg(&site).arg(&config));
    let checked = check();
    assert_eq!(checked.status.code(), Some(1), "{checked:?}");
    let told = errors_of(&checked);
    for words in [
        "3 problems in pages:",
        "site/a.page.txt:3: undefined global 'totl' (did you mean 'total'?); it is served, and fails there",
        "site/b.page.txt:1:4: assignment to the global 'count': declare it with local; it is served",
        "site/b.page.txt:1:12: undefined global 'tonumbr' (did you mean 'tonumber'?); it is served",
    ] {
        assert!(told.contains(words), "no `{words}` in:\n{told}");
    }
    let server = plan.start();
    assert_eq!(text(&server.get("/a")), "5");
    assert_eq!(server.get("/a?lap=1").status, 500);
    let printed = server.printed_errors();
    assert_eq!(printed.matches("velodrome: warn: ").count(), 3, "{printed}");
    assert!(
        printed.contains("site/a.page.txt:3: undefined global 'totl' (did you mean"),
        "{printed}"
    );
    let problems = until("the problems", || {
        let problems = pages(&server)["problems"].take();
        (problems.as_array().map(Vec::len) == Some(3)).then_some(problems)
    });
    assert_eq!(problems[0]["served"], "it is served, and fails there");
    assert_eq!((&problems[1]["line"], &problems[1]["column"]), (&1.into(), &4.into()));
    edit(&server, "a.page.txt", &page.replace("totl", "total"));
    expect(&server, "/a?lap=1", 200, "10");
    edit(&server, "b.page.txt", "<% local count = tonumber('1') %>");
    until("no problem", || (pages(&server)["problems"] == Value::Array(vec![])).then_some(()));
    let site = server.directory().join("site");
    let config = format!("--config={}", server.directory().join("velodrome.toml").display());
    let checked = run(Command::new(PROGRAM).arg("check").arg(site).arg(config));
    assert!(checked.status.success(), "{checked:?}");
}

#[test]
fn a_page_that_is_written_in_place_is_whole_in_the_end_though_a_reload_saw_half_of_it() {
    let server = Plan::new().file("a.page.txt", "old").start();
    let number = || server.told("/status")["last_reload"]["number"].as_u64().unwrap();
    let path = server.directory().join("site/a.page.txt");
    // As an editor does that writes in place: truncate, write in two parts, close.
    let mut file = fs::File::create(&path).unwrap();
    file.write_all(b"the first half").unwrap();
    let before = number();
    server.signal("HUP");
    until("the reload", || (number() > before).then_some(()));
    expect(&server, "/a", 200, "the first half");
    file.write_all(b", and the second").unwrap();
    drop(file);
    expect(&server, "/a", 200, "the first half, and the second");
}

#[test]
fn half_a_page_is_not_served_before_its_file_is_closed() {
    let server = Plan::new().file("a.page.txt", "old").file("b.page.txt", "old").start();
    // Edits are noticed from here on: at the start a page is read as it is.
    edit(&server, "b.page.txt", "new");
    expect(&server, "/b", 200, "new");
    let path = server.directory().join("site/a.page.txt");
    let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b" and half").unwrap();
    // A file that is still open for writing is not read.
    assert_eq!((pages(&server)["edits"].as_u64().unwrap(), text(&server.get("/a"))), (1, "old"));
    // It does not delay an edit of another page, which takes it over as it is.
    edit(&server, "b.page.txt", "newer");
    expect(&server, "/b", 200, "newer");
    file.write_all(b" and whole").unwrap();
    drop(file);
    expect(&server, "/a", 200, "old and half and whole");
}
