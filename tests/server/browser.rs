//! Chromium, as somebody uses it: clicks, typing, and what a page shows, over its DevTools protocol.
//!
//! Owns the browser process, its one tab, and what the tab asked for and complained about. Judges nothing.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use conformance::RequestKind;
use serde_json::{Value, json};

use super::Ending;
use super::channel::{UPGRADE, connect, frame, say};
use super::client::Client;
use super::directory::Directory;
use super::patience::until;

/// A browser with one tab.
pub(crate) struct Browser {
    _process: Ending,
    /// The protocol of the tab.
    socket: TcpStream,
    orders: u64,
    /// Bytes that have come and are no whole message yet.
    begun: Vec<u8>,
    /// The events in the tab.
    events: Vec<Value>,
}

impl Browser {
    /// Opens an address in a new browser, which keeps its files in the directory.
    pub(crate) fn open(directory: &Directory, url: &str) -> Self {
        let profile = directory.join("browser");
        let mut command = Command::new("chromium");
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]);
        command.args(["--disable-background-networking", "--disable-component-update"]);
        command.args(["--disable-sync", "--disable-extensions", "--disable-dev-shm-usage"]);
        command.args(["--ignore-certificate-errors", "--remote-debugging-port=0"]);
        command.arg(format!("--user-data-dir={}", profile.display())).arg("about:blank");
        let process = Ending(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        let port: u16 = until("the port of the browser", || {
            let told = directory.text("browser/DevToolsActivePort");
            told.lines().next()?.parse().ok()
        });
        let path = until("a tab", || {
            let mut client = Client::connect(([127, 0, 0, 1], port).into()).ok()?;
            // The browser answers requests to itself only, and says so with the field.
            client.send("GET /json/list HTTP/1.1\r\nHost: localhost\r\n\r\n").ok()?;
            let answer = client.response(RequestKind::of_method(Some("GET"))).ok()?;
            let tabs: Value = serde_json::from_slice(&answer.body).ok()?;
            let tab = tabs.as_array()?.iter().find(|tab| tab["type"] == "page")?.clone();
            let address = tab["webSocketDebuggerUrl"].as_str()?.to_owned();
            Some(address.split_once("/devtools")?.1.to_owned())
        });
        let mut socket = connect(([127, 0, 0, 1], port).into());
        let request = format!("GET /devtools{path} HTTP/1.1\r\nHost: localhost\r\n{UPGRADE}\r\n");
        let head = say(&mut socket, request.as_bytes(), b"\r\n\r\n");
        assert!(head.starts_with(b"HTTP/1.1 101 "), "{}", String::from_utf8_lossy(&head));
        let mut browser =
            Self { _process: process, socket, orders: 0, begun: Vec::new(), events: Vec::new() };
        for domain in ["Page", "Runtime", "Network", "Log"] {
            browser.order(&format!("{domain}.enable"), json!({}));
        }
        browser.visit(url);
        browser
    }

    /// Loads another page into the tab.
    pub(crate) fn visit(&mut self, url: &str) {
        self.order("Page.navigate", json!({ "url": url }));
    }

    /// An order to the tab, and its result.
    fn order(&mut self, method: &str, parameters: Value) -> Value {
        self.orders += 1;
        let order = json!({ "id": self.orders, "method": method, "params": parameters });
        self.socket.write_all(&frame(&order.to_string())).unwrap();
        loop {
            let message = self.message();
            if message["id"] == self.orders {
                assert!(message["error"].is_null(), "{order}: {message}");
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    /// The next message (RFC 6455 section 5.2). Chromium sends each in one frame.
    fn message(&mut self) -> Value {
        loop {
            if let Some((from, to)) = bounds(&self.begun) {
                let message = serde_json::from_slice(&self.begun[from..to]).unwrap();
                self.begun.drain(..to);
                return message;
            }
            let mut piece = [0; 65536];
            let count = self.socket.read(&mut piece).unwrap();
            assert!(count > 0, "the browser has ended");
            self.begun.extend_from_slice(&piece[..count]);
        }
    }

    /// The value of a script in the page.
    pub(crate) fn value(&mut self, script: &str) -> Value {
        let parameters =
            json!({ "expression": script, "awaitPromise": true, "returnByValue": true });
        let result = self.order("Runtime.evaluate", parameters);
        assert!(result["exceptionDetails"].is_null(), "{script}: {result}");
        result["result"]["value"].clone()
    }

    /// Waits until a script in the page has a value that is true, and returns it.
    pub(crate) fn until(&mut self, what: &str, script: &str) -> Value {
        let is_true = |value: &Value| !matches!(value, Value::Null | Value::Bool(false));
        until(what, || Some(self.value(script)).filter(is_true))
    }

    /// Clicks into the middle of the first element of a selector, once there is one.
    ///
    /// A page may move between the look at an element and the click, which then misses it: the
    /// page counts the clicks on the element, and a click that was not counted is done again.
    pub(crate) fn click(&mut self, selector: &str) {
        let place = format!(
            "(() => {{ const element = document.querySelector({selector:?}); \
             if (!element?.checkVisibility()) return null; \
             window.clicksOnElement = 0; \
             document.addEventListener(\"click\", (event) => {{ \
             if (event.target.closest({selector:?})) window.clicksOnElement += 1; \
             }}, {{ capture: true, once: true }}); \
             element.scrollIntoView({{ block: \"center\", behavior: \"instant\" }}); \
             const box = element.getBoundingClientRect(); \
             return [box.x + box.width / 2, box.y + box.height / 2]; }})()"
        );
        until(&format!("a click on {selector}"), || {
            let place = Some(self.value(&place)).filter(Value::is_array)?;
            for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
                let event = json!({ "type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1 });
                self.order("Input.dispatchMouseEvent", event);
            }
            // A click that loads another page leaves no count behind.
            (self.value("window.clicksOnElement ?? 1") != 0).then_some(())
        });
    }

    /// Types into what has the focus.
    pub(crate) fn write(&mut self, text: &str) {
        self.order("Input.insertText", json!({ "text": text }));
    }

    /// The addresses of everything that the tab asked for.
    pub(crate) fn requested(&self) -> Vec<&str> {
        let of = |event: &&Value| event["method"] == "Network.requestWillBeSent";
        let requests = self.events.iter().filter(of);
        requests.filter_map(|event| event["params"]["request"]["url"].as_str()).collect()
    }

    /// Errors of scripts, and what a policy has blocked.
    pub(crate) fn troubles(&self) -> Vec<&Value> {
        let is_trouble = |event: &&Value| {
            let entry = &event["params"]["entry"];
            let is_blocked = event["method"] == "Log.entryAdded" && entry["source"] == "security";
            is_blocked || event["method"] == "Runtime.exceptionThrown"
        };
        self.events.iter().filter(is_trouble).collect()
    }
}

/// Where the payload of the first whole frame begins and ends.
fn bounds(bytes: &[u8]) -> Option<(usize, usize)> {
    let (from, length) = match bytes.get(1)? & 0x7f {
        126 => (4, u64::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?))),
        127 => (10, u64::from_be_bytes(bytes.get(2..10)?.try_into().ok()?)),
        short => (2, u64::from(short)),
    };
    let to = from + usize::try_from(length).ok()?;
    (bytes.len() >= to).then_some((from, to))
}
