//! Every key: its value in the configuration, which differs from the default.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use config::{
    AccessLogTarget, AppDirectory, AppPresence, CacheRule, CertificatesOverride, Config,
    DescriptorTables, ErrorPage, FileSettings, Header, HostName, LimitSettings, ListenerAddress,
    ListenerSettings, LogFormat, LogLevel, MediaType, Method, Overrides, PageErrors, Pages,
    PathMatcher, QuantityError, Respond, RouteAction, Steering, parse_duration,
};

use super::config;

#[test]
fn an_empty_file_is_the_defaults() {
    let config = config("");
    let address = ListenerAddress::Tcp("127.0.0.1:8080".parse().unwrap());
    assert_eq!(config.listeners, [ListenerSettings::on(address)]);
    assert_eq!(config.limits, LimitSettings::default());
    assert_eq!(config.pages, Pages::default());
    assert_eq!(config.default_host.files, FileSettings::of_root(Path::new("/base")));
    assert_eq!(config.log.access, AccessLogTarget::Off);
    assert_eq!((config.pin, config.schedulers, config.user), (true, None, None));
    assert_eq!(config.spin, Duration::from_micros(50));
    assert_eq!(config.drain_deadline, Duration::from_secs(30));
    assert_eq!(config.descriptor_tables, DescriptorTables::Private);
    assert_eq!(config.steering, Steering::Hash);
    assert_eq!((config.admin.socket, config.admin.metrics), (None, None));
    let without = Config::without_file(Path::new("/base"), &Overrides::default()).unwrap();
    assert_eq!(without.listeners, config.listeners);
    assert_eq!(without.default_host, config.default_host);
}

#[test]
fn the_keys_of_the_top_level() {
    let config = config(
        "schedulers = 3\npin = false\nuser = \"www\"\nspin = \"7us\"\nbusy_poll = \"9us\"\ndescriptor_tables = \"shared\"\n\
         drain_deadline = \"5s\"\nreuseport_cpu = true\nroot = \"site\"\n[headers]\nX-A = \"b\"\n\
         [error_pages]\n500 = \"/500.html\"\n404 = \"/404.html\"\n[mime]\nLog = \"text/plain\"\n",
    );
    assert_eq!(config.schedulers.map(usize::from), Some(3));
    assert!(!config.pin);
    assert_eq!(config.user.as_deref(), Some("www"));
    assert_eq!(config.spin, Duration::from_micros(7));
    assert_eq!(config.busy_poll, Duration::from_micros(9));
    assert_eq!(config.descriptor_tables, DescriptorTables::Shared);
    assert_eq!(config.drain_deadline, Duration::from_secs(5));
    assert_eq!(config.steering, Steering::Cpu);
    assert_eq!(config.default_host.files.root, Path::new("/base/site"));
    assert_eq!(config.headers, [Header { name: "X-A".into(), value: "b".into() }]);
    assert_eq!(
        config.default_host.error_pages,
        [
            ErrorPage { status: 404, path: "/404.html".into() },
            ErrorPage { status: 500, path: "/500.html".into() },
        ]
    );
    assert_eq!(
        config.media_types,
        [MediaType { extension: "log".into(), value: "text/plain".into() }]
    );
}

