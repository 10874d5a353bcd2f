//! The keys of `[[route]]` and `[[host.route]]`, and of the tables of their actions.
//!
//! Owns the rows. `routes` reads them, because one decides what another means.

use super::key::{Absent, Change, Key, SectionKeys, Value};

static SHARED: &[Key] = &[
    Key {
        name: "path",
        value: Value::Apart { takes: "path of a request" },
        absent: Absent::Words("none"),
        change: Change::Reload,
        text: "Takes this path alone.",
    },
    Key {
        name: "prefix",
        value: Value::Apart { takes: "path of a request" },
        absent: Absent::Words("none"),
        change: Change::Reload,
        text: "Takes this path and all below it. `/a/` takes `/a/` and `/a/b`; `/a` takes `/a`, \
             `/a/` and `/a/b`, but not `/ab`.",
    },
    Key {
        name: "glob",
        value: Value::Apart { takes: "pattern" },
        absent: Absent::Words("none"),
        change: Change::Reload,
        text: "Takes the paths that fit: `*` stands for any run of characters within a segment, \
             also none; `**` for whole segments, any number of them, or at least one at the end. \
             `/img/*.png`, `/docs/**`, `/**/*.css`. At most 9 wildcards.",
    },
    Key {
        name: "methods",
        value: Value::Apart { takes: "list of methods" },
        absent: Absent::Words("all"),
        change: Change::Reload,
        text: "Takes these methods only; GET stands for HEAD too. When routes take the path but \
             none the method, the answer is 405 with the methods they take.",
    },
    Key {
        name: "files",
        value: Value::Section { takes: "table, see below" },
        absent: Absent::Words("none"),
        change: Change::Reload,
        text: "Serves files.",
    },
    Key {
        name: "redirect",
        value: Value::Section { takes: "table, see below" },
        absent: Absent::Words("none"),
        change: Change::Reload,
        text: "Sends the client elsewhere.",
    },
    Key {
        name: "rewrite",
        value: Value::Section { takes: "table, see below" },
        absent: Absent::Words("none"),
        change: Change::Reload,
        text: "Goes on with another path and the routes after this one. At most 8 times for a \
             request, then 500.",
    },
    Key {
        name: "respond",
        value: Value::Section { takes: "table, see below" },
        absent: Absent::Words("none"),
        change: Change::Reload,
        text: "Answers with a fixed text.",
    },
    Key {
        name: "json",
        value: Value::Apart { takes: "any value" },
        absent: Absent::Words("none"),
        change: Change::Reload,
        text: "Answers 200 with the value as JSON, keys in the order of the file.",
    },
    Key {
        name: "module",
        value: Value::Apart { takes: "name" },
        absent: Absent::Words("none"),
        change: Change::Reload,
        text: "Has an [app module](modules.md) answer: `\"api\"` is `app/api.lua`, \
             `\"shop.basket\"` is `app/shop/basket.lua`. Its own routes are compared with what \
             follows `prefix`.",
    },
    Key {
        name: "headers",
        value: Value::Section { takes: "table of fields" },
        absent: Absent::Words("none"),
        change: Change::Reload,
        text: "Fields added to the answers.",
    },
    Key {
        name: "body_size",
        value: Value::Apart { takes: "size" },
        absent: Absent::Words("that of `[limits]`"),
        change: Change::Reload,
        text: "The largest request body the route takes; 413 above.",
    },
    Key {
        name: "cache_control",
        value: Value::Apart { takes: "text" },
        absent: Absent::Words("none"),
        change: Change::Reload,
        text: "The Cache-Control of the answers. For files it goes before \
             `[[files.cache_control]]`. A page sets its own: neither is for pages.",
    },
];

pub(super) static ROUTE: SectionKeys = SectionKeys {
    name: "[[route]]",
    own: &[Key {
        name: "host",
        value: Value::Apart { takes: "name" },
        absent: Absent::Words("all"),
        change: Change::Reload,
        text: "Takes requests for this name only; `*.` as for a host. Only for names that have no \
             `[[host]]`.",
    }],
    shared: SHARED,
    shared_in: "[[route]]",
};

pub(super) static HOST_ROUTE: SectionKeys =
    SectionKeys { name: "[[host.route]]", own: &[], shared: SHARED, shared_in: "[[route]]" };

pub(super) static REDIRECT: SectionKeys = SectionKeys {
    name: "route.redirect",
    own: &[
        Key {
            name: "to",
            value: Value::Apart { takes: "text" },
            absent: Absent::Words("must be given"),
            change: Change::Reload,
            text: "Where to: a path, or `https://` and a host. In it stand `$path` for the path of the \
             request, `$query` for its query with the `?` (nothing when there is none), `$1` to \
             `$9` for what the wildcards of `glob` stood for, `$1` for the rest behind `prefix`, \
             `$$` for a dollar sign. What comes from the request is percent-encoded, and never \
             leads to another host.",
        },
        Key {
            name: "status",
            value: Value::Apart { takes: "301, 302, 303, 307 or 308" },
            absent: Absent::Words("`302`"),
            change: Change::Reload,
            text: "301 and 308 are remembered by clients for ever; 307 and 308 keep the method.",
        },
    ],
    shared: &[],
    shared_in: "",
};

pub(super) static REWRITE: SectionKeys = SectionKeys {
    name: "route.rewrite",
    own: &[Key {
        name: "to",
        value: Value::Apart { takes: "text" },
        absent: Absent::Words("must be given"),
        change: Change::Reload,
        text: "The new path, with `$path` and `$1` to `$9` as in a redirect. The query stays.",
    }],
    shared: &[],
    shared_in: "",
};

pub(super) static RESPOND: SectionKeys = SectionKeys {
    name: "route.respond",
    own: &[
        Key {
            name: "status",
            value: Value::Apart { takes: "200 to 299 but 206, 400 to 599 but 416" },
            absent: Absent::Words("`200`"),
            change: Change::Reload,
            text: "The status.",
        },
        Key {
            name: "body",
            value: Value::Apart { takes: "text" },
            absent: Absent::Words("`\"\"`"),
            change: Change::Reload,
            text: "The content.",
        },
        Key {
            name: "content_type",
            value: Value::Apart { takes: "media type" },
            absent: Absent::Words("`\"text/plain; charset=utf-8\"`"),
            change: Change::Reload,
            text: "The Content-Type.",
        },
    ],
    shared: &[],
    shared_in: "",
};
