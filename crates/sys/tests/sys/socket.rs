//! Listeners of the kernel: who may listen where, beside whom, and how a queue is emptied before it is closed.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use sys::socket::{ListenAddress, Listener, Socket, UnixAddress};

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn port_of(listener: &Listener) -> u16 {
    let ListenAddress::Tcp(address) = listener.local_address().unwrap() else {
        panic!("a TCP listener")
    };
    address.port()
}

fn is_in_use(opened: io::Result<Listener>) -> bool {
    opened.is_err_and(|error| error.kind() == io::ErrorKind::AddrInUse)
}

#[test]
fn listening_on_taken_address_fails() {
    for (taken, others) in [
        ("127.0.0.1", ["127.0.0.1", "0.0.0.0"].as_slice()),
        ("0.0.0.0", &["0.0.0.0", "127.0.0.1"]),
        ("[::1]", &["[::1]", "[::]"]),
        ("[::]", &["[::]", "[::1]"]),
    ] {
        let Ok(first) = Listener::tcp(address(&format!("{taken}:0")), 8) else {
            assert!(taken.starts_with('['), "only IPv6 may be missing");
            continue;
        };
        let port = port_of(&first);
        for other in others {
            let again = Listener::tcp(address(&format!("{other}:{port}")), 8);
            assert!(is_in_use(again), "{other} beside {taken}");
        }
        drop(first);
        assert!(Listener::tcp(address(&format!("{taken}:{port}")), 8).is_ok(), "{taken} is free");
    }
}

#[test]
fn all_addresses_of_both_families_are_two_listeners() {
    let first = Listener::tcp(address("0.0.0.0:0"), 8).unwrap();
    let port = port_of(&first);
    if let Err(error) = Listener::tcp(address(&format!("[::]:{port}")), 8) {
        assert_ne!(error.kind(), io::ErrorKind::AddrInUse, "{error}");
    }
}

#[test]
fn those_beside_share_what_comes() {
    let first = Listener::tcp(address("127.0.0.1:0"), 256).unwrap();
    let at = SocketAddr::from(([127, 0, 0, 1], port_of(&first)));
    let second = Listener::tcp_beside(at, 256).unwrap();
    second.attach_reuseport_by_cpu().unwrap();
    let third = Listener::tcp_beside(at, 256).unwrap();
    let covering = Listener::tcp_beside(SocketAddr::from(([0, 0, 0, 0], at.port())), 8).unwrap();
    assert!(is_in_use(Listener::tcp(at, 8)), "however many there are");
    let _clients: Vec<Socket> = (0..100).map(|_| Socket::connect_blocking(at).unwrap()).collect();
    let taken = |listener: &Listener| std::iter::from_fn(|| listener.accept().ok()).count();
    let by_each = [taken(&first), taken(&second), taken(&third)];
    assert_eq!(by_each.iter().sum::<usize>(), 100, "{by_each:?}");
    assert_eq!(taken(&covering), 0, "the nearer address is preferred");
}

#[test]
fn queued_connections_are_accepted_after_listener_stops() {
    for host in ["127.0.0.1", "[::1]"] {
        let Ok(mut listener) = Listener::tcp(address(&format!("{host}:0")), 64) else {
            assert!(host.starts_with('['), "only IPv6 may be missing");
            continue;
        };
        let at = address(&format!("{host}:{}", port_of(&listener)));
        let waiting: Vec<Socket> = (0..20).map(|_| Socket::connect_blocking(at).unwrap()).collect();
        listener.refuse_new().unwrap();
        let new = TcpStream::connect_timeout(&at, Duration::from_millis(200));
        assert_eq!(new.unwrap_err().kind(), io::ErrorKind::TimedOut, "no answer");
        let accepted = std::iter::from_fn(|| listener.accept().ok()).count();
        assert_eq!(accepted, waiting.len());
        drop(listener);
        let new = TcpStream::connect_timeout(&at, Duration::from_secs(60));
        assert_eq!(new.unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    }
}

#[test]
fn a_unix_listener_that_refuses_leaves_its_path_to_a_successor() {
    let path = std::env::temp_dir().join(format!("velodrome-refuses-{}", std::process::id()));
    let at = UnixAddress { path: path.clone(), mode: 0o600 };
    let mut old = Listener::unix(&at, 8).unwrap();
    let _waiting = UnixStream::connect(&path).unwrap();
    old.refuse_new().unwrap();
    assert_eq!(UnixStream::connect(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
    let successor = Listener::unix(&at, 8).unwrap();
    assert!(old.accept().is_ok(), "who waited is accepted");
    old.refuse_new().unwrap();
    drop(old);
    let _client = UnixStream::connect(&path).unwrap();
    assert!(successor.accept().is_ok());
    drop(successor);
    assert!(!path.exists());
}

/// The kernel refuses a connection to any other file as it does to a stale socket.
#[test]
fn only_the_file_of_a_stale_socket_is_replaced() {
    let path = std::env::temp_dir().join(format!("velodrome-replaces-{}", std::process::id()));
    let at = UnixAddress { path: path.clone(), mode: 0o600 };
    std::fs::write(&path, "kept").unwrap();
    let refused = Listener::unix(&at, 8).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists, "{refused}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "kept");
    std::fs::remove_file(&path).unwrap();
    // A program that is stopped accepts nothing: its queue is full at some time.
    let stopped = std::os::unix::net::UnixListener::bind(&path).unwrap();
    rustix::net::listen(&stopped, 0).unwrap();
    let _queued = UnixStream::connect(&path).unwrap();
    assert!(is_in_use(Listener::unix(&at, 8)));
    drop(stopped);
    drop(Listener::unix(&at, 8).unwrap());
    assert!(!path.exists());
}

/// An operator removed the file, and another program made its socket there.
#[test]
fn the_socket_of_another_program_is_not_removed() {
    let path = std::env::temp_dir().join(format!("velodrome-another-{}", std::process::id()));
    let listener = Listener::unix(&UnixAddress { path: path.clone(), mode: 0o600 }, 8).unwrap();
    // Both exist for a moment, so that they do not share an inode number.
    let other = path.with_extension("other");
    let _another = std::os::unix::net::UnixListener::bind(&other).unwrap();
    std::fs::rename(&other, &path).unwrap();
    drop(listener);
    assert!(path.exists());
    std::fs::remove_file(&path).unwrap();
}
