//! Goal: listeners with TLS serve everything as plain ones do; certificates are chosen, replaced and refused as the
//! document says. Method: clients of rustls that trust an authority of the test, and curl.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::server::certificates::Authority;
use crate::server::client::{Client, text};
use crate::server::patience::{PATIENCE, until};
use crate::server::{PROGRAM, Plan, Server, configuration, free_address, has, printed_by, run};

pub(crate) const NAME: &str = "velodrome.example";

/// A listener with the certificate `site`.
pub(crate) const LISTENER: &str = "[[listener]]\naddress = \"127.0.0.1:0\"\ntls = { certificate = \
                                   \"site.pem\", key = \"site.key\" }\n";

/// Shows what a page sees of its connection.
const PAGE: &str = "<%= request.scheme %><% local tls = request.tls or {} %>\n<%= tls.version or '-' %> <%= \
                    tls.group or '-' %> <%= tls.server_name or '-' %> <%= tls.subject or '-' %> <%= \
                    #(tls.fingerprint or '') %>";

/// A site with a page and a file.
pub(crate) fn site(config: &str) -> (Plan, Authority) {
    let plan = Plan::new().config(config).file("a.txt", "a\n").file("tls.page.txt", PAGE);
    let authority = Authority::in_directory(&plan.directory);
    authority.issue(&plan.directory, "site", &[NAME, "127.0.0.1"]);
    (plan, authority)
}

/// The addresses that a server announced with a scheme.
pub(crate) fn addresses(server: &Server, scheme: &str) -> Vec<SocketAddr> {
    let of_line = |line: &String| {
        let address = line.strip_prefix(scheme)?.trim_end_matches('/');
        Some(address.parse().unwrap())
    };
    server.announced.iter().filter_map(of_line).collect()
}

/// Waits until a handshake has failed for this reason.
pub(crate) fn failed(server: &Server, reason: &str) {
    is_counted(server, "handshake_failures", reason);
}

/// Waits until a scheduler has counted this.
fn is_counted(server: &Server, group: &str, name: &str) {
    until(name, || {
        let stats = server.told("/stats");
        let counted = |scheduler: &Value| scheduler[group][name].as_u64();
        stats["schedulers"].as_array().unwrap().iter().find_map(counted)
    });
}

#[test]
fn a_server_with_tls_self_signed_needs_no_certificate_file() {
    let plan = Plan::new().file("a.txt", "a\n").argument("--tls-self-signed");
    let server = plan.start();
    let [address] = addresses(&server, "https://")[..] else {
        panic!("{:?}", server.announced);
    };
    if !has("curl", "a_server_with_tls_self_signed_needs_no_certificate_file") {
        return;
    }
    let url = format!("https://{address}/a.txt");
    let trusting = run(Command::new("curl").args(["-sk", &url]));
    assert_eq!(printed_by(&trusting), "a\n");
    let careful = run(Command::new("curl").args(["-s", &url]));
    assert_eq!(careful.status.code(), Some(60), "curl does not know its issuer");
    failed(&server, "alert");
    is_counted(&server, "handshake_alerts", "unknown_ca");
}

#[test]
fn a_client_of_the_older_version_is_served_though_it_names_no_other() {
    const TEST: &str = "a_client_of_the_older_version_is_served_though_it_names_no_other";
    if !has("curl", TEST) {
        return;
    }
    let server = Plan::new().file("a.txt", "a\n").argument("--tls-self-signed").start();
    let url = format!("https://{}/a.txt", addresses(&server, "https://")[0]);
    let answer = run(Command::new("curl").args(["-sk", "--http1.0", &url]));
    assert_eq!(printed_by(&answer), "a\n");
}

