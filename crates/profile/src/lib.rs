//! A profile of a running program: where its time goes, in the program and in the kernel.
//!
//! [`Sampling`] takes stacks of all threads of a process; [`name`] gives their frames names; [`Folded`] counts equal stacks; [`flame_graph`] draws them,
//! and [`table`] lists the frames that cost most. The kernel's own marks tell its frames from those of the program, never their names.

mod fold;
mod graph;
mod hints;
pub mod limits;
mod record;
mod sampling;
mod symbols;
mod table;

pub use fold::{Folded, Frame, Mode};
pub use graph::flame_graph;
pub use hints::{Hint, hints};
pub use record::Stack;
pub use sampling::{Sampling, Taken};
pub use symbols::name;
pub use table::table;
