//! Which targets pages may fetch from: `fetch` in `[pages]`.
//!
//! Owns the forms of a target and the mends of wrong ones. Never compares a target: the model does.

use std::net::IpAddr;

use toml::de::DeValue;
use wire::network::Network;

use crate::host_name::HostName;
use crate::item::Item;
use crate::key::{show_text, show_texts};
use crate::model::fetch::{FetchHosts, FetchRule, FetchRules, FetchSchemes, HTTPS};
use crate::problem::Problems;
use crate::value::{cannot_be, text};
use crate::wording::shown;

/// Reads the value of `fetch`.
pub(super) fn read(item: &Item<'_>, problems: &mut Problems) -> Result<FetchRules, String> {
    const WANTED: &str =
        "\"all\", \"none\", or an array such as [\"*.example.org\", \"10.0.0.0/8\"]";
    match item.value {
        DeValue::Array(_) => {
            let listed = item.list(problems, |item| {
                let text = text(item)?;
                rule(&text).map_err(|why| cannot_be(item, &text, &why))
            })?;
            Ok(FetchRules::Listed(listed.into()))
        }
        DeValue::String(word) => match &**word {
            "all" => Ok(FetchRules::All),
            "none" => Ok(FetchRules::None),
            other => Err(cannot_be(item, other, &format!("write {WANTED}"))),
        },
        _ => Err(item.wrong_type(WANTED)),
    }
}

/// The value as written in the file.
pub(super) fn show(rules: &FetchRules) -> String {
    match rules {
        FetchRules::All => show_text("all"),
        FetchRules::None => show_text("none"),
        FetchRules::Listed(rules) => show_texts(rules.iter().map(|rule| {
            let prefix = rule.schemes.prefix();
            match &rule.hosts {
                FetchHosts::Named(name) => format!("{prefix}{name}"),
                FetchHosts::Network(network) => format!("{prefix}{network}"),
            }
        })),
    }
}

fn rule(text: &str) -> Result<FetchRule, String> {
    let (schemes, hosts) = match text.strip_prefix(HTTPS) {
        Some(hosts) => (FetchSchemes::Https, hosts),
        None => (FetchSchemes::Both, text),
    };
    Ok(FetchRule { schemes, hosts: hosts_of(hosts)? })
}

fn hosts_of(text: &str) -> Result<FetchHosts, String> {
    if let Some(mend) = mend_of(text) {
        return Err(mend);
    }
    match text.parse::<Network>() {
        Ok(network) => Ok(FetchHosts::Network(network)),
        // A text with a slash was meant as a network.
        Err(error) if text.contains('/') => Err(error.to_string()),
        Err(_) if text.contains(':') => {
            Err("a name has no port; an allowed host is allowed at every port".to_owned())
        }
        Err(_) => HostName::parse(text).map(FetchHosts::Named).map_err(ToOwned::to_owned),
    }
}