#[test]
fn a_plain_request_is_redirected_to_https_or_refused_with_its_url() {
    let port = free_address().port();
    let secure = LISTENER.replace(":0", &format!(":{port}"));
    let config = format!(
        "redirect_to_https = true\nhsts = \"1h\"\n[[listener]]\naddress = \"127.0.0.1:0\"\n{secure}"
    );
    let (plan, authority) = site(&config);
    let server = plan.listen_as_configured(2).start();
    let ([plain], [secure]) =
        (&addresses(&server, "http://")[..], &addresses(&server, "https://")[..])
    else {
        panic!("{:?}", server.announced);
    };
    let ask = |address: &SocketAddr, path: &str| {
        let mut client = TcpStream::connect(address).unwrap();
        let text = format!("GET {path} HTTP/1.1\r\nHost: {NAME}:1\r\nConnection: close\r\n\r\n");
        client.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        answer
    };
    let answer = ask(plain, "/tls?a=%20b");
    assert!(answer.starts_with("HTTP/1.1 308 "), "{answer}");
    let location = format!("\r\nLocation: https://{NAME}:{port}/tls?a=%20b\r\n");
    assert!(answer.contains(&location), "{answer}");
    assert!(!answer.contains("Strict-Transport-Security"), "{answer}");
    let challenge = ask(plain, "/.well-known/acme-challenge/x");
    assert!(challenge.starts_with("HTTP/1.1 404 "), "{challenge}");
    let answer = authority.client(None).get(*secure, NAME, "/a.txt").unwrap();
    assert!(answer.contains("\r\nStrict-Transport-Security: max-age=3600\r\n"), "{answer}");
    let answer = ask(secure, "/a.txt");
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert!(answer.contains("https://"), "{answer}");
}

#[test]
fn a_proxy_header_comes_before_the_handshake() {
    let (plan, authority) = site(&format!("{LISTENER}proxy_protocol_from = [\"127.0.0.0/8\"]\n"));
    let plan = plan.file("who.page.txt", "<%= request.peer %>");
    let server = plan.listen_as_configured(1).start();
    let [address] = addresses(&server, "https://")[..] else { panic!("{:?}", server.announced) };
    assert!(authority.client(None).get(address, NAME, "/who").is_err(), "no header");
    let header = b"PROXY TCP4 10.9.8.7 10.0.0.1 1234 443\r\n";
    let client = authority.client(None).connect_after(header, address, NAME).unwrap();
    let answer = client.last(NAME, "/who").unwrap();
    assert!(answer.ends_with("\r\n\r\n10.9.8.7"), "{answer}");
}

#[test]
fn redis_commands_are_answered_over_tls() {
    let config = LISTENER.replace("[[listener]]", "[[listener]]\nprotocol = \"resp\"");
    let (plan, authority) = site(&config);
    let store = plan.directory.join("store").display().to_string();
    let plan = plan.listen_as_configured(1).argument(&format!("--store={store}"));
    let server = plan.start();
    let [address] = addresses(&server, "rediss://")[..] else { panic!("{:?}", server.announced) };
    let mut client = authority.client(None).connect(address, NAME).unwrap();
    client.send(b"SET a 1\r\nINCR a\r\nPING\r\n").unwrap();
    assert_eq!(client.receive(16).unwrap(), b"+OK\r\n:2\r\n+PONG\r\n");
}

#[test]
fn a_redis_client_that_does_not_shake_hands_is_told_or_closed_after_the_deadline() {
    let listener = LISTENER.replace("[[listener]]", "[[listener]]\nprotocol = \"resp\"");
    let (plan, _) = site(&format!("{listener}[limits]\nheader_deadline = \"1s\"\n"));
    let server = plan.listen_as_configured(1).start();
    let [address] = addresses(&server, "rediss://")[..] else { panic!("{:?}", server.announced) };
    let heard_after = |bytes: &[u8]| {
        let mut client = TcpStream::connect(address).unwrap();
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        client.write_all(bytes).unwrap();
        let mut heard = String::new();
        // A reset is an end as well.
        let _reset = client.read_to_string(&mut heard);
        heard
    };
    let told = "-ERR this port takes encrypted connections only: use rediss:// or --tls\r\n";
    assert_eq!(heard_after(b"*1\r\n$4\r\nPING\r\n"), told);
    assert_eq!(heard_after(b"PING\r\n"), told);
    // The first byte of a record, and nothing more: the server ends it, not the patience of the test.
    let began = Instant::now();
    assert_eq!(heard_after(&[22]), "");
    assert!(began.elapsed() < PATIENCE);
    server.reaches("/network/handshakes_under_way", 0);
}

