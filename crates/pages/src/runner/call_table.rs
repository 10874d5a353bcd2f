//! All calls that pages wait for.
//!
//! Owns the table, from which the engine learns them, and the choice of the row. What a row does is said where it
//! stands.

use std::time::Duration;

use script::engine::HostCall;

use super::Runner;
use super::calls::{Caller, PageCall, call};
use super::{fetching, file_wishes, hearing, letters, recording, spawning, talking};
use crate::delivery::WaitOutcome;

/// The rows of every file that has some, in any order.
const FAMILIES: [&[PageCall]; 8] = [
    &[call!("sleep"(time: time) -> Values, "time (sleep)", Any, Runner::sleep)],
    letters::CALLS,
    spawning::CALLS,
    fetching::CALLS,
    hearing::CALLS,
    recording::CALLS,
    file_wishes::CALLS,
    talking::CALLS,
];

const COUNT: usize = {
    let (mut count, mut family) = (0, 0);
    while family < FAMILIES.len() {
        count += FAMILIES[family].len();
        family += 1;
    }
    count
};

/// All rows; a call's number is its place here.
pub(super) static CALLS: [PageCall; COUNT] = {
    let mut all = [FAMILIES[0][0]; COUNT];
    let (mut place, mut family) = (0, 0);
    while family < FAMILIES.len() {
        let mut row = 0;
        while row < FAMILIES[family].len() {
            all[place] = FAMILIES[family][row];
            (place, row) = (place + 1, row + 1);
        }
        family += 1;
    }
    all
};

/// The declarations of the calls, for the engine.
static HOST_CALLS: [HostCall; COUNT] = {
    let mut all = [CALLS[0].host_call(); COUNT];
    let mut place = 0;
    while place < COUNT {
        all[place] = CALLS[place].host_call();
        place += 1;
    }
    all
};

impl Runner {
    /// The declarations of the calls, for the engine.
    pub(super) fn host_calls() -> &'static [HostCall] {
        &HOST_CALLS
    }

    fn sleep(&mut self, caller: &mut Caller<'_>, time: Duration) -> WaitOutcome {
        WaitOutcome::Later { due_ns: caller.after(time) }
    }
}
