//! Socket options and descriptor calls for which rustix has no safe function.
//!
//! Owns the `libc` calls on descriptors; each is one operation. Never keeps a descriptor.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Borrows a descriptor that was inherited at start, after checking that it is open.
pub fn borrow_inherited(number: RawFd) -> io::Result<BorrowedFd<'static>> {
    // SAFETY: fcntl with F_GETFD reads a flag and touches no memory; a closed number gives EBADF.
    let answer = unsafe { libc::fcntl(number, libc::F_GETFD) };
    if answer < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the number is open (checked above), it was inherited at start and nothing in the process owns or
    // closes it, so it stays open for the life of the process.
    Ok(unsafe { BorrowedFd::borrow_raw(number) })
}

/// Whether a write of up to `PIPE_BUF` bytes to this pipe, socket or file returns at once: there is room, or there is
/// no reader left. Not valid for terminals, which may have room for less.
pub fn has_room(descriptor: &impl AsFd) -> bool {
    let mut polled = [PollFd::new(descriptor, PollFlags::OUT)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    loop {
        match poll(&mut polled, Some(&at_once)) {
            Err(Errno::INTR) => {}
            Err(_) => return false,
            Ok(ready) => return ready > 0,
        }
    }
}

/// `TCP_DEFER_ACCEPT`: accept a connection only once it has bytes, or after this many seconds; 0 means at once.
pub fn set_tcp_defer_accept(socket: BorrowedFd<'_>, seconds: i32) -> io::Result<()> {
    // SAFETY: the option is plain data.
    unsafe { set_option(socket, libc::IPPROTO_TCP, libc::TCP_DEFER_ACCEPT, &seconds) }
}

/// `TCP_NOTSENT_LOWAT`: the kernel accepts bytes, and reports room, only while fewer than this many wait to be sent.
/// Accepted connections inherit it from the listener.
pub fn set_unsent_bound(socket: BorrowedFd<'_>, bytes: u32) -> io::Result<()> {
    // SAFETY: the option is plain data.
    unsafe { set_option(socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, &bytes) }
}

/// `IP_BIND_ADDRESS_NO_PORT`: binding to an address with port 0 leaves the choice of the port to the connect. It is an
/// option of this level for IPv6 sockets, too.
pub fn set_bind_address_no_port(socket: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the option is plain data.
    unsafe { set_option(socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, &1_i32) }
}

/// `SO_LINGER` with no time: closing sends a reset.
pub fn set_reset_on_close(socket: BorrowedFd<'_>) -> io::Result<()> {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    // SAFETY: the option is plain data.
    unsafe { set_option(socket, libc::SOL_SOCKET, libc::SO_LINGER, &linger) }
}

/// `SO_ATTACH_REUSEPORT_CBPF` with a program of two instructions: load the receiving CPU, return it.
pub fn attach_reuseport_by_cpu(socket: BorrowedFd<'_>) -> io::Result<()> {
    /// `SKF_AD_OFF + SKF_AD_CPU` of linux/filter.h: the ancillary word that holds the CPU number.
    const RECEIVING_CPU: u32 = (-0x1000_i32 + 36).cast_unsigned();
    let mut program = [
        libc::sock_filter { code: 0x20, jt: 0, jf: 0, k: RECEIVING_CPU },
        libc::sock_filter { code: 0x16, jt: 0, jf: 0, k: 0 },
    ];
    let attached = libc::sock_fprog { len: 2, filter: program.as_mut_ptr() };
    // SAFETY: the option has a filter, which lives for the call.
    unsafe { set_option(socket, libc::SOL_SOCKET, libc::SO_ATTACH_REUSEPORT_CBPF, &attached) }
}

/// `SO_ATTACH_FILTER` with a program that drops segments that begin a connection and accepts all others.
pub fn drop_new_connections(socket: BorrowedFd<'_>) -> io::Result<()> {
    /// Offset of the flags in a TCP header (RFC 9293 section 3.1): filters of TCP sockets begin at the header.
    const FLAGS: u32 = 13;
    const SYN: u32 = 0x02;
    let mut program = [
        libc::sock_filter { code: 0x30, jt: 0, jf: 0, k: FLAGS },
        libc::sock_filter { code: 0x45, jt: 0, jf: 1, k: SYN },
        libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: 0 },
        libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: u32::MAX },
    ];
    let attached = libc::sock_fprog { len: 4, filter: program.as_mut_ptr() };
    // SAFETY: the option has a filter, which lives for the call.
    unsafe { set_option(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &attached) }
}

/// `SIOCOUTQ`: bytes given to the socket that its peer has not acknowledged; 0 if the kernel does not say.
pub fn outstanding(socket: BorrowedFd<'_>) -> u64 {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the request writes one int, which the pointer is to.
    let answer = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    if answer == 0 { u64::try_from(bytes).unwrap_or(0) } else { 0 }
}

