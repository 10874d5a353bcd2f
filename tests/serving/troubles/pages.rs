//! Troubles that pages and modules cause, and edits of them and of the configuration.

use super::Named::{Event, Row};
use super::planted::{Again, Planted, requests};
use super::{Trouble, are_named};
use crate::server::client::Client;
use crate::server::{Plan, free_address};

const CONFIG: &str = "[pages]\napp = \"app\"\nslice = \"60ms\"\ndeadline = \"1s\"\nmemory = \"16 \
                      MiB\"\nprocess_memory = \"32 MiB\"\n[[route]]\npath = \"/shop\"\nrespond = { status = \
                      500 }\n";

/// Pages and modules; each trouble has its own.
const FILES: &[(&str, &str)] = &[
    ("slow.page.txt", "<% sleep(0.2) %>"),
    ("endless.page.txt", "<%\nlocal n = 0\nwhile true do n = n + 1 end %>"),
    ("late.page.txt", "<%\nsleep(60) %>"),
    ("large.page.txt", "<%\nlocal t = {}\nfor n = 1, 1000 do t[n] = ('x'):rep(100000) .. n end %>"),
    (
        "mailbox.page.txt",
        "<%\nlocal to = spawn(function()\n  sleep(60)\nend)\nfor _ = 1, 1100 do send(to, 'm') end %>",
    ),
    (
        "hoard.page.txt",
        "<% spawn(function()\n  local t = {}\n  for n = 1, 40 do t[n] = ('x'):rep(130000 + n) end\n  \
         receive()\nend) sleep(60) %>",
    ),
    ("spawn.page.txt", "<% for _ = 1, 1100 do spawn(function() sleep(60) end) end %>"),
    ("leak.page.txt", "<% require('keeps').more() %>"),
    (
        "ask.page.txt",
        "<% local answer, why = fetch('http://' .. request.query.at .. '/x?key=secret') %><%= why %>",
    ),
    ("uses.page.txt", "<% require('edited') %>"),
];

const MODULES: &[(&str, &str)] = &[
    (
        "keeps",
        "local kept = {}\nreturn { more = function() kept[#kept + 1] = ('x'):rep(100000 + #kept) end }",
    ),
    ("edited", "return {}"),
];

const TROUBLES: &[Trouble] = &[
    Trouble {
        name: "a slow page",
        plant: |server| Planted::with(&["slow.page.txt"]).keep(requests(server, "/slow")),
        named: Row { list: "pages", column: "p99_us", least: 200_000.0 },
    },
    Trouble {
        name: "a page that computes without end",
        plant: |server| {
            server.get("/endless");
            Planted::with(&["endless.page.txt:3"])
        },
        named: Event("much_cpu"),
    },
    Trouble {
        name: "a page that was ended at its CPU time",
        plant: |_| Planted::with(&["endless.page.txt:3", "cpu_budget"]),
        named: Event("page_ended"),
    },
    Trouble {
        name: "a page that others have to wait for",
        plant: |_| Planted::with(&["endless.page.txt:3"]),
        named: Event("long_slice"),
    },
    Trouble {
        name: "a turn that takes long",
        plant: |_| Planted::with(&["of the kind `http`"]),
        named: Event("long_turn"),
    },
    Trouble {
        name: "a page that waits too long",
        plant: |server| {
            server.get("/late");
            Planted::with(&["late.page.txt:2", "deadline"])
        },
        named: Event("page_ended"),
    },
    Trouble {
        name: "a request that needs too much memory",
        plant: |server| {
            server.get("/large");
            Planted::with(&["large.page.txt", "memory"])
        },
        named: Event("page_ended"),
    },
    Trouble {
        name: "a process of a page whose mailbox is full",
        plant: |server| {
            server.get("/mailbox");
            Planted::with(&["mailbox.page.txt:3"])
        },
        named: Event("page_mailbox"),
    },
    Trouble {
        name: "a process of a page that hoards",
        plant: |server| Planted::with(&["hoard.page.txt"]).keep(requests(server, "/hoard")),
        named: Row { list: "processes", column: "memory_bytes", least: 4e6 },
    },
    Trouble {
        name: "a page that spawns more than there may be",
        plant: |server| {
            server.get("/spawn");
            Planted::with(&["spawn.page.txt", "full"])
        },
        named: Event("page_processes"),
    },
    Trouble {
        name: "a server that a page asks is down",
        plant: |server| {
            server.get(&format!("/ask?at={}", free_address()));
            Planted::with(&["ask.page.txt:1"])
        },
        named: Event("fetch_failed"),
    },
    Trouble {
        name: "many answers are errors",
        plant: |server| Planted::with(&["/shop"]).keep(requests(server, "/shop")),
        named: Event("server_errors"),
    },
    Trouble {
        name: "many answers are errors, in the list",
        plant: |server| Planted::with(&["/shop"]).keep(requests(server, "/shop")),
        named: Row { list: "routes", column: "5xx", least: 1.0 },
    },
    Trouble {
        name: "a module that does not compile any more",
        plant: |server| {
            server.directory().write("app/edited.lua", "return {\nx x\n}");
            Planted::with(&["edited.lua:2"])
        },
        named: Event("page_broken"),
    },
    Trouble {
        name: "a configuration with a mistake",
        plant: |server| {
            server.directory().write("velodrome.toml", "root = \"site\"\n[limits]\nhead = 1\n");
            server.signal("HUP");
            Planted::with(&["unknown key `head`"])
        },
        named: Event("reload_refused"),
    },
    Trouble {
        name: "a module that keeps everything",
        plant: |server| {
            let address = server.address();
            // In the end there is no memory, for other pages neither: it is the last trouble.
            let asked = move || drop(Client::connect(address).unwrap().get("/leak"));
            Planted::with(&["requests of pages", "leak.page.txt"]).keep(Again::and_again(asked))
        },
        named: Event("page_memory"),
    },
];

#[test]
fn troubles_of_pages_are_named_with_page_and_line() {
    let plan = Plan::new().config(CONFIG).files(FILES).argument("--schedulers=1");
    for (name, text) in MODULES {
        plan.directory.write(&format!("app/{name}.lua"), text);
    }
    let server = plan.start();
    are_named(&server, TROUBLES);
    assert!(!server.printed_errors().contains("secret"), "{}", server.printed_errors());
}
