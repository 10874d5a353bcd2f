//! Signed cookies: a page reads back what it signed, and nothing else is accepted.

use std::time::Duration;

use proptest::prelude::*;
use script::engine::{EngineSettings, Fault, Keys};
use script::limits::COOKIES_TRIED;

use crate::stage::Stage;

const READ: &str = "_b:put(tostring(request.signed_cookies.rider))";

fn stage() -> Stage {
    let mut stage = Stage::new();
    stage.state.set_keys(Keys::new(["the key of these tests"]));
    stage
}

/// The cookie that a page sets.
fn set(stage: &mut Stage, code: &str) -> (String, String, String) {
    stage.body(code);
    let [cookie] = stage.cookies_set().try_into().unwrap();
    cookie
}

/// The value that a page reads if the client sends this one.
fn read(stage: &mut Stage, value: &str) -> String {
    stage.desk.cookies = vec![("rider".to_owned(), value.to_owned())];
    stage.body(READ)
}

#[test]
fn a_signed_cookie_comes_back_as_it_was() {
    let mut stage = stage();
    let code = "response:cookie('rider', 'Ada; \\0\\255', { signed = true, max_age = 60 })";
    let (name, value, attributes) = set(&mut stage, code);
    assert_eq!(name, "rider");
    assert_eq!(attributes, "Path=/; Max-Age=60; SameSite=Lax; HttpOnly");
    let [text, expires, code] = value.split('.').collect::<Vec<_>>().try_into().unwrap();
    assert_eq!((text, expires, code.len()), ("QWRhOyAA_w", "1000000060", 43));
    stage.desk.cookies = vec![("rider".to_owned(), value)];
    let page =
        stage.load("_b:put(crypto.hex(request.signed_cookies.rider), #request.cookies.rider)");
    assert_eq!(stage.play(&page).unwrap().body, "4164613b2000ff65");
}

#[test]
fn a_cookie_of_ours_is_found_among_others_of_its_name() {
    let mut stage = stage();
    let (_, value, _) = set(&mut stage, "response:cookie('rider', 'Ada', { signed = true })");
    let (_, second, _) = set(&mut stage, "response:cookie('rider', 'Grace', { signed = true })");
    let cookie = |value: &str| ("rider".to_owned(), value.to_owned());
    for (values, expected) in [
        (vec![cookie(&value), cookie("x")], "Ada"),
        (vec![cookie("x"), cookie(""), cookie(&value)], "Ada"),
        (vec![cookie(&value), cookie(&second)], "Ada"),
        (vec![cookie("x"), ("other".to_owned(), value.clone())], "nil"),
        ([vec![cookie("x"); COOKIES_TRIED - 1], vec![cookie(&value)]].concat(), "Ada"),
        ([vec![cookie("x"); COOKIES_TRIED], vec![cookie(&value)]].concat(), "nil"),
    ] {
        stage.desk.cookies = values;
        assert_eq!(stage.body(READ), expected, "{:?}", stage.desk.cookies);
    }
    stage.desk.cookies = vec![cookie("a"), cookie("b")];
    let code = "_b:put(table.concat(request.cookie_lists.rider, ' '), ' ', request.cookies.rider)";
    assert_eq!(stage.body(code), "a b b");
}

#[test]
fn tampered_cookie_is_refused() {
    let mut stage = stage();
    let (_, value, _) = set(&mut stage, "response:cookie('rider', 'Ada', { signed = true })");
    assert_eq!(read(&mut stage, &value), "Ada");
    for index in 0..value.len() {
        let mut bytes = value.clone().into_bytes();
        bytes[index] = if bytes[index] == b'B' { b'C' } else { b'B' };
        let changed = String::from_utf8(bytes).unwrap();
        assert_eq!(read(&mut stage, &changed), "nil", "{changed}");
        assert_eq!(read(&mut stage, &value[..index]), "nil");
    }
    for changed in
        [format!("{value}A"), format!("{value}="), format!(" {value}"), format!("A{value}")]
    {
        assert_eq!(read(&mut stage, &changed), "nil", "{changed}");
    }
    for nonsense in ["", ".", "..", "...", "a.1.b", ".0.", &"A.".repeat(5000)] {
        assert_eq!(read(&mut stage, nonsense), "nil", "{nonsense}");
    }
    stage.desk.cookies = vec![("other".to_owned(), value)];
    assert_eq!(stage.body("_b:put(tostring(request.signed_cookies.other))"), "nil", "its name");
    assert_eq!(stage.body(READ), "nil", "there is none");
}

#[test]
fn a_cookie_is_good_until_its_time_is_over() {
    let mut stage = stage();
    for (options, seconds) in [("max_age = 60", 60), ("max_age = 0.9", 1), ("", 14 * 86_400)] {
        let code = format!("response:cookie('rider', 'Ada', {{ signed = true, {options} }})");
        stage.desk.passed = Duration::ZERO;
        let (_, value, _) = set(&mut stage, &code);
        stage.desk.passed = Duration::from_secs(seconds - 1);
        assert_eq!(read(&mut stage, &value), "Ada", "{options}");
        stage.desk.passed = Duration::from_secs(seconds);
        assert_eq!(read(&mut stage, &value), "nil", "{options}");
    }
}

