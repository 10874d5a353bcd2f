//! Goal: the server controls sessions in the store: a copied cookie is useless after the session ends, a revoked
//! session does not return, and two sites have separate sessions. Method: the built server with two schedulers, and
//! requests with each other's cookies.

use std::io::Write;

use crate::server::channel::{connect, resp, say};
use crate::server::client::{field, text};
use crate::server::{Plan, Server};
use conformance::ParsedResponse;

pub(crate) const LOGIN: &str = "<% request.session = { user = request.query.name } %>in";
pub(crate) const ADD: &str = "<% local session = request.session session.laps = (session.laps or 0) + 1 %><%= \
                   session.laps %>";
pub(crate) const WHO: &str = "<%= request.session.user or 'nobody' %>";
pub(crate) const OUT: &str = "<% request.session = nil %>out";
/// Shows the session, and ends it if asked.
pub(crate) const SLOW: &str =
    "<% request.session.late = true while not store.get('go') do sleep(0.001) end %>slow";
const BIG: &str = "<% request.session.text = ('x'):rep(70000) %>";
const REVOKE: &str = "<% for key in store.scan('session:') do store.delete(key) end %>revoked";
const FLUSHED: &str =
    "<% request.session.user = 'flushed' response:write('a') response:flush() %>b";

/// Two sites with the same pages.
const CONFIG: &str = "[pages]\nsessions = \"store\"\n[store]\nsync = \"none\"\n[[host]]\nnames = \
                      [\"other.example\"]\nroot = \"site\"\n";

fn site() -> Server {
    let pages = [
        ("login", LOGIN),
        ("add", ADD),
        ("who", WHO),
        ("out", OUT),
        ("slow", SLOW),
        ("big", BIG),
        ("revoke", REVOKE),
        ("flushed", FLUSHED),
    ];
    let plan = Plan::new().argument("--schedulers=2").argument("--listen-resp=127.0.0.1:0");
    let store = format!("--store={}", plan.directory.join("store").display());
    let plan =
        pages.iter().fold(plan, |plan, (name, page)| plan.file(&format!("{name}.page.txt"), page));
    plan.argument(&store).config(CONFIG).start()
}

/// The cookie of an answer; empty if the browser must delete it.
pub(crate) fn cookie(response: &ParsedResponse) -> Option<String> {
    let name = field(response, "set-cookie").split(';').next().unwrap();
    name.strip_prefix("session=").map(str::to_owned)
}

fn get(server: &Server, path: &str, session: &str) -> ParsedResponse {
    let response = server.request("GET", path, &[("Cookie", &format!("session={session}"))]);
    assert_eq!(response.status, 200, "{path}: {}", server.printed_errors());
    response
}

#[test]
fn a_session_goes_on_and_ends_for_every_copy_of_its_cookie() {
    let server = site();
    let login = server.get("/login?name=Ada");
    let session = cookie(&login).unwrap();
    assert_eq!((session.len(), field(&login, "cache-control")), (43, "private"));
    assert!(!session.contains("Ada"));
    for laps in 1..=3 {
        assert_eq!(text(&get(&server, "/add", &session)), laps.to_string());
    }
    assert_eq!(text(&get(&server, "/who", &session)), "Ada");
    assert_eq!(cookie(&get(&server, "/who", &session)), None, "nothing has changed");
    // A new login gets a new session name, and the old name is invalid.
    let again = cookie(&get(&server, "/login?name=Grace", &session)).unwrap();
    assert_ne!(again, session);
    assert_eq!(text(&get(&server, "/who", &session)), "nobody");
    assert_eq!(text(&get(&server, "/who", &again)), "Grace");
    assert_eq!(cookie(&get(&server, "/out", &again)).unwrap(), "");
    assert_eq!(text(&get(&server, "/who", &again)), "nobody");
    let flushed = cookie(&server.get("/flushed")).unwrap();
    assert_eq!(text(&get(&server, "/who", &flushed)), "flushed");
}

#[test]
fn a_name_that_a_client_makes_up_is_not_taken() {
    let server = site();
    for made_up in ["x", "", &"A".repeat(43), "../../session:a", &"%".repeat(43)] {
        assert_eq!(text(&get(&server, "/who", made_up)), "nobody");
        let given = cookie(&get(&server, "/add", made_up)).unwrap();
        assert!(given != made_up && given.len() == 43, "{given}");
    }
}

#[test]
fn a_session_that_was_revoked_does_not_come_back() {
    let server = site();
    let session = cookie(&server.get("/login?name=Ada")).unwrap();
    let mut slow = connect(server.address());
    let request = format!("GET /slow HTTP/1.1\r\nHost: a\r\nCookie: session={session}\r\n\r\n");
    slow.write_all(request.as_bytes()).unwrap();
    server.reaches("/pages/waiting", 1);
    let mut redis = connect(resp(&server));
    let heard = say(&mut redis, b"KEYS session:*\r\nPING\r\n", b"+PONG\r\n");
    let keys = String::from_utf8(heard).unwrap();
    assert!(keys.starts_with("*1\r\n$72\r\nsession:") && !keys.contains(&session), "{keys}");
    assert_eq!(text(&server.get("/revoke")), "revoked");
    say(&mut redis, b"SET go 1\r\n", b"+OK\r\n");
    let answer = say(&mut slow, b"", b"slow");
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.contains("Set-Cookie: session=; Path=/; Max-Age=0"), "{answer}");
    assert_eq!(text(&get(&server, "/who", &session)), "nobody");
    assert_eq!(say(&mut redis, b"DBSIZE\r\n", b"\r\n"), b":1\r\n", "what lets the page go on");
}

#[test]
fn session_write_refused_by_store_is_error_of_page() {
    let server = site();
    assert_eq!(server.get("/big").status, 500);
    let told = server.printed_errors();
    assert!(
        told.contains("request.session is larger than 65536 bytes") && told.contains("'text'"),
        "{told}"
    );
}

#[test]
fn a_site_does_not_take_the_session_of_another() {
    let server = site();
    let session = cookie(&server.get("/login?name=Ada")).unwrap();
    let fields = [("Host", "other.example"), ("Cookie", &*format!("session={session}"))];
    let mut client = server.client();
    let lines: String = fields.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    client.send(format!("GET /who HTTP/1.1\r\n{lines}\r\n").as_bytes()).unwrap();
    let response = client.response(conformance::RequestKind::Other).unwrap();
    assert_eq!((response.status, text(&response)), (200, "nobody"));
    assert_eq!(text(&get(&server, "/who", &session)), "Ada");
}

#[test]
fn page_that_changes_its_session_is_answered_503_while_the_store_takes_no_changes() {
    let plan = Plan::new().file("login.page.txt", LOGIN).file("who.page.txt", WHO);
    let store = format!("--store={}", plan.directory.join("store").display());
    // A replica that has no leader.
    let config = "[pages]\nsessions = \"store\"\n[store]\nrole = \"replica\"\n[cluster]\nservers = \
                  [\"nats://127.0.0.1:1\"]\n";
    let server = plan.argument(&store).config(config).start();
    assert_eq!(server.request("GET", "/who", &[]).status, 200);
    let refused = server.request("GET", "/login?name=a", &[]);
    assert_eq!(refused.status, 503, "{}", server.printed_errors());
    assert_eq!((field(&refused, "retry-after"), field(&refused, "set-cookie")), ("1", ""));
}
