//! Common steps of contract tests: connect, receive, fill a buffer, make a file.

use sys::file::{Directory, FileHandle, Symlinks};
use sys::pollset::{Corking, Pollset, Received, Sent, Token};

use crate::pollset_contract::harness::{Harness, listening};

pub(crate) type ListenerOf<H> = <<H as Harness>::Pollset as Pollset>::Listener;
pub(crate) type SocketOf<H> = <<H as Harness>::Pollset as Pollset>::Socket;

/// The token every listener is opened with.
pub(crate) const LISTENER: Token = Token(1);

/// Tokens of watched sockets.
pub(crate) const FIRST: Token = Token(20);
pub(crate) const SECOND: Token = Token(21);

/// A listener with one accepted connection.
pub(crate) fn connected<H: Harness>(harness: &mut H) -> (ListenerOf<H>, SocketOf<H>, H::Client) {
    let options = listening(harness.free_address());
    let listener = harness.pollset().listen(&options, LISTENER).unwrap();
    let (socket, client) = connection(harness, &listener);
    (listener, socket, client)
}

pub(crate) fn connection<H: Harness>(
    harness: &mut H,
    listener: &ListenerOf<H>,
) -> (SocketOf<H>, H::Client) {
    let client = harness.connect(listener);
    let socket = harness.await_that("a connection", |harness| {
        harness.pollset().accept(listener).ok().map(|(socket, _)| socket)
    });
    (socket, client)
}

/// Receives as a scheduler does until this many bytes have arrived, respecting events and rests.
pub(crate) fn receive_exactly<H: Harness>(
    harness: &mut H,
    socket: &SocketOf<H>,
    count: usize,
) -> Vec<u8> {
    let mut all = Vec::new();
    harness.await_that("bytes at the server", |harness| {
        match harness.pollset().receive(socket) {
            Received::Bytes(bytes, _) => all.extend_from_slice(bytes),
            Received::Blocked => {}
            other => panic!("{other:?}"),
        }
        (all.len() >= count).then_some(())
    });
    assert_eq!(all.len(), count);
    all
}

/// Takes the events of what has already arrived.
pub(crate) fn quiet<H: Harness>(harness: &mut H) {
    while harness.wait_for(5_000_000) > 0 {}
}

pub(crate) fn send<H: Harness>(harness: &mut H, socket: &SocketOf<H>, bytes: &[u8]) {
    assert_eq!(harness.pollset().send_bytes(socket, bytes, Corking::Off), Sent::All);
}

/// Bytes in which each position differs from its neighbours.
pub(crate) fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|place| u8::try_from(place % 251).unwrap()).collect()
}

/// Sends until there is no room, and returns what was accepted.
pub(crate) fn fill<H: Harness>(
    harness: &mut H,
    socket: &SocketOf<H>,
    client: &H::Client,
) -> Vec<u8> {
    harness.client_stall(client);
    let piece = pattern(100_000);
    let mut taken = Vec::new();
    let mut blocked = 0;
    // The kernel may enlarge its buffers meanwhile: no room means that twice nothing was accepted.
    while blocked < 2 {
        assert!(taken.len() < 1 << 28, "a peer that does not read takes no 256 MiB");
        let count = match harness.pollset().send_bytes(socket, &piece, Corking::Off) {
            Sent::All => piece.len(),
            Sent::Part(count) => {
                assert!(count < piece.len(), "a part is less than all");
                count
            }
            other => panic!("{other:?}"),
        };
        taken.extend_from_slice(&piece[..count]);
        blocked = if count == 0 { blocked + 1 } else { 0 };
        harness.pass(5_000_000);
    }
    taken
}

/// A file with these bytes, named for its test because tests run side by side.
pub(crate) fn file<H: Harness>(name: &str, bytes: &[u8]) -> FileHandle {
    let kind = std::any::type_name::<H>().replace("::", "-");
    let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let name = format!("{name}-{kind}-{:?}", std::thread::current().id());
    std::fs::write(directory.join(&name), bytes).unwrap();
    let root = Directory::open(directory).unwrap();
    let file = root.open_beneath(std::path::Path::new(&name), Symlinks::Refuse).unwrap();
    std::fs::remove_file(directory.join(&name)).unwrap();
    file
}
