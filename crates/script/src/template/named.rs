//! The parts and modules that code names literally: `include("row.html")`, `require "clock"`.
//!
//! Owns what counts as such a name: a string without escapes that is the first argument of a call.
//! Never checks whether the part or module exists.

use super::token::{Lexeme, Lexer};

/// A name, and the function that was called with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedCall<'l> {
    /// The function.
    pub function: &'l str,
    /// The name.
    pub name: &'l str,
    /// The line of the text, from 1.
    pub line: u32,
}

/// The part of a call that was read.
enum Place<'l> {
    Elsewhere,
    /// After the name of a function.
    Function(&'l str),
    /// After its parenthesis.
    Open(&'l str),
    /// After a text within it.
    Argument(NamedCall<'l>),
}

/// The names with which a Lua text calls one of these functions, up to the first invalid place. A function that the
/// text declares itself (`local include`) is another function, and its names are left out.
pub fn named<'l>(lua: &'l str, functions: &[&str]) -> Vec<NamedCall<'l>> {
    let mut lexer = Lexer::new(lua, 0);
    let (mut found, mut declared): (Vec<NamedCall<'l>>, Vec<&str>) = (Vec::new(), Vec::new());
    let (mut place, mut before) = (Place::Elsewhere, "");
    let (mut line, mut counted) = (1, 0);
    while let Ok(Some(token)) = lexer.next_token() {
        if token.lexeme == Lexeme::Comment {
            continue;
        }
        let Some(text) = lua.get(token.start..token.end) else { break };
        let mut named = |function| {
            let name = plain(text)?;
            // Each line is counted once, however many names there are.
            let passed = lua.get(counted..token.start).unwrap_or_default();
            line += passed.bytes().filter(|byte| *byte == b'\n').count();
            counted = token.start;
            Some(NamedCall { function, name, line: u32::try_from(line).unwrap_or(u32::MAX) })
        };
        place = match place {
            Place::Function(function) if text == "(" => Place::Open(function),
            Place::Function(function) if token.lexeme == Lexeme::Text => {
                found.extend(named(function));
                Place::Elsewhere
            }
            Place::Open(function) if token.lexeme == Lexeme::Text => {
                named(function).map_or(Place::Elsewhere, Place::Argument)
            }
            Place::Argument(one) => {
                // Otherwise it is the beginning of something longer.
                found.extend(matches!(text, ")" | ",").then_some(one));
                Place::Elsewhere
            }
            _ if functions.contains(&text) && matches!(before, "local" | "function") => {
                declared.push(text);
                Place::Elsewhere
            }
            _ if functions.contains(&text) && !matches!(before, "." | ":" | "?.") => {
                Place::Function(text)
            }
            _ => Place::Elsewhere,
        };
        before = text;
    }
    found.retain(|named| !declared.contains(&named.function));
    found
}

/// The text between the quotes of a string without escapes.
fn plain(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    let inside = text.strip_prefix(quote)?.strip_suffix(quote)?;
    (!inside.contains('\\')).then_some(inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(lua: &str) -> Vec<(&str, &str, u32)> {
        let named = named(lua, &["include", "require"]);
        named.into_iter().map(|one| (one.function, one.name, one.line)).collect()
    }

    #[test]
    fn names_are_found_where_they_stand_alone() {
        let lua = "include('a.html')\n -- include('no')\nlocal clock = require \"clock\" include(\n'b', { 1 \
                   })";
        let expected = [("include", "a.html", 1), ("require", "clock", 3), ("include", "b", 4)];
        assert_eq!(found(lua), expected);
    }

    #[test]
    fn names_made_at_run_time_are_not_found() {
        for lua in [
            "include('a' .. b)",
            "include(name)",
            "x.include('a')",
            "x:include('a')",
            "include('a\\n')",
            "local f = include",
            "local function include(x) end include('a')",
            "local include = print include('a')",
            "includes('a')",
            "include([[a]])",
            "'include(\"a\")'",
        ] {
            assert_eq!(found(lua), [], "{lua}");
        }
    }
}
