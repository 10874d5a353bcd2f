//! Goal: browsers get what channels promise. Method: Chromium loads a page that reports what it received by publishing
//! it; without Chromium the tests are skipped and say so.

use std::process::{Command, Stdio};

use crate::server::channel::{API_KEY, SECRET, order, post, token};
use crate::server::patience::until;
use crate::server::{Ending, Plan, Server, has};
use serde_json::{Value, json};

const CONFIG: &str = "[[channel]]\npattern = \"chat.*\"\nhistory = 100\n[[channel]]\npattern = \
                      \"news\"\npublish = \"none\"\n[channels]\ntoken_keys = \"tokens\"\napi_keys = \
                      \"keys\"\n";

fn site(page: &str) -> Server {
    let plan = Plan::new().config(CONFIG).file("index.html", page);
    plan.directory.write("tokens", SECRET);
    plan.directory.write("keys", API_KEY);
    plan.start()
}

/// A browser that shows the site's page, until it is dropped.
fn browse(server: &Server, query: &str) -> Ending {
    let profile = format!("--user-data-dir={}", server.directory().join("profile").display());
    let page = format!("http://{}/{query}", server.address());
    let flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-extensions",
        "--disable-dev-shm-usage",
        // Without this, Chromium ends when the page is loaded.
        "--remote-debugging-port=0",
    ];
    let mut command = Command::new("chromium");
    command.args(flags).args([&profile, &page]).stdout(Stdio::null()).stderr(Stdio::null());
    Ending(command.spawn().unwrap())
}

/// The page's message with this number.
fn told(server: &Server, number: usize) -> Value {
    until("what the page heard", || {
        let polled = server.get("/channels/chat.out?wait=1");
        let polled: Value = serde_json::from_slice(&polled.body).unwrap();
        polled["messages"].get(number).map(|message| message["data"].clone())
    })
}

/// Subscribes twice in turn and publishes; reports what it received by publishing it.
const COMES_BACK: &str = r#"<!doctype html><script src="/velodrome.js"></script><script>
const channels = new Velodrome();
const heard = [];
const stop = channels.subscribe("chat.in", (data, { offset }) => heard.push(`${offset} ${JSON.stringify(data)}`));
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const until = async (condition) => { while (!condition()) await pause(10); };
(async () => {
  const { receivers } = await channels.publish("chat.in", { lap: 1 });
  await until(() => heard.length === 1);
  channels.socket.close();
  await fetch("/channels/chat.in", { method: "POST", body: "while it was away" });
  await until(() => heard.length === 2);
  stop();
  const refused = await channels.publish("news", 1).catch((error) => error.message);
  await channels.publish("chat.out", { heard, receivers, refused });
})();
</script>"#;

#[test]
fn the_client_for_browsers_comes_back_and_misses_nothing() {
    if !has("chromium", "the_client_for_browsers_comes_back_and_misses_nothing") {
        return;
    }
    let server = site(COMES_BACK);
    let _browser = browse(&server, "");
    let told = told(&server, 0);
    assert_eq!(told["heard"], json!(["1 {\"lap\":1}", "2 \"while it was away\""]));
    assert_eq!(told["receivers"], 1);
    assert_eq!(told["refused"], "the channel's rules do not allow it");
}

/// Subscribes to one channel with an event stream and a WebSocket, as a user. Reports when both have received the first
/// message, how the socket was closed, and what the stream has received when the second message has arrived.
const SENT_AWAY: &str = r#"<!doctype html><script>
const heard = [];
const tell = (data) => fetch("/channels/chat.out", { method: "POST", body: JSON.stringify(data), headers: { "Content-Type": "application/json" } });
const socket = new WebSocket(`ws://${location.host}/channels/chat.in${location.search}`);
const bySocket = new Promise((resolve) => { socket.onmessage = resolve; });
const closed = new Promise((resolve) => { socket.onclose = resolve; });
const events = new EventSource(`/channels/chat.in${location.search}`);
let opened = 0;
const streams = new Promise((resolve) => { events.onopen = () => { opened += 1; resolve(); }; });
const byEvents = new Promise((resolve) => {
  events.onmessage = ({ data, lastEventId }) => {
    heard.push(`${lastEventId.split("-")[1]} ${data}`);
    resolve();
  };
});
(async () => {
  await Promise.all([streams, new Promise((resolve) => { socket.onopen = resolve; })]);
  await fetch("/channels/chat.in", { method: "POST", body: "first" });
  await Promise.all([bySocket, byEvents]);
  await tell("both are here");
  const { code, reason, wasClean } = await closed;
  await tell({ code, reason, wasClean });
  while (heard.length < 2) await new Promise((resolve) => setTimeout(resolve, 10));
  await tell({ heard, opened });
})();
</script>"#;

