//! Host calls: what pages wait for. The host declares each, the library calls it, and the page is suspended until it
//! is answered.
//!
//! Owns the declaration, and how arguments are read. Never knows what a call does.

use std::time::Duration;

use crate::engine::ffi::Coroutine;
use crate::engine::tag::FIRST_CALL;

/// A call that a host offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostCall {
    /// Its name in pages: `sleep`, or `messages.receive` for a method. For the library that is `host.messages_receive`.
    pub name: &'static str,
    /// How the page gets the answer.
    pub answer: AnswerForm,
    /// The values that it passes to its host.
    pub carries: Carries,
}

/// The values that a page passes to its host with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carries {
    /// [`Arguments`].
    Arguments,
    /// The output so far: a body, a status and fields. They are in the output when the page waits.
    Output,
}

/// How a page gets the answer to a call. Unless said otherwise, a failure is raised where the page waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerForm {
    /// The texts as they are.
    Values = 1,
    /// A text; nothing; or, for a second text, nil and that text.
    ValueOrReason = 2,
    /// `true`; or, for a second text, nil and that text.
    Outcome = 3,
    /// The failure or nil, and the texts: the library's own code reads them.
    AsGiven = 4,
}

/// Where the values begin that follow a tag.
const FIRST_ARGUMENT: i32 = 2;

/// Which of the host's calls a page waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallNumber(u8);

impl CallNumber {
    pub(super) fn of_tag(tag: u8) -> Self {
        Self(tag.checked_sub(FIRST_CALL).expect("the library yields no other tag here"))
    }

    /// The tag of the call at this place among those that the host declares.
    pub(super) fn tag(index: usize) -> f64 {
        (usize::from(FIRST_CALL) + index) as f64
    }

    /// Its place among [`EngineSettings::calls`](crate::engine::EngineSettings::calls).
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// The arguments of a call, read from the first to the last. They lie on the stack of the page, and are copied from
/// there.
pub struct Arguments<'run> {
    coroutine: &'run Coroutine,
    next: i32,
}

impl<'run> Arguments<'run> {
    pub(super) fn of(coroutine: &'run Coroutine) -> Self {
        Self { coroutine, next: FIRST_ARGUMENT }
    }

    fn place(&mut self) -> i32 {
        self.next += 1;
        self.next - 1
    }

    fn amount(&mut self) -> f64 {
        let place = self.place();
        self.coroutine.stack().number_at(place)
    }

    /// Text, which may be any bytes.
    pub fn text(&mut self) -> Vec<u8> {
        self.text_or_none().unwrap_or_default()
    }

    /// Text that may be left out.
    pub fn text_or_none(&mut self) -> Option<Vec<u8>> {
        let place = self.place();
        self.coroutine.stack().bytes_at(place).map(<[u8]>::to_vec)
    }

    /// A number that counts something, or names it.
    pub fn number(&mut self) -> u64 {
        self.amount() as u64
    }

    /// A time in seconds.
    pub fn time(&mut self) -> Duration {
        Duration::try_from_secs_f64(self.amount()).unwrap_or(Duration::MAX)
    }

    /// A time in seconds; none if it is negative.
    pub fn time_or_none(&mut self) -> Option<Duration> {
        let seconds = self.amount();
        (seconds >= 0.0).then(|| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
    }
}
