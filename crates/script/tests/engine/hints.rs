//! Errors that say how to fix the code: mistakes of people who know other servers, or another Lua.

use script::engine::{Fault, Purpose};

use crate::stage::Stage;

/// The message about a module with this text.
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
    let mut stage = Stage::new();
    let told = "undefined global 'render': pages have `include`, and app modules `render`";
    let error = stage.failure("\nrender('a.html')");
    assert_eq!(error.to_string(), format!("test.page.html:2: {told}"));
    // Also before it runs.
    let page = stage.load("if false then render('a.html') end");
    let strangers = stage.state.strangers(&page).unwrap();
    assert_eq!(strangers.iter().map(ToString::to_string).collect::<Vec<_>>(), [told]);
}

#[test]
fn code_behind_return_is_explained() {
    let last = "`return` has to be the last statement of its block: ";
    for (text, told) in [
        ("return 1\nlocal a", format!("api.lua:2: {last}'<eof>' expected near 'local'")),
        (
            "local f = function() return 1 f() end",
            format!("api.lua:1: {last}'end' expected near 'f'"),
        ),
        ("local a\nend", "api.lua:2: '<eof>' expected near 'end'".to_owned()),
        (
            "do local a\n",
            "api.lua:2: 'end' expected (to close 'do' at line 1) near '<eof>'".to_owned(),
        ),
    ] {
        assert_eq!(refused(text), told);
    }
    let error = Stage::new().try_load("return 1 local a").err().unwrap();
    assert_eq!(error.fault, Fault::Compile);
    assert!(error.message.starts_with(last) && error.message.ends_with(" near 'local'"), "{error}");
}

#[test]
fn a_route_without_a_handler_is_told_what_is_missing() {
    for (route, told) in [
        ("'GET', '/boom'", "there is no handler for GET /boom: it is behind the path"),
        (
            "'GETT', '/boom'",
            "'GETT' is no method: there are GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS; and of channels \
             SUBSCRIBE and PUBLISH",
        ),
        (
            "'/boom', '/'",
            "'/boom' is no method: there are GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS; and of channels \
             SUBSCRIBE and PUBLISH",
        ),
        ("'/boom'", "a handler is a function, or a table of functions by method, not a nil"),
    ] {
        let error = refused(&format!("return {{ {{ {route} }} }}"));
        assert_eq!(error, format!("api.lua: route 1: {told}"));
    }
}
