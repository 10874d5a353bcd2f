//! Ways in which bytes come into the store: HTTP, Redis clients, pages, imports.
//!
//! Owns how each is used, and what it takes. Checks nothing.

use std::net::TcpStream;
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use wire::json;

use crate::server::channel::{ask, connect, resp, say};
use crate::server::client::text;
use crate::server::{PROGRAM, Plan, Server, errors_of, run};

/// Runs the code in the request.
pub(crate) const RUN: &str = "<% response:write(assert(load(request.query.code))()) %>";

/// Prints the number of changes until a key is `~end`.
const WATCH: &str = "<% local count, watch = 0, store.database('cards'):watch('') \
                     response:write('watches;') response:flush() for key in watch do if key == '~end' then \
                     break end count = count + 1 end response:write('saw ', count, ';') %>";

pub(crate) const CONFIG: &str = "[store]\ndatabases = [\"cards\"]\nsync = \"none\"\n[[database]]\nname = \
                                 \"cards\"\nhttp = true\n";

pub(crate) struct Place {
    pub(crate) server: Server,
    pub(crate) redis: TcpStream,
    pub(crate) store: String,
}

/// The values that a way in takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    /// Any bytes, which it keeps.
    Bytes,
    /// JSON; anything else is refused.
    Json,
    /// The same with as many levels as pages read and write.
    JsonOfPage,
    /// Text in a field of a table; anything else is refused.
    Field,
    /// Any bytes; a table has U+FFFD for what is not UTF-8.
    Replaced,
}

/// Writes a value under a key; the error says why it is refused.
type Put = fn(&mut Place, &[u8], &[u8]) -> Result<(), String>;

pub(crate) struct WayIn {
    pub(crate) name: &'static str,
    pub(crate) takes: Takes,
    pub(crate) put: Put,
}

impl Place {
    pub(crate) fn new() -> Self {
        let plan = Plan::new()
            .argument("--listen-resp=127.0.0.1:0")
            .file("run.page.txt", RUN)
            .file("watch.page.txt", WATCH);
        let store = plan.directory.join("store").display().to_string();
        let server = plan.argument(&format!("--store={store}")).config(CONFIG).start();
        let mut redis = connect(resp(&server));
        say(&mut redis, b"SELECT cards\r\n", b"+OK\r\n");
        Self { server, redis, store }
    }

    /// Sends a command; an error is refused.
    pub(crate) fn command(&mut self, words: &[&[u8]]) -> Result<Vec<u8>, String> {
        let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            bytes.extend(format!("${}\r\n", word.len()).bytes());
            bytes.extend(*word);
            bytes.extend(b"\r\n");
        }
        bytes.extend(b"ECHO ~~end~~\r\n");
        let end = b"$7\r\n~~end~~\r\n";
        let mut heard = say(&mut self.redis, &bytes, end);
        heard.truncate(heard.len() - end.len());
        match heard.first() {
            Some(b'-') => Err(String::from_utf8(heard).unwrap()),
            _ => Ok(heard),
        }
    }

    /// The value of a key as Redis clients get it.
    pub(crate) fn bytes_of(&mut self, key: &[u8]) -> Vec<u8> {
        let reply = self.command(&[b"GET", key]).unwrap();
        let head = reply.windows(2).position(|end| end == b"\r\n").unwrap();
        reply[head + 2..reply.len() - 2].to_vec()
    }

    /// The result of code in a page.
    pub(crate) fn page(&self, code: &str) -> String {
        let response = self.server.get(&format!("/run?code={}", encoded(code.as_bytes())));
        assert_eq!(response.status, 200, "{code}: {}", self.server.printed_errors());
        text(&response).to_owned()
    }

    /// Writes in a page; its error is refused.
    pub(crate) fn page_puts(&self, key: &[u8], value: &str) -> Result<(), String> {
        let key = quoted(key);
        let code = format!(
            "local _, why = pcall(function() return store.database('cards'):put({key}, {value}) end) return \
             tostring(why)"
        );
        let told = self.page(&code);
        if told == "true" { Ok(()) } else { Err(told) }
    }

    pub(crate) fn put(&self, kind: &str, key: &[u8], value: &[u8]) -> Result<(), String> {
        let path = format!("/store/cards?key={}", encoded(key));
        let response = ask(&self.server, "PUT", &path, &[("Content-Type", kind)], value);
        match response.status {
            204 => Ok(()),
            400 => Err(text(&response).to_owned()),
            other => panic!("{other} for {:?}", String::from_utf8_lossy(value)),
        }
    }

    pub(crate) fn import(&self, name: &str, content: &[u8]) -> Result<(), String> {
        let file = self.server.directory().join(name);
        std::fs::write(&file, content).unwrap();
        let mut command = Command::new(PROGRAM);
        command.args(["store", "import", "--database=cards", file.to_str().unwrap(), &self.store]);
        let output = run(&mut command);
        match output.status.code() {
            Some(0) => Ok(()),
            Some(1) => Err(errors_of(&output)),
            other => panic!("{other:?}: {output:?}"),
        }
    }
}

pub(crate) fn encoded(bytes: &[u8]) -> String {
    let byte = |byte: &u8| match byte {
        plain if plain.is_ascii_alphanumeric() => char::from(*plain).to_string(),
        other => format!("%{other:02X}"),
    };
    bytes.iter().map(byte).collect()
}

