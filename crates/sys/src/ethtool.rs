//! Settings of a network device (`SIOCETHTOOL`): they are read, never changed.
//!
//! Owns the call. What the numbers of an answer mean is the caller's (include/uapi/linux/ethtool.h).

use std::io;
use std::os::fd::AsRawFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

/// A question that reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// How interrupts are put together: `struct ethtool_coalesce`.
    Coalescing,
    /// Sizes of rings, with the largest ones first: `struct ethtool_ringparam`.
    Rings,
    /// Numbers of queues, with the largest ones first: `struct ethtool_channels`.
    Channels,
    /// Whether received segments are put together by the kernel: `struct ethtool_value`.
    ReceiveOffload,
    /// Bits, of which the fifteenth is putting segments together in the device: `struct ethtool_value`.
    Flags,
}

/// Words of the longest answer.
const WORDS: usize = 32;

impl Question {
    /// Its number (`ETHTOOL_G…`).
    fn number(self) -> u32 {
        match self {
            Self::Coalescing => 0x0e,
            Self::Rings => 0x10,
            Self::Channels => 0x3c,
            Self::ReceiveOffload => 0x2b,
            Self::Flags => 0x25,
        }
    }
}

/// `struct ifreq` with the address of the question.
#[repr(C)]
struct Request {
    name: [u8; 16],
    data: *mut u32,
    /// The kernel copies as many bytes as the longest of its forms has.
    _rest: [u64; 2],
}

/// Asks a device; gives the words of the answer, behind the number of the question.
///
/// # Errors
/// Those of the kernel: a device may not know the answer (`EOPNOTSUPP`), or not be there (`ENODEV`).
pub fn ask(device: &str, question: Question) -> io::Result<Vec<u32>> {
    let mut name = [0; 16];
    let bytes = device.as_bytes();
    // The last byte ends the name.
    name.get_mut(..bytes.len())
        .filter(|_| bytes.len() < 16)
        .ok_or(io::ErrorKind::InvalidInput)?
        .copy_from_slice(bytes);
    let mut words = [0_u32; WORDS];
    words[0] = question.number();
    let mut request = Request { name, data: words.as_mut_ptr(), _rest: [0; 2] };
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    // SAFETY: the kernel reads the request, whose layout is that of `struct ifreq`, and writes into the words no more than the longest answer of these questions has,
    // which is 23 words.
    let result = unsafe {
        libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as libc::Ioctl, &raw mut request)
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(words[1..].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_answers_or_says_why_not() {
        let error = ask("no-such-device", Question::Rings);
        assert_eq!(error.err().and_then(|error| error.raw_os_error()), Some(libc::ENODEV));
        let long = ask("a-name-that-is-too-long", Question::Rings);
        assert_eq!(long.err().map(|error| error.kind()), Some(io::ErrorKind::InvalidInput));
        // The loopback device puts segments together, and has no rings.
        let own = ask("lo", Question::ReceiveOffload);
        assert!(own.is_ok_and(|words| words[0] <= 1));
        let rings = ask("lo", Question::Rings);
        assert_eq!(rings.err().and_then(|error| error.raw_os_error()), Some(libc::EOPNOTSUPP));
    }
}
