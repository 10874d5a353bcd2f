//! Goal: the clients people use work. Method: curl, Python's http.client and h11, Node's fetch, Chromium.
//! A client that is not installed is reported as skipped.

use std::path::Path;
use std::process::{Command, Output};

use crate::server::patience::until;
use crate::server::{Plan, Server, errors_of, has, printed_by, run};

/// Debian's Python, which has Debian's h11; another one in the PATH may not.
const PYTHON: &str = "/usr/bin/python3";

fn prose() -> String {
    (0..500).map(|line| format!("{line} bottles of beer on the wall\n")).collect()
}

fn site() -> Server {
    let config = "[[route]]\npath = \"/form\"\nmethods = [\"POST\"]\nrespond = { body = \"thanks\\n\" }\n\
        [[route]]\npath = \"/moved\"\nredirect = { to = \"/a.txt\", status = 301 }\n\
        [limits]\nunread_body_size = \"8 MiB\"\nunread_body_deadline = \"60s\"\n";
    // A client that sends all of a large body before it reads is answered however slow the host is.
    Plan::new()
        .config(config)
        .file("a.txt", "a\n")
        .file("prose.txt", prose())
        .file("large.bin", vec![7; 3_000_000])
        .start()
}

fn url(server: &Server, path: &str) -> String {
    format!("http://{}{path}", server.address())
}

/// curl with these arguments and a time limit.
fn curl(words: &[&str]) -> Output {
    run(Command::new("curl").args(["--silent", "--show-error", "--max-time", "20"]).args(words))
}

/// curl's output; panics if it fails.
fn curl_prints(words: &[&str]) -> String {
    let output = curl(words);
    assert!(output.status.success(), "{words:?}: {output:?}");
    printed_by(&output)
}

#[test]
fn curl_gets_files_in_every_way_it_asks() {
    if !has("curl", "curl_gets_files_in_every_way_it_asks") {
        return;
    }
    let server = site();
    let (a, prose_url) = (url(&server, "/a.txt"), url(&server, "/prose.txt"));
    assert_eq!(curl_prints(&[&a]), "a\n");
    assert_eq!(curl_prints(&["--http1.0", &a]), "a\n");
    assert_eq!(curl_prints(&["--http1.0", "--header", "Connection: keep-alive", &a, &a]), "a\na\n");
    let head = curl_prints(&["--head", &prose_url]);
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(head.contains(&format!("Content-Length: {}\r\n", prose().len())), "{head}");
    assert_eq!(curl_prints(&["--range", "0-8", &prose_url]), "0 bottles");
    assert_eq!(curl_prints(&["--range", "-5", &prose_url]), "wall\n");
    assert_eq!(curl_prints(&["--location", &url(&server, "/moved")]), "a\n");
    for coding in ["gzip", "zstd", "br", "identity"] {
        let field = format!("Accept-Encoding: {coding}");
        let words = ["--compressed", "--header", &field, &prose_url, &prose_url];
        assert_eq!(curl_prints(&words), prose().repeat(2), "{coding}");
    }
    let code = ["--output", "/dev/null", "--write-out", "%{http_code} %{num_connects}"];
    let missing = url(&server, "/none");
    assert_eq!(curl_prints(&[&code[..], &[&missing]].concat()), "404 1");
    // Three transfers over one connection.
    let kept = ["--output", "/dev/null", "--output", "/dev/null", "--output", "/dev/null"];
    let words = [&kept[..], &code[2..], &[&a, &missing, &prose_url]].concat();
    assert_eq!(curl_prints(&words), "200 1404 0200 0");
}

