//! The caches of nginx, and the versions of HTTP that servers are spoken to in.

use config::{Config, RouteAction, UpstreamSettings, UpstreamVersion};

use super::nginx::made;
use super::{answer, judge, table};

/// One location `/` that passes requests on to `http://app` with these lines, and a zone for 30 minutes.
fn cached(lines: &str) -> String {
    made(&format!(
        "http {{ proxy_cache_path /var/cache/app levels=1:2 keys_zone=app:10m max_size=5g inactive=30m;\n\
         server {{ listen 80; server_name a.example; location / {{ proxy_pass http://app; proxy_cache app; \
         {lines} }} }} }}"
    ))
}

fn only(config: &Config) -> &UpstreamSettings {
    let [upstream] = config.upstreams.as_slice() else { panic!("{:?}", config.upstreams) };
    upstream
}

/// The cache as printed, and the conditions of the routes that pass it by.
fn printed(lines: &str) -> (String, Vec<String>) {
    let text = cached(lines);
    table(&text);
    let found = text.lines().find_map(|line| line.strip_prefix("cache = "));
    let routes = text.split("[[route]]").skip(1).filter(|route| route.contains("cache = false"));
    let passing = routes.filter_map(|route| {
        route.lines().find_map(|line| line.strip_prefix("when = ")).map(str::to_owned)
    });
    (found.unwrap_or_default().to_owned(), passing.collect())
}

#[test]
fn a_cache_becomes_one_of_the_upstream_with_a_directory_of_its_own() {
    let text = cached(
        "proxy_cache_valid 10m; proxy_cache_valid any 10m; proxy_cache_lock on; proxy_cache_lock_timeout 3s;\n\
         proxy_cache_use_stale error timeout updating http_500; proxy_cache_background_update on;\n\
         proxy_cache_revalidate on; proxy_cache_min_uses 1; proxy_cache_methods GET HEAD;",
    );
    let (config, _) = table(&text);
    let cache = only(&config).cache.as_ref().expect("a cache");
    let disk = cache.disk.as_ref().expect("a disk");
    assert_eq!(
        disk.directory.to_str(),
        Some("/var/cache/app-app"),
        "nginx deletes what is in its own"
    );
    assert_eq!(disk.size, 5 << 30);
    let seconds = |time: std::time::Duration| time.as_secs();
    assert_eq!(cache.default_ttl.map(seconds), Some(600));
    assert_eq!(seconds(cache.wait), 3);
    assert_eq!(
        (seconds(cache.stale_if_error), seconds(cache.stale_while_revalidate)),
        (1800, 1800)
    );
    assert!(!text.contains("no counterpart") && !text.contains("proxy_cache"), "{text}");
}

#[test]
fn cache_is_left_out_where_ours_does_not_tell_requests_apart_that_nginx_does() {
    for (lines, wanted) in [
        ("", "{ directory = \"/var/cache/app-app\", disk_size = \"5 GiB\" }"),
        ("proxy_cache_key $scheme$request_method$host$request_uri;", "disk_size = \"5 GiB\" }"),
        ("proxy_cache_key $host$uri$is_args$args;", "disk_size = \"5 GiB\" }"),
        ("proxy_cache_key $uri$arg_page;", "disk_size = \"5 GiB\" }"),
        ("proxy_cache_key $uri;", "key = [\"scheme\", \"host\", \"path\"] }"),
        ("proxy_cache_key $host;", ""),
        ("proxy_cache_key $cookie_lang$request_uri;", ""),
        ("proxy_cache_key $http_x_tenant$request_uri;", ""),
        ("proxy_cache_key $remote_user$request_uri;", ""),
        ("proxy_no_cache $skip;", ""),
        ("proxy_no_cache 1;", ""),
        ("proxy_no_cache x$http_a;", ""),
        ("proxy_cache_bypass $arg_a; proxy_cache_key $uri;", ""),
        ("proxy_cache other;", ""),
        ("proxy_cache $zone;", ""),
        ("proxy_cache off;", ""),
        (
            "proxy_ignore_headers Set-Cookie; proxy_hide_header Set-Cookie;",
            "remove_set_cookie = true }",
        ),
        ("proxy_ignore_headers Set-Cookie;", "disk_size = \"5 GiB\" }"),
        ("proxy_cache_use_stale off;", "disk_size = \"5 GiB\" }"),
        ("proxy_cache_valid 500 1m;", "disk_size = \"5 GiB\" }"),
        ("proxy_cache_valid 200 0;", "disk_size = \"5 GiB\" }"),
        ("proxy_cache_valid 10m;", "default_ttl = \"600s\", error_ttl = \"0s\" }"),
        ("proxy_cache_valid 404 1m;", "error_ttl = \"60s\" }"),
        ("proxy_cache_valid any 1m;", "default_ttl = \"60s\" }"),
        (
            "proxy_cache_valid 200 302 10m; proxy_cache_valid 404 1m;",
            "default_ttl = \"600s\", error_ttl = \"60s\" }",
        ),
    ] {
        let (cache, _) = printed(lines);
        assert!(
            cache.ends_with(wanted) && cache.is_empty() == wanted.is_empty(),
            "{lines}: {cache}"
        );
        // Whatever becomes of the cache, requests are passed on.
        assert_eq!(answer(&table(&cached(lines)).1, "a.example/x"), "app /x", "{lines}");
    }
    // A module of others answers by itself.
    let text = made("server { location ~ /purge/ { proxy_cache_purge app $uri; } }");
    assert!(text.contains("closed"), "{text}");
}

