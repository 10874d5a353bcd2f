//! Other servers: `[[upstream]]`, and `proxy` of a route.

use std::path::Path;
use std::time::Duration;

use config::route::RouteRequest;
use config::{
    BalanceMethod, CacheKey, CacheReport, HashBy, Header, HeaderPart, ProxiedBodies, ProxiedPath,
    RequestVariable, RouteAction, ServerAddress, UpstreamSettings, UpstreamTls, UpstreamVersion,
};

use wire::proxy_header::ProxyVersion;

use super::{config, read, table};

fn upstream(keys: &str) -> UpstreamSettings {
    let text = format!("[[upstream]]\nname = \"a\"\nservers = [\"127.0.0.1:1\"]\n{keys}\n");
    config(&text).upstreams.remove(0)
}

#[test]
fn an_upstream_has_servers_with_weights() {
    let text = "[[upstream]]\nname = \"api\"\nservers = [\"127.0.0.1:9000\", { address = \"App.test:80\", \
                weight = 3 }, \"unix:/run/a.sock\"]\n";
    let upstream = config(text).upstreams.remove(0);
    let servers: Vec<_> =
        upstream.servers.iter().map(|server| (server.address.to_string(), server.weight)).collect();
    let expected = [("127.0.0.1:9000", 1), ("app.test:80", 3), ("unix:/run/a.sock", 1)];
    assert_eq!(servers, expected.map(|(address, weight)| (address.to_owned(), weight)));
    assert_eq!(upstream.servers[1].address, ServerAddress::Name("app.test".into(), 80));
    assert_eq!(upstream.balance, BalanceMethod::TwoChoices);
    assert_eq!((upstream.connections, upstream.queue, upstream.retries), (1024, 1024, 1));
    assert_eq!(upstream.timeouts.connect, Duration::from_secs(5));
    assert_eq!((upstream.timeouts.whole, upstream.tls, upstream.sticky), (None, None, None));
}

#[test]
fn every_key_of_an_upstream_has_its_place() {
    let seconds = Duration::from_secs;
    let one = upstream(
        "connect_timeout = \"1s\"\nfirst_byte_timeout = \"2s\"\nidle_timeout = \"3s\"\ntimeout = \
         \"4s\"\nqueue_timeout = \"5s\"\nfailure_pause = \"6s\"\nslow_after = \"7s\"\nslow_start = \
         \"12s\"\nconnections = 8\nqueue = 9\nretries = 10\nfailures = 11\nnext_on = [502, 404]\nsticky = \
         \"server\"\nbalance = \"round-robin\"",
    );
    let times = one.timeouts;
    assert_eq!((times.connect, times.first_byte, times.idle), (seconds(1), seconds(2), seconds(3)));
    assert_eq!((times.whole, one.queue_timeout), (Some(seconds(4)), seconds(5)));
    let health = one.health;
    assert_eq!((health.pause, health.slow_after), (seconds(6), Some(seconds(7))));
    assert_eq!((one.connections, one.queue, one.retries, health.failures), (8, 9, 10, 11));
    assert_eq!((&*one.next_on, one.slow_start), (&[502, 404][..], Some(seconds(12))));
    assert_eq!((one.sticky.as_deref(), one.balance), (Some("server"), BalanceMethod::RoundRobin));
}

#[test]
fn bodies_may_be_complete_before_a_server_gets_them() {
    assert_eq!(upstream("").bodies, ProxiedBodies::Streamed);
    assert_eq!(upstream("buffer_request = false").bodies, ProxiedBodies::Streamed);
    assert_eq!(upstream("buffer_request = true").bodies, ProxiedBodies::Buffered);
}

#[test]
fn servers_may_be_told_of_clients_before_the_first_byte() {
    assert_eq!(upstream("").proxy_protocol, None);
    assert_eq!(upstream("proxy_protocol = \"v1\"").proxy_protocol, Some(ProxyVersion::V1));
    assert_eq!(upstream("proxy_protocol = \"v2\"").proxy_protocol, Some(ProxyVersion::V2));
}

#[test]
fn servers_may_be_asked_whether_they_are_well() {
    let plain = upstream("check = \"/health\"").check.unwrap();
    assert_eq!((plain.interval, plain.timeout), (Duration::from_secs(5), Duration::from_secs(2)));
    assert_eq!((&*plain.path, plain.status, plain.body), ("/health", None, None));
    let full = upstream(
        "check = \"/h?x\"\ncheck_interval = \"1s\"\ncheck_timeout = \"3s\"\ncheck_status = 204\ncheck_body \
         = \"ok\"",
    );
    let full = full.check.unwrap();
    assert_eq!((full.interval, full.timeout), (Duration::from_secs(1), Duration::from_secs(3)));
    assert_eq!((full.status, full.body.as_deref()), (Some(204), Some("ok")));
}

