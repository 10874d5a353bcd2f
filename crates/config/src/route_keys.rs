//! The keys of `[[route]]` and `[[host.route]]`, and of the tables of their actions.
//!
//! Owns the rows. `routes` reads them, because the meaning of one depends on others.

use super::access::ACCESS_OF_PART;
use super::key::{Absent, ChangeEffect, ConfigKey, SectionKeys, Value};

static SHARED: &[ConfigKey] = &[
    ConfigKey {
        name: "path",
        value: Value::Apart { takes: "path of a request" },
        absent: Absent::Words("none"),
        change: ChangeEffect::Reload,
        text: "Matches only this path.",
    },
    ConfigKey {
        name: "prefix",
        value: Value::Apart { takes: "path of a request" },
        absent: Absent::Words("none"),
        change: ChangeEffect::Reload,
        text: "Matches this path and everything below it. `/a/` matches `/a/` and `/a/b`; `/a` matches `/a`, `/a/` and `/a/b`, but not `/ab`.",
    },
    ConfigKey {
        name: "glob",
        value: Value::Apart { takes: "pattern" },
        absent: Absent::Words("none"),
        change: ChangeEffect::Reload,
        text: "Matches a pattern: `*` matches any characters within a segment, including none; `**` matches any number of whole segments, at the end at least one. `/img/*.png`, `/docs/**`, `/**/*.css`. At most 9 wildcards.",
    },
    ConfigKey {
        name: "methods",
        value: Value::Apart { takes: "list of methods" },
        absent: Absent::Words("all"),
        change: ChangeEffect::Reload,
        text: "Matches only these methods; GET includes HEAD. If routes match the path but none the method, the answer is 405 with the methods they match.",
    },
    ConfigKey {
        name: "when",
        value: Value::Section { takes: "table, see below" },
        absent: Absent::Words("always"),
        change: ChangeEffect::Reload,
        text: "Matches only requests that meet all of these conditions.",
    },
    ConfigKey {
        name: "files",
        value: Value::Section { takes: "table, see below" },
        absent: Absent::Words("none"),
        change: ChangeEffect::Reload,
        text: "Serves files.",
    },
    ConfigKey {
        name: "redirect",
        value: Value::Section { takes: "table, see below" },
        absent: Absent::Words("none"),
        change: ChangeEffect::Reload,
        text: "Redirects the client.",
    },
    ConfigKey {
        name: "rewrite",
        value: Value::Section { takes: "table, see below" },
        absent: Absent::Words("none"),
        change: ChangeEffect::Reload,
        text: "Continues with another path and the routes after this one. At most 8 times per request, then 500.",
    },
    ConfigKey {
        name: "respond",
        value: Value::Section { takes: "table, see below" },
        absent: Absent::Words("none"),
        change: ChangeEffect::Reload,
        text: "Answers with fixed text.",
    },
    ConfigKey {
        name: "json",
        value: Value::Apart { takes: "any value" },
        absent: Absent::Words("none"),
        change: ChangeEffect::Reload,
        text: "Answers 200 with the value as JSON, keys in the order of the file.",
    },
    ConfigKey {
        name: "module",
        value: Value::Apart { takes: "name" },
        absent: Absent::Words("none"),
        change: ChangeEffect::Reload,
        text: "Answers with an [app module](modules.md): `\"api\"` is `app/api.lua`, `\"shop.basket\"` is `app/shop/basket.lua`. Its own routes match the part of the path after `prefix`.",
    },
    ConfigKey {
        name: "map",
        value: Value::Apart { takes: "path of a file" },
        absent: Absent::Words("none"),
        change: ChangeEffect::Reload,
        text: "Redirects the paths of a file: rows `from,to` or `from,to,status`, up to 1,000,000, of which any number takes the same time. `from` is a path, perhaps with a query, which is compared first; `to` a path or a URL; the status is 302 unless it is given. Paths that the file does not have go on to the routes after this one. It is read at the start and with each reload.",
    },
    ConfigKey {
        name: "drop",
        value: Value::Apart { takes: "true" },
        absent: Absent::Words("none"),
        change: ChangeEffect::Reload,
        text: "Closes the connection without an answer, as nginx does for its status 444, which the access log has.",
    },
    ConfigKey {
        name: "proxy",
        value: Value::Section { takes: "name of an upstream, or table, see below" },
        absent: Absent::Words("none"),
        change: ChangeEffect::Reload,
        text: "Lets a server of an [`[[upstream]]`](proxy.md) answer: `\"api\"` is the one with `name = \"api\"`.",
    },
    ConfigKey {
        name: "headers",
        value: Value::Section { takes: "table of fields" },
        absent: Absent::Words("none"),
        change: ChangeEffect::Reload,
        text: "Header fields added to the answers.",
    },
    ConfigKey {
        name: "body_size",
        value: Value::Apart { takes: "size" },
        absent: Absent::Words("that of `[limits]`"),
        change: ChangeEffect::Reload,
        text: "The largest request body, that of a form with files included; 413 above.",
    },
    ConfigKey {
        name: "cache_control",
        value: Value::Apart { takes: "text" },
        absent: Absent::Words("none"),
        change: ChangeEffect::Reload,
        text: "The Cache-Control of the answers. For files it takes precedence over `[[files.cache_control]]`. Neither applies to pages, which set their own.",
    },
    ACCESS_OF_PART,
    ConfigKey {
        name: "forward_auth",
        value: Value::Section { takes: "table, see below" },
        absent: Absent::Words("none"),
        change: ChangeEffect::Reload,
        text: "Asks a [server](proxy.md#asking-a-server-first) whether the request may pass, before anything answers it.",
    },
    ConfigKey {
        name: "log",
        value: Value::Apart { takes: "true or false" },
        absent: Absent::Words("`true`"),
        change: ChangeEffect::Reload,
        text: "Whether requests are in the access log.",
    },
];

