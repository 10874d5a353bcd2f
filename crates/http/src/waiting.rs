//! How long a request may wait for its application, and whether its answer may be finished.
//!
//! Owns these two answers of an application.

/// How long a request may wait for its application: [`crate::Application::patience`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// As long as the settings say.
    Settings,
    /// As long as the application wants, which has deadlines of its own.
    Endless,
}

/// The news that an application has for a request about which it is not asked for now: the body still arrives, or the
/// client has not taken the last part of the answer. Returned by [`crate::Application::urgency`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// Nothing.
    Nothing,
    /// The answer, or more of it, before the end of the body. The application is asked now, and the body goes on
    /// arriving. The connection ends with such an answer, because the rest of the body may stay unread.
    Answer,
    /// The rest of the answer will not come, and what the client has not taken is not waited for: the connection ends
    /// in a way that shows that the answer is incomplete.
    Cut,
}
