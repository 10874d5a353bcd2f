//! Errors that say how they are mended: what people write who know other servers, or another Lua.

use script::engine::{Fault, Purpose};

use crate::stage::Stage;

/// What is said of a module with this text.
fn refused(text: &str) -> String {
    let mut stage = Stage::new();
    if let Err(error) = stage.state.provide("api", "api.lua", text) {
        return error.to_string();
    }
    stage.state.adopt_modules().unwrap();
    let loaded = stage.state.load_module("api", "api.lua", Purpose::Answers, &mut stage.desk);
    loaded.err().unwrap().to_string()
}

#[test]
fn a_page_that_renders_is_told_of_include() {
    let error = Stage::new().failure("\nrender('a.html')");
    assert_eq!(
        error.to_string(),
        "test.page.html:2: undefined global 'render': pages have `include`, and app modules `render`"
    );
}

#[test]
fn what_is_behind_a_return_is_said_to_be() {
    let last = ": `return` has to be the last statement of its block";
    for (text, told) in [
        ("return 1\nlocal a", format!("api.lua:2: '<eof>' expected near 'local'{last}")),
        (
            "local f = function() return 1 f() end",
            format!("api.lua:1: 'end' expected near 'f'{last}"),
        ),
        ("local a\nend", "api.lua:2: '<eof>' expected near 'end'".to_owned()),
        ("do local a\n", "api.lua:2: 'end' expected near '<eof>'".to_owned()),
    ] {
        let error = refused(text);
        assert!(
            error.starts_with(&told) || error.replace(" (to close 'do' at line 1)", "") == told,
            "{error}"
        );
        assert_eq!(error.ends_with(last), told.ends_with(last), "{error}");
    }
    let error = Stage::new().try_load("return 1 local a").err().unwrap();
    assert_eq!(error.fault, Fault::Compile);
    assert!(error.message.ends_with(last), "{error}");
}

#[test]
fn a_route_without_a_handler_is_told_what_is_missing() {
    for (route, told) in [
        ("'GET', '/boom'", "there is no handler for GET /boom: it is behind the path"),
        (
            "'GETT', '/boom'",
            "'GETT' is no method: there are GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS",
        ),
        (
            "'/boom', '/'",
            "'/boom' is no method: there are GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS",
        ),
        ("'/boom'", "a handler is a function, or a table of functions by method, not a nil"),
    ] {
        let error = refused(&format!("return {{ {{ {route} }} }}"));
        assert_eq!(error, format!("api.lua: route 1: {told}"));
    }
}
