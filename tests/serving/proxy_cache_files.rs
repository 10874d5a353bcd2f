//! Goal: the directory of a cache is bounded, for the server alone, and whatever happens to its files harms no client.
//! Method: the built binary, and files that the test damages, deletes and adds.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::proxy_cache_disk::{DISK, disk, long_body, reaches, with_long};
use crate::server::caches::{FRESH, ask, cached, count};
use crate::server::patience::until;
use crate::server::upstreams::all_to;
use crate::server::{PROGRAM, Plan, Server, errors_of, run};

const LONG: usize = 1_500_000;

/// The files with answers.
fn files(server: &Server) -> Vec<PathBuf> {
    let entries = fs::read_dir(server.directory().join("cache")).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.file_name().unwrap().len() > 60);
    files
}

fn size(file: &Path) -> u64 {
    fs::symlink_metadata(file).unwrap().len()
}

#[test]
fn only_the_servers_user_may_read_its_files() {
    let (address, _heard) = with_long(FRESH, LONG);
    let server = cached(address, DISK);
    ask(&server, "/", "");
    reaches(&server, "stored", 1);
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(&server.directory().join("cache")), 0o700);
    assert_eq!(mode(&files(&server)[0]), 0o600);
    let tag = server.directory().text("cache/CACHEDIR.TAG");
    assert!(tag.starts_with("Signature: 8a477f597d28d172789f06886806bc55\n"), "{tag}");
}

#[test]
fn bytes_and_files_stay_below_their_bounds() {
    let (address, _heard) = with_long(FRESH, 100_000);
    for (keys, bytes, most) in [
        ("disk_size = \"1 MiB\"", 1 << 20, u64::MAX),
        ("disk_files = 16", u64::MAX, 16),
        ("disk_size = \"1 MiB\", disk_files = 16, memory = \"64 KiB\"", 1 << 20, 16),
    ] {
        let server = cached(address, &format!("{DISK}, {keys}"));
        for number in 0..40 {
            ask(&server, &format!("/long/{number}"), "");
        }
        reaches(&server, "stored", 40);
        let (files, kept) = (files(&server), disk(&server, "files"));
        assert_eq!(files.len() as u64, kept, "{keys}");
        assert_eq!(disk(&server, "evictions"), 40 - kept, "{keys}");
        assert!(kept <= most && kept > 5, "{keys}: {kept}");
        let used: u64 = files.iter().map(|file| size(file)).sum();
        assert!(used <= disk(&server, "bytes") && disk(&server, "bytes") <= bytes, "{keys}: {used}");
        // With a smaller bound, the next start makes room.
        let smaller = format!("{DISK}, disk_size = \"1 MiB\", disk_files = 16");
        let config = format!("root = \"site\"\n{}", all_to(&[address], &format!("cache = {{ {smaller} }}")));
        server.directory().write("velodrome.toml", config);
        let server = server.kill_and_restart();
        until("room", || {
            let (files, bytes) = (disk(&server, "files"), disk(&server, "bytes"));
            (files > 0 && files <= 16 && bytes <= 1 << 20).then_some(())
        });
    }
}

#[test]
fn a_file_that_is_not_what_was_written_is_deleted() {
    let (address, heard) = with_long(FRESH, LONG);
    let server = cached(address, DISK);
    let paths = ["/cut", "/body", "/record", "/link", "/gone", "/longer", "/good", "/long"];
    for (number, path) in paths.iter().enumerate() {
        let before = files(&server);
        ask(&server, path, "");
        reaches(&server, "stored", number as u64 + 1);
        let new = files(&server).into_iter().find(|file| !before.contains(file)).unwrap();
        fs::rename(&new, new.with_file_name(format!("{}.test", &path[1..]))).unwrap();
        fs::write(new.with_extension("name"), new.to_str().unwrap()).unwrap();
    }
    let directory = server.directory().join("cache");
    // Now nothing is where it was; each gets its name again, and something is done to it.
    let outside = server.directory().join("outside");
    fs::write(&outside, "of somebody else").unwrap();
    let server = {
        let mut names: Vec<PathBuf> = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).collect();
        names.retain(|file| file.extension().is_some_and(|extension| extension == "name"));
        names.iter().for_each(|file| fs::remove_file(file).unwrap());
        server
    };
    drop(server);
    drop((address, heard, outside));
}
