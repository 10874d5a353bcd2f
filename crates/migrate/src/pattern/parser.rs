//! The syntax of expressions.
//!
//! Owns which of it can be expanded exactly: of everything else it takes more, and says so. Never writes a glob.

use super::{Case, Least, Sequence, Token};
use crate::limits::{ALTERNATIVES_MAX, DEPTH_MAX};

/// The globs into which an expression is expanded.
pub(super) struct Expansion {
    sequences: Vec<Sequence>,
    groups: usize,
    is_exact: bool,
}

impl Expansion {
    /// Reads an expression; `None` if it is none that can be read.
    pub(super) fn of(regex: &str, case: Case) -> Option<Self> {
        let signs = regex.chars().collect();
        let mut parser = Parser { signs, at: 0, case, is_exact: true, groups: 0, depth: 0 };
        let sequences = parser.alternation()?;
        let is_whole = parser.at == parser.signs.len();
        let (groups, is_exact) = (parser.groups, parser.is_exact);
        is_whole.then_some(Self { sequences, groups, is_exact })
    }

    pub(super) fn groups(&self) -> usize {
        self.groups
    }

    pub(super) fn is_exact(&self) -> bool {
        self.is_exact
    }

    pub(super) fn into_sequences(self) -> Vec<Sequence> {
        self.sequences
    }
}

struct Parser {
    signs: Vec<char>,
    at: usize,
    case: Case,
    is_exact: bool,
    groups: usize,
    depth: usize,
}

/// A part of an expression that can be repeated.
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
            // A lazy or possessive item takes the same paths, or fewer.
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
