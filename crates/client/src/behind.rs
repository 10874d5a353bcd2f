//! The fields behind the body of a request (RFC 9110, 6.5), and the names by which HTTP/2 announces them.
//!
//! Owns that a request without any costs no memory for them. Never decides whether there is a place for them.

use wire::http::fields::FieldList;

/// The fields behind a body, usually none.
#[derive(Debug, Default)]
pub(crate) struct Behind(Option<Box<Parts>>);

#[derive(Debug, Default)]
struct Parts {
    fields: FieldList,
    declared: Box<[u8]>,
}

impl Behind {
    /// Fields that are not known yet, with a value of `Trailer` for HTTP/2 if it is not in the head for HTTP/1.1.
    pub(crate) fn declared_as(names: Option<Box<[u8]>>) -> Self {
        Self(names.map(|declared| Box::new(Parts { declared, ..Parts::default() })))
    }

    /// These are the fields.
    pub(crate) fn set(&mut self, fields: FieldList) {
        if !fields.is_empty() {
            self.0.get_or_insert_default().fields = fields;
        }
    }

    /// The value of `Trailer` for HTTP/2, if it is not in the head for HTTP/1.1.
    pub(crate) fn declared(&self) -> Option<&[u8]> {
        self.0.as_ref().map(|parts| &*parts.declared).filter(|names| !names.is_empty())
    }

    /// The fields, if there are any.
    pub(crate) fn fields(&self) -> Option<&FieldList> {
        self.0.as_ref().map(|parts| &parts.fields).filter(|fields| !fields.is_empty())
    }
}
