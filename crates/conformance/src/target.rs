//! Owns what the caller says about a server: its address, its offers, the runner's timeouts.
//! Does not contact the server (see `facts`).

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::stream::Over;

/// Something a server may offer and a case may need. The caller maps each to a path (or a number).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Capability {
    /// Path of a static text file of at least 1,000 bytes; answered to GET and HEAD only.
    File,
    /// Path of a static file of no bytes.
    EmptyFile,
    /// Path, without its final slash, of a directory that is answered with a redirect to the slash.
    Directory,
    /// A path without a resource: the answer is 404.
    Missing,
    /// Path which answers a POST with 200 and the body it was sent.
    Echo,
    /// Path which answers every GET with a redirect that has a Location.
    Redirect,
    /// Path of a file which exists and whose name starts with a dot.
    Dotfile,
    /// Path of a symbolic link that leads out of the served directory.
    OutsideLink,
    /// Path of a static file of which a smaller gzip variant is kept ready.
    Precompressed,
    /// Number: the largest request body, in bytes, which the path under `echo` takes.
    BodyLimit,
}

impl Capability {
    /// Every capability, in the order in which help texts list them.
    pub const ALL: [Self; 10] = [
        Self::File,
        Self::EmptyFile,
        Self::Directory,
        Self::Missing,
        Self::Echo,
        Self::Redirect,
        Self::Dotfile,
        Self::OutsideLink,
        Self::Precompressed,
        Self::BodyLimit,
    ];

    /// The name in cases, flags and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::EmptyFile => "empty-file",
            Self::Directory => "directory",
            Self::Missing => "missing",
            Self::Echo => "echo",
            Self::Redirect => "redirect",
            Self::Dotfile => "dotfile",
            Self::OutsideLink => "outside-link",
            Self::Precompressed => "precompressed",
            Self::BodyLimit => "body-limit",
        }
    }

    /// The capability of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|capability| capability.name() == name)
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A server under test.
#[derive(Clone, Debug)]
pub struct TestedServer {
    /// Its address.
    pub address: SocketAddr,
    /// The value of Host and the authority of absolute targets, with the port if it is not 80.
    pub host: String,
    /// Its offers.
    pub resources: BTreeMap<Capability, String>,
    /// The layer of the caller over each TCP connection, such as encryption; `None`: requests go over plain TCP.
    pub over: Option<Arc<dyn Over>>,
    /// The content of the file, if the caller knows it. Otherwise the answer to a first plain GET is used.
    pub file_content: Option<Vec<u8>>,
}

impl TestedServer {
    /// A server of which only the address is known.
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address,
            host: address.to_string(),
            resources: BTreeMap::new(),
            over: None,
            file_content: None,
        }
    }

    /// The same server with one more offer.
    #[must_use]
    pub fn with(mut self, capability: Capability, value: impl Into<String>) -> Self {
        self.resources.insert(capability, value.into());
        self
    }
}

/// How the cases are played.
#[derive(Clone, Debug)]
pub struct Options {
    /// The longest wait for a connection, for a response, or for room to write.
    pub response_timeout: Duration,
    /// The longest wait for the end of a connection which must end.
    pub close_timeout: Duration,
    /// The longest wait for the end of a connection which may stay.
    pub settle_timeout: Duration,
    /// The pause between two writes of one case, so that the server sees two reads.
    pub write_gap: Duration,
    /// The time after which a server has to give up on a slow client; without it slow attacks are skipped.
    pub slow_deadline: Option<Duration>,
    /// Cases played at one time.
    pub threads: usize,
    /// Only cases whose id contains one of these; all where empty.
    pub only: Vec<String>,
    /// Only cases of these levels; all where empty.
    pub levels: Vec<crate::RequirementLevel>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            response_timeout: Duration::from_secs(3),
            close_timeout: Duration::from_secs(2),
            settle_timeout: Duration::from_millis(250),
            write_gap: Duration::from_millis(15),
            slow_deadline: None,
            threads: 8,
            only: Vec::new(),
            levels: Vec::new(),
        }
    }
}
