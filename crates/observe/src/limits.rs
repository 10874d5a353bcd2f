//! Every limit of the screens: number, unit and consequence.

use std::time::Duration;

/// Bytes of answers (as JSON) that are kept to compare with. Beyond: the oldest are forgotten before they are a minute
/// old, and the screen says how old the one is that it compares with.
pub const HISTORY_BYTES: usize = 32 * 1024 * 1024;

/// How long answers are kept to compare with. Beyond: they are forgotten.
pub const HISTORY: Duration = Duration::from_secs(60);

/// Characters of a filter. Beyond: what is typed is ignored.
pub const FILTER_CHARACTERS: usize = 64;

/// Characters of one text of the server that are shown, so that no name fills the screen. Beyond: the rest is `…`.
pub const TEXT_CHARACTERS: usize = 512;

/// Rows of a list that are asked for by a screen. Beyond: the server leaves out the smallest, and the screen says how
/// many.
pub const ROWS: usize = 200;

/// Rows of a list that can be asked for. Beyond: the server refuses, so the command line does.
pub const ROWS_MAX: usize = 1_000;

/// The shortest time between two requests to the server. Below: the command line refuses it, because the answers would
/// cost the server more than they show.
pub const INTERVAL_MIN: Duration = Duration::from_millis(100);

/// The longest time between two requests to the server. Beyond: the command line refuses it, because nothing could be
/// compared with.
pub const INTERVAL_MAX: Duration = Duration::from_secs(30);
