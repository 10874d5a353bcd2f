//! Queries to the kernel through netlink (netlink(7)): lists, each read at once.
//!
//! Owns the headers of messages and attributes. Does not know their content and changes nothing, because it only
//! requests lists.

use std::io;
use std::time::Duration;

use rustix::net::netlink;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};

/// The part of the kernel that answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetlinkFamily {
    /// Devices, addresses, queues (rtnetlink(7)).
    Route,
    /// Packet filters.
    Netfilter,
    /// Sockets (sock_diag(7)).
    Sockets,
    /// Rules of the audit system.
    Audit,
    /// Families of queries whose numbers are assigned at run time; see [`family`].
    Generic,
}

/// Length of `struct nlmsghdr`.
const HEAD: usize = 16;

/// Flags of a request for a list (`NLM_F_REQUEST | NLM_F_DUMP`).
const LIST: u16 = 0x001 | 0x300;

/// Kinds of messages that are not part of the list.
const ERROR: u16 = 2;
const DONE: u16 = 3;

/// How long an answer may take (1 s); it usually comes at once.
const PATIENCE: Duration = Duration::from_secs(1);

/// Bytes of one answer, and of a whole list (64 KiB, 16 MiB). Beyond: an error.
const ANSWER: usize = 64 << 10;
const ALL: usize = 16 << 20;

/// Requests a list; returns the content of each of its messages.
///
/// # Errors
/// The kernel's: it may not support the list (`ErrorKind::Unsupported`, `InvalidInput`), or refuse it
/// (`PermissionDenied`).
pub fn list(asked: NetlinkFamily, kind: u16, content: &[u8]) -> io::Result<Vec<Vec<u8>>> {
    let (messages, rest) = begin_of_list(asked, kind, content, ALL)?;
    match rest {
        Rest::None => Ok(messages),
        Rest::Some => Err(io::Error::other("the list has no end")),
    }
}

/// The first messages of a list, up to about this many bytes: the rest is never asked for.
///
/// # Errors
/// Those of [`list`].
pub fn some_of(
    asked: NetlinkFamily,
    kind: u16,
    content: &[u8],
    most: usize,
) -> io::Result<Vec<Vec<u8>>> {
    Ok(begin_of_list(asked, kind, content, most)?.0)
}

fn begin_of_list(
    asked: NetlinkFamily,
    kind: u16,
    content: &[u8],
    most: usize,
) -> io::Result<(Vec<Vec<u8>>, Rest)> {
    let protocol = match asked {
        NetlinkFamily::Route => None,
        NetlinkFamily::Netfilter => Some(netlink::NETFILTER),
        NetlinkFamily::Sockets => Some(netlink::SOCK_DIAG),
        NetlinkFamily::Audit => Some(netlink::AUDIT),
        NetlinkFamily::Generic => Some(netlink::GENERIC),
    };
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol)?;
    set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
    let mut request = Vec::new();
    request.extend_from_slice(&((HEAD + content.len()) as u32).to_ne_bytes());
    request.extend_from_slice(&kind.to_ne_bytes());
    request.extend_from_slice(&LIST.to_ne_bytes());
    // The number of the request, and the sender's address, which the kernel fills in.
    request.extend_from_slice(&1_u32.to_ne_bytes());
    request.extend_from_slice(&0_u32.to_ne_bytes());
    request.extend_from_slice(content);
    send(&socket, &request, SendFlags::empty())?;
    let (mut messages, mut answer, mut all) = (Vec::new(), vec![0; ANSWER], 0);
    while all < most {
        let (length, _) = recv(&socket, answer.as_mut_slice(), RecvFlags::empty())?;
        all += length.max(1);
        if take(&answer[..length], &mut messages)? == Rest::None {
            return Ok((messages, Rest::None));
        }
    }
    Ok((messages, Rest::Some))
}

