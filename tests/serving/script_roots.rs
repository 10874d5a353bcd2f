//! Goal: pages are those of the directory that a root leads to, as files are, also when another one is put in its
//! place; and a directory that cannot be read for a while is not treated as empty. Method: the built binary,
//! directories that are replaced, made unreadable, and without free descriptors.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::Command;

use crate::server::client::text;
use crate::server::patience::until;
use crate::server::{Plan, Server, has, run};

/// Waits for an answer with this status and text.
fn expect(server: &Server, path: &str, status: u16, body: &str) {
    until(&format!("{status} {body} at {path}"), || {
        let response = server.get(path);
        (response.status == status && text(&response).contains(body)).then_some(())
    });
}

fn told(server: &Server, words: &str) {
    until(words, || server.printed_errors().contains(words).then_some(()));
}

#[test]
fn where_a_link_is_turned_the_pages_and_modules_are_of_the_other_release() {
    let plan = Plan::new();
    for release in ["one", "two"] {
        let place = format!("releases/{release}");
        plan.directory.write(&format!("{place}/public/a.page.txt"), release);
        plan.directory.write(&format!("{place}/public/a.txt"), release);
        let module = format!("return function() return 'main {release}' end");
        plan.directory.write(&format!("{place}/app/main.lua"), module);
    }
    let config = "root = \"current/public\"\n\n[pages]\napp = \"current/app\"\n";
    plan.directory.write("velodrome.toml", config);
    symlink("releases/one", plan.directory.join("current")).unwrap();
    let server = plan.serving("current/public", "velodrome.toml").start();
    let turn_to = |release: &str| {
        let next = server.directory().join("next");
        symlink(release, &next).unwrap();
        fs::rename(next, server.directory().join("current")).unwrap();
    };
    assert_eq!(text(&server.get("/a")), "one");
    assert_eq!(text(&server.get("/b")), "main one");
    turn_to("releases/two");
    expect(&server, "/a", 200, "two");
    expect(&server, "/b", 200, "main two");
    // Edits from now on are those of the other release.
    server.directory().write("releases/two/public/a.page.txt", "three");
    expect(&server, "/a", 200, "three");
    // As `ln -sfn` does it: for a moment there is no link.
    fs::remove_file(server.directory().join("current")).unwrap();
    until("the end of the page", || (server.get("/a").status != 200).then_some(()));
    symlink(server.directory().join("releases/one"), server.directory().join("current")).unwrap();
    expect(&server, "/a", 200, "one");
    expect(&server, "/b", 200, "main one");
    assert_eq!(server.told("/status")["last_reload"]["number"], 0);
}

#[test]
fn a_root_that_is_removed_and_made_again_has_its_new_pages() {
    let server = Plan::new().file("a.page.txt", "one").file("in/b.page.txt", "b").start();
    for text in ["two", "three"] {
        fs::remove_dir_all(server.directory().join("site")).unwrap();
        until("the end of the page", || (server.get("/a").status != 200).then_some(()));
        server.directory().write("site/a.page.txt", text);
        server.directory().write("site/in/b.page.txt", "b");
        expect(&server, "/a", 200, text);
        expect(&server, "/in/b", 200, "b");
    }
    server.directory().write("site/in/b.page.txt", "edited");
    expect(&server, "/in/b", 200, "edited");
}

#[test]
fn out_of_descriptors_the_pages_stay_and_are_read_later() {
    if !has("prlimit", "out_of_descriptors_the_pages_stay_and_are_read_later") {
        return;
    }
    let server = Plan::new().file("a.page.txt", "one").file("b.page.txt", "b").start();
    let mut client = server.client();
    assert_eq!(text(&client.get("/a").unwrap()), "one");
    let limits = fs::read_to_string(format!("/proc/{}/limits", server.id())).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let before = line.split_whitespace().nth(3).unwrap();
    let limit_to = |limit: &str| {
        let process = format!("--pid={}", server.id());
        let output = run(Command::new("prlimit").args([process, format!("--nofile={limit}:")]));
        assert!(output.status.success(), "{output:?}");
    };
    // Open descriptors stay open; every new one would need a smaller number.
    limit_to("3");
    server.directory().write("site/a.page.txt", "two");
    told(&server, "the pages stay as they were: cannot read `");
    for (path, body) in [("/a", "one"), ("/b", "b")] {
        assert_eq!(text(&client.get(path).unwrap()), body);
    }
    limit_to(before);
    until("what was edited", || (text(&client.get("/a").unwrap()) == "two").then_some(()));
    let printed = server.printed_errors();
    assert!(!printed.contains("(gone)"), "{printed}");
    assert_eq!(printed.matches("the pages stay").count(), 1, "{printed}");
}

/// The superuser may read everything, unless that capability is dropped.
fn without_privileges() -> Option<Plan> {
    const TEST: &str = "pages_of_a_directory_that_is_closed_stay_and_are_told";
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        return Some(Plan::new());
    }
    let wrapper = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"];
    has("setpriv", TEST).then(|| Plan::new().wrapped(&wrapper))
}

#[test]
fn pages_of_a_directory_that_is_closed_stay_and_are_told() {
    let Some(plan) = without_privileges() else { return };
    let plan = plan.file("a.page.txt", "one").file("in/b.page.txt", "b");
    let plan = plan.file("closed/c.page.txt", "c");
    let set_mode = |directory: &str, mode| {
        fs::set_permissions(directory, Permissions::from_mode(mode)).unwrap();
    };
    let place = |name: &str| plan.directory.join(name).display().to_string();
    let (site, inner, closed) = (place("site"), place("site/in"), place("site/closed"));
    set_mode(&closed, 0o000);
    let server = plan.start();
    told(&server, "/site/closed: cannot be read: Permission denied");
    assert_eq!(text(&server.get("/a")), "one");
    assert_eq!(server.get("/closed/c").status, 404);
    // It may list the names, and open none of them.
    set_mode(&inner, 0o600);
    told(&server, "/site/in/b.page.txt: is in a directory that");
    server.directory().write("site/a.page.txt", "two");
    expect(&server, "/a", 200, "two");
    assert_eq!(text(&server.get("/in/b")), "b");
    set_mode(&site, 0o000);
    told(&server, "/site/a.page.txt: is in a directory that");
    assert_eq!(text(&server.get("/a")), "two");
    for directory in [&site, &inner, &closed] {
        set_mode(directory, 0o700);
    }
    expect(&server, "/closed/c", 200, "c");
    server.directory().write("site/in/b.page.txt", "edited");
    expect(&server, "/in/b", 200, "edited");
    let status = server.told("/status");
    assert_eq!(status["pages"]["problems"], serde_json::json!([]), "{status}");
    assert!(!server.printed_errors().contains("(gone)"), "{}", server.printed_errors());
}
