//! Goal: the server has none of the faults that the releases of the crate `h2` of 2023 to 2026 mend. Method: each as a
//! case with frames by hand; the comments name the release.

use conformance::h2::FrameClient;

use crate::floods::attacked;
use crate::site::{answer, play, status, target};

/// Uploads whose content adds up to several windows of the connection: if something of a window is lost each time, the
/// last ones wait for ever.
fn still_uploads(client: &mut FrameClient<'_>) {
    for _ in 0..8 {
        play(
            client,
            "request next open POST /echo\nrepeat 10 data last | {repeat 16000 a}\ndata last end",
        );
        let last = client.last_stream();
        play(client, &format!("window 0 160000\nwindow {last} 160000\nwait end {last}"));
        assert_eq!((status(client, last), answer(client, last).content().len()), (200, 160_000));
    }
}

#[test]
fn no_window_is_lost_with_streams_that_end_early() {
    // 0.4.14: padded DATA on a stream that was reset. 0.4.13: the padding of DATA. 0.4.8: windows of closed streams.
    let server = attacked("");
    let target = target(&server, "/a.txt");
    for lost in [
        "request next open POST /echo\ndata last padded=255 | {repeat 16000 a}\nreset last CANCEL",
        "request next open POST /echo\nrepeat 3 data last padded=255 | a\ndata last end\nwait end last",
        "request next open POST /echo\nrepeat 10 data last | {repeat 16000 a}\nreset last CANCEL",
        "request next open POST /none\nrepeat 10 data last | {repeat 16000 a}\ndata last end\nwait end last",
        "request next open POST /echo | content-length: 5\nrepeat 10 data last | {repeat 16000 a}\nwait end last",
        "request next open DELETE /a.txt\nrepeat 10 data last | {repeat 16000 a}\nwait end last",
    ] {
        let mut client = target.client().unwrap();
        for _ in 0..20 {
            play(&mut client, lost);
        }
        play(&mut client, "wait ping");
        still_uploads(&mut client);
    }
    server.reaches("/connections", 0);
}

#[test]
fn padding_of_255_bytes_is_padding() {
    // 0.4.15: an overflow in the length of DATA with 255 bytes of padding.
    let server = attacked("");
    let target = target(&server, "/a.txt");
    let mut client = target.client().unwrap();
    play(
        &mut client,
        "request 1 open POST /echo\ndata 1 end padded=255 | {repeat 16000 a}\nwait end 1",
    );
    assert_eq!(answer(&client, 1).content().len(), 16_000);
    client.play("request 3 open POST /echo\ndata 3 end padded=255/254\nwait closed").unwrap();
    assert_eq!(client.farewell().as_deref(), Some("PROTOCOL_ERROR"), "{}", client.frames());
}

#[test]
fn a_reset_behind_the_end_of_a_request_ends_its_answer_only() {
    // 0.4.16: resets behind END_STREAM. 0.4.15: buffered DATA when a reset is near.
    let server = attacked("");
    let target = target(&server, "/a.txt");
    let mut client = target.client().unwrap();
    play(
        &mut client,
        "settings INITIAL_WINDOW_SIZE=10\nwait settings-ack\nrequest 1 GET /large.bin\nwait content 1 10",
    );
    play(
        &mut client,
        "reset 1 NO_ERROR\nwindow 1 100\nrequest 3 GET /a.txt\nwait end 3\nwait quiet",
    );
    assert_eq!((status(&client, 3), answer(&client, 1).content().len()), (200, 10));
}

#[test]
fn goaway_of_a_client_ends_no_stream() {
    // 0.4.14: GOAWAY closed the streams of the peer, and DATA behind it lost the window.
    let server = attacked("");
    let target = target(&server, "/a.txt");
    let mut client = target.client().unwrap();
    play(
        &mut client,
        "request 1 open POST /echo\ngoaway 0 NO_ERROR\nrepeat 12 data 1 | {repeat 16000 a}\ndata 1 end",
    );
    play(&mut client, "window 0 400000\nwindow 1 400000\nwait end 1");
    assert_eq!((status(&client, 1), answer(&client, 1).content().len()), (200, 192_000));
}

