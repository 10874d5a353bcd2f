//! How the servers of an upstream are asked whether they are well: `check` and the keys that go with it.
//!
//! Owns how they combine; their rows are in `upstream`. Never asks a server.

use crate::limits;
use crate::model::upstream::ActiveCheck;
use crate::problem::Problems;
use crate::section::Section;
use crate::value::{borrowed_text, cannot_be, deadline, duration_within, whole, word};

pub(super) fn read(section: &Section<'_>, problems: &mut Problems) -> Option<ActiveCheck> {
    let path = section.read("check", problems, |item| {
        let path = borrowed_text(item, "a path in quotes that begins with \"/\"")?;
        let is_target = path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic());
        let why = "write a path such as \"/health\", percent-encoded";
        if is_target { Ok(path.to_owned()) } else { Err(cannot_be(item, path, why)) }
    });
    let (mut interval, mut timeout) = (limits::CHECK_INTERVAL, limits::CHECK_TIMEOUT);
    section.read_into("check_interval", &mut interval, problems, |item| {
        duration_within(item, limits::CHECK_INTERVALS)
    });
    section.read_into("check_timeout", &mut timeout, problems, deadline);
    let status = section.read("check_status", problems, |item| whole(item, 200..=599));
    let status = status.and_then(|status| u16::try_from(status).ok());
    let body = section.read("check_body", problems, word);
    for key in ["check_interval", "check_timeout", "check_status", "check_body"] {
        if let (Some(item), false) = (section.item(key), section.has("check")) {
            problems.at(item.key_offset, format!("`{key}` needs `check`: the path to request"));
        }
    }
    Some(ActiveCheck { path: path?, interval, timeout, status, body })
}
