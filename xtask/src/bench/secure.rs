//! The servers and the load of the workloads over TLS and HTTP/2: one certificate and key for all, and the ciphers that
//! the client prefers.
//!
//! Owns their configurations. Never starts anything.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::contender::SecureServer;
use crate::bench::site::{HAPROXY_CONNECTIONS, Site, shown};
use crate::failure::Failure;
use crate::process::installed;

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
    let words: Vec<String> = match server {
        SecureServer::Velodrome
        | SecureServer::Plain
        | SecureServer::Http1
        | SecureServer::Clear => {
            let config = write("velodrome.toml", velodrome(server, &pair, &files, address))?;
            let program = shown(&site.velodrome()?);
            vec![program, "serve".to_owned(), "--config".to_owned(), config]
        }
        SecureServer::Nginx => {
            site.nginx_with(address.port(), "", &nginx(&pair, &files, address))?
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
        SecureServer::H2o => {
            std::fs::write(files.join(JSON_FILE), JSON)?;
            let config = write("h2o.conf", h2o(&pair, &files, address))?;
            vec![installed("h2o", "h2o")?, "-c".to_owned(), config]
        }
        SecureServer::Apache => {
            std::fs::write(files.join(JSON_FILE), JSON)?;
            let config = write("apache2.conf", apache(&pair, &folder, &files, address))?;
            let program = installed("apache2", "apache2")?;
            [&*program, "-f", &config, "-D", "FOREGROUND"].map(str::to_owned).to_vec()
        }
    };
    Ok(words)
}

/// The file that a server sends which cannot answer with a text of its configuration.
const JSON_FILE: &str = "json";
const JSON: &str = r#"{"message":"Hello, World!"}"#;

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
        SecureServer::Clear => "h2c = true\n".to_owned(),
        _ => format!("tls = {{ certificate = \"{certificate}\", key = \"{key}\" }}\n"),
    };
    format!(
        "root = \"{}\"\nschedulers = 1\npin = false\n[[listener]]\naddress = \
         \"{address}\"\n{tls}[[channel]]\npattern = \"fan\"\n[[route]]\npath = \"/json\"\njson = {{ message \
         = \"Hello, World!\" }}\n[limits]\nkeep_alive = \"1h\"\n",
        files.display()
    )
}

fn nginx(pair: &Pair, files: &Path, address: SocketAddr) -> String {
    let Pair { certificate, key, .. } = pair;
    let files = files.display();
    format!(
        "sendfile on; open_file_cache max=1000 inactive=60s; open_file_cache_valid 60s;\n\
         server {{ listen {address} ssl http2 reuseport backlog=4096;\n\
         ssl_certificate {certificate}; ssl_certificate_key {key}; ssl_protocols TLSv1.2 TLSv1.3;\n\
         ssl_session_cache shared:s:10m; ssl_session_tickets on;\n\
         root {files};\nlocation = /json {{ default_type application/json;\n\
         return 200 '{{\"message\":\"Hello, World!\"}}'; }} }}\n"
    )
}

fn haproxy(pair: &Pair, address: SocketAddr) -> String {
    format!(
        "global\n nbthread 1\n maxconn {HAPROXY_CONNECTIONS}\n tune.ssl.default-dh-param 2048\ndefaults\n \
         mode http\n timeout client 1h\n timeout connect 5s\n timeout server 1h\nfrontend secure\n bind \
         {address} ssl crt {} alpn h2,http/1.1\nhttp-request return status 200 content-type application/json \
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

fn h2o(pair: &Pair, files: &Path, address: SocketAddr) -> String {
    let Pair { certificate, key, .. } = pair;
    let (host, port, files) = (address.ip(), address.port(), files.display());
    format!(
        "num-threads: 1\nuser: root\nhttp2-max-concurrent-requests-per-connection: 100\nlisten:\n  host: \
         {host}\n  port: {port}\n  ssl:\n    certificate-file: {certificate}\n    key-file: {key}\nhosts:\n  \
         default:\n    paths:\n      /:\n        file.dir: {files}\n        file.mime.setdefaulttype: \
         application/json\n"
    )
}

/// One process with as many threads as it wants: with one thread it would serve one connection at a time.
fn apache(pair: &Pair, folder: &Path, files: &Path, address: SocketAddr) -> String {
    let Pair { certificate, key, .. } = pair;
    let (folder, files) = (shown(folder), files.display());
    let modules = ["mpm_event", "authz_core", "socache_shmcb", "ssl", "http2", "mime"];
    let modules: String = modules
        .map(|name| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n"))
        .concat();
    format!(
        "{modules}ServerRoot {folder}\nPidFile {folder}/apache2.pid\nDefaultRuntimeDir {folder}\nErrorLog \
         {folder}/apache2.log\nServerName localhost\nListen {address}\nUser www-data\nGroup www-data\n\
         StartServers 1\nServerLimit 1\nThreadsPerChild 64\nMaxRequestWorkers 64\nProtocols h2 http/1.1\n\
         MaxKeepAliveRequests 0\nKeepAliveTimeout 3600\nTimeout 3600\nSSLEngine on\nSSLCertificateFile \
         {certificate}\nSSLCertificateKeyFile {key}\nTypesConfig /dev/null\nDocumentRoot {files}\n\
         <Location /{JSON_FILE}>\n  ForceType application/json\n</Location>\n"
    )
}

/// The flag with which the generator trusts them.
pub(crate) fn trust(site: &Site) -> String {
    format!("--cacert {}", shown(&certificate(site.folder())))
}
