//! Files that somebody has named in a configuration, read as a whole.
//!
//! Owns what may be read: a regular file of a bounded length. A pipe may never end, and a device has no end. Never
//! decides what a name means.
#![expect(clippy::disallowed_types, reason = "a file is opened, read and closed in one call")]

use std::fs::{File, metadata};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// The bytes of a file.
///
/// # Errors
/// If it is not a regular file, is longer than `most` bytes, or cannot be read.
pub fn bytes(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    // Before it is opened: that waits for somebody who writes into a pipe.
    let kind = metadata(path)?.file_type();
    if kind.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    if !kind.is_file() {
        let why = "it is not a regular file; write what it should say into a file";
        return Err(io::Error::new(ErrorKind::InvalidInput, why));
    }
    let mut bytes = Vec::new();
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    if bytes.len() > most {
        let why = format!("it is longer than {most} bytes");
        return Err(io::Error::new(ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}

/// The text of a file.
///
/// # Errors
/// As of [`bytes`], and if it is not UTF-8.
pub fn text(path: &Path, most: usize) -> io::Result<String> {
    String::from_utf8(bytes(path, most)?).map_err(|error| {
        let why = format!("it is not UTF-8 at byte {}", error.utf8_error().valid_up_to());
        io::Error::new(ErrorKind::InvalidData, why)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_regular_file_that_is_not_too_long_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(text(&path, 5).unwrap(), "12345");
        assert_eq!(text(&path, 4).unwrap_err().kind(), ErrorKind::FileTooLarge);
        std::fs::write(&path, b"ab\xff").unwrap();
        assert_eq!(text(&path, 5).unwrap_err().to_string(), "it is not UTF-8 at byte 2");
        assert_eq!(bytes(folder.path(), 5).unwrap_err().kind(), ErrorKind::IsADirectory);
        for other in [Path::new("/dev/zero"), Path::new("/dev/null")] {
            assert_eq!(bytes(other, 5).unwrap_err().kind(), ErrorKind::InvalidInput, "{other:?}");
        }
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert_eq!(bytes(&pipe, 5).unwrap_err().kind(), ErrorKind::InvalidInput);
    }
}
