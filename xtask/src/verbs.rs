//! The table of verbs: one source for the help text and for the check that documents name only
//! verbs that exist.

/// One verb: its name, the words that may follow it as a sub-verb, and its help.
pub(crate) struct Verb {
    pub(crate) name: &'static str,
    pub(crate) sub_verbs: &'static [&'static str],
    forms: &'static [Form],
}

/// One way to use a verb: its words, and what they do.
struct Form {
    usage: &'static str,
    summary: &'static str,
}

pub(crate) const VERBS: &[Verb] = &[
    Verb {
        name: "test",
        sub_verbs: &[],
        forms: &[Form {
            usage: "test [--only STAGE[,STAGE]] [--seconds N]",
            summary: "format, house rules, build with clippy's lints, tests, Miri, docs and some seconds of \
                      fuzzing",
        }],
    },
    Verb {
        name: "tidy",
        sub_verbs: &[],
        forms: &[Form {
            usage: "tidy [--lower]",
            summary: "the house rules as a test; --lower writes shrunk sizes into the ratchet",
        }],
    },
    Verb {
        name: "fuzz",
        sub_verbs: &[],
        forms: &[Form {
            usage: "fuzz [TARGET] [--seconds N] [--seed S] [--stable] [--replay FILE]",
            summary: "throw random input at codecs and connections; a failing input is kept and named",
        }],
    },
    Verb {
        name: "bench",
        sub_verbs: &[
            "channels",
            "fan",
            "files",
            "floor",
            "generator",
            "h2",
            "instructions",
            "memory",
            "million",
            "cluster",
            "pages",
            "proxy",
            "store",
            "tls",
        ],
        forms: &[
            Form {
                usage: "bench floor [--only a,c] [--with NAME=PROGRAM,...] [--rounds N] [--seconds S] \
                        [--quick] [--report FILE]",
                summary: "processor time and rate against the do-nothing floor and nginx",
            },
            Form {
                usage: "bench fan [--rounds N] [--seconds S] [--quick] [--report FILE]",
                summary: "what a delivery costs in a room where everybody hears everybody, against a hub \
                          that does nothing else",
            },
            Form {
                usage: "bench channels [--rounds N] [--seconds S] [--quick] [--report FILE]",
                summary: "what a delivery to a channel's subscriber costs, against that hub, redis, nats \
                          and nchan",
            },
            Form {
                usage: "bench files [--only file-8,file-128] [--rounds N] [--seconds S] [--quick] [--report \
                        FILE]",
                summary: "files by size, against nginx with sendfile",
            },
            Form {
                usage: "bench tls [--only tls-json,tls-full,tls-resumed,tls-file,tls-idle] [--rounds N] \
                        [--seconds S] [--quick] [--report FILE]",
                summary: "what TLS costs: kept, full and resumed connections, a file, idle memory, against \
                          nginx, haproxy and caddy",
            },
            Form {
                usage: "bench h2 [--only h2-json,h2-one,h2-file,h2-events,h2-alone,h2-beside,h2-idle] \
                        [--rounds N] [--seconds S] [--quick] [--report FILE]",
                summary: "HTTP/2: many streams, one stream, a file, event streams, a client beside a crowd, \
                          idle memory, against h2o, nginx, haproxy, caddy and apache",
            },
            Form {
                usage: "bench proxy [--only proxy-json,proxy-1m] [--rounds N] [--seconds S] [--quick] \
                        [--report FILE]",
                summary: "what a request through the proxy costs, against no proxy, nginx and haproxy",
            },
            Form {
                usage: "bench generator [--only kept,short,pipelined,pacing,stall,cross] [--rounds N] \
                        [--seconds S] [--report FILE]",
                summary: "what `velodrome bench http` costs itself, next to wrk, h2load, ab and oha, and \
                          how exact its times are",
            },
            Form {
                usage: "bench instructions [--only json,file] [--requests N] [--save] [--report FILE]",
                summary: "instructions of a request in the simulator, against the kept figures (needs \
                          valgrind)",
            },
            Form {
                usage: "bench pages [--only a,b-10] [--rounds N] [--seconds S] [--full] [--quick] [--report \
                        FILE]",
                summary: "pages next to nginx with Lua, yaws and a handler in Rust; fib(40) next to C; \
                          waiting and endless pages",
            },
            Form {
                usage: "bench memory [--preload LIBRARY] [--report FILE]",
                summary: "resident memory over a minute after a load has gone; --preload for another \
                          allocator",
            },
            Form {
                usage: "bench million [--connections N] [--rates 100000,50000] [--seconds S] [--report FILE]",
                summary: "a million open connections to the store on this machine, and lookups over all of \
                          them; fewer where memory is short",
            },
            Form {
                usage: "bench cluster [--only publish,lag] [--rounds N] [--seconds S] [--report FILE]",
                summary: "channels and the store on several nodes with NATS, next to one server alone, and to \
                          Centrifugo",
            },
            Form {
                usage: "bench store [--only get-50,idle] [--rounds N] [--seconds S] [--quick] [--report \
                        FILE]",
                summary: "the store next to redis-server, memcached and the floor: reads, writes by \
                          durability, idle connections, an import",
            },
        ],
    },
    Verb {
        name: "conformance",
        sub_verbs: &[],
        forms: &[Form {
            usage: "conformance [--only SERVER[,SERVER]] [--h2] [--write]",
            summary: "the HTTP/1.1 and HTTP/2 requirements on our server and on those that are installed, with \
                      --h2 those of HTTP/2 alone; --write puts the tables into docs/conformance.md",
        }],
    },
];

/// The names of all verbs, in the order of the help.
pub(crate) fn names() -> Vec<&'static str> {
    VERBS.iter().map(|verb| verb.name).collect()
}

/// The text of `cargo xtask help`.
pub(crate) fn help() -> String {
    let mut text = String::from("cargo xtask VERB: the project's own tools\n\n");
    for verb in VERBS {
        for form in verb.forms {
            text.push_str(&format!("  {}\n      {}\n", form.usage, form.summary));
        }
    }
    text.push_str("\nExit status: 0 done, 1 failed, 2 wrong use.\n");
    text
}
