//! `forward_auth` of Caddy: the server that says whether a request may pass.
//!
//! Owns what of it has a counterpart. Its servers and their options are those of `reverse_proxy`.

use super::placeholders::is_plain;
use super::proxying::Proxy;
use crate::directive::Directive;
use crate::upstreams::Upstreams;
use crate::word::{is_in, list, quoted, table};

/// Fields that are for one connection, or say which server is meant: they are not copied.
const OF_CONNECTION: &str = "
    connection content-length expect host keep-alive proxy-connection te trailer transfer-encoding
    upgrade via
";

/// The value of `forward_auth` of a route, as printed.
pub(super) fn forward_auth(
    line: &Directive,
    servers: &[String],
    upstreams: &mut Upstreams,
) -> Result<String, String> {
    let mut path = None;
    let mut copied: Vec<String> = Vec::new();
    let mut options = Vec::new();
    for inner in line.inner() {
        match (inner.name(), inner.arguments()) {
            ("uri", [target]) if path.is_none() && is_target(target) => path = Some(target),
            ("copy_headers", names) => {
                copied.extend_from_slice(names);
                for name in inner.inner() {
                    copied.extend_from_slice(name.words());
                }
            }
            _ => options.push(inner.clone()),
        }
    }
    if let Some(name) = copied.iter().find(|name| !is_field(name)) {
        return Err(line.told(&format!("copying `{name}` has no counterpart")));
    }
    // Without `uri` the server is asked for the path of the request.
    let path = path.ok_or_else(|| line.told("only one `uri` with a path has a counterpart"))?;
    let proxy = Proxy::read(&line.clone().with_block(options), servers, upstreams)?;
    let upstream =
        proxy.only_upstream().ok_or_else(|| line.told("it changes fields: no counterpart"))?;
    let mut entries = vec![("upstream", quoted(upstream)), ("path", quoted(path))];
    if !copied.is_empty() {
        entries.push(("copy", list(&copied)));
    }
    Ok(table(entries))
}

/// Whether a text can be a path with a query in a request line.
fn is_target(text: &str) -> bool {
    let is_visible = text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#');
    text.starts_with('/') && is_visible && is_plain(text)
}

/// Whether it is the name of one field that is passed on. `A>B` gives it another name.
fn is_field(name: &str) -> bool {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    !name.is_empty()
        && name.bytes().all(is_name)
        && !is_in(OF_CONNECTION, &name.to_ascii_lowercase())
}
