//! The notes of an application on the request that it answers, for the access log.
//!
//! Owns the room for it, which is used again for each request. Never writes a line.

/// Notes for the line of one request. They are empty when the application is asked about it, each time anew.
#[derive(Debug, Default)]
pub struct Notes {
    /// The route that answers; empty if there is none.
    pub route: String,
    /// The user who is known; empty if none is.
    pub user: String,
    /// The other server that has answered; empty if none has.
    pub upstream: String,
    /// Milliseconds that it took.
    pub upstream_ms: Option<f64>,
    presence: Presence,
}

/// Whether there is a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Presence {
    /// There is no log.
    #[default]
    NoLog,
    /// The line is written.
    Line,
    /// The application wants no line of this request.
    Omitted,
}

impl Notes {
    /// Notes of a service that has a log.
    pub(super) fn clear_for_line(&mut self) {
        self.route.clear();
        self.user.clear();
        self.upstream.clear();
        self.upstream_ms = None;
        self.presence = Presence::Line;
    }

    /// Whether notes are of use.
    #[inline]
    #[must_use]
    pub fn are_wanted(&self) -> bool {
        self.presence == Presence::Line
    }

    /// No line of this request is written.
    pub fn omit_line(&mut self) {
        self.presence = Presence::Omitted;
    }

    pub(super) fn is_omitted(&self) -> bool {
        self.presence == Presence::Omitted
    }
}
