//! Goal: an application with routes, middleware and modules of its own answers as its files say. Method: the built
//! binary, the application of `examples/riders`, and one written for its middleware.

use std::fs;

use crate::server::Plan;
use crate::server::client::{field, head, text};
use conformance::RequestKind;
use serde_json::Value;

const ROUTE: &str = "[[route]]\nprefix = \"/api\"\nmodule = \"api\"\n";

#[test]
fn the_example_answers_as_its_files_say() {
    let file = |name: &str| {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/riders/");
        fs::read_to_string(path.to_owned() + name).unwrap()
    };
    let plan = Plan::new().serving("riders", "riders/velodrome.toml");
    for name in [
        "velodrome.toml",
        "public/index.html",
        "app/api.lua",
        "app/lib/riders.lua",
        "app/lib/guard.lua",
    ] {
        plan.directory.write(&format!("riders/{name}"), file(name));
    }
    let server = plan.start();
    assert!(text(&server.get("/")).contains("<h1>Riders</h1>"));
    for (path, body) in [
        ("/api/riders", r#"["ada","grace"]"#),
        ("/api/riders/nobody", r#"{"problem":"there is no such rider"}"#),
        ("/api/riders/ada/laps/9", r#"{"problem":"there is no such lap"}"#),
    ] {
        let response = server.get(path);
        assert_eq!(text(&response), body);
        assert_eq!(field(&response, "X-Content-Type-Options"), "nosniff");
    }
    let lap: Value = serde_json::from_str(text(&server.get("/api/riders/ada/laps/1"))).unwrap();
    assert_eq!(lap, serde_json::json!({ "seconds": 14.2, "speed": 63.4 }));
    let post = |kind: &str, body: &str| {
        let mut client = server.client();
        let length = body.len().to_string();
        let fields = [("Content-Length", length.as_str()), ("Content-Type", kind)];
        client.send(head("POST", "/api/laps", &fields) + body).unwrap();
        let response = client.response(RequestKind::Other).unwrap();
        (response.status, text(&response).to_owned())
    };
    assert_eq!(post("application/json", r#"{"seconds":15}"#), (200, r#"{"speed":60}"#.into()));
    assert_eq!(post("text/plain", "{}").0, 415);
    assert_eq!(post("application/json", "{").0, 400);
    assert_eq!(post("application/json; charset=utf-8", "{}").0, 422);
    for beyond in ["0", "1e-320", "1e300", "\"15\""] {
        assert_eq!(
            post("application/json", &format!("{{\"seconds\":{beyond}}}")).0,
            422,
            "{beyond}"
        );
    }
    assert_eq!(server.printed_troubles(), "");
}

#[test]
fn a_field_of_a_module_that_finds_nothing_goes_in_the_place_of_a_configured_one() {
    let module =
        "return function(request, response) response.headers['x-site'] = 'module' return 404 end";
    let fields = "[headers]\nX-Site = \"all\"\nX-Sit = \"all\"\n";
    for error_pages in ["", "[error_pages]\n404 = \"/404.txt\"\n"] {
        let plan =
            Plan::new().config(&format!("{fields}{error_pages}{ROUTE}")).file("404.txt", "ours");
        plan.directory.write("app/api.lua", module);
        let response = plan.start().get("/api");
        let sites: Vec<_> = response.values("X-Site").collect();
        assert_eq!((response.status, sites), (404, vec![&b"module"[..]]), "{error_pages}");
        assert_eq!(field(&response, "X-Sit"), "all");
    }
}

#[test]
fn errors_of_the_server_are_json_for_clients_that_ask_for_it() {
    let module = "return { { 'GET', '/found', function() error('no') end } }";
    let plan = Plan::new().config(ROUTE).file("a.txt", "a");
    plan.directory.write("app/api.lua", module);
    let server = plan.start();
    let json = ("Accept", "application/json, text/html;q=0.5");
    for (method, path, status, title) in [
        ("GET", "/api/absent", 404, "Not Found"),
        ("POST", "/api/found", 405, "Method Not Allowed"),
        ("GET", "/api/found", 500, "Internal Server Error"),
        ("GET", "/none.txt", 404, "Not Found"),
    ] {
        let answer = server.request(method, path, &[json]);
        let told: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!((answer.status, &told["status"]), (status, &status.into()), "{path}");
        assert_eq!(
            (&told["title"], told.get("request_id").is_some()),
            (&title.into(), status == 500)
        );
        assert_eq!(field(&answer, "Content-Type"), "application/problem+json", "{path}");
        let page = server.request(method, path, &[("Accept", "text/html, application/json")]);
        assert_eq!(
            (page.status, field(&page, "Content-Type")),
            (status, "text/html; charset=utf-8")
        );
    }
}

#[test]
fn middleware_is_around_every_answer_of_its_module() {
    let module = "local function timed(request, response, next)
      response.headers['X-Seen'] = request.path
      return next()
    end
    local function members(request, response, next)
      if request.cookies.member ~= 'yes' then return 401, { problem = 'who are you?' } end
      return next()
    end
    return {
      use = { timed },
      { 'GET', '/open', function() return 'open' end },
      { 'GET', '/closed', function() return 'closed' end, use = { members } },
    }";
    let plan = Plan::new().config(ROUTE);
    plan.directory.write("app/api.lua", module);
    let server = plan.start();
    let open = server.get("/api/open");
    assert_eq!((text(&open), field(&open, "X-Seen")), ("open", "/api/open"));
    let closed = server.get("/api/closed");
    assert_eq!((closed.status, text(&closed)), (401, r#"{"problem":"who are you?"}"#));
    let member = server.request("GET", "/api/closed", &[("Cookie", "member=yes")]);
    assert_eq!((member.status, text(&member)), (200, "closed"));
    let missing = server.get("/api/absent");
    assert_eq!((missing.status, field(&missing, "X-Seen")), (404, "/api/absent"));
}