#[test]
fn a_server_is_chosen_by_a_value() {
    assert_eq!(upstream("balance = \"least\"").balance, BalanceMethod::Least);
    for (hash, by) in [
        ("path", HashBy::Path),
        ("address", HashBy::Address),
        ("field:X-User", HashBy::Field("x-user".into())),
        ("cookie:Sid", HashBy::Cookie("Sid".into())),
    ] {
        let keys = format!("balance = \"hash\"\nhash = \"{hash}\"");
        assert_eq!(upstream(&keys).balance, BalanceMethod::Hash(by), "{hash}");
    }
}

#[test]
fn connections_to_servers_may_be_encrypted() {
    assert_eq!(upstream("tls = true").tls, Some(UpstreamTls::default()));
    let tls = upstream(
        "tls = true\nca = \"ca.pem\"\ncertificate = \"a.pem\"\nkey = \"a.key\"\nserver_name = \"app.test\"",
    );
    let tls = tls.tls.unwrap();
    assert_eq!(tls.authorities.as_deref(), Some(Path::new("/base/ca.pem")));
    assert_eq!(tls.certificate, Some(("/base/a.pem".into(), "/base/a.key".into())));
    assert_eq!(tls.server_name.as_deref(), Some("app.test"));
}

#[test]
fn servers_may_speak_http2() {
    for keys in ["", "http2 = false\ntls = true", "h2c = false"] {
        assert_eq!(upstream(keys).version, UpstreamVersion::Http1, "{keys}");
    }
    for keys in ["http2 = true\ntls = true", "h2c = true", "h2c = true\ntls = false"] {
        assert_eq!(upstream(keys).version, UpstreamVersion::Http2, "{keys}");
    }
}

#[test]
fn values_of_the_request_are_read_and_are_not_for_the_cache() {
    let text = "[[upstream]]\nname = \"a\"\nservers = [\"127.0.0.1:1\"]\n[[route]]\nprefix = \
                \"/a\"\nproxy = { upstream = \"a\", request_headers = { X-A = \"$$5\" }, response_headers = { X-B \
                = \"$5\" } }\n[[route]]\nprefix = \"/b\"\nproxy = { upstream = \"a\", request_headers = { X-A = \
                \"of $user\" } }\n";
    let config = config(text);
    let [plain, variable] = [0, 1].map(|at| match &config.default_host.routes[at].action {
        RouteAction::Proxy(proxy) => proxy,
        other => panic!("{other:?}"),
    });
    let header = |name: &str, value: &str| Header { name: name.into(), value: value.into() };
    assert_eq!(plain.request_headers.set, [header("X-A", "$5")]);
    assert_eq!(plain.response_headers.set, [header("X-B", "$5")]);
    assert!(plain.cached && !variable.cached);
    let [told] = &variable.request_headers.variable[..] else { panic!("{variable:?}") };
    let parts = [HeaderPart::Text("of ".into()), HeaderPart::Variable(RequestVariable::User)];
    assert_eq!((&*told.name, &told.parts[..]), ("X-A", &parts[..]));
    assert!(variable.request_headers.drop_field("x_a"), "that of the client is not passed on");
}

