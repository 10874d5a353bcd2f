//! Which escaping a value gets, by the kind of page. The escaping itself happens where pages run.

/// File name extensions of formats without markup, in which no value can do harm.
const PLAIN: [&str; 14] = [
    "txt", "text", "csv", "tsv", "json", "js", "mjs", "css", "md", "toml", "yaml", "yml", "ics",
    "vcf",
];

/// The treatment of a value by `<%= value %>` before it is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Escape {
    /// The five characters `& < > " '` become references that both HTML and XML know.
    Markup,
    /// Nothing.
    Plain,
}

impl Escape {
    /// Determined by the last extension of a page's name, without its dot (`html` for `hello.page.html`), in any case.
    ///
    /// An unknown extension means markup: too much escaping is noticed at once, too little only by an
    /// attacker.
    pub fn of_extension(extension: &str) -> Escape {
        if PLAIN.iter().any(|plain| plain.eq_ignore_ascii_case(extension)) {
            Escape::Plain
        } else {
            Escape::Markup
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_value_is_escaped() {
        for extension in ["html", "HTML", "xhtml", "xml", "svg", "rss", "", "unheard-of"] {
            assert_eq!(Escape::of_extension(extension), Escape::Markup, "{extension}");
        }
        for extension in ["txt", "TXT", "csv", "json", "js"] {
            assert_eq!(Escape::of_extension(extension), Escape::Plain, "{extension}");
        }
    }
}
