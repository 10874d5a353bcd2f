//! The page that shows the author of a failed page what happened (`serve --dev`).
//!
//! Owns its content: the error, its place, the surrounding lines, and the traceback. Everything is
//! escaped text, without scripts. Never decides who may see it.

use script::engine::{Fault, ScriptError, TracebackFrame};
use wire::escape::escape_html;
use wire::http::status::Status;

use super::mark::column_of;
use super::page::Page;
use super::set::PageSet;
use crate::limits::{FAULT_LINE_CHARACTERS, FAULT_LINES, FAULT_MESSAGE_CHARACTERS};

const STYLE: &str = include_str!("fault_page.css");

/// The policy of this page, which allows its style.
pub const FAULT_POLICY: &str = files::only_style!("e1WyGBnfN0KyJYLAKb1QNRypqChIg8iVlhjd4h/nAuE=");

/// A place in a source. Lines and columns count from 1; 0 means unknown.
struct Place<'a> {
    file: &'a str,
    line: u32,
    column: u32,
}

/// The version of a page to which a report's lines refer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    /// The newest, which has a problem.
    NewestText,
    /// The one that ran.
    RunText,
}

/// A failure of a page.
pub struct FaultReport<'a> {
    page: &'a Page,
    of: Of,
    title: &'static str,
    message: &'a str,
    place: Place<'a>,
    traceback: &'a [TracebackFrame],
}

impl<'a> FaultReport<'a> {
    /// The newest text has a problem and is not run.
    pub fn of_text(page: &'a Page) -> Self {
        let (message, line, column) = match &page.problem {
            Some(problem) => (&*problem.what, problem.line, problem.column),
            None => ("there was no memory to load it", 0, 0),
        };
        let place = Place { file: &page.name.file, line, column };
        let (title, of) = ("The page cannot be run", Of::NewestText);
        Self { page, of, title, message, place, traceback: &[] }
    }

    /// A page that the running page includes has a problem in its text.
    pub fn of_part(part: &'a Page, error: &'a ScriptError) -> Self {
        Self { traceback: &error.traceback, ..Self::of_text(part) }
    }

    /// The page was ended by an error.
    pub fn of_run(page: &'a Page, error: &'a ScriptError) -> Self {
        let title = match error.fault {
            Fault::Compile => "The page cannot be run",
            Fault::Runtime | Fault::TableSize => "The page failed",
            Fault::Memory => "The page was ended: memory",
            Fault::CpuBudget => "The page was ended: CPU time",
            Fault::Stalled => "The page was ended: not to be interrupted",
            Fault::Deadline => "The page was ended: deadline",
            Fault::Stopped => "The page was stopped from outside",
            Fault::Store => "The store takes no changes now",
            Fault::Request | Fault::RequestSize => "The request was refused",
        };
        let place = Place { file: &error.page, line: error.line, column: 0 };
        let (message, traceback) = (&*error.message, &*error.traceback);
        Self { page, of: Of::RunText, title, message, place, traceback }
    }

    /// The page for the browser. `pages` are the pages of its root, whose sources are shown.
    pub fn render(&self, status: Status, pages: &PageSet) -> Vec<u8> {
        let mut out = Vec::with_capacity(8 * 1024);
        let place = self.place.spoken();
        let head = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>";
        push(&mut out, head);
        push(&mut out, &format!("{} ", status.code()));
        escape_html(&mut out, &place);
        push(&mut out, &format!("</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n"));
        push(
            &mut out,
            &format!("<p>{} {} · {}</p>\n<h1>", status.code(), status.reason(), self.title),
        );
        escape_html(&mut out, &cut(self.message, FAULT_MESSAGE_CHARACTERS));
        push(&mut out, "</h1>\n<p><code>");
        let source = self.source_of(pages, self.place.file);
        let column = self.column(source);
        escape_html(&mut out, &Place { column, ..self.place }.spoken());
        push(&mut out, "</code></p>\n");
        if let Some(source) = source {
            write_lines(&mut out, source, self.place.line, column);
        }
        self.write_traceback(&mut out, pages);
        let foot = "<footer>Shown as the server runs with --dev. The log has it, \
                    too.</footer>\n</main>\n</body>\n</html>\n";
        push(&mut out, foot);
        out
    }

    /// The column. For an error that only names a line, it is that of the name in its message, if that occurs exactly
    /// once in the line.
    fn column(&self, source: Option<&Page>) -> u32 {
        match (self.place.column, source, self.message.split('\'').nth(1)) {
            (0, Some(page), Some(name)) => column_of(&page.source, self.place.line, name),
            (column, ..) => column,
        }
    }

