//! The files that the certificates of listeners are read from, and whether they have changed since.
//!
//! Owns the facts by which a change is seen. Reads no content.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use config::{ClientCertificatePolicy, Config, ListenerCertificates};

/// Files, each with its facts at one time. By default none.
#[derive(Clone, Debug, Default)]
pub struct CertificateStamps(Vec<(PathBuf, Option<Facts>)>);

/// The facts that tell that a file was replaced or written, also with an old time or the same length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Facts {
    inode: u64,
    length: u64,
    /// When its content or its attributes last changed, in seconds and nanoseconds.
    changed: (i64, i64),
}

impl CertificateStamps {
    /// Those of a configuration, as they are now. They are looked at before they are read: what is written between the
    /// two is a change that the next look sees.
    pub fn of(config: &Config) -> Self {
        let with_facts = |file: &Path| (file.to_path_buf(), facts_of(file));
        Self(files_of(config).into_iter().map(with_facts).collect())
    }

    /// Looks at the files again. Whether one has changed since the last look.
    pub fn have_changed(&mut self) -> bool {
        let mut changed = false;
        for (file, known) in &mut self.0 {
            let now = facts_of(file);
            changed |= now != *known;
            *known = now;
        }
        changed
    }
}

fn facts_of(file: &Path) -> Option<Facts> {
    let found = std::fs::metadata(file).ok()?;
    let changed = (found.ctime(), found.ctime_nsec());
    Some(Facts { inode: found.ino(), length: found.len(), changed })
}

/// All files that are read for the listeners of a configuration.
pub fn files_of(config: &Config) -> Vec<&Path> {
    let mut files = Vec::new();
    let of_listeners = config.listeners.iter().filter_map(|listener| listener.tls.as_ref());
    for tls in of_listeners.chain(&config.admin.tls) {
        if let ListenerCertificates::Files(pairs) = &tls.certificates {
            files.extend(pairs.iter().flat_map(|pair| [&*pair.certificate, &*pair.key]));
        }
        match &tls.clients {
            ClientCertificatePolicy::Ignored => {}
            ClientCertificatePolicy::Asked(path) | ClientCertificatePolicy::Required(path) => {
                files.push(path);
            }
        }
    }
    files
}
