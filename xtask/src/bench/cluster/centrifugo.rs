//! Two nodes of Centrifugo on one server of NATS, which the nodes of a cluster are compared with.
//!
//! Owns their configuration, their start and their end. Never loads them.

use std::net::SocketAddr;

use serde_json::json;

use super::nodes::start_nats;
use crate::bench::accounting::{Spent, spent};

use crate::bench::host::Cores;
use crate::bench::site::{Site, shown};
use crate::client;
use crate::failure::Failure;
use crate::process::Guarded;
use crate::process::installed;
use crate::scratch::Scratch;
use crate::server::{self, leashed};

/// How it is installed; Debian has no package.
const PACKAGE: &str = "go install github.com/centrifugal/centrifugo/v6@v6.9.1";

/// Two nodes; they end with this.
pub(super) struct Centrifugo {
    nodes: [(SocketAddr, Guarded); 2],
    _folder: Scratch,
    /// Ends after the nodes.
    _nats: Guarded,
}

impl Centrifugo {
    pub(super) fn start(site: &Site, cores: &Cores) -> Result<Centrifugo, Failure> {
        let program = installed("centrifugo", PACKAGE)?;
        let folder = Scratch::at(site.folder().join("centrifugo"))?;
        let (nats, broker) = start_nats(site, folder.path())?;
        let start = |name: &str| {
            let address = server::free_address()?;
            let place = folder.path().join(format!("{name}.json"));
            std::fs::write(&place, configuration(address, broker).to_string())?;
            let core = cores.server.to_string();
            let words = ["taskset", "-c", &core, &program, "-c", &shown(&place)];
            let request = client::request(address, "/health");
            let guarded =
                server::start(leashed(&words), name, site.folder(), address, request.as_bytes())?;
            Ok::<_, Failure>((address, guarded))
        };
        let nodes = [start("centrifugo-0")?, start("centrifugo-1")?];
        Ok(Centrifugo { nodes, _folder: folder, _nats: nats })
    }

    /// The addresses of both.
    pub(super) fn addresses(&self) -> [SocketAddr; 2] {
        [self.nodes[0].0, self.nodes[1].0]
    }

    /// What the second node has spent.
    pub(super) fn spent(&self) -> Spent {
        spent(&self.nodes[1].1.family())
    }
}

/// A channel without history, which anybody may hear, and an API without a key.
fn configuration(address: SocketAddr, broker: SocketAddr) -> serde_json::Value {
    json!({
        "http_server": { "address": address.ip().to_string(), "port": address.port().to_string() },
        "broker": {
            "enabled": true, "type": "nats", "nats": { "url": format!("nats://{broker}") },
        },
        "client": { "allow_anonymous_connect_without_token": true },
        "channel": { "without_namespace": {
            "allow_subscribe_for_client": true, "allow_subscribe_for_anonymous": true,
        } },
        "uni_sse": { "enabled": true },
        "uni_websocket": { "enabled": true },
        "http_api": { "insecure": true },
        "health": { "enabled": true },
        "log": { "level": "error" },
    })
}