    /// The page with that file, if its source is the version that the report is about.
    fn source_of<'b>(&'b self, pages: &'b PageSet, file: &str) -> Option<&'b Page> {
        let page = if *self.page.name.file == *file {
            self.page
        } else {
            pages.pages.get(pages.index_of(file)?)?
        };
        // If a page has both a problem and code, its code is from an older text.
        let is_known = self.of == Of::NewestText || page.problem.is_none();
        is_known.then_some(page)
    }

    fn write_traceback(&self, out: &mut Vec<u8>, pages: &PageSet) {
        if self.traceback.is_empty() {
            return;
        }
        push(out, "<h2>Traceback, innermost first</h2>\n<ol>\n");
        for frame in self.traceback {
            push(out, "<li><code>");
            escape_html(out, &frame.to_string());
            push(out, "</code>");
            if !frame.function.is_empty() {
                push(out, " in <code>");
                escape_html(out, &cut(&frame.function, FAULT_LINE_CHARACTERS));
                push(out, "</code>");
            }
            let source = self.source_of(pages, &frame.page);
            if let Some(text) = source.and_then(|page| line_of(&page.source, frame.line)) {
                push(out, "<pre>");
                escape_html(out, cut(text, FAULT_LINE_CHARACTERS).trim());
                push(out, "</pre>");
            }
            push(out, "</li>\n");
        }
        push(out, "</ol>\n");
    }
}

impl Place<'_> {
    fn spoken(&self) -> String {
        match (self.line, self.column) {
            (0, _) => self.file.to_owned(),
            (line, 0) => format!("{}:{line}", self.file),
            (line, column) => format!("{}:{line}:{column}", self.file),
        }
    }
}

fn line_of(source: &str, line: u32) -> Option<&str> {
    let index = usize::try_from(line).ok()?.checked_sub(1)?;
    source.split('\n').nth(index)
}

/// Writes the lines around a line, which is marked; a mark below it shows the column.
fn write_lines(out: &mut Vec<u8>, page: &Page, line: u32, column: u32) {
    let Ok(line) = usize::try_from(line) else { return };
    if line == 0 {
        return;
    }
    let first = line.saturating_sub(FAULT_LINES).max(1);
    // After the last line end there is another line only if the error is in it.
    let ended = page.source.strip_suffix('\n').filter(|text| text.split('\n').count() >= line);
    let lines = ended.unwrap_or(&page.source).split('\n').enumerate();
    let lines = lines.skip(first - 1).take(line + FAULT_LINES + 1 - first);
    push(out, "<figure><table>\n");
    for (index, text) in lines {
        let (number, text) = (index + 1, cut(text.trim_end_matches('\r'), FAULT_LINE_CHARACTERS));
        let class = if number == line { " class=\"at\"" } else { "" };
        push(out, &format!("<tr{class}><th>{number}</th><td>"));
        escape_html(out, &text);
        push(out, "</td></tr>\n");
        let before = usize::try_from(column).ok().and_then(|column| column.checked_sub(1));
        if let Some(before) =
            before.filter(|before| number == line && *before < FAULT_LINE_CHARACTERS)
        {
            push(out, "<tr class=\"at\" aria-hidden=\"true\"><th></th><td><i>");
            escape_html(out, &text.chars().take(before).collect::<String>());
            push(out, "</i><b>^</b></td></tr>\n");
        }
    }
    push(out, "</table></figure>\n");
}

/// At most this many characters.
fn cut(text: &str, characters: usize) -> std::borrow::Cow<'_, str> {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