#[test]
fn the_keys_of_a_listener() {
    let config = config(
        "[[listener]]\naddress = \"[::1]:80\"\nproxy_protocol_from = [\"10.0.0.0/8\", \"fd00::/8\", \"192.0.2.1\"]\n\
         backlog = 7\ndefer_accept = \"0s\"\n\
         [[listener]]\naddress = \"unix:/run/v.sock\"\nmode = \"0600\"\n\
         [[listener]]\naddress = \"unix:/run/w.sock\"\nmode = 0o640\n\
         [[listener]]\naddress = \"systemd:web\"\n",
    );
    let [tcp, unix, other, systemd] = config.listeners.as_slice() else { panic!("{config:?}") };
    assert_eq!(tcp.address, ListenerAddress::Tcp("[::1]:80".parse().unwrap()));
    assert_eq!((tcp.backlog, tcp.defer_accept), (7, Duration::ZERO));
    for (address, is_trusted) in [
        ("10.1.2.3", true),
        ("::ffff:10.1.2.3", true),
        ("11.0.0.0", false),
        ("192.0.2.1", true),
        ("192.0.2.2", false),
        ("fd12::1", true),
        ("fe80::1", false),
    ] {
        let address: IpAddr = address.parse().unwrap();
        let contains = tcp.proxy_protocol_from.iter().any(|network| network.contains(address));
        assert_eq!(contains, is_trusted, "{address}");
    }
    assert_eq!(unix.address, ListenerAddress::Unix(PathBuf::from("/run/v.sock")));
    assert_eq!((unix.mode, other.mode), (0o600, 0o640));
    assert_eq!(systemd.address, ListenerAddress::Systemd(Some("web".into())));
    assert_eq!(systemd.backlog, 4096);
}

#[test]
fn a_network_of_all_addresses_contains_them() {
    let config = config(
        "[[listener]]\naddress = \"systemd\"\nproxy_protocol_from = [\"0.0.0.0/0\", \"::/0\"]\n",
    );
    let [all_four, all_six] = config.listeners[0].proxy_protocol_from.as_slice() else { panic!() };
    let (four, six): (IpAddr, IpAddr) =
        ("203.0.113.9".parse().unwrap(), "2001:db8::1".parse().unwrap());
    assert!(all_four.contains(four) && !all_four.contains(six));
    assert!(all_six.contains(six) && !all_six.contains(four));
}

#[test]
fn the_keys_of_files() {
    let config = config(
        "[files]\nlisting = true\nindex = [\"a\", \"b\"]\nhidden = true\nhide = [\"*.x\"]\nsymlinks = false\n\
         precompressed = false\ncompress = false\ncompress_from = 9\ncache_size = \"1 GiB\"\n\
         cache_file_size = \"64kb\"\n[[files.cache_control]]\nglob = \"*.css\"\nvalue = \"no-cache\"\n",
    );
    assert_eq!(
        config.default_host.files,
        FileSettings {
            listing: true,
            index: vec!["a".into(), "b".into()],
            hidden: true,
            hide: vec!["*.x".into()],
            symlinks: false,
            precompressed: false,
            compress: false,
            compress_from: 9,
            cache_control: vec![CacheRule { pattern: "*.css".into(), value: "no-cache".into() }],
            ..FileSettings::of_root(Path::new("/base"))
        }
    );
    assert_eq!((config.file_cache.size, config.file_cache.file_size), (1 << 30, 64_000));
}

#[test]
fn the_keys_of_a_host() {
    let config = config(
        "[files]\nlisting = true\n[[host]]\nnames = [\"A.org.\", \"*.b.org\", \"[::1]\", \"127.0.0.1\"]\n\
         root = \"/srv/a\"\nheaders = { X-H = \"1\" }\nerror_pages = { 404 = \"/no\" }\n\
         [[host.route]]\npath = \"/a\"\njson = 1\n[[host]]\nnames = [\"c\"]\n",
    );
    let [host, other] = config.hosts.as_slice() else { panic!("{config:?}") };
    assert_eq!(
        host.names,
        [
            HostName::Exact("a.org".into()),
            HostName::Wildcard(".b.org".into()),
            HostName::Exact("[::1]".into()),
            HostName::Exact("127.0.0.1".into()),
        ]
    );
    assert_eq!(host.files.root, Path::new("/srv/a"));
    assert!(host.files.listing && other.files.listing, "[files] is for all hosts");
    assert_eq!(other.files.root, Path::new("/base"));
    assert_eq!(host.headers, [Header { name: "X-H".into(), value: "1".into() }]);
    assert_eq!(host.error_pages, [ErrorPage { status: 404, path: "/no".into() }]);
    assert_eq!(host.routes.len(), 1);
}

