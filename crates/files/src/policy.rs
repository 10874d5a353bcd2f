//! The rights of the server's own pages in a browser: the Content-Security-Policy of listings and
//! built-in pages.
//!
//! Owns the policies. Each allows only the stylesheet of the page, by its hash: no scripts, images,
//! forms or frames. A site's policy cannot contain that hash and would block the style, so these
//! pages have ours instead; everything else has the site's.

/// The name of the field.
pub const FIELD: &str = "Content-Security-Policy";

/// The policy of a page with one stylesheet, whose SHA-256 in base64 is given.
#[macro_export]
macro_rules! only_style {
    ($hash:literal) => {
        concat!(
            "default-src 'none'; style-src 'sha256-",
            $hash,
            "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
    };
}

/// The policy of the built-in pages: errors and redirects.
pub const ERROR_PAGE: &str = only_style!("h2mG0jYYOBsmdCjCKQ9W2Mrg68N70kIuLBESfCNdqbU=");

/// The policy of listings in HTML.
pub const LISTING: &str = only_style!("XVW8RcEPURWW912ENnNm6Nb8m6QCJM/92UDxf4ztlHc=");

#[cfg(test)]
pub(crate) mod tests {
    use base64::prelude::{BASE64_STANDARD, Engine};
    use sha2::{Digest, Sha256};

    /// Checks that a policy allows the style of a page, which is all the page needs, as a browser does (CSP3
    /// section 6.7.3.3: the exact bytes between the tags).
    pub(crate) fn lets_in(policy: &str, page: &str) {
        let (_, rest) = page.split_once("<style>").unwrap();
        let (style, rest) = rest.split_once("</style>").unwrap();
        let hash = BASE64_STANDARD.encode(Sha256::digest(style));
        assert!(policy.contains(&format!("style-src 'sha256-{hash}';")), "{hash}: {policy}");
        for wanted in ["<style", "<script", "<link", "<img", "<form", " style=", "url(", "@import"]
        {
            assert!(!rest.contains(wanted) && !style.contains(wanted), "{wanted}");
        }
    }
}
