//! The order in which Caddy runs the directives of a block, whatever their order in the file.
//!
//! Owns that list. Never knows what a directive does.

use super::matcher::Matchers;
use crate::directive::Directive;
use crate::word::is_in;

/// The order of directives in a block, as Caddy sorts them.
const ORDER: &str = "
    tracing map vars fs root log_append skip_log log_skip log_name header copy_response_headers
    request_body redir method rewrite uri try_files basicauth forward_auth request_header encode
    push intercept templates invoke handle route abort error respond reverse_proxy php_fastcgi
    file_server
";

/// The directives that answer a request after the blocks of a site.
const ANSWERS: &str = "abort error respond reverse_proxy file_server php_fastcgi";

fn place(name: &str) -> usize {
    let name = match name {
        "basic_auth" => "basicauth",
        // They exclude each other.
        "handle_path" => "handle",
        name => name,
    };
    ORDER.split_ascii_whitespace().position(|known| known == name).unwrap_or(0)
}

/// The directives of a block in Caddy's order; those of one kind with the longest path first, and without one last.
pub(super) fn sorted<'l>(lines: &[&'l Directive], matchers: &Matchers) -> Vec<&'l Directive> {
    let mut sorted = lines.to_vec();
    sorted.sort_by(|one, other| {
        let by_place = place(one.name()).cmp(&place(other.name()));
        by_place.then_with(|| match (matchers.path(one), matchers.path(other)) {
            (Some(a), Some(b)) if a.trim_end_matches('*') == b.trim_end_matches('*') => {
                a.len().cmp(&b.len())
            }
            (Some(a), Some(b)) => b.len().cmp(&a.len()),
            _ => matchers.has(other).cmp(&matchers.has(one)),
        })
    });
    sorted
}

/// Whether requests that a block does not answer may be answered behind it.
pub(super) fn is_answered_behind(lines: &[&Directive]) -> bool {
    lines.iter().any(|line| is_in(ANSWERS, line.name()))
}