#[test]
fn the_keys_of_a_route() {
    let config = config(
        "[[route]]\npath = \"/a\"\nmethods = [\"POST\", \"GET\", \"GET\"]\nhost = \"X.org\"\njson = 1\n\
         headers = { X-R = \"1\" }\nbody_size = \"2 KiB\"\ncache_control = \"no-store\"\n",
    );
    let route = &config.default_host.routes[0];
    assert_eq!(route.matcher, PathMatcher::Path("/a".into()));
    assert_eq!(route.methods, [Method::Get, Method::Post]);
    assert_eq!(route.host, Some(HostName::Exact("x.org".into())));
    assert_eq!(route.headers, [Header { name: "X-R".into(), value: "1".into() }]);
    assert_eq!(route.body_size, Some(2048));
    assert_eq!(route.cache_control.as_deref(), Some("no-store"));
    assert_eq!((route.place.line, route.place.column), (1, 1));
}

#[test]
fn the_actions_of_a_route() {
    let config = config(
        "[[route]]\nprefix = \"/a/\"\nfiles = { root = \"d\", listing = true, cache_control = \"no-store\" }\n\
         [[route]]\nglob = \"/b/*\"\nredirect = { to = \"/c/$1\", status = 308 }\n\
         [[route]]\npath = \"/d\"\nrewrite = { to = \"/e\" }\n\
         [[route]]\npath = \"/f\"\nrespond = { status = 503, body = \"x\", content_type = \"text/html\" }\n\
         [[route]]\npath = \"/g\"\njson = { b = [1, 2.5, true], a = { c = \"\\n\", d = 1979-05-27 } }\n\
         [[route]]\npath = \"/h\"\nrespond = {}\n[[route]]\npath = \"/i\"\nrespond = { status = 204 }\n",
    );
    let routes = &config.default_host.routes;
    let actions: Vec<_> = routes.iter().map(|route| &route.action).collect();
    let [files, redirect, rewrite, respond, json, plain, empty] = *actions else { panic!() };
    let RouteAction::Files { rules, own_root: true, .. } = files else { panic!("{files:?}") };
    assert_eq!(rules.root, Path::new("/base/d"));
    assert!(rules.listing && rules.compress);
    assert_eq!(rules.cache_control, [CacheRule { pattern: "*".into(), value: "no-store".into() }]);
    let RouteAction::Redirect { to, status: 308 } = redirect else { panic!("{redirect:?}") };
    assert_eq!(to.as_str(), "/c/$1");
    let RouteAction::Rewrite { to } = rewrite else { panic!("{rewrite:?}") };
    assert_eq!(to.constant(), Some("/e"));
    let answer = |status, content_type: &str, body: &str| {
        RouteAction::Respond(Respond {
            status,
            content_type: content_type.into(),
            body: body.into(),
        })
    };
    assert_eq!(*respond, answer(503, "text/html", "x"));
    assert_eq!(*plain, answer(200, "text/plain; charset=utf-8", ""));
    assert_eq!(*empty, answer(204, "", ""));
    let expected = r#"{"b":[1,2.5,true],"a":{"c":"\n","d":"1979-05-27"}}"#;
    assert_eq!(*json, RouteAction::Json(expected.into()));
}

#[test]
fn the_cache_control_of_a_route_goes_before_the_rules_of_files() {
    let config = config(
        "[[files.cache_control]]\nglob = \"*\"\nvalue = \"no-cache\"\n\
         [[route]]\nprefix = \"/a\"\nfiles = {}\ncache_control = \"no-store\"\n",
    );
    let route = &config.default_host.routes[0];
    let RouteAction::Files { rules, own_root: false, .. } = &route.action else {
        panic!("{route:?}")
    };
    let values = (&*rules.cache_control[0].value, &route.cache_control);
    assert_eq!(values, ("no-store", &None), "it is in the rules");
}

