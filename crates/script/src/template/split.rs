//! The first stage: splits a page into text and tags.
//!
//! Owns where tags begin and end. Never looks at the code in them.

use std::ops::Range;

use crate::limits::TAGS_MAX;
use crate::template::error::{TemplateError, TemplateProblem};

/// The kind of a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Code,
    Value,
    RawValue,
    Comment,
}

/// A piece of a page, by its offsets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Text that is printed unchanged.
    Text(Range<usize>),
    Tag(Tag),
}

/// A tag, by its offsets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) kind: Kind,
    /// The position of its `<%`.
    pub(crate) opened_at: usize,
    /// The text between its ends.
    pub(crate) inside: Range<usize>,
}

/// Splits a page.
#[derive(Debug)]
pub(crate) struct Splitter<'a> {
    source: &'a str,
    at: usize,
    tags: usize,
}

impl<'a> Splitter<'a> {
    pub(crate) fn new(source: &'a str) -> Splitter<'a> {
        Splitter { source, at: 0, tags: 0 }
    }

    /// The next piece; `None` at the end of the page.
    pub(crate) fn next_piece(&mut self) -> Result<Option<Piece>, TemplateError> {
        let rest = &self.source[self.at..];
        let start = self.at;
        match rest.find("<%") {
            None if rest.is_empty() => Ok(None),
            None => {
                self.at = self.source.len();
                Ok(Some(Piece::Text(start..self.at)))
            }
            Some(found) if rest[found + 2..].starts_with('%') => {
                let end = start + found + 2;
                self.at = end + 1;
                Ok(Some(Piece::Text(start..end)))
            }
            Some(0) => self.tag().map(|tag| Some(Piece::Tag(tag))),
            Some(found) => {
                self.at = start + found;
                Ok(Some(Piece::Text(start..self.at)))
            }
        }
    }

    /// The tag that begins here.
    fn tag(&mut self) -> Result<Tag, TemplateError> {
        let opened_at = self.at;
        let error = |what| TemplateError::at(self.source.as_bytes(), opened_at, what);
        self.tags += 1;
        if self.tags > TAGS_MAX {
            return Err(error(TemplateProblem::TooManyTags));
        }
        let (kind, mark) = match self.source.as_bytes().get(opened_at + 2) {
            Some(b'=') => (Kind::Value, 1),
            Some(b'-') => (Kind::RawValue, 1),
            Some(b'#') => (Kind::Comment, 1),
            _ => (Kind::Code, 0),
        };
        let start = opened_at + 2 + mark;
        let end = self.closing(start).ok_or_else(|| error(TemplateProblem::UnclosedTag))?;
        let inside = &self.source[start..end];
        let after = &self.source[end + 2..];
        let (inside, line_end) = match inside.strip_suffix('-') {
            Some(shorter) if after.starts_with("\r\n") => (shorter, 2),
            Some(shorter) if after.starts_with('\n') => (shorter, 1),
            Some(shorter) => (shorter, 0),
            None => (inside, 0),
        };
        self.at = end + 2 + line_end;
        Ok(Tag { kind, opened_at, inside: start..start + inside.len() })
    }

    /// The position of the `%>` that ends the tag whose inside begins at `start`.
    fn closing(&self, start: usize) -> Option<usize> {
        let mut from = start;
        loop {
            let found = from + self.source[from..].find("%>")?;
            if !self.source[from..found].ends_with('%') {
                return Some(found);
            }
            from = found + 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces of a page, tags as kind and inside.
    fn pieces(source: &str) -> Vec<(Option<Kind>, &str)> {
        let mut splitter = Splitter::new(source);
        let mut pieces = Vec::new();
        while let Some(piece) = splitter.next_piece().unwrap() {
            pieces.push(match piece {
                Piece::Text(range) => (None, &source[range]),
                Piece::Tag(tag) => (Some(tag.kind), &source[tag.inside]),
            });
        }
        pieces
    }

    #[test]
    fn a_page_is_cut_at_its_tags() {
        assert_eq!(pieces(""), []);
        assert_eq!(pieces("a < b % > c %> <"), [(None, "a < b % > c %> <")]);
        assert_eq!(
            pieces("a<% b %>c<%= d %><%-e%><%# f %>"),
            [
                (None, "a"),
                (Some(Kind::Code), " b "),
                (None, "c"),
                (Some(Kind::Value), " d "),
                (Some(Kind::RawValue), "e"),
                (Some(Kind::Comment), " f "),
            ]
        );
    }

    #[test]
    fn a_doubled_percent_sign_is_no_tag_and_ends_none() {
        assert_eq!(pieces("<%%"), [(None, "<%")]);
        assert_eq!(pieces("<%%>"), [(None, "<%"), (None, ">")]);
        assert_eq!(pieces("<%%%><%%"), [(None, "<%"), (None, "%><%")]);
        assert_eq!(pieces("<<%a%>"), [(None, "<"), (Some(Kind::Code), "a")]);
        assert_eq!(pieces("<% a %%> b %>"), [(Some(Kind::Code), " a %%> b ")]);
        assert_eq!(pieces("<%=%%>%>"), [(Some(Kind::Value), "%%>")]);
        assert_eq!(pieces("<% %%>%%>%>"), [(Some(Kind::Code), " %%>%%>")]);
    }

    #[test]
    fn the_first_end_counts_whatever_it_stands_in() {
        assert_eq!(pieces("<% '%>' %>"), [(Some(Kind::Code), " '"), (None, "' %>")]);
        assert_eq!(pieces("<%# <%= a %> b"), [(Some(Kind::Comment), " <%= a "), (None, " b")]);
    }

    #[test]
    fn a_trimming_end_takes_one_line_end() {
        assert_eq!(pieces("<% a -%>\n\nb"), [(Some(Kind::Code), " a "), (None, "\nb")]);
        assert_eq!(pieces("<% a -%>\r\nb"), [(Some(Kind::Code), " a "), (None, "b")]);
        assert_eq!(pieces("<% a -%> \nb"), [(Some(Kind::Code), " a "), (None, " \nb")]);
        assert_eq!(pieces("<% a -%>\rb"), [(Some(Kind::Code), " a "), (None, "\rb")]);
        assert_eq!(pieces("<%#-%>\n"), [(Some(Kind::Comment), "")]);
        assert_eq!(pieces("<%- a -%>"), [(Some(Kind::RawValue), " a ")]);
        // The beginning is greedy: this is a raw value without a value, not a trimming end.
        assert_eq!(pieces("<%-%>\n"), [(Some(Kind::RawValue), ""), (None, "\n")]);
    }

    #[test]
    fn a_tag_without_end_is_an_error_at_its_beginning() {
        for source in ["a\n <%", "a\n <%= b", "a\n <% %%>", "a\n <%#%", "a\n <%=%"] {
            let mut splitter = Splitter::new(source);
            splitter.next_piece().unwrap();
            let error = splitter.next_piece().unwrap_err();
            let expected = TemplateError { line: 2, column: 2, what: TemplateProblem::UnclosedTag };
            assert_eq!(error, expected, "{source}");
        }
    }

    #[test]
    fn the_number_of_tags_is_bounded() {
        let last = |source: &str| {
            let mut splitter = Splitter::new(source);
            loop {
                match splitter.next_piece() {
                    Ok(Some(_)) => {}
                    end => return end,
                }
            }
        };
        assert_eq!(last(&"<% %>".repeat(TAGS_MAX)), Ok(None));
        let error = last(&"<% %>".repeat(TAGS_MAX + 1)).unwrap_err();
        assert_eq!(error.what, TemplateProblem::TooManyTags);
        assert_eq!(error.column, u32::try_from(TAGS_MAX * 5 + 1).unwrap());
    }
}
