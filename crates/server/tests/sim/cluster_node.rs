//! A node of a simulated cluster: its configuration, and its links to the simulated NATS.
//!
//! Owns both. Plays no client.

use std::path::Path;
use std::sync::Arc;

use channels::ClusterNode;
use cluster::{ClusterPlan, LinkEncryption, NatsCredentials, NatsServer, StreamPlan};
use runtime::mailbox::Endpoint;
use server::cluster_setup::ClusterSetup;
use server::conn::Connections;
use server::site::{Helpers, Site};
use server::site_data::SiteData;
use sys::socket::ListenAddress;

use crate::nats::nats_address;
use crate::world::{Setting, Stage, address};
use config::{Config, Overrides};

/// Where a node listens, for HTTP and for Redis clients.
pub(crate) fn addresses() -> [ListenAddress; 2] {
    [address(), ListenAddress::Tcp(([10, 0, 0, 1], 6379).into())]
}

fn data(history: u64) -> Arc<SiteData> {
    let text = format!(
        "[[listener]]\naddress = \"127.0.0.1:1\"\n[[listener]]\naddress = \"127.0.0.1:2\"\nprotocol = \
         \"resp\"\n[[channel]]\npattern = \"*\"\nhistory = {history}\nhistory_age = \"60s\"\n"
    );
    let root = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let read = Config::from_text(&text, "velodrome.toml", root, &Overrides::default());
    Arc::new(SiteData::compile(read.unwrap(), 1).unwrap())
}

fn setup(node: u64, history: u32) -> ClusterSetup {
    ClusterSetup::of_plan(ClusterPlan {
        node: ClusterNode(node),
        name: format!("node-{node}"),
        version: "1".to_owned(),
        prefix: "v".to_owned(),
        servers: vec![NatsServer {
            host: "10.0.0.9".to_owned(),
            port: 4222,
            encryption: LinkEncryption::Plain,
        }],
        credentials: NatsCredentials::default(),
        streams: StreamPlan {
            count: 2,
            replicas: 1,
            bytes: 1 << 30,
            messages: history,
            age_ms: 60_000,
            sections: 0,
        },
        publish_wait_ms: 5_000,
    })
}

/// The node with this number, and its schedulers.
pub(crate) fn node(setting: &Setting, number: u64, history: u32) -> Stage<Connections> {
    let data = data(u64::from(history));
    let setup = setup(number, history);
    let mut stage = Stage::new(setting, Vec::new(), |scheduler, _: &[Endpoint]| {
        let here = Endpoint(u16::try_from(scheduler).unwrap());
        let helpers = Helpers::of_files(u16::try_from(setting.schedulers).unwrap(), Vec::new());
        let mut site = Site::open(Arc::clone(&data), helpers, scheduler as u128).unwrap();
        site.join_schedulers(here, 7);
        let mut connections = Connections::new(site, &data, None);
        connections.join_cluster(&setup, here, setting.seed ^ number, 0);
        connections
    });
    stage.world.listen_remote(&nats_address());
    stage.listen_also(addresses()[1].clone());
    stage
}
