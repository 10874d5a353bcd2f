//! Rows of comma-separated values (RFC 4180), with lines of comment that begin with `#`.
//!
//! Owns quoting and line numbers. Never decides what a field means.

use std::borrow::Cow;

/// A row with its line, from 1. Plain data.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row<'t> {
    pub(crate) line: usize,
    pub(crate) fields: Vec<Cow<'t, str>>,
}

/// The rows of a text that are neither empty nor a comment. `Err` is the line of a quote that does not end, or that
/// stands inside a field; it is the last item.
pub(super) fn rows(text: &str) -> impl Iterator<Item = Result<Row<'_>, usize>> {
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut line = 1;
    std::iter::from_fn(move || {
        loop {
            if rest.is_empty() {
                return None;
            }
            if rest.starts_with(['\n', '#']) || rest.starts_with("\r\n") {
                rest = rest.split_once('\n').map_or("", |(_, after)| after);
                line += 1;
                continue;
            }
            let begin = line;
            let Some((fields, after, lines)) = row(rest) else {
                rest = "";
                return Some(Err(begin));
            };
            rest = after;
            line += lines;
            return Some(Ok(Row { line: begin, fields }));
        }
    })
}

/// The fields of the first row, the text after it, and how many lines it has.
fn row(text: &str) -> Option<(Vec<Cow<'_, str>>, &str, usize)> {
    let mut fields = Vec::new();
    let mut rest = text;
    let mut lines = 1;
    loop {
        let (field, after) = field(rest)?;
        lines += memchr::memchr_iter(b'\n', field.as_bytes()).count();
        fields.push(field);
        if let Some(after) = after.strip_prefix(',') {
            rest = after;
            continue;
        }
        let after = after.strip_prefix("\r\n").or_else(|| after.strip_prefix('\n'));
        return Some((fields, after.unwrap_or(""), lines));
    }
}

/// The field at the beginning, and the text from the comma or the line end on.
fn field(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', '\n']).unwrap_or(text.len());
        let (field, after) = text.split_at_checked(end)?;
        let is_line_end = !after.starts_with(',');
        let (field, after) = match field.strip_suffix('\r').filter(|_| is_line_end) {
            Some(field) => (field, text.get(field.len()..)?),
            None => (field, after),
        };
        return (!field.contains('"')).then_some((Cow::Borrowed(field.trim_matches(' ')), after));
    };
    let mut value = String::new();
    let mut rest = quoted;
    loop {
        let (before, after) = rest.split_once('"')?;
        value.push_str(before);
        if let Some(after) = after.strip_prefix('"') {
            value.push('"');
            rest = after;
            continue;
        }
        let ends = after.is_empty() || after.starts_with([',', '\n']) || after.starts_with("\r\n");
        return ends.then_some((Cow::Owned(value), after));
    }
}

#[cfg(test)]
mod tests {
    use super::rows;

    #[test]
    fn rows_have_fields_quotes_and_lines() {
        let text = "# old\n/a, /b\r\n\n\"/c,d\",\"say \"\"x\"\"\nmore\"\n/e,/f,301";
        let found: Vec<(usize, Vec<String>)> = rows(text)
            .map(|row| row.unwrap())
            .map(|row| (row.line, row.fields.iter().map(|field| field.to_string()).collect()))
            .collect();
        let of = |fields: &[&str]| fields.iter().map(|field| (*field).to_owned()).collect();
        assert_eq!(
            found,
            [
                (2, of(&["/a", "/b"])),
                (4, of(&["/c,d", "say \"x\"\nmore"])),
                (6, of(&["/e", "/f", "301"])),
            ]
        );
    }

    #[test]
    fn a_quote_that_does_not_end_is_told_by_its_line() {
        for (text, line) in [("a,b\n\"c,d\n", 2), ("a\"b,c\n", 1), ("\"a\"b,c", 1)] {
            assert_eq!(rows(text).last(), Some(Err(line)), "{text}");
        }
    }
}
