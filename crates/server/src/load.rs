//! From the command line to a compiled site, for `serve`, `check` and reloads.
//!
//! Owns where the configuration is searched, and the text of its errors. Runs before schedulers
//! start, or on the main thread; it may block.

mod directories;
mod disk;
mod error_pages;
mod orders;
mod own;
mod remarks;
mod second_addresses;
mod served;
mod taken;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use config::{
    AppDirectory, AppPresence, Config, ConfigErrors, FILE_NAME, FileNames, Overrides, Secrets,
};
use pages::fetch::{FetchTrust, TrustError};
use pages::{Before, PagesError, Secret, SecretError, UnknownZone, process_plans};
use sys::regular_file;

pub use sys::regular_file::text as named_text;

use self::directories::{is_there, list_directory, look_at_directory};
use self::disk::Disk;
use self::error_pages::look_at_error_pages;
pub use self::error_pages::missing_error_pages;
pub use self::orders::OrdersError;
pub use self::remarks::remarks;
use self::served::{look_at_served, place_of};
use self::taken::UploadsTaken;
use crate::access::{UserFiles, UsersError};
use crate::channel_keys::{AdminKeys, ChannelKeys, KeysError};
use crate::cluster_setup::{ClusterSetup, ClusterSetupError};
use crate::limits::{APP_MAIN, CONFIG_SIZE_MAX};
use crate::site_data::SiteData;
use crate::site_tls::{SiteTls, TlsError};
use crate::upstream_tls::{UpstreamConnectors, UpstreamTlsError};

/// The choices of the command line.
#[derive(Clone, Debug, Default)]
pub struct ConfigSource {
    /// The directory to serve.
    pub directory: PathBuf,
    /// The configuration file, if one was named.
    pub config: Option<PathBuf>,
    /// Settings that the command line overrides.
    pub overrides: Overrides,
}

/// Why there is no site.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Another error, in words: without the secret of the configuration that it has shown.
    #[error("{0}")]
    Hidden(String),
    /// The directory cannot be served.
    #[error(
        "cannot serve `{}`: {error}; name a directory that this user may read",
        .path.display()
    )]
    Directory {
        /// Its path.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
    /// The app modules cannot be read.
    #[error(
        "cannot read the app modules of `{}`: {error}; make that directory readable for the server's user, \
         or name another `app` in [pages]",
        .path.display()
    )]
    App {
        /// Their directory.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
    /// The configuration file cannot be read.
    #[error(fmt = file)]
    File {
        /// Its path.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
    /// A directory that is named after the user cannot be used.
    #[error(
        "`{}` cannot be the directory of this user: {error}; remove it, or name another one in [store] and [pages]",
        .path.display()
    )]
    Own {
        /// Its path.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
    /// The configured upload directory does not exist.
    #[error(
        "`uploads` in [pages]: `{}` is not a directory; create it, writable for the server's user",
        .path.display()
    )]
    Uploads {
        /// Its path.
        path: PathBuf,
    },
    /// The upload directory contains something that the server reads, or is inside such a directory.
    #[error(
        "`uploads` in [pages]: `{}` cannot be used, because {taken}: a file that a page saves could replace it; \
         name an empty directory",
        .path.display()
    )]
    UploadsTaken {
        /// The directory.
        path: PathBuf,
        /// The kind of file at that path.
        taken: UploadsTaken,
    },
    /// The configuration has errors.
    #[error("{0}")]
    Config(ConfigErrors),
    /// A certificate for fetches is not usable.
    #[error("{0}")]
    Trust(TrustError),
    /// A certificate for the servers of an upstream is not usable.
    #[error("{0}")]
    UpstreamTls(UpstreamTlsError),
    /// The secret for signing cookies is not usable.
    #[error("{0}")]
    Secret(SecretError),
    /// A process of the site starts at times in an unknown time zone.
    #[error("{}: {zone}", .files.at(.zone.place))]
    Zone {
        /// The files of the configuration.
        files: FileNames,
        /// The zone.
        zone: UnknownZone,
    },
    /// A key file of channels or of the control cannot be used.
    #[error("{0}")]
    Keys(KeysError),
    /// A file of the cluster cannot be used.
    #[error("{0}")]
    Cluster(ClusterSetupError),
    /// A file of users cannot be used.
    #[error("{0}")]
    Users(UsersError),
    /// A root is inside the directory of app modules.
    #[error(
        "cannot serve `{}`: it is in the directory of app modules, `{}`, of which nothing is served; \
         name another `app` in [pages], or another `root`",
        .root.display(), .app.display()
    )]
    RootInApp {
        /// The root.
        root: PathBuf,
        /// The directory.
        app: PathBuf,
    },
    /// The path of a configured error page belongs to a page, and there is no file with that path.
    #[error(
        "`error_pages`: {status} cannot be \"{path}\": `{}` answers it, which is a page, and no code is run for an error; \
         name a file without code",
        .page.display()
    )]
    ErrorPage {
        /// The status it is for.
        status: u16,
        /// The path.
        path: String,
        /// The file of the page.
        page: PathBuf,
    },
    /// The store, the access log or a part of the configuration is in a served directory and not hidden there, so
    /// clients could read all of it.
    #[error(
        "the {what} `{}` lies in `{}`, which is served: clients could read all of it; name a place elsewhere",
        .path.display(), .root.display()
    )]
    OwnServed {
        /// Which of them.
        what: &'static str,
        /// Its directory or file.
        path: PathBuf,
        /// The served directory.
        root: PathBuf,
    },
    /// There are pages that cannot be read or run.
    #[error("{0}")]
    Pages(PagesError),
    /// The certificates of a listener cannot be used.
    #[error("{0}")]
    Tls(TlsError),
    /// No certificates can be ordered.
    #[error("{0}")]
    Orders(OrdersError),
}

