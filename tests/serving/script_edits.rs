//! Goal: an edit is reported: what took effect in the log, and errors, with `--dev`, in the browser, wherever the file
//! is included; and it is one edit, however many routes serve its directory. Method: the built binary, a site that is
//! edited while it is served.

use std::fs;

use crate::server::client::{head, text};
use crate::server::patience::until;
use crate::server::{Plan, Server, configuration};
use conformance::RequestKind;
use serde_json::Value;

/// Writes in place.
fn edit(server: &Server, name: &str, text: &str) {
    fs::write(server.directory().join(&format!("site/{name}")), text).unwrap();
}

/// Waits for an answer with this status and text.
fn expect(server: &Server, path: &str, status: u16, body: &str) {
    until(&format!("{status} {body} at {path}"), || {
        let response = server.get(path);
        (response.status == status && text(&response).contains(body)).then_some(())
    });
}

/// The pages in `ctl status`.
fn pages(server: &Server) -> Value {
    server.told("/status")["pages"].take()
}

#[test]
fn routes_that_serve_one_directory_share_its_pages() {
    let route = |number: u32| {
        format!(
            "[[route]]\nprefix = \"/in/{number}\"\nfiles = {{ cache_control = \"max-age={number}\" }}\n\n"
        )
    };
    let index = "[[route]]\nprefix = \"/in/3\"\nfiles = { index = [\"home.html\"] }\n";
    let config: String = (1..=2).map(route).chain([index.to_owned()]).collect();
    let mut plan = Plan::new().config(&config).file("one.page.txt", "one");
    for number in 1..=3 {
        plan = plan
            .file(&format!("in/{number}/index.page.html"), "index")
            .file(&format!("in/{number}/home.page.html"), "home");
    }
    let server = plan.start();
    // The index page is another one for the last route: two sets of seven pages.
    assert_eq!(pages(&server)["count"], 14);
    for (path, body) in
        [("/one", "one"), ("/in/1/", "index"), ("/in/2/", "index"), ("/in/3/", "home")]
    {
        assert_eq!(text(&server.get(path)), body, "{path}");
    }
    assert_eq!(pages(&server)["edits"], 0, "nothing was edited at the start");
    // Renamed into place: a file written in place may be read in the middle of the write, and once more.
    let directory = server.directory();
    directory.write("other.html", "other");
    std::fs::rename(directory.join("other.html"), directory.join("site/in/1/index.page.html"))
        .unwrap();
    expect(&server, "/in/1/", 200, "other");
    // Once, not for each route; or once for each set, if the pages are just being read again after the start.
    let edits = pages(&server)["edits"].as_u64().unwrap();
    assert!((1..=2).contains(&edits), "{edits}");
    until("as many lines", || {
        (server.printed_errors().matches("edited: ").count() as u64 == edits).then_some(())
    });
}

/// All modules are loaded again with the edited one.
#[test]
fn the_log_names_the_edited_module_alone() {
    let plan = Plan::new();
    for name in ["a", "b", "c"] {
        plan.directory.write(&format!("app/{name}.lua"), "return {}");
    }
    plan.directory.write("app/main.lua", "return function() return 'one' end");
    let server = plan.start();
    assert_eq!(text(&server.get("/")), "one");
    server.directory().write("new.lua", "return function() return 'two' end");
    let main = server.directory().join("app/main.lua");
    fs::rename(server.directory().join("new.lua"), main).unwrap();
    expect(&server, "/", 200, "two");
    until("the line", || {
        let printed = server.printed_errors();
        let edited = printed.lines().find(|line| line.contains("edited: "))?;
        assert!(edited.ends_with("edited: app/main.lua; 4 modules are in force"), "{printed}");
        Some(())
    });
}

#[test]
fn the_log_names_what_an_edit_changed() {
    let server = Plan::new().file("a.page.txt", "one").file("b.page.txt", "b").start();
    let told = |line: &str| {
        until(line, || {
            server.printed_errors().lines().any(|known| known.ends_with(line)).then_some(())
        });
    };
    edit(&server, "a.page.txt", "two");
    told("edited: a.page.txt; 2 pages are in force");
    edit(&server, "b.page.txt", "<% for i = 1 do %>");
    expect(&server, "/b", 200, "b");
    fs::remove_file(server.directory().join("site/b.page.txt")).unwrap();
    told("edited: b.page.txt (gone); 1 page is in force");
    // A broken edit is reported as one edit, and nothing takes effect.
    edit(&server, "a.page.txt", "<% for i = 1 do %>");
    until("the problem", || server.printed_errors().contains("a.page.txt:1:14: ").then_some(()));
    edit(&server, "c.page.txt", "c");
    told("edited: c.page.txt (new); 2 pages are in force");
    // All at once, so that they are one edit however busy the host is.
    for name in ["d", "e", "f", "g"] {
        server.directory().write(&format!("new/{name}.page.txt"), name);
    }
    let moved = server.directory().join("site/moved");
    fs::rename(server.directory().join("new"), moved).unwrap();
    expect(&server, "/moved/g", 200, "g");
    let told = ".page.txt (new) and 1 more; 6 pages are in force";
    until(told, || server.printed_errors().contains(told).then_some(()));
}

