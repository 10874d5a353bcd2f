//! Regular expressions as matchers of ours.
//!
//! Owns what an expression takes: the same paths where globs can say so, otherwise more, and then it says that. An
//! expression is expanded into sequences of literals, parts of a segment and parts of a path. Never compares a path.

use crate::draft::Matcher;
use crate::limits::{ALTERNATIVES_MAX, DEPTH_MAX};

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
    /// What each group matched, as a text with `$1` to `$9` of the matcher; `None` where they cannot say it.
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
        let mut parser = Parser {
            signs: regex.chars().collect(),
            at: 0,
            case,
            is_exact: true,
            groups: 0,
            depth: 0,
        };
        let sequences = parser.alternation()?;
        if parser.at < parser.signs.len() {
            return None;
        }
        let mut pattern =
            Self { alternatives: Vec::new(), holes: Vec::new(), is_exact: parser.is_exact };
        for sequence in sequences {
            let Some(sequence) = anchored(sequence) else { continue };
            for hole in holes(&sequence) {
                for text in written(&hole, parser.groups) {
                    pattern.holes.push(text?.matcher);
                }
            }
            for text in written(&sequence, parser.groups) {
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

struct Parser {
    signs: Vec<char>,
    at: usize,
    case: Case,
    is_exact: bool,
    groups: usize,
    depth: usize,
}

/// Something that can be repeated.
enum Item {
    /// Each of these; a single sign is a sequence of one.
    Sequences(Vec<Sequence>),
    /// Any sign but a slash.
    NoSlash,
    /// Any sign.
    Any,
    /// A sign of many that are not listed here, without slashes or perhaps with.
    Some(Token),
}

impl Parser {
    fn peek(&self) -> Option<char> {
        self.signs.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let sign = self.peek()?;
        self.at += 1;
        Some(sign)
    }

    fn take(&mut self, text: &str) -> bool {
        let size = text.chars().count();
        let is_there = self.signs.iter().skip(self.at).take(size).copied().eq(text.chars());
        self.at += if is_there { size } else { 0 };
        is_there
    }

    fn alternation(&mut self) -> Option<Vec<Sequence>> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return None;
        }
        let mut all = self.sequence()?;
        while self.take("|") {
            all.extend(self.sequence()?);
        }
        self.depth -= 1;
        (all.len() <= ALTERNATIVES_MAX).then_some(all)
    }

    fn sequence(&mut self) -> Option<Vec<Sequence>> {
        let mut all: Vec<Sequence> = vec![Vec::new()];
        while let Some(sign) = self.peek()
            && !matches!(sign, '|' | ')')
        {
            let item = self.item()?;
            let choices = self.repeated(item)?;
            if all.len() * choices.len() > ALTERNATIVES_MAX {
                return None;
            }
            let joined = |before: &Sequence| {
                choices
                    .iter()
                    .map(|choice| [before.as_slice(), choice].concat())
                    .collect::<Vec<_>>()
            };
            all = all.iter().flat_map(joined).collect();
        }
        Some(all)
    }

    fn item(&mut self) -> Option<Item> {
        let one = |token| Some(Item::Sequences(vec![vec![token]]));
        match self.next()? {
            '^' => one(Token::Start),
            '$' => one(Token::End),
            '.' => Some(Item::Any),
            '(' => self.group(),
            '[' => self.class(),
            '\\' => match self.next()? {
                'd' | 'w' | 's' => Some(Item::Some(Token::Segment(Least::None))),
                'D' | 'W' | 'S' => Some(Item::Some(Token::All(Least::None))),
                letter if letter.is_alphanumeric() => None,
                sign => Some(Item::Sequences(self.letter(sign))),
            },
            '*' | '+' | '?' | '{' | ']' | '}' => None,
            sign => Some(Item::Sequences(self.letter(sign))),
        }
    }

    /// A sign, with its other case if that does not matter.
    fn letter(&mut self, sign: char) -> Vec<Sequence> {
        if self.case == Case::Sensitive || !sign.is_alphabetic() {
            return vec![vec![Token::Sign(sign)]];
        }
        if !sign.is_ascii() {
            self.is_exact = false;
            return vec![vec![Token::Segment(Least::None)]];
        }
        let both = [sign.to_ascii_lowercase(), sign.to_ascii_uppercase()];
        both.iter().map(|sign| vec![Token::Sign(*sign)]).collect()
    }

    fn group(&mut self) -> Option<Item> {
        if self.take("?!") || self.take("?=") || self.take("?<!") || self.take("?<=") {
            // Without what it looks for, the expression takes more.
            self.is_exact = false;
            self.alternation()?;
            return self.take(")").then(|| Item::Sequences(vec![Vec::new()]));
        }
        let mut number = None;
        if !self.take("?:") {
            self.groups += 1;
            number = Some(self.groups);
            if self.take("?P<") || self.take("?<") || self.take("?'") {
                while !matches!(self.next()?, '>' | '\'') {}
            } else if self.peek() == Some('?') {
                return None;
            }
        }
        let mut sequences = self.alternation()?;
        if let Some(number) = number {
            for sequence in &mut sequences {
                sequence.insert(0, Token::Open(number));
                sequence.push(Token::Close(number));
            }
        }
        self.take(")").then_some(Item::Sequences(sequences))
    }

    /// `[...]`. A few signs are alternatives.
    fn class(&mut self) -> Option<Item> {
        let is_negated = self.take("^");
        let (mut signs, mut is_open, mut has_slash) = (Vec::new(), false, false);
        loop {
            let sign = match self.next()? {
                ']' if !signs.is_empty() || is_open => break,
                '[' if self.peek() == Some(':') => return None,
                '\\' => match self.next()? {
                    letter if letter.is_alphanumeric() => {
                        is_open = true;
                        has_slash |= letter.is_uppercase();
                        continue;
                    }
                    sign => sign,
                },
                sign => sign,
            };
            has_slash |= sign == '/';
            if self.peek() == Some('-')
                && self.signs.get(self.at + 1).is_some_and(|end| *end != ']')
            {
                self.at += 1;
                let end = self.next()?;
                has_slash |= (sign..=end).contains(&'/');
                is_open = true;
                continue;
            }
            signs.push(sign);
        }
        if is_negated {
            let is_plain = signs == ['/'] && !is_open;
            let token =
                if has_slash { Token::Segment(Least::None) } else { Token::All(Least::None) };
            return Some(if is_plain { Item::NoSlash } else { Item::Some(token) });
        }
        if is_open {
            let token =
                if has_slash { Token::All(Least::None) } else { Token::Segment(Least::None) };
            return Some(Item::Some(token));
        }
        Some(Item::Sequences(signs.into_iter().flat_map(|sign| self.letter(sign)).collect()))
    }

    /// An item with the sign of repetition behind it.
    fn repeated(&mut self, item: Item) -> Option<Vec<Sequence>> {
        let sign = self.peek().filter(|sign| matches!(sign, '*' | '+' | '?' | '{'));
        if let Some(sign) = sign {
            self.at += 1;
            while sign == '{' && self.next()? != '}' {}
            // What is lazy or possessive takes the same paths, or fewer.
            if self.take("+") || self.take("?") && sign != '?' {
                self.is_exact = false;
            }
        }
        let token = match (&item, sign) {
            (Item::Sequences(sequences), None) => return Some(sequences.clone()),
            (Item::Sequences(sequences), Some('?')) => {
                let mut all = sequences.clone();
                all.push(Vec::new());
                return Some(all);
            }
            (Item::NoSlash, Some('*')) => Token::Segment(Least::None),
            (Item::NoSlash, Some('+')) => Token::Segment(Least::One),
            (Item::Any, Some('*')) => Token::All(Least::None),
            (Item::Any, Some('+')) => Token::All(Least::One),
            (item, _) => {
                self.is_exact = false;
                match item {
                    Item::NoSlash => Token::Segment(Least::None),
                    Item::Some(token) => *token,
                    Item::Any | Item::Sequences(_) => Token::All(Least::None),
                }
            }
        };
        Some(vec![vec![token]])
    }
}

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

