//! Goal: the directory of a cache is bounded, for the server alone, and whatever happens to its files harms no client.
//! Method: the built binary, and files that the test damages, deletes and adds.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::proxy_cache_disk::{DISK, disk, long_body, reaches, with_long};
use crate::server::caches::{FRESH, ask, cached, count, counted};
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
        assert!(
            used <= disk(&server, "bytes") && disk(&server, "bytes") <= bytes,
            "{keys}: {used}"
        );
        // With a smaller bound, the next start makes room.
        let smaller = format!("{DISK}, disk_size = \"1 MiB\", disk_files = 16");
        let config =
            format!("root = \"site\"\n{}", all_to(&[address], &format!("cache = {{ {smaller} }}")));
        server.directory().write("velodrome.toml", config);
        let server = server.kill_and_restart();
        until("room", || {
            let (files, bytes) = (disk(&server, "files"), disk(&server, "bytes"));
            (files > 0 && files <= 16 && bytes <= 1 << 20).then_some(())
        });
    }
}

/// The file of the answer to a path, which nobody has asked for yet.
fn stored(server: &Server, path: &str) -> PathBuf {
    let (before, known) = (files(server), disk(server, "stored"));
    ask(server, path, "");
    reaches(server, "stored", known + 1);
    files(server).into_iter().find(|file| !before.contains(file)).unwrap()
}

fn change_byte(file: &Path, place: impl Fn(usize) -> usize) {
    let mut bytes = fs::read(file).unwrap();
    let place = place(bytes.len());
    bytes[place] ^= 1;
    fs::write(file, bytes).unwrap();
}

#[test]
fn a_file_that_is_not_what_was_written_is_deleted() {
    let (address, heard) = with_long(FRESH, LONG);
    let server = cached(address, DISK);
    let directory = server.directory().join("cache");
    let outside = server.directory().join("outside");
    fs::write(&outside, "of somebody else").unwrap();
    let cut = stored(&server, "/cut");
    fs::OpenOptions::new().write(true).open(&cut).unwrap().set_len(size(&cut) - 1).unwrap();
    let cut = stored(&server, "/long/cut");
    fs::OpenOptions::new().write(true).open(&cut).unwrap().set_len(100).unwrap();
    change_byte(&stored(&server, "/body"), |length| length - 9);
    change_byte(&stored(&server, "/record"), |_| 60);
    change_byte(&stored(&server, "/magic"), |_| 0);
    change_byte(&stored(&server, "/long/record"), |_| 60);
    // As a file, it would have the right size.
    let link = stored(&server, "/link");
    fs::rename(&link, &outside).unwrap();
    symlink(&outside, &link).unwrap();
    fs::remove_file(stored(&server, "/gone")).unwrap();
    // Of another answer: it has the right size, and another key.
    let (one, other) = (stored(&server, "/one"), stored(&server, "/two"));
    fs::copy(&other, &one).unwrap();
    // Its body is that of another answer, with its check sum.
    let (mixed, other) = (stored(&server, "/mix"), stored(&server, "/few"));
    let (mut bytes, other) = (fs::read(&mixed).unwrap(), fs::read(other).unwrap());
    let tail = "/few".len() + 8;
    let place = bytes.len() - tail;
    bytes[place..].copy_from_slice(&other[other.len() - tail..]);
    fs::write(&mixed, bytes).unwrap();
    for foreign in ["index.html", "0000000000000001.part", "nginx"] {
        fs::write(directory.join(foreign), "?").unwrap();
    }
    fs::create_dir(directory.join("sub")).unwrap();
    symlink(&outside, directory.join("a-link")).unwrap();
    stored(&server, "/good");
    count(&heard);
    let server = server.kill_and_restart();
    for path in [
        "/cut",
        "/long/cut",
        "/body",
        "/record",
        "/magic",
        "/long/record",
        "/link",
        "/gone",
        "/one",
        "/mix",
    ] {
        let (body, status) = ask(&server, path, "");
        assert!(status.starts_with("velodrome; fwd=uri-miss; stored"), "{path}: {status}");
        assert!(body == if path.starts_with("/long") { long_body(LONG) } else { path.to_owned() });
    }
    for path in ["/good", "/two"] {
        assert!(ask(&server, path, "").1.starts_with("velodrome; hit"), "{path}");
    }
    assert_eq!(count(&heard), 10);
    reaches(&server, "stored", 10);
    assert_eq!(disk(&server, "damaged"), 9);
    assert!(!fs::read(&outside).unwrap().is_empty(), "a link was followed");
    let left = files(&server).len();
    assert_eq!(disk(&server, "files"), left as u64);
    // The tag and a directory are all that is there besides.
    assert_eq!(fs::read_dir(&directory).unwrap().count(), left + 2);
}

