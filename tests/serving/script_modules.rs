//! Goal: app modules answer what routes and `app/main.lua` assign to them, and a broken one affects no other. Method:
//! the built binary, raw clients, an application that is edited while it is served.

use std::fs;
use std::process::Command;

use crate::server::client::{field, head, text};
use crate::server::patience::until;
use crate::server::{PROGRAM, Plan, Server, configuration, errors_of, printed_by, run};
use conformance::{ParsedResponse, RequestKind};
use serde_json::Value;

const ROUTE: &str = "[[route]]\nprefix = \"/api\"\nmodule = \"api\"\n";

const API: &str = "local riders = require('lib.riders')
return {
  { 'GET', '/', function(request) return request.path .. ' ' .. request.rest end },
  { 'GET', '/riders/:id', function(request)
    local rider = riders[request.parameters.id]
    if not rider then return 404 end
    return { name = rider }
  end },
  { '/riders', {
    POST = function(request) return 201, { name = request.json.name, bytes = #request.body } end,
  } },
  { 'GET', '/echo/:word', function(request) return request.parameters.word end },
  { 'GET', '/own', function() return 404, 'no such thing' end },
  { 'GET', '/fail', function()
    local x = nil
    return x.y
  end },
  { 'GET', '/loop', function() while true do end end },
  { 'GET', '/wait', function() print('begun') sleep(2) return riders.version end },
}";

const RIDERS: &str = "return { ['1'] = 'Ada', version = 'old' }";

/// A site with an application.
fn plan(config: &str, modules: &[(&str, &str)]) -> Plan {
    let plan = Plan::new().config(config);
    for (name, text) in modules {
        plan.directory.write(&format!("app/{name}"), text);
    }
    plan
}

fn start() -> Server {
    plan(ROUTE, &[("api.lua", API), ("lib/riders.lua", RIDERS)]).start()
}

fn edit(server: &Server, name: &str, text: &str) {
    server.directory().write(&format!("app/{name}"), text);
}

fn remove(server: &Server, name: &str) {
    fs::remove_file(server.directory().join(&format!("app/{name}"))).unwrap();
}

/// Waits for an answer with this status and text.
fn expect(server: &Server, path: &str, status: u16, body: &str) {
    until(&format!("{status} {body} at {path}"), || {
        let response = server.get(path);
        (response.status == status && text(&response).contains(body)).then_some(())
    });
}

fn send(server: &Server, method: &str, path: &str, body: &str) -> ParsedResponse {
    let mut client = server.client();
    let length = body.len().to_string();
    client.send(head(method, path, &[("Content-Length", &length)]) + body).unwrap();
    client.response(RequestKind::Other).unwrap()
}

/// Pages and modules in `ctl status`.
fn status(server: &Server) -> Value {
    server.told("/status")["pages"].take()
}

#[test]
fn a_module_answers_below_its_prefix() {
    let server = start();
    assert_eq!(text(&server.get("/api")), "/api /");
    assert_eq!(text(&server.get("/api/?x=1")), "/api/ /");
    let rider = server.get("/api/riders/1");
    assert_eq!((rider.status, text(&rider)), (200, r#"{"name":"Ada"}"#));
    assert_eq!(field(&rider, "Content-Type"), "application/json");
    let word = server.get("/api/echo/a%20%C3%A9");
    assert_eq!(text(&word), "a é");
    assert_eq!(field(&word, "Content-Type"), "text/plain; charset=utf-8");
    for path in ["/apis", "/api/other", "/api/riders/2", "/api.lua", "/app/api.lua", "/"] {
        assert_eq!(server.get(path).status, 404, "{path}");
    }
    assert_eq!(server.printed_troubles(), "");
}

#[test]
fn methods_bodies_and_statuses() {
    let server = start();
    let made = send(&server, "POST", "/api/riders", r#"{"name":"Grace"}"#);
    let value: Value = serde_json::from_str(text(&made)).unwrap();
    assert_eq!((made.status, value), (201, serde_json::json!({ "name": "Grace", "bytes": 16 })));
    let refused = send(&server, "PUT", "/api/riders", "x");
    assert_eq!((refused.status, field(&refused, "Allow")), (405, "POST, OPTIONS"));
    assert!(text(&refused).contains("<html"), "the server's own text");
    let mut client = server.client();
    let options = client.request("OPTIONS", "/api/riders/1", &[]).unwrap();
    assert_eq!((options.status, field(&options, "Allow")), (204, "GET, HEAD, OPTIONS"));
    let head = client.request("HEAD", "/api/riders/1", &[]).unwrap();
    assert_eq!((head.status, field(&head, "Content-Length"), text(&head)), (200, "14", ""));
    let own = client.get("/api/own").unwrap();
    assert_eq!((own.status, text(&own)), (404, "no such thing"));
    let missing = client.get("/api/riders/2").unwrap();
    assert_eq!(missing.status, 404);
    assert!(text(&missing).contains("<html"), "the server's own text");
}

#[test]
fn a_body_above_the_bound_of_its_route_does_not_reach_the_module() {
    let config = format!("{ROUTE}body_size = \"8 B\"\n");
    let module = "return function(request) return #request.body .. '' end";
    let server = plan(&config, &[("api.lua", module)]).start();
    assert_eq!(text(&send(&server, "POST", "/api", "12345678")), "8");
    assert_eq!(send(&server, "POST", "/api", "123456789").status, 413);
}

#[test]
fn main_answers_what_nothing_else_does() {
    let main = "return {
      { 'GET', '/made/:name', function(request) return 'main ' .. request.path end },
      { 'POST', '/form', function(request) return request.body end },
      { 'GET', '/a.txt', function() return 'never' end },
    }";
    let routes = "[error_pages]\n404 = \"/404.html\"\n[[route]]\nprefix = \"/files\"\nfiles = { root = \
                  \"site\" }\n";
    let server = plan(routes, &[("main.lua", main)])
        .file("a.txt", "file")
        .file("p.page.txt", "page")
        .file("404.html", "not here")
        .start();
    assert_eq!(text(&server.get("/made/x")), "main /made/x");
    assert_eq!(text(&server.get("/a.txt")), "file");
    assert_eq!(text(&server.get("/p")), "page");
    assert_eq!(text(&send(&server, "POST", "/form", "a=b")), "a=b");
    let missing = server.get("/absent");
    assert_eq!((missing.status, text(&missing)), (404, "not here"));
    let deleted = send(&server, "DELETE", "/a.txt", "");
    assert_eq!((deleted.status, field(&deleted, "Allow")), (405, "GET, HEAD, OPTIONS"));
    let posted = send(&server, "PUT", "/form", "");
    assert_eq!((posted.status, field(&posted, "Allow")), (405, "POST, OPTIONS"));
    assert_eq!(server.get("/files/made/x").status, 404, "a route says that it is for files");
}

#[test]
fn modules_within_the_served_directory_are_never_sent() {
    // Without any configuration: `app/main.lua` makes it an application.
    let plan = Plan::new()
        .file("velodrome.toml", "[files]\nlisting = true\n")
        .file("app/main.lua", "return { { 'GET', '/x', function() return 'main' end } }")
        .file("app/data.json", "{}")
        .file("app/inner.page.html", "page")
        .file("app.txt", "text")
        .serving("site", "site/velodrome.toml");
    let server = plan.start();
    assert_eq!(text(&server.get("/x")), "main");
    assert_eq!(text(&server.get("/app.txt")), "text");
    let paths = ["/app", "/app/", "/app/main.lua", "/app/data.json", "/app/inner", "/app/none"];
    for path in paths {
        assert_eq!(server.get(path).status, 404, "{path}");
    }
    let listing = server.get("/");
    assert!(text(&listing).contains("app.txt"), "{}", text(&listing));
    assert!(!text(&listing).contains("app/"), "{}", text(&listing));
}

#[test]
fn a_directory_called_app_without_a_main_module_is_one_like_others() {
    let server = Plan::new()
        .file("velodrome.toml", "")
        .file("app/api.lua", "return function() return 'never' end")
        .serving("site", "site/velodrome.toml")
        .start();
    assert_eq!(server.get("/app/api.lua").status, 200);
    assert_eq!(server.get("/x").status, 404);
}

#[test]
fn a_root_within_the_application_is_refused() {
    let plan = plan("[pages]\napp = \".\"\n", &[]);
    let output = plan.fail();
    assert!(!output.status.success());
    assert!(errors_of(&output).contains("directory of app modules"), "{}", errors_of(&output));
    let absent = Plan::new().config(ROUTE).fail();
    assert!(errors_of(&absent).contains("/app"), "{}", errors_of(&absent));
}

#[test]
fn a_module_that_fails_is_named_with_its_line() {
    let server = start();
    assert_eq!(server.get("/api/fail").status, 500);
    let looped = server.get("/api/loop");
    assert_eq!((looped.status, field(&looped, "Retry-After")), (503, "1"));
    let told = server.printed_errors();
    let expected = [
        "module api.lua: api.lua:16: attempt to index local 'x' (a nil value)",
        "module api.lua: api.lua:18: used more than 250 ms of CPU time",
    ];
    for line in expected {
        assert!(told.contains(line), "{line}: {told}");
    }
    assert_eq!(server.get("/api/riders/1").status, 200);
}

#[test]
fn while_it_is_developed_the_browser_shows_the_lines() {
    let server =
        plan(ROUTE, &[("api.lua", API), ("lib/riders.lua", RIDERS)]).argument("--dev").start();
    let failed = server.get("/api/fail");
    assert_eq!(failed.status, 500);
    assert!(text(&failed).contains("api.lua:16") && text(&failed).contains("return x.y"));
    edit(&server, "lib/riders.lua", "local a = 1\nreturn +");
    expect(&server, "/api/riders/1", 500, "lib/riders.lua:2");
    edit(&server, "lib/riders.lua", RIDERS);
    expect(&server, "/api/riders/1", 200, "Ada");
}

#[test]
fn modules_broken_at_the_start_are_told_and_answered_500() {
    let routes = format!("{ROUTE}[[route]]\nprefix = \"/none\"\nmodule = \"none\"\n");
    let modules = [
        ("api.lua", "local x = require('../x')"),
        ("main.lua", "return function() return 'main' end"),
        ("lib/bad.lua", "\nlocal x = = 1"),
        ("lib/fails.lua", "error('no')"),
        ("lib/tail.lua", "\nreturn require('lib.fails')"),
    ];
    let plan = plan(&routes, &modules);
    let checked = run(Command::new(PROGRAM)
        .arg("check")
        .arg(plan.directory.join("site"))
        .arg(format!("--config={}", plan.directory.join("velodrome.toml").display())));
    assert!(!checked.status.success());
    let told = errors_of(&checked);
    let problems = [
        "app/api.lua:1: not the name of a module: ../x; it is answered 500",
        "app/lib/bad.lua:2: unexpected symbol near '='; it is answered 500",
        "app/lib/tail.lua:2: lib/fails.lua:1: no; it is answered 500",
        "app/none.lua: does not exist, but a route names it; it is answered 500",
    ];
    for problem in problems {
        assert!(told.contains(problem), "{problem}: {told}");
    }
    let server = plan.start();
    for problem in problems {
        assert!(server.printed_errors().contains(problem), "{}", server.printed_errors());
    }
    for path in ["/api", "/none"] {
        assert_eq!(server.get(path).status, 500, "{path}");
    }
    assert_eq!(text(&server.get("/other")), "main");
    // Working modules take effect at once; broken ones stay broken.
    edit(&server, "main.lua", "return function() return 'edited' end");
    expect(&server, "/other", 200, "edited");
    edit(&server, "none.lua", "return function() return 'there' end");
    expect(&server, "/none", 200, "there");
}

#[test]
fn an_edit_of_any_module_takes_over_all_of_them() {
    let server = start();
    assert_eq!(text(&server.get("/api/riders/1")), r#"{"name":"Ada"}"#);
    edit(&server, "lib/riders.lua", "return { ['1'] = 'Grace', ['2'] = 'Edith' }");
    expect(&server, "/api/riders/1", 200, "Grace");
    expect(&server, "/api/riders/2", 200, "Edith");
    edit(&server, "api.lua", "return function() return 'new' end");
    expect(&server, "/api", 200, "new");
    let seen = status(&server);
    assert_eq!((&seen["count"], &seen["modules"]), (&0.into(), &2.into()));
    assert_eq!(server.printed_troubles(), "");
}

#[test]
fn a_broken_edit_keeps_all_modules_as_they_were() {
    let server = start();
    edit(&server, "lib/riders.lua", "return {\n");
    let problems = until("the problems", || {
        let problems = status(&server)["problems"].take();
        (problems.as_array().unwrap().len() == 2).then_some(problems)
    });
    let [of_api, of_riders] = [&problems[0], &problems[1]];
    assert_eq!((&of_riders["line"], &of_api["line"]), (&2.into(), &1.into()), "{problems}");
    assert_eq!(of_riders["served"], "the version before is served");
    assert!(of_riders["file"].as_str().unwrap().ends_with("/app/lib/riders.lua"), "{problems}");
    // A correct module has to wait for a broken one that it needs.
    edit(&server, "api.lua", &API.replace("name = rider", "rider = rider"));
    edit(&server, "other.lua", "return 1");
    until("the new module", || {
        (status(&server)["problems"].as_array().unwrap().len() == 3).then_some(())
    });
    assert_eq!(text(&server.get("/api/riders/1")), r#"{"name":"Ada"}"#);
    // A reload also reads modules.
    assert_eq!(server.ctl_json(&["reload"])["state"], "in force");
    assert_eq!(text(&server.get("/api/riders/1")), r#"{"name":"Ada"}"#);
    edit(&server, "lib/riders.lua", RIDERS);
    expect(&server, "/api/riders/1", 200, r#"{"rider":"Ada"}"#);
    assert_eq!(status(&server)["problems"], Value::Array(vec![]));
    // A module that others require is missed; the edit does not take effect without it.
    remove(&server, "lib/riders.lua");
    until("the problem", || {
        server.printed_errors().contains("'lib.riders' is not there").then_some(())
    });
    assert_eq!(text(&server.get("/api/riders/1")), r#"{"rider":"Ada"}"#);
}

#[test]
fn a_request_across_an_edit_ends_with_the_modules_it_began_with() {
    let modules = [("api.lua", API), ("lib/riders.lua", RIDERS)];
    let server = plan(ROUTE, &modules).argument("--schedulers=1").start();
    let mut client = server.client();
    client.send(head("GET", "/api/wait", &[])).unwrap();
    until("it has begun", || server.printed_errors().contains("begun").then_some(()));
    edit(&server, "lib/riders.lua", "return { ['1'] = 'Grace', version = 'new' }");
    expect(&server, "/api/riders/1", 200, "Grace");
    assert_eq!(text(&client.response(RequestKind::Other).unwrap()), "old");
    // A reload that removes the route lets its running request end as it began.
    client.send(head("GET", "/api/wait", &[])).unwrap();
    until("it has begun again", || {
        (server.printed_errors().matches("begun").count() == 2).then_some(())
    });
    server.directory().write("velodrome.toml", configuration(""));
    assert_eq!(server.ctl_json(&["reload"])["state"], "in force");
    expect(&server, "/api/riders/1", 404, "");
    assert_eq!(text(&client.response(RequestKind::Other).unwrap()), "new");
}

#[test]
fn pages_require_modules_and_modules_render_pages() {
    let modules = [
        (
            "main.lua",
            "return { { 'GET', '/m/:name', function(request) render('/_m.html', request.parameters) end } }",
        ),
        ("lib/laps.lua", "return { metres = function(laps) return laps * 250 end }"),
    ];
    let server = plan("", &modules)
        .file("laps.page.txt", "<%= require('lib.laps').metres(4) %> m")
        .file("_m.page.html", "<p><%= arguments.name %></p>")
        .start();
    assert_eq!(text(&server.get("/laps")), "1000 m");
    let rendered = server.get("/m/%3CAda%3E");
    assert_eq!(text(&rendered), "<p>&lt;Ada&gt;</p>");
    assert_eq!(field(&rendered, "Content-Type"), "text/html; charset=utf-8");
    edit(&server, "lib/laps.lua", "return { metres = function(laps) return laps * 333 end }");
    expect(&server, "/laps", 200, "1332 m");
}

#[test]
fn statistics_are_kept_for_each_module() {
    let server = start();
    for _ in 0..3 {
        assert_eq!(server.get("/api/riders/1").status, 200);
    }
    assert_eq!(server.get("/api/fail").status, 500);
    let stats = server.told("/stats");
    let of = |scheduler: &Value| {
        let rows = scheduler["pages"]["page"].as_array().cloned().unwrap_or_default();
        let row =
            rows.into_iter().find(|row| row["page"].as_str().unwrap().ends_with("/app/api.lua"));
        row.map_or((0, 0), |row| {
            (row["requests"].as_u64().unwrap(), row["failures"].as_u64().unwrap())
        })
    };
    let all = stats["schedulers"].as_array().unwrap().iter().map(of);
    assert_eq!(all.fold((0, 0), |(a, b), (c, d)| (a + c, b + d)), (4, 1), "{stats}");
}

#[test]
fn a_check_explains_a_module_route() {
    let plan = plan(ROUTE, &[("api.lua", API), ("lib/riders.lua", RIDERS)]);
    let check = |arguments: &[&str]| {
        run(Command::new(PROGRAM)
            .arg("check")
            .arg(plan.directory.join("site"))
            .arg(format!("--config={}", plan.directory.join("velodrome.toml").display()))
            .args(arguments))
    };
    assert!(check(&[]).status.success());
    let explained = printed_by(&check(&["--explain", "/api/riders/1"]));
    assert!(explained.contains("the module `api`, with `/riders/1` to look for"), "{explained}");
    plan.directory.write(
        "velodrome.toml",
        configuration(
            "[pages]\nenabled = false\n\n[[route]]\nprefix = \
        \"/a\"\nmodule = \"a/b\"\n\n[[route]]\npath = \"/b\"\nmodule = \"b\"\n",
        ),
    );
    let told = errors_of(&check(&[]));
    assert!(told.contains("a module is named without `.lua`"), "{told}");
    assert!(told.contains("the module `b` cannot run: `enabled` of [pages] is false"), "{told}");
}
