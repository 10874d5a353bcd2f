//! The files that set sysctls when the host starts (sysctl.d(5), systemd-sysctl(8); sysctl(8), `--system`).
//!
//! Owns which files are read, in which order, what a line means, and which file wins. Reads them only.

use std::collections::BTreeMap;

use crate::files::{HostFiles, Look};
use crate::owner::SettingOwner;

/// The directories: a file hides those of the same name in later ones.
const PLACES: [&str; 5] = [
    "/etc/sysctl.d",
    "/run/sysctl.d",
    "/usr/local/lib/sysctl.d",
    "/usr/lib/sysctl.d",
    "/lib/sysctl.d",
];

/// The file that `sysctl --system` reads after all others. Systemd reads it only through a link in `/etc/sysctl.d`.
const LAST: &str = "/etc/sysctl.conf";

/// The paths that exist where systemd starts the host: while it runs, and in an image of its disk.
const SYSTEMD: [&str; 3] =
    ["/run/systemd/system", "/usr/lib/systemd/systemd-sysctl", "/lib/systemd/systemd-sysctl"];

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    /// A path below `/proc/sys`, or a pattern of paths.
    key: String,
    /// `None` excludes the key: no pattern sets it.
    value: Option<String>,
}

/// The files with a line for a sysctl, in the order in which they are read. Each says which of them wins, if it is
/// another one.
pub(crate) fn setters(files: &HostFiles, path: &str) -> Vec<SettingOwner> {
    let mut all = directories(files);
    let last = files.text(LAST).unwrap_or_default();
    let is_systemd = SYSTEMD.iter().any(|path| files.has(path));
    if !is_systemd {
        all.push((LAST.to_owned(), last.clone()));
    }
    let winner = winner(&all, path);
    let name = |path: &str| swapped(path, '/');
    let mut owners: Vec<SettingOwner> = all
        .iter()
        .filter(|(_, text)| lines(text).any(|line| line.value.is_some() && is_for(&line, path)))
        .map(|(file, _)| {
            let when = match &winner {
                Some(Winner::Sets(other)) if other == file => String::new(),
                Some(Winner::Sets(other)) => format!(", but {other} wins for {}", name(path)),
                Some(Winner::Excludes(other)) => format!(", but {other} excludes {}", name(path)),
                None => String::new(),
            };
            SettingOwner { name: file.clone(), when: format!("at the start of the host{when}") }
        })
        .collect();
    let is_linked = all.iter().any(|(_, text)| *text == last);
    if is_systemd && !is_linked && lines(&last).any(|line| is_for(&line, path)) {
        let when = "when `sysctl --system` or `sysctl -p` is run; systemd does not read it";
        owners.push(SettingOwner { name: LAST.to_owned(), when: when.to_owned() });
    }
    owners
}

/// The files of the directories with their texts, by name.
fn directories(files: &HostFiles) -> Vec<(String, String)> {
    let mut found: BTreeMap<String, (String, String)> = BTreeMap::new();
    for place in PLACES {
        for name in files.names(place) {
            if found.contains_key(&name) || name.starts_with('.') || !name.ends_with(".conf") {
                continue;
            }
            let path = format!("{place}/{name}");
            let text = match files.look(&path) {
                // An empty file, and a link to /dev/null, hide as well.
                Look::Text(text) => text,
                Look::Denied => String::new(),
                Look::Absent => continue,
            };
            found.insert(name, (path, text));
        }
    }
    found.into_values().collect()
}

/// The file that decides.
#[derive(Debug, PartialEq, Eq)]
enum Winner {
    Sets(String),
    Excludes(String),
}

/// The file that decides the value of a sysctl: the last line for the key itself, otherwise the last pattern that
/// matches it.
fn winner(all: &[(String, String)], path: &str) -> Option<Winner> {
    // In the order of systemd-sysctl: a key moves to the end when its value changes.
    let mut settings: Vec<(Line, &str)> = Vec::new();
    for (file, text) in all {
        for line in lines(text).filter(|line| is_for(line, path)) {
            let earlier = settings.iter().position(|(other, _)| other.key == line.key);
            match earlier {
                Some(at) if settings[at].0 == line => settings[at].1 = file,
                earlier => {
                    earlier.map(|at| settings.remove(at));
                    settings.push((line, file));
                }
            }
        }
    }
    let itself = settings.iter().find(|(line, _)| line.key == path);
    let pattern = || settings.iter().rev().find(|(line, _)| line.value.is_some());
    let (line, file) = itself.or_else(pattern)?;
    let file = (*file).to_owned();
    Some(if line.value.is_some() { Winner::Sets(file) } else { Winner::Excludes(file) })
}

