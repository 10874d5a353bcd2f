//! Goal: a page receives the messages of a channel, of every kind, and gets an error for wrong calls. Method: a host
//! that answers each wait in turn.

use std::time::Duration;

use script::engine::WaitReply;

use crate::stage::Stage;
use crate::waits::{Step, Wait};

/// Plays a page with these replies in turn; returns its waits and its output.
fn played(code: &str, replies: &[WaitReply<'_>]) -> (Vec<String>, String) {
    let mut stage = Stage::new();
    let page = stage.load(code);
    let (mut waits, mut replies) = (Vec::new(), replies.iter());
    let mut step = stage.start(&page);
    while let Step::Waits(run, wait) = step {
        waits.push(match wait {
            Wait::Listen(name) => format!("listen {}", String::from_utf8_lossy(&name)),
            Wait::Hear { number, time } => format!("hear {number} {time:?}"),
            Wait::StopListening(number) => format!("stop {number}"),
            other => panic!("{other:?}"),
        });
        let reply = *replies.next().expect("it waits no more often");
        step = stage.reply(run, reply);
    }
    if let Step::Failed(error) = step {
        waits.push(error.to_string());
    }
    (waits, String::from_utf8(stage.output.body).unwrap())
}

#[test]
fn messages_come_as_the_values_that_were_published() {
    let code = "local m = channel.subscribe('c')
        for value, about in m do
          response:write(type(value), ' ', about.channel, about.offset, about.lost, ';')
          if about.offset == 3 then break end
        end
        response:write(tostring(m:receive(2.5)))
        m:close()
        response:write(select(2, m:receive()))";
    let hear = |number: &'static [u8], kind: &'static [u8], text: &'static [u8]| {
        [number, kind, b"1", text]
    };
    let [one, two, three] =
        [hear(b"1", b"text", b"{}"), hear(b"2", b"json", b"{\"a\":1}"), hear(b"3", b"json", b"[]")];
    let replies = [
        WaitReply::Texts(&[b"7"]),
        WaitReply::Texts(&one),
        WaitReply::Texts(&two),
        WaitReply::Texts(&three),
        WaitReply::Nothing,
        WaitReply::Nothing,
        WaitReply::Failed("closed"),
    ];
    let (waits, written) = played(code, &replies);
    let hear = |time: Option<Duration>| format!("hear 7 {time:?}");
    let patient = Some(Duration::from_millis(2_500));
    let expected = [
        "listen c".to_owned(),
        hear(None),
        hear(None),
        hear(None),
        hear(patient),
        "stop 7".to_owned(),
        hear(None),
    ];
    assert_eq!(waits, expected);
    assert_eq!(written, "string c11;table c21;table c31;nilclosed");
}

#[test]
fn a_subscription_that_is_refused_or_misused_is_told() {
    let (_, written) = played(
        "response:write(tostring(channel.subscribe('c')), select(2, channel.subscribe('d')))",
        &[WaitReply::Texts(&[b"", b"full"]), WaitReply::Texts(&[b"", b"full"])],
    );
    assert_eq!(written, "nilfull");
    for (code, problem) in [
        ("local m = channel.subscribe('c') m.receive(5)", "receive is called with a colon"),
        ("local m = channel.subscribe('c') m:receive('x')", "receive takes seconds"),
        ("local m = channel.subscribe('c') m.close()", "close is called with a colon"),
    ] {
        let (waits, _) = played(code, &[WaitReply::Texts(&[b"7"])]);
        assert!(waits.last().unwrap().contains(problem), "{code}: {waits:?}");
    }
}
