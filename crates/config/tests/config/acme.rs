//! Certificates that the server orders: what a site has to say, and what it gets.

use std::path::Path;

use config::{AcmeChallenge, Config, Overrides};

use super::config;

#[test]
fn names_of_a_site_are_all_that_certificates_need() {
    let all = config("[acme]\nnames = [\"example.org\"]\nemail = \"you@example.org\"");
    let addresses: Vec<String> =
        all.listeners.iter().map(|listener| listener.address.to_string()).collect();
    assert_eq!(addresses, ["0.0.0.0:80", "[::]:80", "0.0.0.0:443", "[::]:443"]);
    let encrypted: Vec<bool> = all.listeners.iter().map(|one| one.tls.is_some()).collect();
    assert_eq!(encrypted, [false, false, true, true]);
    assert!(all.orders_certificates());
    let issuer = &all.acme.issuers[0];
    assert_eq!(issuer.directory, "https://acme-v02.api.letsencrypt.org/directory");
    assert_eq!(all.acme.challenges, [AcmeChallenge::Http01, AcmeChallenge::TlsAlpn01]);
    // On another address of the command line nothing is ordered.
    let listen = vec!["127.0.0.1:8080".parse().unwrap()];
    let overrides = Overrides { listen, ..Overrides::default() };
    let text = "[acme]\nnames = [\"example.org\"]";
    let tried = Config::from_text(text, "velodrome.toml", Path::new("/base"), &overrides).unwrap();
    assert!(!tried.orders_certificates() && tried.listeners.len() == 1);
}
