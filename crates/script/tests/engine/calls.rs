//! The functions that pages call: the request, the response, waits, JSON, time and the log.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use script::engine::{
    CallResult, EngineSettings, Fault, HostAnswer, PageHost, PageLogLevel, PageOutput, RequestPart,
    WaitReply,
};

use crate::stage::Stage;
use crate::waits::{Step, Wait};

#[test]
fn a_part_of_the_request_is_asked_for_once_and_when_it_is_looked_at() {
    let mut stage = Stage::new();
    let code = "_b:put(request.method, ' ', request.path, ' ', request.path, ' ', request.query.page, ' ',
        _e(request.query.name), ' ', request.headers.host, ' ', tostring(request.cookies.a), '|', request.body, '|',
        tostring(request.peer), tostring(request.unknown))";
    assert_eq!(
        stage.body(code),
        r#"GET /hello /hello 2 Grace &amp; &lt;co&gt; example.org nil|{"a":[1,2]}|nilnil"#
    );
    let expected = [
        RequestPart::Method,
        RequestPart::Path,
        RequestPart::Query,
        RequestPart::Headers,
        RequestPart::Cookies,
        RequestPart::Body,
        RequestPart::Peer,
    ];
    assert_eq!(stage.desk.asked, expected);
}

#[test]
fn a_module_that_is_asked_sees_the_channel_the_message_and_the_claims() {
    let mut stage = Stage::new();
    let code = "_b:put(request.channel, ' ', #request.message.a, ' ', request.claims.sub)";
    assert_eq!(stage.body(code), "room.1 2 ann");
}

#[test]
fn status_and_fields_go_out_when_they_are_set() {
    let mut stage = Stage::new();
    let code = "response.status = 404 response.headers['X-Kind'] = 'none' response.headers.age = 7
        response.headers.gone = 'x' response.headers.gone = nil
        _b:put('a') response:write('b', 1) assert(response.headers.age == '7' and response.status == 404)";
    assert_eq!(stage.body(code), "ab1");
    assert_eq!(stage.output.status, Some(404));
    let mut fields: Vec<_> = stage.fields().collect();
    fields.sort_unstable();
    assert_eq!(fields, [("X-Kind", "none"), ("age", "7")]);
    assert_eq!(stage.body("response:redirect('/login')"), "");
    assert_eq!(stage.output.status, Some(302));
    assert_eq!(stage.fields().collect::<Vec<_>>(), [("Location", "/login")]);
    assert_eq!(stage.body("_b:put('next')"), "next");
    assert_eq!((stage.output.status, stage.fields().count()), (None, 0));
}

#[test]
fn forms_and_json_are_read_and_cookies_set() {
    let mut stage = Stage::new();
    assert_eq!(
        stage.body("_b:put(request.form.agreed, #request.json.a, request.json.a[2])"),
        "yes22"
    );
    assert_eq!(stage.desk.asked, [RequestPart::Form, RequestPart::Body]);
    stage.body(
        "response:cookie('id', 'a1') response:cookie('n', 2, { path = '/x', max_age = 60, http_only = false,
            secure = true, same_site = 'None', domain = 'example.org' })",
    );
    let expected = [
        ("set-cookie", "id=a1; Path=/; SameSite=Lax; HttpOnly"),
        ("set-cookie", "n=2; Path=/x; Domain=example.org; Max-Age=60; SameSite=None; Secure"),
    ];
    assert_eq!(stage.fields().collect::<Vec<_>>(), expected);
    for (code, told) in [
        ("response:cookie('a b', 'x')", "not the name of a cookie: a b"),
        ("response:cookie('a', 'x;y')", "the value of the cookie 'a' holds what a cookie cannot"),
        ("response:cookie('a', 'x', { path = '/;' })", "the Path of the cookie 'a' is not right"),
        ("response:cookie('a', 'x', { same_site = 'lax' })", "same_site is Strict, Lax or None"),
    ] {
        let failure = stage.failure(code);
        assert!(failure.message.contains(told), "{failure}");
    }
}

#[test]
fn invalid_field_value_is_refused_where_set() {
    let mut stage = Stage::new();
    for code in [
        r"response.headers.x = 'a\r\nevil: b'",
        r"response.headers.x = 'a\nb'",
        r"response.headers.x = 'a\0b'",
        r"response.headers['a b'] = 'x'",
        r"response.headers['a:'] = 'x'",
        r"response.headers[''] = 'x'",
        r"response.headers[1] = 'x'",
        r"response.headers.x = {}",
        r"response.status = 99",
        r"response.status = '200'",
        r"response.status = 200.5",
        r"response.statsu = 200",
        r"response:redirect('/a\nb')",
    ] {
        let error = stage.failure(&format!("\n{code}"));
        assert_eq!(error.fault, Fault::Runtime, "{code}");
        assert_eq!(error.line, 2, "{code}: {error}");
    }
}

