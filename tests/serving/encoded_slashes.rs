//! Goal: a path with an encoded slash reaches a server as it came, and only where both readings of it have the same
//! guards. Method: the built binary, and a server that tells what it heard.

use std::io::Write;

use crate::server::Server;
use crate::server::other::always;
use crate::server::patience::PATIENCE;
use crate::server::upstreams::{OK, connect, rest};

/// Sends a request, and returns the whole answer.
fn ask(server: &Server, line: &str, body: &str) -> String {
    let mut client = connect(server);
    let length = body.len();
    let head = format!(
        "{line} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    client.write_all(head.as_bytes()).unwrap();
    rest(&mut client)
}

fn routes(address: std::net::SocketAddr) -> String {
    format!(
        "[[upstream]]\nname = \"a\"\nservers = [\"{address}\"]\n[[route]]\nprefix = \"/open\"\nproxy = \
         \"a\"\n[[route]]\nprefix = \"/files\"\nfiles = {{}}\n[[route]]\nprefix = \"/api\"\nproxy = {{ \
         upstream = \"a\", strip_prefix = true }}\n[[route]]\nprefix = \"/mixed\"\nfiles = {{ try = \
         [\"$path\", \"next\"] }}\n[[route]]\nprefix = \"/\"\n\
         access = [{{ deny = \"127.0.0.0/8\" }}, {{ allow = \"all\" }}]\nproxy = \"a\"\n"
    )
}

#[test]
fn encoded_slash_is_passed_on_where_both_readings_have_one_route() {
    let (address, heard) = always(OK);
    let mixed = "[[route]]\nprefix = \"/mixed\"\nproxy = \"a\"\n[[route]]\nprefix = \"/\"\naccess";
    let config = routes(address).replace("[[route]]\nprefix = \"/\"\naccess", mixed);
    let server = crate::server::Plan::new().config(&config).file("mixed/b/c", "a file").start();
    for (line, passed_on) in [
        ("GET /open/group%2Fname?q=%2F", "GET /open/group%2Fname?q=%2F "),
        ("POST /open/group%2fname/%41", "POST /open/group%2fname/%41 "),
        ("GET /api/group%2Fname", "GET /group%2Fname "),
        // There is a file for one reading.
        ("GET /mixed/b%2Fc", "GET /mixed/b%2Fc "),
    ] {
        let body = if line.starts_with("POST") { "body" } else { "" };
        let answer = ask(&server, line, body);
        assert!(answer.ends_with("\r\n\r\nok"), "{line}: {answer}");
        let (_, request) = heard.recv_timeout(PATIENCE).unwrap();
        assert!(request.starts_with(passed_on) && request.ends_with(body), "{line}: {request}");
    }
    assert!(ask(&server, "GET /mixed/b/c", "").ends_with("\r\n\r\na file"));
}

#[test]
fn path_whose_readings_differ_is_refused_and_no_server_hears_of_it() {
    let (address, heard) = always(OK);
    let server =
        crate::server::Plan::new().config(&routes(address)).file("files/b/c", "a file").start();
    for target in [
        // As a slash it would be below the open route, as a letter below the guarded one.
        "/open%2Fx",
        "/open%2F..%2Fx",
        "/open/..%2F..%2Fx",
        "/open/%2F",
        "/open/a%2F/b",
        "/open/.%2Fb",
        "/open/a%2F%2e%2e%2Fb",
        "/open/a%2Fb%5C",
        "/open/a%2Fb%00",
        "/files/b%2Fc",
        "/api%2Fx",
        "%2Fopen/x",
    ] {
        for line in ["GET", "POST"] {
            let answer = ask(&server, &format!("{line} {target}"), "");
            assert!(answer.starts_with("HTTP/1.1 400 "), "{line} {target}: {answer}");
        }
    }
    let denied = ask(&server, "GET /else%2Fx", "");
    assert!(denied.starts_with("HTTP/1.1 403 "), "{denied}");
    assert_eq!(heard.try_iter().count(), 0);
}

#[test]
fn path_whose_readings_have_other_limits_or_a_rewrite_is_refused() {
    let (address, heard) = always(OK);
    let config = format!(
        "redirect_to_https = true\ntrusted_proxies = [\"127.0.0.1\"]\n[[limit]]\nname = \"few\"\nrequests = \
         \"1/d\"\npaths = [\"/few/*\", \"/all/**\"]\n[[route]]\nglob = \"/old/*\"\n\
         rewrite = {{ to = \"/new/$1\" }}\n[[route]]\nprefix = \"/v1\"\nrewrite = {{ to = \
         \"/v2/$1\" }}\n{}",
        routes(address).replace("deny = \"127.0.0.0/8\"", "deny = \"192.0.2.0/24\"")
    );
    let server = crate::server::Plan::new().config(&config).start();
    let secured = " HTTP/1.1\r\nX-Forwarded-Proto: https";
    for (target, status) in [
        // Only as a part of a name it counts for the limit.
        ("/few/a%2Fb", "400"),
        ("/old/a%2Fb", "400"),
        ("/v1/a%2Fb", "400"),
        ("/all/a%2Fb", "200"),
        ("/all/a%2Fc", "429"),
    ] {
        let answer = ask(&server, &format!("GET {target}{secured}\r\nX-End:"), "");
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{target}: {answer}");
    }
    for (target, status) in [("/.well-known%2Facme-challenge/x", "400"), ("/else%2Fx", "308")] {
        let answer = ask(&server, &format!("GET {target}"), "");
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{target}: {answer}");
    }
    assert_eq!(heard.try_iter().filter(|(_, request)| request != "end").count(), 1);
}

#[test]
fn explanation_names_the_path_that_a_server_is_asked_for() {
    let plan = crate::server::Plan::new();
    plan.directory.write("velodrome.toml", routes(([127, 0, 0, 1], 9).into()));
    for (target, asked) in [
        ("/api/a%2Fb", "/a%2Fb"),
        ("/open/%41%20", "/open/%41%20"),
        ("/open/../open/%c3%a4", "/open/%C3%A4"),
    ] {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_velodrome"))
            .args(["check", plan.directory.join("").to_str().unwrap(), "--explain", target])
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(
            told.contains(&format!("upstream `a`, asked for `{asked}`")),
            "{target}: {output:?}"
        );
    }
}