#[test]
fn requests_that_pass_a_cache_by_have_routes_of_their_own() {
    let any_cookie = "{ header = { cookie = true } }";
    for (lines, wanted) in [
        ("proxy_no_cache $http_authorization;", &["{ header = { authorization = true } }"][..]),
        (
            "proxy_cache_bypass $cookie_session $arg_preview; proxy_no_cache $cookie_session $arg_preview;",
            &[any_cookie, "{ query = { preview = true } }"],
        ),
        (
            "proxy_cache_bypass $http_pragma$http_x_a;",
            &["{ header = { pragma = true } }", "{ header = { x-a = true } }"],
        ),
        ("proxy_cache_bypass 0;", &[]),
    ] {
        let (cache, passing) = printed(lines);
        assert!(!cache.is_empty() && passing == wanted, "{lines}: {cache} {passing:?}");
    }
}

#[test]
fn a_location_without_a_cache_shares_the_upstream_of_one_with_it() {
    let text = made(
        "proxy_cache_path /c keys_zone=z:1m; upstream app { server 127.0.0.1:1; }\n\
         server { listen 80; proxy_cache z; proxy_cache_valid 1m; location /live/ { proxy_cache off; proxy_pass \
         http://app; }\n location /old/ { proxy_pass http://app/; proxy_cache_valid 1h; } location / { \
         proxy_pass http://app; } }",
    );
    let (config, _) = table(&text);
    let names: Vec<&str> = config.upstreams.iter().map(|upstream| &*upstream.name).collect();
    assert_eq!(names, ["app", "app-2"], "another time is another cache");
    let routes = config.default_host.routes.iter();
    let proxies = routes.filter_map(|route| match &route.action {
        RouteAction::Proxy(proxy) => Some((&*proxy.upstream, proxy.cached)),
        _ => None,
    });
    let proxies: Vec<(&str, bool)> = proxies.collect();
    assert_eq!(proxies, [("app", false), ("app", true), ("app-2", true)], "{text}");
    judge(&text, &[("x/live/a", "app /live/a"), ("x/old/a", "app /a"), ("x/a", "app-2 /a")]);
}

#[test]
fn servers_are_spoken_to_in_the_version_that_nginx_speaks() {
    for (lines, wanted) in [
        ("proxy_http_version 2; proxy_pass https://b;", UpstreamVersion::Http2),
        ("proxy_http_version 2; proxy_pass http://b;", UpstreamVersion::Http2),
        ("proxy_http_version 1.1; proxy_pass https://b;", UpstreamVersion::Http1),
        (
            "proxy_http_version 2; proxy_http_version 1.1; proxy_pass http://b;",
            UpstreamVersion::Http1,
        ),
        ("proxy_http_version 1.0; proxy_pass http://b;", UpstreamVersion::Http1),
        ("proxy_pass https://b;", UpstreamVersion::Http1),
    ] {
        let text = made(&format!("server {{ location / {{ {lines} }} }}"));
        let (config, _) = table(&text);
        assert_eq!(only(&config).version, wanted, "{text}");
        assert_eq!(text.contains("servers get HTTP/1.1"), lines.contains("1.0"), "{text}");
    }
}

#[test]
fn a_time_without_a_part_of_an_answer_is_that_of_the_whole_answer_too() {
    let text = made("server { location / { proxy_read_timeout 24h; proxy_pass http://b; } }");
    let (config, _) = table(&text);
    let timeouts = &only(&config).timeouts;
    assert_eq!(timeouts.first_byte.as_secs(), 24 * 3600);
    assert_eq!(timeouts.idle.as_secs(), 24 * 3600, "an event stream may be silent for so long");
    let text = made("server { location / { proxy_read_timeout 5s; proxy_pass http://b; } }");
    let (config, _) = table(&text);
    let timeouts = &only(&config).timeouts;
    assert_eq!((timeouts.first_byte.as_secs(), timeouts.idle.as_secs()), (5, 60), "of uploads");
}

#[test]
fn a_part_of_a_configuration_may_have_what_stands_in_http() {
    let text = made(
        "limit_req_zone $remote_addr zone=l:1m rate=5r/s; gzip on; proxy_cache_path /c keys_zone=z:1m;\n\
         server { listen 80; location / { limit_req zone=l; proxy_cache z; proxy_pass http://b; } }",
    );
    let (config, table) = table(&text);
    assert_eq!(answer(&table, "x/"), "b /", "{text}");
    assert!(only(&config).cache.is_some() && text.contains("[[limit]]"), "{text}");
    assert!(made("worker_processes 2; odd on; server { root /a; }").contains("closed"));
}
