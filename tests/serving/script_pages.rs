//! Goal: pages run and answer, and one that fails, loops or waits affects no other. Method: the built binary, raw
//! clients.

use crate::server::client::{field, head, text};
use crate::server::patience::until;
use crate::server::{Plan, Server};
use conformance::RequestKind;

const HELLO: &str = "<h1>Hello, <%= request.query.name or 'World' %>!</h1>\n";

fn start(pages: &[(&str, &str)]) -> Server {
    Plan::new().files(pages).start()
}

#[test]
fn a_page_answers_with_and_without_its_extension_and_never_as_source() {
    let server = start(&[("hello.page.html", HELLO), ("a/index.page.html", "<%= request.path %>")]);
    for path in ["/hello", "/hello.html"] {
        let response = server.get(path);
        assert_eq!((response.status, text(&response)), (200, "<h1>Hello, World!</h1>\n"), "{path}");
        assert_eq!(field(&response, "Content-Type"), "text/html; charset=utf-8");
    }
    assert_eq!(text(&server.get("/hello?name=%3Cb%3E+%26")), "<h1>Hello, &lt;b&gt; &amp;!</h1>\n");
    assert_eq!(text(&server.get("/a/")), "/a/");
    assert_eq!(server.get("/hello.page.html").status, 404);
}

#[test]
fn a_field_has_one_spelling_however_it_was_written() {
    let page = "<% response.headers['x-lap'] = 1 response.headers['etag'] = '\"a\"' \
        response.headers['X-API-Key'] = 'k' response.headers['CACHE-CONTROL'] = 'no-store' \
        response:cookie('a', 'b') request.session.user = 'Ada' %>text";
    let plan = Plan::new()
        .config("[headers]\nx-frame-options = \"DENY\"\nReferrer-policy = \"no-referrer\"\n");
    let server = plan.file("a.page.txt", page).start();
    let answer = server.get("/a");
    let mut names: Vec<&str> = answer.fields.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(
        names,
        [
            "Cache-Control",
            "Content-Length",
            "Content-Type",
            "Date",
            "ETag",
            "Referrer-Policy",
            "Set-Cookie",
            "X-API-Key",
            "X-Frame-Options",
            "X-Lap"
        ]
    );
}

#[test]
fn the_type_follows_the_extension_and_so_does_escaping() {
    let page = "<%= '<' %>";
    let server = start(&[("a.page.xml", page), ("b.page.txt", page), ("_c.page.html", page)]);
    let (feed, plain) = (server.get("/a"), server.get("/b.txt"));
    assert_eq!((field(&feed, "Content-Type"), text(&feed)), ("text/xml; charset=utf-8", "&lt;"));
    assert_eq!((field(&plain, "Content-Type"), text(&plain)), ("text/plain; charset=utf-8", "<"));
    assert_eq!(server.get("/_c").status, 404, "a part is only there to be included");
}

#[test]
fn a_page_sees_its_request_and_decides_its_answer() {
    let page = "<% response.status = 201 response.headers['X-One'] = 'two' -%>\n\
        <%= request.method %> <%= request.body %> <%= request.cookies.id %> <%= request.headers['x-in'] %>";
    let server = start(&[("form.page.txt", page)]);
    let mut client = server.client();
    let fields = [("Cookie", "a=b; id=7"), ("X-In", "in"), ("Content-Length", "5")];
    client.send(head("POST", "/form", &fields) + "x=1&y").unwrap();
    let response = client.response(RequestKind::Other).unwrap();
    assert_eq!((response.status, field(&response, "X-One")), (201, "two"));
    assert_eq!(text(&response), "POST x=1&y 7 in");
    // The connection stays open, and HEAD has the header of GET.
    let answer = client.request("HEAD", "/form", &[]).unwrap();
    assert_eq!((answer.status, text(&answer)), (201, ""));
}

