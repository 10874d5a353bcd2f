//! Sequences as globs.
//!
//! Owns what of a path each star takes, so that groups can be told. Never reads an expression.

use super::{Alternative, Least, Token};
use crate::matcher::Matcher;

/// The globs of a sequence. `None` for a text that no glob can have.
pub(super) fn written(sequence: &[Token], groups: usize) -> Vec<Option<Alternative>> {
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