#[test]
fn keys_are_changed_one_after_the_other() {
    let mut stage = stage();
    let (_, value, _) = set(&mut stage, "response:cookie('rider', 'Ada', { signed = true })");
    stage.state.set_keys(Keys::new(["a new key", "the key of these tests"]));
    assert_eq!(read(&mut stage, &value), "Ada");
    let (_, newer, _) = set(&mut stage, "response:cookie('rider', 'Ada', { signed = true })");
    assert_ne!(newer, value);
    stage.state.set_keys(Keys::new(["a new key"]));
    assert_eq!((read(&mut stage, &value), read(&mut stage, &newer)), ("nil".into(), "Ada".into()));
}

#[test]
fn a_cookie_has_the_size_that_browsers_keep() {
    let mut stage = stage();
    let code = |size: usize| {
        format!("\nresponse:cookie('rider', string.rep('x', {size}), {{ signed = true }})")
    };
    let (name, value, _) = set(&mut stage, &code(3027));
    assert_eq!(name.len() + value.len(), 4096);
    assert_eq!(read(&mut stage, &value).len(), 3027);
    let error = stage.failure(&code(3028));
    assert_eq!((error.fault, error.line), (Fault::Runtime, 2));
    let expected = "the cookie 'rider' would have 4098 bytes, signed; browsers keep 4096";
    assert!(error.message.ends_with(expected), "{}", error.message);
}

#[test]
fn invalid_cookie_is_error_of_page() {
    let mut stage = stage();
    for (arguments, message) in [
        ("'rider', {}, { signed = true }", "is a string or a number, not a table"),
        ("'rider', 'a b'", "holds what a cookie cannot: encode it, or sign it"),
        ("'ri=der', '', { signed = true }", "not the name of a cookie: ri=der"),
        (
            "'rider', '', { signed = true, max_age = '1' }",
            "max_age is a number of seconds, not the string '1'",
        ),
        (
            "'rider', '', { signed = true, max_age = 0 / 0 }",
            "max_age is a number of seconds, not nan",
        ),
        ("'rider', '', { max_age = math.huge }", "max_age is a number of seconds, not inf"),
    ] {
        let error = stage.failure(&format!("\n\nresponse:cookie({arguments})"));
        assert_eq!((error.fault, error.line), (Fault::Runtime, 3), "{arguments}");
        assert!(error.message.ends_with(message), "{arguments}: {}", error.message);
    }
    let mut without = Stage::new();
    let error = without.failure("response:cookie('rider', 'Ada', { signed = true })");
    assert!(error.message.ends_with("there is no secret to sign cookies with"), "{error}");
}

#[test]
fn cookies_are_for_tls_alone_where_it_is_configured() {
    let settings = EngineSettings {
        slice: Duration::from_secs(3600),
        secure_cookies: true,
        session_age: Duration::from_secs(5),
        ..EngineSettings::default()
    };
    let mut stage = Stage::with(settings);
    stage.state.set_keys(Keys::random().unwrap());
    let (_, _, attributes) = set(&mut stage, "response:cookie('rider', 'Ada')");
    assert_eq!(attributes, "Path=/; SameSite=Lax; HttpOnly; Secure");
    let code = "response:cookie('rider', 'Ada', { signed = true, secure = false })";
    let (_, value, attributes) = set(&mut stage, code);
    assert_eq!(attributes, "Path=/; SameSite=Lax; HttpOnly");
    assert!(value.contains(".1000000005."), "{value}");
}

#[test]
fn cookies_of_an_encrypted_request_are_for_tls_alone() {
    let mut stage = stage();
    let code = "response:cookie('rider', 'Ada')";
    assert_eq!(set(&mut stage, code).2, "Path=/; SameSite=Lax; HttpOnly");
    stage.desk.scheme = "https";
    assert_eq!(set(&mut stage, code).2, "Path=/; SameSite=Lax; HttpOnly; Secure");
    let code = "response:cookie('rider', 'Ada', { secure = false })";
    assert_eq!(set(&mut stage, code).2, "Path=/; SameSite=Lax; HttpOnly");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_value_comes_back(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let mut stage = stage();
        let written: String = bytes.iter().map(|byte| format!("\\{byte:03}")).collect();
        let code = format!("response:cookie('rider', '{written}', {{ signed = true }})");
        let (name, value, _) = set(&mut stage, &code);
        prop_assert!(value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)));
        stage.desk.cookies = vec![(name, value)];
        let page = format!("_b:put(tostring(request.signed_cookies.rider == '{written}'))");
        prop_assert_eq!(stage.body(&page), "true");
    }
}
