//! The keys of `[[route]]` and `[[host.route]]`, and of the tables of their actions.
//!
//! Owns the rows. `routes` reads them, because the meaning of one depends on others.

use super::access::ACCESS_OF_PART;
use super::key::{ConfigKey, SectionKeys, rows, section};

static SHARED: &[ConfigKey] = rows! {
    "path": apart("path of a request"), "none", Reload,
        "Matches only this path.";
    "prefix": apart("path of a request"), "none", Reload,
        "Matches this path and everything below it. `/a/` matches `/a/` and `/a/b`; `/a` matches `/a`, `/a/` and `/a/b`, but not `/ab`.";
    "glob": apart("pattern"), "none", Reload,
        "Matches a pattern: `*` matches any characters within a segment, including none; `**` matches any number of whole segments, at the end at least one. `/img/*.png`, `/docs/**`, `/**/*.css`. At most 9 wildcards.";
    "methods": apart("list of methods"), "all", Reload,
        "Matches only these methods; GET includes HEAD. If routes match the path but none the method, the answer is 405 with the methods they match.";
    "when": section("table, see below"), "always", Reload,
        "Matches only requests that meet all of these conditions.";
    "files": section("table, see below"), "none", Reload,
        "Serves files.";
    "redirect": section("table, see below"), "none", Reload,
        "Redirects the client.";
    "rewrite": section("table, see below"), "none", Reload,
        "Continues with another path and the routes after this one. At most 8 times per request, then 500.";
    "respond": section("table, see below"), "none", Reload,
        "Answers with fixed text.";
    "json": apart("any value"), "none", Reload,
        "Answers 200 with the value as JSON, keys in the order of the file.";
    "module": apart("name"), "none", Reload,
        "Answers with an [app module](modules.md): `\"api\"` is `app/api.lua`, `\"shop.basket\"` is `app/shop/basket.lua`. Its own routes match the part of the path after `prefix`.";
    "map": apart("path of a file"), "none", Reload,
        "Redirects the paths of a file: rows `from,to` or `from,to,status`, up to 1,000,000, of which any number takes the same time. `from` is a path, perhaps with a query, which is compared first; `to` a path or a URL; the status is 302 unless it is given. Paths that the file does not have go on to the routes after this one. It is read at the start and with each reload.";
    "drop": apart("true"), "none", Reload,
        "Closes the connection without an answer, as nginx does for its status 444, which the access log has.";
    "proxy": section("name of an upstream, or table, see below"), "none", Reload,
        "Lets a server of an [`[[upstream]]`](proxy.md) answer: `\"api\"` is the one with `name = \"api\"`.";
    "headers": section("table of fields"), "none", Reload,
        "Header fields added to the answers.";
    "body_size": apart("size"), "that of `[limits]`", Reload,
        "The largest request body, that of a form with files included; 413 above.";
    "cache_control": apart("text"), "none", Reload,
        "The Cache-Control of the answers. For files it takes precedence over `[[files.cache_control]]`. Neither applies to pages, which set their own.";
    const ACCESS_OF_PART;
    "forward_auth": section("table, see below"), "none", Reload,
        "Asks a [server](proxy.md#asking-a-server-first) whether the request may pass, before anything answers it.";
    "log": apart("true or false"), "`true`", Reload,
        "Whether requests are in the access log.";
};

pub(super) static ROUTE: SectionKeys = section! {
    "[[route]]", SHARED of "[[route]]";
    "host": apart("name"), "all", Reload,
        "Matches only requests for this host name; `*.` as for a host. Only for names without a `[[host]]`.";
};

pub(super) static HOST_ROUTE: SectionKeys = section! {
    "[[host.route]]", SHARED of "[[route]]";
};

pub(super) static REDIRECT: SectionKeys = section! {
    "route.redirect";
    "to": apart("text"), "must be given", Reload,
        "The target: a path, or `https://` and a host. Variables: `$path` is the path of the request, `$query` its query with the `?` (empty without a query), `$host` its host without the port, `$scheme` is `http` or `https`, `$1` to `$9` are the matches of the wildcards of `glob`, `$1` is the part after `prefix`, `$$` is a dollar sign. Values from the request are percent-encoded and cannot lead to another host; `$host` leads to the one that the client named, so routes with it belong into a `[[host]]`. Without a usable `Host` the answer is 400.";
    "status": apart("301, 302, 303, 307 or 308"), "`302`", Reload,
        "Clients cache 301 and 308 permanently; 307 and 308 keep the method.";
};

pub(super) static REWRITE: SectionKeys = section! {
    "route.rewrite";
    "to": apart("text"), "must be given", Reload,
        "The new path, with `$path` and `$1` to `$9` as in a redirect. The query is kept.";
};

pub(super) static RESPOND: SectionKeys = section! {
    "route.respond";
    "status": apart("200 to 299 but 206, 400 to 599 but 416"), "`200`", Reload,
        "The status.";
    "body": apart("text"), "`\"\"`", Reload,
        "The body.";
    "content_type": apart("media type"), "`\"text/plain; charset=utf-8\"`", Reload,
        "The Content-Type.";
};
