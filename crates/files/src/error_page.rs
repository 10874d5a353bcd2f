//! The built-in error pages, for sites without their own.
//!
//! Owns their text, rendered once. Shows the status and nothing about the server; the configuration
//! decides whether a site has its own page.

use std::sync::Arc;

use wire::escape::escape_html;
use wire::http::status::Status;

const STYLE: &str = include_str!("error_page.css");

/// The end of every page.
const FOOT: &str = "</main>\n</body>\n</html>\n";

/// The sentence on a page besides its status.
const SENTENCES: [(u16, &str); 25] = [
    (301, "This address has moved."),
    (302, "This address is elsewhere for now."),
    (303, "The answer is at another address."),
    (307, "This address is elsewhere for now."),
    (308, "This address has moved."),
    (400, "The server could not make sense of this request."),
    (401, "This address requires authentication."),
    (403, "This address is not for you."),
    (404, "There is nothing at this address."),
    (405, "This address does not do that."),
    (408, "The request took too long to arrive."),
    (412, "Something has changed since you last saw it."),
    (413, "The request is larger than this address accepts."),
    (414, "The address is too long."),
    (415, "This address does not take data of this kind."),
    (416, "The file has no such part."),
    (417, "The server cannot meet the expectation of the request."),
    (426, "This address speaks another protocol."),
    (429, "Too many requests. Please wait a moment."),
    (431, "The head of the request is too large."),
    (500, "Something went wrong on our side."),
    (501, "The server does not know how to do that."),
    (503, "The server is busy. Please try again in a moment."),
    (505, "The server does not speak this version of HTTP."),
    (507, "There is no room left to keep this."),
];

/// The media type of a JSON error.
pub const PROBLEM_TYPE: &str = "application/problem+json";

/// The media type of all pages.
pub const MEDIA_TYPE: &str = "text/html; charset=utf-8";

/// All pages, rendered.
#[derive(Debug)]
pub struct ErrorPages {
    pages: Vec<(u16, Arc<[u8]>)>,
    other: Arc<[u8]>,
}

impl Default for ErrorPages {
    fn default() -> Self {
        Self::new()
    }
}

impl ErrorPages {
    /// Renders the pages.
    pub fn new() -> Self {
        let page = |&(code, sentence): &(u16, &str)| (code, render(Some(code), sentence).into());
        let other = render(None, "The server did not answer this request.").into();
        Self { pages: SENTENCES.iter().map(page).collect(), other }
    }

    /// The error as JSON, for programs: problem details (RFC 9457) of the default type.
    pub fn problem(status: Status) -> String {
        format!("{{\"status\":{},\"title\":\"{}\"}}\n", status.code(), status.reason())
    }

    /// The same with the name of the request in logs.
    pub fn problem_of(status: Status, request: &str) -> String {
        let (code, reason) = (status.code(), status.reason());
        // The name has no character that JSON escapes.
        format!("{{\"status\":{code},\"title\":\"{reason}\",\"request_id\":\"{request}\"}}\n")
    }

    /// The page for a status with the name of the request in logs.
    pub fn page_of(&self, code: u16, request: &str) -> Vec<u8> {
        let page = self.page(code);
        let body = page.strip_suffix(FOOT.as_bytes()).unwrap_or(page);
        let mut name = Vec::with_capacity(request.len());
        escape_html(&mut name, request);
        [body, b"<p>Request ", &name, b"</p>\n", FOOT.as_bytes()].concat()
    }

    /// The page of a redirect, with a link for clients that do not follow (RFC 9110 section 15.4).
    pub fn redirect(&self, code: u16, location: &str) -> Vec<u8> {
        let page = self.page(code);
        let body = page.strip_suffix(FOOT.as_bytes()).unwrap_or(page);
        let mut link = Vec::with_capacity(location.len() + 16);
        escape_html(&mut link, location);
        [body, b"<p><a href=\"", &link, b"\">", &link, b"</a></p>\n", FOOT.as_bytes()].concat()
    }

    /// The page for a status; a general one if it has none of its own.
    pub fn page(&self, code: u16) -> &Arc<[u8]> {
        let found = self.pages.binary_search_by_key(&code, |(of, _)| *of).ok();
        found.and_then(|at| self.pages.get(at)).map_or(&self.other, |(_, page)| page)
    }
}

fn render(code: Option<u16>, sentence: &str) -> Vec<u8> {
    let (number, reason) = match code {
        Some(code) => (code.to_string(), Status::from_code(code).map_or("", Status::reason)),
        None => (String::new(), "Not answered"),
    };
    let title = format!("{number} {reason}");
    let title = title.trim();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, \
         initial-scale=1\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<p>{number}</p>\n<h1>{reason}</h1>\n<p>{sentence}</p>\n{FOOT}"
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy;

    #[test]
    fn each_status_has_its_own_page() {
        assert!(SENTENCES.is_sorted_by_key(|(code, _)| code), "the search needs the order");
        let pages = ErrorPages::new();
        for (code, sentence) in SENTENCES {
            let page = std::str::from_utf8(pages.page(code)).unwrap();
            assert!(page.contains(&format!("<title>{code} ")), "{code}");
            assert!(page.contains(sentence), "{code}");
            assert!(!page.to_lowercase().contains("velodrome"), "{code} tells what server it is");
            policy::tests::lets_in(policy::ERROR_PAGE, page);
        }
    }

    #[test]
    fn a_redirect_has_a_link_that_stays_one() {
        let location = "/a?b=1&c=\"><script>'";
        let page = String::from_utf8(ErrorPages::new().redirect(301, location)).unwrap();
        let link = "/a?b=1&amp;c=&quot;&gt;&lt;script&gt;&#39;";
        assert!(page.contains(&format!("<p><a href=\"{link}\">{link}</a></p>")), "{page}");
        assert_eq!(page.matches("</html>").count(), 1, "{page}");
        assert!(page.contains("<title>301 Moved Permanently</title>") && page.ends_with(FOOT));
        policy::tests::lets_in(policy::ERROR_PAGE, &page);
    }

    #[test]
    fn an_unknown_status_has_a_page_too() {
        let pages = ErrorPages::new();
        let page = std::str::from_utf8(pages.page(599)).unwrap();
        assert!(page.contains("<h1>Not answered</h1>"), "{page}");
    }
}
