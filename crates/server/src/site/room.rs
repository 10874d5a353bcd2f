//! How much of the body of a request to a page is accepted.
//!
//! Owns the limits of one body, from its route until it begins to arrive. Never receives it.

use config::route::FoundRoute;
use http::BodyPolicy;
use pages::uploads::FileAcceptance;
use wire::http::head::Framing;

/// The limits of a body.
#[derive(Debug)]
pub(super) struct Room {
    /// Of a body that is collected, and of the fields and names of a form.
    body: u64,
    /// Of a form with files.
    form: u64,
    files: FileAcceptance,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyKind {
    /// No form that may have files.
    Plain,
    /// Such a form, on a server without upload helpers.
    Form,
    /// Such a form, whose files can be stored.
    StorableForm,
}

impl Room {
    /// The limits of this route.
    pub(super) fn of(found: &FoundRoute<'_>, files: FileAcceptance) -> Self {
        Self { body: found.terms.body_size, form: found.terms.form_size, files }
    }

    /// How to handle a body of this kind.
    pub(super) fn policy(&self, kind: BodyKind, framing: Framing) -> BodyPolicy {
        let takes_files = kind == BodyKind::StorableForm && self.files == FileAcceptance::Taken;
        let most = if takes_files { self.form } else { self.body };
        match framing {
            // It is refused as by its host, which accepts no body.
            Framing::Length(size) if size > most.max(self.body) => BodyPolicy::Ignore,
            _ if kind == BodyKind::Plain => BodyPolicy::Collect { limit: self.body },
            _ => BodyPolicy::Stream { limit: most },
        }
    }

    /// Whether the files of a form are taken, and how many bytes its fields may have.
    pub(super) fn of_form(&self) -> (FileAcceptance, u64) {
        (self.files, self.body)
    }
}
