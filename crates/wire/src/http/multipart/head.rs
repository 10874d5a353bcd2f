//! The head of a part: its fields, and the names in them.
//!
//! Owns the rules of a part's fields. Only `Content-Disposition` and `Content-Type` mean something (RFC 7578 section
//! 4.8).

use super::parameters::{Parameters, decode, decode_extended, split_value};
use super::{MultipartError, find_head_end};
use crate::limits;

/// The content of a part's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartHead<'b> {
    /// The name of the form field: bytes as the client sent them. Browsers send UTF-8.
    pub name: &'b [u8],
    /// The client's name for the file; `None` if the part is not a file.
    pub file_name: Option<&'b [u8]>,
    /// The media type; empty if none is given.
    pub media_type: &'b [u8],
}

/// The head of a part while it arrives, and then its content.
#[derive(Clone, Debug, Default)]
pub(super) struct Head {
    bytes: Vec<u8>,
    name: Vec<u8>,
    file_name: Vec<u8>,
    media_type: Vec<u8>,
}

impl Head {
    /// Drops the previous head.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.name.clear();
        self.file_name.clear();
        self.media_type.clear();
    }

    /// Takes the bytes of the head from the front of the input; returns how many, and whether the head is complete.
    pub(super) fn take(&mut self, input: &[u8]) -> Result<(usize, bool), MultipartError> {
        let before = self.bytes.len();
        let room = limits::PART_HEAD_SIZE.saturating_sub(before);
        let taken = input.get(..room).unwrap_or(input);
        self.bytes.extend_from_slice(taken);
        let sought_from = before.saturating_sub(3);
        let found = find_head_end(self.bytes.get(sought_from..).unwrap_or_default());
        if let Some(end) = found {
            let end = sought_from + end;
            self.bytes.truncate(end);
            return Ok((end - before, true));
        }
        if self.bytes.len() >= limits::PART_HEAD_SIZE {
            return Err(MultipartError::PartHeadTooLarge);
        }
        Ok((taken.len(), false))
    }

    /// Parses a complete head.
    pub(super) fn read(&mut self) -> Result<PartHead<'_>, MultipartError> {
        let (mut has_disposition, mut has_type) = (false, false);
        let (mut has_name, mut has_file_name) = (false, false);
        let bytes = std::mem::take(&mut self.bytes);
        let fields = bytes.strip_suffix(b"\r\n\r\n").unwrap_or_default();
        for line in Lines(Some(fields)) {
            let (name, value) = field(line)?;
            if name.eq_ignore_ascii_case(b"content-disposition") {
                if std::mem::replace(&mut has_disposition, true) {
                    return Err(MultipartError::InvalidPartHead);
                }
                (has_name, has_file_name) = self.read_disposition(value)?;
            } else if name.eq_ignore_ascii_case(b"content-type") {
                if std::mem::replace(&mut has_type, true) {
                    return Err(MultipartError::InvalidPartHead);
                }
                self.media_type.extend_from_slice(value);
            }
        }
        // Kept for reuse.
        self.bytes = bytes;
        let texts = [&self.name, &self.file_name, &self.media_type];
        if texts.iter().any(|text| text.len() > limits::PART_NAME_SIZE) {
            return Err(MultipartError::NameTooLong);
        }
        if !has_name {
            return Err(MultipartError::UnnamedPart);
        }
        Ok(PartHead {
            name: &self.name,
            file_name: has_file_name.then_some(&self.file_name),
            media_type: &self.media_type,
        })
    }

    /// Returns whether there are a name and a file name. RFC 7578 section 4.2 forbids `filename*`, but some clients
    /// send it instead of `filename`: a file must not become a field then. Beside a `filename` it is ignored.
    fn read_disposition(&mut self, value: &[u8]) -> Result<(bool, bool), MultipartError> {
        let (kind, parameters) = split_value(value);
        if !kind.eq_ignore_ascii_case(b"form-data") {
            return Err(MultipartError::UnnamedPart);
        }
        let (mut has_name, mut has_file_name) = (false, false);
        let mut extended = None;
        for parameter in Parameters::of(parameters) {
            let (name, value) = parameter.ok_or(MultipartError::InvalidPartHead)?;
            let (known, text) = if name.eq_ignore_ascii_case(b"name") {
                (&mut has_name, &mut self.name)
            } else if name.eq_ignore_ascii_case(b"filename") {
                (&mut has_file_name, &mut self.file_name)
            } else if name.eq_ignore_ascii_case(b"filename*") {
                if extended.replace(value).is_some() {
                    return Err(MultipartError::InvalidPartHead);
                }
                continue;
            } else {
                continue;
            };
            if std::mem::replace(known, true) {
                return Err(MultipartError::InvalidPartHead);
            }
            decode(value, text);
        }
        if let Some(value) = extended.filter(|_| !has_file_name) {
            decode_extended(value, &mut self.file_name).ok_or(MultipartError::InvalidPartHead)?;
            has_file_name = true;
        }
        Ok((has_name, has_file_name))
    }
}

/// The lines, split at CR LF.
struct Lines<'b>(Option<&'b [u8]>);

impl<'b> Iterator for Lines<'b> {
    type Item = &'b [u8];

    fn next(&mut self) -> Option<&'b [u8]> {
        let rest = self.0?;
        match memchr::memmem::find(rest, b"\r\n") {
            Some(end) => {
                self.0 = rest.get(end + 2..);
                rest.get(..end)
            }
            None => self.0.take(),
        }
    }
}

/// A field line as name and value. A continuation line has a blank at the beginning of its name.
fn field(line: &[u8]) -> Result<(&[u8], &[u8]), MultipartError> {
    let colon = memchr::memchr(b':', line).ok_or(MultipartError::InvalidPartHead)?;
    let (name, value) = line.split_at(colon);
    let value = value.get(1..).unwrap_or_default().trim_ascii();
    let is_control = |byte: &u8| byte.is_ascii_control() && *byte != b'\t';
    let is_valid = !name.is_empty()
        && name.iter().all(|byte| byte.is_ascii_graphic())
        && !value.iter().any(is_control);
    if is_valid { Ok((name, value)) } else { Err(MultipartError::InvalidPartHead) }
}
