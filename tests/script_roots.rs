//! Goal: pages are of the directory that a root leads to, as files are, whoever puts another in its place.
//! Method: the built binary, directories that are replaced.
#![expect(clippy::disallowed_types, reason = "a test holds sockets and files of its own")]
#![expect(clippy::disallowed_methods, reason = "a test's patience is measured by its own clock")]
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

mod server;

use std::fs;
use std::os::unix::fs::symlink;

use server::client::text;
use server::patience::until;
use server::{Plan, Server};

/// Waits for an answer with this status and text.
fn expect(server: &Server, path: &str, status: u16, body: &str) {
    until(&format!("{status} {body} at {path}"), || {
        let response = server.get(path);
        (response.status == status && text(&response).contains(body)).then_some(())
    });
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
    // What is edited from now on is that of the other release.
    server.directory().write("releases/two/public/a.page.txt", "three");
    expect(&server, "/a", 200, "three");
    // As `ln -sfn` does it: for a moment there is none.
    fs::remove_file(server.directory().join("current")).unwrap();
    until("the end of the page", || (server.get("/a").status != 200).then_some(()));
    symlink(server.directory().join("releases/one"), server.directory().join("current")).unwrap();
    expect(&server, "/a", 200, "one");
    expect(&server, "/b", 200, "main one");
    assert_eq!(server.ctl_json(&["status"])["last_reload"]["number"], 0);
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
