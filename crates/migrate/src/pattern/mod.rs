//! Regular expressions as matchers of ours.
//!
//! Owns what an expression takes: the same paths where globs can say so, otherwise more, and then it says that. An
//! expression is expanded into sequences of literals, parts of a segment and parts of a path. Never compares a path.

mod parser;
mod writer;

use self::parser::Expansion;
use self::writer::written;
use crate::limits::ALTERNATIVES_MAX;
use crate::matcher::Matcher;

/// How an expression compares letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    Sensitive,
    Ignored,
}

/// One way to meet an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Alternative {
    matcher: Matcher,
    /// The match of each group, as a text with `$1` to `$9` of the matcher; `None` where they cannot say it.
    groups: Vec<Option<String>>,
}

impl Alternative {
    pub(crate) fn matcher(&self) -> &Matcher {
        &self.matcher
    }

    pub(crate) fn groups(&self) -> &[Option<String>] {
        &self.groups
    }
}

/// The paths that an expression takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pattern {
    alternatives: Vec<Alternative>,
    /// Paths that the alternatives take and the expression does not.
    holes: Vec<Matcher>,
    /// Whether the alternatives without the holes take the same paths as the expression, rather than more.
    is_exact: bool,
}

impl Pattern {
    /// The paths that an expression takes; all paths if it is none that can be read.
    pub(crate) fn of(regex: &str, case: Case) -> Self {
        Self::read(regex, case).unwrap_or_else(|| {
            let all = Alternative { matcher: Matcher::all(), groups: Vec::new() };
            Self { alternatives: vec![all], holes: Vec::new(), is_exact: false }
        })
    }

    pub(crate) fn alternatives(&self) -> &[Alternative] {
        &self.alternatives
    }

    pub(crate) fn holes(&self) -> &[Matcher] {
        &self.holes
    }

    pub(crate) fn is_exact(&self) -> bool {
        self.is_exact
    }

    fn read(regex: &str, case: Case) -> Option<Self> {
        let expansion = Expansion::of(regex, case)?;
        let groups = expansion.groups();
        let is_exact = expansion.is_exact();
        let mut pattern = Self { alternatives: Vec::new(), holes: Vec::new(), is_exact };
        for sequence in expansion.into_sequences() {
            let Some(sequence) = anchored(sequence) else { continue };
            for hole in holes(&sequence) {
                for text in written(&hole, groups) {
                    pattern.holes.push(text?.matcher);
                }
            }
            for text in written(&sequence, groups) {
                let alternative = text?;
                if !pattern.alternatives.iter().any(|known| known.matcher == alternative.matcher) {
                    pattern.alternatives.push(alternative);
                }
            }
        }
        (pattern.alternatives.len() <= ALTERNATIVES_MAX).then_some(pattern)
    }
}

/// A part of a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Sign(char),
    /// Any characters but slashes; at least one with `Some`.
    Segment(Least),
    /// Any characters.
    All(Least),
    Open(usize),
    Close(usize),
    Start,
    End,
}

/// How many characters a wildcard takes at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Least {
    None,
    One,
}

type Sequence = Vec<Token>;

/// A sequence from the beginning of a path to its end; `None` if no path can be so.
fn anchored(sequence: Sequence) -> Option<Sequence> {
    let is_mark = |token: &Token| matches!(token, Token::Open(_) | Token::Close(_));
    let start = sequence.iter().position(|token| *token == Token::Start);
    let end = sequence.iter().position(|token| *token == Token::End);
    let before = start.map_or(Some(Default::default()), |start| sequence.get(..start))?;
    let behind = end.map_or(Some(Default::default()), |end| sequence.get(end + 1..))?;
    if !before.iter().chain(behind).all(is_mark) {
        return None;
    }
    let mut all = Vec::new();
    if start.is_none() {
        all.push(Token::All(Least::None));
    }
    all.extend(sequence.into_iter().filter(|token| !matches!(token, Token::Start | Token::End)));
    if end.is_none() {
        all.push(Token::All(Least::None));
    }
    Some(merged(&all))
}

/// Without wildcards beside each other.
fn merged(sequence: &[Token]) -> Sequence {
    let mut all: Sequence = Vec::new();
    for token in sequence {
        let last = all.iter().rposition(|one| !matches!(one, Token::Open(_) | Token::Close(_)));
        let before = last.and_then(|index| all.get(index).copied());
        let joined = match (before, token) {
            (Some(Token::Segment(one)), Token::Segment(other)) => {
                Token::Segment(if *other == Least::One { *other } else { one })
            }
            (Some(Token::Segment(one) | Token::All(one)), Token::All(other))
            | (Some(Token::All(one)), Token::Segment(other)) => {
                Token::All(if *other == Least::One { *other } else { one })
            }
            _ => {
                all.push(*token);
                continue;
            }
        };
        // Groups whose ends are between them are not known then: the marks stand at the wrong side.
        let has_mark = last.is_some_and(|index| index + 1 < all.len());
        if let Some(slot) = last.and_then(|index| all.get_mut(index)) {
            *slot = joined;
        }
        if has_mark {
            all.retain(|one| !matches!(one, Token::Open(_) | Token::Close(_)));
        }
    }
    all
}

