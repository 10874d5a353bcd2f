//! The output of a page or module, and its answerer.
//!
//! Owns how it is read from the coroutine. Never runs one.

use super::ffi::Coroutine;

/// The author of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Author {
    /// The page or module.
    #[default]
    Page,
    /// The server, with that status: a module has no handler for the request, or returned only an error status.
    Server,
    /// A server of an upstream: [`PageOutput::passed_on`].
    Upstream,
}

/// Where a module has a request go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedOn<'o> {
    /// The name of the upstream.
    pub upstream: &'o str,
    /// The path to ask for, perhaps with a query; `None`: that of the request.
    pub path: Option<&'o str>,
    /// Fields of the request, in place of those of the same name.
    pub fields: Vec<(&'o str, &'o str)>,
}

/// The output of a page. It is reused and keeps its memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageOutput {
    /// The bytes of the body.
    pub body: Vec<u8>,
    /// The status, if the page set one.
    pub status: Option<u16>,
    /// The author of the answer.
    pub author: Author,
    /// Names and values of the fields that the page set, one per line. Neither contains a line end.
    fields: Vec<u8>,
}

impl PageOutput {
    /// The fields that the page set, in no particular order. A value may be any bytes except control characters.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let mut lines = self.fields.split(|byte| *byte == b'\n');
        // Nothing follows the last line end.
        std::iter::from_fn(move || Some((str::from_utf8(lines.next()?).ok()?, lines.next()?)))
    }

    /// Where the request goes on, if a server of an upstream is the author of the answer.
    pub fn passed_on(&self) -> Option<PassedOn<'_>> {
        if self.author != Author::Upstream {
            return None;
        }
        let mut lines = str::from_utf8(&self.body).ok()?.split('\n');
        let upstream = lines.next()?;
        let path = lines.next().filter(|path| !path.is_empty());
        let mut fields = Vec::new();
        while let (Some(name), Some(value)) = (lines.next(), lines.next()) {
            fields.push((name, value));
        }
        Some(PassedOn { upstream, path, fields })
    }

    /// Copies the output of a page: the only copy of it.
    pub(super) fn take(&mut self, coroutine: &Coroutine) {
        self.clear();
        let stack = coroutine.stack();
        self.body.extend_from_slice(stack.lent_bytes_at(2));
        let status = stack.number_at(4) as u16;
        self.status = (status != 0).then_some(status);
        self.author = match stack.number_at(6) {
            1.0 => Author::Server,
            2.0 => Author::Upstream,
            _ => Author::Page,
        };
        if let Some(fields) = stack.bytes_at(5) {
            self.fields.extend_from_slice(fields);
        }
    }

    fn clear(&mut self) {
        self.body.clear();
        self.status = None;
        self.author = Author::default();
        self.fields.clear();
    }
}
