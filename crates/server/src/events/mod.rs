//! The facts of a running server for an operator: the kinds of events, what is found, and the numbers that show it.
//!
//! Owns the kinds ([`Kind`]) with what they mean, and the shapes in which schedulers and helpers tell the control
//! scheduler. `admin/events` judges, numbers and keeps events. Nothing here runs unless it is asked, once a second.

mod kind;
mod vitals;

pub(crate) use kind::Line;
pub use kind::{Kind, Weight};
pub use vitals::{SchedulerBounds, Vitals};

/// Something that was found, before it is an event: it may be one of many of its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// Its kind.
    pub kind: Kind,
    /// The scheduler, if it was one.
    pub scheduler: Option<usize>,
    /// The thing that it is about: of one kind and thing there is one event in a while.
    pub thing: String,
    /// The occurrence, and the remedy: one line.
    pub text: String,
    /// More about its cause.
    pub cause: Vec<String>,
}

impl Trouble {
    /// A trouble without a cause.
    pub fn new(kind: Kind, thing: impl Into<String>, text: impl Into<String>) -> Self {
        let (thing, text) = (thing.into(), text.into());
        Self { kind, scheduler: None, thing, text, cause: Vec::new() }
    }

    /// Of this scheduler.
    #[must_use]
    pub fn at(self, scheduler: usize) -> Self {
        Self { scheduler: Some(scheduler), ..self }
    }

    /// With this cause.
    #[must_use]
    pub fn because(self, cause: Vec<String>) -> Self {
        Self { cause, ..self }
    }
}
