//! The elements of a page.
//!
//! Owns escaping and nesting: the output is well formed whatever the texts are. Never writes a text
//! unescaped.

use std::fmt::{self, Display, Write};

/// An attribute of an element.
pub type Attribute<'a> = (&'static str, &'a dyn Display);

/// A page, or the part written so far.
#[derive(Debug, Default)]
pub struct HtmlPage {
    written: String,
}

impl HtmlPage {
    /// A page without an element.
    pub(super) fn new() -> HtmlPage {
        HtmlPage { written: "<!DOCTYPE html>\n".to_owned() }
    }

    /// An element whose content `content` writes.
    pub fn element(
        &mut self,
        name: &'static str,
        attributes: &[Attribute<'_>],
        content: impl FnOnce(&mut HtmlPage),
    ) {
        self.begin(name, attributes);
        self.written.push('>');
        content(self);
        self.written.push_str("</");
        self.written.push_str(name);
        self.written.push_str(">\n");
    }

    /// An element that contains only text.
    pub fn leaf(&mut self, name: &'static str, attributes: &[Attribute<'_>], text: impl Display) {
        self.element(name, attributes, |page| page.text(text));
    }

    /// An element that is always empty.
    pub fn empty(&mut self, name: &'static str, attributes: &[Attribute<'_>]) {
        self.begin(name, attributes);
        self.written.push_str("/>\n");
    }

    /// Text, escaped.
    pub fn text(&mut self, text: impl Display) {
        write!(Escaping(&mut self.written), "{text}").expect("text can be appended to text");
    }

    /// The style of the page, which contains nothing to escape.
    pub(super) fn style(&mut self, rules: &'static str) {
        self.element("style", &[], |page| page.written.push_str(rules));
    }

    /// Everything written.
    pub(super) fn into_text(self) -> String {
        self.written
    }

    fn begin(&mut self, name: &'static str, attributes: &[Attribute<'_>]) {
        self.written.push('<');
        self.written.push_str(name);
        for (name, value) in attributes {
            self.written.push(' ');
            self.written.push_str(name);
            self.written.push_str("=\"");
            self.text(value);
            self.written.push('"');
        }
    }
}

/// A text that escapes everything written to it, for content and for attributes in double quotes.
struct Escaping<'a>(&'a mut String);

impl Write for Escaping<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            match character {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                '\n' | '\t' => self.0.push(character),
                _ if is_misleading(character) => self.0.push(char::REPLACEMENT_CHARACTER),
                _ => self.0.push(character),
            }
        }
        Ok(())
    }
}

/// Characters that HTML forbids, and those that change the direction of text.
fn is_misleading(character: char) -> bool {
    let is_reordering = matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    character.is_control() || is_reordering
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_attributes_are_escaped() {
        let mut page = HtmlPage::default();
        page.leaf("p", &[("title", &"\"><i>'")], "</p><script>&\0\u{202e}\n");
        let expected = "<p title=\"&quot;&gt;&lt;i&gt;&#39;\">\
                        &lt;/p&gt;&lt;script&gt;&amp;\u{fffd}\u{fffd}\n</p>\n";
        assert_eq!(page.into_text(), expected);
    }
}
