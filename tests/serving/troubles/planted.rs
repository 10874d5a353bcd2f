//! The load that keeps a trouble up while the test looks for it.
//!
//! Owns the clients, files and threads of a trouble, which end with it, and the texts by which it has to be named.

use std::any::Any;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use crate::server::Server;
use crate::server::channel::{connect, resp, say};

/// A trouble that was planted.
#[derive(Default)]
pub(super) struct Planted {
    pub(super) texts: Vec<String>,
    kept: Vec<Box<dyn Any>>,
}

impl Planted {
    /// Its name has these texts.
    pub(super) fn with(texts: &[&str]) -> Self {
        Self { texts: texts.iter().map(|text| (*text).to_owned()).collect(), kept: Vec::new() }
    }

    /// It lasts as long as this.
    pub(super) fn keep(mut self, kept: impl Any) -> Self {
        self.kept.push(Box::new(kept));
        self
    }
}

/// Something that a thread does again and again until this is dropped.
pub(super) struct Again {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Again {
    pub(super) fn and_again(mut act: impl FnMut() + Send + 'static) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            while !seen.load(Ordering::Relaxed) {
                act();
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Again {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().expect("it is joined once").join();
        // The panic of a test is enough.
        assert!(ended.is_ok() || thread::panicking(), "what caused the trouble has failed");
    }
}

/// The thread of a server with this name.
pub(super) fn thread_of(server: &Server, name: &str) -> String {
    let tasks = format!("/proc/{}/task", server.id());
    let named = |task: &Path| std::fs::read_to_string(task.join("comm")).unwrap();
    let mut tasks = std::fs::read_dir(tasks).unwrap().map(|task| task.unwrap().path());
    let task = tasks.find(|task| named(task).trim() == name).unwrap();
    task.file_name().unwrap().to_str().unwrap().to_owned()
}

/// Requests for a path, one after the other.
pub(super) fn requests(server: &Server, path: &'static str) -> Again {
    let mut client = server.client();
    Again::and_again(move || {
        client.get(path).unwrap();
    })
}

/// Commands of a Redis client, again and again; each time all of their replies have this length together.
pub(super) fn commands(server: &Server, commands: impl Into<Vec<u8>>, reply: usize) -> Again {
    let (mut client, commands) = (connect(resp(server)), commands.into());
    let mut replies = vec![0; reply];
    Again::and_again(move || {
        client.write_all(&commands).unwrap();
        client.read_exact(&mut replies).unwrap();
    })
}

/// The usual load.
pub(super) fn ordinary_load(server: &Server) -> Planted {
    let mut subscriber = connect(resp(server));
    say(&mut subscriber, b"SUBSCRIBE news\r\n", b":1\r\n");
    let reader =
        thread::spawn(
            move || while subscriber.read(&mut [0; 4096]).is_ok_and(|count| count > 0) {},
        );
    Planted::default()
        .keep(requests(server, "/a.txt"))
        .keep(requests(server, "/p"))
        .keep(requests(server, "/none"))
        .keep(commands(server, "SET a 1\r\nGET a\r\n", 12))
        .keep(commands(server, "PUBLISH news hello\r\n", 4))
        .keep(reader)
}
