//! `[maintenance]`: what clients get while the site is maintained.
//!
//! Owns the keys of that section. Never knows whether it is being maintained: `velodrome ctl set` and the presence of a
//! file say so.

use wire::network::{Network, NetworkError};

use crate::key::{SectionKeys, section};
use crate::limits::RETRY_AFTER;
use crate::problem::Problems;
use crate::section::Section;
use crate::value::{borrowed_text, cannot_be};

pub(super) static MAINTENANCE: SectionKeys = section! {
    "[maintenance]";
    "file": path(maintenance.file, "path of a file"), "none", Reload,
        "While this file is there, requests are answered with 503, within a second of its coming and going. `velodrome ctl set maintenance on` does the same without a file, until `off` or the end of the server. The page is that of 503 in `[error_pages]`. WebSockets that are open stay open, Redis clients are served.";
    "retry_after": duration(maintenance.retry_after, RETRY_AFTER), default, Live,
        "The `Retry-After` of these answers, in whole seconds.";
    "allow": apart("list of networks"), "none", Reload,
        "Networks of clients that are served as ever: `[\"10.0.0.0/8\"]`.";
};

pub(super) fn allow(section: &Section<'_>, problems: &mut Problems) -> Vec<Network> {
    let networks = section.list("allow", problems, |item| {
        let text = borrowed_text(item, "a network in quotes such as \"10.0.0.0/8\"")?;
        text.parse().map_err(|error: NetworkError| cannot_be(item, text, &error.to_string()))
    });
    networks.unwrap_or_default()
}