#[test]
fn a_field_of_a_page_goes_in_the_place_of_a_configured_one() {
    let page = "<% response.headers['x-site'] = 'page' response.headers['X-Other'] = nil \
                response:cookie('b', 1) -%>";
    let config = "[headers]\nX-Site = \"all\"\nX-Other = \"all\"\nSet-Cookie = \"a=1\"\n";
    let response = Plan::new().config(config).file("a.page.txt", page).start().get("/a");
    let values = |name| response.values(name).map(|value| str::from_utf8(value).unwrap());
    assert_eq!(values("X-Site").collect::<Vec<_>>(), ["page"]);
    assert_eq!(values("X-Other").collect::<Vec<_>>(), ["all"], "it is not the page's to take away");
    assert_eq!(values("Set-Cookie").count(), 2, "they are two cookies");
}

#[test]
fn forms_are_read_and_cookies_come_back() {
    let page = "<% response:cookie('seen', 'yes') -%>\n<%= request.form.name %>, <%= request.cookies.seen \
                or 'new' %>";
    let server = start(&[("form.page.txt", page)]);
    let mut client = server.client();
    let mut post = |cookie: &str, kind: &str| {
        let body = "name=Ada+%26+co&x=";
        let length = body.len().to_string();
        let fields =
            [("Content-Length", length.as_str()), ("Content-Type", kind), ("Cookie", cookie)];
        client.send(head("POST", "/form", &fields) + body).unwrap();
        client.response(RequestKind::Other).unwrap()
    };
    let first = post("a=b", "application/x-www-form-urlencoded; charset=utf-8");
    assert_eq!(text(&first), "Ada & co, new");
    assert_eq!(field(&first, "set-cookie"), "seen=yes; Path=/; SameSite=Lax; HttpOnly");
    assert_eq!(text(&post("seen=yes", "APPLICATION/x-www-form-urlencoded")), "Ada & co, yes");
    assert_eq!(text(&post("seen=yes", "text/plain")), ", yes");
}

#[test]
fn a_page_that_fails_is_answered_500_and_named_in_the_log() {
    let pages = [
        ("fail.page.html", "one\n<% local x = nil; x.y = 1 %>"),
        ("global.page.html", "<% x = 1 %>"),
        ("broken.page.html", "\n<% for i = 1 do %>"),
        ("good.page.html", "good"),
    ];
    let server = start(&pages);
    let at_start = server.printed_errors();
    assert!(
        at_start.contains("broken.page.html:2:") && at_start.contains("it is answered 500"),
        "{at_start}"
    );
    for path in ["/fail", "/global", "/broken"] {
        assert_eq!(server.get(path).status, 500, "{path}");
    }
    let told = server.printed_errors();
    assert!(told.contains("fail.page.html:2: attempt to index local 'x'"), "{told}");
    assert!(told.contains("assign to undeclared global 'x': declare it with local"), "{told}");
    assert_eq!(text(&server.get("/good")), "good");
}

#[test]
fn a_page_that_loops_is_ended_and_others_are_answered_meanwhile() {
    let plan = Plan::new().argument("--schedulers=1");
    let plan =
        plan.file("loop.page.html", "<% while true do end %>").file("hello.page.html", HELLO);
    let server = plan.start();
    let mut looping = server.client();
    looping.send(head("GET", "/loop", &[])).unwrap();
    let mut others = server.client();
    let mut served = 0;
    // Its answer arrives when its budget is used up; until then the only scheduler serves others.
    let ended = std::thread::scope(|scope| {
        let ended = scope.spawn(|| looping.response(RequestKind::Other).unwrap());
        while !ended.is_finished() {
            assert_eq!(others.get("/hello").unwrap().status, 200);
            served += 1;
        }
        ended.join().unwrap()
    });
    assert_eq!((ended.status, field(&ended, "Retry-After")), (503, "1"));
    assert!(served > 20, "{served} others were answered");
    assert!(
        server.printed_errors().contains("loop.page.html:1: used more than 250 ms of CPU time")
    );
}