fn file(
    path: &std::path::Path,
    error: &io::Error,
    formatter: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    write!(formatter, "cannot read the configuration `{}`: {error}", path.display())?;
    if error.kind() == io::ErrorKind::NotFound && path.is_relative() {
        formatter.write_str("; --config is meant from the current directory")?;
    }
    Ok(())
}

impl LoadError {
    /// The same if it shows none of these secrets.
    fn without(self, secrets: &Secrets) -> Self {
        let text = self.to_string();
        let hidden = secrets.hidden_in(&text);
        if hidden == text { self } else { Self::Hidden(hidden) }
    }

    /// Whether a file exists but could not be opened.
    pub fn is_permission(&self) -> bool {
        match self {
            Self::Directory { error, .. } | Self::App { error, .. } | Self::File { error, .. } => {
                error.kind() == io::ErrorKind::PermissionDenied
            }
            _ => false,
        }
    }
}

impl ConfigSource {
    /// Reads, checks and compiles the configuration, and checks the roots. Unchanged pages are kept from `before`, and
    /// so is the last working version of pages that are broken now.
    ///
    /// # Errors
    /// Everything that is wrong, with its place.
    pub fn load(&self, generation: u64, before: Before<'_>) -> Result<SiteData, LoadError> {
        self.load_after(&SiteTls::default(), generation, before)
    }

    /// The same for a reload: keys of tickets and a certificate made at the start stay.
    ///
    /// # Errors
    /// Everything that is wrong, with its place.
    pub fn load_after(
        &self,
        tls: &SiteTls,
        generation: u64,
        before: Before<'_>,
    ) -> Result<SiteData, LoadError> {
        look_at_directory(&self.directory)?;
        let config = self.read()?;
        let secrets = config.secrets.clone();
        self.load_config(config, tls, generation, before).map_err(|error| error.without(&secrets))
    }

