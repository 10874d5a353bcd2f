//! The answer to a request for a file: status, header fields and the parts of the body.
//!
//! Owns the choice of the representation, preconditions and ranges as they apply to files. Never
//! sends, never looks at the disk or a clock; a plain 200 of up to 16 KiB from memory allocates
//! nothing.

use std::ops::Range;
use std::sync::Arc;

use wire::http::conditional::{
    self, Precondition, Preconditions, RangeUse, SafeMethod, Validators,
};
use wire::http::encoding::{Accepted, Coding};
use wire::http::fields::FieldList;
use wire::http::head::Fields;
use wire::http::range::{
    self, ByteRange, Multipart, Ranges, write_content_range, write_unsatisfied_range,
};
use wire::http::status::Status;
use wire::http::target::encode_path;

use super::accept::{ListingForm, form_of};
use super::entry::CachedEntry;
use super::job::{FileContent, PathContent};
use super::policy;
use super::representation::{BodySource, Large, Representation, add};

/// The relevant parts of a request for a file.
#[derive(Clone, Copy, Debug)]
pub struct FileRequest<'r> {
    /// `Get` or `Head`; other methods must be answered with 405 before.
    pub method: SafeMethod,
    /// The five precondition fields, and `Range`.
    pub preconditions: Preconditions<'r>,
    /// All of `Accept-Encoding`.
    pub accepted: Accepted,
    /// `Accept`; only used for listings.
    pub accept: Option<&'r [u8]>,
    /// The path, decoded, as in the cache key.
    pub path: &'r str,
    /// The query as received; used in redirects.
    pub query: Option<&'r [u8]>,
    /// Unpredictable; for the boundary of `multipart/byteranges`.
    pub unique: u128,
}

/// The answer to a request for a file.
#[derive(Debug)]
pub struct FileAnswer<'e> {
    /// The status.
    pub status: Status,
    /// The fields: all except `Date`, those of a page that [`wants_page`](Self::wants_page) asks for, and `Location`.
    pub fields: AnswerFields<'e>,
    /// The target of a redirect.
    pub location: Option<String>,
    /// The body, in order; empty for HEAD.
    pub parts: Parts,
    /// The total number of bytes in all parts.
    pub length: u64,
    /// The Content-Security-Policy that replaces the site's, for the server's own pages.
    pub policy: Option<&'static str>,
    /// The file to which [`BodyPart::File`] refers.
    pub large: Option<&'e Large>,
}

/// The fields of an answer.
#[derive(Clone, Debug)]
pub enum AnswerFields<'e> {
    /// Those of the file, as they were prepared when it was read.
    Prepared(Fields<'e, 'e>),
    /// Its own.
    Own(FieldList),
}

impl AnswerFields<'_> {
    /// The fields, lent.
    pub fn fields(&self) -> Fields<'_, '_> {
        match self {
            Self::Prepared(fields) => *fields,
            Self::Own(list) => list.fields(),
        }
    }
}

/// The body of an answer.
#[derive(Debug)]
pub enum Parts {
    /// None: HEAD, 304, an empty file, or a page is requested.
    None,
    /// One run of bytes.
    One(BodyPart),
    /// Several runs, for `multipart/byteranges`.
    Many(Vec<BodyPart>),
}

impl Parts {
    /// The parts in order.
    pub fn as_slice(&self) -> &[BodyPart] {
        match self {
            Self::None => &[],
            Self::One(part) => std::slice::from_ref(part),
            Self::Many(parts) => parts,
        }
    }
}

/// A part of a body.
#[derive(Clone, Debug)]
pub enum BodyPart {
    /// Bytes in memory.
    Memory {
        /// The buffer.
        bytes: Arc<[u8]>,
        /// The range within `bytes`.
        range: Range<usize>,
    },
    /// Bytes of [`FileAnswer::large`].
    File {
        /// The offset of the first byte.
        offset: u64,
        /// The number of bytes.
        length: u64,
    },
}