#[test]
fn a_page_that_waits_holds_up_nobody_and_ends_with_its_client() {
    let plan = Plan::new().argument("--schedulers=1").file("hello.page.html", HELLO);
    let server = plan
        .file("brief.page.txt", "<% sleep(0.05) %>slept")
        .file("long.page.txt", "<% sleep(20) %>")
        .start();
    let mut waiting = server.client();
    waiting.send(head("GET", "/long", &[])).unwrap();
    assert_eq!(server.get("/hello").status, 200);
    assert_eq!(text(&server.get("/brief")), "slept");
    drop(waiting);
    server.reaches("/pages/cancelled", 1);
    server.reaches("/connections", 0);
    assert_eq!(server.count("/pages/waiting"), 0);
}

#[test]
fn pages_that_are_not_enabled_are_hidden_and_not_run() {
    let plan = Plan::new().config("[pages]\nenabled = false\n").file("hello.page.html", HELLO);
    let server = plan.file("broken.page.html", "<% for %>").file("plain.html", "plain").start();
    for path in ["/hello", "/hello.html", "/hello.page.html", "/broken"] {
        assert_eq!(server.get(path).status, 404, "{path}");
    }
    assert_eq!(text(&server.get("/plain.html")), "plain");
    assert!(!server.printed_errors().contains("broken"), "nobody looked at it");
}

#[test]
fn configured_bounds_hold_for_pages() {
    let config = "[pages]\nnative = false\nslice = \"2ms\"\ncpu_budget = \"20ms\"\ndeadline = \"500ms\"\n\
        memory = \"4 MiB\"\n";
    let plan = Plan::new().config(config).file("hello.page.html", HELLO);
    let plan = plan
        .file("loop.page.html", "<% while true do end %>")
        .file("wait.page.html", "\n<% sleep(20) %>")
        .file("grow.page.html", "<% local t = {} for i = 1, 1e7 do t[i] = 'x' .. i end %>");
    let server = plan.start();
    assert_eq!(text(&server.get("/hello")), "<h1>Hello, World!</h1>\n");
    for path in ["/loop", "/wait", "/grow"] {
        let response = server.get(path);
        assert_eq!((response.status, field(&response, "Retry-After")), (503, "1"), "{path}");
    }
    let told = server.printed_errors();
    for expected in [
        "loop.page.html:1: used more than 20 ms of CPU time",
        "page wait.page.html: wait.page.html:2: took longer than 500ms, waits included; from \
         wait.page.html:2",
    ] {
        assert!(told.contains(expected), "{expected}: {told}");
    }
    assert_eq!(text(&server.get("/hello")), "<h1>Hello, World!</h1>\n");
}

const FAILING: [(&str, &str); 6] = [
    ("fail.page.html", "one\n<% local x = nil; x.y = 1 %>\n<script>secret()</script>\n"),
    ("broken.page.html", "secret()\n<% for i = 1 do %>"),
    ("lua.page.html", "secret()\n <% local = 1 %>"),
    ("open.page.html", "secret()\n<% if x then"),
    ("loop.page.html", "secret()\n<% while true do end %>"),
    ("grow.page.html", "secret()\n<% local t = {} for i = 1, 1e8 do t[i] = 'x' .. i end %>"),
];

fn failing(argument: &str) -> Server {
    let config =
        "[pages]\nmemory = \"8 MiB\"\nmemory_per_request = \"8 MiB\"\ncpu_budget = \"2s\"\n";
    Plan::new().config(config).argument(argument).files(&FAILING).start()
}

