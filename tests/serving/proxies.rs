//! Goal: behind real proxies the client is the client, for pages, hosts, cookies and the log; and no stranger can pass
//! for somebody else. Method: the built binary behind nginx, HAProxy and Caddy over a Unix socket, and raw clients.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::server::client::{Client, field, text};
use crate::server::patience::until;
use crate::server::{Plan, Server, used_port};

const PAGE: &str = "<%= request.peer %> <%= request.scheme %> <%= request.headers['x-forwarded-for'] or '-' \
                    %> <%= request.headers['forwarded'] or '-' %> <%= request.headers['x-real-ip'] or '-' \
                    %>";

const HOSTS: &str = "[[route]]\npath = \"/host\"\nrespond = { body = \"default\" }\n\
    [[host]]\nnames = [\"a.example\"]\n[[host.route]]\npath = \"/host\"\nrespond = { body = \"a\" }\n\
    [log]\naccess = \"access.log\"\n";

/// A server behind a Unix socket, of whose peers it believes these, and a TCP port for strangers.
fn start(settings: &str) -> Server {
    let plan = Plan::new();
    let socket = plan.directory.join("run/web.sock");
    let listeners = format!(
        "[[listener]]\naddress = \"127.0.0.1:0\"\n[[listener]]\naddress = \"unix:{}\"\n",
        socket.display()
    );
    plan.config(&format!("{settings}\n{listeners}{HOSTS}"))
        .listen_as_configured(2)
        .file("who.page.txt", PAGE)
        .file("login.page.txt", "<% request.session.user = 'Ada' %>in")
        .file("a.txt", "a")
        .start()
}

/// A proxy in front of a server.
struct Proxy(Child);

