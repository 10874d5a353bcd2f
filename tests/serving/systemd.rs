//! Goal: the server takes sockets from a service manager and notifies it of its state. Method: sockets passed as
//! systemd passes them, and a notification socket of the test.

use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use crate::server::client::{Client, head, text};
use crate::server::patience::{PATIENCE, until};
use crate::server::{Plan, errors_of, has, used_port};

/// Passes listening sockets as systemd does (sd_listen_fds(3)): the kinds come first, then the server's command line.
const PASS_SOCKETS: &str = "
import os, socket, sys
count = int(sys.argv[1])
sockets = [socket.create_server(('127.0.0.1', int(port))) for port in sys.argv[2:2 + count]]
copies = [os.dup2(os.dup(kept.fileno()), 20 + index) for index, kept in enumerate(sockets)]
for index, copy in enumerate(copies):
    os.dup2(copy, 3 + index, inheritable=True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(count), LISTEN_FDNAMES=sys.argv[2 + count])
os.execv(sys.argv[3 + count], sys.argv[3 + count:])
";

#[test]
fn sockets_of_systemd_are_taken_by_name() {
    if !has("python3", "sockets_of_systemd_are_taken_by_name") {
        return;
    }
    let config = "schedulers = 2\n\
        [[listener]]\naddress = \"systemd:web\"\n\
        [[listener]]\naddress = \"systemd:behind\"\nproxy_protocol_from = [\"127.0.0.0/8\"]\n";
    let [(first, web), (second, behind)] = [used_port(), used_port()];
    drop((first, second));
    let ports = [web.port().to_string(), behind.port().to_string()];
    let wrapper = ["python3", "-c", PASS_SOCKETS, "2", &ports[0], &ports[1], "web:behind"];
    let plan = Plan::new().file("a.txt", "a\n").config(config);
    let mut server = plan.wrapped(&wrapper).listen_as_configured(2).start();
    assert!(server.announced.iter().all(|line| line.contains("inherited")), "{server:?}");
    for number in 0..10 {
        assert_eq!(text(&Client::connect(web).unwrap().get("/a.txt").unwrap()), "a\n", "{number}");
        let mut client = Client::connect(behind).unwrap();
        client.send("PROXY TCP4 192.0.2.7 192.0.2.1 4000 80\r\n").unwrap();
        assert_eq!(text(&client.get("/a.txt").unwrap()), "a\n", "{number}");
    }
    server.signal("TERM");
    assert!(server.wait().success());
}

/// `systemd` without a name stands for all of them, which must not shift the settings of listeners after it.
#[test]
fn all_sockets_of_systemd_are_taken_at_once() {
    if !has("python3", "all_sockets_of_systemd_are_taken_at_once") {
        return;
    }
    let config = "schedulers = 2\n[[listener]]\naddress = \"systemd\"\n\
        [[listener]]\naddress = \"127.0.0.1:0\"\nproxy_protocol_from = [\"127.0.0.0/8\"]\n";
    let [(first, one), (second, other)] = [used_port(), used_port()];
    drop((first, second));
    let ports = [one.port().to_string(), other.port().to_string()];
    let wrapper = ["python3", "-c", PASS_SOCKETS, "2", &ports[0], &ports[1], "a:b"];
    let plan = Plan::new().file("a.txt", "a\n").config(config);
    let server = plan.wrapped(&wrapper).listen_as_configured(3).start();
    for number in 0..10 {
        for address in [one, other] {
            let mut client = Client::connect(address).unwrap();
            assert_eq!(text(&client.get("/a.txt").unwrap()), "a\n", "{number}");
        }
        let mut client = server.client();
        client.send(head("GET", "/a.txt", &[])).unwrap();
        let (answer, _) = client.rest().unwrap();
        assert!(answer.is_empty(), "connection {number} without a header was answered");
    }
}

#[test]
fn systemd_itself_activates_it() {
    if !has("systemd-socket-activate", "systemd_itself_activates_it") {
        return;
    }
    let (listener, address) = used_port();
    drop(listener);
    let listen = format!("--listen={address}");
    let plan = Plan::new().file("a.txt", "a\n").listen("systemd");
    let server = plan.wrapped(&["systemd-socket-activate", &listen]).launch();
    // It starts the server at the first connection.
    let mut client = until("the socket", || Client::connect(address).ok());
    assert_eq!(text(&client.get("/a.txt").unwrap()), "a\n");
    drop(client);
    let mut server = server.stand();
    server.signal("TERM");
    assert!(server.wait().success());
}

#[test]
fn without_sockets_of_systemd_it_says_so() {
    let output = Plan::new().listen("systemd:web").fail();
    let errors = errors_of(&output);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    for words in ["systemd passed no listening socket called `web`", "LISTEN_FDS"] {
        assert!(errors.contains(words), "no `{words}` in:\n{errors}");
    }
}

/// The states of sd_notify(3) in one datagram.
fn notified(socket: &UnixDatagram) -> Vec<String> {
    let mut buffer = [0; 1024];
    let mut received = socket.recv(&mut buffer);
    while received.as_ref().is_err_and(|error| error.kind() == ErrorKind::Interrupted) {
        received = socket.recv(&mut buffer);
    }
    let count = received.expect("a notification");
    String::from_utf8_lossy(&buffer[..count]).lines().map(str::to_owned).collect()
}

#[test]
fn the_service_manager_is_told() {
    let plan = Plan::new();
    let path = plan.directory.join("notify.sock");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut server = plan.environment("NOTIFY_SOCKET", &path.display().to_string()).start();
    assert!(notified(&socket).contains(&"READY=1".to_owned()));
    server.signal("HUP");
    let reloading = notified(&socket);
    assert!(reloading.contains(&"RELOADING=1".to_owned()), "{reloading:?}");
    let began = reloading.iter().find_map(|line| line.strip_prefix("MONOTONIC_USEC="));
    let began: u64 = began.expect("systemd wants to know when it began").parse().unwrap();
    let uptime = std::fs::read_to_string("/proc/uptime").unwrap();
    let now: f64 = uptime.split(' ').next().unwrap().parse().unwrap();
    let ago = Duration::from_secs_f64(now).abs_diff(Duration::from_micros(began));
    assert!(ago < PATIENCE, "{began} us is not now");
    assert!(notified(&socket).contains(&"READY=1".to_owned()));
    server.signal("TERM");
    assert!(notified(&socket).contains(&"STOPPING=1".to_owned()));
    assert!(server.wait().success());
}