/// The lines of a file that are assignments or exclusions. Systemd warns about others, and reads on.
fn lines(text: &str) -> impl Iterator<Item = Line> {
    text.lines().filter_map(|line| {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            return None;
        }
        // A dash before an assignment ignores its failure; without an assignment it excludes the key.
        let key = line.strip_prefix('-');
        match key.unwrap_or(line).split_once('=') {
            Some((key, value)) => {
                Some(Line { key: path_of(key), value: Some(value.trim().to_owned()) })
            }
            None => key.map(|key| Line { key: path_of(key), value: None }),
        }
    })
}

/// The path of a key below `/proc/sys`. If the first separator is a slash, it is a path already; otherwise dots and
/// slashes change places.
fn path_of(key: &str) -> String {
    let key = key.trim();
    let key = match key.find(['/', '.']) {
        Some(at) if key[at..].starts_with('.') => swapped(key, '.'),
        _ => key.to_owned(),
    };
    let parts: Vec<&str> = key.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    parts.join("/")
}

/// A text in which dots and slashes change places, if its first separator is this one:
/// `net/ipv4/conf/eth0.5/forwarding` is `net.ipv4.conf.eth0/5.forwarding`.
pub(crate) fn swapped(text: &str, first: char) -> String {
    debug_assert!(text.find(['/', '.']).is_none_or(|at| text[at..].starts_with(first)));
    let other = |letter| match letter {
        '/' => '.',
        '.' => '/',
        letter => letter,
    };
    text.chars().map(other).collect()
}

fn is_for(line: &Line, path: &str) -> bool {
    line.key == path || matches(&line.key, path)
}

/// Whether a pattern (glob(7)) is one for this path. A wildcard matches no slash.
fn matches(pattern: &str, path: &str) -> bool {
    let (patterns, parts) = (pattern.split('/'), path.split('/'));
    patterns.clone().count() == parts.clone().count()
        && patterns.zip(parts).all(|(pattern, part)| matches_part(pattern, part))
}

/// The same without slashes: each star is first tried with nothing, then with one letter more.
fn matches_part(pattern: &str, part: &str) -> bool {
    let (mut pattern, mut part) = (pattern, part);
    let mut again: Option<(&str, &str)> = None;
    loop {
        if let Some(rest) = pattern.strip_prefix('*') {
            pattern = rest;
            again = Some((rest, part));
            continue;
        }
        let mut letters = part.chars();
        match letters.next() {
            None if pattern.is_empty() => return true,
            Some(letter) if let Some(rest) = one_letter(pattern, letter) => {
                (pattern, part) = (rest, letters.as_str());
                continue;
            }
            _ => {}
        }
        let Some((behind, tried)) = again else { return false };
        let mut letters = tried.chars();
        if letters.next().is_none() {
            return false;
        }
        (pattern, part) = (behind, letters.as_str());
        again = Some((behind, part));
    }
}

/// The rest of the pattern, if its beginning matches this letter.
fn one_letter(pattern: &str, letter: char) -> Option<&str> {
    let mut letters = pattern.chars();
    match letters.next()? {
        '?' => Some(letters.as_str()),
        '\\' => (letters.next()? == letter).then_some(letters.as_str()),
        '[' => match one_of(letters.as_str(), letter) {
            Some((matches, rest)) => matches.then_some(rest),
            // Without its end it is a letter.
            None => (letter == '[').then_some(letters.as_str()),
        },
        other => (other == letter).then_some(letters.as_str()),
    }
}

