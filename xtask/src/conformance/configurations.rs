//! The configuration of each server: as small as its offers allow, with the deadlines for slow clients at one
//! second, and otherwise without changes that affect the requirements.
//!
//! A proxy uses a connection of its own for each body: ours closes idle connections after a second, and a body sent on
//! one at that moment would fail because of our server.
//!
//! Each function writes its server's configuration and returns its arguments.

use std::net::SocketAddr;

use crate::conformance::site::Site;
use crate::failure::Failure;

/// The largest body in bytes that the echo path accepts, here and in our own service.
pub(crate) const BODY_LIMIT_BYTES: u32 = 65_536;

/// The addresses of a run.
#[derive(Clone, Copy)]
pub(crate) struct Addresses {
    /// The server under test.
    pub(crate) own: SocketAddr,
    /// `velodrome serve` with the files.
    pub(crate) files: SocketAddr,
    /// The echo service.
    pub(crate) echo: SocketAddr,
}

/// Ours, with files.
pub(crate) fn serve(site: &Site, address: SocketAddr) -> Result<Vec<String>, Failure> {
    let config = site.write(
        "velodrome.toml",
        "root = \"files\"\n\
         [[route]]\nprefix = \"/moved\"\nredirect = { to = \"/elsewhere$path\", status = 301 }\n\
         [limits]\nheader_deadline = \"1s\"\nbody_idle = \"1s\"\nkeep_alive = \"1s\"\n",
    )?;
    let socket = site.folder().join("run/control.sock");
    Ok(vec![
        "serve".to_owned(),
        site.files().display().to_string(),
        format!("--config={config}"),
        format!("--listen={address}"),
        format!("--admin-socket={}", socket.display()),
        "--schedulers=1".to_owned(),
    ])
}

/// The nginx configuration of the suite's own test, so that a known deviation there is one here.
const NGINX: &str =
    include_str!("../../../crates/conformance/tests/conformance/nginx_server/nginx.conf");

/// nginx as in the suite's own test.
pub(crate) fn nginx(site: &Site, addresses: &Addresses) -> Result<Vec<String>, Failure> {
    let folder = site.folder().display().to_string();
    let text = NGINX
        .replace("@FOLDER@", &folder)
        .replace("@ADDRESS@", &addresses.own.to_string())
        .replace("@BODY_LIMIT_BYTES@", &BODY_LIMIT_BYTES.to_string());
    let config = site.write("nginx.conf", &text)?;
    Ok(["-p", &folder, "-e", "stderr", "-c", &config].map(str::to_owned).to_vec())
}

/// Apache serves files and proxies bodies.
pub(crate) fn apache2(site: &Site, addresses: &Addresses) -> Result<Vec<String>, Failure> {
    let Addresses { own, echo, .. } = addresses;
    let folder = site.folder().display();
    let modules =
        ["mpm_event", "authz_core", "dir", "alias", "mime", "reqtimeout", "proxy", "proxy_http"];
    let modules: String = modules
        .map(|name| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n"))
        .concat();
    let text = format!(
        "{modules}ServerRoot {folder}
PidFile {folder}/apache2.pid
DefaultRuntimeDir {folder}/run
ErrorLog {folder}/apache2.log
ServerName {own}
Listen {own}
User www-data
Group www-data
DocumentRoot {folder}/files
DirectoryIndex index.html
TypesConfig /dev/null
AddType text/plain .txt
AddType text/html .html
Timeout 1
KeepAliveTimeout 1
RequestReadTimeout header=1 body=1
LimitRequestBody {BODY_LIMIT_BYTES}
RedirectMatch 301 ^/moved(.*)$ /elsewhere$1
ProxyPass /echo http://{echo}/echo disablereuse=on
"
    );
    let config = site.write("apache2.conf", &text)?;
    Ok(["-f", &config, "-D", "FOREGROUND"].map(str::to_owned).to_vec())
}

/// Caddy serves files and proxies bodies.
pub(crate) fn caddy(site: &Site, addresses: &Addresses) -> Result<Vec<String>, Failure> {
    let Addresses { own, echo, .. } = addresses;
    let (ip, port, files) = (own.ip(), own.port(), site.files());
    let text = format!(
        "{{
  admin off
  auto_https off
  servers {{
    protocols h1
    timeouts {{
      read_header 1s
      read_body 1s
      idle 1s
    }}
  }}
}}
http://:{port} {{
  bind {ip}
  root * {}
  request_body {{
    max_size {BODY_LIMIT_BYTES}
  }}
  redir /moved* /elsewhere{{uri}} 301
  reverse_proxy /echo {echo} {{
    transport http {{
      keepalive off
    }}
  }}
  file_server {{
    precompressed gzip
  }}
}}
",
        files.display()
    );
    let config = site.write("Caddyfile", &text)?;
    Ok(["run", "--adapter", "caddyfile", "--config", &config].map(str::to_owned).to_vec())
}

/// HAProxy proxies everything.
pub(crate) fn haproxy(site: &Site, addresses: &Addresses) -> Result<Vec<String>, Failure> {
    let Addresses { own, files, echo } = addresses;
    let text = format!(
        "global
  maxconn 1000
defaults
  mode http
  timeout connect 1s
  timeout client 1s
  timeout server 3s
  timeout http-request 1s
  timeout http-keep-alive 1s
frontend tried
  bind {own}
  http-request redirect location /elsewhere%[path] code 301 if {{ path_beg /moved }}
  use_backend echo if {{ path /echo }}
  default_backend files
backend files
  server velodrome {files}
backend echo
  server reflect {echo}
"
    );
    let config = site.write("haproxy.cfg", &text)?;
    Ok(["-db", "-f", &config].map(str::to_owned).to_vec())
}