impl Proxy {
    /// Starts a program, if it is installed, and waits until it listens.
    #[expect(clippy::print_stdout, reason = "what is skipped has to be seen")]
    fn start(test: &str, words: &[&str], server: &Server, address: SocketAddr) -> Option<Self> {
        let errors = std::fs::File::create(server.directory().join("proxy.txt")).unwrap();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).env("HOME", server.directory().join("run"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
        let Ok(child) = command.spawn() else {
            println!("SKIPPED {test}: {} is not installed", words[0]);
            return None;
        };
        let mut proxy = Self(child);
        until("the proxy", || {
            if let Some(status) = proxy.0.try_wait().unwrap() {
                panic!("{words:?}: {status}: {}", server.directory().text("proxy.txt"));
            }
            Client::connect(address).ok()
        });
        Some(proxy)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ended = self.0.kill();
        let _waited = self.0.wait();
    }
}

fn free_address() -> SocketAddr {
    let (listener, address) = used_port();
    drop(listener);
    address
}

fn ask(address: SocketAddr, path: &str, fields: &[(&str, &str)]) -> String {
    let response = Client::connect(address).unwrap().request("GET", path, fields).unwrap();
    format!("{} {}", response.status, text(&response))
}

/// Fields that a stranger sends to pass for somebody else.
const SPOOFED: [(&str, &str); 4] = [
    ("X-Forwarded-For", "6.6.6.6"),
    ("Forwarded", "for=6.6.6.6;proto=https;host=a.example"),
    ("X-Forwarded-Proto", "https"),
    ("X-Forwarded-Host", "a.example"),
];

/// Through a proxy as the document has it: the client is found, and what it made up does not count.
fn behind(server: &Server, address: SocketAddr) {
    for fields in [&[][..], &SPOOFED] {
        let told = ask(address, "/who", fields);
        assert!(told.starts_with("200 127.0.0.1 http "), "{fields:?}: {told}");
        assert_eq!(ask(address, "/host", fields), "200 default", "{fields:?}");
        assert_eq!(ask(address, "/a.txt", fields), "200 a");
    }
    assert_eq!(ask(address, "/host", &[("Host", "a.example")]), "200 a");
    let log = server.directory().join("access.log");
    let lines = until("the log", || {
        let text = std::fs::read_to_string(&log).ok()?;
        (text.lines().count() >= 7).then_some(text)
    });
    for line in lines.lines() {
        assert!(line.starts_with("127.0.0.1 - "), "{line}");
    }
}

/// The block of the document behind this heading, with the test's addresses and paths.
fn documented(heading: &str, proxy: SocketAddr, socket: &Path) -> String {
    let document = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/proxies.md"));
    let (_, rest) = document.split_once(&format!("## {heading}\n")).unwrap();
    let block = rest.split("```").nth(1).unwrap();
    let (_language, block) = block.split_once('\n').unwrap();
    block
        .replace("unix:/run/velodrome/web.sock", &format!("unix:{}", socket.display()))
        .replace("unix//run/velodrome/web.sock", &format!("unix/{}", socket.display()))
        .replace("unix@/run/velodrome/web.sock", &format!("unix@{}", socket.display()))
        .replace("listen 80;", &format!("listen {proxy};"))
        .replace("bind :80\n", &format!("bind {proxy}\n"))
        .replace("example.org {", &format!("http://:{} {{", proxy.port()))
}

const TRUSTED: &str = "trusted_proxies = [\"unix\"]";

#[test]
fn behind_nginx_the_client_is_the_one_that_nginx_tells_of() {
    let server =
        start(&format!("{TRUSTED}\ntrusted_fields = [\"x-forwarded-for\", \"x-forwarded-proto\"]"));
    let (address, directory) = (free_address(), server.directory().join("run"));
    let site = documented("nginx", address, &directory.join("web.sock"));
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .iter()
        .map(|name| format!("{name}_temp_path {}/{name};\n", directory.display()))
        .collect();
    let config = format!(
        "daemon off;\nmaster_process off;\npid {0}/nginx.pid;\nerror_log stderr;\nevents {{}}\n\
         http {{\naccess_log off;\n{temporary}{site}\n}}\n",
        directory.display()
    );
    server.directory().write("run/nginx.conf", config);
    let file = directory.join("nginx.conf").display().to_string();
    let program = if Path::new("/usr/sbin/nginx").exists() { "/usr/sbin/nginx" } else { "nginx" };
    let words = [program, "-e", "stderr", "-c", &file];
    let Some(_proxy) = Proxy::start(
        "behind_nginx_the_client_is_the_one_that_nginx_tells_of",
        &words,
        &server,
        address,
    ) else {
        return;
    };
    behind(&server, address);
}

#[test]
fn behind_haproxy_the_client_is_the_one_that_haproxy_tells_of() {
    let server =
        start(&format!("{TRUSTED}\ntrusted_fields = [\"x-forwarded-for\", \"x-forwarded-proto\"]"));
    let (address, directory) = (free_address(), server.directory().join("run"));
    let config = documented("HAProxy", address, &directory.join("web.sock"));
    server.directory().write("run/haproxy.cfg", config);
    let file = directory.join("haproxy.cfg").display().to_string();
    let haproxy = Path::new("/usr/sbin/haproxy");
    let program = if haproxy.exists() { "/usr/sbin/haproxy" } else { "haproxy" };
    let words = [program, "-q", "-db", "-f", &file];
    let Some(_proxy) = Proxy::start(
        "behind_haproxy_the_client_is_the_one_that_haproxy_tells_of",
        &words,
        &server,
        address,
    ) else {
        return;
    };
    behind(&server, address);
}

#[test]
fn behind_caddy_the_client_is_the_one_that_caddy_tells_of() {
    let server = start(&format!(
        "{TRUSTED}\ntrusted_fields = [\"x-forwarded-for\", \"x-forwarded-proto\", \"x-forwarded-host\"]"
    ));
    let (address, directory) = (free_address(), server.directory().join("run"));
    let site = documented("Caddy", address, &directory.join("web.sock"));
    let config = format!("{{\nadmin off\nauto_https off\n}}\n{site}");
    server.directory().write("run/Caddyfile", config);
    let file = directory.join("Caddyfile").display().to_string();
    let words = ["caddy", "run", "--adapter", "caddyfile", "--config", &file];
    let Some(_proxy) = Proxy::start(
        "behind_caddy_the_client_is_the_one_that_caddy_tells_of",
        &words,
        &server,
        address,
    ) else {
        return;
    };
    behind(&server, address);
}

/// One request over the Unix socket, as a trusted proxy sends it.
fn as_proxy(server: &Server, path: &str, fields: &[(&str, &str)]) -> conformance::ParsedResponse {
    let socket = server.directory().join("run/web.sock");
    Client::connect_unix(&socket).unwrap().request("GET", path, fields).unwrap()
}

#[test]
fn trusted_proxy_sets_client_for_pages_hosts_cookies_and_log() {
    let server = start(TRUSTED);
    let told = [
        ("X-Forwarded-For", "6.6.6.6, 2001:db8::7"),
        ("X-Forwarded-Proto", "https"),
        ("X-Forwarded-Host", "a.example"),
        ("X-Real-IP", "kept"),
    ];
    let response = as_proxy(&server, "/who", &told);
    assert_eq!(text(&response), "2001:db8::7 https 6.6.6.6, 2001:db8::7 - kept");
    assert_eq!(text(&as_proxy(&server, "/host", &told)), "a");
    let newer = [("Forwarded", "for=\"[2001:db8::7]:4711\";proto=https;host=a.example")];
    assert_eq!(text(&as_proxy(&server, "/host", &newer)), "a");
    // Hidden by the proxy: its own address counts.
    let hidden = [("Forwarded", "for=unknown;proto=https")];
    assert!(text(&as_proxy(&server, "/who", &hidden)).starts_with("0.0.0.0 https "));
    assert!(text(&as_proxy(&server, "/who", &newer)).starts_with("2001:db8::7 https "));
    let cookie = |fields: &[(&str, &str)]| {
        field(&as_proxy(&server, "/login", fields), "Set-Cookie").to_owned()
    };
    assert!(cookie(&told).contains("; Secure"), "{}", cookie(&told));
    assert!(!cookie(&[]).contains("; Secure"));
    assert!(text(&as_proxy(&server, "/who", &[])).starts_with("0.0.0.0 http "));
    let log = until("the log", || {
        let text = server.directory().text("access.log");
        (text.lines().count() >= 8).then_some(text)
    });
    let peers: Vec<&str> = log.lines().map(|line| line.split(' ').next().unwrap()).collect();
    let client = "2001:db8::7";
    assert_eq!(peers, [client, client, client, "unix:", client, client, "unix:", "unix:"]);
}

#[test]
fn forwarding_fields_of_a_stranger_are_removed() {
    for settings in [TRUSTED, "", "trusted_proxies = [\"10.0.0.0/8\", \"::1\"]"] {
        let server = start(settings);
        let (address, mut client) = (server.address(), server.client());
        let mut fields = SPOOFED.to_vec();
        fields.extend([("X-Real-IP", "6.6.6.6"), ("x_forwarded_for", "6.6.6.6")]);
        assert_eq!(ask(address, "/who", &fields), "200 127.0.0.1 http - - -");
        assert_eq!(ask(address, "/host", &fields), "200 default");
        assert_eq!(
            ask(address, "/who", &[("X-Forwarded-For", "nonsense")]),
            "200 127.0.0.1 http - - -"
        );
        let login = client.request("GET", "/login", &fields).unwrap();
        assert!(!field(&login, "Set-Cookie").contains("; Secure"));
        let log = until("the log", || {
            let text = server.directory().text("access.log");
            (text.lines().count() >= 4).then_some(text)
        });
        assert!(log.lines().all(|line| line.starts_with("127.0.0.1 - ")), "{log}");
    }
}

/// Statements that cannot be true are refused. The proxy's own address would be no substitute: it may be allowed more.
#[test]
fn contradictory_fields_of_a_trusted_proxy_are_refused() {
    let server = start(TRUSTED);
    for fields in [
        &[("X-Forwarded-For", "192.0.2.1, nonsense")][..],
        &[("X-Forwarded-For", "fe80::1%eth0")],
        &[("X-Forwarded-For", "192.0.2.1"), ("Forwarded", "for=6.6.6.6")],
        &[("Forwarded", "for=\"unknown:x\"")],
        &[("Forwarded", "for=6.6.6.6;x=\""), ("Forwarded", "for=192.0.2.1")],
        &[("X-Forwarded-Proto", "gopher")],
        &[("X-Forwarded-Host", "a.example/evil")],
    ] {
        assert_eq!(as_proxy(&server, "/who", fields).status, 400, "{fields:?}");
    }
    server.reaches("/http/forwarded_refused", 7);
    assert!(server.printed_errors().contains("requests from the trusted proxy"));
    let doubled = [("X-Forwarded-For", "6.6.6.6"), ("X-Forwarded-For", "192.0.2.1")];
    assert!(text(&as_proxy(&server, "/who", &doubled)).starts_with("192.0.2.1 "));
}

#[test]
fn a_request_that_waits_for_its_body_keeps_its_client() {
    let server = start(TRUSTED);
    let socket = server.directory().join("run/web.sock");
    let mut client = Client::connect_unix(&socket).unwrap();
    let head = "POST /who HTTP/1.1\r\nHost: b\r\nContent-Length: 2\r\nX-Forwarded-For: \
                192.0.2.9\r\nX-Forwarded-Proto: https\r\n\r\n";
    client.send(head).unwrap();
    client.send("ab").unwrap();
    let response = client.response(conformance::RequestKind::of_method(Some("POST"))).unwrap();
    assert!(text(&response).starts_with("192.0.2.9 https "), "{}", text(&response));
}
