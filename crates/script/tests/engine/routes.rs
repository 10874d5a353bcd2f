//! App modules: which handler answers a request, its middleware, and what its result becomes.

use proptest::prelude::*;
use script::engine::{Author, EngineSettings, Fault, Handler, Purpose, ScriptError};

use crate::stage::Stage;
use crate::waits::{Step, Wait};

/// Loads a module without others.
fn module(stage: &mut Stage, text: &str) -> Result<Handler, Box<ScriptError>> {
    stage.state.provide("api", "api.lua", text)?;
    stage.state.adopt_modules()?;
    stage.state.load_module("api", "api.lua", Purpose::Answers, &mut stage.desk)
}

/// A module, and its answers: status, body, and `Allow` or the type.
pub(crate) struct App {
    pub(crate) stage: Stage,
    pub(crate) handler: Handler,
}

impl App {
    pub(crate) fn new(text: &str) -> Self {
        let mut stage = Stage::new();
        let handler = module(&mut stage, text).unwrap();
        Self { stage, handler }
    }

    fn ask(&mut self, method: &'static str, rest: &str) -> Result<(u16, String), Box<ScriptError>> {
        self.stage.desk.method = Some(method);
        self.stage.desk.rest = rest.to_owned();
        let course = self.stage.play(&self.handler)?;
        Ok((self.stage.output.status.unwrap_or(200), course.body))
    }

    pub(crate) fn answer(&mut self, method: &'static str, rest: &str) -> (u16, String) {
        self.ask(method, rest).unwrap()
    }

    pub(crate) fn body(&mut self, method: &'static str, rest: &str) -> String {
        let (status, body) = self.answer(method, rest);
        assert_eq!(status, 200, "{method} {rest}");
        body
    }

    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.stage.fields().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// A status that the server is to answer with, and `Allow`.
    fn refusal(&mut self, method: &'static str, rest: &str) -> (u16, Option<String>) {
        let (status, _) = self.answer(method, rest);
        assert_eq!(self.stage.output.author, Author::Server, "{method} {rest}");
        (status, self.field("Allow").map(str::to_owned))
    }
}

fn refused(text: &str) -> String {
    // With slices that end: one of the modules would run for ever.
    let error = module(&mut Stage::with(EngineSettings::default()), text).err().expect(text);
    error.to_string()
}

const ROUTES: &str = "return {
    { 'GET', '/', function() return 'root' end },
    { 'GET', '/riders/new', function() return 'new' end },
    { 'GET', '/riders/:id', function(request) return 'rider ' .. request.parameters.id end },
    { '/riders/:rider/laps/:lap', {
        GET = function(request) return request.parameters.rider .. '/' .. request.parameters.lap end,
        PUT = function(request) return 'put ' .. request.parameters.lap end,
    } },
    { 'POST', '/riders/:name', function(request) return 'post ' .. request.parameters.name end },
    { '/files/*path', function(request) return request.method .. ' ' .. request.parameters.path end },
    { 'GET', '/riders/new/*rest', function(request) return 'rest ' .. request.parameters.rest end },
}";

#[test]
fn a_literal_goes_before_a_parameter_and_that_before_the_rest() {
    let mut app = App::new(ROUTES);
    assert_eq!(app.body("GET", "/"), "root");
    assert_eq!(app.body("GET", "/riders/new"), "new");
    assert_eq!(app.body("GET", "/riders/7"), "rider 7");
    assert_eq!(app.body("GET", "/riders/new/laps/3"), "rest laps/3");
    assert_eq!(app.body("PUT", "/riders/new/laps/3"), "put 3");
    assert_eq!(app.body("GET", "/riders/7/laps/3"), "7/3");
    assert_eq!(app.body("POST", "/riders/new"), "post new");
    assert_eq!(app.body("DELETE", "/files/a/b c"), "DELETE a/b c");
    assert_eq!(app.body("GET", "/files/"), "GET ");
    for path in ["/riders", "/riders/", "/riders/7/", "/files", "/other", "/riders/7/laps/", "//"] {
        assert_eq!(app.refusal("GET", path), (404, None), "{path}");
    }
}

#[test]
fn other_methods_are_told_which_there_are() {
    let mut app = App::new(ROUTES);
    let allow = |text: &str| Some(text.to_owned());
    assert_eq!(app.refusal("DELETE", "/"), (405, allow("GET, HEAD, OPTIONS")));
    assert_eq!(app.refusal("PUT", "/riders/new"), (405, allow("GET, HEAD, POST, OPTIONS")));
    assert_eq!(app.refusal("POST", "/riders/7/laps/1"), (405, allow("GET, HEAD, PUT, OPTIONS")));
    assert_eq!(app.answer("OPTIONS", "/riders/7"), (204, String::new()));
    assert_eq!(app.field("Allow"), Some("GET, HEAD, POST, OPTIONS"));
    assert_eq!(app.body("HEAD", "/riders/7"), "rider 7");
    assert_eq!(app.body("OPTIONS", "/files/x"), "OPTIONS x", "a function takes all methods");
}