/// Whether a letter is in a set, whose text begins behind `[`, and what follows; `None` if it has no end.
fn one_of(set: &str, letter: char) -> Option<(bool, &str)> {
    let (set, is_negated) = match set.strip_prefix(['!', '^']) {
        Some(set) => (set, true),
        None => (set, false),
    };
    // A bracket at the beginning is a member.
    let first = set.chars().next()?.len_utf8();
    let end = first + set.get(first..)?.find(']')?;
    let members: Vec<char> = set.get(..end)?.chars().collect();
    let mut rest = &members[..];
    let mut is_member = false;
    while let Some((low, behind)) = rest.split_first() {
        let (high, behind) = match behind {
            ['-', high, behind @ ..] => (high, behind),
            behind => (low, behind),
        };
        is_member |= (*low..=*high).contains(&letter);
        rest = behind;
    }
    Some((is_member != is_negated, set.get(end + 1..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_dots_or_slashes_by_their_first_separator() {
        for (key, path) in [
            ("net.core.somaxconn", "net/core/somaxconn"),
            ("net/core/somaxconn", "net/core/somaxconn"),
            (" /net//core/./somaxconn/ ", "net/core/somaxconn"),
            ("net.ipv4.conf.enp3s0/200.forwarding", "net/ipv4/conf/enp3s0.200/forwarding"),
            ("net/ipv4/conf/enp3s0.200/forwarding", "net/ipv4/conf/enp3s0.200/forwarding"),
            ("vm", "vm"),
        ] {
            assert_eq!(path_of(key), path, "{key}");
        }
        let path = "net/ipv4/conf/enp3s0.200/forwarding";
        assert_eq!(path_of(&swapped(path, '/')), path);
    }

    #[test]
    fn lines_are_assignments_or_exclusions() {
        let text = "# a.b = 1\n ; a.b = 1\n\n  a.b=1 \n-a.c = 2 = 3\r\n-a.*\nnothing\na.d =\n";
        let read: Vec<(String, Option<String>)> =
            lines(text).map(|line| (line.key, line.value)).collect();
        let line = |key: &str, value: Option<&str>| (key.to_owned(), value.map(str::to_owned));
        let wanted = [
            line("a/b", Some("1")),
            line("a/c", Some("2 = 3")),
            line("a/*", None),
            line("a/d", Some("")),
        ];
        assert_eq!(read, wanted);
    }

    #[test]
    fn patterns_match_within_a_part() {
        for (pattern, path, wanted) in [
            ("net/ipv4/conf/*/rp_filter", "net/ipv4/conf/eth0.5/rp_filter", true),
            ("net/*/rp_filter", "net/ipv4/conf/eth0/rp_filter", false),
            ("net/core/*max*", "net/core/somaxconn", true),
            ("net/core/*max", "net/core/somaxconn", false),
            ("net/core/so?axcon[a-n]", "net/core/somaxconn", true),
            ("net/core/[!r-t]omaxconn", "net/core/somaxconn", false),
            ("net/core/[]s]omaxconn", "net/core/somaxconn", true),
            ("net/core/som[", "net/core/som[", true),
            ("net/core/som\\*", "net/core/som*", true),
            ("*/*/*", "net/core/somaxconn", true),
            ("*", "net/core/somaxconn", false),
            ("net/core/*o*x*n*", "net/core/somaxconn", true),
        ] {
            assert_eq!(matches(pattern, path), wanted, "{pattern} {path}");
        }
    }

    #[test]
    fn the_last_line_wins_and_a_key_goes_before_a_pattern() {
        let winner = |texts: &[&str]| {
            let files: Vec<(String, String)> = texts
                .iter()
                .enumerate()
                .map(|(at, text)| (at.to_string(), (*text).to_owned()))
                .collect();
            winner(&files, "net/core/somaxconn")
        };
        let sets = |file: &str| Some(Winner::Sets(file.to_owned()));
        assert_eq!(winner(&["net.core.somaxconn=1", "net/core/somaxconn=2"]), sets("1"));
        assert_eq!(winner(&["net.core.somaxconn=1", "net.core.*=2"]), sets("0"));
        assert_eq!(winner(&["net.core.*=1", "net.*.somaxconn=2"]), sets("1"));
        // An equal line does not move to the end.
        assert_eq!(winner(&["net.core.*=1", "net.*.somaxconn=2", "net.core.*=1"]), sets("1"));
        assert_eq!(winner(&["net.core.*=1", "net.*.somaxconn=2", "net.core.*=3"]), sets("2"));
        let excludes = Some(Winner::Excludes("1".to_owned()));
        assert_eq!(winner(&["net.core.*=1", "-net.core.somaxconn"]), excludes);
        assert_eq!(winner(&["net.core.*=1", "-net.core.*"]), None);
        assert_eq!(winner(&["net.core.other=1"]), None);
    }
}
