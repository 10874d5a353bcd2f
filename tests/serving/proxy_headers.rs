//! Goal: a server behind `proxy_protocol` is told of the client of each request, before TLS and before the first byte
//! of HTTP, and no connection that tells of one client carries a request of another. Method: the built binary, servers
//! that read each byte of the header, and HAProxy as the receiver.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::authority::Authority;
use crate::server::client::read;
use crate::server::patience::{PATIENCE, until};
use crate::server::upstreams::{
    OK, all_to, by_hand, connect, exchange, get, next, read_to, rest, start,
};
use crate::server::{Ending, Plan, Server, has, used_port};

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// A server at a port that is known before it starts, because a header has the address that the configuration has.
fn at_port(plan: Plan, config: &str) -> Server {
    let (listener, address) = used_port();
    drop(listener);
    plan.argument("--schedulers=1").config(config).listen(&address.to_string()).start()
}

/// Sends a request, has the server answer, and returns what stood before the request and where it came from.
fn told(
    client: &mut (impl Read + Write),
    connections: &std::sync::mpsc::Receiver<TcpStream>,
    fields: &str,
) -> String {
    let request =
        String::from_utf8_lossy(REQUEST).replace("\r\n\r\n", &format!("\r\n{fields}\r\n"));
    client.write_all(request.as_bytes()).unwrap();
    let mut server = next(connections);
    let heard = read_to(&mut server, "\r\n\r\n");
    server.write_all(OK.as_bytes()).unwrap();
    read_to(client, "\r\n\r\nok");
    // No other request follows on this connection, and it is not kept in vain, as an idle one is for 30 s.
    server.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    assert_eq!(read(&mut server, &mut [0]).unwrap(), 0);
    heard.split_once("GET / HTTP/1.1\r\n").unwrap().0.to_owned()
}

#[test]
fn each_request_has_a_connection_that_tells_of_its_client() {
    let (address, connections) = by_hand();
    let server = at_port(Plan::new(), &all_to(&[address], "proxy_protocol = \"v1\""));
    let port = server.address().port();
    for _ in 0..2 {
        let mut client = connect(&server);
        let from = client.local_addr().unwrap().port();
        let header = format!("PROXY TCP4 127.0.0.1 127.0.0.1 {from} {port}\r\n");
        // The second request on the same connection of the client, too.
        for _ in 0..2 {
            assert_eq!(told(&mut client, &connections, ""), header);
        }
    }
}

#[test]
fn the_binary_header_tells_the_same() {
    let (address, connections) = by_hand();
    let server = at_port(Plan::new(), &all_to(&[address], "proxy_protocol = \"v2\""));
    let mut client = connect(&server);
    client.write_all(REQUEST).unwrap();
    let mut backend = next(&connections);
    let mut header = [0; 28];
    backend.read_exact(&mut header).unwrap();
    let ports = [client.local_addr().unwrap().port(), server.address().port()];
    let ports: Vec<u8> = ports.iter().flat_map(|port| port.to_be_bytes()).collect();
    let expected: [&[u8]; 4] =
        [b"\r\n\r\n\0\r\nQUIT\n", &[0x21, 0x11, 0, 12], &[127, 0, 0, 1, 127, 0, 0, 1], &ports];
    assert_eq!(header.as_slice(), expected.concat());
    assert!(read_to(&mut backend, "\r\n\r\n").starts_with("GET / HTTP/1.1\r\n"));
}

#[test]
fn a_trusted_proxy_says_who_the_client_is() {
    let (address, connections) = by_hand();
    let trust = "trusted_proxies = [\"127.0.0.1\"]\ntrusted_fields = [\"x-forwarded-for\"]\n";
    let config = format!("{trust}{}", all_to(&[address], "proxy_protocol = \"v1\""));
    let server = at_port(Plan::new(), &config);
    let port = server.address().port();
    let mut client = connect(&server);
    for (address, family, to) in [
        ("192.0.2.7", "TCP4", "127.0.0.1"),
        ("198.51.100.8", "TCP4", "127.0.0.1"),
        ("2001:db8::9", "TCP6", "::ffff:127.0.0.1"),
    ] {
        let fields = format!("X-Forwarded-For: {address}\r\n");
        let header = told(&mut client, &connections, &fields);
        assert_eq!(header, format!("PROXY {family} {address} {to} 0 {port}\r\n"));
    }
}

