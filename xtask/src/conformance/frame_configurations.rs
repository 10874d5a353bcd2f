//! The configuration of each server for the HTTP/2 requirements: with prior knowledge on a plain listener, so that the
//! suite needs no certificate. Bodies are sent back by the echo service behind each of them.
//!
//! Each function writes its server's configuration and returns its arguments.

use crate::conformance::configurations::{Addresses, BODY_LIMIT_BYTES};
use crate::conformance::site::Site;
use crate::failure::Failure;

/// Ours, with files and with a proxy before the echo service.
pub(crate) fn velodrome(site: &Site, addresses: &Addresses) -> Result<Vec<String>, Failure> {
    let Addresses { own, echo, .. } = addresses;
    let config = site.write(
        "velodrome-h2.toml",
        &format!(
            "root = \"files\"\n\
             [[listener]]\naddress = \"{own}\"\nh2c = true\n\
             [[upstream]]\nname = \"echo\"\nservers = [\"{echo}\"]\n\
             [[route]]\nprefix = \"/echo\"\nproxy = \"echo\"\n\
             [limits]\nbody_size = \"64 KiB\"\n"
        ),
    )?;
    let socket = site.folder().join("run/control-h2.sock");
    Ok(vec![
        "serve".to_owned(),
        site.files().display().to_string(),
        format!("--config={config}"),
        format!("--admin-socket={}", socket.display()),
        "--schedulers=1".to_owned(),
    ])
}

/// The nginx configuration of the suite's own test, so that a known deviation there is one here.
const NGINX: &str =
    include_str!("../../../crates/conformance/tests/conformance/nginx_server/nginx_frames.conf");

/// nginx as in the suite's own test.
pub(crate) fn nginx(site: &Site, addresses: &Addresses) -> Result<Vec<String>, Failure> {
    let folder = site.folder().display().to_string();
    let text = NGINX
        .replace("@FOLDER@", &folder)
        .replace("@ADDRESS@", &addresses.own.to_string())
        .replace("@BODY_LIMIT_BYTES@", &BODY_LIMIT_BYTES.to_string());
    let config = site.write("nginx-h2.conf", &text)?;
    Ok(["-p", &folder, "-e", "stderr", "-c", &config].map(str::to_owned).to_vec())
}

/// Apache serves files and proxies bodies.
pub(crate) fn apache2(site: &Site, addresses: &Addresses) -> Result<Vec<String>, Failure> {
    let Addresses { own, echo, .. } = addresses;
    let folder = site.folder().display();
    let modules = ["mpm_event", "authz_core", "dir", "mime", "http2", "proxy", "proxy_http"];
    let modules: String = modules
        .map(|name| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n"))
        .concat();
    let text = format!(
        "{modules}ServerRoot {folder}
PidFile {folder}/apache2-h2.pid
DefaultRuntimeDir {folder}/run
ErrorLog {folder}/apache2-h2.log
ServerName {own}
Listen {own}
User www-data
Group www-data
Protocols h2c http/1.1
H2Direct on
DocumentRoot {folder}/files
TypesConfig /dev/null
AddType text/plain .txt
LimitRequestBody {BODY_LIMIT_BYTES}
ProxyPass /echo http://{echo}/echo disablereuse=on
"
    );
    let config = site.write("apache2-h2.conf", &text)?;
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
    protocols h1 h2c
  }}
}}
http://:{port} {{
  bind {ip}
  root * {}
  request_body {{
    max_size {BODY_LIMIT_BYTES}
  }}
  reverse_proxy /echo {echo} {{
    transport http {{
      keepalive off
    }}
  }}
  file_server
}}
",
        files.display()
    );
    let config = site.write("Caddyfile-h2", &text)?;
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
  timeout client 10s
  timeout server 10s
frontend tried
  bind {own} proto h2
  use_backend echo if {{ path /echo }}
  default_backend files
backend files
  server velodrome {files}
backend echo
  server reflect {echo}
"
    );
    let config = site.write("haproxy-h2.cfg", &text)?;
    Ok(["-db", "-f", &config].map(str::to_owned).to_vec())
}

/// h2o serves files and proxies bodies.
pub(crate) fn h2o(site: &Site, addresses: &Addresses) -> Result<Vec<String>, Failure> {
    let Addresses { own, echo, .. } = addresses;
    let folder = site.folder().display();
    let (host, port) = (own.ip(), own.port());
    let text = format!(
        "listen:
  host: {host}
  port: {port}
user: root
num-threads: 1
limit-request-body: {BODY_LIMIT_BYTES}
error-log: {folder}/h2o.log
hosts:
  default:
    paths:
      /echo:
        proxy.reverse.url: http://{echo}/echo
        proxy.timeout.keepalive: 0
      /:
        file.dir: {folder}/files
"
    );
    let config = site.write("h2o.conf", &text)?;
    Ok(["-c", &config].map(str::to_owned).to_vec())
}
