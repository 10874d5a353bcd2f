//! Goal: WebSockets over HTTP/2 (RFC 8441) talk as those over HTTP/1.1. Method: extended CONNECT with frames by hand,
//! to channels and to a module.

use conformance::h2::FrameClient;

use crate::server::Server;
use crate::site::{answer, plan, play, status, target};

pub(crate) const TALK: &str = r#"
return function(request, response)
  local name = request.query.name or "nobody"
  return websocket {
    open = function(socket) socket:send("hello " .. name) end,
    message = function(socket, message)
      if message == "close" then return socket:close(4000, "as you like") end
      socket:send(message:upper())
    end,
  }
end
"#;

const CONFIG: &str =
    "[[route]]\npath = \"/talk\"\nmodule = \"talk\"\n[[channel]]\npattern = \"room\"\n";

fn site() -> Server {
    let plan = plan(CONFIG).file("a.txt", "a\n");
    plan.directory.write("app/talk.lua", TALK);
    plan.start()
}

/// The line that opens a WebSocket on a stream.
pub(crate) fn opening(stream: u32, path: &str) -> String {
    let pseudo = ":method: CONNECT | :protocol: websocket | :scheme: http | :authority: {host}";
    format!(
        "headers {stream} | {pseudo} | :path: {path} | sec-websocket-version: 13\nwait answer {stream}"
    )
}

/// A masked frame of text (RFC 6455 section 5.2), as pieces of DATA.
pub(crate) fn text(message: &str) -> String {
    let masked: Vec<String> = message
        .bytes()
        .enumerate()
        .map(|(index, byte)| format!("{:02x}", byte ^ [1, 2, 3, 4][index % 4]))
        .collect();
    format!("hex 81 {:02x} 01 02 03 04 {}", 0x80 | message.len(), masked.join(" "))
}

/// Waits until a text has come on a stream.
pub(crate) fn hears(client: &mut FrameClient<'_>, stream: u32, expected: &str) {
    crate::server::patience::until(expected, || {
        client.play("wait quiet").unwrap();
        let content = client.answer(stream)?.content();
        let found = content.windows(expected.len()).any(|part| part == expected.as_bytes());
        found.then_some(())
    });
}

#[test]
fn a_module_talks_on_several_streams() {
    let server = site();
    let target = target(&server, "/a.txt");
    let mut client = target.client().unwrap();
    for (stream, name) in [(1, "ann"), (3, "bob")] {
        play(&mut client, &opening(stream, &format!("/talk?name={name}")));
        assert_eq!(status(&client, stream), 200);
        assert_eq!(answer(&client, stream).field("sec-websocket-accept"), None);
        hears(&mut client, stream, &format!("hello {name}"));
    }
    play(&mut client, &format!("data 1 | {}\ndata 3 | {}", text("one"), text("two")));
    hears(&mut client, 1, "ONE");
    hears(&mut client, 3, "TWO");
    // A frame that is cut anywhere is the same frame.
    play(
        &mut client,
        "data 1 | hex 81\ndata 1 | hex 83 01 02\ndata 1 | hex 03 04 60\ndata 1 | hex 60 60",
    );
    hears(&mut client, 1, "ABC");
    // A close from the server ends the stream, and the other stays.
    play(&mut client, &format!("data 1 | {}\nwait end 1", text("close")));
    assert!(answer(&client, 1).content().ends_with(b"\x88\x0d\x0f\xa0as you like"));
    play(&mut client, &format!("data 3 | {}", text("still")));
    hears(&mut client, 3, "STILL");
    // And a request beside it is answered.
    play(&mut client, "request 5 GET /a.txt\nwait end 5");
    assert_eq!(status(&client, 5), 200);
}

#[test]
fn a_channel_is_heard_and_left() {
    let server = site();
    let target = target(&server, "/a.txt");
    let mut client = target.client().unwrap();
    play(&mut client, &opening(1, "/channels"));
    assert_eq!(status(&client, 1), 200);
    play(&mut client, &format!("data 1 | {}", text("{\"subscribe\":\"room\"}")));
    hears(&mut client, 1, "\"subscribed\"");
    server.reaches("/channels/subscriptions", 1);
    play(&mut client, "reset 1 CANCEL");
    server.reaches("/channels/subscriptions", 0);
    play(&mut client, &opening(3, "/channels"));
    play(&mut client, &format!("data 3 end | {}", text("{\"subscribe\":\"room\"}")));
    play(&mut client, "wait end 3");
    server.reaches("/channels/subscriptions", 0);
}

#[test]
fn wrong_frames_end_their_websocket_only() {
    let server = site();
    let target = target(&server, "/a.txt");
    let mut client = target.client().unwrap();
    play(&mut client, &opening(1, "/a.txt"));
    assert!((400..600).contains(&status(&client, 1)), "{}", client.frames());
    // An unmasked frame, and one that is too large, end the WebSocket only.
    play(&mut client, &opening(3, "/talk"));
    play(&mut client, "data 3 | hex 81 01 61\nwait end 3");
    play(&mut client, &opening(5, "/talk"));
    play(&mut client, "data 5 | hex 81 ff 7f ff ff ff ff ff ff ff 01 02 03 04\nwait end 5");
    play(&mut client, "request 7 GET /a.txt\nwait end 7");
    assert_eq!(status(&client, 7), 200);
}
