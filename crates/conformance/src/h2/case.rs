//! Owns the form of an HTTP/2 case in `cases/h2/*.toml`. Never plays or judges one.

use serde::Deserialize;

use crate::case::RequirementLevel;
use crate::target::Capability;

/// A condition for playing a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Condition {
    /// The caller names such a resource.
    File,
    /// The caller names such a resource.
    Echo,
    /// The caller names such a resource.
    Missing,
    /// The caller names such a resource.
    BodyLimit,
    /// The server announces SETTINGS_ENABLE_CONNECT_PROTOCOL = 1 (RFC 8441).
    ConnectProtocol,
    /// The server does not announce it.
    NoConnectProtocol,
    /// The server announces a small SETTINGS_MAX_CONCURRENT_STREAMS.
    StreamLimit,
    /// The server announces a small SETTINGS_MAX_HEADER_LIST_SIZE.
    ListLimit,
    /// The server allows no frames above 16,384 bytes.
    SmallFrames,
    /// The server announces that it ignores the old priorities, so it knows the new ones (RFC 9218).
    ExtensiblePriorities,
}

impl Condition {
    /// The resource, if it is one.
    pub(super) fn capability(self) -> Option<Capability> {
        match self {
            Self::File => Some(Capability::File),
            Self::Echo => Some(Capability::Echo),
            Self::Missing => Some(Capability::Missing),
            Self::BodyLimit => Some(Capability::BodyLimit),
            Self::ConnectProtocol
            | Self::NoConnectProtocol
            | Self::StreamLimit
            | Self::ListLimit
            | Self::SmallFrames
            | Self::ExtensiblePriorities => None,
        }
    }
}

/// How a connection begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Opening {
    /// The preface and empty SETTINGS; the first line is played when both sides have acknowledged the other's.
    #[default]
    Usual,
    /// Nothing: the lines send all of it.
    None,
}

/// One requirement and how it is tested. Plain data.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct FrameCase {
    /// Name, unique in the suite: source, section and subject.
    pub(crate) id: String,
    /// The source of the requirement: `RFC 9113 6.3`, or `policy <topic>`.
    pub(crate) section: String,
    pub(crate) level: RequirementLevel,
    /// The requirement in our own words.
    pub(crate) requirement: String,
    #[serde(default)]
    pub(crate) needs: Vec<Condition>,
    #[serde(default)]
    pub(crate) opening: Opening,
    /// The client's acts, a line each.
    pub(crate) script: String,
    /// The outcomes, each of which is right.
    pub(crate) right: Vec<String>,
}

impl FrameCase {
    /// The client's acts, in order.
    pub(super) fn lines(&self) -> impl Iterator<Item = &str> {
        self.script.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
    }
}