#[test]
fn a_length_without_content_is_malformed() {
    // 0.4.7: content-length above 0 with END_STREAM on HEADERS.
    let server = attacked("");
    let target = target(&server, "/a.txt");
    let mut client = target.client().unwrap();
    play(&mut client, "request 1 POST /echo | content-length: 5\nwait end 1");
    let refused = answer(&client, 1).status().is_some_and(|status| status == 400);
    assert!(refused || answer(&client, 1).reset_code() == Some(1), "{}", client.frames());
}

#[test]
fn fields_that_are_too_large_are_told() {
    // 0.4.6: a stream error of PROTOCOL_ERROR instead of a refusal. 0.4.15: a connection that ends at once.
    let server = attacked("");
    let target = target(&server, "/a.txt");
    let mut client = target.client().unwrap();
    play(
        &mut client,
        "request 1 GET /a.txt | x-a: {repeat 7000 a} | x-b: {repeat 7000 a}\nwait end 1",
    );
    assert_eq!(status(&client, 1), 200);
    let rest = "continuation 3 part | x-b: {repeat 7000 a}\ncontinuation 3 | x-c: {repeat 7000 a}";
    play(
        &mut client,
        &format!("headers 3 end part | @ GET /a.txt | x-a: {{repeat 7000 a}}\n{rest}\nwait end 3"),
    );
    assert_eq!(status(&client, 3), 431);
    play(&mut client, "request 5 GET /a.txt\nwait end 5");
    assert_eq!(status(&client, 5), 200);
}

#[test]
fn an_interim_status_in_a_request_is_malformed() {
    // 0.3.20: a panic at `:status: 100` in a request, and one at a window that became negative.
    let server = attacked("");
    let target = target(&server, "/a.txt");
    let mut client = target.client().unwrap();
    play(&mut client, "headers 1 end | @ GET /a.txt | :status: 100\nwait end 1");
    play(
        &mut client,
        "settings INITIAL_WINDOW_SIZE=100\nwait settings-ack\nrequest 3 GET /large.bin\nwait content 3 100",
    );
    play(
        &mut client,
        "settings INITIAL_WINDOW_SIZE=0\nwait settings-ack\nrequest 5 GET /a.txt\nwindow 5 10\nwait end 5",
    );
    assert_eq!((status(&client, 5), answer(&client, 3).content().len()), (200, 100));
}

#[test]
fn small_frames_of_content_are_right_if_they_carry_something() {
    // 0.4.16 and 0.4.17: the limit of small DATA frames ended honest uploads.
    let server = attacked("");
    let target = target(&server, "/a.txt");
    let mut client = target.client().unwrap();
    play(&mut client, "request 1 open POST /echo\nrepeat 500 data 1 | x\ndata 1 end\nwait end 1");
    assert_eq!((status(&client, 1), answer(&client, 1).content().len()), (200, 500));
    // A hundred requests in a row that end with an empty DATA.
    for _ in 0..10 {
        play(
            &mut client,
            "repeat 50 request next open POST /echo & data last | x & data last end\nwait end last",
        );
        assert_eq!(status(&client, client.last_stream()), 200);
    }
}

#[test]
fn a_window_is_shared_by_many_streams() {
    // 0.4.1, 0.4.13: a stream that waits for the window of the connection starved others.
    let server = attacked("");
    let target = target(&server, "/a.txt");
    let mut client = target.client().unwrap();
    play(&mut client, "settings INITIAL_WINDOW_SIZE=0x7fffffff\nwait settings-ack");
    play(&mut client, "repeat 5 request next GET /large.bin\nwait answer 9\nwait quiet");
    // All of the window is used up; another stream's head still comes, and its content behind the next update.
    play(&mut client, "request 11 GET /none\nwait answer 11");
    play(&mut client, "window 0 50000000\nwait end 1\nwait end 9\nwait end 11");
    assert_eq!(answer(&client, 9).content().len(), 2 * 1024 * 1024);
}
