//! Goal: the status of an answer can have the next server asked, or the page of the site shown; and a server that is
//! new gets its share little by little. Method: the built binary, and servers that answer with one status each.

use std::io::Write;

use crate::server::Plan;
use crate::server::other::{Heard, always, other};
use crate::server::patience::{PATIENCE, until};
use crate::server::upstreams::{
    OK, all_to, by_hand, connect, exchange, get, next, read_to, rest, start,
};

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or(answer)
}

/// An answer with this status and body.
fn answer_with(status: u16, fields: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status} S\r\n{fields}Content-Length: {length}\r\n\r\n{body}")
}

#[test]
fn an_answer_with_a_status_of_next_on_counts_as_a_failure() {
    let keys = "balance = \"round-robin\"\nnext_on = [503]\nfailures = 3\nfailure_pause = \"1h\"";
    let (bad, heard_bad) = always(answer_with(503, "", "bad"));
    let (good, heard_good) = always(OK);
    let server = start(&all_to(&[bad, good], keys));
    let post = |body: &str| {
        let length = body.len();
        format!(
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
    };
    assert!(exchange(&server, &get("/", "")).ends_with("\r\n\r\nok"), "the second server answers");
    let told = format!("upstream a, {bad}: status 503");
    until(&told, || server.printed_errors().contains(&told).then_some(()));
    // It goes to the second one in turn, then to the first: a POST is not sent again, and its answer stands.
    let answers = [exchange(&server, &post("x")), exchange(&server, &post("x"))];
    let bad_answer = answers.iter().find(|answer| status(answer) == "503").unwrap();
    assert!(bad_answer.ends_with("\r\n\r\nbad"), "{bad_answer}");
    for _ in 0..2 {
        assert_eq!(status(&exchange(&server, &get("/", ""))), "200");
    }
    assert_eq!(heard_bad.try_iter().filter(|(_, request)| request != "end").count(), 3);
    // Three failures in a row: it is paused, and the other one gets everything.
    let view = server.told("/upstreams");
    assert_eq!(view[0]["servers"][0]["state"], "paused", "{view}");
    heard_good.try_iter().for_each(drop);
    for _ in 0..4 {
        assert_eq!(status(&exchange(&server, &post("y"))), "200");
    }
    assert_eq!(heard_good.try_iter().filter(|(_, request)| request.ends_with('y')).count(), 4);
}

#[test]
fn an_answer_of_next_on_stands_if_no_other_server_is_left() {
    let keys = "next_on = [500, 503]\nretries = 5";
    let (one, heard_one) = always(answer_with(503, "X-A: b\r\n", "one"));
    let (two, heard_two) = always(answer_with(500, "X-A: b\r\n", "two"));
    let server = start(&all_to(&[one, two], keys));
    let answer = exchange(&server, &get("/", ""));
    assert!(matches!(status(&answer), "503" | "500"), "{answer}");
    assert!(answer.contains("\r\nX-A: b\r\n"), "{answer}");
    for heard in [heard_one, heard_two] {
        assert_eq!(heard.try_iter().filter(|(_, request)| request != "end").count(), 1);
    }
    // Without retries the first answer stands.
    let (alone, heard) = always(answer_with(503, "", "alone"));
    let (other, unheard) = always(answer_with(503, "", "alone"));
    let server = start(&all_to(&[alone, other], "next_on = [503]\nretries = 0"));
    assert!(exchange(&server, &get("/", "")).ends_with("\r\n\r\nalone"));
    let requests = heard.try_iter().chain(unheard.try_iter());
    assert_eq!(requests.filter(|(_, request)| request != "end").count(), 1);
}

#[test]
fn a_body_goes_to_the_next_server_while_it_arrives() {
    let (bad, connections) = by_hand();
    let (good, heard) = always(OK);
    let server = start(&all_to(&[bad, good], "balance = \"round-robin\"\nnext_on = [503]"));
    let mut client = connect(&server);
    let head = "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\nConnection: close\r\n\r\n";
    client.write_all(format!("{head}xyz").as_bytes()).unwrap();
    let mut backend = next(&connections);
    read_to(&mut backend, "xyz");
    backend.write_all(answer_with(503, "", "bad").as_bytes()).unwrap();
    // Its connection ends, because the rest of the body does not go there.
    assert_eq!(rest(&mut backend), "");
    client.write_all(b"def").unwrap();
    assert!(rest(&mut client).ends_with("\r\n\r\nok"));
    assert!(heard.recv_timeout(PATIENCE).unwrap().1.ends_with("\r\n\r\nxyzdef"));
}

#[test]
fn the_page_of_the_site_stands_in_place_of_an_intercepted_answer() {
    let (address, heard) = other(|_, number, request| {
        let status = request.split(['/', ' ']).nth(2).unwrap().parse().unwrap();
        answer_with(status, "Retry-After: 7\r\nX-Secret: s\r\n", &format!("theirs {number}")).into()
    });
    let config = format!(
        "[error_pages]\n500 = \"/oops.html\"\n[[route]]\nprefix = \"/\"\n\
         proxy = {{ upstream = \"a\", intercept_errors = [500, 503] }}\n\
         [[upstream]]\nname = \"a\"\nservers = [\"{address}\"]\n"
    );
    let plan = Plan::new().argument("--schedulers=1").config(&config);
    let server = plan.file("oops.html", "ours").start();
    let answer = exchange(&server, &get("/500", ""));
    assert!(status(&answer) == "500" && answer.ends_with("\r\n\r\nours"), "{answer}");
    assert!(answer.contains("\r\nRetry-After: 7\r\n") && !answer.contains("X-Secret"), "{answer}");
    let built_in = exchange(&server, &get("/503", ""));
    assert!(status(&built_in) == "503" && !built_in.contains("theirs"), "{built_in}");
    assert!(built_in.contains("Retry-After: 7"), "{built_in}");
    let other = exchange(&server, &get("/404", ""));
    assert!(status(&other) == "404" && other.contains("X-Secret: s\r\n"), "{other}");
    // The connection goes on, because the whole answer had come.
    assert!(other.ends_with("\r\n\r\ntheirs 2"), "{other}");
    assert!(heard.try_iter().all(|(connection, _)| connection == 0));
}

#[test]
fn a_server_that_a_reload_adds_begins_with_a_small_share() {
    let (known, heard) = always(OK);
    let (added, heard_added) = always(OK);
    let keys = "balance = \"round-robin\"\nslow_start = \"1h\"";
    let server = start(&all_to(&[known], keys));
    assert_eq!(status(&exchange(&server, &get("/", ""))), "200");
    let both = crate::server::configuration(&all_to(&[known, added], keys));
    server.directory().write("velodrome.toml", both);
    assert!(server.ctl(&["reload"]).status.success());
    heard.try_iter().for_each(drop);
    let mut client = server.client();
    for _ in 0..55 {
        assert_eq!(client.get("/").unwrap().status, 200);
    }
    let count = |heard: &Heard| heard.try_iter().filter(|(_, request)| request != "end").count();
    // In turn by weights of 100 and 10.
    assert_eq!((count(&heard), count(&heard_added)), (50, 5));
}

#[test]
fn former_upstream_with_an_open_tunnel_checks_nothing() {
    let (address, heard) = other(|_, _, request| match request.contains("Upgrade") {
        true => "HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n".into(),
        false => OK.into(),
    });
    let checked_at =
        |path: &str| all_to(&[address], &format!("check = \"{path}\"\ncheck_interval = \"100ms\""));
    let server = start(&checked_at("/before"));
    let mut tunnel = connect(&server);
    let text = "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    tunnel.write_all(text.as_bytes()).unwrap();
    read_to(&mut tunnel, "\r\n\r\n");
    let changed = crate::server::configuration(&checked_at("/after"));
    server.directory().write("velodrome.toml", changed);
    assert!(server.ctl(&["reload"]).status.success());
    let requests = std::iter::from_fn(|| Some(heard.recv_timeout(PATIENCE).unwrap().1));
    let is_after = |request: &String| request.starts_with("GET /after ");
    let checks = requests.filter(|request| request != "end").skip_while(|one| !is_after(one));
    // One more may have been on its way.
    assert!(checks.take(10).filter(is_after).count() >= 9);
}

#[test]
fn request_that_goes_round_in_a_circle_is_not_passed_on() {
    let (address, heard) = always(OK);
    let server = start(&all_to(&[address], ""));
    let via = |rounds: usize| {
        format!("Via: 1.1 other\r\nVia: {}\r\n", vec!["1.1 velodrome"; rounds].join(", "))
    };
    let answer = exchange(&server, &get("/", &via(7)));
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    let (_, request) = heard.recv_timeout(PATIENCE).unwrap();
    let sent = format!("\r\nVia: {}\r\n", ["1.1 velodrome"; 8].join(", "));
    assert!(request.contains(&sent), "{request}");
    for rounds in [8, 9, 100] {
        let answer = exchange(&server, &get("/", &via(rounds)));
        assert!(answer.starts_with("HTTP/1.1 508 Loop Detected\r\n"), "{answer}");
    }
}
