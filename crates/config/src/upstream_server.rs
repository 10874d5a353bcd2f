//! One server of an upstream: `"127.0.0.1:9000"`, `"app.internal:80"`, `"unix:/run/app.sock"`, or a table with a
//! weight.
//!
//! Owns that syntax. Never looks up a name.

use std::net::IpAddr;
use std::path::PathBuf;

use toml::de::DeValue;
use wire::http::url::{Authority, UrlHost};

use crate::item::Item;
use crate::limits::{HOST_NAME_SIZE_MAX, UNIX_PATH_SIZE_MAX, UPSTREAM_WEIGHT_MAX};
use crate::model::upstream::{ServerAddress, UpstreamServer};
use crate::value::{borrowed_text, cannot_be, whole};
use crate::wording::shown;

/// The keys of a server that is written as a table.
const KEYS: [&str; 2] = ["address", "weight"];

const WANTED: &str =
    "an address such as \"127.0.0.1:9000\", or { address = \"127.0.0.1:9000\", weight = 2 }";

pub(super) fn read(item: &Item<'_>) -> Result<UpstreamServer, String> {
    let table = match item.value {
        DeValue::String(_) => return Ok(UpstreamServer { address: address(item)?, weight: 1 }),
        DeValue::Table(table) => table,
        _ => return Err(item.wrong_type(WANTED)),
    };
    if let Some((key, _)) = table.iter().find(|(key, _)| !KEYS.contains(&&**key.get_ref())) {
        let key = shown(key.get_ref());
        return Err(format!("a server has no key `{key}`; it has `address` and `weight`"));
    }
    let part = |key: &'static str| {
        let found = table.iter().find(|(name, _)| **name.get_ref() == *key);
        found.map(|(_, value)| Item { key, ..item.part(value) })
    };
    let Some(written) = part("address") else {
        return Err("a server needs `address`, such as \"127.0.0.1:9000\"".to_owned());
    };
    let weight = part("weight").map(|item| whole(&item, 1..=UPSTREAM_WEIGHT_MAX)).transpose()?;
    let weight = u16::try_from(weight.unwrap_or(1)).unwrap_or(u16::MAX);
    Ok(UpstreamServer { address: address(&written)?, weight })
}

fn address(item: &Item<'_>) -> Result<ServerAddress, String> {
    let text = borrowed_text(item, WANTED)?;
    parse(text).map_err(|why| cannot_be(item, text, &why))
}

fn parse(text: &str) -> Result<ServerAddress, String> {
    if let Some(path) = text.strip_prefix("unix:") {
        return unix(path);
    }
    if let Some((scheme, rest)) = text.split_once("://") {
        let host = shown(rest.split('/').next().unwrap_or_default());
        return Err(match scheme {
            "https" => format!("write \"{host}\" with its port, and `tls = true` in [[upstream]]"),
            _ => format!("write the address without a scheme: \"{host}\" with its port"),
        });
    }
    if let Ok(address) = text.parse::<IpAddr>() {
        let mended = ServerAddress::Tcp(address, 80);
        return Err(format!("it has no port; write \"{mended}\""));
    }
    let wrong = || {
        "write \"127.0.0.1:9000\", \"[::1]:9000\", \"app.internal:9000\" or \"unix:/run/app.sock\""
            .to_owned()
    };
    let authority = Authority::parse(text).map_err(|_| wrong())?;
    if authority.port == 0 || text.len() <= authority.host_text.len() + 1 {
        return Err(format!("it has no port; write \"{}:80\"", shown(authority.host_text)));
    }
    match authority.host {
        UrlHost::Address(address) => Ok(ServerAddress::Tcp(address, authority.port)),
        UrlHost::Name(_) => {
            let lower = authority.host_text.to_ascii_lowercase();
            let name = lower.strip_suffix('.').unwrap_or(&lower);
            if name.len() > HOST_NAME_SIZE_MAX {
                return Err(format!("a host name has at most {HOST_NAME_SIZE_MAX} bytes"));
            }
            Ok(ServerAddress::Name(name.to_owned(), authority.port))
        }
    }
}

fn unix(path: &str) -> Result<ServerAddress, String> {
    if !path.starts_with('/') {
        return Err("the path must be absolute; write \"unix:/run/app.sock\"".to_owned());
    }
    if path.len() > UNIX_PATH_SIZE_MAX {
        return Err(format!("the path must be at most {UNIX_PATH_SIZE_MAX} bytes long"));
    }
    if path.contains('\0') {
        return Err("the path must not contain a NUL byte".to_owned());
    }
    Ok(ServerAddress::Unix(PathBuf::from(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_addresses_names_and_sockets_with_a_port() {
        for text in ["127.0.0.1:9000", "[::1]:80", "app.internal:8080", "unix:/run/app.sock"] {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
        assert_eq!(parse("App.Internal.:80").unwrap().to_string(), "app.internal:80");
    }

    #[test]
    fn an_entry_that_is_no_server_is_refused_with_the_form_to_write() {
        for (text, mend) in [
            ("127.0.0.1", "\"127.0.0.1:80\""),
            ("::1", "\"[::1]:80\""),
            ("app", "\"app:80\""),
            ("app:", "\"app:80\""),
            ("app:0", "write \"127.0.0.1:9000\""),
            ("app:99999", "write \"127.0.0.1:9000\""),
            (":80", "write \"127.0.0.1:9000\""),
            ("", "write \"127.0.0.1:9000\""),
            ("a b:80", "write \"127.0.0.1:9000\""),
            ("http://app:80/x", "without a scheme: \"app:80\""),
            ("https://app", "tls = true"),
            ("unix:app.sock", "must be absolute"),
            ("unix:/a\0", "NUL"),
        ] {
            let why = parse(text).unwrap_err();
            assert!(why.contains(mend), "{text}: {why}");
        }
        assert!(parse(&format!("unix:/{}", "a".repeat(120))).unwrap_err().contains("107"));
        assert!(parse(&format!("{}:80", "a.".repeat(150))).unwrap_err().contains("253"));
    }
}