#[test]
fn a_file_that_is_deleted_under_the_server_is_fetched_again() {
    let (address, heard) = with_long(FRESH, LONG);
    let server = cached(address, DISK);
    stored(&server, "/long");
    assert!(ask(&server, "/long", "").1.starts_with("velodrome; hit"));
    files(&server).iter().for_each(|file| fs::remove_file(file).unwrap());
    let (body, status) = ask(&server, "/long", "");
    assert!(body == long_body(LONG) && status.starts_with("velodrome; fwd=uri-miss"), "{status}");
    reaches(&server, "stored", 2);
    assert!(ask(&server, "/long", "").1.starts_with("velodrome; hit"));
    assert_eq!(count(&heard), 2);
    counted(&server, "hits", 2);
    counted(&server, "misses", 2);
}

#[test]
fn a_full_disk_is_nothing_that_a_client_sees() {
    let (address, heard) = with_long(FRESH, 900_000);
    let plan = Plan::new().argument("--schedulers=1");
    let directory = plan.directory.join("cache");
    fs::create_dir(&directory).unwrap();
    let Some(_mounted) = Mounted::at(&directory) else {
        println!(
            "SKIPPED a_full_disk_is_nothing_that_a_client_sees: no file system can be mounted"
        );
        return;
    };
    let config = all_to(&[address], &format!("cache = {{ memory = \"64 KiB\", {DISK} }}"));
    let server = plan.config(&config).start();
    for number in 0..6 {
        let (body, _) = ask(&server, &format!("/long/{number}"), "");
        assert!(body == long_body(900_000), "{number}");
    }
    until("all", || (disk(&server, "lost") + disk(&server, "stored") == 6).then_some(()));
    let told = server.printed_errors();
    assert_eq!(told.matches("stores nothing more on its disk").count(), 1, "{told}");
    assert_eq!(count(&heard), 6);
    let kept = disk(&server, "files");
    assert!((1..=2).contains(&kept), "{kept}");
    assert_eq!(files(&server).len() as u64, kept, "parts stay");
    let hits =
        (0..6).filter(|number| ask(&server, &format!("/long/{number}"), "").1.contains("hit"));
    assert_eq!(hits.count() as u64, kept);
}

/// A small file system of its own, until this is dropped.
struct Mounted(PathBuf);

impl Mounted {
    fn at(directory: &Path) -> Option<Self> {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"]).arg(directory);
        run(&mut mount).status.success().then(|| Self(directory.to_path_buf()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _stays = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

#[test]
fn a_directory_that_is_not_for_the_cache_alone_is_refused() {
    let (address, _heard) = with_long(FRESH, LONG);
    let config = |keys: &str| all_to(&[address], &format!("cache = {{ {keys} }}"));
    let server = Plan::new().config(&config(DISK)).start();
    let other = format!("directory = \"{}\"", server.directory().join("cache").display());
    let refused = |keys: &str, why: &str| {
        let plan = Plan::new().config(&config(keys));
        plan.directory.write("full/important.txt", "?");
        let printed = errors_of(&plan.fail());
        assert!(printed.contains(why), "{keys}: {printed}");
        let file = plan.directory.join("velodrome.toml");
        let checked = run(Command::new(PROGRAM).arg("check").arg("--config").arg(file));
        assert!(plan.directory.join("full/important.txt").exists());
        (errors_of(&checked), checked.status.success())
    };
    refused(&other, "another server uses it");
    for (keys, why) in [
        ("directory = \"full\"", "there are files in it that are not of a cache"),
        ("directory = \"velodrome.toml\"", "Not a directory"),
        ("directory = \"/proc/cache\"", "only the kernel makes files"),
    ] {
        let (printed, passes) = refused(keys, why);
        assert!(printed.contains(why) && !passes, "{keys}: {printed}");
        assert!(printed.contains("names a directory for this cache alone"), "{printed}");
    }
    let (printed, passes) = refused("directory = \"site/cache\"", "which is served");
    assert!(printed.contains("clients could read all of it") && !passes, "{printed}");
    let two = format!(
        "{}\n[[upstream]]\nname = \"b\"\nservers = [\"{address}\"]\ncache = {{ directory = \"cache/b\" }}",
        config(DISK)
    );
    let printed = errors_of(&Plan::new().config(&two).fail());
    assert!(printed.contains("each needs one for itself"), "{printed}");
    // A directory that the server did not have at its start cannot be used by a reload.
    let new = format!("root = \"site\"\n{}", config("directory = \"elsewhere\""));
    server.directory().write("velodrome.toml", new);
    let reloaded = server.ctl(&["reload"]);
    let printed = format!("{}{}", errors_of(&reloaded), server.printed_errors());
    assert!(printed.contains("upstream.cache.directory"), "{printed}");
}
