//! Pages: translated line by line or refused at a position within them; text is printed unchanged, and the translation
//! is balanced code.

use std::str::Chars;

use script::template::{Escape, TemplateProblem, lower};

/// The code that it runs.
pub const COVERS: &[&str] = &["crates/script/src/template"];

/// Pages of all kinds.
pub const SEEDS: &[&[u8]] = &[
    b"<p>Hello, <%= name %>!</p>\n",
    b"<% for i = 1, 3 do -%>\n<li><%= i, t[i] %></li>\r\n<% end %>",
    b"<% block('main', function() %>text<% end) %><%- content() -- all of it %>",
    b"<%# note %><%% a %%> <% x = [[ %%> ]] .. '\\'--' .. \"\\z \n\" %>",
    b"<% if a then return f(1) elseif b then %>b<% else --[==[ ]] ]==] break end %>",
    b"<% repeat local x = function(...) return { ... } end %>\0\r\"\\<% until x() %>",
    b"\xef\xbb\xbf\xc3\xa9<%= \xc3\xa9 %>\xff",
];

/// Pieces of pages.
pub const WORDS: &[&[u8]] = &[
    b"<%",
    b"<%=",
    b"<%-",
    b"<%#",
    b"<%%",
    b"%>",
    b"-%>",
    b"-%>\n",
    b"-%>\r\n",
    b"%%>",
    b"<% x = ",
    b"\r\n",
    b"\n",
    b"--",
    b"--[[",
    b"]]",
    b"[=[",
    b"]=]",
    b"'",
    b"\"",
    b"\\",
    b"\\z",
    b"\\\r\n",
    b"0x1p",
    b"1e",
    b"..",
    b"(",
    b")",
    b"{",
    b"}",
    b"[",
    b"]",
    b" if ",
    b" then ",
    b" else ",
    b" elseif ",
    b" end ",
    b" do ",
    b" while ",
    b" repeat ",
    b" until ",
    b" function() ",
    b" return ",
    b" break ",
    b" not ",
    b"__output",
];

/// Checks the properties of this module for one input.
pub fn check(data: &[u8]) {
    assert_lowered_or_refused(data);
    let text = String::from_utf8_lossy(data);
    // At the start it would be a byte order mark, which is not part of the text.
    assert_unchanged(text.trim_start_matches('\u{FEFF}'));
}

fn assert_lowered_or_refused(page: &[u8]) {
    match lower(page, Escape::Markup) {
        Ok(lowered) => {
            assert_eq!(line_breaks(lowered.lua.as_bytes()), line_breaks(page), "lines are kept");
            assert_balanced(&lowered.lua);
        }
        Err(error) => {
            let mut lines = page.split(|byte| *byte == b'\n');
            let line = lines.nth(error.line as usize - 1).expect("the line is one of the page");
            assert!((1..=line.len() + 1).contains(&(error.column as usize)), "{error}");
            assert!(!error.to_string().contains('\n'), "{error:?}");
        }
    }
}

/// Checks that Lua text is accepted as the code of a page, unless it is nested one level too deep for that.
fn assert_balanced(lua: &str) {
    let code = lua.replace("__", "its_").replace("%>", "%%>");
    if let Err(error) = lower(format!("<% {code} %>").as_bytes(), Escape::Plain) {
        let problem = error.what;
        assert!(
            matches!(problem, TemplateProblem::NestedTooDeep | TemplateProblem::PageTooLong),
            "{error}: {code}"
        );
    }
}

/// Checks that a page without tags prints literals which, parsed again, are the page.
fn assert_unchanged(text: &str) {
    let lua = lower(text.replace("<%", "<%%").as_bytes(), Escape::Markup).expect("no tags").lua;
    let (_, body) = lua.split_once(") ").expect("a head");
    let body = body.strip_suffix("end").expect("an end");
    let mut read = String::new();
    let mut characters = body.chars();
    // Between literals there are calls, commas and line breaks.
    while let Some(character) = characters.next() {
        match character {
            '"' => read_literal(&mut characters, &mut read),
            other => assert!("__output:put(),; \n".contains(other), "{other:?} in {body:?}"),
        }
    }
    assert_eq!(read, text);
}

/// Reads up to the closing quotation mark.
fn read_literal(characters: &mut Chars, text: &mut String) {
    loop {
        match characters.next().expect("a closing quotation mark") {
            '"' => return,
            character @ ('\n' | '\r' | '\0') => panic!("{character:?} in a literal"),
            '\\' => match characters.next().expect("what is escaped") {
                'n' => text.push('\n'),
                quoted @ ('"' | '\\') => text.push(quoted),
                first => {
                    let digits = [first].into_iter().chain(characters.by_ref().take(2));
                    let number = digits.collect::<String>().parse::<u8>();
                    text.push(char::from(number.expect("three digits")));
                }
            },
            character => text.push(character),
        }
    }
}

fn line_breaks(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte == b'\n').count()
}
