//! Sessions: what a page leaves in `request.session` is there at the next request of the same browser.

use std::time::Duration;

use script::engine::{EngineSettings, Fault, Keys};

use crate::stage::Stage;

const SHOW: &str = "local session = request.session
    _b:put(tostring(session.user), ' ', tostring(session.laps and #session.laps))";

const DAY: Duration = Duration::from_secs(86_400);

fn stage() -> Stage {
    let mut stage = Stage::new();
    stage.state.set_keys(Keys::new(["the key of these tests"]));
    stage
}

/// Runs a page for a browser, which keeps its cookies. Returns the output, and whether a cookie was sent.
fn visit(stage: &mut Stage, code: &str) -> (String, bool) {
    let body = stage.body(code);
    let sent = stage.cookies_set();
    for (name, value, attributes) in &sent {
        stage.desk.cookies.retain(|(known, _)| known != name);
        if !attributes.contains("Max-Age=0") {
            stage.desk.cookies.push((name.clone(), value.clone()));
        }
    }
    (body, !sent.is_empty())
}

fn field<'a>(stage: &'a Stage, wanted: &str) -> Option<&'a str> {
    stage.fields().find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value)
}

#[test]
fn a_session_goes_from_request_to_request() {
    let mut stage = stage();
    assert_eq!(visit(&mut stage, SHOW), ("nil nil".into(), false), "nothing is kept of nothing");
    assert!(visit(&mut stage, "request.session.user = 'Ada' request.session.laps = { 1, 2 }").1);
    let (_, _, attributes) = stage.cookies_set().remove(0);
    assert_eq!(attributes, "Path=/; Max-Age=1209600; SameSite=Lax; HttpOnly");
    assert_eq!(visit(&mut stage, SHOW), ("Ada 2".into(), false), "it has not changed");
    // A nested change, a replacement, and the end.
    assert!(visit(&mut stage, "table.insert(request.session.laps, 3)").1);
    assert_eq!(visit(&mut stage, SHOW), ("Ada 3".into(), false));
    assert!(visit(&mut stage, "request.session = { user = 'Grace' }").1);
    assert_eq!(visit(&mut stage, SHOW), ("Grace nil".into(), false));
    assert!(visit(&mut stage, "request.session = nil").1);
    assert!(stage.desk.cookies.is_empty());
    assert_eq!(visit(&mut stage, "request.session = nil"), (String::new(), false));
    assert_eq!(visit(&mut stage, SHOW), ("nil nil".into(), false));
}

#[test]
fn a_session_is_found_among_other_cookies_of_its_name() {
    let mut stage = stage();
    assert!(visit(&mut stage, "request.session.user = 'Ada'").1);
    let valid = stage.desk.cookies[0].clone();
    let other = ("session".to_owned(), "other".to_owned());
    for cookies in [[valid.clone(), other.clone()], [other.clone(), valid.clone()]] {
        stage.desk.cookies = cookies.to_vec();
        assert_eq!(visit(&mut stage, SHOW), ("Ada nil".into(), false));
    }
    stage.desk.cookies = vec![other];
    assert_eq!(visit(&mut stage, SHOW), ("nil nil".into(), false));
}

#[test]
fn a_page_that_does_not_look_at_it_asks_for_nothing_and_sends_nothing() {
    let mut stage = stage();
    visit(&mut stage, "request.session.user = 'Ada'");
    stage.desk.asked.clear();
    assert_eq!(
        visit(&mut stage, "request.note = 'hello' _b:put(request.note)"),
        ("hello".into(), false)
    );
    assert!(stage.desk.asked.is_empty());
    assert_eq!(stage.fields().count(), 0);
}

#[test]
fn an_answer_with_a_session_is_for_one_browser() {
    let mut stage = stage();
    visit(&mut stage, SHOW);
    assert_eq!(field(&stage, "cache-control"), Some("private"));
    visit(
        &mut stage,
        "request.session.user = 'Ada' response.headers['Cache-Control'] = 'no-store'",
    );
    assert_eq!(field(&stage, "cache-control"), Some("no-store"));
    assert_eq!(stage.fields().count(), 2);
}

