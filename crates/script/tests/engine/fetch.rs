//! `fetch`: what the host receives, and how a page gets the answer.

use std::time::Duration;

use script::engine::WaitReply;

use crate::stage::Stage;
use crate::waits::{Fetch, Step, Wait};

const ANSWER: WaitReply<'_> =
    WaitReply::Texts(&[b"200", b"x-a\nb c\nx-empty\n\nx-a\nlast\n", b"[1, 2]"]);

/// Plays a page that fetches, with this reply to each fetch; returns the fetches and the output.
fn played(code: &str, reply: WaitReply<'_>) -> (Vec<Fetch>, String) {
    let mut stage = Stage::new();
    let page = stage.load(code);
    let mut fetches = Vec::new();
    let mut step = stage.start(&page);
    loop {
        step = match step {
            Step::Waits(run, Wait::Fetch(fetch)) => {
                fetches.push(fetch);
                stage.reply(run, reply)
            }
            Step::Done => break,
            Step::Failed(error) => panic!("{error}"),
            _ => panic!("it only fetches"),
        };
    }
    (fetches, String::from_utf8(stage.output.body).unwrap())
}

#[test]
fn a_request_goes_out_as_the_page_says() {
    let code = "fetch('http://a/x\\0y')
        fetch('b', { method = 'put', headers = { ['X-A'] = 1 }, body = '\\0', timeout = 0.5 })
        fetch('c', { json = { 1 } }) fetch('d', { body = 12, method = 'GET' })";
    let (fetches, _) = played(code, ANSWER);
    let usual = Fetch {
        method: "GET".into(),
        url: b"http://a/x\0y".into(),
        timeout: Duration::from_secs(10),
        ..Fetch::default()
    };
    let expected = [
        usual.clone(),
        Fetch {
            method: "PUT".into(),
            url: b"b".into(),
            fields: b"X-A\n1\n".into(),
            body: Some(b"\0".into()),
            timeout: Duration::from_millis(500),
            ..Fetch::default()
        },
        Fetch {
            method: "POST".into(),
            url: b"c".into(),
            fields: b"content-type\napplication/json\n".into(),
            body: Some(b"[1]".into()),
            ..usual.clone()
        },
        Fetch { url: b"d".into(), body: Some(b"12".into()), ..usual },
    ];
    assert_eq!(fetches, expected);
}

#[test]
fn an_answer_is_a_table_and_a_failure_nil_and_why() {
    let code = "local a, why = fetch('u') _b:put(tostring(a and a.status), tostring(why))
        if a then _b:put(' ', a.headers['x-a'], ' [', a.headers['x-empty'], '] ', a.body, ' ', a:json()[2]) end";
    assert_eq!(played(code, ANSWER).1, "200nil b c, last [] [1, 2] 2");
    assert_eq!(played(code, WaitReply::Failed("timeout")).1, "niltimeout");
    // Joined cookies could not be separated again.
    let cookies = b"set-cookie\na=1\nvary\na\nset-cookie\nb=2\nvary\nb\nvary\nc\n";
    let code =
        "local answer = fetch('u') local headers = answer.headers _b:put(headers['set-cookie'], ' ', headers.vary)
        _b:put(' ', #answer.cookies, answer.cookies[1])";
    assert_eq!(played(code, WaitReply::Texts(&[b"200", cookies, b""])).1, "b=2 a, b, c 2a=1");
    let code = "local f, why = pcall(function() return assert(fetch('u')) end) _b:put(why)";
    assert_eq!(played(code, WaitReply::Failed("timeout")).1, "timeout");
}

#[test]
fn it_waits_wherever_it_stands() {
    let code = "local function one() return fetch('u').status end
        local list = { 2, 1 }
        table.sort(list, function(a, b) return one() and a < b end)
        local inner = coroutine.wrap(function() coroutine.yield(one()) coroutine.wrap(one)() end)
        _b:put(list[1], inner(), tostring((inner())), (('x'):gsub('x', one)),
            tostring(setmetatable({}, { __index = one }).x), select(2, pcall(one)))";
    let (fetches, written) = played(code, ANSWER);
    assert_eq!(written, "1200nil200200200");
    assert!(fetches.len() >= 6);
}

/// Plays a page that reads an answer piece by piece, with these replies in turn; returns its requests and its output.
fn streamed(code: &str, replies: &[WaitReply<'_>]) -> (Vec<String>, String) {
    let mut stage = Stage::new();
    let page = stage.load(code);
    let (mut asked, mut replies) = (Vec::new(), replies.iter());
    let mut step = stage.start(&page);
    loop {
        let (run, wait) = match step {
            Step::Waits(run, wait) => (run, wait),
            Step::Done => break,
            Step::Failed(error) => {
                asked.push(error.to_string());
                break;
            }
            _ => panic!("it only fetches"),
        };
        asked.push(match wait {
            Wait::Fetch(fetch) => format!("streamed {}", fetch.is_streamed),
            Wait::ReadFetched(number) => format!("read {number}"),
            Wait::CloseFetched(number) => format!("close {number}"),
            other => panic!("{other:?}"),
        });
        let reply = *replies.next().expect("it asks no more often");
        step = stage.reply(run, reply);
    }
    (asked, String::from_utf8(stage.output.body).unwrap())
}

#[test]
fn a_stream_is_read_to_its_end_or_closed() {
    let head = WaitReply::Texts(&[b"200", b"x-a\n1\n", b"", b"7"]);
    let code = "local a = fetch('u', { stream = true })
        _b:put(a.status, a.headers['x-a'], tostring(a.body), ' ')
        for piece in a:pieces() do _b:put(piece, ';') end
        _b:put(tostring(a:read())) a:close()";
    let replies = [
        head,
        WaitReply::Texts(&[b"one"]),
        WaitReply::Texts(&[b"two"]),
        WaitReply::Nothing,
        WaitReply::Nothing,
    ];
    let (asked, written) = streamed(code, &[&replies[..], &[WaitReply::Nothing]].concat());
    assert_eq!(written, "2001nil one;two;nil", "{asked:?}");
    assert_eq!(asked, ["streamed true", "read 7", "read 7", "read 7", "read 7", "close 7"]);
    let whole = streamed("fetch('u', { stream = false })", &[ANSWER]).0;
    assert_eq!(whole, ["streamed false"]);
}

#[test]
fn a_stream_that_breaks_says_why_with_the_line_of_its_page() {
    let head = WaitReply::Texts(&[b"200", b"", b"", b"7"]);
    let failed = WaitReply::Failed("timeout");
    let code = "local a = fetch('u', { stream = true })
        local piece, why = a:read() _b:put(tostring(piece), why)";
    assert_eq!(streamed(code, &[head, failed]).1, "niltimeout");
    for (code, told) in [
        ("for piece in fetch('u', { stream = true }):pieces() do end", "pieces: timeout"),
        ("fetch('u', { stream = true }):json()", "json: the answer is read piece by piece"),
        ("fetch('u', { stream = 1 })", "fetch: 'stream' must be true or false, not 1"),
        ("fetch('u', { stream = true }).read()", "read is called with a colon: answer:read()"),
    ] {
        let (asked, _) = streamed(code, &[head, failed]);
        let last = asked.last().unwrap();
        assert!(last.ends_with(told) && last.contains(":1: "), "{last}");
    }
    let (asked, _) = streamed("fetch('u'):read()", &[ANSWER]);
    assert!(asked[1].contains("fetch it with 'stream = true'"), "{asked:?}");
}