impl FileAnswer<'_> {
    /// Whether the server should add a page for the status, with its `Content-Type` and `Content-Length`: for all
    /// except 200, 206 and 304.
    pub fn wants_page(&self) -> bool {
        !matches!(self.status, Status::OK | Status::PARTIAL_CONTENT | Status::NOT_MODIFIED)
    }
}

/// Determines the answer; `now_seconds` is since 1970.
pub fn answer<'e>(
    request: &FileRequest<'_>,
    entry: &'e CachedEntry,
    now_seconds: u64,
) -> FileAnswer<'e> {
    match entry.content() {
        PathContent::File(file) => match choose(file, &request.accepted) {
            Some(chosen) => represent(request, chosen, file.last_modified, now_seconds),
            None => refuse(Status::INTERNAL_SERVER_ERROR),
        },
        PathContent::Listing(listing) => {
            let (chosen, policy) = match form_of(request.accept) {
                ListingForm::Html => (&listing.html, Some(policy::LISTING)),
                ListingForm::Json => (&listing.json, None),
            };
            FileAnswer { policy, ..represent(request, chosen, 0, now_seconds) }
        }
        PathContent::Redirect => redirect(request),
        PathContent::Missing(_) => refuse(Status::NOT_FOUND),
        PathContent::Failed(failure) => {
            refuse(Status::from_code(failure.status()).unwrap_or(Status::INTERNAL_SERVER_ERROR))
        }
    }
}

/// A client that accepts nothing available gets the unencoded file (RFC 9110 section 12.5.3 allows this).
fn choose<'e>(file: &'e FileContent, accepted: &Accepted) -> Option<&'e Representation> {
    let coding = accepted.choose(file.available).unwrap_or(Coding::Identity);
    file.representation(coding).or_else(|| file.representations.first())
}

fn represent<'e>(
    request: &FileRequest<'_>,
    chosen: &'e Representation,
    last_modified: u64,
    now_seconds: u64,
) -> FileAnswer<'e> {
    let validators = Validators { etag: chosen.etag.as_bytes(), last_modified };
    let preconditions = &request.preconditions;
    match conditional::evaluate(request.method, preconditions, Some(&validators), now_seconds) {
        Precondition::NotModified => FileAnswer {
            fields: AnswerFields::Prepared(chosen.validator_fields()),
            ..refuse(Status::NOT_MODIFIED)
        },
        Precondition::Failed => refuse(Status::PRECONDITION_FAILED),
        Precondition::Proceed { use_range: RangeUse::Ignore } => whole(request.method, chosen),
        Precondition::Proceed { use_range: RangeUse::Apply } => {
            let field = preconditions.range.unwrap_or_default();
            match range::evaluate(field, chosen.body.size()) {
                Ranges::Whole => whole(request.method, chosen),
                Ranges::Unsatisfiable => unsatisfiable(chosen),
                Ranges::One(range) => one_range(chosen, range),
                // The coding of the parts could not be distinguished from a coding of the multipart itself.
                Ranges::Many(_) if chosen.coding != Coding::Identity => {
                    whole(request.method, chosen)
                }
                Ranges::Many(ranges) => many_ranges(chosen, &ranges, request.unique),
            }
        }
    }
}

fn refuse<'e>(status: Status) -> FileAnswer<'e> {
    FileAnswer {
        status,
        fields: AnswerFields::Own(FieldList::new()),
        location: None,
        parts: Parts::None,
        length: 0,
        policy: None,
        large: None,
    }
}

fn redirect<'e>(request: &FileRequest<'_>) -> FileAnswer<'e> {
    let mut location = Vec::with_capacity(request.path.len() + 16);
    encode_path(request.path, &mut location);
    location.push(b'/');
    // The head parser allows nothing else; a line break here would split the answer.
    let query = request.query.filter(|query| query.iter().all(u8::is_ascii_graphic));
    if let Some(query) = query {
        location.push(b'?');
        location.extend_from_slice(query);
    }
    // Percent-encoded, so it is ASCII.
    let location = String::from_utf8(location).ok();
    FileAnswer { location, ..refuse(Status::MOVED_PERMANENTLY) }
}

