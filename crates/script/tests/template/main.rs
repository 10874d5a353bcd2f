//! Templates: cuts and escapes, code across tags, errors with their places, and properties of every page.

mod code;
mod errors;
mod evaluate;
mod lines;
mod properties;
mod text;

use script::template::{Escape, TemplateProblem, lower};

use evaluate::{Event, evaluate};

/// The Lua text of a page, without the frame that every page has.
#[track_caller]
fn body(source: &str) -> String {
    let lua = lower(source.as_bytes(), Escape::Markup).expect("a page without mistakes").lua;
    let (_, body) = lua.split_once("arguments) ").expect("a head");
    body.strip_suffix("end").expect("an end").trim_end_matches([' ', '\n']).to_owned()
}

/// The output of a page of text and plain values.
#[track_caller]
fn printed(source: &str) -> String {
    let lua = lower(source.as_bytes(), Escape::Markup).expect("a page without mistakes").lua;
    let mut printed = String::new();
    for happening in evaluate(&lua) {
        match happening.event {
            Event::Text(text) => printed.push_str(&text),
            Event::Escaped(name) => printed.extend(["{", &name, "}"]),
            Event::Raw(name) => printed.extend(["[", &name, "]"]),
            Event::Statement(_) => {}
        }
    }
    printed
}

/// Line, column and problem of a page that is refused.
#[track_caller]
fn refused(source: &str) -> (u32, u32, TemplateProblem) {
    let error = lower(source.as_bytes(), Escape::Markup).expect_err("a page with a mistake");
    (error.line, error.column, error.what)
}
