//! The service in the simulated world, and once on a real socket.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test is to be seen")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use outside::Notes;
use velodrome::http::{App, Http};
use velodrome::world::{ClientId, Stage};

type NotesStage = Stage<Http<App<Notes>>>;

fn stage(schedulers: usize) -> NotesStage {
    Stage::new(schedulers, || outside::app().into_service())
}

/// Status and body of an answer.
fn ask(stage: &mut NotesStage, client: ClientId, request: &str, body: &str) -> (u16, String) {
    let length = body.len();
    let text = format!("{request} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{body}");
    answer(&stage.exchange(client, &text))
}

fn answer(text: &str) -> (u16, String) {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

#[test]
fn notes_are_written_read_and_removed() {
    let mut stage = stage(1);
    let client = stage.connect();
    let mut ask = |request: &str, body: &str| ask(&mut stage, client, request, body);
    assert_eq!(ask("GET /notes/7", ""), (404, "404 Not Found\n".to_owned()));
    assert_eq!(ask("PUT /notes/7", "{\"text\":\"a\"}"), (201, String::new()));
    assert_eq!(ask("PUT /notes/7", "{\"text\":\"b\"}"), (204, String::new()));
    assert_eq!(ask("GET /notes/7", ""), (200, "{\"text\":\"b\"}".to_owned()));
    assert_eq!(ask("HEAD /notes/7", ""), (200, String::new()));
    assert_eq!(ask("DELETE /notes/7", ""), (204, String::new()));
    assert_eq!(ask("DELETE /notes/7", ""), (404, "404 Not Found\n".to_owned()));
}

#[test]
fn invalid_request_is_answered_by_kind_of_error() {
    let mut stage = stage(1);
    let client = stage.connect();
    let mut ask = |request: &str, body: &str| ask(&mut stage, client, request, body);
    assert_eq!(ask("GET /nothing", "").0, 404);
    let (status, text) = ask("GET /notes/x", "");
    assert_eq!((status, text.as_str()), (400, "400 Bad Request: a note has a number\n"));
    let (status, text) = ask("PUT /notes/1", "{\"text\":7}");
    assert_eq!(status, 400);
    assert!(text.contains("expected a string") && text.contains("column"), "{text}");
    assert_eq!(ask("POST /notes/1", "").0, 405);
    assert_eq!(ask("OPTIONS /notes/1", "").0, 204);
    // The cause of a failure is for the operator, not for the client.
    assert_eq!(ask("GET /config", ""), (500, "500 Internal Server Error\n".to_owned()));
    assert_eq!(ask("GET /slow/x", "").0, 500);
    assert_eq!(ask("PUT /notes/1", &"x".repeat(2_000_000)).0, 413);
}

#[test]
fn a_wait_holds_up_nobody_and_ends_in_time() {
    let mut stage = stage(1);
    let (slow, other) = (stage.connect(), stage.connect());
    assert_eq!(stage.exchange(slow, "GET /slow/500 HTTP/1.1\r\nHost: a\r\n\r\n"), "");
    assert_eq!(ask(&mut stage, other, "GET /count", "").0, 200);
    stage.pass(Duration::from_millis(490));
    assert_eq!(stage.received(slow), "");
    stage.pass(Duration::from_millis(20));
    assert_eq!(answer(&stage.received(slow)), (200, "/slow/500 is done".to_owned()));
    // The connection stays open.
    assert_eq!(ask(&mut stage, slow, "GET /count", "").0, 200);
}

#[test]
fn a_wait_that_a_handler_does_not_return_is_forgotten() {
    let mut stage = stage(2);
    let client = stage.connect();
    for _ in 0..3 {
        assert_eq!(ask(&mut stage, client, "GET /abandoned", ""), (200, "now".to_owned()));
    }
    assert_eq!(ask(&mut stage, client, "GET /count", ""), (200, "0".to_owned()));
    stage.pass(Duration::from_secs(3));
    assert_eq!(stage.received(client), "");
    let waiting = |stage: &mut NotesStage| {
        let schedulers = stage.schedulers().iter_mut();
        schedulers.map(|scheduler| scheduler.service().application().waiting()).sum::<usize>()
    };
    assert_eq!(waiting(&mut stage), 0);
}

#[test]
fn an_answer_without_content_has_none() {
    let mut stage = stage(1);
    let client = stage.connect();
    let text = stage.exchange(client, "GET /empty HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(text.starts_with("HTTP/1.1 204 ") && text.ends_with("\r\n\r\n"), "{text}");
    assert!(!text.contains("Content-Length") && !text.contains("unseen"), "{text}");
}

#[test]
fn a_client_that_leaves_takes_its_wait_along() {
    let mut stage = stage(1);
    let client = stage.connect();
    stage.send(client, b"GET /slow/500 HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(stage.schedulers()[0].service().application().waiting(), 1);
    stage.world().client_reset(client);
    stage.rest();
    let scheduler = &mut stage.schedulers()[0];
    assert_eq!((scheduler.processes(), scheduler.service().application().waiting()), (0, 0));
    stage.pass(Duration::from_secs(2));
}

#[test]
fn all_schedulers_are_asked() {
    let mut stage = stage(3);
    let clients: Vec<ClientId> = (0..9).map(|_| stage.connect()).collect();
    for (number, client) in clients.iter().enumerate() {
        let request = format!("PUT /notes/{number}");
        assert_eq!(ask(&mut stage, *client, &request, "{\"text\":\"a\"}").0, 201);
    }
    assert!(stage.schedulers().iter().all(|scheduler| scheduler.processes() > 0));
    for client in clients {
        assert_eq!(ask(&mut stage, client, "GET /count", ""), (200, "9".to_owned()));
    }
}

#[test]
fn the_job_runs_on_a_server_that_nobody_asks() {
    let mut stage = stage(2);
    stage.pass(Duration::from_millis(3_500));
    let client = stage.connect();
    assert_eq!(ask(&mut stage, client, "GET /up", ""), (200, "3".to_owned()));
}

#[test]
fn a_server_on_a_port_of_the_kernel_s_choice_answers_and_stops() {
    let server = outside::start("127.0.0.1:0").unwrap();
    assert_ne!(server.address().port(), 0);
    let mut client = TcpStream::connect(server.address()).unwrap();
    client.write_all(b"GET /count HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let mut first = [0; 256];
    let read = client.read(&mut first).unwrap();
    assert_eq!(answer(std::str::from_utf8(&first[..read]).unwrap()), (200, "0".to_owned()));
    client.write_all(b"GET /slow/200 HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let handle = server.handle();
    std::thread::spawn(move || handle.stop(Duration::from_secs(10))).join().unwrap();
    server.join().unwrap();
    // Requests that were running have been answered.
    let mut rest = String::new();
    client.read_to_string(&mut rest).unwrap();
    assert_eq!(answer(&rest), (200, "/slow/200 is done".to_owned()));
}

#[test]
fn a_scheduler_that_has_nothing_left_answers_the_others_until_all_are_drained() {
    let server = outside::start("127.0.0.1:0").unwrap();
    let mut client = TcpStream::connect(server.address()).unwrap();
    // The other scheduler has no connection: it is drained before this request asks it.
    client.write_all(b"GET /count-after/1000 HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    server.stop(Duration::from_secs(20)).unwrap();
    let mut rest = String::new();
    client.read_to_string(&mut rest).unwrap();
    assert_eq!(answer(&rest), (200, "0".to_owned()));
}