fn unsatisfiable<'e>(chosen: &Representation) -> FileAnswer<'e> {
    let mut range = Vec::with_capacity(32);
    write_unsatisfied_range(&mut range, chosen.body.size());
    let mut fields = FieldList::new();
    add(&mut fields, "Content-Range", &range);
    FileAnswer { fields: AnswerFields::Own(fields), ..refuse(Status::RANGE_NOT_SATISFIABLE) }
}

fn whole(method: SafeMethod, chosen: &Representation) -> FileAnswer<'_> {
    let size = chosen.body.size();
    let (parts, length) = match method {
        SafeMethod::Get if size > 0 => {
            (Parts::One(part(&chosen.body, ByteRange { first: 0, length: size })), size)
        }
        _ => (Parts::None, 0),
    };
    FileAnswer {
        status: Status::OK,
        fields: AnswerFields::Prepared(chosen.fields()),
        location: None,
        parts,
        length,
        policy: None,
        large: large(chosen),
    }
}

fn one_range(chosen: &Representation, range: ByteRange) -> FileAnswer<'_> {
    let mut value = Vec::with_capacity(64);
    write_content_range(&mut value, range, chosen.body.size());
    let fields = partial(chosen, chosen.media_type.as_bytes(), range.length, Some(&value));
    FileAnswer {
        status: Status::PARTIAL_CONTENT,
        fields: AnswerFields::Own(fields),
        location: None,
        parts: Parts::One(part(&chosen.body, range)),
        length: range.length,
        policy: None,
        large: large(chosen),
    }
}

/// RFC 9110 section 15.3.7.2: only the parts have `Content-Range`.
fn many_ranges<'e>(
    chosen: &'e Representation,
    ranges: &[ByteRange],
    unique: u128,
) -> FileAnswer<'e> {
    let size = chosen.body.size();
    let media_type = chosen.media_type.as_bytes();
    let multipart = Multipart::new(unique);
    let mut parts = Vec::with_capacity(2 * ranges.len() + 1);
    for &range in ranges {
        let mut head = Vec::with_capacity(160);
        multipart.part_head(range, size, media_type, &mut head);
        parts.push(text(head));
        parts.push(part(&chosen.body, range));
    }
    let mut closing = Vec::with_capacity(48);
    multipart.closing(&mut closing);
    parts.push(text(closing));

    let length = multipart.total_length(ranges, size, media_type);
    let mut content_type = Vec::with_capacity(64);
    multipart.content_type(&mut content_type);
    let fields = partial(chosen, &content_type, length, None);
    FileAnswer {
        status: Status::PARTIAL_CONTENT,
        fields: AnswerFields::Own(fields),
        location: None,
        parts: Parts::Many(parts),
        length,
        policy: None,
        large: large(chosen),
    }
}

/// The fields of a 206.
fn partial(
    chosen: &Representation,
    content_type: &[u8],
    length: u64,
    content_range: Option<&[u8]>,
) -> FieldList {
    let mut fields = FieldList::new();
    add(&mut fields, "Content-Type", content_type);
    add(&mut fields, "Content-Length", itoa::Buffer::new().format(length).as_bytes());
    if let Some(range) = content_range {
        add(&mut fields, "Content-Range", range);
    }
    for (name, value) in chosen.common_fields().iter() {
        add(&mut fields, name, value);
    }
    fields
}

fn large(chosen: &Representation) -> Option<&Large> {
    match &chosen.body {
        BodySource::Memory(_) => None,
        BodySource::Large(large) => Some(large),
    }
}

/// `range` is within the body: it was evaluated for its size.
fn part(body: &BodySource, range: ByteRange) -> BodyPart {
    match body {
        BodySource::Large(_) => BodyPart::File { offset: range.first, length: range.length },
        BodySource::Memory(bytes) => {
            let within =
                |position: u64| usize::try_from(position).unwrap_or(usize::MAX).min(bytes.len());
            let range = within(range.first)..within(range.end());
            BodyPart::Memory { bytes: Arc::clone(bytes), range }
        }
    }
}

fn text(text: Vec<u8>) -> BodyPart {
    let range = 0..text.len();
    BodyPart::Memory { bytes: text.into(), range }
}