#[test]
fn nothing_goes_past_the_checks() {
    let mut stage = Stage::new();
    for code in [
        r"rawset(response, 'status', 99)",
        r"rawset(response, 'status', 'x')",
        r"rawset(response, 2, { ['a: b\nc'] = 'x' })",
        r"rawset(response, 2, { x = 'a\nb' })",
        r"rawset(response, 2, 5)",
    ] {
        let error = stage.failure(code);
        assert_eq!(error.fault, Fault::Runtime, "{code}");
    }
    assert_eq!(stage.body("_b:put('on')"), "on");
    assert_eq!(stage.fields().count(), 0);
}

/// A host that runs an engine of its own for every call.
struct Nested(Stage);

impl PageHost for Nested {
    fn request(&mut self, _: RequestPart, answer: &mut HostAnswer) {
        let page = self.0.load("_b:put('inner')");
        let body = self.0.play(&page).unwrap().body;
        answer.text(body.as_bytes());
    }

    fn now(&mut self) -> Duration {
        Duration::ZERO
    }

    fn log(&mut self, _: PageLogLevel, _: &[u8]) {}
}

#[test]
fn a_host_may_run_an_engine_of_its_own() {
    let mut stage = Stage::with(EngineSettings::default());
    let mut host = Nested(Stage::new());
    let page = stage.load("assert(request.path == 'inner') while true do end");
    let mut output = PageOutput::default();
    let mut run = stage.state.begin(&page).unwrap();
    let result = stage.state.resume(&mut run, WaitReply::Nothing, &mut host, &mut output);
    assert!(matches!(result, CallResult::Sliced));
}

#[test]
fn a_page_sleeps_wherever_it_is() {
    let mut stage = Stage::new();
    let page = stage.load(
        "sleep(0.25)
        pcall(function() sleep(1) end)
        local c = coroutine.wrap(function(a) sleep(2) local b = coroutine.yield(a + 1) sleep(3) return b end)
        _b:put(c(1), c(7))
        local t = setmetatable({}, { __index = function(_, k) sleep(4) return k end })
        _b:put(t.x)
        for x in (function() sleep(5) return nil end) do end
        _b:put(coroutine.wrap(function() return coroutine.wrap(function() sleep(6) return 'deep' end)() end)())",
    );
    let course = stage.play(&page).unwrap();
    assert_eq!(course.body, "27xdeep");
    let milliseconds = [250, 1000, 2000, 3000, 4000, 5000, 6000];
    let waits = milliseconds.map(|number| Wait::Sleep(Duration::from_millis(number)));
    assert_eq!(course.waits, waits);
}

#[test]
fn sleep_takes_seconds_only() {
    let mut stage = Stage::new();
    for code in ["sleep()", "sleep('x')", "sleep(-1)", "sleep(0/0)"] {
        assert_eq!(stage.failure(code).line, 1, "{code}");
    }
    let page = stage.load("sleep(math.huge)");
    let Step::Waits(_, Wait::Sleep(time)) = stage.start(&page) else { panic!("it waits") };
    assert_eq!(time, Duration::MAX);
}

#[test]
fn a_failed_wait_is_an_error_in_the_page() {
    let mut stage = Stage::new();
    let page = stage.load("local ok, e = pcall(sleep, 1) _b:put(e)\n\nsleep(2)");
    let Step::Waits(run, _) = stage.start(&page) else { panic!("it waits") };
    let step = stage.reply(run, WaitReply::Failed("no timer"));
    let Step::Waits(run, _) = step else { panic!("it waits again") };
    let step = stage.reply(run, WaitReply::Failed("no timer"));
    let Step::Failed(error) = step else { panic!("nobody catches it") };
    assert_eq!(error.to_string(), "test.page.html:3: no timer");
}

#[test]
fn results_of_wait_are_strings() {
    let mut stage = Stage::new();
    let page = stage.load("local one, other, none = sleep(1) _b:put(#one, other, type(none))");
    let Step::Waits(run, _) = stage.start(&page) else { panic!("it waits") };
    let reply = WaitReply::Texts(&[&b"a\0\xff"[..], b"b"]);
    let step = stage.reply(run, reply);
    assert!(matches!(step, Step::Done));
    assert_eq!(stage.output.body, b"3bnil");
}

#[test]
fn waiting_pages_take_turns() {
    let mut stage = Stage::new();
    let page = stage.load("local n = request.query.page sleep(1) _b:put(n) sleep(1) _b:put(n)");
    let mut runs: Vec<_> = (0..50)
        .map(|_| match stage.start(&page) {
            Step::Waits(run, _) => run,
            _ => panic!("it waits"),
        })
        .collect();
    runs.reverse();
    let again: Vec<_> = runs
        .into_iter()
        .map(|run| match stage.resume(run) {
            Step::Waits(run, _) => run,
            _ => panic!("it waits again"),
        })
        .collect();
    for run in again {
        assert!(matches!(stage.resume(run), Step::Done));
        assert_eq!(stage.output.body, b"22");
    }
}

