//! The files of the servers: those they serve and their configurations, in a folder that is removed after
//! the run.

use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use crate::failure::Failure;
use crate::scratch::Scratch;

/// 200 times the word packed, by gzip.
const PACKED_GZIP: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x2b\x48\x4c\xce\x4e\x4d\x51\x28\x18\xa5\x46\xa9\x51\x6a\x94\x1a\xa5\xe8\x43\x01\x00\xe7\x28\x76\xa7\x78\x05\x00\x00";

/// The modification time of the files, in seconds since 1970: long ago, so that the date is a strong validator (RFC
/// 9110 section 8.8.2.2), on a day with one digit.
const MODIFIED_S: u64 = 1_609_835_696;

/// The folder of a run.
pub(crate) struct Site {
    folder: Scratch,
}

impl Site {
    /// Writes everything that all servers serve.
    pub(crate) fn prepare() -> Result<Site, Failure> {
        // Outside of the project: a server that changes its user must be able to reach it.
        let name = format!("velodrome-conformance-{}", std::process::id());
        let site = Site { folder: Scratch::at(std::env::temp_dir().join(name))? };
        let files = site.files();
        std::fs::create_dir_all(files.join("directory"))?;
        std::fs::create_dir_all(site.folder().join("run"))?;
        let lines = (0..100).map(|line| format!("line {line:03} of the sample file\n"));
        let contents: [(&str, Vec<u8>); 6] = [
            ("sample.txt", lines.collect::<String>().into_bytes()),
            ("empty.txt", Vec::new()),
            (".hidden", b"hidden\n".to_vec()),
            ("directory/index.html", b"<p>index\n".to_vec()),
            ("packed.txt", "packed ".repeat(200).into_bytes()),
            ("packed.txt.gz", PACKED_GZIP.to_vec()),
        ];
        for (name, content) in contents {
            let path = files.join(name);
            std::fs::write(&path, content)?;
            let file = std::fs::OpenOptions::new().append(true).open(&path)?;
            file.set_modified(UNIX_EPOCH + Duration::from_secs(MODIFIED_S))?;
        }
        std::fs::write(site.folder().join("outside.txt"), "outside\n")?;
        std::os::unix::fs::symlink(site.folder().join("outside.txt"), files.join("link.txt"))?;
        Ok(site)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The folder that is served.
    pub(crate) fn files(&self) -> PathBuf {
        self.folder().join("files")
    }

    /// Writes a configuration.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        Ok(std::fs::write(self.folder().join(name), text)?)
    }
}