#[test]
fn curl_uploads_and_learns_what_became_of_it() {
    if !has("curl", "curl_uploads_and_learns_what_became_of_it") {
        return;
    }
    let server = site();
    server.directory().write("upload.bin", vec![b'u'; 40_000]);
    server.directory().write("huge.bin", vec![b'u'; 3_000_000]);
    let upload = format!("@{}", server.directory().join("upload.bin").display());
    let huge = format!("@{}", server.directory().join("huge.bin").display());
    let form = url(&server, "/form");
    let chunked = ["--header", "Transfer-Encoding: chunked"];
    let expecting = ["--header", "Expect: 100-continue"];
    assert_eq!(curl_prints(&["--data-binary", &upload, &form]), "thanks\n");
    assert_eq!(
        curl_prints(&[&chunked[..], &["--data-binary", &upload, &form]].concat()),
        "thanks\n"
    );
    assert_eq!(
        curl_prints(&[&expecting[..], &["--data-binary", &upload, &form]].concat()),
        "thanks\n"
    );
    let code = ["--output", "/dev/null", "--write-out", "%{http_code}"];
    let status = |words: &[&str]| curl_prints(&[&code[..], words].concat());
    assert_eq!(status(&["--data-binary", &upload, &url(&server, "/a.txt")]), "405");
    // Larger than a route allows: the answer arrives although the body is never read.
    assert_eq!(status(&[&expecting[..], &["--data-binary", &huge, &form]].concat()), "413");
    assert_eq!(status(&["--header", "Expect:", "--data-binary", &huge, &form]), "413");
    assert_eq!(status(&["--upload-file", &upload[1..], &url(&server, "/a.txt")]), "405");
}

const HTTP_CLIENT: &str = "
import http.client, sys, zlib
connection = http.client.HTTPConnection(sys.argv[1], timeout=20)
local = None
for method, path, status, length in [
    ('GET', '/a.txt', 200, 2), ('HEAD', '/a.txt', 200, 0), ('GET', '/none', 404, None),
    ('GET', '/large.bin', 200, 3000000), ('GET', '/a.txt', 200, 2),
]:
    connection.request(method, path)
    response = connection.getresponse()
    body = response.read()
    assert response.status == status, (method, path, response.status)
    assert length is None or len(body) == length, (path, len(body))
    assert not response.will_close, path
    assert local in (None, connection.sock.getsockname()), 'a second connection'
    local = connection.sock.getsockname()
connection.request('POST', '/form', body=(part for part in [b'one', b'two']), encode_chunked=True,
                   headers={'Transfer-Encoding': 'chunked'})
assert connection.getresponse().read() == b'thanks\\n'
connection.request('GET', '/prose.txt', headers={'Accept-Encoding': 'gzip'})
response = connection.getresponse()
body = response.read()
if response.getheader('Content-Encoding') == 'gzip':
    body = zlib.decompress(body, 31)
assert body.startswith(b'0 bottles') and body.endswith(b'wall\\n')
print('done')
";

#[test]
fn pythons_http_client_keeps_its_connection() {
    if !Path::new(PYTHON).exists() {
        println!("SKIPPED pythons_http_client_keeps_its_connection: {PYTHON} is not installed");
        return;
    }
    let server = site();
    let address = server.address().to_string();
    let output = run(Command::new(PYTHON).args(["-c", HTTP_CLIENT, &address]));
    assert_eq!(printed_by(&output), "done\n", "{}", errors_of(&output));
}

/// h11 is strict: it refuses every response that violates the RFC.
const H11: &str = "
import h11, socket, sys
host, port = sys.argv[1].rsplit(':', 1)
connection = h11.Connection(our_role=h11.CLIENT)
stream = socket.create_connection((host, int(port)), timeout=20)

def exchange(method, target, *bodies, **fields):
    headers = [('Host', 'test')] + [(name.replace('_', '-'), value) for name, value in fields.items()]
    stream.sendall(connection.send(h11.Request(method=method, target=target, headers=headers)))
    for body in bodies:
        stream.sendall(connection.send(h11.Data(data=body)))
    stream.sendall(connection.send(h11.EndOfMessage()))
    head, received = None, b''
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            connection.receive_data(stream.recv(65536))
        elif isinstance(event, h11.Response):
            head = event
        elif isinstance(event, h11.Data):
            received += bytes(event.data)
        elif isinstance(event, h11.EndOfMessage):
            assert connection.states == {h11.CLIENT: h11.DONE, h11.SERVER: h11.DONE}, connection.states
            connection.start_next_cycle()
            return head.status_code, received

assert exchange('GET', '/a.txt') == (200, b'a\\n')
assert exchange('HEAD', '/large.bin') == (200, b'')
assert exchange('GET', '/a.txt', Range='bytes=0-0') == (206, b'a')
assert exchange('GET', '/a.txt', If_None_Match='*') == (304, b'')
assert exchange('OPTIONS', '/a.txt') == (204, b'')
assert exchange('POST', '/form', b'one', b'two', Transfer_Encoding='chunked') == (200, b'thanks\\n')
assert exchange('POST', '/form', b'three', Content_Length='5') == (200, b'thanks\\n')
assert exchange('GET', '/none')[0] == 404
assert exchange('GET', '/moved')[0] == 301
assert len(exchange('GET', '/large.bin')[1]) == 3000000
print('done')
";

