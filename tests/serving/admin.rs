//! Goal: an operator sees the state of the server and can change it, and nobody else can. Method: `velodrome ctl`, raw
//! requests to the control socket, and a scrape of the metrics as Prometheus does it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::server::certificates::Authority;
use crate::server::client::{Client, field, text};
use crate::server::patience::until;
use crate::server::{PROGRAM, Plan, Server, errors_of, free_address, printed_by, run};

#[test]
fn status_tells_what_an_operator_looks_at_first() {
    let server = Plan::new().file("a.txt", "a\n").argument("--schedulers=2").start();
    for _ in 0..5 {
        assert_eq!(server.get("/a.txt").status, 200);
    }
    let status = until("the requests to be counted", || {
        let status = server.ctl_json(&["status"]);
        (status["requests"] == 5).then_some(status)
    });
    assert_eq!((&status["process"], &status["state"]), (&server.id().into(), &"serving".into()));
    assert_eq!((&status["schedulers"], &status["schedulers_answering"]), (&2.into(), &2.into()));
    assert_eq!(status["listeners"][0], server.address().to_string());
    assert_eq!(status["directory"], server.directory().join("site").display().to_string());
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(
        (&status["configuration"], &status["last_reload"]["state"]),
        (&1.into(), &"none".into())
    );
    assert!(status["memory_resident_bytes"].as_u64().unwrap() > 100_000);
    let printed = printed_by(&server.ctl(&["status"]));
    for words in ["requests", "schedulers", &server.address().to_string()] {
        assert!(printed.contains(words), "no `{words}` in:\n{printed}");
    }
}

#[test]
fn status_shows_no_cpus_of_schedulers_that_are_not_pinned() {
    let server = Plan::new().argument("--schedulers=2").argument("--no-pin").start();
    let status = server.ctl_json(&["status"]);
    assert_eq!((&status["schedulers"], &status["cpus"]), (&2.into(), &serde_json::Value::Null));
}

#[test]
fn stats_count_what_happened() {
    let server = Plan::new().file("a.txt", "four").start();
    let mut client = server.client();
    for path in ["/a.txt", "/a.txt", "/none", "/%"] {
        client.get(path).unwrap();
    }
    client.send("GET /without-a-host HTTP/1.1\r\n\r\n").unwrap();
    client.rest().unwrap();
    until("all to be counted", || (server.count("/http/refused") == 1).then_some(()));
    assert_eq!(server.count("/http/by_class/2xx"), 2);
    assert_eq!(server.count("/http/by_class/4xx"), 3);
    assert_eq!(server.count("/network/accepts"), 1);
    assert!(server.count("/network/received_bytes") > 100);
    assert!(server.count("/network/sent_bytes") > 300);
    until("the connection to be closed", || (server.count("/connections") == 0).then_some(()));
    let printed = printed_by(&server.ctl(&["stats"]));
    assert!(printed.contains("by_class") && printed.contains("received_bytes"), "{printed}");
}

