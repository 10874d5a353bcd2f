//! `proxy` of a route: the name of an upstream, or a table with what changes on the way.
//!
//! Owns the keys of that table, and that the upstream exists. Never reads an upstream.

use toml::de::DeValue;
use wire::http::url::Authority;

use crate::field;
use crate::item::Item;
use crate::key::{SectionKeys, section};
use crate::model::config::Config;
use crate::model::header::{Header, HeaderEdits};
use crate::model::route::RouteAction;
use crate::model::upstream::{ProxiedPath, ProxyRoute};
use crate::problem::Problems;
use crate::section::Section;
use crate::upstream::error_status;
use crate::value::{boolean, word};
use crate::wording::{enumerate, nearest, shown};

/// Reads the key.
pub(super) fn read(route: &Section<'_>, problems: &mut Problems) -> Option<ProxyRoute> {
    let item = route.item("proxy")?;
    let place = problems.place(item.offset);
    let plain = |upstream| ProxyRoute {
        place,
        upstream,
        path: ProxiedPath::Whole,
        cached: true,
        request_headers: HeaderEdits::default(),
        response_headers: HeaderEdits::default(),
        intercept_errors: Vec::new(),
        upgrade: vec!["websocket".to_owned()],
    };
    if !matches!(item.value, DeValue::Table(_)) {
        let wanted = "the name of an [[upstream]], or a table with `upstream`";
        return route
            .read("proxy", problems, |item| match item.value {
                DeValue::String(_) => word(item),
                _ => Err(item.wrong_type(wanted)),
            })
            .map(plain);
    }
    let table = route.section("proxy", &PROXY, problems)?;
    if !table.has("upstream") {
        problems.at(table.offset(), "`proxy` has no `upstream`; write the name of an [[upstream]]");
    }
    let upstream = table.read("upstream", problems, word);
    let strips = table.read("strip_prefix", problems, boolean).unwrap_or_default();
    if let (Some(item), true, false) = (table.item("strip_prefix"), strips, route.has("prefix")) {
        problems.at(item.key_offset, "`strip_prefix` needs a route with `prefix`");
    }
    let cached = table.read("cache", problems, boolean).unwrap_or(true);
    let mut request_headers =
        edits(&table, ("request_headers", "remove_request_headers"), problems);
    if let (Err(why), Some(item)) =
        (request_headers.read_variables(), table.item("request_headers"))
    {
        problems.at(item.offset, why);
    }
    let of_one = request_headers.variable.iter().find(|header| !header.is_of_uri());
    if let (Some(header), Some(item), true) = (of_one, table.item("cache"), cached) {
        let why = format!(
            "`cache` cannot be on with `{}` of `request_headers`, whose value is that of one request: its \
             answers are not for others",
            header.name
        );
        problems.at(item.key_offset, why);
    }
    // The answer to a request with such a value is not for others.
    let cached = cached && of_one.is_none();
    check_host(&table, &request_headers, problems);
    let response_headers = edits(&table, ("response_headers", "remove_response_headers"), problems);
    let intercept_errors = table.list("intercept_errors", problems, error_status);
    let intercept_errors = intercept_errors.unwrap_or_default();
    let path = if strips { ProxiedPath::Rest } else { ProxiedPath::Whole };
    let upgrade = table.list("upgrade", problems, protocol);
    let plain = plain(upstream?);
    let upgrade = upgrade.unwrap_or_else(|| plain.upgrade.clone());
    Some(ProxyRoute {
        path,
        cached,
        request_headers,
        response_headers,
        intercept_errors,
        upgrade,
        ..plain
    })
}

/// The name of a protocol, in lower case. Another version of HTTP, or TLS, could carry requests that nobody looks at.
fn protocol(item: &Item<'_>) -> Result<String, String> {
    let name = word(item)?.to_ascii_lowercase();
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._+".contains(&byte)) {
        return Err(format!(
            "\"{}\" is not the name of a protocol, such as \"websocket\"",
            shown(&name)
        ));
    }
    if name.starts_with("http") || name.starts_with("tls") || ["h2", "h2c", "h3"].contains(&&*name)
    {
        return Err(format!(
            "\"{name}\" is not passed on: requests in it would bypass the routes, access and limits of this \
             server"
        ));
    }
    Ok(name)
}

fn edits(
    table: &Section<'_>,
    (set_key, remove): (&'static str, &'static str),
    problems: &mut Problems,
) -> HeaderEdits {
    let set = field::passed(table, set_key, problems);
    let removed = table.list(remove, problems, field::passed_name).unwrap_or_default();
    let of_set = |name: &String| set.iter().any(|header| header.name.eq_ignore_ascii_case(name));
    if let (Some(name), Some(item)) = (removed.iter().find(|name| of_set(name)), table.item(remove))
    {
        let why = format!(
            "`{remove}` has `{name}`, which `{set_key}` sets; a field that is set replaces all others"
        );
        problems.at(item.offset, why);
    }
    HeaderEdits { set, variable: Vec::new(), remove: removed }
}

