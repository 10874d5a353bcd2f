//! Directory listings, as HTML for people and JSON for programs.
//!
//! Owns what is listed and how it looks. Runs on a helper thread, may wait for the disk. Never
//! lists a name that could not be fetched by its link.

use std::sync::Arc;

use serde::Serialize;
use sys::file::{FileKind, FileTime, Metadata};
use wire::escape::escape_html;
use wire::http::date;
use wire::http::encoding::Coding;
use wire::http::target::encode_path;

use super::limits;
use super::natural;
use super::representation::{BodySource, Representation, Shared, Vary};
use super::roots::{OpenRoot, Refusal, classify};
use super::rules::FileRules;

/// The listing of a directory, in two forms.
#[derive(Debug)]
pub struct Listing {
    /// For people.
    pub html: Representation,
    /// For programs.
    pub json: Representation,
}

/// The line of a listing for a name.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Line {
    name: String,
    kind: LineKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    modified: String,
}

/// In the order in which they are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum LineKind {
    Directory,
    File,
}

/// A listing before it is rendered.
#[derive(Debug, Serialize)]
struct Lines<'l> {
    /// Decoded, with slashes at both ends.
    path: &'l str,
    /// Whether names are left out.
    cut: bool,
    entries: Vec<Line>,
}

/// Reads and renders a directory; `relative` is below the root and has no trailing slash.
pub(crate) fn make(root: &OpenRoot, relative: &str, rules: &FileRules) -> Result<Listing, Refusal> {
    let names = root
        .read(relative)?
        .read_names(limits::LISTING_NAMES_MAX, |left, right| {
            let as_listed = right.is_directory.cmp(&left.is_directory);
            as_listed.then_with(|| {
                natural::compare(&left.name.to_string_lossy(), &right.name.to_string_lossy())
            })
        })
        .map_err(|error| classify(&error))?;
    let below = if relative.is_empty() { String::new() } else { format!("{relative}/") };
    let mut entries: Vec<Line> = names
        .entries
        .into_iter()
        .filter_map(|named| {
            // Request paths are UTF-8: other names have no link.
            let name = named.name.into_string().ok()?;
            line(root, &below, name, named.metadata, rules)
        })
        .collect();
    entries.sort_by(|left, right| {
        left.kind.cmp(&right.kind).then_with(|| natural::compare(&left.name, &right.name))
    });
    let path = format!("/{below}");
    // Caches must always revalidate, because the server looks a listing up again, too.
    let kept_nowhere = rules.cache_control(&below).filter(|value| value.contains("no-store"));
    let cache_control = kept_nowhere.unwrap_or("no-cache");
    Ok(render(&Lines { path: &path, cut: names.cut, entries }, cache_control))
}

/// `None` for names whose request would fail: hidden, outside of the root, not a file.
fn line(
    root: &OpenRoot,
    below: &str,
    name: String,
    metadata: Metadata,
    rules: &FileRules,
) -> Option<Line> {
    let relative = format!("{below}{name}");
    // The resolver of request targets refuses these characters, so no link could lead there.
    if name.contains(|character: char| character == '\\' || character.is_ascii_control())
        || rules.hides(&relative)
    {
        return None;
    }
    let metadata = match metadata.kind {
        FileKind::Symlink => root.look(&relative).ok()?,
        FileKind::Regular | FileKind::Directory | FileKind::Other => metadata,
    };
    let (kind, size) = match metadata.kind {
        FileKind::Directory => (LineKind::Directory, None),
        FileKind::Regular => (LineKind::File, Some(metadata.size)),
        FileKind::Symlink | FileKind::Other => return None,
    };
    Some(Line { name, kind, size, modified: timestamp(metadata.modified) })
}

fn render(lines: &Lines<'_>, cache_control: &str) -> Listing {
    let shared = |media_type: &str| Shared {
        media_type: media_type.into(),
        modified: FileTime::default(),
        last_modified: 0,
        read_ms: 0,
        vary: Vary::Accept,
        cache_control: Some(cache_control),
    };
    let html = html(lines);
    let json = serde_json::to_vec(lines).expect("a listing is text and numbers");
    let represent = |bytes: Vec<u8>, media_type: &str| {
        let body = BodySource::Memory(Arc::from(bytes));
        Representation::new(Coding::Identity, body, FileTime::default(), &shared(media_type))
    };
    Listing {
        html: represent(html, "text/html; charset=utf-8"),
        json: represent(json, "application/json; charset=utf-8"),
    }
}

const STYLE: &str = include_str!("listing.css");

