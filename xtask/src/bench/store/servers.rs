//! Stores that are compared: their configurations, command lines and keys.
//!
//! Owns the configurations and that each has a folder of its own. Never measures.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::bench::contender::{Contender, Start, VALUE_BYTES};
use crate::bench::host::Cores;
use crate::bench::running::Running;
use crate::bench::site::{Site, shown};
use crate::failure::Failure;
use crate::process::installed;
use crate::server;

/// Starts an empty store.
pub(crate) fn start(contender: &Contender, site: &Site, cores: &Cores) -> Result<Running, Failure> {
    let address = server::free_address()?;
    let folder = folder(contender.name, site)?;
    let words = match contender.start {
        Start::Floor { mode, body_bytes } => {
            let floor = shown(&site.floor()?);
            vec![floor, address.to_string(), mode.to_owned(), body_bytes.to_string()]
        }
        Start::Store { sync } => {
            let site_folder = folder.join("site");
            std::fs::create_dir_all(&site_folder)?;
            let configuration = format!("[store]\npath = \"../data\"\nsync = \"{sync}\"\n");
            std::fs::write(site_folder.join("velodrome.toml"), configuration)?;
            let folder = site_folder.display();
            site.ours(&format!(
                "serve {folder} --schedulers 1 --listen-resp {address} --listen 127.0.0.1:0"
            ))?
        }
        Start::RedisStore { fsync } => {
            let log = match fsync {
                "never" => "--appendonly no".to_owned(),
                fsync => format!("--appendonly yes --appendfsync {fsync}"),
            };
            let line = format!(
                "--port {} --bind 127.0.0.1 --maxclients 20000 {log} --save",
                address.port()
            );
            let mut words = vec![installed("redis-server", "redis-server")?];
            words.extend(line.split(' ').map(str::to_owned));
            words.extend([String::new(), "--dir".to_owned(), shown(&folder)]);
            words
        }
        Start::Memcached => {
            let user = if rustix::process::geteuid().is_root() { "-u nobody " } else { "" };
            let line =
                format!("{user}-l 127.0.0.1 -p {} -U 0 -t 1 -m 1024 -c 20000", address.port());
            let mut words = vec![installed("memcached", "memcached")?];
            words.extend(line.split(' ').map(str::to_owned));
            words
        }
        _ => return Err(Failure::Work("it is no store".to_owned())),
    };
    Running::launch(contender.name, address, b"", &words, site, cores)
}

/// An empty folder on the disk of the target folder.
fn folder(name: &str, site: &Site) -> Result<PathBuf, Failure> {
    let folder = site.folder().join(format!("store-{name}"));
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// The command line of `velodrome bench store` for this server.
pub(crate) fn words(
    start: Start,
    address: SocketAddr,
    site: &Site,
    way: &str,
) -> Result<Vec<String>, Failure> {
    let place = match start {
        Start::Memcached => format!("memcached://{address}"),
        _ => address.to_string(),
    };
    // The floor sends the same bytes for every request.
    let unchecked = if matches!(start, Start::Floor { .. }) { " --unchecked" } else { "" };
    site.ours(&format!("bench store {place} -t 1 --json --value {VALUE_BYTES} {way}{unchecked}"))
}
