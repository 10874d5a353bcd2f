//! The address of a listener, as text: `127.0.0.1:8080`, `unix:/run/x.sock`, `systemd:web`.
//!
//! Owns that syntax. Never resolves a name and never opens a socket.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use crate::limits::UNIX_PATH_SIZE_MAX;

/// The address on which a listener listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenerAddress {
    /// An address and a port.
    Tcp(SocketAddr),
    /// The path of a Unix socket.
    Unix(PathBuf),
    /// A socket that systemd opened: the one with this name, or all of them.
    Systemd(Option<String>),
}

impl fmt::Display for ListenerAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(out),
            Self::Unix(path) => write!(out, "unix:{}", path.display()),
            Self::Systemd(Some(name)) => write!(out, "systemd:{name}"),
            Self::Systemd(None) => out.write_str("systemd"),
        }
    }
}

/// Why a text is not the address of a listener.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListenerAddressError {
    /// It is only a port.
    #[error(
        "it has no address; write \"127.0.0.1:{0}\" for this machine only, \"0.0.0.0:{0}\" \
         for all"
    )]
    NoHost(u16),
    /// It is only an address; contains an example with a port.
    #[error("it has no port; write \"{0}\"")]
    NoPort(String),
    /// It is a host name.
    #[error(
        "names are not looked up; write an address such as \"127.0.0.1:8080\" or \"[::1]:8080\""
    )]
    Name,
    /// It is a Unix path that is not absolute.
    #[error("the path must be absolute; write \"unix:/run/velodrome.sock\"")]
    PathNotAbsolute,
    /// It is a Unix path longer than the kernel allows.
    #[error("the path must be at most {UNIX_PATH_SIZE_MAX} bytes long")]
    PathTooLong,
    /// It is a Unix path with a NUL byte.
    #[error("the path must not contain a NUL byte")]
    PathWithNul,
    /// It is `systemd:` without a name.
    #[error("the name is missing; write \"systemd\" for all sockets or \"systemd:NAME\" for one")]
    NoSystemdName,
    /// It is something else.
    #[error(
        "write \"127.0.0.1:8080\", \"[::1]:8080\", \"unix:/run/velodrome.sock\" or \"systemd:NAME\""
    )]
    Unreadable,
}

impl FromStr for ListenerAddress {
    type Err = ListenerAddressError;

    fn from_str(text: &str) -> Result<Self, ListenerAddressError> {
        if let Some(path) = text.strip_prefix("unix:") {
            return unix(path);
        }
        match text.strip_prefix("systemd") {
            Some("") => return Ok(Self::Systemd(None)),
            Some(":") => return Err(ListenerAddressError::NoSystemdName),
            Some(rest) => {
                if let Some(name) = rest.strip_prefix(':') {
                    return Ok(Self::Systemd(Some(name.to_owned())));
                }
            }
            None => {}
        }
        text.parse().map(Self::Tcp).map_err(|_| tcp_error(text))
    }
}

fn unix(path: &str) -> Result<ListenerAddress, ListenerAddressError> {
    if !path.starts_with('/') {
        return Err(ListenerAddressError::PathNotAbsolute);
    }
    if path.len() > UNIX_PATH_SIZE_MAX {
        return Err(ListenerAddressError::PathTooLong);
    }
    if path.contains('\0') {
        return Err(ListenerAddressError::PathWithNul);
    }
    Ok(ListenerAddress::Unix(PathBuf::from(path)))
}

/// Determines which common mistake a text is.
fn tcp_error(text: &str) -> ListenerAddressError {
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = bare.parse() {
        return ListenerAddressError::NoPort(SocketAddr::new(address, 8080).to_string());
    }
    let port = text.strip_prefix("*:").or_else(|| text.strip_prefix(':')).unwrap_or(text);
    if let Ok(port) = port.parse() {
        return ListenerAddressError::NoHost(port);
    }
    let is_name = |host: &str| {
        host.bytes().any(|byte| byte.is_ascii_alphabetic())
            && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'))
    };
    match text.rsplit_once(':') {
        Some((host, port)) if port.parse::<u16>().is_ok() && is_name(host) => {
            ListenerAddressError::Name
        }
        None if is_name(text) => ListenerAddressError::Name,
        _ => ListenerAddressError::Unreadable,
    }
}
