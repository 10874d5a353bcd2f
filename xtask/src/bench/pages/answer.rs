//! Whether all servers answer a page with the same text.
//!
//! Owns one connection per request, and the parts of an answer that legitimately differ. Never measures.

use std::net::SocketAddr;

use rustix::net::RecvFlags;

use crate::client::{self, GOOD_START, RECEIVE_BYTES};
use crate::failure::Failure;

/// A note for the reader of the report.
pub(crate) const NOTE: &str = "Before each comparison all servers answered the same text, apart from what \
                               differs by nature: the order of arguments and fields (tables of Lua have \
                               none), the case of field names and blanks after commas in their values (yaws \
                               writes its own), the server's address in Host, and blank lines. nginx sends \
                               it in chunks, as pages without a length are sent there; the others say a \
                               length.";

/// The text a server answers this request with.
pub(crate) fn fetch(
    address: SocketAddr,
    path: &str,
    fields: &[(&str, &str)],
) -> Result<String, Failure> {
    let fields: String =
        fields.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{fields}Connection: close\r\n\r\n");
    let socket = client::connect(address).map_err(std::io::Error::from)?;
    client::send(&socket, request.as_bytes())?;
    let mut answer = Vec::new();
    let mut buffer = vec![0; RECEIVE_BYTES];
    loop {
        let (_, received) = rustix::net::recv(&socket, &mut buffer[..], RecvFlags::empty())
            .map_err(|error| Failure::Work(format!("no answer: {error}")))?;
        if received == 0 {
            break;
        }
        answer.extend_from_slice(&buffer[..received]);
    }
    body_of(&answer).ok_or_else(|| {
        let start = String::from_utf8_lossy(&answer[..answer.len().min(60)]).into_owned();
        Failure::Work(format!("a wrong answer: {start:?}"))
    })
}

/// The body of a complete and good answer.
fn body_of(answer: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(answer).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    if !answer.starts_with(GOOD_START) {
        return None;
    }
    if head.to_ascii_lowercase().contains("\r\ntransfer-encoding: chunked") {
        return unchunked(body);
    }
    Some(body.to_owned())
}

fn unchunked(mut rest: &str) -> Option<String> {
    let mut body = String::new();
    loop {
        let (size, after) = rest.split_once("\r\n")?;
        let size = usize::from_str_radix(size, 16).ok()?;
        if size == 0 {
            return Some(body);
        }
        body.push_str(after.get(..size)?);
        rest = after.get(size..)?.strip_prefix("\r\n")?;
    }
}

/// The text without legitimate differences. Only lists may have another order.
fn normal(text: &str, address: SocketAddr) -> Vec<String> {
    let text = text.replace(&address.to_string(), "ADDRESS");
    let lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty());
    let mut lines: Vec<String> = lines
        .map(|line| {
            // In an item the name may differ in case, and the value in spaces after commas.
            match line.strip_prefix("<li>").and_then(|item| item.split_once(": ")) {
                Some((name, value)) => {
                    format!("<li>{}: {}", name.to_ascii_lowercase(), value.replace(", ", ","))
                }
                None => line.to_owned(),
            }
        })
        .collect();
    for list in lines.chunk_by_mut(|one, next| is_item(one) && is_item(next)) {
        list.sort_unstable();
    }
    lines
}

fn is_item(line: &str) -> bool {
    line.starts_with("<li>")
}

/// The first line in which the second text differs from the first.
pub(crate) fn difference(
    wanted: (&str, SocketAddr),
    answered: (&str, SocketAddr),
) -> Option<String> {
    let (wanted, answered) = (normal(wanted.0, wanted.1), normal(answered.0, answered.1));
    let lines = wanted.len().max(answered.len());
    let at = (0..lines).find(|line| wanted.get(*line) != answered.get(*line))?;
    let line = |lines: &[String]| lines.get(at).cloned().unwrap_or_default();
    Some(format!("line {}: {:?}, not {:?}", at + 1, line(&answered), line(&wanted)))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn address(port: u16) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, port))
    }

    #[test]
    fn chunks_are_put_together_and_a_cut_answer_is_none() {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let whole = format!("{head}3\r\nabc\r\na\r\n0123456789\r\n0\r\n\r\n");
        assert_eq!(body_of(whole.as_bytes()).as_deref(), Some("abc0123456789"));
        for cut in [head.len() + 5, whole.len() - 6] {
            assert_eq!(body_of(&whole.as_bytes()[..cut]), None, "{cut}");
        }
        assert_eq!(body_of(b"HTTP/1.1 500 No\r\n\r\nabc"), None);
        assert_eq!(body_of(b"HTTP/1.1 200 OK\r\n\r\nabc").as_deref(), Some("abc"));
    }

    #[test]
    fn order_of_items_case_of_names_and_address_may_differ_and_nothing_else() {
        let one = ("<ul>\n<li>host: 127.0.0.1:1</li>\n<li>a: B</li>\n</ul>", address(1));
        let other = ("<ul>\n\n<li>A: B</li>\n<li>Host: 127.0.0.1:2</li>\n</ul>\n", address(2));
        assert_eq!(difference(one, other), None);
        for wrong in [
            "<ul>\n<li>a: b</li>\n<li>host: 127.0.0.1:2</li>\n</ul>",
            "<ul>\n<li>host: 127.0.0.1:2</li>\n</ul>",
            "<ul>\n<li>a: B</li>\n</ul>\n<li>host: 127.0.0.1:2</li>",
        ] {
            assert!(difference(one, (wrong, address(2))).is_some(), "{wrong}");
        }
        let rows = ("<p>1</p>\n<p>2</p>", address(1));
        let said = difference(rows, ("<p>2</p>\n<p>1</p>", address(1)));
        assert_eq!(said.as_deref(), Some("line 1: \"<p>2</p>\", not \"<p>1</p>\""));
    }
}