#[test]
fn in_development_a_page_that_fails_is_shown_to_its_author() {
    let server = failing("--dev");
    assert!(server.printed_errors().contains("every client sees the source"));
    for (path, status, place, message) in [
        ("/fail", 500, "fail.page.html:2</code>", "attempt to index local &#39;x&#39;"),
        ("/broken", 500, "broken.page.html:2:14", "`do` is never closed: add `end`"),
        ("/lua", 500, "lua.page.html:2:11", "&lt;name&gt;&#39; expected near &#39;=&#39;"),
        ("/open", 500, "open.page.html:2:1", "<h1>"),
        ("/loop", 503, "loop.page.html:2</code>", "used more than 2000 ms of CPU time"),
    ] {
        let response = server.get(path);
        let body = text(&response);
        assert_eq!(response.status, status, "{path}: {body}");
        assert!(body.contains(place) && body.contains(message), "{path}: {body}");
        assert!(body.contains("secret()") && !body.contains("<script"), "{path}: {body}");
        assert!(field(&response, "Content-Security-Policy").starts_with("default-src 'none'; "));
        assert_eq!(field(&response, "Content-Type"), "text/html; charset=utf-8");
    }
    // If native code is ended for its memory, the line is not known.
    let response = server.get("/grow");
    assert_eq!((response.status, field(&response, "Retry-After")), (503, "1"));
    assert!(text(&response).contains("<h1>not enough memory</h1>\n<p><code>grow.page.html"));
}

#[test]
fn otherwise_nothing_of_a_page_that_fails_is_seen() {
    let server = failing("--no-pin");
    for (path, status) in [("/fail", 500), ("/broken", 500), ("/open", 500), ("/loop", 503)] {
        let response = server.get(path);
        let body = text(&response);
        assert_eq!(response.status, status, "{path}");
        assert!(!body.contains("secret") && !body.contains("page.html"), "{path}: {body}");
        assert!(!body.contains("attempt to"), "{path}: {body}");
    }
}

#[test]
fn pages_are_counted_individually_and_in_total() {
    let config = "[pages]\ncpu_budget = \"20ms\"\ndeadline = \"3s\"\nmemory = \"8 MiB\"\n";
    let plan = Plan::new().config(config).argument("--schedulers=1").file("hello.page.html", HELLO);
    let plan = plan
        .file("fail.page.html", "<% local x = nil; x.y = 1 %>")
        .file("broken.page.html", "<% for %>")
        .file("loop.page.html", "<% while true do end %>")
        .file("wait.page.html", "<% sleep(20) %>")
        .file("unasked.page.html", "");
    let server = plan.start();
    for path in ["/hello", "/hello.html", "/fail", "/broken", "/loop", "/wait"] {
        server.get(path);
    }
    let stats = server.told("/stats");
    let pages = &stats["schedulers"][0]["pages"];
    let of = |file: &str| {
        let rows = pages["page"].as_array().unwrap();
        rows.iter().find(|row| row["page"].as_str().unwrap().ends_with(file)).cloned()
    };
    assert_eq!(of("/site/hello.page.html").unwrap()["requests"], 2);
    for (file, pointer) in [
        ("/fail.page.html", "/failures"),
        ("/broken.page.html", "/failures"),
        ("/loop.page.html", "/kills/cpu_budget"),
        ("/wait.page.html", "/kills/deadline"),
    ] {
        let row = of(file).unwrap();
        assert_eq!((&row["requests"], row.pointer(pointer)), (&1.into(), Some(&1.into())), "{row}");
        assert_eq!(row["waiting"], 0, "{row}");
    }
    assert_eq!(of("/unasked.page.html"), None);
    let looped = of("/loop.page.html").unwrap();
    // More than the budget minus the sampling interval, in slices of 1 ms.
    assert!(looped["cpu_us"].as_u64().unwrap() >= 20_000, "{looped}");
    assert!(looped["slices"].as_u64().unwrap() >= 5, "{looped}");
    assert_eq!((&pages["requests"], &pages["failures"]), (&6.into(), &2.into()), "{pages}");
    assert_eq!((&pages["native"], &pages["memory_max_bytes"]), (&true.into(), &(8 << 20).into()));
    assert!(pages["memory_bytes"].as_u64().unwrap() > 100_000, "{pages}");
}

