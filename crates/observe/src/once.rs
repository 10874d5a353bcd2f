//! One interval as text or as a JSON document.
//!
//! Owns that text is made harmless for a terminal, and that JSON keeps what the server said, with escapes where a
//! terminal would obey.

use crate::draw::plain;
use crate::figures::{Figures, TakenSnapshot};
use crate::harmless::{clean_snapshot, harmless_json};

/// The activity between two moments, as text of this width.
pub fn text(mut earlier: TakenSnapshot, mut later: TakenSnapshot, columns: usize) -> String {
    clean_snapshot(&mut earlier.snapshot);
    clean_snapshot(&mut later.snapshot);
    plain(&Figures::between(&earlier, &later), columns)
}

/// The activity between two moments, as one JSON document.
pub fn json(earlier: &TakenSnapshot, later: &TakenSnapshot) -> String {
    let figures = Figures::between(earlier, later);
    let json = serde_json::to_string(&figures).expect("keys are texts, and numbers are finite");
    format!("{}\n", harmless_json(&json))
}
