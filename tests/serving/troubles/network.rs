//! Troubles of clients, subscribers, servers of upstreams, certificates, and of too many connections.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};

use super::Named::{Event, Row};
use super::planted::{Again, Planted, commands};
use super::{Trouble, are_named};
use crate::server::certificates::Authority;
use crate::server::channel::{connect, resp, say};
use crate::server::client::Client;
use crate::server::patience::until;
use crate::server::upstreams::by_hand;
use crate::server::{Plan, Server, free_address};

/// The name in the certificate.
const NAME: &str = "soon.example";

fn config(stuck: SocketAddr, live: SocketAddr) -> String {
    let dead = free_address();
    format!(
        "[[listener]]\naddress = \"127.0.0.1:0\"\n[[listener]]\naddress = \"127.0.0.1:0\"\ntls = {{ \
         certificate = \"{NAME}.pem\", key = \"{NAME}.key\" }}\n[pages]\nmemory = \"1 \
         GiB\"\n[limits]\nheader_deadline = \"1h\"\n[[channel]]\npattern = \"*\"\npublish = \
         \"open\"\nhistory = 10\n[[limit]]\nname = \"logins\"\nrequests = \"1/m\"\npaths = \
         [\"/login\"]\n[[route]]\nprefix = \"/stuck/\"\nproxy = \"stuck\"\n[[route]]\nprefix = \
         \"/dying/\"\nproxy = \"dying\"\n[[upstream]]\nname = \"stuck\"\nservers = \
         [\"{stuck}\"]\nconnections = 1\n[[upstream]]\nname = \"dying\"\nservers = [\"{dead}\", \
         \"{live}\"]\nbalance = \"round-robin\"\n[[upstream]]\nname = \"gone\"\nservers = \
         [\"{dead}\"]\ncheck = \"/\"\ncheck_interval = \"100ms\"\nfailures = 1\n[[route]]\nprefix = \
         \"/gone/\"\nproxy = \"gone\"\n"
    )
}

/// Clients that have begun like this and wait.
fn begun(server: &Server, count: usize, bytes: &str) -> Vec<Client> {
    let one = |_| {
        let mut client = server.client();
        client.send(bytes).unwrap();
        client
    };
    (0..count).map(one).collect()
}

/// The address of the listener with TLS.
fn secure(server: &Server) -> SocketAddr {
    let mut told = server.announced.iter().filter_map(|line| line.strip_prefix("https://"));
    told.next().unwrap().trim_end_matches('/').parse().unwrap()
}