#[test]
fn the_control_socket_is_for_its_owner_alone() {
    let server = Server::start("");
    let mode = std::fs::metadata(server.plan.socket()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn the_control_socket_takes_what_it_knows_and_refuses_the_rest() {
    let mut server = Server::start("");
    let ask = |method: &str, path: &str| {
        let mut client = Client::connect_unix(&server.plan.socket()).unwrap();
        client.request(method, path, &[]).unwrap()
    };
    let status = ask("GET", "/status");
    assert_eq!((status.status, field(&status, "Content-Type")), (200, "application/json"));
    let _object: serde_json::Value = serde_json::from_slice(&status.body).unwrap();
    assert_eq!(text(&ask("GET", "/health")), "ok\n");
    assert_eq!(ask("GET", "/metrics").status, 200);
    for (method, path) in
        [("GET", "/"), ("GET", "/drain"), ("GET", "/reload"), ("DELETE", "/status"), ("POST", "/x")]
    {
        let status = ask(method, path).status;
        assert!((400..500).contains(&status), "{method} {path}: {status}");
    }
    assert!(server.is_running(), "GET changes nothing");
}

#[test]
fn ctl_says_when_nobody_answers() {
    let output = run(Command::new(PROGRAM).args(["ctl", "--socket", "/nowhere.sock", "status"]));
    assert_eq!(output.status.code(), Some(1));
    let told = errors_of(&output);
    assert!(told.contains("/nowhere.sock") && told.contains("does the server run"), "{told}");
}

#[test]
fn many_questions_at_once_are_all_answered() {
    let server = Server::start("");
    let socket = server.plan.socket();
    let ask = |number: usize| {
        let socket = socket.clone();
        std::thread::spawn(move || {
            let mut client = Client::connect_unix(&socket).unwrap();
            let path = ["/status", "/stats", "/metrics"][number % 3];
            (0..20).all(|_| client.get(path).unwrap().status == 200)
        })
    };
    let asking: Vec<_> = (0..12).map(ask).collect();
    for (number, asker) in asking.into_iter().enumerate() {
        assert!(asker.join().unwrap(), "asker {number}");
    }
}

/// A server with metrics at a separate address.
fn with_metrics() -> (Server, SocketAddr) {
    let address = free_address();
    let config = format!("[admin]\nmetrics = \"{address}\"\n");
    let plan = Plan::new().config(&config).file("a.txt", "a\n").argument("--schedulers=2");
    let server = plan.file("page.page.txt", "<% x = 1 %>").start();
    (server, address)
}

#[test]
fn over_the_network_a_key_controls_the_server_and_tls_hides_it() {
    let address = free_address();
    let tls = "tls = { certificate = \"admin.pem\", key = \"admin.key\" }";
    let config = format!("[admin]\nlisten = \"{address}\"\nkeys = \"admin.keys\"\n{tls}\n");
    let plan = Plan::new().config(&config).file("a.txt", "a\n");
    let authority = Authority::in_directory(&plan.directory);
    authority.issue(&plan.directory, "admin", &["127.0.0.1"]);
    plan.directory.write("admin.keys", "a key of those who may control it\n");
    plan.directory.write("other.keys", "a key of those who may not do that\n");
    let server = plan.start();
    let file = |name: &str| server.directory().join(name).display().to_string();
    let (ca, key, other) = (file("ca.pem"), file("admin.keys"), file("other.keys"));
    let url = format!("https://{address}");
    let ctl = |words: &[&str]| {
        run(Command::new(PROGRAM).args(["ctl", "--url", &url, "status", "--json"]).args(words))
    };
    for trust in [&["--cacert", &*ca][..], &["-k"]] {
        let output = ctl(&[trust, &["--key-file", &key]].concat());
        let status: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(status["process"], server.id());
        assert_eq!(status["certificates"][0]["names"][0], "127.0.0.1");
    }
    for (words, status, why) in [
        (&["--cacert", &*ca, "--key-file", &*other][..], 1, "does not know this key"),
        (&["--key-file", &*key], 1, "the handshake failed: "),
        (&["--cacert", &*ca], 2, "--key-file"),
    ] {
        let output = ctl(words);
        assert_eq!(output.status.code(), Some(status), "{words:?}");
        assert!(errors_of(&output).contains(why), "{}", errors_of(&output));
    }
    let anyone = authority.client(None);
    for path in ["/status", "/metrics", "/health", "/none"] {
        let answer = anyone.get(address, "127.0.0.1", path).unwrap();
        assert!(answer.starts_with("HTTP/1.1 401 "), "{path} {answer}");
        assert!(answer.contains("\r\nWWW-Authenticate: Bearer\r\n"), "{answer}");
    }
    let plain = Client::connect(address).unwrap().get("/status").unwrap();
    assert_eq!(plain.status, 400);
    // New certificates are in force with a reload, here one over the network.
    let before = anyone.connect(address, "127.0.0.1").unwrap().certificate();
    authority.issue(server.directory(), "admin", &["127.0.0.1"]);
    let reload = ["ctl", "--url", &*url, "--cacert", &*ca, "--key-file", &*key, "reload"];
    assert_eq!(run(Command::new(PROGRAM).args(reload)).status.code(), Some(0));
    until("another certificate", || {
        let shown = anyone.connect(address, "127.0.0.1").unwrap().certificate();
        (shown != before).then_some(())
    });
}

#[test]
fn without_tls_a_key_is_sent_within_this_machine_only() {
    let address = free_address();
    let config = format!("[admin]\nlisten = \"{address}\"\nkeys = \"admin.keys\"\n");
    let plan = Plan::new().config(&config);
    plan.directory.write("admin.keys", "a key of those who may control it\n");
    let server = plan.start();
    let key = server.directory().join("admin.keys").display().to_string();
    let ctl = |url: &str| {
        run(Command::new(PROGRAM).args(["ctl", "--url", url, "--key-file", &key, "status"]))
    };
    assert!(printed_by(&ctl(&format!("http://{address}/"))).contains("schedulers_answering"));
    let refused = ctl("http://192.0.2.1:9443");
    assert_eq!(refused.status.code(), Some(2));
    assert!(errors_of(&refused).contains("in clear"), "{}", errors_of(&refused));
}

/// The samples of a scrape: series to value. Fails for a line that Prometheus would refuse.
fn samples(scrape: &str) -> BTreeMap<String, f64> {
    let is_name = |name: &str| {
        name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "_:".contains(c))
    };
    let mut types = BTreeMap::new();
    let mut samples = BTreeMap::new();
    for line in scrape.lines() {
        if let Some(words) = line.strip_prefix("# TYPE ") {
            let (name, kind) = words.split_once(' ').unwrap();
            assert!(["counter", "gauge", "histogram", "summary"].contains(&kind), "{line}");
            assert!(types.insert(name, kind).is_none(), "{line} twice");
        } else if let Some(words) = line.strip_prefix("# HELP ") {
            assert!(is_name(words.split(' ').next().unwrap()), "{line}");
        } else {
            let (series, value) = line.rsplit_once(' ').unwrap();
            let name = series.split('{').next().unwrap();
            let of_histogram = ["_bucket", "_sum", "_count"].iter().find_map(|end| {
                name.strip_suffix(end).filter(|whole| types.get(whole) == Some(&"histogram"))
            });
            let known = of_histogram.is_some() || types.contains_key(name);
            assert!(is_name(name) && known, "{line}");
            if let Some(labels) = series.strip_prefix(name).filter(|labels| !labels.is_empty()) {
                let inside =
                    labels.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap();
                for label in inside.split(',') {
                    let (label, value) = label.split_once('=').unwrap();
                    assert!(
                        is_name(label) && value.starts_with('"') && value.ends_with('"'),
                        "{line}"
                    );
                }
            }
            let value: f64 = value.parse().unwrap_or_else(|error| panic!("{error}: {line}"));
            assert!(samples.insert(series.to_owned(), value).is_none(), "{line} twice");
        }
    }
    samples
}

#[test]
fn metrics_are_what_prometheus_reads() {
    let (server, address) = with_metrics();
    for _ in 0..7 {
        assert_eq!(server.get("/a.txt").status, 200);
    }
    let scrape = || {
        let response = Client::connect(address).unwrap().get("/metrics").unwrap();
        assert_eq!(response.status, 200);
        assert!(field(&response, "Content-Type").starts_with("text/plain; version=0.0.4"));
        assert!(text(&response).ends_with('\n'));
        samples(text(&response))
    };
    let total = |samples: &BTreeMap<String, f64>, name: &str| {
        let series = samples.iter().filter(|(series, _)| series.starts_with(name));
        series.map(|(_, value)| value).sum::<f64>()
    };
    let samples = until("the requests to be counted", || {
        let samples = scrape();
        (total(&samples, "velodrome_requests_total") == 7.0).then_some(samples)
    });
    assert_eq!(samples["velodrome_schedulers_answering"], 2.0);
    assert!(samples.contains_key("velodrome_responses_total{scheduler=\"1\",class=\"2xx\"}"));
    assert_eq!(total(&samples, "velodrome_accepts_total"), 7.0);
    assert!(samples["process_resident_memory_bytes"] > 100_000.0);
    let counter = "velodrome_turns_total";
    let (before, after) = (total(&samples, counter), total(&scrape(), counter));
    assert!(before > 0.0 && after >= before, "{before} {after}");
    for _ in 0..3 {
        assert_eq!(server.get("/page").status, 500);
    }
    until("the pages to be counted", || {
        (total(&scrape(), "velodrome_page_failures_total") == 3.0).then_some(())
    });
    let samples = scrape();
    assert_eq!(total(&samples, "velodrome_page_requests_total"), 3.0);
    assert_eq!(total(&samples, "velodrome_page_kills_total"), 0.0);
    assert!(samples.contains_key("velodrome_page_kills_total{scheduler=\"1\",reason=\"memory\"}"));
    assert!(total(&samples, "velodrome_page_memory_bytes") > 100_000.0);
    let of_page = |series: &&String| series.contains("page.txt");
    let is_time = |series: &String| series.starts_with("velodrome_page_duration_seconds_");
    assert!(
        samples.keys().filter(of_page).all(is_time),
        "no other number has a label for each page"
    );
}

#[test]
fn over_the_metrics_address_nothing_can_be_controlled() {
    let (mut server, address) = with_metrics();
    for (method, path) in [
        ("POST", "/drain"),
        ("POST", "/reload"),
        ("GET", "/status"),
        ("GET", "/stats"),
        ("GET", "/../drain"),
        ("POST", "/metrics"),
    ] {
        let mut client = Client::connect(address).unwrap();
        let response = client.request(method, path, &[("Content-Length", "0")]).unwrap();
        assert!((400..500).contains(&response.status), "{method} {path}: {}", response.status);
    }
    assert!(server.is_running());
    assert_eq!(server.ctl_json(&["status"])["last_reload"]["number"], 0);
    assert_eq!(server.get("/a.txt").status, 200);
}
