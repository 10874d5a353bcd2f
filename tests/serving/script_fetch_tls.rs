//! Goal: pages fetch over TLS from servers that others have written, and a failure says what is wrong. Method: the
//! built binary, and the servers of Python and OpenSSL.

use std::process::Command;

use rcgen::{KeyPair, date_time_ymd};

use crate::authority::Authority;
use crate::foreign_tls::{Files, Foreign};
use crate::server::client::text;
use crate::server::other::always;
use crate::server::{PROGRAM, Plan, Server, configuration, errors_of, has, run};

/// A page that shows the result of fetching the URL in its query.
const SHOW: &str = "<% local a, why = fetch(request.query.url) if not a then response:write(why) return end \
                    -%>\n<%= a.status %> <%= a.headers.location or a.body %>";

/// A page that sends megabytes, and reads what comes back piece by piece.
const ECHO: &str = "<% local body = ('0123456789abcdef'):rep(4 * 65536)\n\
    local answer = assert(fetch(request.query.url, { body = body, stream = true }))\n\
    local parts = {}\n\
    for piece in answer:pieces() do parts[#parts + 1] = piece end\n\
    response:write(tostring(table.concat(parts) == body), ' ', #body) %>";

/// A page that has little patience.
const LATE: &str =
    "<% local _, why = fetch(request.query.url, { timeout = 0.2 }) response:write(why) %>";

/// The names in the certificate of the other server.
const NAME: [&str; 1] = ["127.0.0.1"];

fn plan(config: &str) -> Plan {
    let plan = Plan::new().argument("--schedulers=1").config(config);
    plan.files(&[("show.page.txt", SHOW), ("echo.page.txt", ECHO), ("late.page.txt", LATE)])
}

/// A server whose pages trust this authority.
fn trusting(authority: &Authority, more: &str) -> Server {
    plan(&format!("[pages]\nfetch_ca = \"{}\"\n{more}", authority.file().display())).start()
}

/// The output of a page that fetches this.
fn show(server: &Server, host: &str, path: &str) -> String {
    let response = server.get(&format!("/show?url=https://{host}{path}"));
    assert_eq!(response.status, 200, "{}", server.printed_errors());
    text(&response).to_owned()
}

fn show_at(server: &Server, other: &Foreign, path: &str) -> String {
    show(server, &other.address().to_string(), path)
}

#[test]
fn both_versions_of_tls_are_spoken_and_sessions_are_resumed() {
    let test = "both_versions_of_tls_are_spoken_and_sessions_are_resumed";
    if !has("python3", test) || !has("openssl", test) {
        return;
    }
    let authority = Authority::new("Test");
    let files = authority.issue(&NAME);
    let server = trusting(&authority, "");
    for (limit, version) in [("TLSv1_3", "TLSv1.3"), ("TLSv1_2", "TLSv1.2")] {
        let other = Foreign::python(&files, None, limit);
        assert_eq!(show_at(&server, &other, "/"), format!("200 {version} full"));
        // The same connection, then others.
        assert_eq!(show_at(&server, &other, "/close"), format!("200 {version} full"));
        for _ in 0..3 {
            assert_eq!(show_at(&server, &other, "/close"), format!("200 {version} resumed"));
        }
    }
    let other = Foreign::openssl(&files, &[]);
    let page = show_at(&server, &other, "/");
    assert!(page.starts_with("200 <HTML>") && page.contains("TLSv1.3"), "{page}");
}

#[test]
fn bodies_pass_both_ways_and_an_end_without_close_notify_is_a_failure() {
    let test = "bodies_pass_both_ways_and_an_end_without_close_notify_is_a_failure";
    if !has("python3", test) {
        return;
    }
    let authority = Authority::new("Test");
    let server = trusting(&authority, "");
    let other = Foreign::python(&authority.issue(&NAME), None, "TLSv1_3");
    let response = server.get(&format!("/echo?url=https://{}/", other.address()));
    assert_eq!(text(&response), "true 4194304", "{}", server.printed_errors());
    assert_eq!(show_at(&server, &other, "/said"), "200 until the end");
    assert_eq!(show_at(&server, &other, "/cut"), "closed before the answer was whole");
    // A redirect to a plain connection is left to the page.
    assert_eq!(show_at(&server, &other, "/away"), "302 http://127.0.0.1/");
}

