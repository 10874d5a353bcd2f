//! A real server process is found by its address, and its CPU time is counted.

#![expect(
    clippy::disallowed_types,
    reason = "a listening socket is made here and given to a child"
)]

use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

use bench::host::{ProcessSample, ServerSample, ServerUse, listening_processes};

/// A busy process with a listening socket, until it is dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        self.0.kill().expect("the child was not waited for yet");
        self.0.wait().expect("a killed child ends");
    }
}

#[test]
fn a_server_is_found_by_its_address_and_its_time_is_counted() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    assert!(listening_processes(address).is_empty(), "the own process is no server");
    let held = Stdio::from(OwnedFd::from(listener));
    let busy = Command::new("sh").args(["-c", "while :; do :; done"]).stdin(held).spawn();
    let server = Server(busy.unwrap());

    let pids = listening_processes(address);
    assert_eq!(pids, [server.0.id()]);
    let earlier = ServerSample::read(&pids);
    let used = loop {
        let used = ServerUse::between(&earlier, &ServerSample::read(&pids)).unwrap();
        // Five ticks, so that there is something to split.
        if used.cpu_ns > 50_000_000 && used.user_ns.is_some() {
            break used;
        }
    };
    assert_eq!((used.name.as_str(), used.threads), ("sh", 1));
    assert_eq!(used.busiest_thread_ns, used.cpu_ns);
    assert_eq!(used.user_ns.unwrap() + used.system_ns.unwrap(), used.cpu_ns);
    assert!(used.resident_bytes > 0);
}

/// The kernel keeps fifteen bytes of a name, and may cut a letter in the middle.
#[test]
fn a_process_whose_name_is_not_utf_8_is_seen() {
    use std::os::unix::ffi::OsStrExt as _;
    let own = format!("velodrome-bench-name-{}", std::process::id());
    let directory = std::env::temp_dir().join(own);
    std::fs::create_dir(&directory).unwrap();
    let program = directory.join(std::ffi::OsStr::from_bytes(b"caf\xe9"));
    std::os::unix::fs::symlink("/bin/sleep", &program).unwrap();
    let server = Server(Command::new(&program).arg("60").spawn().unwrap());
    let sample = ProcessSample::read(server.0.id());
    drop(server);
    std::fs::remove_dir_all(&directory).unwrap();
    assert_eq!(sample.unwrap().name, "caf\u{fffd}");
}
