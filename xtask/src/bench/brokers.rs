//! Broadcast servers that are compared: their configurations and command lines.
//!
//! Owns the configurations. Never starts a server.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::bench::site::{Site, shown};
use crate::failure::Failure;
use crate::process::installed;

/// Where Debian installs the module.
const NCHAN: &str = "/usr/lib/nginx/modules/ngx_nchan_module.so";

impl Site {
    /// Writes a folder with one channel; returns it.
    pub(super) fn channels(&self) -> Result<PathBuf, Failure> {
        let folder = self.folder().join("channels");
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("index.html"), "it stands\n")?;
        std::fs::write(folder.join("velodrome.toml"), "[[channel]]\npattern = \"fan\"\n")?;
        Ok(folder)
    }

    /// The command line of our server with one channel, whose members may come over HTTP/2 without TLS.
    pub(super) fn streams(&self, address: SocketAddr) -> Result<Vec<String>, Failure> {
        let folder = self.folder().join("streams");
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("index.html"), "it stands\n")?;
        let config = format!(
            "schedulers = 1\n[[listener]]\naddress = \"{address}\"\nh2c = true\n[[channel]]\npattern = \"fan\"\n"
        );
        std::fs::write(folder.join("velodrome.toml"), config)?;
        Ok(vec![shown(&self.velodrome()?), "serve".to_owned(), shown(&folder)])
    }

    /// The command line of Redis, without persistence.
    pub(super) fn redis(&self, port: u16) -> Result<Vec<String>, Failure> {
        let program = installed("redis-server", "redis-server")?;
        let folder = shown(self.folder());
        let port = port.to_string();
        let words = ["--port", &port, "--bind", "127.0.0.1", "--save", "", "--dir", &folder];
        Ok([&[program][..], &words.map(str::to_owned)].concat())
    }

    /// The command line of nginx with nchan; writes its configuration.
    pub(super) fn nchan(&self, port: u16) -> Result<Vec<String>, Failure> {
        if !Path::new(NCHAN).is_file() {
            return Err(Failure::Work("not installed (apt: libnginx-mod-nchan)".to_owned()));
        }
        let http = format!(
            "    server {{\n        listen 127.0.0.1:{port} backlog=4096;\n\
             \x20       location = / {{ return 200; }}\n\
             \x20       location = /sub/fan {{ nchan_subscriber eventsource; nchan_channel_id fan; }}\n\
             \x20       location = /pub/fan {{ nchan_publisher; nchan_channel_id fan;\n\
             \x20           nchan_message_buffer_length 0; }}\n    }}\n"
        );
        self.nginx_with(port, &format!("load_module {NCHAN};\n"), &http)
    }
}

/// The command line of NATS.
pub(super) fn nats(address: SocketAddr) -> Result<Vec<String>, Failure> {
    let program = installed("nats-server", "nats-server")?;
    let (host, port) = (address.ip().to_string(), address.port().to_string());
    Ok(vec![program, "-a".to_owned(), host, "-p".to_owned(), port])
}