pub(super) static ROUTE: SectionKeys = SectionKeys {
    name: "[[route]]",
    own: &[ConfigKey {
        name: "host",
        value: Value::Apart { takes: "name" },
        absent: Absent::Words("all"),
        change: ChangeEffect::Reload,
        text: "Matches only requests for this host name; `*.` as for a host. Only for names without a `[[host]]`.",
    }],
    shared: SHARED,
    shared_in: "[[route]]",
};

pub(super) static HOST_ROUTE: SectionKeys =
    SectionKeys { name: "[[host.route]]", own: &[], shared: SHARED, shared_in: "[[route]]" };

pub(super) static REDIRECT: SectionKeys = SectionKeys {
    name: "route.redirect",
    own: &[
        ConfigKey {
            name: "to",
            value: Value::Apart { takes: "text" },
            absent: Absent::Words("must be given"),
            change: ChangeEffect::Reload,
            text: "The target: a path, or `https://` and a host. Variables: `$path` is the path of the request, `$query` its query with the `?` (empty without a query), `$host` its host without the port, `$scheme` is `http` or `https`, `$1` to `$9` are the matches of the wildcards of `glob`, `$1` is the part after `prefix`, `$$` is a dollar sign. Values from the request are percent-encoded and cannot lead to another host; `$host` leads to the one that the client named, so routes with it belong into a `[[host]]`. Without a usable `Host` the answer is 400.",
        },
        ConfigKey {
            name: "status",
            value: Value::Apart { takes: "301, 302, 303, 307 or 308" },
            absent: Absent::Words("`302`"),
            change: ChangeEffect::Reload,
            text: "Clients cache 301 and 308 permanently; 307 and 308 keep the method.",
        },
    ],
    shared: &[],
    shared_in: "",
};

pub(super) static REWRITE: SectionKeys = SectionKeys {
    name: "route.rewrite",
    own: &[ConfigKey {
        name: "to",
        value: Value::Apart { takes: "text" },
        absent: Absent::Words("must be given"),
        change: ChangeEffect::Reload,
        text: "The new path, with `$path` and `$1` to `$9` as in a redirect. The query is kept.",
    }],
    shared: &[],
    shared_in: "",
};

pub(super) static RESPOND: SectionKeys = SectionKeys {
    name: "route.respond",
    own: &[
        ConfigKey {
            name: "status",
            value: Value::Apart { takes: "200 to 299 but 206, 400 to 599 but 416" },
            absent: Absent::Words("`200`"),
            change: ChangeEffect::Reload,
            text: "The status.",
        },
        ConfigKey {
            name: "body",
            value: Value::Apart { takes: "text" },
            absent: Absent::Words("`\"\"`"),
            change: ChangeEffect::Reload,
            text: "The body.",
        },
        ConfigKey {
            name: "content_type",
            value: Value::Apart { takes: "media type" },
            absent: Absent::Words("`\"text/plain; charset=utf-8\"`"),
            change: ChangeEffect::Reload,
            text: "The Content-Type.",
        },
    ],
    shared: &[],
    shared_in: "",
};
