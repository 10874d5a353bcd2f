//! Everything that a running server says of itself, in one document: for `velodrome ctl dump`, and for a file when the
//! server has panicked or is ended with QUIT.
//!
//! Owns which questions the document answers, and the file. It asks the control socket as everybody does, so that it
//! needs nothing of the server itself: what cannot be answered stands there as the problem it met.
#![expect(
    clippy::disallowed_types,
    reason = "the thread that dumps runs no scheduler, and the process's own table is its table"
)]

use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
// Not on a scheduler: the main thread, and the command line.
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use live::List;
use serde_json::{Map, Value, json};

use crate::limits::{DUMP_PATIENCE, DUMP_SIZE};

/// The document. `ask` answers a path of the control socket with its body.
pub fn collect(reason: &str, mut ask: impl FnMut(&str) -> io::Result<String>) -> Value {
    let mut told = |path: &str| match ask(path) {
        Ok(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        Err(error) => json!({ "problem": error.to_string() }),
    };
    let mut document = Map::new();
    document.insert("reason".to_owned(), json!(reason));
    for name in ["status", "stats", "memory", "upstreams", "cache", "events"] {
        document.insert(name.to_owned(), told(&format!("/{name}")));
    }
    let mut lists = Map::new();
    for name in List::ALL.map(List::name) {
        let mut shown = told(&format!("/live?list={name}&most=1000"));
        let list = match shown.get_mut("list") {
            Some(list) => list.take(),
            None => shown.clone(),
        };
        lists.insert(name.to_owned(), list);
        if !document.contains_key("live") {
            document.insert("live".to_owned(), shown);
        }
    }
    document.insert("lists".to_owned(), Value::Object(lists));
    Value::Object(document)
}

/// The directory of dumps of a server that may not make files next to its control socket.
pub(crate) fn directory_of(socket: &Path) -> PathBuf {
    socket.with_extension("dumps")
}

/// Writes the document to a file next to the control socket, or if that cannot be, in [`directory_of`] it. Returns its
/// path.
///
/// # Errors
/// If neither file can be written: why the first one cannot.
pub(crate) fn write(reason: &str, socket: &Path) -> io::Result<PathBuf> {
    let text = collect(reason, |path| ask(socket, path)).to_string();
    let beside = socket.with_extension("dump.json");
    let within = directory_of(socket).join("dump.json");
    match put(&beside, &text) {
        Ok(()) => Ok(beside),
        Err(error) => put(&within, &text).map(|()| within).map_err(|_| error),
    }
}

/// Writes a new file, which takes the place of an older one: no reader sees half of it, and no link leads the writer
/// elsewhere.
fn put(path: &Path, text: &str) -> io::Result<()> {
    let new = path.with_extension("new");
    let removed = std::fs::remove_file(&new);
    removed.or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    })?;
    let mut file =
        // Not on a scheduler: the main thread.
        std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| std::fs::rename(&new, path));
    written.inspect_err(|_| {
        // On a full disk it would be in the way of others.
        let _stays = std::fs::remove_file(&new);
    })
}

fn ask(socket: &Path, path: &str) -> io::Result<String> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(DUMP_PATIENCE))?;
    stream.set_write_timeout(Some(DUMP_PATIENCE))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: control\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.take(DUMP_SIZE).read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    match head.split(' ').nth(1) {
        Some("200") => Ok(body.to_owned()),
        other => Err(io::Error::other(format!("answered {}", other.unwrap_or("nothing")))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dump_is_written_into_its_directory_if_it_cannot_be_beside_the_socket() {
        let name = format!("velodrome-dump-{}", std::process::id());
        let socket = std::env::temp_dir().join(name).join("control.sock");
        std::fs::create_dir_all(directory_of(&socket)).expect("a directory for the test");
        // Whatever is in its place there cannot be removed.
        std::fs::create_dir_all(socket.with_extension("dump.new")).expect("a directory");
        let file = write("a test", &socket).expect("there is its directory");
        assert_eq!(file, directory_of(&socket).join("dump.json"));
        std::fs::remove_dir_all(directory_of(&socket)).expect("its directory");
        let error = write("a test", &socket).expect_err("there is no place");
        assert_eq!(error.kind(), io::ErrorKind::IsADirectory, "why the first place is none");
        let all = socket.parent().expect("its directory");
        std::fs::remove_dir_all(all).expect("the directory of the test");
    }

    #[test]
    fn a_part_that_cannot_be_had_is_told_and_the_others_are_there() {
        let told = collect("a test", |path| match path {
            "/status" => Ok(r#"{"state":"serving"}"#.to_owned()),
            "/memory" => Err(io::ErrorKind::TimedOut.into()),
            path if path.starts_with("/live?list=routes&") => {
                Ok(r#"{"at_ms":7,"list":{"rows":[]}}"#.to_owned())
            }
            _ => Ok("{}".to_owned()),
        });
        assert_eq!(told["reason"], "a test");
        assert_eq!(told["status"]["state"], "serving");
        assert_eq!(told["memory"]["problem"], "timed out");
        assert_eq!(told["lists"]["routes"], json!({ "rows": [] }));
        assert_eq!(told["lists"].as_object().unwrap().len(), List::ALL.len());
    }
}
