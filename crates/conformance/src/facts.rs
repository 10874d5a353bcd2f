//! Owns the facts about the target before the cases are played: its resources, and the answer to a first plain
//! GET of the file. Does not judge that answer: the cases do.

use std::collections::BTreeMap;

use crate::case::Need;
use crate::connection::Connection;
use crate::formats;
use crate::response::{ParsedResponse, RequestKind};
use crate::target::{Capability, Options, TestedServer};

/// The facts that templates and expectations may refer to.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    target: TestedServer,
    content: Option<Vec<u8>>,
    etag: Option<String>,
    last_modified: Option<String>,
    /// The settings that an HTTP/2 server announced, by placeholder.
    announced: BTreeMap<String, String>,
}

impl Facts {
    /// Facts that the caller has learned over HTTP/2.
    pub(crate) fn told(
        target: &TestedServer,
        content: Option<Vec<u8>>,
        announced: BTreeMap<String, String>,
    ) -> Self {
        let target = target.clone();
        Self { target, content, etag: None, last_modified: None, announced }
    }

    /// Requests the target's file once. After any error the fact stays unknown.
    pub(crate) fn learn(target: &TestedServer, options: &Options) -> Self {
        let answer = target.resources.get(&Capability::File).and_then(|path| {
            let host = &target.host;
            let request =
                format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
            first_answer(target, options, request.as_bytes())
        });
        let answer = answer.filter(|response| response.status == 200);
        let text = |name| {
            let value = answer.as_ref().and_then(|response| response.field(name));
            value.and_then(|value| String::from_utf8(value.to_vec()).ok())
        };
        Self {
            etag: text("ETag"),
            last_modified: text("Last-Modified"),
            content: target
                .file_content
                .clone()
                .or_else(|| answer.as_ref().map(|a| a.body.clone())),
            target: target.clone(),
            announced: BTreeMap::new(),
        }
    }

    /// Facts without a server, with which every template of the suite can be expanded.
    pub(crate) fn sample() -> Self {
        let mut target = TestedServer::new(([127, 0, 0, 1], 80).into());
        for capability in Capability::ALL {
            let value = if capability == Capability::BodyLimit { "65536" } else { "/sample.txt" };
            target.resources.insert(capability, value.to_owned());
        }
        Self {
            target,
            content: Some(vec![b'a'; 1000]),
            etag: Some("\"sample\"".to_owned()),
            last_modified: Some("Sun, 06 Nov 1994 08:49:37 GMT".to_owned()),
            announced: ["stream-limit", "list-limit"]
                .map(|name| (name.to_owned(), "100".to_owned()))
                .into(),
        }
    }

    /// The content of the file.
    pub(crate) fn content(&self) -> Option<&[u8]> {
        self.content.as_deref()
    }

    /// Why a case with this need cannot be played, if so.
    pub(crate) fn lacks(&self, need: Need, options: &Options) -> Option<String> {
        match need {
            Need::Offers(Capability::File) if self.offers(Capability::File) => {
                match &self.content {
                    Some(_) => None,
                    None => Some("the target does not answer a plain GET of its file".to_owned()),
                }
            }
            Need::Offers(capability) if self.offers(capability) => None,
            Need::Offers(capability) => Some(format!("no '{capability}' was named")),
            Need::EntityTag if self.etag.is_some() => None,
            Need::EntityTag => Some("the file comes without an ETag".to_owned()),
            Need::StrongEntityTag => match &self.etag {
                Some(etag) if formats::is_strong_entity_tag(etag.as_bytes()) => None,
                _ => Some("the file comes without a strong ETag".to_owned()),
            },
            Need::LastModified if self.last_modified.is_some() => None,
            Need::LastModified => Some("the file comes without Last-Modified".to_owned()),
            Need::SlowDeadline if options.slow_deadline.is_some() => None,
            Need::SlowDeadline => Some("no deadline for slow clients was given".to_owned()),
        }
    }

    /// A path that gives some answer, for the request that shows that a connection still serves.
    pub(crate) fn probe_path(&self) -> &str {
        let resources = &self.target.resources;
        let path = resources.get(&Capability::File).or_else(|| resources.get(&Capability::Missing));
        path.map_or("/", String::as_str)
    }

    fn scheme(&self) -> &'static str {
        if self.target.over.is_some() { "https" } else { "http" }
    }

    /// The value of Host.
    pub(crate) fn host(&self) -> &str {
        &self.target.host
    }

    /// The value of a placeholder.
    pub(crate) fn value(&self, name: &str) -> Option<String> {
        if let Some(capability) = Capability::from_name(name) {
            return self.target.resources.get(&capability).cloned();
        }
        let length = || self.content.as_ref().map(Vec::len);
        match name {
            "scheme" => Some(self.scheme().to_owned()),
            "scheme-in-capitals" => Some(self.scheme().to_uppercase()),
            "host" => Some(self.target.host.clone()),
            "port" => Some(self.target.address.port().to_string()),
            "etag" => self.etag.clone(),
            "last-modified" => self.last_modified.clone(),
            "etag-longer" => {
                self.etag.as_deref()?.strip_suffix('"').map(|start| format!("{start}x\""))
            }
            "last-modified-rfc850" => formats::to_rfc850(self.last_modified.as_deref()?),
            "last-modified-asctime" => formats::to_asctime(self.last_modified.as_deref()?),
            "length" => length().map(|length| length.to_string()),
            "last" => length().map(|length| length.saturating_sub(1).to_string()),
            "file-encoded" => self
                .path(Capability::File)
                .map(|path| encode(path, |byte| byte.is_ascii_alphanumeric())),
            "dotfile-encoded" => {
                self.path(Capability::Dotfile).map(|path| encode(path, |byte| *byte == b'.'))
            }
            "over-body-limit" => {
                let limit: u64 = self.path(Capability::BodyLimit)?.parse().ok()?;
                Some(limit.saturating_add(1).to_string())
            }
            _ => self.announced.get(name).cloned(),
        }
    }

    fn path(&self, capability: Capability) -> Option<&str> {
        self.target.resources.get(&capability).map(String::as_str)
    }

    fn offers(&self, capability: Capability) -> bool {
        self.target.resources.contains_key(&capability)
    }
}

fn first_answer(
    target: &TestedServer,
    options: &Options,
    request: &[u8],
) -> Option<ParsedResponse> {
    let mut connection = Connection::open(target, options).ok()?;
    connection.send(request);
    connection.next_final(RequestKind::Other).ok().map(|exchange| exchange.response)
}

/// Some bytes of a path as percent escapes: another spelling of the same path.
fn encode(path: &str, escaped: impl Fn(&u8) -> bool) -> String {
    let mut text = String::new();
    for byte in path.bytes() {
        if escaped(&byte) {
            text.push_str(&format!("%{byte:02x}"));
        } else {
            text.push(char::from(byte));
        }
    }
    text
}
