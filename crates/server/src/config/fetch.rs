//! Which targets pages may fetch from: `fetch` in `[pages]`.
//!
//! Owns the comparison of a target with what is allowed. The configuration says what that is.

use std::net::IpAddr;
use std::sync::Arc;

use toml::de::DeValue;

use super::Problems;
use super::host_name::HostName;
use super::network::Network;
use super::section::Section;
use super::value::{cannot_be, shown, text, wrong_type};

/// Which targets may be fetched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FetchRules {
    /// All.
    #[default]
    All,
    /// None.
    None,
    /// These alone.
    Listed(Arc<[FetchRule]>),
}

/// Targets that may be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FetchRule {
    /// Hosts whose name is written so in the URL, whatever their address.
    Host(HostName),
    /// Hosts whose address is in there, whatever their name.
    Network(Network),
}

impl FetchRules {
    /// Whether a host of that name may be fetched from at any address.
    pub(crate) fn allow_name(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::None => false,
            Self::Listed(rules) => rules.iter().any(|rule| match rule {
                FetchRule::Host(host) => host.is_match(name.as_bytes()),
                FetchRule::Network(_) => false,
            }),
        }
    }

    /// Whether this address may be fetched from, whatever its name.
    pub(crate) fn allow_address(&self, address: IpAddr) -> bool {
        match self {
            Self::All => true,
            Self::None => false,
            Self::Listed(rules) => rules.iter().any(|rule| match rule {
                FetchRule::Host(_) => false,
                FetchRule::Network(network) => network.contains(address),
            }),
        }
    }

    /// Whether any name could lead to an address that is allowed: then it is worth looking it up.
    pub(crate) fn allow_networks(&self) -> bool {
        match self {
            Self::All => true,
            Self::None => false,
            Self::Listed(rules) => rules.iter().any(|rule| matches!(rule, FetchRule::Network(_))),
        }
    }
}

/// Reads the key over what is there.
pub(super) fn read_into(rules: &mut FetchRules, section: &Section<'_>, problems: &mut Problems) {
    const WANTED: &str =
        "\"all\", \"none\", or an array such as [\"*.example.org\", \"10.0.0.0/8\"]";
    let Some(item) = section.item("fetch") else { return };
    match item.value {
        DeValue::Array(_) => {
            let listed = section.list("fetch", problems, |item| {
                let text = text(item)?;
                rule(&text).map_err(|why| cannot_be(item, &text, &why))
            });
            *rules = FetchRules::Listed(listed.unwrap_or_default().into());
        }
        DeValue::String(word) => match &**word {
            "all" => *rules = FetchRules::All,
            "none" => *rules = FetchRules::None,
            other => problems.at(item.offset, cannot_be(&item, other, &format!("write {WANTED}"))),
        },
        _ => problems.at(item.offset, wrong_type(&item, WANTED)),
    }
}

fn rule(text: &str) -> Result<FetchRule, String> {
    if let Some(mend) = mend_of(text) {
        return Err(mend);
    }
    match text.parse::<Network>() {
        Ok(network) => Ok(FetchRule::Network(network)),
        // What has a slash was meant as a network.
        Err(error) if text.contains('/') => Err(error.to_string()),
        Err(_) if text.contains(':') => {
            Err("a name has no port; what is allowed is allowed at every port".to_owned())
        }
        Err(_) => HostName::parse(text).map(FetchRule::Host).map_err(ToOwned::to_owned),
    }
}

/// What is to be written in the place of what is meant well elsewhere.
fn mend_of(text: &str) -> Option<String> {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    match (text, text.split_once("://"), bare) {
        ("*" | "all", ..) => {
            Some("for every target write fetch = \"all\", without an array".to_owned())
        }
        ("none", ..) => Some("for no target write fetch = \"none\", without an array".to_owned()),
        (_, Some((_, rest)), _) => {
            let host = rest.split(['/', ':', '?', '#']).next().unwrap_or_default();
            Some(format!("write the name of the host alone, as in \"{}\"", shown(host)))
        }
        (_, _, Some(address)) if address.parse::<IpAddr>().is_ok() => {
            Some(format!("an address has no brackets here: write \"{address}\""))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(texts: &[&str]) -> FetchRules {
        FetchRules::Listed(texts.iter().map(|text| rule(text).unwrap()).collect())
    }

    #[test]
    fn a_target_is_allowed_by_its_name_or_by_its_address() {
        let rules = listed(&["*.example.org", "api.test", "10.0.0.0/8", "::1"]);
        let names = ["a.example.org", "example.org", "api.test", "test", "10.0.0.1"];
        assert_eq!(names.map(|name| rules.allow_name(name)), [true, false, true, false, false]);
        let addresses = ["10.1.2.3", "11.1.2.3", "::1", "::2", "::ffff:10.0.0.1"];
        let allowed = addresses.map(|address| rules.allow_address(address.parse().unwrap()));
        assert_eq!(allowed, [true, false, true, false, true]);
        assert!(rules.allow_networks());
        assert!(!listed(&["api.test"]).allow_networks());
        for (rules, expected) in
            [(FetchRules::All, true), (FetchRules::None, false), (listed(&[]), false)]
        {
            assert_eq!(rules.allow_name("a"), expected, "{rules:?}");
            assert_eq!(rules.allow_address([127, 0, 0, 1].into()), expected, "{rules:?}");
            assert_eq!(rules.allow_networks(), expected, "{rules:?}");
        }
    }

    #[test]
    fn what_is_neither_a_name_nor_a_network_is_told() {
        assert!(rule("10.0.0.1/8").unwrap_err().contains("10.0.0.0/8"));
        assert!(rule("a/b").unwrap_err().contains("write a network"));
        assert!(rule("a b").unwrap_err().contains("write a host name"));
        assert!(rule("a:80").unwrap_err().contains("port"));
        for (text, mend) in [
            ("*", "fetch = \"all\""),
            ("all", "fetch = \"all\""),
            ("none", "fetch = \"none\""),
            ("http://a.test:80/b", "as in \"a.test\""),
            ("[::1]", "write \"::1\""),
        ] {
            assert!(rule(text).unwrap_err().contains(mend), "{text}");
        }
    }
}