#[test]
fn time_comes_from_the_host() {
    let mut stage = Stage::new();
    let code = "_b:put(('%.3f'):format(time.now()), ' ', os.time(), ' ', time.http(784111777), ' ',
        time.date('!%Y-%m-%d'), ' ', os.date('!%H', 3600), ' ', os.clock() > 0 and 'on' or 'off')";
    assert_eq!(
        stage.body(code),
        "1000000000.000 1000000000 Sun, 06 Nov 1994 08:49:37 GMT 2001-09-09 01 on"
    );
}

#[test]
fn the_log_takes_any_values() {
    let mut stage = Stage::new();
    assert_eq!(
        stage.body(
            "log('a', 1, nil, true) log.warn('b') log.error() print('c', {} ~= nil) log.debug('d')"
        ),
        ""
    );
    let lines: Vec<_> =
        stage.desk.log.iter().map(|(level, text)| (*level, text.as_str())).collect();
    let expected = [
        (PageLogLevel::Info, "a 1 nil true"),
        (PageLogLevel::Warning, "b"),
        (PageLogLevel::Error, ""),
        (PageLogLevel::Info, "c true"),
        (PageLogLevel::Debug, "d"),
    ];
    assert_eq!(lines, expected);
}

#[test]
fn html_is_escaped_and_text_is_kept() {
    let mut stage = Stage::new();
    let code = r#"_b:put(html.escape("<a href='x'>&\"</a>"), html.escape(5), html.escape("é\0z"), html.escape(("<"):rep(3)))"#;
    assert_eq!(
        stage.body(code),
        "&lt;a href=&#39;x&#39;&gt;&amp;&quot;&lt;/a&gt;5é\0z&lt;&lt;&lt;"
    );
}

#[test]
fn many_different_texts_are_escaped_again_and_again() {
    let mut stage = Stage::new();
    let code = "for round = 1, 3 do
          for i = 1, 6000 do
            local text = ('<'):rep(i % 300) .. i
            local whole = _e(text)
            assert(#whole == #text + 3 * (i % 300) and whole:sub(-#tostring(i)) == tostring(i), text)
          end
        end
        _b:put('fine')";
    assert_eq!(stage.body(code), "fine");
}

#[test]
fn texts_are_parts_of_urls() {
    let mut stage = Stage::new();
    let code = r#"
        local all = {}
        for code = 0, 255 do all[#all + 1] = string.char(code) end
        all = table.concat(all):rep(300)
        assert(url.decode(url.encode(all)) == all and not url.encode(all):find('[^%w%-._~%%]'))
        assert(url.encode('a b/c?d=é&+~') == 'a%20b%2Fc%3Fd%3D%C3%A9%26%2B~' and url.encode(1.5) == '1.5')
        assert(url.decode('a+b%2Bc%2bd%') == 'a b+c+d%' and url.decode('%zz%4') == '%zz%4')
        assert(url.query({ b = 'x y', a = 1, c = { 'd', true } }) == 'a=1&b=x%20y&c=d&c=true' and url.query({}) == '')
        _b:put('fine')"#;
    assert_eq!(stage.body(code), "fine");
}

/// A host whose answers panic.
struct Broken;

impl PageHost for Broken {
    fn request(&mut self, _: RequestPart, _: &mut HostAnswer) {
        panic!("the host broke");
    }

    fn now(&mut self) -> Duration {
        Duration::ZERO
    }

    fn log(&mut self, _: PageLogLevel, _: &[u8]) {}
}

#[test]
fn a_panic_of_the_host_goes_through_to_who_runs_the_page() {
    let mut stage = Stage::new();
    let page = stage.load("pcall(function() return request.path end) _b:put('on')");
    let mut output = PageOutput::default();
    let mut run = stage.state.begin(&page).unwrap();
    let caught = catch_unwind(AssertUnwindSafe(|| {
        let _ = stage.state.resume(&mut run, WaitReply::Nothing, &mut Broken, &mut output);
    }));
    assert_eq!(caught.err().unwrap().downcast_ref::<&str>(), Some(&"the host broke"));
    assert_eq!(stage.body("_b:put(request.path)"), "/hello");
}

#[test]
fn two_engines_share_a_thread() {
    let mut one = Stage::with(EngineSettings::default());
    let mut other = Stage::with(EngineSettings {
        slice: Duration::from_millis(4),
        ..EngineSettings::default()
    });
    let first = one.load("while true do end");
    let second = other.load("while true do end");
    for _ in 0..5 {
        assert!(matches!(one.start(&first), Step::Sliced(_)));
        assert!(matches!(other.start(&second), Step::Sliced(_)));
    }
    drop(one);
    assert!(matches!(other.start(&second), Step::Sliced(_)));
}

#[test]
fn the_clock_of_os_measures_what_takes_less_than_a_second() {
    let mut stage = Stage::new();
    let code = "local begun = os.clock() _b:put(os.clock() - begun)";
    assert_eq!(stage.body(code), "0.00025");
}