/// A suggestion for a text that is valid elsewhere.
fn mend_of(text: &str) -> Option<String> {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    match (text, text.split_once("://"), bare) {
        ("*" | "all", ..) => {
            Some("for every target write fetch = \"all\", without an array".to_owned())
        }
        ("none", ..) => Some("for no target write fetch = \"none\", without an array".to_owned()),
        (_, Some((_, rest)), _) => {
            let host = rest.split(['/', ':', '?', '#']).next().unwrap_or_default();
            let host = shown(host);
            Some(format!(
                "write the host without a path: \"{host}\", or \"{HTTPS}{host}\" for TLS only"
            ))
        }
        (_, _, Some(address)) if address.parse::<IpAddr>().is_ok() => {
            Some(format!("an address has no brackets here: write \"{address}\""))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use wire::http::url::Scheme;

    use super::*;

    fn listed(texts: &[&str]) -> FetchRules {
        FetchRules::Listed(texts.iter().map(|text| rule(text).unwrap()).collect())
    }

    #[test]
    fn a_target_is_allowed_by_its_name_or_by_its_address() {
        let rules = listed(&["*.example.org", "api.test", "10.0.0.0/8", "::1"]);
        let names = ["a.example.org", "example.org", "api.test", "test", "10.0.0.1"];
        let allowed = names.map(|name| rules.allow_name(Scheme::Http, name));
        assert_eq!(allowed, [true, false, true, false, false]);
        let addresses = ["10.1.2.3", "11.1.2.3", "::1", "::2", "::ffff:10.0.0.1"];
        let allowed =
            addresses.map(|address| rules.allow(Scheme::Http, "x", address.parse().unwrap()));
        assert_eq!(allowed, [true, false, true, false, true]);
        assert!(rules.allow_networks(Scheme::Http));
        assert!(!listed(&["api.test"]).allow_networks(Scheme::Http));
        for (rules, expected) in
            [(FetchRules::All, true), (FetchRules::None, false), (listed(&[]), false)]
        {
            for scheme in [Scheme::Http, Scheme::Https] {
                assert_eq!(rules.allow_name(scheme, "a"), expected, "{rules:?}");
                assert_eq!(rules.allow(scheme, "a", [127, 0, 0, 1].into()), expected, "{rules:?}");
                assert_eq!(rules.allow_networks(scheme), expected, "{rules:?}");
            }
        }
    }

    #[test]
    fn a_target_may_be_allowed_over_tls_only() {
        let rules = listed(&["https://a.test", "https://10.0.0.0/8", "b.test"]);
        let address = IpAddr::from([10, 1, 2, 3]);
        for (scheme, is_secure) in [(Scheme::Http, false), (Scheme::Https, true)] {
            assert_eq!(rules.allow_name(scheme, "a.test"), is_secure);
            assert_eq!(rules.allow(scheme, "x", address), is_secure);
            assert_eq!(rules.allow_networks(scheme), is_secure);
            assert!(rules.allow_name(scheme, "b.test"));
        }
        assert_eq!(show(&rules), r#"["https://a.test", "https://10.0.0.0/8", "b.test"]"#);
    }

    #[test]
    fn link_local_addresses_have_to_be_listed_themselves() {
        let forms = [
            "169.254.169.254",
            "169.254.0.1",
            "::ffff:169.254.169.254",
            "::169.254.169.254",
            "64:ff9b::169.254.169.254",
            "2002:a9fe:a9fe::1",
            "fe80::1",
            "febf::1",
        ];
        for form in forms {
            let address = form.parse().unwrap();
            for rules in [FetchRules::All, listed(&["meta.test"]), listed(&["10.0.0.0/8"])] {
                assert!(!rules.allow(Scheme::Http, "meta.test", address), "{form} by {rules:?}");
            }
        }
        let both = listed(&["169.254.169.254", "fe80::/10"]);
        for form in ["169.254.169.254", "::ffff:169.254.169.254", "fe80::1"] {
            assert!(both.allow(Scheme::Http, "x", form.parse().unwrap()), "{form}");
        }
        assert!(!both.allow(Scheme::Http, "x", "169.254.169.253".parse().unwrap()));
        for form in ["169.253.0.1", "::1", "fec0::1", "::ffff:10.0.0.1", "2002:a00:1::1"] {
            assert!(FetchRules::All.allow(Scheme::Https, "x", form.parse().unwrap()), "{form}");
        }
    }

    #[test]
    fn invalid_fetch_target_is_error() {
        assert!(rule("10.0.0.1/8").unwrap_err().contains("10.0.0.0/8"));
        assert!(rule("a/b").unwrap_err().contains("write a network"));
        assert!(rule("a b").unwrap_err().contains("write a host name"));
        assert!(rule("a:80").unwrap_err().contains("port"));
        for (text, mend) in [
            ("*", "fetch = \"all\""),
            ("all", "fetch = \"all\""),
            ("none", "fetch = \"none\""),
            ("http://a.test:80/b", "\"a.test\", or \"https://a.test\" for TLS only"),
            ("https://*", "fetch = \"all\""),
            ("https://a.test/", "write a network"),
            ("https://a.test:443", "port"),
            ("[::1]", "write \"::1\""),
        ] {
            assert!(rule(text).unwrap_err().contains(mend), "{text}");
        }
    }
}
