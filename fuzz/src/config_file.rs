//! Configuration files: parsing is deterministic, and every error is one line with an existing
//! position.

use std::path::Path;

use config::{Config, Overrides};

/// The code that it runs.
pub const COVERS: &[&str] = &["crates/config/src"];

/// Files of all kinds.
pub const SEEDS: &[&[u8]] = &[
    b"",
    b"schedulers = 2\nspin = \"50us\"\npin = false\nroot = \"site\"\n",
    b"[[listener]]\naddress = \"127.0.0.1:8080\"\nproxy_protocol_from = [\"10.0.0.0/8\"]\n",
    b"[[listener]]\naddress = \"unix:/run/a.sock\"\nmode = \"0660\"\n[admin]\nsocket = \"/run/v\"\n",
    b"[limits]\nhead_size = \"16 KiB\"\nbody_size = \"1MiB\"\nheader_deadline = \"10s\"\n",
    b"[[host]]\nnames = [\"example.org\", \"*.example.org\"]\nroot = \"a\"\n\
      [[host.route]]\nprefix = \"/old\"\nredirect = { to = \"/new/{rest}\", status = 308 }\n",
    b"[[route]]\nglob = \"/x/*\"\njson = { a = [1, \"b\"] }\n[log]\naccess = \"-\"\n",
    b"[[route]]\npath = \"/a\"\nrespond = { status = 200, body = \"b\" }\nheaders = { \"X-A\" = \"b\" }\n",
    b"[files]\nlisting = true\nindex = [\"index.html\"]\n[[files.cache_control]]\nglob = \"*.css\"\n",
    b"lisen = 3\n[limts]\n= \"\"\"",
];

/// Pieces of files.
pub const WORDS: &[&[u8]] = &[
    b"\n",
    b" = ",
    b"[",
    b"]",
    b"[[",
    b"]]",
    b"\"",
    b"\"\"\"",
    b"'",
    b"{",
    b"}",
    b",",
    b".",
    b"true",
    b"-1",
    b"0",
    b"99999999999999999999",
    b"1e400",
    b"inf",
    b"\"10s\"",
    b"\"1 KiB\"",
    b"\"\"",
    b"#",
    b"schedulers",
    b"pin",
    b"user",
    b"spin",
    b"descriptor_tables",
    b"drain_deadline",
    b"root",
    b"[[listener]]\n",
    b"address",
    b"[[host]]\n",
    b"names",
    b"[[route]]\n",
    b"[[host.route]]\n",
    b"path = \"/a\"\n",
    b"glob = \"/**/*.{a,b}\"\n",
    b"redirect",
    b"rewrite",
    b"respond",
    b"json",
    b"to",
    b"status",
    b"headers",
    b"error_pages",
    b"[files]\n",
    b"mime",
    b"[limits]\n",
    b"[log]\n",
    b"[admin]\n",
    b"\"[::1]:80\"",
    b"\"10.0.0.0/33\"",
    b"\xc3\xa9",
    b"\xe2\x82\xac",
    b"\\u0000",
];

/// Longest message in characters; nobody reads a longer one.
const MESSAGE_CHARACTERS_MAX: usize = 2_000;

/// Checks the properties of this module for one input.
pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let read = || {
        Config::from_text(&text, "velodrome.toml", Path::new("/srv/site"), &Overrides::default())
    };
    let first = read();
    assert_eq!(first, read(), "read twice, understood twice");
    match first {
        Ok(config) => assert!(!config.listeners.is_empty(), "a server that listens nowhere"),
        Err(errors) => {
            assert!(!errors.problems().is_empty());
            let lines = text.split('\n').count();
            for problem in errors.problems() {
                assert!(!problem.message.is_empty() && !problem.message.contains('\n'));
                assert!(problem.message.chars().count() <= MESSAGE_CHARACTERS_MAX);
                if let Some(place) = problem.place {
                    assert!((1..=lines).contains(&(place.line as usize)), "{problem:?}");
                    assert!(place.column >= 1);
                }
            }
            assert!(!errors.to_string().is_empty());
        }
    }
}