#[test]
fn h11_finds_nothing_wrong() {
    let probe = Command::new(PYTHON).args(["-c", "import h11"]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        println!("SKIPPED h11_finds_nothing_wrong: python3-h11 is not installed");
        return;
    }
    let server = site();
    let address = server.address().to_string();
    let output = run(Command::new(PYTHON).args(["-c", H11, &address]));
    assert_eq!(printed_by(&output), "done\n", "{}", errors_of(&output));
}

const FETCH: &str = "
const origin = `http://${process.argv[1]}`;
const check = (condition, what) => { if (!condition) throw new Error(what); };
(async () => {
  for (let round = 0; round < 20; round++) {
    const response = await fetch(`${origin}/a.txt`);
    check(response.status === 200 && await response.text() === 'a\\n', 'a.txt');
  }
  const prose = await (await fetch(`${origin}/prose.txt`)).text();
  check(prose.startsWith('0 bottles') && prose.endsWith('wall\\n'), 'prose');
  const posted = await fetch(`${origin}/form`, { method: 'POST', body: 'x'.repeat(30000) });
  check(await posted.text() === 'thanks\\n', 'form');
  const moved = await fetch(`${origin}/moved`);
  check(moved.redirected && await moved.text() === 'a\\n', 'moved');
  const many = await Promise.all(Array.from({ length: 50 }, () => fetch(`${origin}/large.bin`)));
  for (const response of many) check((await response.arrayBuffer()).byteLength === 3000000, 'large');
  console.log('done');
})().catch((error) => { console.error(error); process.exit(1); });
";

#[test]
fn nodes_fetch_gets_everything() {
    if !has("node", "nodes_fetch_gets_everything") {
        return;
    }
    let server = site();
    let address = server.address().to_string();
    let output = run(Command::new("node").args(["-e", FETCH, &address]));
    assert_eq!(printed_by(&output), "done\n", "{}", errors_of(&output));
    // One by one they share a connection; only the fifty concurrent ones need more.
    assert!(server.count("/network/accepts") < 60, "{}", server.count("/network/accepts"));
}

/// Chromium without background connections to other hosts.
fn chromium(server: &Server, words: &[&str]) -> Output {
    let profile = format!("--user-data-dir={}", server.directory().join("profile").display());
    let mut command = Command::new("chromium");
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]);
    command.args(["--disable-background-networking", "--disable-component-update"]);
    command.args(["--disable-sync", "--disable-extensions", "--disable-dev-shm-usage", &profile]);
    run(command.args(words))
}

const PAGE: &str = "<!doctype html><html lang=en><meta charset=utf-8><title>Start</title>
<link rel=stylesheet href=style.css><img id=image src=image.svg alt=''><p id=told>not yet</p>
<script type=module>
import { word } from './module.js';
const data = await (await fetch('data.json')).json();
await document.getElementById('image').decode();
const style = getComputedStyle(document.getElementById('told')).fontWeight;
document.getElementById('told').textContent = [word, data.answer, style].join(' ');
</script>";

#[test]
fn chromium_loads_a_page_with_all_its_parts() {
    if !has("chromium", "chromium_loads_a_page_with_all_its_parts") {
        return;
    }
    let server = Plan::new()
        .file("index.html", PAGE)
        .file("style.css", "#told { font-weight: 700 }")
        .file("module.js", "export const word = 'loaded';")
        .file("data.json", "{\"answer\": 42}")
        .file("image.svg", "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>")
        .start();
    let page = url(&server, "/");
    let output = chromium(&server, &["--virtual-time-budget=10000", "--dump-dom", &page]);
    let document = printed_by(&output);
    assert!(document.contains("loaded 42 700"), "{document}\n{}", errors_of(&output));
}

