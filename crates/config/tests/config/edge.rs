//! The keys of proxies, access, limits and log fields.

use wire::http::forwarded::ForwardingField;
use wire::network::Peers;

use std::time::Duration;

use config::{
    AcceptedNames, AccessRule, Admission, Clients, LimitRate, LogFormat, LogMessages, Logging,
    Measure, Method, QuotaKey, Users,
};

use super::config;

#[test]
fn trusted_proxies_and_their_fields_are_read_from_lists() {
    let text =
        "trusted_proxies = [\"10.0.0.0/8\", \"unix\"]\ntrusted_fields = [\"x-forwarded-for\"]";
    let edge = config(text);
    assert_eq!(edge.trusted_proxies, [Peers::Of("10.0.0.0/8".parse().unwrap()), Peers::Local]);
    assert_eq!(edge.trusted_fields, [ForwardingField::For]);
    let defaults = config("");
    assert_eq!((defaults.trusted_proxies.len(), defaults.trusted_fields.len()), (0, 4));
}

#[test]
fn rules_of_access_keep_the_order_of_the_file() {
    let text = "access = [{ deny = \"unix\" }, { allow = [\"10.0.0.0/8\", \"all\"], users = \"u\", realm = \
                \"Staff\", token = \"any\", certificate = [\"CN=Ada\"] }]\n[channels]\napi_keys = \
                \"k\"\n[[listener]]\naddress = \"0.0.0.0:443\"\ntls = { certificate = \"c\", key = \"k\" \
                }\nclient_ca = \"ca\"\n[[host]]\nnames = [\"a.example\"]\naccess = [{ allow = \"all\" \
                }]\n[[host.route]]\npath = \"/a\"\njson = 1\naccess = [{ users = \"v\" }]\n";
    let edge = config(text);
    let local = Clients::At(Peers::Local);
    let admission = Admission {
        from: vec![Clients::At("10.0.0.0/8".parse().unwrap()), Clients::All],
        users: Some(Users { path: "/base/u".into(), realm: "Staff".into() }),
        token: Some(AcceptedNames::Any),
        certificate: Some(AcceptedNames::These(vec!["CN=Ada".into()])),
    };
    let rules = vec![AccessRule::Deny(vec![local]), AccessRule::Admit(admission)];
    assert_eq!(edge.default_host.access.as_ref(), Some(&rules));
    let all = Admission { from: vec![Clients::All], ..Admission::default() };
    assert_eq!(edge.hosts[0].access, Some(vec![AccessRule::Admit(all)]));
    let users = Some(Users { path: "/base/v".into(), realm: "Restricted".into() });
    let of_route = AccessRule::Admit(Admission { users, ..Admission::default() });
    assert_eq!(edge.hosts[0].routes[0].access, Some(vec![of_route]));
    assert_eq!(config("").default_host.access, None);
}

#[test]
fn limits_of_every_kind_are_read_with_their_keys() {
    let text = "[[limit]]\nname = \"a\"\nrequests = \"90/m\"\n[[limit]]\nname = \"b\"\nby = \"field:X-Key\"\n\
        bytes = \"1 MiB/h\"\nburst = \"2 KiB\"\n[[limit]]\nname = \"c\"\nby = \"cookie:s\"\nopen = 7\n\
        [[limit]]\nname = \"d\"\nby = \"user\"\nrequests = \"5/d\"\nburst = 9\ndelay = \"1s\"\n\
        paths = [\"/x/*\"]\nmethods = [\"POST\"]\n[limits]\nlimit_keys = 2048\n";
    let edge = config(text);
    let quotas = &edge.quotas;
    let rate = |units, seconds, configured_burst| LimitRate {
        units,
        window: Duration::from_secs(seconds),
        configured_burst,
    };
    assert_eq!(quotas[0].measure, Measure::Requests(rate(90, 60, None)));
    assert_eq!(rate(90, 60, None).burst(), 1);
    assert_eq!((&quotas[0].by, quotas[0].delay), (&QuotaKey::Address, Duration::ZERO));
    assert_eq!(quotas[1].measure, Measure::Bytes(rate(1 << 20, 3600, Some(2048))));
    assert_eq!(quotas[1].by, QuotaKey::Field("x-key".into()));
    assert_eq!(
        (&quotas[2].by, quotas[2].measure),
        (&QuotaKey::Cookie("s".into()), Measure::Open(7))
    );
    assert_eq!((&quotas[3].by, quotas[3].delay), (&QuotaKey::User, Duration::from_secs(1)));
    assert_eq!(quotas[3].measure, Measure::Requests(rate(5, 86_400, Some(9))));
    assert_eq!((quotas[3].paths.len(), &quotas[3].methods), (1, &vec![Method::Post]));
    assert_eq!(edge.limits.limit_keys, 2048);
}

#[test]
fn formats_and_fields_of_a_log_line_are_read() {
    let log = |text: &str| config(&format!("[log]\naccess = \"stdout\"\n{text}\n")).log;
    assert_eq!(
        log("format = \"$peer $$ ${field:A-b}\"").format,
        LogFormat::text("$peer $$ ${field:a-b}").unwrap()
    );
    assert_eq!(
        log("format = \"$peer $$ ${field:a-b}\"").format.to_string(),
        "${peer} $$ ${field:a-b}"
    );
    let fields = ["status", "field:a"];
    assert_eq!(
        log("fields = [\"status\", \"field:A\"]").format,
        LogFormat::json_of(fields.into_iter()).unwrap()
    );
    assert_eq!(log("messages = \"json\"").messages, LogMessages::Json);
    let edge = config(
        "[[route]]\npath = \"/a\"\njson = 1\nlog = false\n[[route]]\npath = \"/b\"\njson = 1\n",
    );
    let logged: Vec<Logging> = edge.default_host.routes.iter().map(|route| route.log).collect();
    assert_eq!(logged, [Logging::Off, Logging::On]);
}
