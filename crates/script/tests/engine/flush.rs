//! Answers that a page sends in parts.

use std::time::Duration;

use script::engine::{EngineSettings, Fault, Keys, Run, WaitReply};

use crate::parts::site;
use crate::stage::Stage;
use crate::waits::{Step, Wait};

/// A part that a flush sends: the body, the status, the fields in order.
type Part = (String, Option<u16>, Vec<(String, String)>);

fn part_of(stage: &Stage) -> Part {
    let output = &stage.output;
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let mut fields: Vec<_> = stage.fields().map(owned).collect();
    fields.sort();
    (String::from_utf8(output.body.clone()).unwrap(), output.status, fields)
}

fn flushed(step: Step) -> Run {
    match step {
        Step::Waits(run, Wait::Flush) => run,
        Step::Failed(error) => panic!("{error}"),
        _ => panic!("it does not flush"),
    }
}

fn part(body: &str) -> Part {
    (body.to_owned(), None, Vec::new())
}

#[test]
fn a_flush_hands_over_what_is_new_and_the_head_once() {
    let mut stage = Stage::new();
    let page = stage.load(
        "response.status = 201 response.headers['X-One'] = 'two' response:cookie('a', 'b')
        _b:put('one') response:flush() response:write('two') response:flush() response:flush() _b:put('three')",
    );
    // The second round runs in the same coroutine.
    for _ in 0..2 {
        let step = stage.start(&page);
        let run = flushed(step);
        let head = [
            ("X-One".to_owned(), "two".to_owned()),
            ("set-cookie".to_owned(), "a=b; Path=/; SameSite=Lax; HttpOnly".to_owned()),
        ];
        assert_eq!(part_of(&stage), ("one".to_owned(), Some(201), head.to_vec()));
        let step = stage.resume(run);
        let run = flushed(step);
        assert_eq!(part_of(&stage), part("two"));
        let step = stage.resume(run);
        let run = flushed(step);
        assert_eq!(part_of(&stage), part(""));
        assert!(matches!(stage.resume(run), Step::Done));
        assert_eq!(part_of(&stage), part("three"));
    }
}

#[test]
fn nothing_of_the_head_is_changed_behind_a_flush() {
    for late in [
        "response.status = 404",
        "response.headers['X-One'] = 'two'",
        "response.headers['X-Zero'] = nil",
        "response:cookie('a', 'b')",
        "response:redirect('/there')",
    ] {
        let mut stage = Stage::new();
        let code = format!(
            "response.status = 201 response.headers['X-Zero'] = 'zero'\nresponse:flush()\n{late}"
        );
        let error = stage.failure(&code);
        assert_eq!(
            error.to_string(),
            "test.page.html:3: the head was sent: status and headers are set before the first flush",
            "{late}"
        );
    }
    let mut stage = Stage::new();
    let read = "response.status = 201 response.headers.one = 'two' response:flush()
        rawset(response, 'status', 500) rawset(response.headers, 'one', 'three')
        _b:put(response.status)";
    stage.body(read);
    let mut stage = Stage::new();
    let unset = "response.status = 201 response:flush() _b:put(response.status, pcall(function() \
                 response.status = 1 end) and 'set' or ' kept ', response.status)";
    assert_eq!(stage.body(unset), "201 kept 201");
    assert_eq!(stage.body("_b:put(tostring(response.status)) response.status = 202"), "nil");
}

#[test]
fn a_flush_may_stand_wherever_a_page_may_wait() {
    let mut stage = Stage::new();
    let page = stage.load(
        "local inner = coroutine.wrap(function() _b:put('a') response:flush() coroutine.yield(1) end)
        inner()
        pcall(function() _b:put('b') response:flush() error('x') end)
        table.sort({ 2, 1 }, function(one, other) _b:put('c') response:flush() return one < other end)
        local _ = string.gsub('d', 'd', function(text) _b:put(text) response:flush() end)",
    );
    let mut step = stage.start(&page);
    for expected in ["a", "b", "c", "d"] {
        let run = flushed(step);
        assert_eq!(stage.output.body, expected.as_bytes());
        step = stage.resume(run);
    }
    assert!(matches!(step, Step::Done));
}

