//! The names of uploaded files: while they arrive, as given by their senders, and when they are
//! saved.

use config::{FILE_NAME, PageName};

use crate::limits;

/// The prefix of the names of unsaved files. Dot files are not served, and no page can save one.
const PART_BEGIN: &str = ".velodrome-";
const PART_END: &str = ".part";

/// The name of an unsaved file. `unique` differs for every helper that ever writes to the directory.
pub(super) fn part_name(unique: u64, number: u64) -> String {
    format!("{PART_BEGIN}{unique:016x}-{number}{PART_END}")
}

/// Whether a file has such a name.
pub(super) fn is_part_name(name: &str) -> bool {
    name.starts_with(PART_BEGIN) && name.ends_with(PART_END)
}

/// The last part of a client's name for a file. Some clients send a path, which has no meaning here.
pub(super) fn base_name(name: &[u8]) -> &[u8] {
    let begin = name.iter().rposition(|byte| matches!(byte, b'/' | b'\\')).map_or(0, |at| at + 1);
    let base = name.get(begin..).unwrap_or_default();
    if matches!(base, b"." | b"..") { b"" } else { base }
}

/// A name under which a page may save a file.
///
/// # Errors
/// Why it is not allowed.
pub(super) fn saved_name(name: &[u8]) -> Result<&str, &'static str> {
    let Ok(name) = str::from_utf8(name) else { return Err("the name is not UTF-8") };
    if name.is_empty() {
        return Err("the name is empty");
    }
    if name.len() > limits::UPLOAD_NAME_SIZE {
        return Err("the name is longer than 255 bytes");
    }
    if name.starts_with('.') {
        return Err("the name begins with a dot");
    }
    if name.contains(['/', '\\']) {
        return Err("the name leads to another directory");
    }
    if name.contains(char::is_control) {
        return Err("the name has a control character");
    }
    // A file system may treat upper and lower case as equal.
    let plain = name.to_lowercase();
    if PageName::is_source(&plain) {
        return Err("the name is that of a page");
    }
    if plain.ends_with(".lua") {
        return Err("the name is that of a module");
    }
    if plain == FILE_NAME {
        return Err("the name is that of a configuration");
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clients_name_is_the_last_part_of_it() {
        let names: [(&[u8], &[u8]); 7] = [
            (b"a.txt", b"a.txt"),
            (b"/etc/passwd", b"passwd"),
            (b"C:\\dir\\a b.txt", b"a b.txt"),
            (b"..\\../..", b""),
            (b"dir/", b""),
            (b"", b""),
            (b"\xff/\xfe", b"\xfe"),
        ];
        for (name, base) in names {
            assert_eq!(base_name(name), base, "{}", name.escape_ascii());
        }
    }

    #[test]
    fn only_plain_names_are_saved() {
        for name in ["a", "a b.txt", "größe.pdf", "a..b", "page.html", &"x".repeat(255)] {
            assert_eq!(saved_name(name.as_bytes()), Ok(name));
        }
        let long = "x".repeat(256);
        for name in ["", ".", "..", ".htaccess", "a/b", "/a", "a\\b", "a\nb", "a\0", &long] {
            assert!(saved_name(name.as_bytes()).is_err(), "{name:?}");
        }
        // Files that the server runs or uses.
        for name in [
            "x.page.html",
            "x.page",
            "x.page.html~",
            "x.page.",
            "main.lua",
            "velodrome.toml",
            "VELODROME.TOML",
            "a.PAGE.html",
            "Main.LUA",
        ] {
            assert!(saved_name(name.as_bytes()).is_err(), "{name:?}");
        }
        assert!(saved_name(b"\xff").is_err());
        assert!(saved_name(part_name(7, 1).as_bytes()).is_err());
        assert!(is_part_name(&part_name(7, 1)) && !is_part_name(".velodrome-a.txt"));
    }
}
