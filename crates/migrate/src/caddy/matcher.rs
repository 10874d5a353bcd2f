//! Matchers of Caddy as those of our routes.
//!
//! Owns which parts of a matcher have a counterpart. Caddy compares paths without case and we do not: `variants` are
//! the paths that a guard of Caddy takes beside those of ours.

use super::placeholders::is_plain;
use crate::condition::Condition;
use crate::directive::Directive;
use crate::matcher::Matcher;
use crate::pattern::{Case, Pattern};
use crate::word::quoted;

/// Which requests a directive is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chosen {
    paths: Vec<Matcher>,
    condition: Condition,
    /// Clients that it is not for. Only a refusal of all others can say that.
    not_from: Vec<String>,
}

impl Chosen {
    pub(super) fn new(paths: Vec<Matcher>) -> Self {
        Self { paths, condition: Condition::default(), not_from: Vec::new() }
    }

    /// All requests.
    pub(super) fn all() -> Self {
        Self::new(vec![Matcher::all()])
    }

    pub(super) fn paths(&self) -> &[Matcher] {
        &self.paths
    }

    pub(super) fn condition(&self) -> &Condition {
        &self.condition
    }

    /// Whether it is for all requests.
    pub(super) fn is_all(&self) -> bool {
        *self == Self::all()
    }

    /// The clients that it is not for; the rest of it as a matcher of its own.
    pub(super) fn exception(&self) -> Option<(&[String], Self)> {
        let rest = Self { not_from: Vec::new(), ..self.clone() };
        (!self.not_from.is_empty()).then_some((&self.not_from, rest))
    }

    /// Whether all requests of `other` are of this, where that is certain.
    pub(super) fn covers(&self, other: &Self) -> bool {
        let is_taken = |path: &Matcher| self.paths.iter().any(|own| own.covers(path));
        self.not_from.is_empty()
            && (self.condition.is_always() || self.condition == other.condition)
            && other.paths.iter().all(is_taken)
    }

    /// Whether no request is of both, where that is certain.
    pub(super) fn is_apart(&self, other: &Self) -> bool {
        !self.paths.iter().any(|own| other.paths.iter().any(|path| own.may_meet(path)))
    }

    /// The requests of both; `None` if no matchers can say so.
    pub(super) fn within(&self, inner: &Self) -> Option<Self> {
        if !self.not_from.is_empty() {
            return None;
        }
        let mut paths: Vec<Matcher> = Vec::new();
        for own in &self.paths {
            for path in &inner.paths {
                let both = own.within(path)?;
                paths.extend(
                    both.into_iter().filter(|one| !paths.contains(one)).collect::<Vec<_>>(),
                );
            }
        }
        let condition = self.condition.and(&inner.condition)?;
        Some(Self { paths, condition, not_from: inner.not_from.clone() })
    }

    /// The same behind what is stripped.
    fn behind(mut self, base: &str) -> Self {
        for path in &mut self.paths {
            let text = path.key().1;
            let text = format!("{base}{text}");
            *path = match path {
                Matcher::Path(_) => Matcher::Path(text),
                Matcher::Prefix(_) => Matcher::Prefix(text),
                Matcher::Glob(_) => Matcher::Glob(text),
            };
        }
        self
    }

    /// The paths that Caddy takes too, because it compares without case, and perhaps more; `None` if they are too many.
    pub(super) fn variants(&self) -> Option<Vec<Matcher>> {
        let mut all = Vec::new();
        for path in &self.paths {
            all.extend(variants(path)?);
        }
        Some(all)
    }
}

/// The letters whose cases are all listed. Of further ones the first in another case closes what begins so.
const LISTED: usize = 2;