fn push(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use base64::prelude::{BASE64_STANDARD, Engine};
    use sha2::{Digest, Sha256};

    use super::super::page::{PageDefect, PageKind};
    use super::*;

    fn page(file: &str, source: &str) -> Page {
        Page::of_text(PageKind::Page, file, source)
    }

    fn error(page: &str, line: u32, message: &str) -> ScriptError {
        let frame =
            TracebackFrame { page: page.to_owned(), line, function: "<f>".to_owned(), times: 1 };
        let (page, message) = (page.to_owned(), message.to_owned());
        ScriptError { fault: Fault::Runtime, page, line, message, traceback: vec![frame] }
    }

    fn rendered(report: &FaultReport<'_>, set: &PageSet) -> String {
        let text = report.render(Status::INTERNAL_SERVER_ERROR, set);
        let text = String::from_utf8(text).unwrap();
        // As a browser computes it (CSP3 section 6.7.3.3): from the exact bytes between the tags.
        let (_, rest) = text.split_once("<style>").unwrap();
        let (style, rest) = rest.split_once("</style>").unwrap();
        assert!(
            FAULT_POLICY.contains(&BASE64_STANDARD.encode(Sha256::digest(style))),
            "{FAULT_POLICY}"
        );
        assert!(!["<style", "<script", " style="].iter().any(|other| rest.contains(other)));
        text
    }

    #[test]
    fn fault_page_shows_line_and_escapes_markup() {
        let source = "<h1>\n<script>x</script>\n  <% error('</td><b>') %>\nlast";
        let page = page("a.page.html", source);
        let error = error("a.page.html", 3, "</td><b> & 'so'");
        let text = rendered(&FaultReport::of_run(&page, &error), &PageSet::default());
        assert!(text.contains("<h1>&lt;/td&gt;&lt;b&gt; &amp; &#39;so&#39;</h1>"), "{text}");
        assert!(text.contains("<p><code>a.page.html:3</code></p>"), "{text}");
        assert!(
            text.contains("<tr><th>2</th><td>&lt;script&gt;x&lt;/script&gt;</td></tr>"),
            "{text}"
        );
        assert!(text.contains("<tr class=\"at\"><th>3</th><td>  &lt;% error("), "{text}");
        assert!(!text.contains("<b>^</b>"), "nobody knows the place in the line: {text}");
        assert!(text.contains("<tr><th>4</th><td>last</td></tr>"), "{text}");
        assert!(text.contains("<code>a.page.html:3</code> in <code>&lt;f&gt;</code>"), "{text}");
        assert!(text.contains("<title>500 a.page.html:3</title>"), "{text}");
    }

    #[test]
    fn a_name_of_the_message_is_marked_where_it_stands_once() {
        let page = page("a.page.html", "<% local n %>\n<% local m = 1 + n.x %><%= m %>");
        for (message, place) in [
            ("attempt to index local 'n' (a nil value)", "2:18"),
            ("attempt to index local 'm' (a nil value)", "2"),
            ("attempt to index a nil value", "2"),
        ] {
            let error = error("a.page.html", 2, message);
            let text = rendered(&FaultReport::of_run(&page, &error), &PageSet::default());
            assert!(text.contains(&format!("<p><code>a.page.html:{place}</code>")), "{text}");
        }
    }

    #[test]
    fn the_lines_of_a_part_are_its_own() {
        let mut set = PageSet::default();
        set.pages.push(Arc::new(page("_part.page.html", "one\ntwo")));
        let (whole, error) =
            (page("a.page.html", "three\nfour"), error("_part.page.html", 2, "no"));
        let text = rendered(&FaultReport::of_run(&whole, &error), &set);
        assert!(text.contains("<th>2</th><td>two</td>") && !text.contains("four"), "{text}");
    }

    #[test]
    fn lines_of_another_text_than_ran_are_not_shown() {
        let mut broken = page("a.page.html", "new\ntext");
        broken.problem = Some(PageDefect { line: 2, column: 3, what: "worse".to_owned() });
        let error = error("a.page.html", 2, "no");
        let text = rendered(&FaultReport::of_run(&broken, &error), &PageSet::default());
        assert!(!text.contains("<figure>") && text.contains("a.page.html:2"), "{text}");
        let text = rendered(&FaultReport::of_text(&broken), &PageSet::default());
        assert!(text.contains("<h1>worse</h1>\n<p><code>a.page.html:2:3</code>"), "{text}");
        assert!(text.contains("<i>te</i><b>^</b>"), "{text}");
    }

    #[test]
    fn the_end_of_a_text_is_a_line_where_something_is_wrong_there() {
        let page = page("a.page.html", "one\ntwo\n");
        for (line, shown) in [(2, false), (3, true)] {
            let error = error("a.page.html", line, "no");
            let text = rendered(&FaultReport::of_run(&page, &error), &PageSet::default());
            assert_eq!(text.contains("<th>3</th><td></td>"), shown, "{text}");
        }
    }

    #[test]
    fn fault_page_is_bounded() {
        let mut source = "line\n".repeat(1_000);
        source.push_str(&"ä".repeat(1_000_000));
        let page = page("a.page.txt", &source);
        let error = error("a.page.txt", 1_001, &"<".repeat(1_000_000));
        let text = rendered(&FaultReport::of_run(&page, &error), &PageSet::default());
        assert!(text.len() < 32 * 1024, "{}", text.len());
        assert_eq!(text.matches("<tr").count(), FAULT_LINES + 1);
    }

    #[test]
    fn a_line_that_is_not_there_is_not_shown() {
        let page = page("a.page.html", "one");
        let fault = Fault::Deadline;
        let late = ScriptError { fault, traceback: Vec::new(), ..error("a.page.html", 0, "late") };
        for line in [0, 2, u32::MAX] {
            let error = error("a.page.html", line, "no");
            let text = rendered(&FaultReport::of_run(&page, &error), &PageSet::default());
            assert!(!text.contains("class=\"at\""), "{line}: {text}");
        }
        let text = rendered(&FaultReport::of_run(&page, &late), &PageSet::default());
        assert!(text.contains("The page was ended: deadline"), "{text}");
        assert!(text.contains("<code>a.page.html</code>") && !text.contains("<figure>"), "{text}");
    }
}
