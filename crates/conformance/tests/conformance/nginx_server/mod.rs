//! Owns an nginx: a temporary directory, a configuration, a process that ends with the test.
//! Never touches an nginx that it did not start.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

use conformance::{Capability, TestedServer};

/// The program of the Debian package nginx-light.
const PROGRAM: &str = "/usr/sbin/nginx";
/// Another program may take the free port before nginx does.
const START_ATTEMPTS_MAX: usize = 5;
/// The largest body the configuration allows, in bytes.
const BODY_LIMIT_BYTES: usize = 65_536;
/// 200 times the word packed, by gzip.
const PACKED_GZIP: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x2b\x48\x4c\xce\x4e\x4d\x51\x28\x18\xa5\x46\xa9\x51\x6a\x94\x1a\xa5\xe8\x43\x01\x00\xe7\x28\x76\xa7\x78\x05\x00\x00";

/// A running nginx.
pub(crate) struct Nginx {
    child: Child,
    directory: PathBuf,
    address: SocketAddr,
}

impl Nginx {
    /// The version that the program prints, or `None` if it is not installed.
    pub(crate) fn version() -> Option<String> {
        let output = Command::new(PROGRAM).arg("-v").output().ok()?;
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        text.trim().strip_prefix("nginx version: nginx/").map(str::to_owned)
    }

    /// Starts one on a free port and waits until it listens.
    pub(crate) fn start() -> Self {
        Self::start_with(include_str!("nginx.conf"))
    }

    /// Starts one that speaks HTTP/2 with prior knowledge.
    pub(crate) fn start_frames() -> Self {
        Self::start_with(include_str!("nginx_frames.conf"))
    }

    fn start_with(text: &str) -> Self {
        let directory = new_directory();
        write_site(&directory);
        for _ in 0..START_ATTEMPTS_MAX {
            let port = free_port();
            let path = directory.join("nginx.conf");
            fs::write(&path, configuration(text, &directory, port)).unwrap();
            if let Some(child) = launch(&directory, &path) {
                let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
                return Self { child, directory, address };
            }
        }
        panic!("nginx did not start in {START_ATTEMPTS_MAX} attempts");
    }

    /// Its offers.
    pub(crate) fn target(&self) -> TestedServer {
        let mut target = TestedServer::new(self.address)
            .with(Capability::File, "/sample.txt")
            .with(Capability::EmptyFile, "/empty.txt")
            .with(Capability::Directory, "/directory")
            .with(Capability::Missing, "/missing")
            .with(Capability::Echo, "/echo")
            .with(Capability::Redirect, "/moved")
            .with(Capability::Dotfile, "/.hidden")
            .with(Capability::OutsideLink, "/link.txt")
            .with(Capability::Precompressed, "/packed.txt")
            .with(Capability::BodyLimit, BODY_LIMIT_BYTES.to_string());
        target.file_content = Some(sample().into_bytes());
        target
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

fn new_directory() -> PathBuf {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let name = format!("conformance-nginx-{}-{number}", std::process::id());
    let directory = std::env::temp_dir().join(name);
    fs::create_dir_all(&directory).unwrap();
    directory
}

fn sample() -> String {
    (0..100).map(|line| format!("line {line:03} of the sample file\n")).collect()
}

fn write_site(directory: &Path) {
    let site = directory.join("files");
    fs::create_dir_all(site.join("directory")).unwrap();
    fs::write(site.join("directory/index.html"), "<p>index\n").unwrap();
    fs::write(site.join("sample.txt"), sample()).unwrap();
    fs::write(site.join("empty.txt"), "").unwrap();
    fs::write(site.join(".hidden"), "hidden\n").unwrap();
    fs::write(site.join("packed.txt"), "packed ".repeat(200)).unwrap();
    fs::write(site.join("packed.txt.gz"), PACKED_GZIP).unwrap();
    fs::write(directory.join("outside.txt"), "outside\n").unwrap();
    symlink(directory.join("outside.txt"), site.join("link.txt")).unwrap();
    // Old enough to be a strong validator (RFC 9110 section 8.8.2.2), with a day of one digit.
    let modified = UNIX_EPOCH + Duration::from_secs(1_609_835_696);
    for name in ["sample.txt", "packed.txt", "packed.txt.gz"] {
        let file = File::options().append(true).open(site.join(name)).unwrap();
        file.set_modified(modified).unwrap();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port()
}

fn configuration(text: &str, directory: &Path, port: u16) -> String {
    text.replace("@FOLDER@", &directory.display().to_string())
        .replace("@ADDRESS@", &format!("{}:{port}", Ipv4Addr::LOCALHOST))
        .replace("@BODY_LIMIT_BYTES@", &BODY_LIMIT_BYTES.to_string())
}

/// The process, once it listens; `None` if it ended before that.
fn launch(directory: &Path, configuration: &Path) -> Option<Child> {
    let mut child = Command::new(PROGRAM)
        .arg("-p")
        .arg(directory)
        .arg("-e")
        .arg("stderr")
        .arg("-c")
        .arg(configuration)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("event method") {
        line.clear();
        if log.read_line(&mut line).unwrap_or(0) == 0 {
            child.wait().unwrap();
            return None;
        }
    }
    // Nothing else reads it, and a full pipe would block the server.
    thread::spawn(move || log.read_to_end(&mut Vec::new()));
    Some(child)
}
