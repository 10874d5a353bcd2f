//! Modules that have a server of an upstream answer.

use script::engine::{Author, PassedOn};

use crate::routes::App;

#[test]
fn a_handler_may_have_a_server_of_an_upstream_answer() {
    let mut app = App::new(
        "return {
            { 'GET', '/plain', function(request) return request:proxy('api') end },
            { 'GET', '/full', function(request, response)
                response.headers['X-Own'] = 'o'
                return request:proxy('api', { path = '/x?y=%20', headers = { ['X-User'] = 'ann', ['X-N'] = 7 } })
            end },
            { 'GET', '/not', function(request) request:proxy('api') return 'own' end },
        }",
    );
    app.answer("GET", "/plain");
    let plain = PassedOn { upstream: "api", path: None, fields: Vec::new() };
    assert_eq!(app.stage.output.passed_on(), Some(plain));
    app.answer("GET", "/full");
    assert_eq!(app.field("X-Own"), Some("o"));
    let mut full = app.stage.output.passed_on().unwrap();
    full.fields.sort_unstable();
    assert_eq!((full.upstream, full.path), ("api", Some("/x?y=%20")));
    assert_eq!(full.fields, [("X-N", "7"), ("X-User", "ann")]);
    assert_eq!(app.body("GET", "/not"), "own");
    assert_eq!((app.stage.output.author, app.stage.output.passed_on()), (Author::Page, None));
}

#[test]
fn a_request_cannot_go_on_in_a_way_that_no_server_could_be_asked() {
    for (given, why) in [
        ("request.proxy('api')", "proxy is called with a colon"),
        ("request:proxy()", "the name of an [[upstream]], not nil"),
        ("request:proxy('a b')", "the name of an [[upstream]]"),
        ("request:proxy('a', 'b')", "a table of options"),
        ("request:proxy('a', { paht = '/x' })", "no option 'paht'"),
        ("request:proxy('a', { path = 'x' })", "`path` begins with a slash"),
        ("request:proxy('a', { path = '/x y' })", "`path` begins with a slash"),
        ("request:proxy('a', { path = '/x\\r\\nHost: b' })", "`path` begins with a slash"),
        ("request:proxy('a', { path = '/' .. ('x'):rep(20000) })", "`path` is longer than"),
        ("request:proxy('a', { headers = 'x' })", "`headers` is a table"),
        ("request:proxy('a', { headers = { ['a b'] = 'x' } })", "not a field name"),
        ("request:proxy('a', { headers = { a = 'x\\r\\nHost: b' } })", "of one line"),
        ("response:write('x') or request:proxy('a')", "writes nothing"),
        ("200, request:proxy('a')", "is given alone"),
    ] {
        let mut app = App::new(&format!("return function(request, response) return {given} end"));
        app.stage.desk.method = Some("GET");
        let App { stage, handler } = &mut app;
        let error = stage.play(handler).err().unwrap_or_else(|| panic!("{given}"));
        assert!(error.to_string().contains(why), "{given}: {error}");
    }
}
