//! The handshake with a server: what it tells of itself, and what this side answers.
//!
//! Owns both texts. Never sends them.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::plan::ClusterPlan;

/// The facts that a server tells of itself. Those that it does not say are empty.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct NatsInfo {
    /// Its name.
    pub server_name: String,
    /// Its version.
    pub version: String,
    /// The largest message.
    pub max_payload: usize,
    /// Whether it has JetStream.
    pub jetstream: bool,
    /// Whether it knows header fields.
    pub headers: bool,
    /// Whether it wants credentials.
    pub auth_required: bool,
    /// Whether it wants encrypted connections.
    pub tls_required: bool,
    /// Whether it allows encrypted connections.
    pub tls_available: bool,
    /// The text that is to be signed.
    pub nonce: Option<String>,
    /// The cluster that it is in, if it has others.
    pub cluster: Option<String>,
    /// Other servers.
    pub connect_urls: Vec<String>,
    /// Whether it is about to stop.
    pub ldm: bool,
}

impl NatsInfo {
    /// Reads it.
    pub fn read(json: &[u8]) -> Option<Self> {
        serde_json::from_slice(json).ok()
    }

    /// Whether connections to this server may be encrypted.
    pub fn offers_tls(&self) -> bool {
        self.tls_required || self.tls_available
    }
}

#[derive(Serialize, Default)]
struct Introduction<'p> {
    verbose: bool,
    pedantic: bool,
    tls_required: bool,
    name: &'p str,
    lang: &'static str,
    version: &'p str,
    protocol: u8,
    echo: bool,
    headers: bool,
    no_responders: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<&'p str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pass: Option<&'p str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    auth_token: Option<&'p str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nkey: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sig: Option<String>,
}

/// The answer to a server.
pub(crate) fn introduce(plan: &ClusterPlan, info: &NatsInfo) -> Vec<u8> {
    let mut told = Introduction {
        name: &plan.name,
        lang: "velodrome",
        version: &plan.version,
        protocol: 1,
        // A scheduler has what it publishes.
        headers: true,
        no_responders: true,
        ..Introduction::default()
    };
    if let Some(login) = &plan.credentials.login {
        (told.user, told.pass) = (Some(&*login.user), Some(&*login.password));
    }
    told.auth_token = plan.credentials.token.as_deref();
    // Without a nonce the server knows no keys.
    if let (Some(key), Some(nonce)) = (&plan.credentials.key, &info.nonce) {
        told.sig = Some(URL_SAFE_NO_PAD.encode(key.sign(nonce.as_bytes())));
        told.nkey = Some(key.public());
    }
    serde_json::to_vec(&told).expect("texts and numbers are always JSON")
}
