//! Goal: answers reach clients that still send, and a connection that ends takes nothing with it. Method: the built
//! server, frames by hand.

use conformance::h2::FrameClient;

use crate::server::Plan;
use crate::server::patience::{PATIENCE, until};
use crate::site::{answer, content, plan, play, status, target};

/// A route that answers without its body, and one that waits for it.
const ROUTES: &str = "[[route]]\npath = \"/fixed\"\nrespond = { body = \"fixed\" }\n\
                      [[route]]\npath = \"/echo\"\nmodule = \"echo\"\n";
const ECHO: &str = "return function(request) return request.body end";

fn site(config: &str) -> Plan {
    let plan = plan(&format!("{config}{ROUTES}"));
    plan.directory.write("app/echo.lua", ECHO);
    plan
}

/// The stream was reset with NO_ERROR, if it was. All that the server has sent so far was read.
fn reset_code(client: &mut FrameClient<'_>, stream: u32) -> Option<u32> {
    play(client, "wait ping");
    answer(client, stream).reset_code()
}

#[test]
fn client_that_still_sends_is_told_so_after_the_answer() {
    let server = site("").start();
    let target = target(&server, "/fixed");
    let mut client = target.client().unwrap();
    play(&mut client, "request 1 open POST /fixed\nwait end 1");
    assert_eq!((status(&client, 1), content(&client, 1)), (200, "fixed".to_owned()));
    assert_eq!(reset_code(&mut client, 1), None, "both at once: {}", client.frames());
    play(&mut client, "data 1 | abc");
    let code = until("the reset", || reset_code(&mut client, 1));
    assert_eq!(code, 0, "NO_ERROR: {}", client.frames());
    // One that ends its body by itself is not told.
    play(&mut client, "request 3 open POST /fixed\nwait end 3\ndata 3 end | abc");
    play(&mut client, "request 5 open POST /fixed\nwait end 5");
    until("the reset of a later one", || reset_code(&mut client, 5));
    assert_eq!(answer(&client, 3).reset_code(), None, "{}", client.frames());
    // More of them than the server remembers.
    play(&mut client, "repeat 90 request next open POST /fixed\nwait end 185");
    until("all resets", || {
        play(&mut client, "wait ping");
        let mut streams = (7..=185).step_by(2);
        streams.all(|stream| answer(&client, stream).reset_code() == Some(0)).then_some(())
    });
    play(&mut client, "request next GET /fixed\nwait end 187");
    assert_eq!(status(&client, 187), 200);
    server.reaches("/network/buffered_bytes", 0);
}

#[test]
fn frames_behind_the_last_stream_of_a_drain_end_nothing() {
    for frame in
        ["data 3 | abc", "data 3 end | abc", "window 3 100", "reset 3 8", "request 3 GET /fixed"]
    {
        let mut server = site("").start();
        let target = target(&server, "/fixed");
        let mut client = target.client().unwrap();
        play(&mut client, "request 1 open POST /echo\ndata 1 | be");
        server.signal("TERM");
        // The client has not read that there are no more streams when it sends these.
        until("the last stream", || {
            play(&mut client, "wait ping");
            (client.frames().matches("GOAWAY").count() == 2).then_some(())
        });
        play(&mut client, &format!("{frame}\nwait ping\ndata 1 end | fore\nwait end 1"));
        assert_eq!(
            (status(&client, 1), content(&client, 1)),
            (200, "before".to_owned()),
            "{frame}"
        );
        assert!(client.ends_within(PATIENCE), "{frame}: {}", client.frames());
        assert!(server.wait().success());
    }
}

#[test]
fn connection_ends_after_so_many_requests() {
    let server = site("[limits]\nrequests_per_connection = 3\n").start();
    let target = target(&server, "/fixed");
    let mut client = target.client().unwrap();
    play(&mut client, "repeat 3 request next GET /fixed\nwait goaway\nwait end 5");
    assert!((1..=5).step_by(2).all(|stream| status(&client, stream) == 200), "{}", client.frames());
    assert!(client.ends_within(PATIENCE), "{}", client.frames());
}