#[test]
fn a_route_says_what_changes_on_the_way() {
    let text = "[[upstream]]\nname = \"a\"\nservers = [\"127.0.0.1:1\"]\n[[route]]\nprefix = \
                \"/short\"\nproxy = \"a\"\n[[route]]\nprefix = \"/long\"\n[route.proxy]\nupstream = \
                \"a\"\nstrip_prefix = true\nrequest_headers = { Host = \"b\" }\nremove_request_headers = \
                [\"Cookie\"]\nresponse_headers = { Server = \"c\" }\nremove_response_headers = \
                [\"X-Powered-By\"]\nintercept_errors = [500, 404]\n";
    let config = config(text);
    let proxies: Vec<_> = config
        .default_host
        .routes
        .iter()
        .map(|route| match &route.action {
            RouteAction::Proxy(proxy) => proxy,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!((&*proxies[0].upstream, proxies[0].path), ("a", ProxiedPath::Whole));
    assert_eq!((&*proxies[1].upstream, proxies[1].path), ("a", ProxiedPath::Rest));
    let header = |name: &str, value: &str| Header { name: name.into(), value: value.into() };
    assert_eq!(proxies[1].request_headers.set, [header("Host", "b")]);
    assert_eq!(proxies[1].request_headers.remove, ["cookie"]);
    assert_eq!(proxies[1].response_headers.set, [header("Server", "c")]);
    assert_eq!(proxies[1].response_headers.remove, ["x-powered-by"]);
    assert_eq!(
        (&*proxies[0].intercept_errors, &*proxies[1].intercept_errors),
        (&[][..], &[500, 404][..])
    );
    assert!(proxies[1].response_headers.drop_field("SERVER"));
    assert!(proxies[1].response_headers.drop_field("X-Powered-By"));
    assert!(proxies[1].response_headers.drop_field("x_powered-by"));
    assert!(!proxies[1].response_headers.drop_field("Set-Cookie"));
    assert_eq!(proxies[0].upgrade, ["websocket"]);
}

#[test]
fn another_version_of_http_is_no_protocol_to_pass_on() {
    let of = |upgrade: &str| {
        let text = format!(
            "[[upstream]]\nname = \"a\"\nservers = [\"127.0.0.1:1\"]\n\
             [[route]]\nprefix = \"/\"\nproxy = {{ upstream = \"a\", upgrade = [\"{upgrade}\"] }}\n"
        );
        read(&text)
    };
    assert!(of("MQTT").is_ok());
    for refused in ["h2c", "H2C", "h2", "HTTP/2.0", "TLS", "tls/1.2", "a b", ""] {
        assert!(of(refused).is_err(), "{refused}");
    }
}

#[test]
fn the_explanation_names_the_upstream_and_the_path() {
    let table = table(
        "[[upstream]]\nname = \"a\"\nservers = [\"127.0.0.1:1\"]\n\
         [[route]]\nprefix = \"/api\"\nproxy = { upstream = \"a\", strip_prefix = true }\n\
         [[route]]\nprefix = \"/\"\nproxy = \"a\"\n",
    );
    for (path, result) in [
        ("/api/users", "a server of the upstream `a`, asked for `/users`"),
        ("/api", "a server of the upstream `a`, asked for `/`"),
        ("/other", "a server of the upstream `a`, asked for `/other`"),
    ] {
        assert_eq!(table.explain(&RouteRequest::new(None, "GET", path, None)).result, result);
    }
}

#[test]
fn a_route_may_ask_a_server_whether_a_request_may_pass() {
    let upstream = "[[upstream]]\nname = \"a\"\nservers = [\"127.0.0.1:1\"]\n";
    let asked = "[[route]]\nprefix = \"/x\"\nrespond = { body = \"x\" }\n\
                 forward_auth = { upstream = \"a\", path = \"/v?w\", copy = [\"X-User\"] }\n";
    let open = "[[route]]\nprefix = \"/y\"\nrespond = { body = \"y\" }\n";
    let text = format!("{upstream}{asked}{open}");
    let config = config(&text);
    let auth = config.default_host.routes[0].forward_auth.as_ref().unwrap();
    assert_eq!((&*auth.upstream, &*auth.path), ("a", "/v?w"));
    assert_eq!(auth.copy, ["x-user"]);
    let table = table(&text);
    let asks = |path| {
        let request = RouteRequest::new(None, "GET", path, None);
        table.find(&request).terms.forward_auth.is_some()
    };
    assert!(asks("/x/z") && !asks("/y") && !asks("/z"));
}

#[test]
fn an_upstream_may_have_a_cache() {
    let cache = |keys: &str| upstream(&format!("cache = {{ {keys} }}")).cache.unwrap();
    assert_eq!(upstream("").cache, None);
    let plain = cache("");
    assert_eq!((plain.memory, plain.object, plain.default_ttl), (64 << 20, 1 << 20, None));
    assert_eq!((plain.stale_if_error, plain.wait), (Duration::ZERO, Duration::from_secs(5)));
    assert_eq!(plain.key, CacheKey { scheme: true, host: true, query: true });
    assert_eq!(plain.report, CacheReport::Short);
    assert!(!plain.heuristic && !plain.remove_set_cookie && !plain.obey_requests);
    let full = cache(
        "memory = \"128 MiB\", object = \"2 MiB\", key = [\"path\", \"host\"], default_ttl = \"1m\", \
         heuristic = true, stale_while_revalidate = \"2s\", stale_if_error = \"3s\", remove_set_cookie = \
         true, obey_requests = true, wait = \"4s\", report = \"full\"",
    );
    let seconds = Duration::from_secs;
    assert_eq!((full.memory, full.object), (128 << 20, 2 << 20));
    assert_eq!(full.key, CacheKey { scheme: false, host: true, query: false });
    assert_eq!((full.default_ttl, full.wait), (Some(seconds(60)), seconds(4)));
    assert_eq!(full.error_ttl, full.default_ttl);
    assert_eq!(full.stale_while_revalidate, seconds(2));
    assert_eq!(full.stale_if_error, seconds(3));
    assert!(full.heuristic && full.remove_set_cookie && full.obey_requests);
    assert_eq!(full.report, CacheReport::Full);
}