/// A string literal of Lua.
pub(crate) fn quoted(bytes: &[u8]) -> String {
    let byte = |byte: &u8| match byte {
        plain if plain.is_ascii_alphanumeric() => char::from(*plain).to_string(),
        other => format!("\\{other:03}"),
    };
    format!("'{}'", bytes.iter().map(byte).collect::<String>())
}

pub(crate) fn csv(bytes: &[u8]) -> Vec<u8> {
    let doubled = bytes.iter().flat_map(|byte| vec![*byte; if *byte == b'"' { 2 } else { 1 }]);
    [b'"'].into_iter().chain(doubled).chain([b'"']).collect()
}

/// All ways in.
pub(crate) const WAYS: &[WayIn] = &[
    WayIn {
        name: "PUT of text",
        takes: Takes::Bytes,
        put: |place, key, value| place.put("text/plain", key, value),
    },
    WayIn {
        name: "PUT of bytes",
        takes: Takes::Bytes,
        put: |place, key, value| place.put("application/octet-stream", key, value),
    },
    WayIn {
        name: "PUT of JSON",
        takes: Takes::Json,
        put: |place, key, value| place.put("application/json; charset=utf-8", key, value),
    },
    WayIn {
        name: "SET",
        takes: Takes::Bytes,
        put: |place, key, value| place.command(&[b"SET", key, value]).map(drop),
    },
    WayIn {
        name: "SETNX",
        takes: Takes::Bytes,
        put: |place, key, value| place.command(&[b"SETNX", key, value]).map(drop),
    },
    WayIn {
        name: "SETEX",
        takes: Takes::Bytes,
        put: |place, key, value| place.command(&[b"SETEX", key, b"1000", value]).map(drop),
    },
    WayIn {
        name: "PSETEX",
        takes: Takes::Bytes,
        put: |place, key, value| place.command(&[b"PSETEX", key, b"1000000", value]).map(drop),
    },
    WayIn {
        name: "MSET",
        takes: Takes::Bytes,
        put: |place, key, value| place.command(&[b"MSET", key, value]).map(drop),
    },
    WayIn {
        name: "MSETNX",
        takes: Takes::Bytes,
        put: |place, key, value| place.command(&[b"MSETNX", key, value]).map(drop),
    },
    WayIn {
        name: "GETSET",
        takes: Takes::Bytes,
        put: |place, key, value| place.command(&[b"GETSET", key, value]).map(drop),
    },
    WayIn {
        name: "APPEND",
        takes: Takes::Bytes,
        put: |place, key, value| place.command(&[b"APPEND", key, value]).map(drop),
    },
    WayIn {
        name: "APPEND to JSON",
        takes: Takes::Bytes,
        put: |place, key, value| {
            let (first, rest) = value.split_at(value.len().min(1));
            match json::check(first) {
                Ok(_) => place.put("application/json", key, first)?,
                Err(_) => place.put("text/plain", key, first)?,
            }
            place.command(&[b"APPEND", key, rest]).map(drop)
        },
    },
    WayIn {
        name: "a page",
        takes: Takes::Bytes,
        put: |place, key, value| place.page_puts(key, &quoted(value)),
    },
    WayIn {
        name: "a page, decoded",
        takes: Takes::JsonOfPage,
        put: |place, key, value| place.page_puts(key, &format!("json.decode({})", quoted(value))),
    },
    WayIn {
        name: "a page, a field",
        takes: Takes::Field,
        put: |place, key, value| place.page_puts(key, &format!("{{ name = {} }}", quoted(value))),
    },
    WayIn {
        name: "import of commands",
        takes: Takes::Bytes,
        put: |place, key, value| {
            let sizes = [key.len(), value.len()];
            let head = format!("*3\r\n$3\r\nSET\r\n${}\r\n", sizes[0]);
            let middle = format!("\r\n${}\r\n", sizes[1]);
            place.import(
                "a.resp",
                &[head.as_bytes(), key, middle.as_bytes(), value, b"\r\n"].concat(),
            )
        },
    },
    WayIn {
        name: "import of CSV",
        takes: Takes::Bytes,
        put: |place, key, value| {
            place.import(
                "a.csv",
                &[b"key,value\n", &csv(key)[..], b",", &csv(value), b"\n"].concat(),
            )
        },
    },
    WayIn {
        name: "import of CSV, several columns",
        takes: Takes::Replaced,
        put: |place, key, value| {
            place.import(
                "b.csv",
                &[b"key,name,more\n", &csv(key)[..], b",", &csv(value), b",\n"].concat(),
            )
        },
    },
    WayIn {
        name: "import of TSV",
        takes: Takes::Bytes,
        put: |place, key, value| {
            place.import("a.tsv", &[b"key\tvalue\n", key, b"\t", value, b"\n"].concat())
        },
    },
    WayIn {
        name: "import of what is exported",
        takes: Takes::Bytes,
        put: |place, key, value| {
            let line = format!(
                "{{\"key_base64\":\"{}\",\"value_base64\":\"{}\"}}\n",
                STANDARD.encode(key),
                STANDARD.encode(value)
            );
            place.import("a.ndjson", line.as_bytes())
        },
    },
    WayIn {
        name: "import of exported JSON",
        takes: Takes::JsonOfPage,
        put: |place, key, value| {
            let head = format!("{{\"key_base64\":\"{}\",\"json\":", STANDARD.encode(key));
            place.import("b.ndjson", &[head.as_bytes(), value, b"}\n"].concat())
        },
    },
];
