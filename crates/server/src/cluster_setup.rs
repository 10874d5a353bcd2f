//! The part of a configuration on the cluster: the plan of its links, with the credentials and certificates they need.
//!
//! Owns the reading of those files, on the main thread. Never connects.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use channels::{ClusterNode, Keeping};
use cluster::{
    ClusterPlan, LinkEncryption, NatsCredentials, NatsLogin, NatsServer, SeedProblem, StreamPlan,
    UserKey,
};
use config::{ChannelRules, ClusterScheme, ClusterSettings, Config};
use files::rules::Root;
use files::secret::{SecretFault, SecretFile};
use runtime::clock::milliseconds;
use tls::{Authorities, Connector, ConnectorError, PemError, TrustedServers};

/// The things that are needed to link to a cluster.
#[derive(Clone, Debug)]
pub struct ClusterSetup {
    plan: Arc<ClusterPlan>,
    connector: Option<Connector>,
    /// Problems of files that do not prevent their use.
    pub warnings: Vec<String>,
}

/// A file of the cluster that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ClusterSetupError {
    /// A file of credentials.
    #[error("`{key}` in [cluster]: the file `{path}` {}", .fault.with_mend(mend_of(key)))]
    Secret {
        /// The key that names it.
        key: &'static str,
        /// Its path.
        path: PathBuf,
        /// The fault.
        fault: SecretFault,
    },
    /// The seed of an nkey.
    #[error("`nkey_file` in [cluster]: `{path}`: {problem}")]
    Seed {
        /// The path of its file.
        path: PathBuf,
        /// The problem.
        problem: SeedProblem,
    },
    /// The authorities.
    #[error("`ca` in [cluster]: {0}")]
    Authorities(PemError),
    /// The settings of TLS.
    #[error("[cluster]: {0}")]
    Refused(ConnectorError),
}

/// The mend of a file that should have what NATS knows.
fn mend_of(key: &str) -> &'static str {
    match key {
        "password_file" => "write the password of `user` into it",
        "token_file" => "write the token into it",
        _ => "write the seed of the nkey (`SU…`) into it",
    }
}

impl ClusterSetup {
    /// The setup of a configuration. `None`: it has no cluster.
    ///
    /// # Errors
    /// If a file cannot be used.
    pub(crate) fn load(config: &Config, roots: &[Root]) -> Result<Option<Self>, ClusterSetupError> {
        let cluster = &config.cluster;
        if !cluster.is_configured() {
            return Ok(None);
        }
        let mut warnings = Vec::new();
        let credentials = credentials(cluster, roots, &mut warnings)?;
        let is_encrypted = cluster.servers.iter().any(|of| of.scheme == ClusterScheme::Tls);
        let connector = is_encrypted.then(|| connector(cluster)).transpose()?;
        let plan = Arc::new(ClusterPlan {
            node: ClusterNode(own_number()),
            name: cluster.name.clone().unwrap_or_else(sys::host::name),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            prefix: cluster.prefix.clone(),
            servers: cluster.servers.iter().map(server).collect(),
            credentials,
            streams: streams(config),
            publish_wait_ms: milliseconds(cluster.publish_wait),
        });
        Ok(Some(Self { plan, connector, warnings }))
    }

    /// The setup of a plan without certificates.
    pub fn of_plan(plan: ClusterPlan) -> Self {
        Self { plan: Arc::new(plan), connector: None, warnings: Vec::new() }
    }

    /// The plan, which all links of a node share.
    pub fn plan(&self) -> &Arc<ClusterPlan> {
        &self.plan
    }

    /// The certificates that servers prove themselves with, if connections are encrypted.
    pub fn connector(&self) -> Option<&Connector> {
        self.connector.as_ref()
    }
}

fn server(of: &config::ClusterServer) -> NatsServer {
    let encryption = match of.scheme {
        ClusterScheme::Nats => LinkEncryption::Plain,
        ClusterScheme::Tls => LinkEncryption::Tls,
    };
    NatsServer { host: of.host.clone(), port: of.port, encryption }
}

/// The streams that the channels of a configuration need.
fn streams(config: &Config) -> StreamPlan {
    let with_history = || config.channels.iter().filter(|channel| channel.history > 0);
    let messages = with_history().map(|channel| channel.history).max().unwrap_or(1);
    let age = with_history().map(|channel| channel.history_age).max();
    StreamPlan {
        count: u16::try_from(config.cluster.streams).unwrap_or(1),
        replicas: u8::try_from(config.cluster.replicas).unwrap_or(1),
        bytes: config.cluster.history_bytes,
        messages: u32::try_from(messages).unwrap_or(u32::MAX),
        age_ms: milliseconds(age.unwrap_or(config::limits::CHANNEL_HISTORY_AGE)),
        sections: StreamPlan::sections_of(config.channels.iter().map(kept)),
    }
}

/// The pattern of a section, and whether its channels have a history.
fn kept(channel: &ChannelRules) -> (&str, Keeping) {
    let keeping = if channel.history > 0 { Keeping::History } else { Keeping::Nothing };
    (&channel.pattern, keeping)
}

fn credentials(
    cluster: &ClusterSettings,
    roots: &[Root],
    warnings: &mut Vec<String>,
) -> Result<NatsCredentials, ClusterSetupError> {
    let mut secret = |key: &'static str, path: &Option<PathBuf>| {
        path.as_deref().map(|path| read(key, path, roots, warnings)).transpose()
    };
    let password = secret("password_file", &cluster.password_file)?;
    let token = secret("token_file", &cluster.token_file)?;
    let seed = secret("nkey_file", &cluster.nkey_file)?;
    let login = cluster.user.clone().zip(password);
    let key = seed.zip(cluster.nkey_file.clone()).map(|(seed, path)| {
        UserKey::of_seed(&seed).map_err(|problem| ClusterSetupError::Seed { path, problem })
    });
    Ok(NatsCredentials {
        login: login.map(|(user, password)| NatsLogin { user, password }),
        token,
        key: key.transpose()?,
    })
}

/// The first line of a file with a secret.
fn read(
    key: &'static str,
    path: &Path,
    roots: &[Root],
    warnings: &mut Vec<String>,
) -> Result<String, ClusterSetupError> {
    let failed = |fault| ClusterSetupError::Secret { key, path: path.to_path_buf(), fault };
    let file = SecretFile::read(path, roots).map_err(failed)?;
    warnings.extend(file.warning.clone());
    let line = file.text().lines().map(str::trim).find(|line| !line.is_empty());
    line.map(str::to_owned).ok_or_else(|| failed(SecretFault::Empty))
}

fn connector(cluster: &ClusterSettings) -> Result<Connector, ClusterSetupError> {
    let authorities = match &cluster.ca {
        Some(path) => Authorities::read(path).map_err(ClusterSetupError::Authorities)?,
        None => Authorities::of_system().map_err(ClusterSetupError::Refused)?,
    };
    let trusted = TrustedServers::Known(authorities);
    Connector::new(&trusted, &[], None).map_err(ClusterSetupError::Refused)
}

/// A number that no other node has.
fn own_number() -> u64 {
    use std::hash::{BuildHasher, RandomState};

    RandomState::new().hash_one(std::process::id())
}
