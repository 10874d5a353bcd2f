//! The subscriptions of a session.
//!
//! Owns the lists of channels and patterns. Empty lists take no memory, because most clients of a
//! store subscribe to nothing.

use channels::Subscription;

/// A channel or a pattern, and the place there.
pub(super) type Named = (Box<str>, Subscription);

/// The lists of a session, if it has any.
#[derive(Debug, Default)]
pub(super) struct Listening(Option<Box<Lists>>);

#[derive(Debug, Default)]
struct Lists {
    channels: Vec<Named>,
    patterns: Vec<Named>,
    waiting: Waiting,
}

/// A command to subscribe that waits for other schedulers or for modules.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// How many it had of a kind before the command.
    pub(super) before: Option<usize>,
    /// What modules have said of its channels, in their order.
    pub(super) verdicts: Vec<Result<(), String>>,
}

impl Listening {
    /// Channels.
    pub(super) fn channels(&self) -> &[Named] {
        self.0.as_ref().map_or(&[], |lists| &lists.channels)
    }

    fn patterns(&self) -> &[Named] {
        self.0.as_ref().map_or(&[], |lists| &lists.patterns)
    }

    /// Those that this command is about.
    pub(super) fn of(&self, verb: &str) -> &[Named] {
        if verb == "psubscribe" { self.patterns() } else { self.channels() }
    }

    pub(super) fn of_mut(&mut self, verb: &str) -> &mut Vec<Named> {
        let lists = self.0.get_or_insert_default();
        if verb == "psubscribe" { &mut lists.patterns } else { &mut lists.channels }
    }

    /// Channels, then patterns.
    pub(super) fn all(&self) -> impl Iterator<Item = &Named> {
        self.channels().iter().chain(self.patterns())
    }

    /// How many there are of both.
    pub(super) fn len(&self) -> usize {
        self.channels().len() + self.patterns().len()
    }

    /// The command that waits.
    pub(super) fn waiting(&mut self) -> &mut Waiting {
        &mut self.0.get_or_insert_default().waiting
    }

    /// A command is done: the memory is given back where nothing is left.
    pub(super) fn settle(&mut self) {
        if self.len() == 0 {
            self.0 = None;
        }
    }

    /// All of them, which are no longer here.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Named> {
        let lists = self.0.take().map(|lists| *lists).unwrap_or_default();
        lists.channels.into_iter().chain(lists.patterns)
    }
}
