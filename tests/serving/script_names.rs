//! Goal: an undefined global in an app module is reported before any request runs the module. Method: the built
//! binary, its verb `check`, its log and its status, an application that is edited while it is served.

use std::fs;
use std::process::{Command, Output};

use crate::server::client::text;
use crate::server::directory::Directory;
use crate::server::patience::until;
use crate::server::{PROGRAM, Plan, Server, errors_of, run};
use serde_json::Value;

/// The problems in `ctl status`.
fn problems(server: &Server) -> Vec<Value> {
    let problems = server.told("/status")["pages"]["problems"].take();
    problems.as_array().unwrap().clone()
}

fn check(directory: &Directory) -> Output {
    run(Command::new(PROGRAM)
        .arg("check")
        .arg(directory.join("site"))
        .arg(format!("--config={}", directory.join("velodrome.toml").display())))
}

#[test]
fn names_that_modules_do_not_have_are_told() {
    let main = "local laps = require('lib.laps')
return {
  { 'GET', '/right', function(request) return tostring(laps.metres(2)) end },
  { 'GET', '/wrong', function(request) return reqest.path end },
}";
    let library = "local LENGTH = 250
return {
  metres = function(count) return count * LENGTH end,
  miles = function(count)
    return cuont * LENGTH / 1609
  end,
}";
    let modules = [
        ("main.lua", main),
        ("lib/laps.lua", library),
        ("lib/clean.lua", "return require('lib.laps').metres, json.encode, render"),
    ];
    let plan = Plan::new();
    for (name, text) in modules {
        plan.directory.write(&format!("app/{name}"), text);
    }
    let places = [
        "app/lib/laps.lua:5:12: undefined global 'cuont' (did you mean 'count'?); it is served, and fails \
         there",
        "app/main.lua:4:47: undefined global 'reqest' (did you mean 'request'?); it is served, and fails \
         there",
    ];
    let checked = check(&plan.directory);
    assert_eq!(checked.status.code(), Some(1), "{checked:?}");
    let told = errors_of(&checked);
    assert!(told.contains("2 problems in pages:"), "{told}");
    for place in places {
        assert!(told.contains(place), "no `{place}` in:\n{told}");
    }
    let server = plan.start();
    let printed = server.printed_errors();
    assert_eq!(printed.matches("velodrome: warn: ").count(), 2, "{printed}");
    for place in places {
        assert!(printed.contains(place), "no `{place}` in:\n{printed}");
    }
    // The control scheduler learns of them by a message, which may arrive after the first request.
    let known = until("both problems", || {
        let known = problems(&server);
        (!known.is_empty()).then_some(known)
    });
    assert_eq!(known.len(), 2, "{known:?}");
    assert_eq!((&known[0]["line"], &known[1]["line"]), (&5.into(), &4.into()));
    assert_eq!(known[1]["served"], "it is served, and fails there");
    // It answers nevertheless, and fails at the reported place.
    assert_eq!(text(&server.get("/right")), "500");
    assert_eq!(server.get("/wrong").status, 500);
    // A broken edit does not change what is known about the modules in force.
    let edit = |name: &str, text: &str| server.directory().write(&format!("app/{name}"), text);
    edit("lib/clean.lua", "return +");
    until("the third problem", || (problems(&server).len() == 3).then_some(()));
    fs::remove_file(server.directory().join("app/lib/clean.lua")).unwrap();
    edit("lib/laps.lua", &library.replace("cuont", "count"));
    until("one problem", || {
        let known = problems(&server);
        (known.len() == 1 && known[0]["line"] == 4).then_some(())
    });
    edit("main.lua", &main.replace("reqest", "request"));
    until("the mended module", || (text(&server.get("/wrong")) == "/wrong").then_some(()));
    assert_eq!(problems(&server), [Value::Null; 0]);
    let checked = check(server.directory());
    assert!(checked.status.success(), "{checked:?}");
}

#[test]
fn parts_and_modules_that_are_not_there_are_told_by_check() {
    let directory = Directory::new();
    directory.write("site/_row.page.html", "row");
    directory.write("site/a/_near.page.html", "near");
    directory.write(
        "site/a/index.page.html",
        "<% include('_near.html') include('../_row.html') include('/_row.html')\n%><% include('_none.html') \
         %>\n<% local clock = require('clock') local none = require \"sub.none\" %><% \
         layout('/no/such.html') %>\n<% if false then include(request.query.part) end %>",
    );
    directory.write("app/clock.lua", "return { now = function() return 1 end }");
    directory.write(
        "app/main.lua",
        "return function() render('gone.html') render('a/index.html') return 200 end",
    );
    directory.write("velodrome.toml", "");
    let output = check(&directory);
    let told = errors_of(&output);
    assert!(!output.status.success(), "{told}");
    for expected in [
        "a/index.page.html:2:15: there is no part 'a/_none.html' (file a/_none.page.html)",
        "a/index.page.html:3:",
        "there is no module 'sub.none' (file sub/none.lua)",
        "there is no part 'no/such.html' (file no/such.page.html)",
        "main.lua:1:27: there is no part 'gone.html' (file gone.page.html); it is served, and fails there",
    ] {
        assert!(told.contains(expected), "{expected} in {told}");
    }
    assert_eq!(told.matches("there is no").count(), 4, "{told}");
}

#[test]
fn of_very_many_names_that_are_not_there_a_few_are_told() {
    let directory = Directory::new();
    let line = "if false then include('none.html') end\n";
    directory.write("site/many.page.html", format!("<% {} %>", line.repeat(20_000)));
    directory.write("velodrome.toml", "");
    let told = errors_of(&check(&directory));
    assert!(told.contains("many.page.html:20:"), "{told}");
    assert_eq!(told.matches("there is no part").count(), 20);
}