const TROUBLES: &[Trouble] = &[
    Trouble {
        name: "a certificate near its end",
        plant: |_| Planted::with(&[NAME, "ends in"]),
        named: Event("certificate"),
    },
    Trouble {
        name: "handshakes that fail",
        plant: |server| {
            let address = secure(server);
            Planted::default().keep(Again::and_again(move || {
                // A handshake of no version; it is refused or reset.
                let mut stream = TcpStream::connect(address).unwrap();
                let _refused = stream.write_all(b"\x16\x03\x01\x00\x04junk");
            }))
        },
        named: Event("handshakes"),
    },
    Trouble {
        name: "a subscriber that does not read",
        plant: |server| {
            let (mut publisher, mut slow) = (connect(resp(server)), connect(resp(server)));
            say(&mut slow, b"SUBSCRIBE prices\r\n", b":1\r\n");
            let order = format!("PUBLISH prices {}\r\n", "x".repeat(60_000));
            until("the subscriber to be cut", || {
                (say(&mut publisher, order.as_bytes(), b"\r\n") == b":0\r\n").then_some(())
            });
            Planted::with(&["the last of prices"])
        },
        named: Event("slow_consumer"),
    },
    Trouble {
        name: "a publisher that floods",
        plant: |server| {
            Planted::with(&["flooded"]).keep(commands(
                server,
                "PUBLISH flooded x\r\n".repeat(50),
                200,
            ))
        },
        named: Row { list: "channels", column: "published", least: 200.0 },
    },
    Trouble {
        name: "histories that take too much memory",
        plant: |server| {
            let mut publisher = connect(resp(server));
            let message = "x".repeat(60_000);
            // Ten messages of each of 120 channels are 72 MB.
            for number in 0..1_200 {
                let order = format!("PUBLISH kept.{} {message}\r\n", number % 120);
                say(&mut publisher, order.as_bytes(), b"\r\n");
            }
            Planted::with(&["dropped from histories"])
        },
        named: Event("channel_evicted"),
    },
    Trouble {
        name: "a client that floods with subscriptions of patterns",
        plant: |server| {
            let orders = "PSUBSCRIBE a*\r\nPUNSUBSCRIBE a*\r\n".repeat(50);
            let reply = "*3\r\n$10\r\npsubscribe\r\n$2\r\na*\r\n:1\r\n*3\r\n$12\r\npunsubscribe\r\n$2\r\na*\r\n:0\r\n".len();
            Planted::with(&["resp", "127.0.0.1"]).keep(commands(server, orders, reply * 50))
        },
        named: Row { list: "connections", column: "received_bytes", least: 10_000.0 },
    },
    Trouble {
        name: "a client that sends its head in drops",
        plant: |server| {
            Planted::with(&["reads", "127.0.0.1"]).keep(begun(
                server,
                1,
                "GET / HTTP/1.1\r\nX-Slow: ",
            ))
        },
        named: Row { list: "connections", column: "unread_bytes", least: 20.0 },
    },
    Trouble {
        name: "a client with a large pipeline",
        plant: |server| {
            let requests = "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n".repeat(300);
            Planted::with(&["waits", "127.0.0.1"]).keep(begun(server, 1, &requests))
        },
        named: Row { list: "connections", column: "unread_bytes", least: 5_000.0 },
    },
    Trouble {
        name: "a client that is limited",
        plant: |server| {
            (0..3).for_each(|_| drop(server.get("/login")));
            Planted::with(&["the limit logins"])
        },
        named: Event("limit"),
    },
    Trouble {
        name: "a server that accepts and never answers",
        plant: |server| {
            let waiting = begun(server, 3, "GET /stuck/ HTTP/1.1\r\nHost: a\r\n\r\n");
            Planted::with(&["the upstream stuck"]).keep(waiting)
        },
        named: Event("upstream_queue"),
    },
    Trouble {
        name: "the same in the list",
        plant: |server| {
            let waiting = begun(server, 1, "GET /stuck/ HTTP/1.1\r\nHost: a\r\n\r\n");
            Planted::with(&["stuck"]).keep(waiting)
        },
        named: Row { list: "upstreams", column: "open", least: 1.0 },
    },
    Trouble {
        name: "a server that is down",
        plant: |server| {
            (0..20).for_each(|_| drop(server.get("/dying/")));
            Planted::with(&["of the upstream dying"])
        },
        named: Event("server_down"),
    },
    Trouble {
        name: "an upstream of which no server is well",
        plant: |_| Planted::with(&["no server of the upstream gone"]),
        named: Event("upstream_down"),
    },
    Trouble {
        name: "clients that do not read what they asked for",
        plant: |server| {
            Planted::default().keep(begun(server, 7, "GET /much HTTP/1.1\r\nHost: a\r\n\r\n"))
        },
        named: Event("buffers"),
    },
    Trouble {
        name: "the same in the list",
        plant: |server| {
            Planted::with(&["127.0.0.1"]).keep(begun(
                server,
                1,
                "GET /much HTTP/1.1\r\nHost: a\r\n\r\n",
            ))
        },
        named: Row { list: "connections", column: "queued_bytes", least: 1_000_000.0 },
    },
];

#[test]
fn troubles_of_clients_and_servers_are_named() {
    let (stuck, _connections) = by_hand();
    let (live, _heard) = crate::server::other::always(crate::server::upstreams::OK);
    let page =
        "<% local part = ('x'):rep(1024 * 1024)\nfor n = 1, 30 do response:write(part) end -%>";
    let plan = Plan::new().config(&config(stuck, live)).file("wait.page.txt", "<% sleep(20) %>");
    Authority::in_directory(&plan.directory).issue_for_days(&plan.directory, NAME, 3);
    let plan = plan.file("much.page.txt", page).argument("--listen-resp=127.0.0.1:0");
    let server = plan.argument("--schedulers=1").listen_as_configured(2).start();
    are_named(&server, TROUBLES);
}

const TOO_MANY: &[Trouble] = &[
    Trouble {
        name: "nearly all connections in use",
        plant: |server| Planted::with(&["of 40 connections"]).keep(begun(server, 37, "")),
        named: Event("connections"),
    },
    Trouble {
        name: "more connections than there is room for",
        plant: |server| {
            Planted::default().keep(begun(server, 60, "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n"))
        },
        named: Event("load_shed"),
    },
];

#[test]
fn too_many_connections_are_named() {
    let plan =
        Plan::new().config("[limits]\nconnections = 40\n").file("wait.page.txt", "<% sleep(20) %>");
    are_named(&plan.argument("--schedulers=1").start(), TOO_MANY);
}

const TOO_FEW_DESCRIPTORS: &[Trouble] = &[Trouble {
    name: "too few descriptors",
    plant: |server| {
        Planted::default().keep(begun(server, 150, "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n"))
    },
    named: Event("load_shed"),
}];

#[test]
fn too_few_descriptors_are_named() {
    let plan = Plan::new()
        .wrapped(&["prlimit", "--nofile=100:100"])
        .file("wait.page.txt", "<% sleep(20) %>");
    are_named(&plan.argument("--schedulers=1").start(), TOO_FEW_DESCRIPTORS);
}