#[test]
fn while_it_is_developed_a_broken_part_is_shown_wherever_it_is_included() {
    let plan = Plan::new().argument("--dev").file("_row.page.html", "row");
    let server = plan
        .file("layout.page.html", "<main><% response:write(content()) %></main>")
        .file("a.page.html", "<% include('_row.html') %>")
        .file("b.page.html", "<% layout('layout.html') %>b")
        .file("c.page.html", "c")
        .start();
    assert_eq!(text(&server.get("/a")), "row");
    edit(&server, "_row.page.html", "new\n<% for i = 1 do %>");
    expect(&server, "/a", 500, "<code>_row.page.html:2:14</code>");
    let shown = server.get("/a");
    for words in
        ["`do` is never closed", "<td>new</td>", "a.page.html:1</code>", "include(&#39;_row"]
    {
        assert!(text(&shown).contains(words), "no `{words}` in:\n{}", text(&shown));
    }
    // Pages that do not include it run.
    assert_eq!(text(&server.get("/c")), "c");
    assert_eq!(text(&server.get("/b")), "<main>b</main>");
    edit(&server, "layout.page.html", "<% if %>");
    expect(&server, "/b", 500, "<code>layout.page.html:1");
    edit(&server, "_row.page.html", "mended");
    expect(&server, "/a", 200, "mended");
    edit(&server, "layout.page.html", "<i><% response:write(content()) %></i>");
    expect(&server, "/b", 200, "<i>b</i>");
}

#[test]
fn while_it_is_developed_a_broken_module_is_shown_by_the_pages_that_may_require_it() {
    let plan = Plan::new().argument("--dev");
    plan.directory.write("app/main.lua", "return function() return 404 end");
    plan.directory.write("app/names.lua", "return { first = 'one' }");
    let server = plan.file("a.page.html", "<%= require('names').first %>").start();
    assert_eq!(text(&server.get("/a")), "one");
    server.directory().write("app/names.lua", "return { first = ");
    expect(&server, "/a", 500, "<code>names.lua:1");
    server.directory().write("app/names.lua", "return { first = 'two' }");
    expect(&server, "/a", 200, "two");
}

#[test]
fn a_module_answers_the_route_that_a_reload_gives_it_while_another_one_is_broken() {
    let plan = Plan::new().config("[[route]]\nprefix = \"/first\"\nmodule = \"first\"\n");
    let second = "return function(request) return 'second ' .. request.rest end";
    plan.directory.write("app/first.lua", "return require('second')");
    plan.directory.write("app/second.lua", second);
    plan.directory.write("app/names.lua", "return {}");
    let server = plan.start();
    assert_eq!(text(&server.get("/first/a")), "second /a");
    server.directory().write("app/names.lua", "return {");
    until("the problem", || server.printed_errors().contains("names.lua:1").then_some(()));
    let routes = ["first", "second"]
        .map(|name| format!("[[route]]\nprefix = \"/{name}\"\nmodule = \"{name}\"\n\n"));
    server.directory().write("velodrome.toml", configuration(&routes.concat()));
    assert!(server.ctl(&["reload"]).status.success());
    expect(&server, "/second/b", 200, "second /b");
    assert_eq!(text(&server.get("/first/a")), "second /a");
}

/// A reload that adds a site before it changes its index in every list; its running requests stay with it.
#[test]
fn running_page_keeps_its_site_across_edits() {
    const TOLD: &str = "<% log.info('name', self()) %><% receive(20) %><% include('_part.txt') %>";
    const TELL: &str = "<%= send(request.query.to, 'go on') -%>";
    let hosts = |names: &[&str]| -> String {
        let host =
            |name: &&str| format!("[[host]]\nnames = [\"{name}.test\"]\nroot = \"{name}\"\n\n");
        names.iter().map(host).collect()
    };
    let plan = Plan::new().config(&hosts(&["two"])).argument("--schedulers=1");
    for name in ["two", "three"] {
        plan.directory.write(&format!("{name}/told.page.txt"), TOLD);
        plan.directory.write(&format!("{name}/_part.page.txt"), format!("part of {name}"));
    }
    let server = plan.file("tell.page.txt", TELL).start();
    let reload = |names: &[&str]| {
        server.directory().write("velodrome.toml", configuration(&hosts(names)));
        assert_eq!(server.ctl_json(&["reload"])["state"], "in force");
    };
    let ask = |host: &str, count: usize| {
        let mut client = server.client();
        client.send(head("GET", "/told", &[("Host", host)])).unwrap();
        until("its name", || {
            (server.printed_errors().matches("/told: name ").count() == count).then_some(())
        });
        let printed = server.printed_errors();
        let name =
            printed.rsplit("/told: name ").next().unwrap().lines().next().unwrap().to_owned();
        (client, name)
    };
    let (mut two, name) = ask("two.test", 1);
    reload(&["three", "two"]);
    let (mut three, other) = ask("three.test", 2);
    reload(&["two", "three"]);
    for (client, name, part) in [(&mut two, name, "two"), (&mut three, other, "three")] {
        assert_eq!(text(&server.get(&format!("/tell?to={name}"))), "true");
        let answer = client.response(RequestKind::Other).unwrap();
        assert_eq!(text(&answer), format!("part of {part}"));
    }
    let stats = server.told("/stats").to_string();
    for name in ["two", "three"] {
        assert_eq!(stats.matches(&format!("/{name}/told.page.txt")).count(), 1, "{stats}");
    }
}
