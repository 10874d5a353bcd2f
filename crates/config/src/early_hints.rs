//! `early_hints` of a route: links for `103 Early Hints` (RFC 8297).
//!
//! Owns which texts and which routes may have them. Never decides when they are sent.

use wire::http::fields::FieldList;
use wire::http::link::check_link;

use crate::item::Item;
use crate::limits::{EARLY_HINTS_BYTES_MAX, EARLY_HINTS_MAX};
use crate::problem::Problems;
use crate::section::Section;
use crate::value::{cannot_be, text};

/// The actions whose answers may take time; beside `rewrite` it is reported anyway.
const SLOW_ACTIONS: [&str; 4] = ["files", "module", "proxy", "rewrite"];

/// Reads the links of a route with this action.
pub(super) fn read(
    section: &Section<'_>,
    action: Option<&'static str>,
    problems: &mut Problems,
) -> Vec<String> {
    let Some(links) = section.list("early_hints", problems, link) else { return Vec::new() };
    let at = section.item("early_hints").map_or(section.offset(), |item| item.key_offset);
    if let Some(action) = action.filter(|action| !SLOW_ACTIONS.contains(action)) {
        problems.at(
            at,
            format!("`early_hints` beside `{action}` has no effect: its answer is ready at once"),
        );
    }
    let bytes: usize = links.iter().map(String::len).sum();
    if links.len() > EARLY_HINTS_MAX || bytes > EARLY_HINTS_BYTES_MAX {
        let count = links.len();
        problems.at(
            at,
            format!(
                "`early_hints` has {count} links with {bytes} bytes; at most {EARLY_HINTS_MAX} links with \
                 {EARLY_HINTS_BYTES_MAX} bytes are possible"
            ),
        );
    }
    links
}

fn link(item: &Item<'_>) -> Result<String, String> {
    let text = text(item)?;
    match check_link(text.as_bytes()) {
        Ok(()) => Ok(text),
        Err(why) => Err(cannot_be(item, &text, &why.to_string())),
    }
}

/// The fields of checked links.
pub(super) fn fields(links: &[String]) -> FieldList {
    let mut fields = FieldList::new();
    for link in links {
        fields.add("Link", link.as_bytes()).expect("a checked link can be a field");
    }
    fields
}