/// The length of a listener's queue (`TCP_INFO`, tcp(7): for a connection the same word counts selectively acknowledged
/// segments).
pub(crate) fn backlog(listener: BorrowedFd<'_>) -> io::Result<u32> {
    /// Words of `struct tcp_info` up to that one.
    const WORDS: usize = 8;
    let mut words = [0_u32; WORDS];
    let mut length = libc::socklen_t::try_from(size_of_val(&words)).expect("some words");
    // SAFETY: the kernel writes no more than `length` bytes of the structure into the words, which live for the call.
    let answer = unsafe {
        libc::getsockopt(
            listener.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            words.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if answer == 0 { Ok(words[WORDS - 1]) } else { Err(io::Error::last_os_error()) }
}

/// Sets an option.
///
/// # Safety
/// The value has no pointers, or they are to what the option says and live for the call.
unsafe fn set_option<T>(
    socket: BorrowedFd<'_>,
    level: i32,
    name: i32,
    value: &T,
) -> io::Result<()> {
    let length = libc::socklen_t::try_from(size_of::<T>()).expect("an option is a few bytes");
    // SAFETY: the pointer and length describe `value`, which lives for the call; the kernel only reads it.
    let answer = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, name, std::ptr::from_ref(value).cast(), length)
    };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Raises this process's soft limit of open descriptors to the hard one and returns it.
pub fn raise_descriptor_limit() -> u64 {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let raised = rustix::process::Rlimit { current: limit.maximum, maximum: limit.maximum };
    // If it is refused, the soft limit stays as it was.
    match rustix::process::setrlimit(rustix::process::Resource::Nofile, raised) {
        Ok(()) => limit.maximum.unwrap_or(u64::MAX),
        Err(_) => limit.current.unwrap_or(u64::MAX),
    }
}

// Not under Miri, which has no such sockets.
#[cfg(not(miri))]
#[cfg(test)]
mod tests {
    use std::mem::MaybeUninit;
    use std::os::fd::AsFd;
    use std::time::Duration;

    use super::*;
    use crate::limits::PROBE_AFTER_S;
    use crate::pollset::epoll::Epoll;
    use crate::pollset::{ListenOptions, Pollset, Silence, Speaks, Token};
    use crate::socket::{ListenAddress, UnixAddress};

    /// The kernel's value of `TCP_DEFER_ACCEPT`.
    fn deferred_s(socket: BorrowedFd<'_>) -> i32 {
        let mut seconds = MaybeUninit::<i32>::uninit();
        let mut length = libc::socklen_t::try_from(size_of::<i32>()).unwrap();
        // SAFETY: pointer and length describe `seconds`, which lives for the call; the kernel only writes it.
        let answer = unsafe {
            libc::getsockopt(
                socket.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_DEFER_ACCEPT,
                seconds.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        assert_eq!(answer, 0, "{}", io::Error::last_os_error());
        // SAFETY: the call succeeded, so the kernel has written the number.
        unsafe { seconds.assume_init() }
    }

    fn listen(address: ListenAddress, first: Speaks) -> io::Result<crate::socket::Listener> {
        let mut pollset = Epoll::new(None).unwrap();
        pollset.listen(
            &ListenOptions { address, backlog: 1, first, silent: Silence::Trusted },
            Token(1),
        )
    }

    /// The kernel counts in steps and takes the first one that is long enough.
    #[test]
    fn the_kernel_is_asked_for_the_seconds() {
        let milliseconds = |count| Speaks::Client { defer: Duration::from_millis(count) };
        for (first, expected) in [
            (Speaks::Either, 0),
            (milliseconds(0), 0),
            (milliseconds(1), 1),
            (Speaks::CLIENT, 1),
            (milliseconds(1001), 3),
            (milliseconds(3000), 3),
            (milliseconds(5000), 7),
            (milliseconds(60_000), 63),
        ] {
            // A host without IPv6 has one address fewer.
            let ipv6 = ListenAddress::Tcp("[::1]:0".parse().unwrap());
            let has_ipv6 = listen(ipv6, Speaks::Either).is_ok();
            let addresses = ["127.0.0.1:0", "[::1]:0"];
            for address in &addresses[..1 + usize::from(has_ipv6)] {
                let address = ListenAddress::Tcp(address.parse().unwrap());
                let listener = listen(address, first).unwrap();
                assert_eq!(deferred_s(listener.as_fd()), expected, "{first:?}");
            }
        }
    }

    /// Accepted connections inherit the options of the listener.
    #[test]
    #[expect(clippy::disallowed_types, reason = "the client of a test")]
    fn the_kernel_is_told_to_ask_silent_peers() {
        for (silent, expected) in [(Silence::Probed, true), (Silence::Trusted, false)] {
            let mut pollset = Epoll::new(None).unwrap();
            let address = ListenAddress::Tcp("127.0.0.1:0".parse().unwrap());
            let options = ListenOptions { address, backlog: 1, first: Speaks::Either, silent };
            let listener = pollset.listen(&options, Token(1)).unwrap();
            let ListenAddress::Tcp(address) = listener.local_address().unwrap() else { panic!() };
            let _client = std::net::TcpStream::connect(address).unwrap();
            let (socket, _) = pollset.accept(&listener).unwrap();
            assert_eq!(rustix::net::sockopt::socket_keepalive(&socket).unwrap(), expected);
            let idle = rustix::net::sockopt::tcp_keepidle(&socket).unwrap();
            assert_eq!(idle == Duration::from_secs(PROBE_AFTER_S), expected, "{idle:?}");
        }
    }

    /// A socket from systemd gets the configured option, whatever its unit says.
    #[test]
    fn an_inherited_listener_is_asked_too() {
        let opened =
            listen(ListenAddress::Tcp("127.0.0.1:0".parse().unwrap()), Speaks::CLIENT).unwrap();
        let number = opened.as_fd().as_raw_fd();
        for (first, expected) in
            [(Speaks::Client { defer: Duration::from_secs(7) }, 7), (Speaks::Either, 0)]
        {
            let inherited = listen(ListenAddress::Inherited(number), first).unwrap();
            assert_eq!(deferred_s(inherited.as_fd()), expected, "{first:?}");
        }
    }

    #[test]
    fn a_unix_listener_is_left_alone() {
        let path = std::env::temp_dir().join(format!("defer-{}.sock", std::process::id()));
        let address = ListenAddress::Unix(UnixAddress { path, mode: 0o600 });
        let listener = listen(address, Speaks::CLIENT).unwrap();
        let inherited = ListenAddress::Inherited(listener.as_fd().as_raw_fd());
        assert!(listen(inherited, Speaks::CLIENT).is_ok());
    }
}