/// The globs of a sequence. `None` for a text that no glob can have.
fn written(sequence: &[Token], groups: usize) -> Vec<Option<Alternative>> {
    let mut writers = vec![Writer::new(groups)];
    let is_mark = |token: &&Token| matches!(token, Token::Open(_) | Token::Close(_));
    for (index, token) in sequence.iter().enumerate() {
        let after = sequence.iter().skip(index + 1).find(|token| !is_mark(token)).copied();
        if let Token::All(least) = token {
            let both = writers.into_iter().flat_map(|writer| writer.all(*least, after));
            writers = both.collect();
        } else {
            writers.iter_mut().for_each(|writer| writer.put(*token));
        }
    }
    let possible = writers
        .into_iter()
        .filter(|writer| writer.text.starts_with('/') && !writer.text.contains("//"));
    possible.map(Writer::finish).collect()
}

/// A glob on its way.
#[derive(Clone)]
struct Writer {
    text: String,
    stars: usize,
    groups: Vec<Option<String>>,
    open: Vec<usize>,
}

impl Writer {
    fn new(groups: usize) -> Self {
        Self {
            text: String::new(),
            stars: 0,
            groups: vec![Some(String::new()); groups],
            open: Vec::new(),
        }
    }

    fn put(&mut self, token: Token) {
        match token {
            Token::Sign(sign) => self.literal(sign),
            Token::Open(number) => self.open.push(number),
            Token::Close(number) => self.open.retain(|one| *one != number),
            Token::Segment(_) => self.star("*"),
            Token::All(_) | Token::Start | Token::End => {}
        }
    }