#[test]
fn handlers_by_method_take_all_paths() {
    let mut app = App::new(
        "return { GET = function(request) return request.rest end, OPTIONS = function() return 'own' end }",
    );
    assert_eq!(app.body("GET", "/any/path"), "/any/path");
    assert_eq!(app.body("HEAD", "/"), "/");
    assert_eq!(app.body("OPTIONS", "/"), "own");
    assert_eq!(app.refusal("POST", "/"), (405, Some("GET, HEAD, OPTIONS".into())));
    let mut app = App::new("return function(request, response) response:write(request.method) end");
    for method in ["GET", "POST", "PATCH", "OPTIONS"] {
        assert_eq!(app.body(method, "/"), method);
    }
}

#[test]
fn value_of_handler_becomes_answer() {
    let mut app = App::new(
        "return {
            { '/nothing', function(request, response) response:write('written') end },
            { '/text', function() return 'text' end },
            { '/json', function() return { a = 1 } end },
            { '/list', function() return json.array() end },
            { '/status', function() return 201, { 'made' } end },
            { '/empty', function() return 204 end },
            { '/missing', function() return 404 end },
            { '/own', function() return 404, 'not this one' end },
            { '/written', function(request, response) response:write('so') return 404 end },
            { '/typed', function(request, response)
                response.headers['content-type'] = 'application/problem+json'
                return 400, { title = 'no' }
            end },
            { '/true', function() return true end },
            { '/code', function() return 42 end },
            { '/reversed', function() return { a = 1 }, 201 end },
            { '/reason', function() return nil, 'not there' end },
            { '/three', function() return 200, 'a', 'b' end },
            { '/loop', function() local t = {} t[1] = t return t end },
        }",
    );
    let of = |app: &mut App, path: &str| {
        let answer = app.answer("GET", path);
        (answer.0, answer.1, app.stage.output.author == Author::Server)
    };
    assert_eq!(of(&mut app, "/nothing"), (200, "written".into(), false));
    assert_eq!(of(&mut app, "/text"), (200, "text".into(), false));
    assert_eq!(app.field("Content-Type"), None);
    assert_eq!(of(&mut app, "/json"), (200, r#"{"a":1}"#.into(), false));
    assert_eq!(app.field("Content-Type"), Some("application/json"));
    assert_eq!(of(&mut app, "/list"), (200, "[]".into(), false));
    assert_eq!(of(&mut app, "/status"), (201, r#"["made"]"#.into(), false));
    assert_eq!(of(&mut app, "/empty"), (204, String::new(), false));
    assert_eq!(of(&mut app, "/missing"), (404, String::new(), true));
    assert_eq!(of(&mut app, "/own"), (404, "not this one".into(), false));
    assert_eq!(of(&mut app, "/written"), (404, "so".into(), false));
    assert_eq!(of(&mut app, "/typed"), (400, r#"{"title":"no"}"#.into(), false));
    assert_eq!(app.field("Content-Type"), None, "its own name for the field stands");
    for (path, told) in [
        ("/true", "a handler gives a text, a table, or a status and one of them, not a boolean"),
        ("/code", "not a status: 42"),
        ("/reversed", "a handler gives a status first and then one value"),
        ("/reason", "a handler gives a status first and then one value"),
        ("/three", "a handler gives a status first and then one value"),
        ("/loop", "what this handler gave is not for JSON: "),
    ] {
        let error = app.ask("GET", path).err().unwrap();
        assert_eq!((error.fault, &*error.page), (Fault::Runtime, "api.lua"), "{error}");
        assert!(error.message.contains(told), "{error}");
    }
}

#[test]
fn middleware_is_around_and_may_answer_by_itself() {
    let mut app = App::new(
        "local function mark(name)
            return function(request, response, next)
                response:write(name, '(')
                local status, body = next()
                response:write(name, ')')
                return status, body
            end
        end
        local function silent(request, response, next) next() end
        local function guard(request, response, next)
            if request.rest == '/closed' then return 403, 'closed' end
            return next()
        end
        return {
            use = { mark('a'), mark('b') },
            { 'GET', '/', function(request, response) response:write('root') end },
            { 'GET', '/inner', function() return 201, 'x' end, use = { mark('c'), silent } },
            { '/closed', { use = { guard }, GET = function() error('never') end } },
            { 'GET', '/first', function() return 201, { a = 1 } end, use = { function(_, _, next) local r = next() return r end } },
            { 'GET', '/other', function() return 201, 'x' end, use = { function(_, _, next) next() return 202 end } },
            { 'GET', '/twice', function() return 'x' end, use = { function(_, _, next) next() next() end } },
        }",
    );
    assert_eq!(app.body("GET", "/"), "a(b(rootb)a)");
    assert_eq!(app.answer("GET", "/inner"), (201, "a(b(c(c)b)a)x".into()));
    assert_eq!(app.answer("GET", "/first"), (201, "a(b(b)a){\"a\":1}".into()));
    assert_eq!(app.answer("GET", "/other"), (202, "a(b(b)a)".into()));
    assert_eq!(app.answer("GET", "/closed"), (403, "a(b(b)a)closed".into()));
    assert_eq!(app.answer("GET", "/absent"), (404, "a(b(b)a)".into()));
    assert_eq!(app.answer("OPTIONS", "/"), (204, "a(b(b)a)".into()));
    let error = app.ask("GET", "/twice").err().unwrap();
    assert_eq!(error.to_string(), "api.lua:21: next() was called already");
    let mut app = App::new(
        "return { use = { function(r, response, next) response.headers.Seen = '1' return next() end },
            GET = function() return 'got' end }",
    );
    assert_eq!(app.body("GET", "/"), "got");
    assert_eq!(app.refusal("POST", "/").0, 405);
    assert_eq!(app.field("Seen"), Some("1"), "also around what no handler takes");
}

#[test]
fn a_module_that_cannot_answer_is_refused_when_it_is_loaded() {
    for (text, told) in [
        ("", "api.lua: it gives no handlers"),
        ("return 7", "api.lua: it gives no handlers"),
        ("return {}", "api.lua: there is no handler"),
        ("return { get = function() end }", "api.lua: 'get' is no method"),
        ("return { GET = 'x' }", "api.lua: the handler of GET is a function, not a string"),
        ("return { { 'GET', 'x', print } }", "api.lua: route 1: a path begins with a slash: x"),
        ("return { { '/a?b', print } }", "api.lua: route 1: a path has neither query nor fragment"),
        ("return { { '/' } }", "api.lua: route 1: a handler is a function"),
        ("return { { 'GET', '/', {} } }", "api.lua: route 1: the handler of GET is a function"),
        ("return { { 'GIT', '/', print } }", "api.lua: route 1: 'GIT' is no method"),
        ("return { { '/:', print } }", "api.lua: route 1: ':' is no parameter"),
        ("return { { '/:a/:a', print } }", "api.lua: route 1: ':a' is no parameter"),
        ("return { { '/*a/b', print } }", "api.lua: route 1: '*a' stands for all that follows"),
        (
            "return { { 'GET', '/:a', print }, { '/:b', { GET = print } } }",
            "api.lua: route 2: there is a route for GET /:b already",
        ),
        ("return { { '/', print, ues = {} } }", "api.lua: route 1: 'ues' is not known"),
        ("return { { '/', print }, GET = print }", "api.lua: 'GET' beside routes"),
        ("return { use = print, GET = print }", "api.lua: `use` is a list of functions"),
        ("return { { '/', print, use = { 'log' } } }", "api.lua: route 1: `use` is a list"),
        ("\nlocal me = require('api')", "api.lua:2: module 'api' requires itself"),
        ("\nlocal x = nil + 1", "api.lua:2: attempt to perform arithmetic on a nil value"),
        ("x = 1", "api.lua:1: assign to undeclared global 'x': declare it with local"),
        ("\n\nsleep(1)", "api.lua:3: it waits while it is loaded"),
        ("while true do end", "api.lua:1: used more than 250 ms of CPU time"),
    ] {
        let error = refused(text);
        assert!(error.starts_with(told), "{text}: {error}");
    }
}

#[test]
fn modules_of_one_set_find_each_other_and_keep_to_it() {
    let mut stage = Stage::new();
    let api = "local counter = require('lib.counter')
        return { GET = function() return require('lib.counter').name .. counter.next() end }";
    let counter = |name: &str| {
        format!(
            "local n = 0 return {{ name = '{name}', next = function() n = n + 1 return n end }}"
        )
    };
    let mut load = |name: &str| {
        stage.state.provide("lib.counter", "lib/counter.lua", &counter(name)).unwrap();
        stage.state.provide("api", "api.lua", api).unwrap();
        stage.state.adopt_modules().unwrap();
        stage.state.load_module("api", "api.lua", Purpose::Answers, &mut stage.desk).unwrap()
    };
    let (old, new) = (load("old"), load("new"));
    for (handler, body) in [(&old, "old1"), (&new, "new1"), (&old, "old2"), (&new, "new2")] {
        assert_eq!(stage.play(handler).unwrap().body, body);
    }
    assert_eq!(stage.body("_b:put(require('lib.counter').name)"), "new");
    for name in
        ["'../x'", "'/etc/passwd'", "'lib/counter'", "'lib..counter'", "'.lib'", "{}", "nil"]
    {
        let text = format!("return function() require({name}) end");
        let handler = module(&mut stage, &text).unwrap();
        let error = stage.play(&handler).err().unwrap();
        assert!(error.message.starts_with("not the name of a module"), "{name}: {error}");
    }
}

#[test]
fn a_module_renders_pages_of_the_site() {
    let mut stage = Stage::new();
    let page = "return function(_b, _e, _r, request, response, arguments) _b:put('<', arguments.name, '>') \
                end";
    let layout = "return function(_b) _b:put('[') _b:put(content(), ']') end";
    let with_layout =
        "return function(_b) layout('/_base.html') include('hello.html', { name = 'x' }) end";
    stage.state.load(0, "hello.page.html", page).unwrap();
    stage.state.load(0, "_base.page.html", layout).unwrap();
    stage.state.load(0, "with.page.html", with_layout).unwrap();
    let handler = module(
        &mut stage,
        "return function(request, response)
            response:write('before ')
            render('/hello.html', { name = 'Ada' })
            render('/with.html')
            return ' after'
        end",
    )
    .unwrap();
    for _ in 0..2 {
        assert_eq!(stage.play(&handler).unwrap().body, "before <Ada>[<x>] after");
        let fields: Vec<_> = stage.fields().collect();
        assert_eq!(fields, [("Content-Type", "text/html; charset=utf-8")]);
    }
    let handler = module(&mut stage, "return function()\nrender('none.html') end").unwrap();
    let error = stage.play(&handler).err().unwrap();
    assert!(error.to_string().starts_with("api.lua:2: there is no part 'none.html'"), "{error}");
}

#[test]
fn rendered_template_may_flush() {
    let mut stage = Stage::new();
    let page = "return function(_b, _e, _r, request, response) _b:put('x') response:flush() _b:put('y') end";
    stage.state.load(0, "parts.page.html", page).unwrap();
    let text = "return function(_, response) response:write('before ') render('/parts.html') return ' \
                after' end";
    let handler = module(&mut stage, text).unwrap();
    let Step::Waits(run, Wait::Flush) = stage.start(&handler) else { panic!("it flushes") };
    let fields: Vec<_> = stage.fields().collect();
    assert_eq!(fields, [("Content-Type", "text/html; charset=utf-8")]);
    assert_eq!(stage.output.body, b"before x");
    assert!(matches!(stage.resume(run), Step::Done));
    assert_eq!(stage.output.body, b"y after");
}

/// A path of a route or a request: few different words, so that they often match.
fn pieces(words: &'static [&'static str]) -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(prop::sample::select(words), 1..4)
}

/// Whether a route matches a path, and how specifically: for each segment a literal counts 2, a parameter 1.
fn taken(route: &[&str], path: &[&str]) -> Option<Vec<u8>> {
    let fits = |(route, path): (&&str, &&str)| match *route {
        ":x" => (!path.is_empty()).then_some(1),
        literal => (literal == *path).then_some(2),
    };
    if route.len() != path.len() {
        return None;
    }
    route.iter().zip(path).map(fits).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn the_route_is_the_one_that_comparing_all_of_them_finds(
        routes in prop::collection::vec(
            (prop::sample::select(&["GET", "POST", "PUT"][..]), pieces(&["a", "b", ":x", ":x", ""])),
            1..12,
        ),
        asked in prop::collection::vec(
            (prop::sample::select(&["GET", "POST", "PUT", "HEAD"][..]), pieces(&["a", "b", "c", ""])),
            1..8,
        ),
    ) {
        let mut routes = routes;
        routes.sort();
        routes.dedup();
        let entries: String = routes.iter().enumerate().map(|(index, (method, pieces))| {
            // A name is used once in a path.
            let named = |(place, piece): (usize, &&str)| format!("/{}", piece.replace(":x", &format!(":x{place}")));
            let path: String = pieces.iter().enumerate().map(named).collect();
            format!("{{ '{method}', '{path}', function() return '{index}' end }},\n")
        }).collect();
        let mut app = App::new(&format!("return {{ {entries} }}"));
        for (method, path) in asked {
            let wanted = if method == "HEAD" { "GET" } else { method };
            let all: Vec<_> = routes
                .iter()
                .enumerate()
                .filter_map(|(index, (method, route))| Some((taken(route, &path)?, *method, index)))
                .collect();
            let best = all.iter().filter(|(_, method, _)| *method == wanted).max();
            let rest: String = path.iter().map(|piece| format!("/{piece}")).collect();
            let (status, body) = app.answer(method, &rest);
            match best {
                Some((_, _, index)) => prop_assert_eq!((status, body), (200, index.to_string())),
                None if all.is_empty() => prop_assert_eq!(status, 404),
                None => prop_assert_eq!(status, 405),
            }
        }
    }
}