#[test]
fn the_keys_of_limits() {
    let config = config(
        "[limits]\nlimit_keys = 4096\nhead_size = \"32 KiB\"\nfield_count = 50\nfield_size = 4000\nfield_name_size = 64\n\
         target_size = 2000\nbody_size = \"10 MB\"\nchunk_extension_size = 0\ntrailer_size = 1\nunread_body_size = 2\n\
         header_deadline = \"1s\"\nbody_idle = \"2s\"\nbody_rate = \"1 KiB/s\"\nunread_body_deadline = \"0s\"\n\
         send_idle = \"3s\"\nsend_rate = 0\nkeep_alive = \"forever\"\nrequests_per_connection = 1000\nconnections = 9\n\
         handshakes_per_address = 8\n",
    );
    let seconds = Duration::from_secs;
    assert_eq!(
        config.limits,
        LimitSettings {
            head_size: 32 * 1024,
            field_count: 50,
            field_size: 4000,
            field_name_size: 64,
            target_size: 2000,
            body_size: 10_000_000,
            chunk_extension_size: 0,
            trailer_size: 1,
            unread_body_size: 2,
            header_deadline: seconds(1),
            body_idle: seconds(2),
            body_rate: 1024,
            unread_body_deadline: seconds(0),
            send_idle: seconds(3),
            send_rate: 0,
            keep_alive: None,
            requests_per_connection: Some(1000),
            connections: 9,
            limit_keys: 4096,
            handshakes_per_address: 8,
        }
    );
}

#[test]
fn the_directory_of_modules_has_to_be_there_when_it_is_named() {
    let app = |text: &str| config(text).app;
    let route = "[[route]]\nprefix = \"/a\"\nmodule = \"shop.basket\"\n";
    let implied = AppDirectory { path: "/base/app".into(), presence: AppPresence::WithMain };
    assert_eq!(app(""), implied);
    let required = AppDirectory { presence: AppPresence::Required, ..implied };
    assert_eq!(app(route), required);
    let named = "[pages]\napp = \"code\"\n";
    assert_eq!(app(named), AppDirectory { path: "/base/code".into(), ..required });
    let config = config(route);
    assert_eq!(config.default_host.routes[0].action, RouteAction::Module("shop.basket".into()));
}

#[test]
fn the_keys_of_log_and_admin() {
    for (word, expected) in [
        ("off", AccessLogTarget::Off),
        ("stdout", AccessLogTarget::Stdout),
        ("stderr", AccessLogTarget::Stderr),
        ("a.log", AccessLogTarget::File("/base/a.log".into())),
        ("/var/a.log", AccessLogTarget::File("/var/a.log".into())),
    ] {
        assert_eq!(config(&format!("[log]\naccess = \"{word}\"\n")).log.access, expected);
    }
    let config = config(
        "[log]\naccess = \"stdout\"\nformat = \"json\"\nlevel = \"error\"\n[admin]\nsocket = \"a.sock\"\nmetrics = \"[::1]:9090\"\n",
    );
    assert_eq!((config.log.format, config.log.level), (LogFormat::json(), LogLevel::Error));
    assert_eq!(config.admin.socket, Some("/base/a.sock".into()));
    assert_eq!(config.admin.metrics, Some("[::1]:9090".parse().unwrap()));
}

#[test]
fn the_levels_of_log() {
    assert_eq!(config("").log.level, LogLevel::Info);
    for (word, expected) in [
        ("error", LogLevel::Error),
        ("warn", LogLevel::Warn),
        ("info", LogLevel::Info),
        ("debug", LogLevel::Debug),
    ] {
        assert_eq!(config(&format!("[log]\nlevel = \"{word}\"\n")).log.level, expected);
    }
}

/// Zero is the same in every unit; any other number needs one.
#[test]
fn a_duration_of_nothing_needs_no_unit() {
    assert_eq!(config("spin = \"0\"\n").spin, Duration::ZERO);
    assert_eq!(parse_duration("0"), Ok(Duration::ZERO));
    assert_eq!(parse_duration("0.0"), Ok(Duration::ZERO));
    assert_eq!(parse_duration("1"), Err(QuantityError::NoUnit("1".to_owned())));
    assert_eq!(
        parse_duration("0.2").map_err(|error| error.to_string()),
        Err("it has no unit; write \"0.2s\" (known are us, ms, s, m, h and d)".to_owned())
    );
}

