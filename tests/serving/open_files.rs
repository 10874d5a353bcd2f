//! Goal: a file is open only as long as somebody asks for it. Method: the built binary, and the kernel's list of what
//! it has open.

use crate::server::patience::until;
use crate::server::{Plan, Server};

/// The open files of all threads of a server, each of which has a table of descriptors of its own.
fn open_files(server: &Server) -> Vec<String> {
    let threads = std::fs::read_dir(format!("/proc/{}/task", server.id())).unwrap();
    let tables = threads.filter_map(|thread| thread.unwrap().path().join("fd").read_dir().ok());
    let links = tables.flatten().filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    links.map(|link| link.display().to_string()).collect()
}

#[test]
fn a_large_file_that_is_deleted_is_closed_soon() {
    let server = Plan::new().file("film.bin", vec![1; 1 << 20]).start();
    assert_eq!(server.get("/film.bin").body.len(), 1 << 20);
    std::fs::remove_file(server.directory().join("site/film.bin")).unwrap();
    until("its blocks to be free", || {
        (!open_files(&server).iter().any(|file| file.contains("film.bin"))).then_some(())
    });
}
