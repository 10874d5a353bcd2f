//! The intended name, among those of a text and its surroundings.
//!
//! Owns what is similar enough. Only a hint: nothing depends on it.

use crate::template::token::{Lexeme, Lexer};

/// Shorter names are similar to too many others.
const LENGTH_MIN: usize = 3;

/// The name that differs from `name` in one character, or in the order of two, among those in this Lua text or
/// otherwise among `others`. A name after a point or a colon is that of a field and is skipped.
pub fn near_name<'a>(name: &str, lua: &'a str, others: &[&'a str]) -> Option<&'a str> {
    let is_near = |other: &&str| is_near(name.as_bytes(), other.as_bytes());
    if name.len() < LENGTH_MIN {
        return None;
    }
    names(lua).find(is_near).or_else(|| others.iter().copied().find(is_near))
}

/// The names in a Lua text, up to the first invalid place.
fn names(lua: &str) -> impl Iterator<Item = &str> {
    let mut lexer = Lexer::new(lua, 0);
    let mut before = 0;
    std::iter::from_fn(move || {
        loop {
            let token = lexer.next_token().ok()??;
            let is_field = matches!(before, b'.' | b':');
            let text = lua.get(token.start..token.end)?;
            before = text.bytes().last().filter(|_| token.end - token.start == 1).unwrap_or(0);
            if token.lexeme == Lexeme::Name && !is_field {
                return Some(text);
            }
        }
    })
}

/// Whether inserting, removing or changing one character, or exchanging two, turns one into the other.
fn is_near(one: &[u8], other: &[u8]) -> bool {
    let same = |(one, other): &(&u8, &u8)| one == other;
    let start = one.iter().zip(other).take_while(same).count();
    let (one, other) = (&one[start..], &other[start..]);
    let end = one.iter().rev().zip(other.iter().rev()).take_while(same).count();
    match (&one[..one.len() - end], &other[..other.len() - end]) {
        ([], [_]) | ([_], [] | [_]) => true,
        ([a, b], [c, d]) => a == d && b == c,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slip_is_near_and_two_are_not() {
        let near = |one: &str, other: &str| {
            let there = is_near(one.as_bytes(), other.as_bytes());
            assert_eq!(there, is_near(other.as_bytes(), one.as_bytes()), "{one} {other}");
            there
        };
        for (one, other) in
            [("totl", "total"), ("cuonter", "counter"), ("Total", "total"), ("aab", "aaab")]
        {
            assert!(near(one, other), "{one} {other}");
        }
        for (one, other) in [("total", "total"), ("tola", "total"), ("", "ab"), ("abcd", "badc")] {
            assert!(!near(one, other), "{one} {other}");
        }
    }

    #[test]
    fn names_are_those_of_code() {
        let lua = "local total, x = 1; a.totel = 'totul' --[[ totil ]] b:totol()";
        assert_eq!(near_name("totl", lua, &["totll"]), Some("total"));
        assert_eq!(near_name("totl", "a.total = 'total'", &["totll"]), Some("totll"));
        assert_eq!(near_name("toXul", lua, &[]), None);
        assert_eq!(near_name("y", lua, &[]), None, "too short");
        assert_eq!(near_name("totl", "total = 'never closed", &[]), Some("total"));
        assert_eq!(near_name("totl", "'never closed", &[]), None);
    }
}
