//! Properties of every page.

use proptest::prelude::*;
use script::template::{Escape, lower};

use super::evaluate::{Event, Happening, evaluate};
use super::printed;

/// A part of a page, as its author means it.
#[derive(Debug, Clone)]
enum Part {
    Text(String),
    Escaped(Words),
    Raw(Words),
    Code(Words),
    Comment(String),
    /// A value whose tag removes a line end.
    Trimmed(String, &'static str),
}

/// The words in a tag, each with its offset.
#[derive(Debug, Clone)]
struct Words {
    source: String,
    names: Vec<(String, usize)>,
}

/// A page that is being built, with its expected events.
#[derive(Debug, Clone, Default)]
struct Page {
    source: String,
    /// Text that is not in the source yet: `<` and `%` of two parts must not become a tag.
    text: String,
    happenings: Vec<Happening>,
}

impl Page {
    fn of(parts: Vec<Part>) -> Page {
        let mut page = Page::default();
        parts.into_iter().for_each(|part| page.add(part));
        page.end_text();
        page
    }

    fn add(&mut self, part: Part) {
        match part {
            Part::Text(text) => self.text.push_str(&text),
            Part::Escaped(words) => self.tag("<%=", words, Event::Escaped),
            Part::Raw(words) => self.tag("<%-", words, Event::Raw),
            Part::Code(words) => self.tag("<% ", words, Event::Statement),
            Part::Comment(text) => {
                self.end_text();
                self.source.extend(["<%#", &text, "%>"]);
            }
            Part::Trimmed(name, line_end) => {
                let words = Words { source: format!("{name} -"), names: vec![(name, 0)] };
                self.tag("<%=", words, Event::Escaped);
                self.source.push_str(line_end);
            }
        }
    }

    fn tag(&mut self, mark: &str, words: Words, event: fn(String) -> Event) {
        self.end_text();
        self.source.push_str(mark);
        for (name, offset) in words.names {
            let line = self.line() + line_breaks(&words.source[..offset]);
            self.happenings.push(Happening { event: event(name), line });
        }
        self.source.extend([&words.source, "%>"]);
    }

    fn end_text(&mut self) {
        let text = std::mem::take(&mut self.text);
        if text.is_empty() {
            return;
        }
        let line = self.line();
        self.source.push_str(&text.replace("<%", "<%%"));
        match self.happenings.last_mut() {
            Some(Happening { event: Event::Text(before), .. }) => before.push_str(&text),
            _ => self.happenings.push(Happening { event: Event::Text(text), line }),
        }
    }

    fn line(&self) -> u32 {
        line_breaks(&self.source) + 1
    }
}

fn line_breaks(text: &str) -> u32 {
    u32::try_from(text.matches('\n').count()).expect("a short text")
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~\n\r]{0,12}",
        "(<%|%>|<|%|-|\n|\r\n|\"|\\\\|\0|é|[0-9a-c]){0,10}",
        any::<String>().prop_map(|text| text.replace('\u{FEFF}', "").chars().take(20).collect()),
    ]
}

/// White space and comments, with and without line ends.
const GAPS: [&str; 10] = [
    "",
    " ",
    "\t",
    "\n",
    "\r\n",
    " \n\n ",
    "-- note ' ( end\n",
    "--[[ note\r\n ]]",
    " --[=[]]]=] ",
    "-- %%>\r\n",
];

fn words(separator: &'static str, suffix: &'static str) -> impl Strategy<Value = Words> {
    let gap = || prop::sample::select(&GAPS[..]);
    let word = ("[a-c][0-9]{1,2}", gap(), gap());
    prop::collection::vec(word, 1..4).prop_map(move |parts| {
        let mut words = Words { source: String::new(), names: Vec::new() };
        for (name, before, after) in parts {
            if !words.source.is_empty() {
                words.source.push_str(separator);
            }
            words.source.push_str(before);
            words.names.push((name.clone(), words.source.len()));
            words.source.extend([&name, suffix, after]);
        }
        words
    })
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        4 => text().prop_map(Part::Text),
        2 => words(",", "").prop_map(Part::Escaped),
        1 => words(",", "").prop_map(Part::Raw),
        2 => words(" ", "()").prop_map(Part::Code),
        1 => "[a-c(\n' ]{0,4}".prop_map(Part::Comment),
        1 => ("[a-c]{1,2}", prop::sample::select(vec!["\n", "\r\n"]))
            .prop_map(|(name, line_end)| Part::Trimmed(name, line_end)),
    ]
}

/// Parts that make most pages wrong in some way.
fn broken() -> impl Strategy<Value = String> {
    let words = vec![
        "<%", "<%=", "<%-", "<%#", "<%%", "%>", "-%>", "%%>", " ", "\n", "\r\n", "\r", "\0", "\"",
        "'", "\\", "--", "[[", "]]", "[=[", "]=]", "(", ")", "{", "}", "[", "]", ",", ";", "=",
        "..", "1e", "0x1p", "a", "f", "é", "if", "then", "else", "elseif", "end", "do", "while",
        "repeat", "until", "function", "return", "break", "local", "not", ":", "__raw",
    ];
    prop::collection::vec(prop::sample::select(words), 0..40).prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn text_without_tags_comes_out_unchanged(text in text()) {
        prop_assert_eq!(printed(&text.replace("<%", "<%%")), text);
    }

    #[test]
    fn a_page_does_what_it_says_in_the_line_that_says_it(
        parts in prop::collection::vec(part(), 0..12)
    ) {
        let page = Page::of(parts);
        let lowered = lower(page.source.as_bytes(), Escape::Markup);
        let lua = lowered.map_err(|error| TestCaseError::fail(format!("{error}: {page:?}")))?.lua;
        prop_assert_eq!(line_breaks(&lua), line_breaks(&page.source));
        prop_assert_eq!(evaluate(&lua), page.happenings);
    }

    #[test]
    fn every_page_is_lowered_line_by_line_or_refused_at_a_place_in_it(page in broken()) {
        let lines: Vec<&str> = page.split('\n').collect();
        match lower(page.as_bytes(), Escape::Markup) {
            Ok(lowered) => prop_assert_eq!(line_breaks(&lowered.lua), line_breaks(&page)),
            Err(error) => {
                let line = lines.get(error.line as usize - 1).expect("a line of the page");
                prop_assert!((1..=line.chars().count() + 1).contains(&(error.column as usize)));
                prop_assert!(!error.to_string().contains('\n'));
            }
        }
    }

    #[test]
    fn lowered_template_is_balanced_code(page in broken()) {
        let Ok(lowered) = lower(page.as_bytes(), Escape::Plain) else { return Ok(()) };
        let code = lowered.lua.replace("__", "its_").replace("%>", "%%>");
        let again = lower(format!("<% {code} %>").as_bytes(), Escape::Plain);
        prop_assert!(again.is_ok(), "{again:?} for {code}");
    }

    #[test]
    fn any_bytes_are_lowered_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Err(error) = lower(&bytes, Escape::Markup) {
            prop_assert!(error.line >= 1 && error.column >= 1);
        }
    }
}