#[test]
fn content_inside_layout_is_not_flushed_before_layout() {
    let base = ("_base.page.html", "<a><% response:flush() %><%- content() %></a>");
    let part = ("_part.page.html", "part<% response:flush() %>");
    let failed = |text: &str| {
        let mut stage = Stage::new();
        let page = site(&mut stage, &[base, part, ("x.page.html", text)]);
        stage.play(&page).unwrap_err().to_string()
    };
    let before = "x.page.html:2: what is in a layout cannot be sent before it: flush in the layout";
    assert_eq!(
        failed("<% layout('_base.html') -%>\n\n<% response:flush() %>"),
        before.replace(":2", ":3")
    );
    assert_eq!(
        failed("<% layout('_base.html')\nblock('b', function() response:flush() end) %>"),
        before
    );
    assert_eq!(
        failed("<% layout('_base.html') include('_part.html') %>"),
        before.replace("x.page.html:2", "_part.page.html:1")
    );
    assert_eq!(
        failed("<% response:flush()\nlayout('_base.html') %>"),
        "x.page.html:2: the page was sent in part: a layout is named before the first flush"
    );
    let mut stage = Stage::new();
    let text = "<% layout('_base.html') -%>inside";
    let page = site(&mut stage, &[base, ("x.page.html", text)]);
    let step = stage.start(&page);
    let run = flushed(step);
    assert_eq!(stage.output.body, b"<a>");
    assert!(matches!(stage.resume(run), Step::Done));
    assert_eq!(stage.output.body, b"inside</a>");
    // Without a layout a block is printed in its place, and a part is sent as usual.
    let text = "<% block('b', function() %>block<% response:flush() end) include('_part.html') %>.";
    let page = site(&mut stage, &[part, ("y.page.html", text)]);
    let mut step = stage.start(&page);
    for expected in ["block", "part"] {
        let run = flushed(step);
        assert_eq!(stage.output.body, expected.as_bytes());
        step = stage.resume(run);
    }
    assert!(matches!(step, Step::Done));
    assert_eq!(stage.output.body, b".");
}

#[test]
fn a_flush_that_fails_is_raised_where_it_stands() {
    let mut stage = Stage::new();
    let page = stage.load("_b:put('one')\nresponse:flush()");
    let step = stage.start(&page);
    let run = flushed(step);
    let reply = WaitReply::Failed("nobody is there");
    match stage.reply(run, reply) {
        Step::Failed(error) => {
            assert_eq!(error.to_string(), "test.page.html:2: nobody is there");
        }
        _ => panic!("it goes on"),
    }
}

#[test]
fn waiting_often_does_not_save_the_cpu_budget_and_renewing_it_does() {
    let settings =
        EngineSettings { cpu_budget: Duration::from_millis(100), ..EngineSettings::default() };
    // Some 0.2 ms: no slice ends within it.
    let turn = "for index = 1, 100000 do sum = sum + index end";
    for wait in ["sleep(0)", "response:flush()"] {
        let mut stage = Stage::with(settings);
        let error = stage.failure(&format!("local sum = 0\nwhile true do {turn}\n{wait} end"));
        assert_eq!(error.fault, Fault::CpuBudget, "{error}");
        // In the loop, if the CPU is so busy that a slice ends within it.
        assert!((2..=3).contains(&error.line), "{error:?}");
        assert_eq!(error.page, "test.page.html");
    }
    let mut stage = Stage::with(settings);
    let page =
        stage.load(&format!("local sum = 0 for turn = 1, 2000 do {turn} response:flush() end"));
    let mut step = stage.start(&page);
    loop {
        step = match step {
            Step::Done => break,
            Step::Failed(error) => panic!("{error}"),
            Step::Sliced(run) => stage.resume(run),
            Step::Waits(mut run, _) => {
                run.renew_budget();
                stage.resume(run)
            }
        };
    }
    assert!(stage.state.used_ns() > 100_000_000, "it used more than its budget");
}

#[test]
fn a_session_is_sent_with_the_head_and_what_is_changed_later_is_an_error() {
    let mut stage = Stage::new();
    stage.state.set_keys(Keys::new(["the key of these tests"]));
    let page =
        stage.load("request.session.user = 'Ada' response:flush() _b:put(request.session.user)");
    let step = stage.start(&page);
    let run = flushed(step);
    let (_, _, fields) = part_of(&stage);
    let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["cache-control", "set-cookie"]);
    assert!(matches!(stage.resume(run), Step::Done));
    assert_eq!(part_of(&stage), part("Ada"));
    for late in [
        "response:flush() request.session.user = 'Ada'",
        "request.session.user = 'Ada' response:flush() request.session = nil",
    ] {
        let error = stage.failure(late);
        assert_eq!(
            error.message, "request.session was changed behind the first flush: it is not kept",
            "{late}"
        );
    }
}