#[test]
fn a_hundred_changes_of_certificates_fail_no_request() {
    let (plan, authority) = site(LISTENER);
    let server = plan.listen_as_configured(1).start();
    let [address] = addresses(&server, "https://")[..] else { panic!("{:?}", server.announced) };
    let client = authority.client(None);
    let (stop, answers) = (AtomicBool::new(false), AtomicU64::new(0));
    let first = client.connect(address, NAME).unwrap().certificate();
    thread::scope(|scope| {
        let keep_asking = || {
            let mut kept = client.connect(address, NAME).unwrap();
            while !stop.load(Ordering::SeqCst) {
                assert!(kept.get(NAME, "/a.txt").unwrap().ends_with("\r\n\r\na\n"));
                let answer = client.get(address, NAME, "/a.txt").unwrap();
                assert!(answer.ends_with("\r\n\r\na\n"), "{answer}");
                answers.fetch_add(1, Ordering::SeqCst);
            }
        };
        let asking = scope.spawn(keep_asking);
        for number in 1..=100 {
            authority.issue(server.directory(), "site", &[NAME, &format!("n{number}.example")]);
            let reloaded = server.ctl_json(&["reload"]);
            assert_eq!(reloaded["state"], "in force", "{reloaded}");
        }
        let seen = answers.load(Ordering::SeqCst);
        until("answers", || (answers.load(Ordering::SeqCst) > seen + 1).then_some(()));
        stop.store(true, Ordering::SeqCst);
        asking.join().unwrap();
    });
    let last = client.connect(address, "n100.example").unwrap().certificate();
    assert_ne!(first, last);
    let certificates = server.told("/status")["certificates"].take();
    assert_eq!(certificates[0]["names"], serde_json::json!([NAME, "n100.example"]));
    assert_eq!(certificates[0]["problems"], serde_json::json!([]));
}

#[test]
fn a_changed_file_is_noticed_and_a_broken_one_refused_and_named() {
    let (plan, authority) = site(LISTENER);
    let server = plan.listen_as_configured(1).start();
    let [address] = addresses(&server, "https://")[..] else { panic!("{:?}", server.announced) };
    let client = authority.client(None);
    let shown = || client.connect(address, NAME).unwrap().certificate();
    let first = shown();
    server.directory().write("site.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n");
    let line =
        "changed certificates are not used, the old ones stay: `tls` of the listener 127.0.0.1:0: ";
    until("the refusal", || server.printed_errors().contains(line).then_some(()));
    assert_eq!(shown(), first);
    let reloaded = server.ctl_json(&["reload"]);
    assert_eq!(reloaded["state"], "refused");
    assert!(reloaded["problems"][0].as_str().unwrap().contains("site.pem` is not a PEM file"));
    assert_eq!(shown(), first);
    let refused = || server.told("/status")["certificates_refused"].take();
    assert!(refused().as_str().unwrap().starts_with(line));
    authority.issue(server.directory(), "site", &[NAME]);
    until("the new certificate", || (shown() != first).then_some(()));
    until("no refusal", || refused().is_null().then_some(()));
}

