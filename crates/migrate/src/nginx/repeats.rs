//! `proxy_next_upstream`: which failures of a server send a request to the next one.
//!
//! Owns the statuses and the number of servers. A request whose connection fails goes on in any case, as far as that
//! does no harm.

use crate::directive::Directive;

/// The most that `retries` can be.
const RETRIES_MAX: u64 = 10;

/// The settings of an upstream by such a directive, in place of those before it. Returns what has no counterpart.
pub(super) fn take(
    directive: &Directive,
    settings: &mut Vec<(&'static str, String)>,
) -> Option<String> {
    if directive.name() == "proxy_next_upstream_tries" {
        // 0: as many as there are servers.
        let tries = directive.argument(0).parse::<u64>().ok().filter(|tries| *tries > 0)?;
        set(settings, "retries", Some((tries - 1).min(RETRIES_MAX).to_string()));
        return None;
    }
    let cases = directive.arguments();
    if cases.iter().any(|case| case == "off") {
        set(settings, "next_on", None);
        set(settings, "retries", Some("0".to_owned()));
        return None;
    }
    let status = |case: &String| case.strip_prefix("http_")?.parse::<u16>().ok();
    // A server that says 403 or 404 has not failed.
    let statuses: Vec<u16> =
        cases.iter().filter_map(status).filter(|status| !matches!(status, 403 | 404)).collect();
    set(settings, "next_on", (!statuses.is_empty()).then(|| format!("{statuses:?}")));
    let left_out = ["http_403", "http_404", "non_idempotent"];
    let left_out = cases.iter().find(|case| left_out.contains(&case.as_str()))?;
    Some(directive.told(&format!("`{left_out}` has no counterpart")))
}

fn set(settings: &mut Vec<(&'static str, String)>, key: &'static str, value: Option<String>) {
    settings.retain(|(known, _)| *known != key);
    settings.extend(value.map(|value| (key, value)));
}
