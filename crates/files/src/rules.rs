//! A site's settings for its files.
//!
//! Owns the types of the rules and their defaults. Never reads a configuration file and never looks
//! at the disk.

use std::path::PathBuf;

use sys::file::Symlinks;
use wire::http::target::DotFiles;

use super::limits;
use super::pattern::NamePattern;

/// The index of a root of the server, and of a scheduler's cache for it.
///
/// Two sites with different [`FileRules`] are two roots, even with the same directory, because the rules are not part
/// of the cache key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RootIndex(pub u16);

/// A directory whose files are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// Its path.
    pub path: PathBuf,
    /// How links below it are treated.
    pub symlinks: Symlinks,
}

/// Whether a directory without an index file is listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListingRule {
    /// No: 404.
    #[default]
    Off,
    /// Yes, as HTML or JSON.
    On,
}

/// Whether `file.br`, `file.zst` and `file.gz` are served in place of `file`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precompressed {
    /// No: they are ordinary files.
    Ignore,
    /// Yes, to clients that accept the coding, unless they are older than the file.
    #[default]
    Use,
}

/// Whether text is compressed on request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compress {
    /// Never.
    Off,
    /// With gzip or zstd, once, by a helper thread; the result is cached.
    #[default]
    On,
}

/// Files with this extension have this media type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaTypeRule {
    /// Without the dot; case-insensitive.
    pub extension: String,
    /// The whole field value, as in `text/x-log; charset=utf-8`.
    pub media_type: String,
}

/// Files that match the pattern get this `Cache-Control`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheControlRule {
    /// The files.
    pub files: NamePattern,
    /// The whole field value, as in `public, max-age=3600`.
    pub value: String,
}

/// How the files of a root are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRules {
    /// Names tried in this order when a directory is requested. Names, not paths.
    pub index: Vec<String>,
    /// Whether a directory without any of these is listed.
    pub listing: ListingRule,
    /// Whether precompressed siblings are used.
    pub precompressed: Precompressed,
    /// Whether text is compressed on the fly.
    pub compress: Compress,
    /// Bytes from which a file is compressed on the fly.
    pub compress_from: u64,
    /// Bytes up to which a file is compressed on the fly; values above [`limits::COMPRESS_TO`] count as that.
    pub compress_to: u64,
    /// Bytes up to which a file is held in memory.
    pub held_size: u64,
    /// Exceptions to the usual media types; the first match applies.
    pub media_types: Vec<MediaTypeRule>,
    /// Files that clients cannot see, and that are in no listing.
    pub hidden: Vec<NamePattern>,
    /// The directory of the app modules, if it is below this root: clients can see nothing in it.
    pub app: Option<NamePattern>,
    /// Whether names with a leading dot are hidden as well (except `.well-known`).
    pub dot_files: DotFiles,
    /// `Cache-Control`; the first match applies, without one the field is not sent.
    pub cache_control: Vec<CacheControlRule>,
}

impl Default for FileRules {
    fn default() -> Self {
        Self {
            index: vec!["index.html".to_owned()],
            listing: ListingRule::default(),
            precompressed: Precompressed::default(),
            compress: Compress::default(),
            compress_from: limits::COMPRESS_FROM,
            compress_to: limits::COMPRESS_TO,
            held_size: limits::HELD_SIZE,
            media_types: Vec::new(),
            // Backup files that editors leave beside the configuration are as secret as the configuration.
            hidden: ["velodrome.toml*", "#velodrome.toml#", "*.page.*", "*.page"]
                .map(NamePattern::new)
                .into(),
            app: None,
            dot_files: DotFiles::default(),
            cache_control: Vec::new(),
        }
    }
}

impl FileRules {
    /// Whether clients cannot see a path below the root (without its leading slash).
    pub fn hides(&self, relative: &str) -> bool {
        (self.dot_files == DotFiles::Hide && names_dot_file(relative))
            || self.is_app(relative)
            || self.hidden.iter().any(|pattern| pattern.covers(relative))
    }

    /// Whether a path below the root is in the directory of app modules.
    pub fn is_app(&self, relative: &str) -> bool {
        self.app.as_ref().is_some_and(|app| app.covers(relative))
    }

    /// The `Cache-Control` of a file, if it has one that is a valid field value.
    pub fn cache_control(&self, relative: &str) -> Option<&str> {
        let rule = self.cache_control.iter().find(|rule| rule.files.means(relative))?;
        is_field_value(&rule.value).then_some(rule.value.as_str())
    }
}

/// `.well-known` is only defined at the beginning of the path (RFC 8615).
fn names_dot_file(relative: &str) -> bool {
    let rest = match relative.split_once('/') {
        Some((".well-known", rest)) => rest,
        None if relative == ".well-known" => "",
        _ => relative,
    };
    rest.split('/').any(|name| name.starts_with('.'))
}

/// Whether a text is a valid field value (RFC 9110 section 5.5); the configuration must refuse others.
pub fn is_field_value(text: &str) -> bool {
    !text.is_empty()
        && text == text.trim()
        && text.bytes().all(|byte| matches!(byte, b'\t' | 0x20..=0x7E))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dot_files_hide_except_well_known() {
        let rules = FileRules::default();
        for hidden in [
            ".git/config",
            "a/.env",
            ".htaccess",
            "velodrome.toml",
            "velodrome.toml~",
            "a/velodrome.toml.bak",
            "#velodrome.toml#",
            "a/x.page.html",
            "x.page.html~",
            "a/x.page",
            "x.page.",
            ".page.html",
        ] {
            assert!(rules.hides(hidden), "{hidden}");
        }
        for shown in [".well-known/acme-challenge/x", ".well-known", "a.b/c", "index.html", ""] {
            assert!(!rules.hides(shown), "{shown}");
        }
        assert!(rules.hides("a/.well-known/x"), "only at the beginning");
        assert!(rules.hides(".well-known/.secret"));
        let open = FileRules { dot_files: DotFiles::Show, ..FileRules::default() };
        assert!(!open.hides("a/.env"));
    }

    #[test]
    fn cache_control_is_the_first_that_fits_and_never_splits_the_answer() {
        let rule = |files: &str, value: &str| CacheControlRule {
            files: NamePattern::new(files),
            value: value.to_owned(),
        };
        let rules = FileRules {
            cache_control: vec![
                rule("*.css", "max-age=60"),
                rule("*.js", "x\r\nSet-Cookie: a=b"),
                rule("*", "no-cache"),
            ],
            ..FileRules::default()
        };
        assert_eq!(rules.cache_control("a/b.css"), Some("max-age=60"));
        assert_eq!(rules.cache_control("a/b.js"), None);
        assert_eq!(rules.cache_control("a/b"), Some("no-cache"));
    }
}