#[test]
fn pages_that_wait_are_counted_while_they_do_and_when_their_client_goes() {
    let plan = Plan::new().argument("--schedulers=1").file("long.page.txt", "<% sleep(20) %>");
    let server = plan.start();
    let mut waiting = server.client();
    waiting.send(head("GET", "/long", &[])).unwrap();
    until("the page waits", || (server.count("/pages/waiting") == 1).then_some(()));
    assert_eq!(server.count("/pages/page/0/waiting"), 1);
    drop(waiting);
    until("it is cancelled", || (server.count("/pages/cancelled") == 1).then_some(()));
    assert_eq!(server.count("/pages/waiting"), 0);
}

#[test]
fn a_part_that_is_broken_is_said_to_be_so() {
    let page = ("list.page.html", "<ul>\n<% include('_row.html') %></ul>");
    let row = ("_row.page.html", "<li>\n\n<% for lap = 1, 3 do %></li>");
    let server = start(&[page, row]);
    assert_eq!(server.get("/list").status, 500);
    let told = server.printed_errors();
    let words =
        "list.page.html:2: part '_row.html' is broken: _row.page.html:3:19: `do` is never closed";
    assert!(told.contains(words), "{told}");
    server.directory().write("site/_row.page.html", "<li></li>");
    until("the part is mended", || {
        (text(&server.get("/list")) == "<ul>\n<li></li></ul>").then_some(())
    });
}

#[test]
fn endless_recursion_is_one_line_of_the_way() {
    let page = "<% local function f(n)\n  return 1 + f(n + 1)\nend -%>\n<%= f(1) %>";
    let server = start(&[("deep.page.html", page)]);
    assert_eq!(server.get("/deep").status, 500);
    let told = server.printed_errors();
    let line = told.lines().find(|line| line.contains("stack overflow")).unwrap();
    assert_eq!(line.matches("; from ").count(), 2, "{line}");
    assert!(
        line.contains("; from deep.page.html:2 (") && line.ends_with("; from deep.page.html:4"),
        "{line}"
    );
}

#[test]
fn page_error_is_shown_with_mend() {
    let deep = format!("<% {}{} %>", "if true then ".repeat(198), "end ".repeat(198));
    let plan =
        Plan::new().file("deep.page.html", deep).file("x.page", HELLO).file("y.page.", HELLO);
    plan.directory.write("outside.html", HELLO);
    let site = plan.directory.join("site");
    std::os::unix::fs::symlink("../outside.html", site.join("link.page.html")).unwrap();
    let plan =
        plan.file("value.page.html", "<p>\n<%= return 1 %>").file("bom.page.txt", "\u{FEFF}a");
    let plan = plan.file("latin.page.html", b"caf\xe9");
    let server = plan.start();
    let told = server.printed_errors();
    for expected in [
        "deep.page.html:1: more blocks, functions and brackets are within each other than Lua takes, some \
         195",
        "latin.page.html: is not UTF-8 at byte 4: save it in that encoding",
        "link.page.html: cannot be read: it is a symbolic link that leads out of the root",
        "value.page.html:2:5: a statement where a value is printed: write the value alone",
    ] {
        assert!(told.contains(expected), "{expected}: {told}");
    }
    for path in ["/x.page", "/y.page.", "/x", "/y"] {
        assert_eq!(server.get(path).status, 404, "{path}");
    }
    assert_eq!(text(&server.get("/bom")), "a");
}

#[test]
fn syntax_error_has_column() {
    let page = "<h1>\n  <% local a b = = 2 %>\n</h1>";
    let server = start(&[("lua.page.html", page), ("two.page.html", "<% x = = y = = %>")]);
    let told = server.printed_errors();
    assert!(told.contains("two.page.html:1: "), "{told}");
    assert!(told.contains("lua.page.html:2: "), "{told}");
    let server = start(&[("lua.page.html", "<p>\n<% if x @ 1 then end %>")]);
    let told = server.printed_errors();
    assert!(told.contains("lua.page.html:2:9: 'then' expected near '@'"), "{told}");
}