    fn load_config(
        &self,
        mut config: Config,
        tls: &SiteTls,
        generation: u64,
        before: Before<'_>,
    ) -> Result<SiteData, LoadError> {
        own::settle(&mut config)?;
        orders::settle(&mut config);
        let mut data = SiteData::compile(config, generation).map_err(LoadError::Config)?;
        for path in data.directories() {
            look_at_directory(path)?;
        }
        look_for_app(&mut data)?;
        data.trust = FetchTrust::load(&data.config.pages, &data.roots).map_err(LoadError::Trust)?;
        data.upstream_tls = UpstreamConnectors::load(&data.config.upstreams, &data.roots)
            .map_err(LoadError::UpstreamTls)?;
        data.secret = Secret::load(&data.config.pages, &data.roots, before.secret)
            .map_err(LoadError::Secret)?;
        data.processes = process_plans(&data.config.processes)
            .map_err(|zone| LoadError::Zone { files: data.config.files.clone(), zone })?;
        data.channel_keys = ChannelKeys::load(&data.config.channel_settings.keys, &data.roots)
            .map_err(LoadError::Keys)?;
        data.admin_keys = AdminKeys::load(data.config.admin.keys.as_deref(), &data.roots)
            .map_err(LoadError::Keys)?;
        data.cluster = ClusterSetup::load(&data.config, &data.roots)
            .map_err(LoadError::Cluster)?
            .map(Arc::new);
        data.orders = orders::settings_of(&data.config).map_err(LoadError::Orders)?;
        data.users = UserFiles::load(&data.config, &data.roots, data.generation)
            .map_err(LoadError::Users)?;
        data.tls = Arc::new(SiteTls::load(&data.config, tls).map_err(LoadError::Tls)?);
        if let Some(path) = data.config.pages.uploads.as_deref().filter(|path| !path.is_dir()) {
            return Err(LoadError::Uploads { path: path.to_path_buf() });
        }
        data.pages =
            pages::load(data.places(), before, &data.config.pages).map_err(LoadError::Pages)?;
        look_at_error_pages(&data)?;
        self.look_at_uploads(&data)?;
        look_at_served(&data)?;
        Ok(data)
    }

    /// Ensures that no page can save a file over one that the server uses.
    fn look_at_uploads(&self, data: &SiteData) -> Result<(), LoadError> {
        let Some(path) = &data.config.pages.uploads else { return Ok(()) };
        // Including its directory: if it is a link, the directory of the link counts too.
        let config = self.config_path().map(|path| absolute(&path));
        match UploadsTaken::of(path, config.as_deref(), data) {
            Some(taken) => Err(LoadError::UploadsTaken { path: path.clone(), taken }),
            None => Ok(()),
        }
    }

    /// The configuration file in use; `None` if there is none.
    pub fn config_path(&self) -> Option<PathBuf> {
        let found = || Some(self.directory.join(FILE_NAME)).filter(|path| path.is_file());
        self.config.clone().or_else(found)
    }

    /// The configured user whom the server becomes.
    ///
    /// # Errors
    /// The problems of the configuration.
    pub fn user(&self) -> Result<Option<String>, LoadError> {
        Ok(self.read()?.user)
    }

    fn read(&self) -> Result<Config, LoadError> {
        let Some(path) = self.config_path() else {
            let base = absolute(&self.directory);
            return Config::without_file(&base, &self.overrides).map_err(LoadError::Config);
        };
        let refused = |error| LoadError::File { path: path.clone(), error };
        let text = regular_file::text(&path, CONFIG_SIZE_MAX).map_err(refused)?;
        let base = absolute(
            path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")),
        );
        let name = path.to_string_lossy();
        let directory = Some(absolute(&self.directory));
        let overrides = Overrides { directory, ..self.overrides.clone() };
        Config::from_text_within(&text, &name, &base, &overrides, &Disk).map_err(LoadError::Config)
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

/// Finds the directory of app modules, if there is one, and ensures that nothing in it is served.
fn look_for_app(data: &mut SiteData) -> Result<(), LoadError> {
    let AppDirectory { path, presence } = &data.config.app;
    let is_app = match presence {
        AppPresence::Required => true,
        AppPresence::WithMain => is_there(&path.join(APP_MAIN).with_extension("lua"))
            .map_err(|error| LoadError::App { path: path.clone(), error })?,
    };
    if !is_app || !data.config.pages.enabled {
        return Ok(());
    }
    let refused = |error| LoadError::App { path: path.clone(), error };
    let app = list_directory(path).and_then(|()| path.canonicalize()).map_err(refused)?;
    let mut below = Vec::new();
    for root in &data.roots {
        let refused = |error| LoadError::Directory { path: root.path.clone(), error };
        let place = root.path.canonicalize().map_err(refused)?;
        if place.starts_with(&app) {
            return Err(LoadError::RootInApp { root: root.path.clone(), app: path.clone() });
        }
        let inside = app.strip_prefix(&place).ok();
        below.push(inside.map(|inside| inside.to_string_lossy().into_owned()));
    }
    data.add_app(below.into_iter());
    Ok(())
}