/// The number of a family of queries (genetlink): the kind of message for [`NetlinkFamily::Generic`].
///
/// # Errors
/// Those of [`list`]; `NotFound` if this kernel has no such family.
pub fn family(name: &str) -> io::Result<u16> {
    // The family that lists all families, and its query (`GENL_ID_CTRL`, `CTRL_CMD_GETFAMILY`, version 1).
    let all = list(NetlinkFamily::Generic, 16, &[3, 1, 0, 0])?;
    let number = |message: &Vec<u8>| {
        let (mut number, mut is_it) = (None, false);
        for (kind, content) in attributes(message.get(4..)?) {
            match kind {
                1 => number = content.first_chunk().map(|bytes| u16::from_ne_bytes(*bytes)),
                2 => is_it = text(content) == name,
                _ => {}
            }
        }
        number.filter(|_| is_it)
    };
    all.iter().find_map(number).ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Whether more of a list follows.
#[derive(PartialEq)]
enum Rest {
    Some,
    None,
}

fn take(mut answer: &[u8], messages: &mut Vec<Vec<u8>>) -> io::Result<Rest> {
    while let Some(length) = answer.first_chunk().map(|length| u32::from_ne_bytes(*length)) {
        let length = length as usize;
        if length < HEAD || length > answer.len() {
            return Err(io::Error::from(io::ErrorKind::InvalidData));
        }
        let (message, rest) = answer.split_at(length.next_multiple_of(4).min(answer.len()));
        answer = rest;
        let content = &message[HEAD..length];
        match u16::from_ne_bytes([message[4], message[5]]) {
            DONE => return Ok(Rest::None),
            ERROR => {
                let number = content.first_chunk().map_or(0, |number| i32::from_ne_bytes(*number));
                return match number {
                    0 => Ok(Rest::None),
                    number => Err(io::Error::from_raw_os_error(number.wrapping_neg())),
                };
            }
            _ => messages.push(content.to_vec()),
        }
    }
    Ok(Rest::Some)
}

/// The attributes: the kind of each, without its flag bits, and its content.
pub fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    const KIND: u16 = 0x3fff;
    std::iter::from_fn(move || {
        let head: &[u8; 4] = bytes.first_chunk()?;
        let length = usize::from(u16::from_ne_bytes([head[0], head[1]]));
        let kind = u16::from_ne_bytes([head[2], head[3]]) & KIND;
        let content = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, content))
    })
}

/// An attribute as text, which the kernel ends with a zero.
pub fn text(content: &[u8]) -> String {
    let end = content.iter().position(|byte| *byte == 0).unwrap_or(content.len());
    String::from_utf8_lossy(&content[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_lists_its_devices() {
        // RTM_GETLINK with an empty `struct ifinfomsg`.
        let devices = match list(NetlinkFamily::Route, 18, &[0; 16]) {
            Ok(devices) => devices,
            // A container may not allow such a socket.
            Err(error) => {
                assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}");
                return;
            }
        };
        let names: Vec<String> = devices
            .iter()
            .filter_map(|device| {
                let name = attributes(device.get(16..)?).find(|(kind, _)| *kind == 3);
                Some(text(name?.1))
            })
            .collect();
        assert!(names.contains(&"lo".to_owned()), "{names:?}");
    }

    #[test]
    fn families_have_numbers() {
        match family("nlctrl") {
            Ok(number) => assert_eq!(number, 16),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}"),
        }
        assert!(family("no-such-family").is_err());
    }

    #[test]
    fn truncated_netlink_message_is_refused() {
        let message = |length: u32, kind: u16, content: &[u8]| {
            let mut bytes = length.to_ne_bytes().to_vec();
            bytes.extend_from_slice(&kind.to_ne_bytes());
            bytes.extend_from_slice(&[0; 10]);
            bytes.extend_from_slice(content);
            bytes
        };
        let mut all = Vec::new();
        let two = [message(20, 16, b"abcd"), message(16, DONE, b"")].concat();
        assert!(take(&two, &mut all).is_ok_and(|rest| rest == Rest::None));
        assert_eq!(all, [b"abcd"]);
        assert!(take(&message(200, 16, b"abcd"), &mut all).is_err());
        assert!(take(&message(3, 16, b"abcd"), &mut all).is_err());
        let error = take(&message(20, ERROR, &(-95_i32).to_ne_bytes()), &mut all);
        assert_eq!(error.err().and_then(|error| error.raw_os_error()), Some(95));
        let bytes = [&[5, 0, 1, 0x80, b'x', 0, 0, 0][..], &[99, 0, 2, 0]].concat();
        let read: Vec<_> = attributes(&bytes).collect();
        assert_eq!(read, [(1, &b"x"[..])]);
    }
}
