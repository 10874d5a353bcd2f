//! Owns the form of a case in `cases/*.toml`. Never plays or judges one.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::target::Capability;

/// How binding a requirement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequirementLevel {
    /// A MUST of an RFC for an origin server.
    Must,
    /// A SHOULD of an RFC that matters for a server.
    Should,
    /// Stricter than the RFC: what a server must do against an attack.
    Attack,
    /// Stricter than the RFC: what a good server does.
    Policy,
}

impl RequirementLevel {
    /// Every level, most binding first.
    pub const ALL: [Self; 4] = [Self::Must, Self::Should, Self::Attack, Self::Policy];

    /// The name in cases, flags and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Must => "must",
            Self::Should => "should",
            Self::Attack => "attack",
            Self::Policy => "policy",
        }
    }

    /// The level of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }
}

impl fmt::Display for RequirementLevel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// A condition for playing a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub enum Need {
    /// The caller names such a resource.
    Offers(Capability),
    /// The file is sent with an entity tag, weak or strong.
    EntityTag,
    /// The file is sent with a strong entity tag.
    StrongEntityTag,
    /// The file is sent with a date of modification.
    LastModified,
    /// The caller gives a deadline for slow clients.
    SlowDeadline,
}

/// Needs are written as one flat list of names.
impl TryFrom<String> for Need {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        match &*name {
            "etag" => Ok(Self::EntityTag),
            "strong-etag" => Ok(Self::StrongEntityTag),
            "last-modified" => Ok(Self::LastModified),
            "slow-deadline" => Ok(Self::SlowDeadline),
            _ => Capability::from_name(&name)
                .map(Self::Offers)
                .ok_or_else(|| format!("there is no need `{name}`")),
        }
    }
}

/// One action of the client. Two sends in a row are two writes with a pause between them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CaseStep {
    /// Write these bytes (a template, see `template`).
    Send(String),
    /// Write these bytes repeatedly and slowly, until the server reacts or the slow deadline is over.
    Drip(String),
    /// Wait until an interim or a final response is complete.
    WaitInterim,
    /// Wait until one more final response is complete.
    WaitResponse,
    /// End the client's side of the connection.
    HalfClose,
}

/// The state of the connection after the last expected response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionAfter {
    /// It serves one more request.
    Open,
    /// It is closed in any way.
    Closed,
    /// It is closed without a reset, so that no client loses the response.
    ClosedCleanly,
    /// It is closed if the last response says so. Otherwise it serves one more request, or is closed nevertheless,
    /// which a server may do at any time; it never hangs and never answers something else.
    AsAnnounced,
    /// It serves one more request if the last response says keep-alive, and is closed otherwise: the rule of 1.0.
    KeptIfSaid,
    /// The requirement says nothing about it. Surplus bytes are a failure here too.
    #[default]
    Either,
}

/// Which status an expectation allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum ExpectedStatus {
    /// Exactly this status.
    Status(u16),
    /// Any status of this class: 4 stands for 400 to 499.
    Class(u16),
    /// No response at all: the connection ends instead.
    Close,
}

impl TryFrom<String> for ExpectedStatus {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || format!("'{text}' is neither a status, nor a class such as 4xx, nor close");
        if text == "close" {
            return Ok(Self::Close);
        }
        if let Some(class) = text.strip_suffix("xx") {
            let class = class.parse().map_err(|_| wrong())?;
            return if (1..=5).contains(&class) { Ok(Self::Class(class)) } else { Err(wrong()) };
        }
        let status = text.parse().map_err(|_| wrong())?;
        if (100..=599).contains(&status) { Ok(Self::Status(status)) } else { Err(wrong()) }
    }
}

impl fmt::Display for ExpectedStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(formatter, "{status}"),
            Self::Class(class) => write!(formatter, "{class}xx"),
            Self::Close => formatter.write_str("close"),
        }
    }
}