#[test]
fn chromium_shows_the_site_of_the_examples() {
    if !has("chromium", "chromium_shows_the_site_of_the_examples") {
        return;
    }
    let site = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/site");
    let plan = Plan::new().serving(site, &format!("{site}/velodrome.toml"));
    let store = format!("--store={}", plan.directory.join("store").display());
    let server = plan.argument(&store).start();
    let image = server.directory().join("page.png");
    let screenshot = format!("--screenshot={}", image.display());
    let page = url(&server, "/");
    let output = chromium(&server, &["--window-size=1000,800", &screenshot, &page]);
    let size = std::fs::metadata(&image).map_or(0, |metadata| metadata.len());
    assert!(size > 10_000, "{size} bytes: {}", errors_of(&output));
    assert_eq!(server.count("/http/by_class/4xx"), 0, "everything the page wants is there");
    assert!(server.count("/http/by_class/2xx") > 1, "the page and its parts");
    for path in [
        "/arguments?lap=2",
        "/form",
        "/book",
        "/cards",
        "/upload",
        "/slow?seconds=0.01",
        "/fetch",
        "/stream",
    ] {
        assert_eq!(server.get(path).status, 200, "{path}");
    }
}

/// A page of the examples after a script, which their policy allows, has sent it a form with these fields: as Chromium
/// shows it.
fn sent_by_chromium(path: &str, file: &str, page: &str, fields: &str) -> String {
    let start = format!(
        "<!doctype html><form method=post action={path}>{fields}</form><script src=/send.js></script>"
    );
    let plan = Plan::new();
    let store = format!("--store={}", plan.directory.join("store").display());
    let server = plan
        .argument(&store)
        .config(include_str!("../../examples/site/velodrome.toml"))
        .file("index.html", start)
        .file("send.js", "document.forms[0].submit()")
        .file(file, page)
        .file("_base.page.html", include_str!("../../examples/site/_base.page.html"))
        .file("_top.page.html", include_str!("../../examples/site/_top.page.html"))
        .file("_bottom.page.html", include_str!("../../examples/site/_bottom.page.html"))
        .start();
    let page = url(&server, "/");
    let output = chromium(&server, &["--virtual-time-budget=10000", "--dump-dom", &page]);
    format!("{}\n{}", printed_by(&output), errors_of(&output))
}

#[test]
fn chromium_posts_a_form_to_a_page() {
    if !has("chromium", "chromium_posts_a_form_to_a_page") {
        return;
    }
    let page = include_str!("../../examples/site/form.page.html");
    let fields =
        "<input name=name value='Ada &lt;b&gt;'><input name=greeting value='Hello + 1 &amp; all'>";
    let shown = sent_by_chromium("/form", "form.page.html", page, fields);
    let greeting = "<strong>Ada &lt;b&gt;</strong> says: Hello + 1 &amp; all";
    assert!(shown.contains(greeting), "{shown}");
}

/// Chromium shows what the store contains after the redirect.
#[test]
fn chromium_writes_into_the_guest_book() {
    if !has("chromium", "chromium_writes_into_the_guest_book") {
        return;
    }
    let page = include_str!("../../examples/site/book.page.html");
    let fields = "<input name=name value='Ada &lt;b&gt;'><input name=text value='Hello &amp; all'>";
    let shown = sent_by_chromium("/book", "book.page.html", page, fields);
    assert!(shown.contains("<strong>Ada &lt;b&gt;</strong>"), "{shown}");
    assert!(shown.contains("UTC: Hello &amp; all</div>"), "{shown}");
}

/// The page at a path as Chromium shows it.
fn shown(server: &Server, path: &str) -> String {
    let output =
        chromium(server, &["--virtual-time-budget=10000", "--dump-dom", &url(server, path)]);
    format!("{}\n{}", printed_by(&output), errors_of(&output))
}

#[test]
fn chromium_shows_the_author_what_is_wrong_and_the_mended_page_after_it() {
    if !has("chromium", "chromium_shows_the_author_what_is_wrong_and_the_mended_page_after_it") {
        return;
    }
    let plan = Plan::new().argument("--dev");
    let server =
        plan.file("lap.page.html", "<h1>Lap</h1>\n<% local lap = nil; lap.x = 1 %>\n").start();
    let wrong = shown(&server, "/lap");
    assert!(wrong.contains("attempt to index local 'lap' (a nil value)"), "{wrong}");
    assert!(wrong.contains("lap.page.html"), "{wrong}");
    server.directory().write("site/lap.page.html", "<h1>Lap</h1>\n<% if %>\n");
    until("what cannot be compiled is shown", || {
        shown(&server, "/lap").contains("the code is not finished here").then_some(())
    });
    server.directory().write("site/lap.page.html", "<h1>Lap <%= 1 + 1 %></h1>\n");
    until("the mended page is shown", || {
        shown(&server, "/lap").contains("<h1>Lap 2</h1>").then_some(())
    });
}