#[test]
fn a_browser_learns_why_its_socket_was_closed_and_its_event_stream_comes_back() {
    let test = "a_browser_learns_why_its_socket_was_closed_and_its_event_stream_comes_back";
    if !has("chromium", test) {
        return;
    }
    let server = site(SENT_AWAY);
    let query = format!("?token={}", token("\"sub\":\"ann\"", 3600));
    let _browser = browse(&server, &query);
    assert_eq!(told(&server, 0), "both are here");
    assert_eq!(order(&server, &json!({ "disconnect": "ann" })), json!({}));
    // While the stream is disconnected: it waits some seconds before it reconnects.
    assert_eq!(post(&server, "/channels/chat.in", b"second"), 200);
    let reason = "disconnected by the server";
    assert_eq!(told(&server, 1), json!({ "code": 4003, "reason": reason, "wasClean": true }));
    assert_eq!(told(&server, 2), json!({ "heard": ["1 first", "2 second"], "opened": 2 }));
}

/// Has no token at first; reports the states it was told, what it received, and what was lost while the server was
/// away.
const WITHOUT_TOKEN: &str = r#"<!doctype html><script src="/velodrome.js"></script><script>
let calls = 0;
const [heard, states] = [[], []];
const token = async () => {
  calls += 1;
  if (calls === 1) throw new Error("502 during a deploy");
  return new URLSearchParams(location.search).get("token");
};
const channels = new Velodrome("/channels", { token, onstate: (state, why) => states.push(why ? `${state}: ${why.message}` : state) });
const tell = () => channels.publish("chat.out", { heard: heard.splice(0), states: states.splice(0) });
channels.subscribe("chat.in", (data) => { heard.push(data); tell(); }, {
  error: (why) => heard.push(why),
  lost: () => heard.push("lost"),
  subscribed: async () => {
    await fetch("/channels/chat.in", { method: "POST", body: `by call ${calls}`, headers: { Authorization: `Bearer ${await token()}` } });
  },
});
</script>"#;

#[test]
fn the_client_asks_for_a_token_again_and_learns_that_the_history_is_lost() {
    let test = "the_client_asks_for_a_token_again_and_learns_that_the_history_is_lost";
    if !has("chromium", test) {
        return;
    }
    let config = "[[channel]]\npattern = \"chat.in\"\nsubscribe = \"token\"\nhistory = \
                  10\n[[channel]]\npattern = \"chat.out\"\nhistory = 10\n[channels]\ntoken_keys = \
                  \"tokens\"\n";
    let plan = Plan::new().config(config).file("index.html", WITHOUT_TOKEN);
    plan.directory.write("tokens", SECRET);
    let server = plan.start();
    let query = format!("?token={}", token("\"sub\":\"ann\",\"subscribe\":[\"chat.*\"]", 3600));
    let _browser = browse(&server, &query);
    let states = ["connecting", "waiting: token: 502 during a deploy", "open"];
    let heard = ["the channel requires a token", "by call 2"];
    assert_eq!(told(&server, 0), json!({ "heard": heard, "states": states }));
    let server = server.kill_and_restart();
    let first = told(&server, 0);
    assert_eq!(first["heard"], json!(["lost", "by call 4"]), "{first}");
    assert_eq!(first["states"][0], "waiting: the connection ended: no reason (1006)", "{first}");
}
