//! What a page gets from its host: the request, the time, a log.
//!
//! Owns the contract ([`Host`]). Never calls a page: a host answers and returns immediately.

use std::time::Duration;

/// What a server does for a running page. Called while the page runs, so it answers at once from memory.
pub trait Host {
    /// Gives a part of the request; leaves `answer` as it is where the request has no such part.
    fn request(&mut self, part: Part, answer: &mut Answer);

    /// The time since 1970.
    fn now(&mut self) -> Duration;

    /// A time that only goes forward, as fine as there is one. What it counts from says nothing.
    fn clock(&mut self) -> Duration {
        self.now()
    }

    /// Appends the name of the site whose cookies the page signs and takes; nothing for the one without a name.
    fn site(&mut self, _name: &mut Vec<u8>) {}

    /// Takes a line of the page's log. The bytes are as the page made them.
    fn log(&mut self, level: Level, text: &[u8]);

    /// Publishes a message to a channel.
    ///
    /// # Errors
    /// Why not, for the page.
    fn publish(&mut self, _channel: &[u8], _value: PublishedValue<'_>) -> Result<(), String> {
        Err("there are no channels here".to_owned())
    }

    /// Gives the record of a key, if there is one, as two fields: its kind (`0` bytes, `1` a whole number, `2` JSON) and its bytes; its version and
    /// the time at which it ends, in milliseconds since 1970, or nothing.
    ///
    /// # Errors
    /// Why it cannot be read, for the page.
    fn record(&mut self, _: &[u8], _: &[u8], _: &mut Answer) -> Result<(), String> {
        Err("the store cannot be read here".to_owned())
    }

    /// Gives records. The first field is the key behind which the next ones come, and `1` where there may be some; the second the number of the
    /// commit that is read, and nothing. Each record is the two fields that
    /// [`record`](Self::record) gives behind one with its key and nothing.
    ///
    /// # Errors
    /// Why they cannot be read, for the page.
    fn records(&mut self, _: Records<'_>, _: &mut Answer) -> Result<(), String> {
        Err("the store cannot be read here".to_owned())
    }
}

/// Some records of the store, in the order of their keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Records<'page> {
    /// Of which database.
    pub database: &'page [u8],
    /// What their keys begin with.
    pub prefix: &'page [u8],
    /// Behind this key, if there is one.
    pub after: Option<&'page [u8]>,
    /// How many at most.
    pub count: usize,
    /// What of each.
    pub parts: RecordParts,
}

/// What is given of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordParts {
    /// All of it.
    Whole,
    /// All but its bytes.
    Version,
}

/// What a page publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublishedValue<'v> {
    /// A string of the page: text, or any bytes.
    Text(&'v [u8]),
    /// Another value, in JSON.
    Json(&'v [u8]),
}

/// A part of a request. Nothing is copied for a page that does not look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// `request.method`: text.
    Method,
    /// `request.path`: text, decoded.
    Path,
    /// `request.rest`: text, what of the path follows the prefix of a module's route, with its slash.
    Rest,
    /// `request.query`: fields, decoded; of one name the last counts.
    Query,
    /// `request.query_lists`: the same, each under its number and name: `1.name`. All of one name count.
    QueryLists,
    /// `request.query_text`: text as it came, without the question mark.
    QueryText,
    /// `request.headers`: fields with names in small letters, those of one name joined.
    Headers,
    /// `request.cookies`: fields.
    Cookies,
    /// `request.body`: text.
    Body,
    /// `request.form`: fields of a body that is a form, decoded; none where it is none.
    Form,
    /// `request.form_lists`: the same, each under its number and name.
    FormLists,
    /// `request.files`: fields. `form` is a number for all of them, `count` how many there are; of each, counted from 1, there are
    /// `1.field`, `1.name`, `1.type` and `1.size`.
    Files,
    /// `request.peer`: text, an address.
    Peer,
    /// `request.channel`: text, the channel about which a module is asked.
    Channel,
    /// `request.message`: the message that a client wants to publish there, as the one field `text` or `json`.
    Message,
    /// `request.claims`: text, the claims of the client's token in JSON.
    Claims,
}

impl Part {
    /// All parts with the names that pages know them by. A part's number is its place here, from 1.
    pub const ALL: [(&'static str, Part); 16] = [
        ("method", Part::Method),
        ("path", Part::Path),
        ("rest", Part::Rest),
        ("query", Part::Query),
        ("query_lists", Part::QueryLists),
        ("query_text", Part::QueryText),
        ("headers", Part::Headers),
        ("cookies", Part::Cookies),
        ("body", Part::Body),
        ("form", Part::Form),
        ("form_lists", Part::FormLists),
        ("files", Part::Files),
        ("peer", Part::Peer),
        ("channel", Part::Channel),
        ("message", Part::Message),
        ("claims", Part::Claims),
    ];

    pub(super) fn of_number(number: f64) -> Option<Part> {
        Self::ALL.get((number as usize).checked_sub(1)?).map(|(_, part)| *part)
    }
}

/// How much a log line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// `log.debug`.
    Debug,
    /// `log.info` and `print`.
    Info,
    /// `log.warn`.
    Warning,
    /// `log.error`.
    Error,
}

impl Level {
    pub(super) fn of_number(number: f64) -> Level {
        match number as u8 {
            1 => Level::Debug,
            3 => Level::Warning,
            4 => Level::Error,
            _ => Level::Info,
        }
    }
}

/// What an [`Answer`] holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Shape {
    #[default]
    Nothing,
    Refused,
    Text,
    Fields,
}

/// Where a host puts its answer: one text, or any number of fields.
#[derive(Debug, Default)]
pub struct Answer {
    shape: Shape,
    bytes: Vec<u8>,
    /// Where names and values end in `bytes`.
    ends: Vec<(usize, usize)>,
}

impl Answer {
    /// Answers with a text.
    pub fn text(&mut self, text: &[u8]) {
        self.clear();
        self.shape = Shape::Text;
        self.bytes.extend_from_slice(text);
    }

    /// There is no request: an error where the page asks.
    pub fn refuse(&mut self) {
        self.clear();
        self.shape = Shape::Refused;
    }

    /// Answers with fields, of which there may be none.
    pub fn fields(&mut self) {
        self.clear();
        self.shape = Shape::Fields;
    }

    /// Adds a field. A later one of the same name takes the place of an earlier one.
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

    pub(super) fn field_at(&self, index: usize) -> Option<(&[u8], &[u8])> {
        let start = match index.checked_sub(1) {
            Some(before) => self.ends.get(before)?.1,
            None => 0,
        };
        let (name_end, value_end) = *self.ends.get(index)?;
        Some((self.bytes.get(start..name_end)?, self.bytes.get(name_end..value_end)?))
    }
}
