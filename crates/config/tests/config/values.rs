//! A configuration is a value: it is compared, copied and handed to threads.

use super::{config, errors};

#[test]
fn a_host_leads_to_https_as_the_top_level_says_unless_it_says_otherwise() {
    let read = config(
        "trusted_proxies = [\"10.0.0.1\"]\nredirect_to_https = true\n\
         hsts = \"180d\"\n[[host]]\nnames = [\"a.example\"]\n\
         [[host]]\nnames = [\"b.example\"]\nredirect_to_https = false\nhsts = \"1h\"\n",
    );
    let of =
        |host: &config::Host| (host.https.redirect, host.https.strict_for.map(|one| one.as_secs()));
    let hosts: Vec<_> = read.hosts.iter().map(of).collect();
    assert_eq!(of(&read.default_host), (true, Some(180 * 86_400)));
    assert_eq!(hosts, [(true, Some(180 * 86_400)), (false, Some(3_600))]);
}

#[test]
fn configurations_compare_and_move_between_threads() {
    fn moves<T: Clone + PartialEq + Send + Sync + 'static>(_: &T) {}
    let first = config("[limits]\nbody_size = 1\n");
    moves(&first);
    assert_eq!(first, first.clone());
    assert_ne!(first, config("[limits]\nbody_size = 2\n"));
    assert_eq!(errors("[limits]\nbody_size = 2\n"), "");
}
