//! The servers and the load of the workloads over TLS: one certificate and key for all, and the ciphers that the client
//! prefers.
//!
//! Owns their configurations. Never starts anything.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::contender::SecureServer;
use crate::bench::site::{
    HAPROXY_CONNECTIONS, NGINX_CONNECTIONS, Site, nginx_spools, nginx_user, shown,
};
use crate::failure::Failure;
use crate::process;

/// Writes the files of a server and returns its command line.
pub(crate) fn words(
    server: SecureServer,
    site: &Site,
    address: SocketAddr,
) -> Result<Vec<String>, Failure> {
    let pair = Pair::in_folder(site.folder())?;
    let folder = site.folder().join(format!("secure-{}", address.port()));
    std::fs::create_dir_all(&folder)?;
    let files = site.files();
    let write = |name: &str, text: String| -> Result<String, Failure> {
        let path = folder.join(name);
        std::fs::write(&path, text)?;
        Ok(shown(&path))
    };
    let installed = |program: &str, package: &str| {
        let found = process::find(program).map(|path| shown(&path));
        found.ok_or_else(|| Failure::Work(format!("not installed (apt: {package})")))
    };
    let words: Vec<String> = match server {
        SecureServer::Velodrome | SecureServer::Plain => {
            let config = write("velodrome.toml", velodrome(server, &pair, &files, address))?;
            let program = shown(&site.velodrome()?);
            vec![program, "serve".to_owned(), "--config".to_owned(), config]
        }
        SecureServer::Nginx => {
            let config = write("nginx.conf", nginx(&pair, &folder, &files, address))?;
            let folder = shown(&folder);
            let program = installed("nginx", "nginx-light")?;
            [&*program, "-e", "stderr", "-p", &folder, "-c", &config].map(str::to_owned).to_vec()
        }
        SecureServer::Haproxy => {
            let config = write("haproxy.cfg", haproxy(&pair, address))?;
            vec![installed("haproxy", "haproxy")?, "-f".to_owned(), config]
        }
        SecureServer::Caddy => {
            let config = write("Caddyfile", caddy(&pair, &files, address))?;
            let program = installed("caddy", "caddy")?;
            let adapter = ["--config", &config, "--adapter", "caddyfile"];
            [&[program, "run".to_owned()][..], &adapter.map(str::to_owned)].concat()
        }
    };
    Ok(words)
}

/// The certificate of all, which has signed itself, and its key.
struct Pair {
    certificate: String,
    key: String,
    both: String,
}

impl Pair {
    fn in_folder(folder: &Path) -> Result<Self, Failure> {
        let (certificate, key, both) =
            (certificate(folder), folder.join("secure.key"), folder.join("secure.both.pem"));
        if !both.is_file() {
            let mut openssl = Command::new("openssl");
            openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]);
            openssl.args(["-nodes", "-days", "30", "-subj", "/CN=localhost"]);
            openssl.args(["-addext", "subjectAltName=IP:127.0.0.1"]);
            openssl.args(["-addext", "basicConstraints=critical,CA:FALSE"]);
            openssl.arg("-keyout").arg(&key).arg("-out").arg(&certificate);
            let output = openssl
                .output()
                .map_err(|_| Failure::Work("openssl is not installed (apt: openssl)".to_owned()))?;
            if !output.status.success() {
                let why = String::from_utf8_lossy(&output.stderr).into_owned();
                return Err(Failure::Work(format!("no certificate: {why}")));
            }
            let text = std::fs::read_to_string(&certificate)? + &std::fs::read_to_string(&key)?;
            std::fs::write(&both, text)?;
        }
        Ok(Self { certificate: shown(&certificate), key: shown(&key), both: shown(&both) })
    }
}

fn certificate(folder: &Path) -> PathBuf {
    folder.join("secure.pem")
}

fn velodrome(server: SecureServer, pair: &Pair, files: &Path, address: SocketAddr) -> String {
    let Pair { certificate, key, .. } = pair;
    let tls = match server {
        SecureServer::Plain => String::new(),
        _ => format!("tls = {{ certificate = \"{certificate}\", key = \"{key}\" }}\n"),
    };
    format!(
        "root = \"{}\"\nschedulers = 1\npin = false\n[[listener]]\naddress = \
         \"{address}\"\n{tls}[[channel]]\npattern = \"fan\"\n[[route]]\npath = \"/json\"\njson = {{ message \
         = \"Hello, World!\" }}\n[limits]\nkeep_alive = \"1h\"\n",
        files.display()
    )
}

fn nginx(pair: &Pair, folder: &Path, files: &Path, address: SocketAddr) -> String {
    let Pair { certificate, key, .. } = pair;
    let (user, folder, files) = (nginx_user(), shown(folder), files.display());
    let spools = nginx_spools(&folder);
    format!(
        "{user}worker_processes 1;\ndaemon off;\npid {folder}/nginx.pid;\nerror_log stderr;\n\
         worker_rlimit_nofile {NGINX_CONNECTIONS};\nevents {{ worker_connections {NGINX_CONNECTIONS}; }}\n\
         http {{\n{spools} access_log off; sendfile on; tcp_nodelay on;\n\
         keepalive_requests 1000000000; keepalive_timeout 3600s;\n\
         open_file_cache max=1000 inactive=60s; open_file_cache_valid 60s;\n\
         server {{ listen {address} ssl reuseport backlog=4096;\n\
         ssl_certificate {certificate}; ssl_certificate_key {key}; ssl_protocols TLSv1.2 TLSv1.3;\n\
         ssl_session_cache shared:s:10m; ssl_session_tickets on;\n\
         root {files};\nlocation = /json {{ default_type application/json;\n\
         return 200 '{{\"message\":\"Hello, World!\"}}'; }} }} }}\n"
    )
}

fn haproxy(pair: &Pair, address: SocketAddr) -> String {
    format!(
        "global\n nbthread 1\n maxconn {HAPROXY_CONNECTIONS}\n tune.ssl.default-dh-param 2048\ndefaults\n \
         mode http\n timeout client 1h\n timeout connect 5s\n timeout server 1h\nfrontend secure\n bind \
         {address} ssl crt {} alpn http/1.1\nhttp-request return status 200 content-type application/json \
         string '{{\"message\":\"Hello, World!\"}}'\n",
        pair.both
    )
}

fn caddy(pair: &Pair, files: &Path, address: SocketAddr) -> String {
    let Pair { certificate, key, .. } = pair;
    format!(
        "{{\n admin off\n auto_https off\n}}\nhttps://127.0.0.1:{} {{\n tls {certificate} {key}\n root * \
         {}\nhandle /json {{\n header Content-Type application/json\n respond `{{\"message\":\"Hello, \
         World!\"}}`\n }}\nhandle {{\n file_server\n }}\n}}\n",
        address.port(),
        files.display()
    )
}

/// The flag with which the generator trusts them.
pub(crate) fn trust(site: &Site) -> String {
    format!("--cacert {}", shown(&certificate(site.folder())))
}
