//! `forward_auth` of a route: the server that is asked whether a request may pass.
//!
//! Owns the keys of that table. `proxy_route` checks that the upstream exists.

use crate::field;
use crate::item::Item;
use crate::key::{SectionKeys, section};
use crate::model::upstream::ForwardAuth;
use crate::problem::Problems;
use crate::section::Section;
use crate::value::{borrowed_text, cannot_be, word};

/// Reads the key.
pub(super) fn read(route: &Section<'_>, problems: &mut Problems) -> Option<ForwardAuth> {
    let table = route.section("forward_auth", &FORWARD_AUTH, problems)?;
    let place = problems.place(table.offset());
    if !table.has("upstream") {
        let told = "`forward_auth` has no `upstream`; write the name of an [[upstream]]";
        problems.at(table.offset(), told);
    }
    let upstream = table.read("upstream", problems, word);
    let mut path = "/".to_owned();
    table.read_into("path", &mut path, problems, target);
    let copy = table.list("copy", problems, field::passed_name).unwrap_or_default();
    Some(ForwardAuth { place, upstream: upstream?, path, copy })
}

/// A path, perhaps with a query, as it stands in a request line.
fn target(item: &Item<'_>) -> Result<String, String> {
    let text = borrowed_text(item, "a path in quotes such as \"/verify\"")?;
    let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#');
    if text.starts_with('/') && is_plain {
        return Ok(text.to_owned());
    }
    Err(cannot_be(item, text, "write a path that begins with \"/\", percent-encoded"))
}

pub(super) static FORWARD_AUTH: SectionKeys = section! {
    "route.forward_auth";
    "upstream": apart("name"), "must be given", Reload,
        "The `name` of the `[[upstream]]` that is asked.";
    "path": apart("path, perhaps with a query"), "`\"/\"`", Reload,
        "The path that is asked for.";
    "copy": apart("list of names"), "none", Reload,
        "Fields of the answer that the request gets, in place of those that the client sent. One that the answer does not have is removed from the request.";
};
