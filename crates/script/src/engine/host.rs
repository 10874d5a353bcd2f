//! The host of a page: the request, the time, a log.
//!
//! Owns the contract ([`PageHost`]). Never calls a page: a host answers and returns immediately.

use std::time::Duration;

/// The services of a server to a running page. Called while the page runs, so it answers at once from memory.
pub trait PageHost {
    /// Provides a part of the request; leaves `answer` unchanged if the request has no such part.
    fn request(&mut self, part: RequestPart, answer: &mut HostAnswer);

    /// The time since 1970.
    fn now(&mut self) -> Duration;

    /// A monotonic time with the best available resolution. Its starting point has no meaning.
    fn clock(&mut self) -> Duration {
        self.now()
    }

    /// Appends the name of the site whose cookies the page signs and accepts; nothing for the site without a name.
    fn site(&mut self, _name: &mut Vec<u8>) {}

    /// Adds fields to a request that the page sends to another server, each as two lines: name and value.
    fn pass_on(&mut self, _fields: &mut Vec<u8>) {}

    /// Takes a line of the page's log, in the page's own bytes.
    fn log(&mut self, level: PageLogLevel, text: &[u8]);

    /// Uses a limit for a key: returns the time after which that is allowed, zero if it is now; `None` if there is no
    /// such limit.
    fn take_limit(&mut self, _name: &[u8], _key: &[u8]) -> Option<Duration> {
        None
    }

    /// Gives the client a link before the answer, if the page waits (RFC 8297).
    ///
    /// # Errors
    /// Why it is none, for the page.
    fn hint(&mut self, _link: &[u8]) -> Result<(), String> {
        Err("no request is answered here".to_owned())
    }

    /// Publishes a message to a channel.
    ///
    /// # Errors
    /// The reason, for the page.
    fn publish(&mut self, _channel: &[u8], _value: PublishedValue<'_>) -> Result<(), String> {
        Err("there are no channels here".to_owned())
    }

    /// Provides the record of a key, if there is one, as two fields: its kind (`0` bytes, `1` an integer, `2` JSON) and
    /// its bytes; its version and its expiry in milliseconds since 1970, or nothing.
    ///
    /// # Errors
    /// Why it cannot be read, for the page.
    fn record(&mut self, _: &[u8], _: &[u8], _: &mut HostAnswer) -> Result<(), String> {
        Err("the store cannot be read here".to_owned())
    }

    /// The page orders a change of the store that names these keys.
    fn orders(&mut self, _keys: &mut dyn Iterator<Item = &[u8]>) {}

    /// Provides several records. The first field is the key after which the next ones come, and `1` if there may be
    /// more; the second the number of the commit that is read, and nothing. Each record is one field with its key and
    /// nothing, followed by the two fields of [`record`](Self::record).
    ///
    /// # Errors
    /// Why they cannot be read, for the page.
    fn records(&mut self, _: RecordScan<'_>, _: &mut HostAnswer) -> Result<(), String> {
        Err("the store cannot be read here".to_owned())
    }
}

/// Consecutive records of the store, in the order of their keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordScan<'page> {
    /// The database.
    pub database: &'page [u8],
    /// The prefix of their keys.
    pub prefix: &'page [u8],
    /// Starts after this key, if there is one.
    pub after: Option<&'page [u8]>,
    /// Maximum number of records.
    pub count: usize,
    /// The requested parts of each record.
    pub parts: RecordParts,
}

/// The requested parts of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordParts {
    /// All of it.
    Whole,
    /// All but its bytes.
    Version,
}