#[test]
fn the_command_line_goes_before_the_file() {
    let overrides = Overrides {
        listen: vec!["0.0.0.0:0".parse().unwrap(), "0.0.0.0:0".parse().unwrap()],
        listen_resp: Vec::new(),
        store: Some("/data".into()),
        schedulers: Some(2),
        pin: Some(false),
        spin: Some(Duration::ZERO),
        busy_poll: Some(Duration::from_micros(5)),
        profile_ring: Some(Duration::from_secs(900)),
        descriptor_tables: Some(DescriptorTables::Shared),
        steering: Some(Steering::Cpu),
        defer_accept: Some(Duration::from_secs(3)),
        root: Some("here".into()),
        directory: Some("not this".into()),
        admin_socket: Some("/run/a.sock".into()),
        page_errors: PageErrors::Shown,
        certificates: CertificatesOverride::SelfSigned,
    };
    let text = "schedulers = 9\nspin = \"1us\"\nroot = \"site\"\n[[listener]]\naddress = \"127.0.0.1:1\"\n\
                [admin]\nsocket = \"b\"\n[[host]]\nnames = [\"a\"]\n";
    let config = Config::from_text(text, "velodrome.toml", Path::new("/base"), &overrides).unwrap();
    let facts = config.listeners.iter().map(|one| (one.address.to_string(), one.tls.is_some()));
    assert!(facts.eq(vec![("0.0.0.0:0".to_owned(), true); 2]));
    assert_eq!(config.schedulers.map(usize::from), Some(2));
    assert!(!config.pin && config.spin.is_zero() && config.steering == Steering::Cpu);
    assert_eq!((config.busy_poll.as_micros(), config.profile_ring.as_secs()), (5, 900));
    assert_eq!(config.descriptor_tables, DescriptorTables::Shared);
    assert_eq!(config.listeners[0].defer_accept, Duration::from_secs(3));
    let hosts = [&config.default_host, &config.hosts[0]];
    assert!(hosts.iter().all(|host| host.files.root == Path::new("here")));
    assert_eq!(config.store.path, Some("/data".into()));
    assert_eq!(config.admin.socket, Some("/run/a.sock".into()));
    assert_eq!(config.pages.errors, PageErrors::Shown);
}

#[test]
fn the_directory_of_the_command_is_served_where_the_file_names_none() {
    let overrides = Overrides { directory: Some("/site".into()), ..Overrides::default() };
    for (text, root) in [("", "/site"), ("root = \"other\"\n", "/base/other")] {
        let config =
            Config::from_text(text, "velodrome.toml", Path::new("/base"), &overrides).unwrap();
        assert_eq!(config.default_host.files.root, Path::new(root), "{text}");
    }
}

#[test]
fn the_command_line_is_checked() {
    let fail = |overrides: &Overrides| {
        Config::without_file(Path::new("/base"), overrides).unwrap_err().to_string()
    };
    let port = || "127.0.0.1:80".parse().unwrap();
    for (overrides, expected) in [
        (
            Overrides { schedulers: Some(0), ..Overrides::default() },
            "--schedulers must be from 1 to 1024",
        ),
        (
            Overrides { spin: Some(Duration::from_secs(1)), ..Overrides::default() },
            "--spin must be at most 1000us",
        ),
        (
            Overrides { busy_poll: Some(Duration::from_secs(1)), ..Overrides::default() },
            "--busy-poll must be at most 1000us",
        ),
        (
            Overrides { listen: vec![port(), port()], ..Overrides::default() },
            "--listen 127.0.0.1:80 conflicts with --listen 127.0.0.1:80",
        ),
    ] {
        assert_eq!(fail(&overrides), expected);
    }
}
