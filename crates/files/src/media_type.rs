//! Media types: which one a file has by its extension, and which are worth compressing.
//!
//! Never looks at the content of a file.

use std::sync::Arc;

use wire::http::encoding::Coding;

use super::rules::{FileRules, is_field_value};

/// For files without an extension or with an unknown one: the client should not guess.
const UNKNOWN: &str = "application/octet-stream";

/// Types other than text that compress well.
const COMPRESSIBLE: [&str; 15] = [
    "application/json",
    "application/javascript",
    "application/xml",
    "application/wasm",
    "application/rtf",
    "application/x-javascript",
    "application/x-sh",
    "application/x-subrip",
    "application/vnd.ms-fontobject",
    "application/graphql",
    "application/manifest",
    "font/ttf",
    "font/otf",
    "image/bmp",
    "image/x-icon",
];

/// Text under another name: it is sent with its character set.
const TEXTUAL: [&str; 4] =
    ["application/json", "application/javascript", "application/xml", "application/x-javascript"];

/// Types that browsers and other servers use, where the table of types has another one.
const COMMON: [(&str, &str); 2] = [("ts", "video/mp2t"), ("m2ts", "video/mp2t")];

/// Files whose content is compressed already, and whose type is that of the content.
const PACKED: (&str, Coding) = ("svgz", Coding::Gzip);

/// The coding in which a file is stored: its bytes are not what its media type says, but that content, encoded.
pub fn coding_of(relative: &str) -> Coding {
    let (extension, coding) = PACKED;
    let found = extension_of(relative).is_some_and(|found| found.eq_ignore_ascii_case(extension));
    if found { coding } else { Coding::Identity }
}

/// The media type of a file, with `charset=utf-8` for text.
pub fn of(relative: &str, rules: &FileRules) -> Arc<str> {
    let Some(extension) = extension_of(relative) else { return UNKNOWN.into() };
    let ruled = rules
        .media_types
        .iter()
        .find(|rule| rule.extension.eq_ignore_ascii_case(extension))
        .filter(|rule| is_field_value(&rule.media_type));
    if let Some(rule) = ruled {
        return rule.media_type.as_str().into();
    }
    let common = COMMON.iter().find(|(known, _)| known.eq_ignore_ascii_case(extension));
    let guess = common.map(|(_, media_type)| *media_type);
    let Some(guess) = guess.or_else(|| mime_guess::from_ext(extension).first_raw()) else {
        return UNKNOWN.into();
    };
    if is_textual(guess) { format!("{guess}; charset=utf-8").into() } else { guess.into() }
}

fn extension_of(relative: &str) -> Option<&str> {
    let name = relative.rsplit('/').next().unwrap_or(relative);
    name.rsplit_once('.').map(|(_, extension)| extension)
}

fn is_textual(essence: &str) -> bool {
    essence.starts_with("text/")
        || TEXTUAL.contains(&essence)
        || essence.ends_with("+json")
        || essence.ends_with("+xml")
}

/// Whether content of this type compresses well.
pub fn is_compressible(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or(media_type).trim_ascii();
    let essence = essence.to_ascii_lowercase();
    is_textual(&essence) || COMPRESSIBLE.contains(&essence.as_str())
}

#[cfg(test)]
mod tests {
    use super::super::rules::MediaTypeRule;
    use super::*;

    #[test]
    fn text_has_its_character_set() {
        let rules = FileRules::default();
        for (file, expected) in [
            ("index.html", "text/html; charset=utf-8"),
            ("a/b/STYLE.CSS", "text/css; charset=utf-8"),
            ("app.js", "text/javascript; charset=utf-8"),
            ("data.json", "application/json; charset=utf-8"),
            ("feed.xml", "text/xml; charset=utf-8"),
            ("logo.svg", "image/svg+xml; charset=utf-8"),
            ("logo.SVGZ", "image/svg+xml; charset=utf-8"),
            ("film.ts", "video/mp2t"),
            ("photo.jpg", "image/jpeg"),
            ("module.wasm", "application/wasm"),
            ("archive.tar.gz", "application/gzip"),
            ("README", UNKNOWN),
            ("a.b/README", UNKNOWN),
            ("strange.zzzz", UNKNOWN),
        ] {
            assert_eq!(&*of(file, &rules), expected, "{file}");
        }
    }

    #[test]
    fn a_rule_comes_first_unless_it_would_split_the_answer() {
        let rule = |extension: &str, media_type: &str| MediaTypeRule {
            extension: extension.to_owned(),
            media_type: media_type.to_owned(),
        };
        let rules = FileRules {
            media_types: vec![rule("LOG", "text/x-log"), rule("txt", "text/plain\r\nX: y")],
            ..FileRules::default()
        };
        assert_eq!(&*of("a.log", &rules), "text/x-log");
        assert_eq!(&*of("a.txt", &rules), "text/plain; charset=utf-8");
    }

    #[test]
    fn compressed_media_types_are_not_compressible() {
        for (media_type, expected) in [
            ("text/html; charset=utf-8", true),
            ("application/json", true),
            ("Image/SVG+xml; charset=utf-8", true),
            ("application/ld+json", true),
            ("image/png", false),
            ("application/gzip", false),
            ("font/woff2", false),
            ("video/mp4", false),
            (UNKNOWN, false),
        ] {
            assert_eq!(is_compressible(media_type), expected, "{media_type}");
        }
    }
}