#[test]
fn a_client_of_a_unix_socket_has_no_address() {
    let (address, connections) = by_hand();
    let plan = Plan::new();
    let socket = plan.directory.join("run/web.sock");
    let listener = format!("[[listener]]\naddress = \"unix:{}\"\n", socket.display());
    let upstream = all_to(&[address], "proxy_protocol = \"v1\"");
    let _server = plan.config(&format!("{listener}{upstream}")).listen_as_configured(1).start();
    let mut client = UnixStream::connect(&socket).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!(told(&mut client, &connections, ""), "PROXY UNKNOWN\r\n");
}

#[test]
fn checks_tell_of_nobody() {
    for (version, header) in
        [("v1", &b"PROXY UNKNOWN\r\n"[..]), ("v2", b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0")]
    {
        let (address, connections) = by_hand();
        let keys = format!("check = \"/health\"\nproxy_protocol = \"{version}\"");
        let _server = start(&all_to(&[address], &keys));
        let mut backend = next(&connections);
        let mut heard = vec![0; header.len()];
        backend.read_exact(&mut heard).unwrap();
        assert_eq!(heard, header, "{version}");
        assert!(read_to(&mut backend, "\r\n\r\n").starts_with("GET /health HTTP/1.1\r\n"));
    }
}

/// HAProxy behind PROXY headers, which answers with what it believes: client, and whether the connection is encrypted.
fn haproxy(plan: &Plan, encryption: &str) -> (Ending, SocketAddr) {
    let (listener, address) = used_port();
    drop(listener);
    let config = format!(
        "defaults\n  mode http\n  timeout connect 9s\n  timeout client 9s\n  timeout server 9s\nfrontend \
         web\n  bind {address} accept-proxy {encryption}\n  http-request return status 200 content-type \
         text/plain lf-string \"%[src] %[src_port] %[dst_port] %[ssl_fc].\"\n"
    );
    plan.directory.write("run/haproxy.cfg", config);
    let mut command = Command::new("haproxy");
    command.args(["-q", "-db", "-f"]).arg(plan.directory.join("run/haproxy.cfg"));
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let process = Ending(command.spawn().unwrap());
    until("HAProxy", || TcpStream::connect(address).ok());
    (process, address)
}

#[test]
fn haproxy_understands_the_header_in_front_of_tls_too() {
    if !has("haproxy", "haproxy_understands_the_header_in_front_of_tls_too") {
        return;
    }
    let authority = Authority::new("Test");
    for version in ["v1", "v2"] {
        for encrypted in [0, 1] {
            let plan = Plan::new();
            let (certificate, key) = authority.issue(&["127.0.0.1"]);
            let both = [certificate, key].map(|file| std::fs::read_to_string(file).unwrap());
            plan.directory.write("run/server.pem", both.concat());
            let pem = plan.directory.join("run/server.pem");
            let encryption = format!("ssl crt {}", pem.display());
            let encryption = if encrypted == 1 { &*encryption } else { "" };
            let (_haproxy, address) = haproxy(&plan, encryption);
            let ca = format!("\ntls = true\nca = \"{}\"", authority.file().display());
            let tls = if encrypted == 1 { &*ca } else { "" };
            let keys = format!("proxy_protocol = \"{version}\"{tls}");
            let server = at_port(plan, &all_to(&[address], &keys));
            for _ in 0..2 {
                let mut client = connect(&server);
                let from = client.local_addr().unwrap().port();
                client.write_all(get("/", "").as_bytes()).unwrap();
                let answer = rest(&mut client);
                let port = server.address().port();
                let believed = format!("\r\n\r\n127.0.0.1 {from} {port} {encrypted}.");
                assert!(answer.ends_with(&believed), "{version} {encrypted}: {answer}");
            }
        }
    }
}

#[test]
fn an_upstream_without_the_setting_gets_no_header() {
    let (address, connections) = by_hand();
    let server = start(&all_to(&[address], ""));
    let answered = std::thread::spawn(move || {
        let mut backend = next(&connections);
        let heard = read_to(&mut backend, "\r\n\r\n");
        backend.write_all(OK.as_bytes()).unwrap();
        heard
    });
    assert!(exchange(&server, &get("/", "")).ends_with("\r\n\r\nok"));
    assert!(answered.join().unwrap().starts_with("GET / HTTP/1.1\r\n"));
}
