//! The proxies that are compared, each in front of one do-nothing server on the core of the load.
//!
//! Owns the configuration of each. The server behind it is not counted: it costs all of them the same.

use std::net::SocketAddr;

use crate::bench::contender::Proxy;
use crate::bench::host::Cores;
use crate::bench::load;
use crate::bench::site::{HAPROXY_CONNECTIONS, Site, shown};
use crate::bench::workload::{Load, Workload};
use crate::client;
use crate::failure::Failure;
use crate::process::Guarded;
use crate::process::installed;
use crate::server::{self, leashed};

/// Starts the server behind the proxies.
pub(crate) fn start_behind(
    body_bytes: usize,
    workload: &Workload,
    site: &Site,
    cores: &Cores,
) -> Result<(SocketAddr, Guarded), Failure> {
    let address = server::free_address()?;
    let (program, core) = (shown(&site.floor()?), cores.load.to_string());
    let (listen, size) = (address.to_string(), body_bytes.to_string());
    let (mode, request_size) = match workload.load {
        Load::Upload { bytes, .. } => ("taking", bytes.to_string()),
        _ => ("kept", String::new()),
    };
    let mut words = vec!["taskset", "-c", &core, &program, &listen, mode, &size];
    words.extend([&*request_size].into_iter().filter(|size| !size.is_empty()));
    let request = request(workload, address);
    let guarded =
        server::start(leashed(&words), "behind", site.folder(), address, request.as_bytes())?;
    Ok((address, guarded))
}

/// A request of this load.
pub(crate) fn request(workload: &Workload, address: SocketAddr) -> String {
    match workload.load {
        Load::Upload { bytes, .. } => load::post(address, workload.path, &" ".repeat(bytes)),
        _ => client::request(address, workload.path),
    }
}

/// The file with the body of an upload of so many bytes.
pub(crate) fn body(site: &Site, bytes: usize) -> Result<String, Failure> {
    let path = site.folder().join(format!("upload-{bytes}.bin"));
    if !path.is_file() {
        std::fs::write(&path, " ".repeat(bytes))?;
    }
    Ok(shown(&path))
}

/// The command line of a proxy at this address, in front of that server.
pub(crate) fn words(
    proxy: Proxy,
    address: SocketAddr,
    behind: SocketAddr,
    site: &Site,
) -> Result<Vec<String>, Failure> {
    let folder = site.folder().join(format!("proxy-{}", address.port()));
    std::fs::create_dir_all(&folder)?;
    let file = folder.join("configuration");
    let (text, words) = match proxy {
        Proxy::None | Proxy::Ours | Proxy::OursCached | Proxy::OursOnDisk => {
            let text = match proxy {
                Proxy::Ours => ours(behind, ""),
                Proxy::OursCached => {
                    let bounds = "memory = \"256 MiB\", object = \"2 MiB\"";
                    ours(behind, &format!("cache = {{ {bounds}, default_ttl = \"1h\" }}\n"))
                }
                Proxy::OursOnDisk => {
                    let folder = site.folder().join(format!("cache-{}", address.port()));
                    let bounds = "memory = \"64 KiB\", object = \"0 B\"";
                    ours(
                        behind,
                        &format!(
                            "cache = {{ {bounds}, directory = \"{}\", default_ttl = \"1h\" }}\n",
                            shown(&folder)
                        ),
                    )
                }
                _ => "[[route]]\npath = \"/json\"\njson = { message = \"Hello, World!\" }\n"
                    .to_owned(),
            };
            let words = [shown(&site.velodrome()?), "serve".to_owned(), shown(&folder)];
            let config = ["--config".to_owned(), shown(&file), "--schedulers=1".to_owned()];
            let listen = ["--listen".to_owned(), address.to_string()];
            (text, words.into_iter().chain(config).chain(listen).collect::<Vec<String>>())
        }
        Proxy::Nginx | Proxy::NginxCached => {
            return site.nginx_with(address.port(), "", &nginx(address, behind, proxy));
        }
        Proxy::Ha => {
            let words = [&installed("haproxy", "haproxy")?, "-db", "-q", "-f", &shown(&file)];
            (haproxy(address, behind), words.map(str::to_owned).to_vec())
        }
    };
    std::fs::write(&file, text)?;
    Ok(words)
}

fn ours(behind: SocketAddr, cache: &str) -> String {
    format!(
        "[[route]]\nprefix = \"/\"\nproxy = \"behind\"\n\n\
         [[upstream]]\nname = \"behind\"\nservers = [\"{behind}\"]\n{cache}"
    )
}

/// Kept connections to the server, and the fields that each of the others sets too. With a cache it sends long bodies
/// from their files.
fn nginx(address: SocketAddr, behind: SocketAddr, proxy: Proxy) -> String {
    let (cache, used) = match proxy {
        Proxy::NginxCached => (
            "    sendfile on;\n    proxy_cache_path cache keys_zone=answers:10m;\n",
            "            proxy_cache answers;\n            proxy_cache_valid 200 1h;\n",
        ),
        _ => ("", ""),
    };
    format!(
        "{cache}    proxy_request_buffering off;\n    client_max_body_size 2m;\n\
         \x20   upstream behind {{ server {behind}; keepalive 256; keepalive_requests 1000000000; }}\n\
         \x20   server {{\n        listen {address} reuseport backlog=4096;\n        location / {{\n{used}\
         \x20           proxy_pass http://behind;\n            proxy_http_version 1.1;\n\
         \x20           proxy_set_header Connection \"\";\n            proxy_set_header Host $http_host;\n\
         \x20           proxy_set_header X-Forwarded-For $remote_addr;\n\
         \x20           proxy_set_header X-Forwarded-Proto $scheme;\n        }}\n    }}\n"
    )
}

fn haproxy(address: SocketAddr, behind: SocketAddr) -> String {
    format!(
        "global\n    nbthread 1\n    maxconn {HAPROXY_CONNECTIONS}\n\
         defaults\n    mode http\n    timeout connect 5s\n    timeout client 60s\n    timeout server 60s\n\
         \x20   option http-keep-alive\n    http-reuse always\n    option forwardfor\n\
         frontend front\n    bind {address}\n    default_backend behind\n\
         backend behind\n    server one {behind}\n"
    )
}