#[test]
fn all_that_json_knows_comes_back() {
    let mut stage = stage();
    visit(
        &mut stage,
        "request.session = { text = 'a\"<\\n\\195\\164', number = 1.5, yes = true, none = json.null, list = json.array(),
          deep = { { name = 'x' } }, [\"1\"] = 'one', clear = 'no method' }",
    );
    let code = "local s = request.session
        _b:put(s.text, s.number, tostring(s.yes), tostring(s.none == json.null), #s.list, s.deep[1].name, s['1'], s.clear)";
    assert_eq!(visit(&mut stage, code), ("a\"<\nä1.5truetrue0xoneno method".into(), false));
}

#[test]
fn a_session_lives_as_long_as_it_is_used() {
    let mut stage = stage();
    visit(&mut stage, "request.session.user = 'Ada'");
    for (day, is_sent) in [(6, false), (8, true), (14, false), (16, true), (29, true)] {
        stage.desk.passed = DAY * day;
        assert_eq!(visit(&mut stage, SHOW), ("Ada nil".into(), is_sent), "day {day}");
    }
    stage.desk.passed = DAY * 43;
    assert_eq!(visit(&mut stage, SHOW), ("nil nil".into(), false));
}

#[test]
fn forged_session_gives_none() {
    let mut stage = stage();
    visit(&mut stage, "request.session.user = 'Ada'");
    let ours = stage.desk.cookies.clone();
    let mut changed = ours.clone();
    changed[0].1.replace_range(4..5, "_");
    for cookies in
        [changed, vec![("session".into(), "x".into())], vec![("other".into(), ours[0].1.clone())]]
    {
        stage.desk.cookies = cookies;
        assert_eq!(visit(&mut stage, SHOW).0, "nil nil");
    }
    // A value signed under that name is a cookie, not a session, and the other way round.
    stage.desk.cookies.clear();
    visit(&mut stage, "response:cookie('session', '{\"user\":\"Ada\"}', { signed = true })");
    assert_eq!(visit(&mut stage, SHOW).0, "nil nil");
    stage.desk.cookies = ours;
    assert_eq!(visit(&mut stage, "_b:put(tostring(request.signed_cookies.session))").0, "nil");
    stage.state.set_keys(Keys::random().unwrap());
    assert_eq!(visit(&mut stage, SHOW).0, "nil nil");
}

#[test]
fn unsupported_session_value_is_error() {
    let mut stage = stage();
    for (code, message) in [
        (
            "request.session.f = print",
            "request.session.f: json.encode: a function has no form in JSON",
        ),
        ("request.session[1] = 'x'", "request.session has fields with names, not with a number: 1"),
        (
            "request.session.s = request.session",
            "request.session.s: json.encode: deeper than 124 levels, or a table within itself",
        ),
        (
            "request.session.a = 'x' request.session.text = string.rep('x', 4000)",
            "the cookie 'session' would have 5421 bytes, signed; browsers keep 4096; the largest field of \
             request.session is 'text', with 4002",
        ),
    ] {
        let error = stage.failure(code);
        assert_eq!((error.fault, &*error.message), (Fault::Runtime, message), "{code}");
    }
    let error = stage.failure("\nrequest.session = 'Ada'");
    assert_eq!(error.line, 2);
    assert!(error.message.ends_with("request.session is a table, not a string"), "{error}");
    // A page that forgets that may leave the table as it was.
    assert_eq!(
        visit(&mut stage, "pcall(function() request.session = 1 end)"),
        (String::new(), false)
    );
}

#[test]
fn parts_and_coroutines_see_the_same_session() {
    let mut stage = stage();
    let code = "local session = request.session
        coroutine.wrap(function() sleep(0.1) request.session.user = 'Ada' end)()
        _b:put(session.user)";
    assert_eq!(visit(&mut stage, code), ("Ada".into(), true));
}

#[test]
fn a_session_is_as_it_is_configured() {
    let settings = EngineSettings {
        slice: Duration::from_secs(3600),
        session_age: Duration::from_secs(10),
        secure_cookies: true,
        ..EngineSettings::default()
    };
    let mut stage = Stage::with(settings);
    stage.state.set_keys(Keys::random().unwrap());
    visit(&mut stage, "request.session.user = 'Ada'");
    let (_, _, attributes) = stage.cookies_set().remove(0);
    assert_eq!(attributes, "Path=/; Max-Age=10; SameSite=Lax; HttpOnly; Secure");
    stage.desk.passed = Duration::from_secs(10);
    assert_eq!(visit(&mut stage, SHOW).0, "nil nil");
}