/// A request without a valid `Host` is refused by every server (RFC 9112 section 3.2).
fn check_host(table: &Section<'_>, edits: &HeaderEdits, problems: &mut Problems) {
    if let (Some(item), true) =
        (table.item("remove_request_headers"), edits.remove.iter().any(|name| name == "host"))
    {
        let why = "every request needs `Host`; set another one in `request_headers`";
        problems.at(item.offset, why);
    }
    let is_host = |header: &&Header| header.name.eq_ignore_ascii_case("host");
    let Some(host) = edits.set.iter().find(is_host) else { return };
    if let Err(why) = Authority::parse(&host.value) {
        let at = table.item("request_headers").map_or(table.offset(), |item| item.offset);
        let value = shown(&host.value);
        problems.at(
            at,
            format!("`Host` cannot be \"{value}\": {why}; write a name such as \"app.internal\""),
        );
    }
}

/// Every upstream that a route names exists.
pub(super) fn check(config: &Config, problems: &mut Problems) {
    let names: Vec<&str> = config.upstreams.iter().map(|upstream| &*upstream.name).collect();
    let hosts = std::iter::once(&config.default_host).chain(&config.hosts);
    let named = hosts.flat_map(|host| &host.routes).flat_map(|route| {
        let proxied = match &route.action {
            RouteAction::Proxy(proxy) => Some((&*proxy.upstream, proxy.place)),
            _ => None,
        };
        let asked = route.forward_auth.as_ref().map(|asked| (&*asked.upstream, asked.place));
        proxied.into_iter().chain(asked)
    });
    for (name, place) in named.filter(|(name, _)| !names.contains(name)) {
        let hint = match nearest(name, &names) {
            Some(meant) => format!("did you mean \"{meant}\"?"),
            None if names.is_empty() => {
                format!("add an [[upstream]] with name = \"{}\"", shown(name))
            }
            None => format!("known are {}", enumerate(&names, '"')),
        };
        let told = format!("there is no [[upstream]] with the name \"{}\"; {hint}", shown(name));
        problems.add(Some(place), told);
    }
}

pub(super) static PROXY: SectionKeys = section! {
    "route.proxy";
    "upstream": apart("name"), "must be given", Reload,
        "The `name` of an `[[upstream]]`. `proxy = \"api\"` is short for `proxy = { upstream = \"api\" }`.";
    "strip_prefix": apart("true or false"), "`false`", Reload,
        "Removes the `prefix` of the route from the path: with `prefix = \"/api\"`, a request for `/api/users` reaches the server as `/users`. For other changes of a path put a `rewrite` before the route.";
    "cache": apart("true or false"), "`true`", Reload,
        "Whether the `cache` of the upstream is used, if it has one.";
    "request_headers": section("table of fields"), "none", Reload,
        "Fields set in the request, in place of those of the same name. `Host` is that of the client unless it is set here. `$peer`, `$host`, `$scheme`, `$request_id`, `$user`, `$tls`, `$tls_client_subject`, `$tls_client_issuer` and `$tls_client_fingerprint` are values of the request, with the meaning of the [field of a log line](#fields-of-a-log-line); `$$` is a dollar sign. A field is not sent, and what the client has sent by that name neither, if the request has no such value. With one of them but `$host` and `$scheme` the `cache` of the upstream is not used.";
    "remove_request_headers": apart("list of names"), "none", Reload,
        "Fields of the request that the server does not get.";
    "response_headers": section("table of fields"), "none", Reload,
        "Fields set in the answer, in place of those of the same name. The fields of `headers` are added only where the answer has none of that name.";
    "remove_response_headers": apart("list of names"), "none", Reload,
        "Fields of the answer that the client does not get.";
    "intercept_errors": apart("list of statuses, 400 to 599"), "none", Reload,
        "In place of an answer with one of these statuses the client gets the [error page](#top-level) of that status, as with `proxy_intercept_errors` of nginx. `Allow`, `Retry-After` and `WWW-Authenticate` of the answer are kept.";
    "upgrade": apart("list of protocols"), "`[\"websocket\"]`", Reload,
        "Protocols to which a client and a server may change their connection with `Upgrade`; others are not offered to the server. Versions of HTTP and TLS are refused here, because requests in them would bypass routes, access and limits. An empty list passes none.";
};
