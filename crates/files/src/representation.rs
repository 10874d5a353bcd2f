//! One sequence of bytes that represents a file, and its header fields, prepared once.
//!
//! Owns entity tags and the list of fields of an answer. Never decides which representation is sent
//! (`answer` does).

use std::sync::Arc;

use sys::file::{FileTime, Metadata};
use wire::http::conditional::{Strength, write_etag};
use wire::http::date;
use wire::http::encoding::Coding;
use wire::http::fields::FieldList;
use wire::http::head::Fields;
use wire::http::response::InvalidField;

use super::limits::{UNSETTLED_COARSE_MS, UNSETTLED_MS};

/// Bytes that represent a file, with their header fields.
#[derive(Debug)]
pub struct Representation {
    /// Their coding.
    pub coding: Coding,
    /// The bytes.
    pub body: BodySource,
    /// The entity tag, with its quotes.
    pub etag: Box<str>,
    /// The media type of the file, whatever the coding.
    pub media_type: Arc<str>,
    fields: FieldList,
    /// How many fields come before the validators.
    validators_from: usize,
}

/// Where the bytes of a representation are.
#[derive(Clone, Debug)]
pub enum BodySource {
    /// In memory.
    Memory(Arc<[u8]>),
    /// In a file, to be sent from its descriptor.
    Large(Large),
}

/// A file that is sent from its descriptor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Large {
    /// Its path below the root.
    pub relative: Arc<str>,
    /// Its metadata when it was looked up, compared when it is opened: see `Roots::open_large`.
    pub metadata: Metadata,
}

impl BodySource {
    /// The number of bytes.
    pub fn size(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::Large(large) => large.metadata.size,
        }
    }

    /// The entity tag: of the time and the bytes if they are in memory, so copies on several hosts have the same one.
    /// Of a large file, whose bytes are not read, it is made from all that the kernel tells: `modified` can be set back
    /// after a change, `changed` cannot.
    fn etag(&self, modified: FileTime, coding: Coding, read_ms: u64) -> Box<str> {
        let mut tag = Vec::with_capacity(48);
        match self {
            Self::Memory(bytes) => {
                write_etag(&mut tag, Strength::Strong, &[&bytes_of(modified), bytes], coding);
            }
            Self::Large(Large { metadata, .. }) => {
                let times = [bytes_of(metadata.modified), bytes_of(metadata.changed)].concat();
                let numbers = [metadata.size, metadata.inode, metadata.device];
                let numbers = numbers.map(u64::to_le_bytes).concat();
                if is_settled(metadata.changed, read_ms) {
                    write_etag(&mut tag, Strength::Strong, &[&times, &numbers], coding);
                } else {
                    // Another change may leave the same times, so this tag is never the tag of another lookup.
                    let read = read_ms.to_le_bytes();
                    write_etag(&mut tag, Strength::Weak, &[&times, &numbers, &read], coding);
                }
            }
        }
        String::from_utf8(tag).expect("an entity tag is hexadecimal").into_boxed_str()
    }
}

/// Whether another change after `wall_ms` would give the file another time of change.
pub(crate) fn is_settled(changed: FileTime, wall_ms: u64) -> bool {
    let changed_ms =
        i128::from(changed.seconds) * 1000 + i128::from(changed.nanoseconds / 1_000_000);
    // A file system without fractions of a second gives all changes of a second the same time.
    let tick_ms = if changed.nanoseconds == 0 { UNSETTLED_COARSE_MS } else { UNSETTLED_MS };
    changed_ms + i128::from(tick_ms) < i128::from(wall_ms)
}

fn bytes_of(time: FileTime) -> [u8; 12] {
    let mut bytes = [0; 12];
    let (seconds, nanoseconds) = bytes.split_at_mut(8);
    seconds.copy_from_slice(&time.seconds.to_le_bytes());
    nanoseconds.copy_from_slice(&time.nanoseconds.to_le_bytes());
    bytes
}

/// Whether the choice between representations depends on a field of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vary {
    /// It does not.
    Nothing,
    AcceptEncoding,
    Accept,
}

/// The common properties of all representations of a file.
#[derive(Clone, Debug)]
pub(crate) struct Shared<'s> {
    pub(crate) media_type: Arc<str>,
    pub(crate) modified: FileTime,
    /// For `Last-Modified`; 0: without the field.
    pub(crate) last_modified: u64,
    /// When the file was looked up, in milliseconds since 1970.
    pub(crate) read_ms: u64,
    pub(crate) vary: Vary,
    pub(crate) cache_control: Option<&'s str>,
}

impl Representation {
    /// With the fields of `body`. `modified` goes into the entity tag: a precompressed sibling has its own.
    pub(crate) fn new(
        coding: Coding,
        body: BodySource,
        modified: FileTime,
        shared: &Shared<'_>,
    ) -> Self {
        let etag = body.etag(modified, coding, shared.read_ms);
        let mut fields = FieldList::new();
        let size = itoa::Buffer::new().format(body.size()).to_owned();
        add(&mut fields, "Content-Type", shared.media_type.as_bytes());
        add(&mut fields, "Content-Length", size.as_bytes());
        if coding != Coding::Identity {
            add(&mut fields, "Content-Encoding", coding.token().as_bytes());
        }
        add(&mut fields, "Accept-Ranges", b"bytes");
        let validators_from = fields.len();
        if shared.last_modified != 0 {
            add(&mut fields, "Last-Modified", &date::format(shared.last_modified));
        }
        add(&mut fields, "ETag", etag.as_bytes());
        match shared.vary {
            Vary::Nothing => {}
            Vary::AcceptEncoding => add(&mut fields, "Vary", b"Accept-Encoding"),
            Vary::Accept => add(&mut fields, "Vary", b"Accept"),
        }
        if let Some(value) = shared.cache_control {
            add(&mut fields, "Cache-Control", value.as_bytes());
        }
        fields.shrink();
        let media_type = Arc::clone(&shared.media_type);
        Self { coding, body, etag, media_type, fields, validators_from }
    }

    /// The fields of a plain 200: `Content-Type`, `Content-Length` and those of
    /// [`common_fields`](Self::common_fields), without `Date`.
    pub fn fields(&self) -> Fields<'_, '_> {
        self.fields.fields()
    }

    /// The fields that a 200 and a 206 have in common: all except `Content-Type` and `Content-Length`.
    pub fn common_fields(&self) -> Fields<'_, '_> {
        self.fields.fields().after(2)
    }

    /// The fields of a 304: `Last-Modified`, `ETag`, `Vary`, `Cache-Control`.
    pub fn validator_fields(&self) -> Fields<'_, '_> {
        self.fields.fields().after(self.validators_from)
    }

    /// Bytes of memory used.
    pub fn cost(&self) -> usize {
        let body = match &self.body {
            BodySource::Memory(bytes) => bytes.len(),
            BodySource::Large(large) => large.relative.len(),
        };
        size_of::<Self>() + self.fields.cost() + self.etag.len() + body
    }
}

/// Adds a field of which name and value are ours or were checked. A configured value for which the list has no room
/// is left out.
pub(crate) fn add(fields: &mut FieldList, name: &str, value: &[u8]) {
    let added = fields.add(name, value);
    debug_assert!(!matches!(added, Err(InvalidField::Name | InvalidField::Value)), "{name}");
}
