//! The dashboard: a page for browsers that shows what the server does, and the event streams that it reads.
//!
//! Owns the page, which holds no secret and is therefore for everybody who reaches the listener, and what a browser
//! allows it: its own style and script by their hashes, and requests to its own origin. Everything that it shows comes
//! from requests with a key.

mod streams;

use base64::prelude::{BASE64_STANDARD, Engine};
use http::{Reply, Request};
use sha2::{Digest, Sha256};
use wire::http::method::Method;
use wire::http::status::Status;

pub(super) use streams::{Streams, Turn};

/// Where it is.
const PATH: &str = "/_velodrome/";

/// The event stream of snapshots.
pub(super) const EVENTS_PATH: &str = "/_velodrome/events";

const PAGE: &str = include_str!("page/dashboard.html");

const STYLE: &str = include_str!("page/style.css");

/// One script: a module of several files, in an order in which everything is known before it is used.
const SCRIPT: &str = concat!(
    include_str!("page/values.js"),
    include_str!("page/history.js"),
    include_str!("page/canvas.js"),
    include_str!("page/lines.js"),
    include_str!("page/heat.js"),
    include_str!("page/lanes.js"),
    include_str!("page/table.js"),
    include_str!("page/events.js"),
    include_str!("page/follow.js"),
    include_str!("page/details.js"),
    include_str!("page/trace.js"),
    include_str!("page/flames.js"),
    include_str!("page/main.js"),
);

/// Whether a request is for the page, perhaps without the slash at its end.
pub(super) fn is_asked_for(request: &Request<'_>) -> bool {
    let path = request.path();
    matches!(request.method(), Method::Get | Method::Head)
        && (path == PATH || path == PATH.trim_end_matches('/'))
}

/// Sends the page, or leads to it.
pub(super) fn show(request: &Request<'_>, reply: &mut Reply<'_>) {
    if request.path() != PATH {
        reply.begin(Status::PERMANENT_REDIRECT);
        let _valid = reply.field("Location", PATH.as_bytes());
        return reply.end_head_with_length(0);
    }
    let page = PAGE.replacen("{style}", STYLE, 1).replacen("{script}", SCRIPT, 1);
    reply.begin(Status::OK);
    for (name, value) in [
        ("Content-Type", "text/html; charset=utf-8"),
        // Another version of the server has another page.
        ("Cache-Control", "no-store"),
        ("Content-Security-Policy", &policy()),
        ("X-Frame-Options", "DENY"),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
    ] {
        let _valid = reply.field(name, value.as_bytes());
    }
    reply.end_head_with_length(page.len() as u64);
    reply.body(page.as_bytes());
}

/// The page has no place for text of the server that a browser would read as HTML (`require-trusted-types-for`), and
/// cannot be shown inside another page, which could make somebody click in it.
fn policy() -> String {
    let hash = |text: &str| BASE64_STANDARD.encode(Sha256::digest(text));
    format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data:; connect-src \
         'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for \
         'script'",
        hash(SCRIPT),
        hash(STYLE),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words that would make the page ask somewhere else, or read text as HTML or code.
    const STRANGE: [&str; 12] = [
        "http://",
        "https://",
        "//cdn",
        "url(",
        "@import",
        "innerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
        "EventSource(",
        "WebSocket(",
    ];

    #[test]
    fn the_page_asks_nothing_of_others() {
        for (name, text) in [("page", PAGE), ("style", STYLE), ("script", SCRIPT)] {
            // A namespace is a name, which nobody asks for.
            let text = text.replace("http://www.w3.org/2000/svg", "");
            for strange in STRANGE {
                assert!(!text.contains(strange), "the {name} has `{strange}`");
            }
        }
    }

    /// The page knows the lists that there are.
    #[test]
    fn the_page_has_a_tab_for_each_list() {
        let names = ::live::List::ALL.map(|list| format!("\"{}\"", list.name())).join(", ");
        let (_, rest) = SCRIPT.split_once("const LISTS = [").unwrap();
        let (lists, _) = rest.split_once(']').unwrap();
        assert_eq!(lists.split_whitespace().collect::<Vec<_>>().join(" "), names);
    }

    /// The page knows what can be traced.
    #[test]
    fn the_page_can_trace_all_there_is() {
        let (_, rest) = SCRIPT.split_once("const TRACED = [").unwrap();
        let (traced, _) = rest.split_once("]]").unwrap();
        for (name, _) in runtime::trace::TracedKind::ALL {
            assert!(traced.contains(&format!("[\"{name}\", ")), "{name} in {traced}");
        }
    }

    #[test]
    fn style_and_script_are_whole_elements() {
        assert!(
            PAGE.contains("<style>{style}</style>")
                && PAGE.contains("<script type=\"module\">{script}</script>")
        );
        // The hashes are of everything between the tags.
        assert!(!STYLE.contains("{script}") && !STYLE.contains("</") && !SCRIPT.contains("</"));
        assert!(!PAGE.contains(" style=") && !PAGE.contains(" onclick="));
    }
}
