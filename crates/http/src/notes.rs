//! The notes of an application on the request that it answers, for the access log and the times of requests.
//!
//! Owns the room for it, which is used again for each request. Never writes a line, and measures nothing.

/// Notes for the line of one request. They are empty when the application is asked about it, each time anew.
#[derive(Debug, Default)]
pub struct Notes {
    /// The route that answers; empty if there is none.
    pub route: String,
    /// The user who is known; empty if none is.
    pub user: String,
    /// The other servers that have got the request; `None` if it was not passed on.
    pub passed_on: Option<ProxiedNotes>,
    /// Where its time is counted, with a log or without.
    pub timed_as: TimedAs,
    presence: Presence,
}

/// Where the time of a request is counted: numbers that the application gives to what it tells apart. Number 0 is for
/// everything without one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimedAs {
    /// The route.
    pub route: u16,
    /// The page or module that answers; 0: none does.
    pub page: u16,
}

/// How a request went that was passed on to other servers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProxiedNotes {
    /// The name of the upstream that they belong to.
    pub upstream: String,
    /// Their addresses, in the order in which they got it, with `, ` between them; empty if none got it.
    pub addresses: String,
    /// The status with which the last one has answered.
    pub status: Option<u16>,
    /// Milliseconds until the connection to the last one was established; 0 for one that was open.
    pub connect_ms: Option<f64>,
    /// Milliseconds until its answer began, both since it was chosen.
    pub first_byte_ms: Option<f64>,
    /// When it was passed on, on the monotonic clock.
    pub began_ns: u64,
    /// When the answer of the last one had ended; `None`: with the request.
    pub ended_ns: Option<u64>,
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
        self.passed_on = None;
        self.presence = Presence::Line;
    }

    /// Whether notes are of use.
    #[inline]
    pub fn are_wanted(&self) -> bool {
        self.presence == Presence::Line
    }

    /// No line of this request is written.
    pub fn omit_line(&mut self) {
        if self.presence == Presence::Line {
            self.presence = Presence::Omitted;
        }
    }

    /// A line of this request is written, if there is a log: also if another route wanted none.
    #[inline]
    pub fn want_line(&mut self) {
        if self.presence == Presence::Omitted {
            self.presence = Presence::Line;
        }
    }

    /// The notes, if there is a line of the request.
    pub(super) fn take_for_line(&mut self) -> Option<Self> {
        self.are_wanted().then(|| std::mem::take(self))
    }

    pub(super) fn is_omitted(&self) -> bool {
        self.presence == Presence::Omitted
    }
}