fn variants(path: &Matcher) -> Option<Vec<Matcher>> {
    let text = path.key().1;
    // A place that only rewrites lead to.
    if text.starts_with("/.velodrome") {
        return Some(Vec::new());
    }
    let letters: Vec<usize> =
        text.char_indices().filter(|(_, sign)| sign.is_alphabetic()).map(|(at, _)| at).collect();
    if !text.is_ascii() {
        return None;
    }
    let flipped = |flips: &[usize], end: usize| {
        let flip = |(at, sign): (usize, char)| {
            if !flips.contains(&at) {
                sign
            } else if sign.is_ascii_lowercase() {
                sign.to_ascii_uppercase()
            } else {
                sign.to_ascii_lowercase()
            }
        };
        text.char_indices().take_while(|(at, _)| *at < end).map(flip).collect::<String>()
    };
    let subsets = |of: &[usize]| -> Vec<Vec<usize>> {
        (1..1_usize << of.len())
            .map(|mask| {
                of.iter()
                    .enumerate()
                    .filter(|(bit, _)| mask >> bit & 1 == 1)
                    .map(|(_, at)| *at)
                    .collect()
            })
            .collect()
    };
    let same = |text: String| match path {
        Matcher::Path(_) => Matcher::Path(text),
        Matcher::Prefix(_) => Matcher::Prefix(text),
        Matcher::Glob(_) => Matcher::Glob(text),
    };
    if letters.len() <= LISTED + 1 {
        return Some(
            subsets(&letters).iter().map(|flips| same(flipped(flips, text.len()))).collect(),
        );
    }
    if text.contains('*') && !text.ends_with('*') {
        return None;
    }
    let literal = path.literal();
    let inside: Vec<usize> = letters.into_iter().filter(|at| *at < literal.len()).collect();
    let mut all = Vec::new();
    let mut add = |beginning: String| {
        all.push(Matcher::Glob(format!("{beginning}*")));
        all.push(Matcher::Glob(format!("{beginning}*/**")));
    };
    let (first, rest) = inside.split_at(inside.len().min(LISTED));
    let last = first.last().map_or(0, |at| at + 1);
    subsets(first).iter().for_each(|flips| add(flipped(flips, last)));
    rest.iter().for_each(|at| add(flipped(&[*at], at + 1)));
    Some(all)
}

/// The named matchers of a site.
#[derive(Debug, Default)]
pub(super) struct Matchers {
    named: Vec<Named>,
    /// Whether a proxy may say who its clients are, so that the other end of a connection is not told from that.
    has_proxies: bool,
    /// The name that clients asked for, if that is known.
    host: Option<String>,
}

#[derive(Debug)]
struct Named {
    name: String,
    path: Option<String>,
    chosen: Result<Chosen, String>,
}

impl Matchers {
    pub(super) fn new(has_proxies: bool, host: Option<&str>) -> Self {
        Self { named: Vec::new(), has_proxies, host: host.map(str::to_owned) }
    }

    /// Reads `@name ...`.
    pub(super) fn define(&mut self, line: &Directive) {
        let inner = line.head().with_words(line.arguments().to_vec());
        let lines: Vec<&Directive> = match inner.words().is_empty() {
            true => line.inner().iter().collect(),
            false => vec![&inner],
        };
        let paths: Vec<&Directive> =
            lines.iter().filter(|line| line.name() == "path").copied().collect();
        let path = match paths.as_slice() {
            [path] if path.arguments().len() == 1 => Some(path.argument(0).to_owned()),
            _ => None,
        };
        let chosen = self.read(&lines);
        // The last definition would be another matcher for what stands before it.
        let is_double = self.named.iter().any(|known| known.name == line.name());
        let chosen =
            if is_double { Err(line.told("this matcher has two definitions")) } else { chosen };
        self.named.retain(|known| known.name != line.name());
        self.named.push(Named { name: line.name().to_owned(), path, chosen });
    }

    fn read(&self, lines: &[&Directive]) -> Result<Chosen, String> {
        let mut chosen = Chosen::all();
        for line in lines {
            let unknown = || line.told("this matcher has no counterpart");
            let one = self.part(line).ok_or_else(unknown)?;
            if !chosen.not_from.is_empty() && !one.not_from.is_empty() {
                return Err(unknown());
            }
            let not_from = std::mem::take(&mut chosen.not_from);
            chosen = chosen.within(&one).ok_or_else(unknown)?;
            chosen.not_from.extend(not_from);
        }
        Ok(chosen)
    }