#[test]
fn a_fetch_whose_handshake_fails_gets_the_cause_and_the_server() {
    let test = "a_fetch_whose_handshake_fails_gets_the_cause_and_the_server";
    if !has("python3", test) || !has("openssl", test) {
        return;
    }
    let (authority, other) = (Authority::new("Test"), Authority::new("Other"));
    let server = trusting(&authority, "");
    let named = |files: &Files, host: &str| {
        let foreign = Foreign::python(files, None, "TLSv1_3");
        let host = format!("{host}:{}", foreign.address().port());
        show(&server, &host, "/").replace(&host, "HOST")
    };
    let good = authority.issue(&NAME);
    assert_eq!(named(&good, "127.0.0.1"), "200 TLSv1.3 full");
    assert_eq!(named(&good, "localhost"), "the certificate of HOST is for another name");
    let strange = other.issue(&NAME);
    assert_eq!(named(&strange, "127.0.0.1"), "the certificate of HOST is by an unknown authority");
    let old = authority.issue_with(&["127.0.0.1", "old"], KeyPair::generate().unwrap(), |params| {
        params.not_after = date_time_ymd(2021, 1, 1);
    });
    assert_eq!(named(&old, "127.0.0.1"), "the certificate of HOST has expired");
    let (plain, _) = always("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let http = Server::start("");
    assert_eq!(
        show(&server, &http.address().to_string(), "/"),
        format!("{} speaks no TLS", http.address())
    );
    drop(http);
    let weak = ["-tls1_2", "-cipher", "AES128-SHA@SECLEVEL=0"];
    let weak = Foreign::openssl(&authority.issue_rsa(&NAME), &weak);
    let refused = format!("{} refused the connection: alert 40 handshake_failure", weak.address());
    assert_eq!(show_at(&server, &weak, "/"), refused);
    // This one waits for the end of a head, which is never part of a hello.
    let response = server.get(&format!("/late?url=https://{plain}/"));
    assert_eq!(text(&response), "timeout");
}

#[test]
fn a_certificate_is_shown_to_servers_that_ask_for_one() {
    let test = "a_certificate_is_shown_to_servers_that_ask_for_one";
    if !has("python3", test) {
        return;
    }
    let (authority, clients) = (Authority::new("Test"), Authority::new("Clients"));
    let files = authority.issue(&NAME);
    let (certificate, key) = clients.issue(&["velodrome.example"]);
    let own = format!(
        "fetch_certificate = \"{}\"\nfetch_key = \"{}\"\n",
        certificate.display(),
        key.display()
    );
    let (with, without) = (trusting(&authority, &own), trusting(&authority, ""));
    for (limit, version, alert) in [
        ("TLSv1_3", "TLSv1.3", "alert 116 certificate_required"),
        ("TLSv1_2", "TLSv1.2", "alert 40 handshake_failure"),
    ] {
        let other = Foreign::python(&files, Some(&clients.file()), limit);
        let shown = format!("200 {version} full velodrome.example");
        assert_eq!(show_at(&with, &other, "/"), shown);
        assert_eq!(
            show_at(&without, &other, "/"),
            format!("{} refused the connection: {alert}", other.address())
        );
    }
}

#[test]
fn the_authorities_of_the_system_are_trusted_and_a_system_without_any_is_named() {
    let test = "the_authorities_of_the_system_are_trusted_and_a_system_without_any_is_named";
    if !has("python3", test) {
        return;
    }
    let authority = Authority::new("Test");
    let other = Foreign::python(&authority.issue(&NAME), None, "TLSv1_3");
    let empty = authority.directory().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let of_system = |file: &std::path::Path| {
        let plan = plan("").environment("SSL_CERT_FILE", &file.display().to_string());
        plan.environment("SSL_CERT_DIR", &empty.display().to_string()).start()
    };
    let server = of_system(&authority.file());
    assert_eq!(show_at(&server, &other, "/"), "200 TLSv1.3 full");
    let server = of_system(&empty.join("nothing"));
    let told = show_at(&server, &other, "/");
    assert!(told.starts_with("the system has no certificates of authorities"), "{told}");
    assert!(told.contains("`fetch_ca`"), "{told}");
}

#[test]
fn a_reload_reads_the_files_again_and_refuses_broken_ones() {
    let test = "a_reload_reads_the_files_again_and_refuses_broken_ones";
    if !has("python3", test) {
        return;
    }
    let (authority, next) = (Authority::new("Test"), Authority::new("Next"));
    let server = plan("[pages]\nfetch_ca = \"keys/ca.pem\"\n");
    let ca = |authority: &Authority| std::fs::read(authority.file()).unwrap();
    server.directory.write("keys/ca.pem", ca(&authority));
    let server = server.start();
    let now = Foreign::python(&authority.issue(&NAME), None, "TLSv1_3");
    let later = Foreign::python(&next.issue(&NAME), None, "TLSv1_3");
    assert_eq!(show_at(&server, &now, "/"), "200 TLSv1.3 full");
    server.directory().write("keys/ca.pem", "no certificate");
    let refused = server.ctl(&["reload"]);
    assert!(!refused.status.success());
    assert!(server.printed_errors().contains("ca.pem` has no certificate"));
    assert_eq!(show_at(&server, &now, "/close"), "200 TLSv1.3 full");
    server.directory().write("keys/ca.pem", ca(&next));
    assert!(server.ctl(&["reload"]).status.success(), "{}", server.printed_errors());
    let unknown = format!("the certificate of {} is by an unknown authority", now.address());
    assert_eq!(show_at(&server, &now, "/"), unknown, "also where there was a connection");
    assert_eq!(show_at(&server, &later, "/"), "200 TLSv1.3 full");
}

#[test]
fn files_that_cannot_be_used_are_named_before_the_start() {
    let authority = Authority::new("Test");
    let (certificate, key) = authority.issue(&["one.example"]);
    let (_, other) = authority.issue(&["two.example"]);
    let plan = plan("");
    std::fs::copy(&key, plan.directory.join("site/served.key")).unwrap();
    let own = |key: &std::path::Path| {
        let certificate = certificate.display();
        format!("fetch_certificate = \"{certificate}\"\nfetch_key = \"{}\"\n", key.display())
    };
    for (config, told) in [
        ("fetch_ca = \"missing.pem\"\n".to_owned(), "missing.pem`: No such file"),
        ("fetch_ca = \"velodrome.toml\"\n".to_owned(), "velodrome.toml` has no certificate"),
        (own(&other), "does not belong to the certificate in"),
        (own(&certificate), "has no private key"),
        (own(std::path::Path::new("site/served.key")), "which is served"),
        (format!("fetch_key = \"{}\"\n", key.display()), "`fetch_key` needs `fetch_certificate`"),
    ] {
        let config = configuration(&format!("[pages]\n{config}"));
        plan.directory.write("velodrome.toml", config);
        let printed = errors_of(&plan.fail());
        assert!(printed.contains("fetch_") && printed.contains(told), "{told}: {printed}");
        let mut check = Command::new(PROGRAM);
        check.arg("check").arg(plan.directory.join("site"));
        let checked = run(check.arg("--config").arg(plan.directory.join("velodrome.toml")));
        assert!(!checked.status.success() && errors_of(&checked).contains(told), "{told}");
    }
}