#[test]
fn check_reads_certificates_and_names_what_is_wrong() {
    let (plan, _) = site(LISTENER);
    let directory = &plan.directory;
    let check = || {
        let config = format!("--config={}", directory.join("velodrome.toml").display());
        run(Command::new(PROGRAM).arg("check").arg(directory.join("site")).arg(config))
    };
    let valid = check();
    assert!(valid.status.success(), "{valid:?}");
    let text = printed_by(&valid);
    assert!(text.contains("velodrome.example, 127.0.0.1 by CN=Authority of the tests, "), "{text}");
    let chain = directory.text("site.pem");
    let own = chain.split_inclusive("-----END CERTIFICATE-----").next().unwrap();
    directory.write("site.pem", own);
    let text = String::from_utf8(check().stderr).unwrap();
    assert!(text.contains("the chain ends before CN=Authority of the tests"), "{text}");
    let authority = Authority::in_directory(directory);
    authority.issue(directory, "later", &[NAME]);
    let list = LISTENER.replace("tls = ", "tls = [").replace(
        "site.key\" }",
        "site.key\" }, \
         { certificate = \"later.pem\", key = \"later.key\" }]",
    );
    directory.write("velodrome.toml", configuration(&list));
    let text = String::from_utf8(check().stderr).unwrap();
    assert!(text.contains("later.pem): no client gets it: "), "{text}");
    directory.write("velodrome.toml", configuration(LISTENER));
    authority.issue(directory, "other", &["other"]);
    directory.write("site.key", directory.text("other.key"));
    let broken = check();
    assert_eq!(broken.status.code(), Some(1));
    let text = String::from_utf8(broken.stderr).unwrap();
    assert!(text.contains("does not belong to the certificate in"), "{text}");
    directory.write(
        "velodrome.toml",
        configuration("[[listener]]\naddress = \"127.0.0.1:0\"\nclient_ca = \"ca.pem\"\n"),
    );
    let text = String::from_utf8(check().stderr).unwrap();
    assert!(text.contains("`client_ca` needs `tls`"), "{text}");
}

#[test]
fn old_versions_and_weak_ciphers_are_refused() {
    if !has("openssl", "old_versions_and_weak_ciphers_are_refused") {
        return;
    }
    let (plan, _) = site(LISTENER);
    let server = plan.listen_as_configured(1).start();
    let [address] = addresses(&server, "https://")[..] else { panic!("{:?}", server.announced) };
    let shake = |words: &[&str]| {
        let mut command = Command::new("openssl");
        command.args(["s_client", "-connect", &address.to_string()]).args(words);
        run(command.stdin(std::process::Stdio::null())).status.success()
    };
    assert!(shake(&["-tls1_3"]) && shake(&["-tls1_2"]));
    for refused in [
        &["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"][..],
        &["-tls1", "-cipher", "ALL:@SECLEVEL=0"],
        &["-tls1_2", "-cipher", "AES128-SHA"],
        &["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA"],
        &["-tls1_2", "-cipher", "AES128-GCM-SHA256"],
    ] {
        assert!(!shake(refused), "{refused:?}");
    }
    // The server refused them, not the client before it had asked.
    until("five refusals", || {
        let stats = server.told("/stats");
        let refused = |scheduler: &Value| {
            scheduler["handshake_failures"]["nothing_in_common"].as_u64().unwrap_or(0)
        };
        let all: u64 = stats["schedulers"].as_array().unwrap().iter().map(refused).sum();
        (all == 5).then_some(())
    });
}

#[test]
fn metrics_say_when_certificates_end() {
    let (plan, _) = site(LISTENER);
    let server = plan.listen_as_configured(1).start();
    let status: Value = server.told("/status");
    let certificate = &status["certificates"][0];
    assert!(certificate["days_left"].as_i64().unwrap() > 1000, "{certificate}");
    let mut control = Client::connect_unix(&server.plan.socket()).unwrap();
    let answer = control.get("/metrics").unwrap();
    let text = text(&answer);
    let line =
        text.lines().find(|line| line.starts_with("velodrome_certificate_not_after_seconds{"));
    let line = line.unwrap();
    assert!(line.contains("names=\"velodrome.example,127.0.0.1\""), "{text}");
    let end: f64 = line.rsplit(' ').next().unwrap().parse().unwrap();
    let left = end - SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
    assert!(left > 1000.0 * 24.0 * 3600.0, "{line}");
}