    fn part(&self, line: &Directive) -> Option<Chosen> {
        let of = |condition: Condition| Some(Chosen { condition, ..Chosen::all() });
        match (line.name(), line.arguments()) {
            ("path", paths) => {
                let paths: Option<Vec<Vec<Matcher>>> =
                    paths.iter().map(|path| paths_of(path)).collect();
                Some(Chosen::new(paths?.concat())).filter(|chosen| !chosen.paths.is_empty())
            }
            ("path_regexp", [regex] | [_, regex]) => {
                let pattern = Pattern::of(regex, Case::Sensitive);
                (pattern.is_exact() && pattern.holes().is_empty()).then_some(())?;
                Some(Chosen::new(
                    pattern.alternatives().iter().map(|one| one.matcher().clone()).collect(),
                ))
            }
            // GET would take HEAD too.
            ("method", methods)
                if !methods.iter().any(|method| {
                    method.eq_ignore_ascii_case("get")
                        && !methods.iter().any(|other| other.eq_ignore_ascii_case("head"))
                }) =>
            {
                of(Condition::methods(methods.iter().map(|method| method.to_ascii_uppercase())))
            }
            ("header", [name]) if name.starts_with('!') => {
                of(Condition::has_header(name.trim_start_matches('!'), "false"))
            }
            ("header", [name]) => of(Condition::has_header(name, "true")),
            ("header", [name, value]) if is_plain(value) => of(Condition::header(name, value)),
            ("host", names) => {
                let is_plain = |name: &String| !name.contains(['*', '{']);
                let host = self.host.as_ref().filter(|_| names.iter().all(is_plain))?;
                let is_one = names.iter().any(|name| name.eq_ignore_ascii_case(host));
                Some(if is_one { Chosen::all() } else { Chosen::new(Vec::new()) })
            }
            ("query", [pair]) if is_plain(pair) => {
                let (name, value) = pair.split_once('=')?;
                (value == "*" || !value.contains('*')).then_some(())?;
                of(Condition::query(
                    name,
                    if value == "*" { "true".to_owned() } else { quoted(value) },
                ))
            }
            ("remote_ip", networks) if !self.has_proxies && !networks.is_empty() => {
                of(Condition::addresses(all_of(networks)?))
            }
            ("client_ip", networks) if !networks.is_empty() => {
                of(Condition::addresses(all_of(networks)?))
            }
            ("not", inner) => {
                let inner = match inner {
                    [] => match line.inner() {
                        [one] => one.clone(),
                        _ => return None,
                    },
                    words => line.head().with_words(words.to_vec()),
                };
                let is_address =
                    inner.name() == "client_ip" || inner.name() == "remote_ip" && !self.has_proxies;
                let networks =
                    all_of(inner.arguments()).filter(|all| is_address && !all.is_empty())?;
                Some(Chosen { not_from: networks, ..Chosen::all() })
            }
            _ => None,
        }
    }

    /// The matcher at the beginning of arguments, and the arguments after it, behind what is stripped.
    pub(super) fn of<'a>(
        &self,
        line: &Directive,
        arguments: &'a [String],
        base: &str,
    ) -> Result<(Chosen, &'a [String]), String> {
        let unknown = || line.told("its matcher has no counterpart");
        let (chosen, rest) = match arguments {
            [first, rest @ ..] if first == "*" => (Chosen::all(), rest),
            [first, rest @ ..] if first.starts_with('/') => {
                (Chosen::new(paths_of(first).ok_or_else(unknown)?), rest)
            }
            [first, rest @ ..] if first.starts_with('@') => {
                let known =
                    self.named.iter().find(|known| known.name == *first).ok_or_else(unknown)?;
                (known.chosen.clone().map_err(|why| format!("{why} in {}", unknown()))?, rest)
            }
            rest => (Chosen::all(), rest),
        };
        Ok((chosen.behind(base), rest))
    }

    pub(super) fn path(&self, line: &Directive) -> Option<String> {
        let first = line.arguments().first()?;
        if first.starts_with('/') {
            return Some(first.clone());
        }
        self.named.iter().find(|known| known.name == *first)?.path.clone()
    }

    /// Whether a directive has a matcher.
    pub(super) fn has(&self, line: &Directive) -> bool {
        line.argument(0).starts_with(['/', '@'])
    }
}

/// The networks of `private_ranges`.
pub(super) const PRIVATE: [&str; 6] =
    ["192.168.0.0/16", "172.16.0.0/12", "10.0.0.0/8", "127.0.0.0/8", "fd00::/8", "::1"];

/// Networks as written, if they are.
fn all_of(networks: &[String]) -> Option<Vec<String>> {
    let mut all = Vec::new();
    for network in networks {
        match network.as_str() {
            "private_ranges" => all.extend(PRIVATE.map(str::to_owned)),
            one if one
                .bytes()
                .all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b'.' | b':' | b'/')) =>
            {
                all.push(one.to_owned());
            }
            _ => return None,
        }
    }
    Some(all)
}

/// A path of Caddy, in which a `*` at the end stands for anything, slashes too.
fn paths_of(text: &str) -> Option<Vec<Matcher>> {
    let is_fine =
        |text: &str| !text.contains(['?', '%', '[', '\\', '{', '*']) && !text.contains("//");
    let all = match (text.strip_prefix('*'), text.strip_suffix('*')) {
        _ if text == "*" => vec![Matcher::all()],
        (None, None) if is_fine(text) => vec![Matcher::Path(text.to_owned())],
        (None, Some(beginning)) if is_fine(beginning) => Matcher::beginning(beginning),
        // `*.php`
        (Some(ending), None) if is_fine(ending) && !ending.contains('/') => {
            vec![Matcher::Glob(format!("/**/*{ending}"))]
        }
        // A star in between stands for anything but a slash.
        (None, None) if text.split('*').all(is_fine) => vec![Matcher::Glob(text.to_owned())],
        _ => return None,
    };
    all.iter().all(Matcher::is_possible).then_some(all)
}