/// The sequences that a wildcard for at least one character does not take.
fn holes(sequence: &[Token]) -> Vec<Sequence> {
    let without = |index: usize| {
        let mut rest = sequence.to_vec();
        rest.remove(index);
        merged(&rest)
    };
    let is_hole =
        |token: &Token| matches!(token, Token::Segment(Least::One) | Token::All(Least::One));
    let places = sequence.iter().enumerate().filter(|(_, token)| is_hole(token));
    places.map(|(index, _)| without(index)).filter(|hole| !has_empty_segment(hole)).collect()
}

/// Whether a sequence has two slashes beside each other, which no path has.
fn has_empty_segment(sequence: &[Token]) -> bool {
    let plain: Vec<&Token> = sequence
        .iter()
        .filter(|token| !matches!(token, Token::Open(_) | Token::Close(_)))
        .collect();
    plain.windows(2).any(|pair| matches!(pair, [Token::Sign('/'), Token::Sign('/')]))
        || matches!(plain.first(), None | Some(Token::Sign(_)))
            && plain.first() != Some(&&Token::Sign('/'))
}

#[cfg(test)]
mod tests {
    use super::{Case, Pattern};

    fn told(regex: &str, case: Case) -> String {
        let pattern = Pattern::of(regex, case);
        let mut words: Vec<String> =
            pattern.alternatives().iter().map(|one| one.matcher().to_string()).collect();
        words.extend(pattern.holes().iter().map(|hole| format!("not {hole}")));
        if !pattern.is_exact() {
            words.push("or less".to_owned());
        }
        words.join(" ")
    }

    #[test]
    fn an_expression_is_the_globs_that_take_the_same_paths() {
        for (regex, expected) in [
            ("\\.php$", "/**/*.php"),
            ("\\.(css|js)$", "/**/*.css /**/*.js"),
            ("\\.(?:jpe?g|png)$", "/**/*.jpeg /**/*.jpg /**/*.png"),
            ("^/old/(.*)$", "/old/.."),
            ("^/old/(.+)$", "/old/.. not =/old/"),
            ("^/old(.*)$", "/old* /old*/**"),
            ("^/api/", "/api/.."),
            ("^/about$", "=/about"),
            ("^/a\\.b$", "=/a.b"),
            ("^/user/([^/]+)/?$", "/user/*/ /user/* not =/user/"),
            ("^/user/([^/]+)/edit$", "/user/*/edit"),
            ("/\\.git", "/**/.git* /**/.git*/**"),
            ("[^/]\\.php(/|$)", "/**/*.php/** /**/*.php or less"),
            ("^/(a|b)/", "/a/.. /b/.."),
            ("admin", "/**/*admin* /**/*admin*/**"),
            ("", "/.."),
            ("^/$", "=/"),
            ("^/x/.*/y$", "/x/*/**/y"),
        ] {
            assert_eq!(told(regex, Case::Sensitive), expected, "{regex}");
        }
        assert_eq!(told("^/a1$", Case::Ignored), "=/a1 =/A1");
    }

    #[test]
    fn an_expression_that_no_glob_can_say_takes_more_and_says_so() {
        for (regex, expected) in [
            ("^/(\\d+)$", "/* or less"),
            ("^/user/[0-9]+/x$", "/user/*/x or less"),
            ("/\\.(?!well-known)", "/**/.* /**/.*/** or less"),
            ("^/x{2}$", "/.. or less"),
            ("^/a(b|c)+$", "/a* /a*/** or less"),
            ("^/x\\b", "/.. or less"),
            ("(", "/.. or less"),
        ] {
            assert_eq!(told(regex, Case::Sensitive), expected, "{regex}");
        }
    }

    #[test]
    fn groups_are_the_texts_of_the_stars() {
        let groups = |regex: &str| {
            let pattern = Pattern::of(regex, Case::Sensitive);
            let all = pattern.alternatives().iter().map(|one| one.groups().to_vec());
            all.collect::<Vec<_>>()
        };
        assert_eq!(groups("^/old(.*)$"), [[Some("$1".into())], [Some("$1/$2".into())]]);
        assert_eq!(groups("^/(a)/([^/]*)$"), [[Some("a".into()), Some("$1".into())]]);
        assert_eq!(groups("^/x(.*)y$"), [[None], [None]]);
    }
}
