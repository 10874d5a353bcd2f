//! Who may do what at the edge of the site: proxies, access, limits.

use wire::http::forwarded::ForwardingField;
use wire::network::Peers;

use super::config;

#[test]
fn trusted_proxies_and_their_fields() {
    let text =
        "trusted_proxies = [\"10.0.0.0/8\", \"unix\"]\ntrusted_fields = [\"x-forwarded-for\"]";
    let edge = config(text);
    assert_eq!(edge.trusted_proxies, [Peers::Of("10.0.0.0/8".parse().unwrap()), Peers::Local]);
    assert_eq!(edge.trusted_fields, [ForwardingField::For]);
    let defaults = config("");
    assert_eq!((defaults.trusted_proxies.len(), defaults.trusted_fields.len()), (0, 4));
}