fn html(lines: &Lines<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(2048 + lines.entries.len() * 200);
    let mut title = Vec::new();
    escape_html(&mut title, lines.path);
    out.extend_from_slice(
        b"<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
          content=\"width=device-width, initial-scale=1\">\n<meta name=\"robots\" \
          content=\"noindex\">\n<title>",
    );
    out.extend_from_slice(&title);
    out.extend_from_slice(b"</title>\n<style>\n");
    out.extend_from_slice(STYLE.as_bytes());
    out.extend_from_slice(b"</style>\n</head>\n<body>\n<main>\n<h1>");
    out.extend_from_slice(&title);
    out.extend_from_slice(
        b"</h1>\n<table>\n<thead><tr><th scope=\"col\">Name</th><th scope=\"col\">Size</th>\
          <th scope=\"col\">Modified (UTC)</th></tr></thead>\n<tbody>\n",
    );
    if lines.path != "/" {
        out.extend_from_slice(
            b"<tr><td><a href=\"../\">Parent directory</a></td><td></td><td></td></tr>\n",
        );
    }
    for line in &lines.entries {
        html_line(&mut out, line);
    }
    out.extend_from_slice(b"</tbody>\n</table>\n");
    html_foot(&mut out, lines);
    out.extend_from_slice(b"</main>\n</body>\n</html>\n");
    out
}

fn html_line(out: &mut Vec<u8>, line: &Line) {
    let slash: &[u8] = if line.kind == LineKind::Directory { b"/" } else { b"" };
    // `./` so that the part before a colon is not taken for a scheme (RFC 3986 section 4.2).
    out.extend_from_slice(b"<tr><td><a href=\".");
    let mut link = Vec::with_capacity(line.name.len() + 8);
    encode_path(&line.name, &mut link);
    let link = String::from_utf8(link).expect("a percent-encoded path is ASCII");
    escape_html(out, &link);
    out.extend_from_slice(slash);
    out.extend_from_slice(b"\">");
    escape_html(out, &line.name);
    out.extend_from_slice(slash);
    out.extend_from_slice(b"</a></td><td>");
    if let Some(size) = line.size {
        out.extend_from_slice(format!("<data value=\"{size}\">{}</data>", scaled(size)).as_bytes());
    }
    let (date, time) = (&line.modified[..10], &line.modified[11..16]);
    out.extend_from_slice(
        format!("</td><td><time datetime=\"{}\">{date} {time}</time></td></tr>\n", line.modified)
            .as_bytes(),
    );
}

fn html_foot(out: &mut Vec<u8>, lines: &Lines<'_>) {
    let count = lines.entries.len();
    let text = match (lines.cut, count) {
        (true, _) => format!("Only {count} names are shown; there are more."),
        (false, 0) => "Nothing is here.".to_owned(),
        (false, 1) => "1 name".to_owned(),
        (false, _) => format!("{count} names"),
    };
    out.extend_from_slice(format!("<p>{text}</p>\n").as_bytes());
}

/// A size in three digits, as in `1.41 MB`.
fn scaled(size: u64) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    if size < 1000 {
        return format!("{size} B");
    }
    let mut value = size as f64 / 1000.0;
    let mut unit = 0;
    // From 999.5 on, three digits would show 1000.
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    let decimals = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.decimals$} {}", UNITS[unit])
}

/// RFC 3339, as in `2026-11-21T11:42:00Z`.
fn timestamp(time: FileTime) -> String {
    let date = date::format(u64::try_from(time.seconds).unwrap_or(0));
    let text = std::str::from_utf8(&date).expect("a date of HTTP is ASCII");
    // `Sun, 06 Nov 1994 08:49:37 GMT`
    let month = match &text[8..11] {
        "Jan" => "01",
        "Feb" => "02",
        "Mar" => "03",
        "Apr" => "04",
        "May" => "05",
        "Jun" => "06",
        "Jul" => "07",
        "Aug" => "08",
        "Sep" => "09",
        "Oct" => "10",
        "Nov" => "11",
        _ => "12",
    };
    format!("{}-{month}-{}T{}Z", &text[12..16], &text[5..7], &text[17..25])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy;

    #[test]
    fn its_policy_lets_in_its_style() {
        let line = |name: &str, kind, size| Line {
            name: name.to_owned(),
            kind,
            size,
            modified: "1994-11-06T08:49:37Z".to_owned(),
        };
        let entries =
            vec![line("below", LineKind::Directory, None), line("a.txt", LineKind::File, Some(5))];
        let html = html(&Lines { path: "/", cut: true, entries });
        policy::tests::lets_in(policy::LISTING, std::str::from_utf8(&html).unwrap());
    }

    #[test]
    fn sizes_have_three_digits() {
        for (size, expected) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.00 kB"),
            (9_994, "9.99 kB"),
            (9_996, "10.0 kB"),
            (99_960, "100 kB"),
            (999_400, "999 kB"),
            (999_600, "1.00 MB"),
            (1_406_000, "1.41 MB"),
            (u64::MAX, "18.4 EB"),
        ] {
            assert_eq!(scaled(size), expected);
        }
    }

    #[test]
    fn times_are_rfc_3339() {
        let at = |seconds| timestamp(FileTime { seconds, nanoseconds: 5 });
        assert_eq!(at(784_111_777), "1994-11-06T08:49:37Z");
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        assert_eq!(at(-1), "1970-01-01T00:00:00Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00Z");
    }
}