    fn literal(&mut self, sign: char) {
        self.text.push(sign);
        // A dollar sign is a variable in a target.
        self.add_to_groups(if sign == '$' { "$$".to_owned() } else { sign.to_string() }.as_str());
    }

    fn star(&mut self, star: &str) {
        self.text.push_str(star);
        self.stars += 1;
        self.add_to_groups(&format!("${}", self.stars));
    }

    fn add_to_groups(&mut self, text: &str) {
        for number in &self.open {
            if let Some(Some(group)) = self.groups.get_mut(number - 1) {
                group.push_str(text);
            }
        }
    }

    /// A star that stands for no or many segments: what it takes is no part of a target.
    fn unknown(mut self, text: &str) -> Self {
        self.text.push_str(text);
        self.stars += text.replace("**", "*").matches('*').count();
        for number in &self.open {
            if let Some(group) = self.groups.get_mut(number - 1) {
                *group = None;
            }
        }
        self
    }

    /// Any characters, as what can be before `after`.
    fn all(self, least: Least, after: Option<Token>) -> Vec<Self> {
        let is_first = self.text.is_empty();
        let is_segment = self.text.ends_with('/');
        match (is_first, is_segment, after) {
            (true, _, None) => {
                let mut one = self;
                one.literal('/');
                one.star("**");
                vec![one]
            }
            // Whole segments, or none.
            (true, _, Some(Token::Sign('/'))) if least == Least::None => vec![self.unknown("/**")],
            (true, _, Some(Token::Sign('/'))) => vec![self.unknown("/**/*")],
            (true, _, Some(_)) => vec![self.unknown("/**/*")],
            (_, true, None) => {
                let mut one = self;
                one.star("**");
                vec![one]
            }
            (_, false, None) => {
                let mut one = self.clone();
                one.star("*");
                let mut more = one.clone();
                more.literal('/');
                more.star("**");
                vec![one, more]
            }
            (_, true, Some(Token::Sign('/'))) => vec![self.unknown("*/**")],
            (_, true, Some(_)) => vec![self.unknown("**/*")],
            (_, false, Some(Token::Sign('/'))) => vec![self.unknown("*/**")],
            (_, false, Some(_)) => {
                let more = self.clone().unknown("*/**/*");
                vec![self.unknown("*"), more]
            }
        }
    }

    fn finish(self) -> Option<Alternative> {
        let stars = self.stars;
        let literal = self.text.strip_suffix("**").filter(|_| stars == 1);
        let matcher = match literal {
            _ if stars == 0 => Matcher::Path(self.text),
            Some(prefix) => Matcher::Prefix(prefix.to_owned()),
            None => Matcher::Glob(self.text),
        };
        matcher.is_possible().then_some(Alternative { matcher, groups: self.groups })
    }
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