/// Which interim responses may come before the final one. A client has to take more than one (RFC 9110 section 15.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Interim {
    /// Any, or none.
    #[default]
    Allowed,
    /// None at all.
    Forbidden,
    /// 100 (Continue), once or more often, and nothing else.
    Continue,
    /// Exactly one 100 (Continue).
    ContinueOnce,
    /// None but 100 (Continue).
    ContinueOrNone,
}

/// The required form of a field value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FieldFormat {
    /// `Sun, 06 Nov 1994 08:49:37 GMT`, RFC 9110 section 5.6.7.
    HttpDate,
    /// A quoted entity tag, weak or strong, RFC 9110 section 8.8.3.
    EntityTag,
    /// A strong entity tag.
    StrongEntityTag,
    /// A list of methods.
    Methods,
    /// A reference that stays on this host: no `//`, no backslash, no control byte.
    LocalReference,
    /// `type/subtype`, with or without parameters, RFC 9110 section 8.3.1.
    MediaType,
}

/// The expected content of a response.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExpectedBody {
    /// No bytes.
    Empty,
    /// The whole file.
    File,
    /// Bytes of the file, first and last, both included.
    Slice(u64, u64),
    /// The last bytes of the file, this many.
    Tail(u64),
    /// Exactly this (a template).
    Is(String),
    /// Not this text, anywhere.
    Lacks(String),
    /// These ranges of the file as `multipart/byteranges`.
    Multipart(Vec<(u64, u64)>),
}

/// The expectation for one final response.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Expectation {
    /// The method of the request; matters for HEAD and CONNECT, whose responses are framed differently.
    pub method: Option<String>,
    /// Allowed answers.
    pub status: Vec<ExpectedStatus>,
    /// The interim responses before it.
    pub interim: Interim,
    /// Fields that must be present.
    pub present: Vec<String>,
    /// Fields that must be absent.
    pub absent: Vec<String>,
    /// Fields with exactly this value (a template).
    pub equals: BTreeMap<String, String>,
    /// Fields with this member in their comma-separated list, in any case.
    pub contains: BTreeMap<String, String>,
    /// Fields whose value, where present, must not have this text in it.
    pub lacks: BTreeMap<String, String>,
    /// Fields whose value, where present, has this form.
    pub format: BTreeMap<String, FieldFormat>,
    /// Fields with the same value as in the first response of the case, or absent in both.
    pub same_as_first: Vec<String>,
    /// Fields which, where present in both, differ from the first response of the case.
    pub differs_from_first: Vec<String>,
    /// The content.
    pub body: Option<ExpectedBody>,
    /// Other correct answers.
    pub or: Vec<Expectation>,
}

/// What cases of both protocols have.
pub(crate) struct CaseHead<'c> {
    pub(crate) id: &'c str,
    pub(crate) section: &'c str,
    pub(crate) level: RequirementLevel,
    pub(crate) requirement: &'c str,
}

/// One requirement and how it is tested.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Case {
    /// Name, unique in the suite: source, section and subject.
    pub id: String,
    /// The source of the requirement: `RFC 9112 6.3`, or `policy <topic>`.
    pub section: String,
    /// How binding it is.
    pub level: RequirementLevel,
    /// The requirement in our own words.
    pub requirement: String,
    /// Conditions for testing it.
    #[serde(default)]
    pub needs: Vec<Need>,
    /// The bytes to send, if the client does nothing else.
    pub send: Option<String>,
    /// The client's actions, if there is more than one write.
    #[serde(default)]
    pub steps: Vec<CaseStep>,
    /// The final responses, in order.
    pub responses: Vec<Expectation>,
    /// The connection after them.
    #[serde(default)]
    pub connection: ConnectionAfter,
}

impl Case {
    /// The client's actions, in order.
    pub fn script(&self) -> Vec<CaseStep> {
        self.send.iter().cloned().map(CaseStep::Send).chain(self.steps.iter().cloned()).collect()
    }
}
