//! The requests to a server, and its answers.
//!
//! Owns the requests to its control socket as text, and the reading of answers. Knows no socket: whoever uses it sends
//! a request and returns the body of the answer.

use std::fmt::Write;

use live::{FORMAT, Info, List, ServerSnapshot};

/// The contents that a snapshot should have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SnapshotRequest {
    /// The list; without one the snapshot has none.
    pub list: Option<List>,
    /// The column by which the server chooses rows; it chooses if this is empty.
    pub sort: String,
    /// The number of rows.
    pub most: usize,
    /// The text that the rows contain; all rows if it is empty.
    pub filter: String,
}

/// A question, or an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// A snapshot.
    Live(SnapshotRequest),
    /// All about one thing, by its id.
    Info(String),
    /// To end one thing, by its id.
    End(String),
}

/// An HTTP request of the control socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlRequest {
    /// `GET` or `POST`.
    pub method: &'static str,
    /// Path and query.
    pub target: String,
    /// The body; empty without one.
    pub body: String,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// The server cannot be reached, or cannot be understood: what, where and how to mend it, in a line.
    #[error("{0}")]
    Unreachable(String),
    /// There is no such thing any more.
    #[error("it has ended already")]
    Gone,
}

impl AskError {
    /// The same as the answer to [`Ask::Live`]: a server without figures does not know the question.
    #[must_use]
    pub fn of_figures(self) -> Self {
        match self {
            Self::Gone => {
                let why = "this server has no figures: it is older than this velodrome; restart it";
                Self::Unreachable(why.to_owned())
            }
            other => other,
        }
    }
}

impl Ask {
    /// The request that asks this.
    pub fn request(&self) -> ControlRequest {
        let get = |target| ControlRequest { method: "GET", target, body: String::new() };
        match self {
            Self::Live(wanted) => get(wanted.target()),
            Self::Info(id) => get(format!("/info?id={}", encoded(id))),
            Self::End(id) => {
                ControlRequest { method: "POST", target: "/kill".to_owned(), body: id.clone() }
            }
        }
    }
}

impl SnapshotRequest {
    fn target(&self) -> String {
        let Some(list) = self.list else { return "/live".to_owned() };
        let mut target = format!("/live?list={}&most={}", list.name(), self.most);
        for (name, value) in [("sort", &self.sort), ("filter", &self.filter)] {
            if !value.is_empty() {
                let _infallible = write!(target, "&{name}={}", encoded(value));
            }
        }
        target
    }
}

/// A value of a query: every byte that is not unreserved (RFC 3986 section 2.3) as `%XX`.
fn encoded(value: &str) -> String {
    let mut out = String::new();
    for byte in value.bytes() {
        let _infallible = match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                write!(out, "{}", char::from(byte))
            }
            _ => write!(out, "%{byte:02X}"),
        };
    }
    out
}

/// Reads a snapshot.
///
/// # Errors
/// The answer is none, or one of a server of another version.
pub fn read_snapshot(body: &str) -> Result<ServerSnapshot, AskError> {
    let format = serde_json::from_str::<Format>(body).map_err(|error| unreadable(&error))?.format;
    if format != FORMAT {
        return Err(AskError::Unreachable(format!(
            "the server answers in format {format}, and this velodrome reads {FORMAT}: use the velodrome \
             that serves"
        )));
    }
    serde_json::from_str(body).map_err(|error| unreadable(&error))
}

/// Only the number of the format, which every version has.
#[derive(serde::Deserialize)]
struct Format {
    format: u32,
}

pub(crate) fn read_info(body: &str) -> Result<Info, AskError> {
    serde_json::from_str(body).map_err(|error| unreadable(&error))
}

fn unreadable(error: &serde_json::Error) -> AskError {
    AskError::Unreachable(format!(
        "the answer of the server cannot be read ({error}): use the velodrome that serves"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_carry_what_was_typed() {
        let wanted = SnapshotRequest {
            list: Some(List::Channels),
            sort: "rate".to_owned(),
            most: 50,
            filter: "a&b c/ü".to_owned(),
        };
        let request = Ask::Live(wanted).request();
        let target = "/live?list=channels&most=50&sort=rate&filter=a%26b%20c%2F%C3%BC";
        assert_eq!((request.method, &*request.target), ("GET", target));
        assert_eq!(Ask::Live(SnapshotRequest::default()).request().target, "/live");
        assert_eq!(Ask::Info("n-a/b".to_owned()).request().target, "/info?id=n-a%2Fb");
        let request = Ask::End("c-0-17".to_owned()).request();
        assert_eq!((&*request.target, &*request.body), ("/kill", "c-0-17"));
    }

    #[test]
    fn an_answer_of_another_version_is_refused_with_the_mend() {
        let Err(AskError::Unreachable(why)) = read_snapshot(r#"{"format": 99, "x": 1}"#) else {
            panic!("it is of the future")
        };
        assert!(why.contains("format 99") && why.contains("use the velodrome"), "{why}");
        assert!(read_snapshot("<html>").is_err());
        let sent = ServerSnapshot { format: FORMAT, at_ms: 7, ..ServerSnapshot::default() };
        let json = serde_json::to_string(&sent).expect("it is JSON");
        assert_eq!(read_snapshot(&json), Ok(sent));
    }
}