/// A message that a page publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublishedValue<'v> {
    /// A string of the page: text, or any bytes.
    Text(&'v [u8]),
    /// Another value, in JSON.
    Json(&'v [u8]),
}

/// The parts, their names in pages and their forms, in one list.
macro_rules! parts {
    ($($name:ident $part:ident $form:literal)+) => {
        /// A part of a request. Parts that a page does not read are not copied.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum RequestPart {
            $(#[doc = concat!("`request.", stringify!($name), "`: ", $form)] $part,)+
        }

        impl RequestPart {
            /// All parts with their names in pages. A part's number is its position here, from 1.
            pub const ALL: &[(&str, Self)] = &[$((stringify!($name), Self::$part)),+];
        }
    };
}

parts! {
    method Method "text."
    path Path "text, decoded."
    rest Rest "text, the part of the path after the prefix of a module's route, with its slash."
    query Query "fields, decoded; for repeated names the last counts."
    query_lists QueryLists
        "the same, each under its number and name: `1.name`. Repeated names are all included."
    query_text QueryText "text as received, without the question mark."
    headers Headers "fields with names in lower case; those with the same name are joined."
    cookies Cookies "fields; for repeated names the last counts."
    cookie_lists CookieLists
        "the same, each under its number and name. A client sends several with one name for different paths \
         and domains, and not all of them are this site's."
    body Body "text."
    trailers Trailers "fields behind the body, as `headers`."
    form Form "fields of a body that is a form, decoded; empty if it is not."
    form_lists FormLists "the same, each under its number and name."
    files Files
        "fields. `form` is a number for all of them, `count` the number of files; for each, counted from 1, \
         there are `1.field`, `1.name`, `1.type` and `1.size`."
    peer Peer "text, an address."
    scheme Scheme "text, `http` or `https`."
    tls Tls "fields about the encrypted connection; nothing if it is plain."
    id Id "text, the name of the request in logs."
    trace Trace "text, the trace to which the request says it belongs; nothing if it says none."
    user User "text, the user whom the rules of access have let in; nothing if none was asked for."
    channel Channel "text, the channel about which a module is asked."
    message Message "the message that a client wants to publish, as a single field `text` or `json`."
    claims Claims "text, the claims of the client's token in JSON."
}

impl RequestPart {
    pub(super) fn of_number(number: f64) -> Option<RequestPart> {
        Self::ALL.get((number as usize).checked_sub(1)?).map(|(_, part)| *part)
    }
}

/// The severity of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageLogLevel {
    /// `log.debug`.
    Debug,
    /// `log.info` and `print`.
    Info,
    /// `log.warn`.
    Warning,
    /// `log.error`.
    Error,
}

impl PageLogLevel {
    pub(super) fn of_number(number: f64) -> PageLogLevel {
        match number as u8 {
            1 => PageLogLevel::Debug,
            3 => PageLogLevel::Warning,
            4 => PageLogLevel::Error,
            _ => PageLogLevel::Info,
        }
    }
}

/// The content of an [`HostAnswer`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Shape {
    #[default]
    Nothing,
    Refused,
    Text,
    Fields,
}

/// The answer of a host: one text, or any number of fields.
#[derive(Debug, Default)]
pub struct HostAnswer {
    shape: Shape,
    bytes: Vec<u8>,
    /// The ends of names and values in `bytes`.
    ends: Vec<(usize, usize)>,
}

impl HostAnswer {
    /// Answers with a text.
    pub fn text(&mut self, text: &[u8]) {
        self.clear();
        self.shape = Shape::Text;
        self.bytes.extend_from_slice(text);
    }

    /// There is no request, which is an error if the page asks.
    pub fn refuse(&mut self) {
        self.clear();
        self.shape = Shape::Refused;
    }

    /// Answers with fields, perhaps none.
    pub fn fields(&mut self) {
        self.clear();
        self.shape = Shape::Fields;
    }

    /// Adds a field. A later one with the same name replaces an earlier one.
    pub fn field(&mut self, name: &[u8], value: &[u8]) {
        if self.shape != Shape::Fields {
            self.fields();
        }
        self.bytes.extend_from_slice(name);
        let name_end = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.ends.push((name_end, self.bytes.len()));
    }

    /// Adds to the value of the last field.
    pub fn extend(&mut self, bytes: &[u8]) {
        if let Some((_, value_end)) = self.ends.last_mut() {
            self.bytes.extend_from_slice(bytes);
            *value_end = self.bytes.len();
        }
    }

    pub(super) fn clear(&mut self) {
        self.shape = Shape::Nothing;
        self.bytes.clear();
        self.ends.clear();
    }

    pub(super) fn shape(&self) -> Shape {
        self.shape
    }

    pub(super) fn text_bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn field_count(&self) -> usize {
        self.ends.len()
    }

    /// The name of a field; nothing if there is none.
    pub(super) fn name_at(&self, index: usize) -> &[u8] {
        self.field_at(index).unwrap_or_default().0
    }

    /// The value of a field; nothing if there is none.
    pub(super) fn value_at(&self, index: usize) -> &[u8] {
        self.field_at(index).unwrap_or_default().1
    }

    fn field_at(&self, index: usize) -> Option<(&[u8], &[u8])> {
        let start = match index.checked_sub(1) {
            Some(before) => self.ends.get(before)?.1,
            None => 0,
        };
        let (name_end, value_end) = *self.ends.get(index)?;
        Some((self.bytes.get(start..name_end)?, self.bytes.get(name_end..value_end)?))
    }
}
