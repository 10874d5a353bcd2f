//! Goal: certificates by themselves, from the section of the configuration to a client that trusts them. Method: the
//! built binary, and Pebble as the authority, which asks the server as Let's Encrypt does.

use std::net::SocketAddr;
use std::process::Command;

use serde_json::Value;

use crate::pebble::Pebble;
use crate::server::certificates::Authority;
use crate::server::mounted::Mounted;
use crate::server::patience::until;
use crate::server::{Plan, Server, configuration, errors_of, run};

pub(crate) const NAME: &str = "one.example.org";

/// The state of the order for a name, once it is as wanted.
pub(crate) fn order(server: &Server, name: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    until("an order", || {
        let status = server.told("/status");
        let orders = status["certificate_orders"].as_array().unwrap().clone();
        orders.into_iter().find(|order| order["names"] == name).filter(&wanted)
    })
}

pub(crate) fn is_issued(order: &Value) -> bool {
    order["days_left"].is_i64()
}

pub(crate) fn secure(pebble: &Pebble) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], pebble.secure_port))
}

/// A server whose names are proved in one way.
fn server_of(pebble: &Pebble, plan: Plan, names: &str, challenge: &str) -> Server {
    let more = format!("challenges = [\"{challenge}\"]");
    let config = format!("redirect_to_https = true\n{}", pebble.config(names, &more));
    plan.config(&config).listen_as_configured(2).start()
}

#[test]
fn a_name_gets_a_certificate_that_is_in_use_at_once_and_after_a_restart() {
    const TEST: &str = "a_name_gets_a_certificate_that_is_in_use_at_once_and_after_a_restart";
    for challenge in ["http-01", "tls-alpn-01"] {
        let plan = Plan::new().file("a.txt", "a\n");
        let Some(pebble) = Pebble::start(&plan.directory, TEST) else { return };
        let server = server_of(&pebble, plan, &format!("[\"{NAME}\"]"), challenge);
        let issued = order(&server, NAME, is_issued);
        assert_eq!((&issued["failures"], &issued["last_error"]), (&0.into(), &Value::Null));
        let summary = issued["summary"].as_str().unwrap();
        let is_whole = summary.starts_with("one.example.org: ")
            && summary.contains(" days left, from https://127.0.0.1:")
            && summary.contains("/dir; next attempt 20");
        assert!(is_whole, "{summary}");
        let client = pebble.client();
        let mut connection = client.connect(secure(&pebble), NAME).unwrap();
        assert!(connection.get(NAME, "/a.txt").unwrap().ends_with("\r\n\r\na\n"));
        let before = connection.certificate();
        // The stored certificate is shown from the first connection on, and nothing is ordered.
        let server = server.kill_and_restart_as_configured();
        let after = client.connect(secure(&pebble), NAME).unwrap().certificate();
        assert_eq!(before, after, "{challenge}");
        let shown = &server.told("/status")["certificates"][0];
        assert_eq!((&shown["origin"], &shown["names"][0]), (&"order".into(), &NAME.into()));
        assert!(!server.printed_errors().contains("ordering"), "{}", server.printed_errors());
    }
}

#[test]
fn a_restart_with_a_read_only_state_shows_the_certificates_that_are_in_it() {
    const TEST: &str = "a_restart_with_a_read_only_state_shows_the_certificates_that_are_in_it";
    let plan = Plan::new().file("a.txt", "a\n");
    let state = plan.directory.join("state");
    std::fs::create_dir(&state).unwrap();
    let Some(_disk) = Mounted::small(&state, "1m", TEST) else { return };
    let Some(pebble) = Pebble::start(&plan.directory, TEST) else { return };
    let mut server = server_of(&pebble, plan, &format!("[\"{NAME}\"]"), "http-01");
    order(&server, NAME, is_issued);
    // The server holds the file of the lock open for writing until it ends.
    server.signal("TERM");
    assert!(server.wait().success());
    let mut remount = Command::new("mount");
    assert!(run(remount.args(["-o", "remount,ro"]).arg(&state)).status.success());
    let server = server.launch_again().stand();
    let answer = pebble.client().get(secure(&pebble), NAME, "/a.txt").unwrap();
    assert!(answer.ends_with("\r\n\r\na\n"), "{answer}");
    let shown = order(&server, NAME, is_issued);
    assert_eq!(shown["next_attempt"], Value::Null);
    assert!(
        server.printed_errors().contains("Read-only file system"),
        "{}",
        server.printed_errors()
    );
}

#[test]
fn a_reload_orders_for_new_names_and_clients_that_connect_to_addresses_get_their_certificate() {
    const TEST: &str =
        "a_reload_orders_for_new_names_and_clients_that_connect_to_addresses_get_their_certificate";
    let plan = Plan::new().file("a.txt", "a\n");
    let Some(pebble) = Pebble::start(&plan.directory, TEST) else { return };
    let config = pebble.config(&format!("[\"{NAME}\"]"), "challenges = [\"http-01\"]");
    let config = config.replace("address = \"127.0.0.1:", "address = \"0.0.0.0:");
    let server = plan.config(&config).listen_as_configured(2).start();
    order(&server, NAME, is_issued);
    let names = format!("[\"{NAME}\", \"127.0.0.1\", \"127.0.0.2\"]");
    let config =
        pebble.config(&names, "").replace("address = \"127.0.0.1:", "address = \"0.0.0.0:");
    server.directory().write("velodrome.toml", configuration(&config));
    assert!(server.ctl(&["reload"]).status.success());
    let issued = order(&server, "127.0.0.1, 127.0.0.2", is_issued);
    assert_eq!(issued["days_left"], 5, "addresses have the profile of six days");
    let client = pebble.client();
    // A client that connects to an address does not say to which: the certificate is for both.
    for name in [NAME, "127.0.0.1", "127.0.0.2"] {
        let answer = client.get(secure(&pebble), name, "/a.txt").unwrap();
        assert!(answer.ends_with("\r\n\r\na\n"), "{name}: {answer}");
    }
}

#[test]
fn an_authority_that_is_not_there_is_told_and_the_rest_of_the_site_is_served() {
    let config = "[[listener]]\naddress = \"127.0.0.1:0\"\n[[listener]]\naddress = \"127.0.0.1:0\"\ntls = \
                  \"acme\"\n[acme]\nnames = [\"one.example.org\"]\nissuers = \
                  [\"https://127.0.0.1:1/dir\"]\nstate = \"state\"\n";
    let server = Plan::new().config(config).file("a.txt", "a\n").listen_as_configured(2).start();
    let failed = order(&server, NAME, |order| order["failures"] == 1);
    assert!(failed["last_error"].as_str().unwrap().contains("does not accept connections"));
    assert_eq!((&failed["days_left"], &failed["issuer"]), (&Value::Null, &Value::Null));
    let plain: SocketAddr =
        server.announced[0].strip_prefix("http://").unwrap().trim_end_matches('/').parse().unwrap();
    let mut client = crate::server::client::Client::connect(plain).unwrap();
    assert_eq!(client.get("/a.txt").unwrap().status, 200);
    // A token that nobody has asked for is a path as any other.
    assert_eq!(client.get("/.well-known/acme-challenge/abc").unwrap().status, 404);
}

#[test]
fn a_reload_without_orders_ends_those_of_before_and_one_whose_orders_cannot_begin_is_refused() {
    let listener = "[[listener]]\naddress = \"127.0.0.1:0\"\ntls = ";
    let acme = format!(
        "{listener}\"acme\"\n[acme]\nnames = [\"one.example.org\"]\n\
         issuers = [\"https://127.0.0.1:1/dir\"]\n"
    );
    let files = format!("{listener}{{ certificate = \"own.pem\", key = \"own.key\" }}\n");
    let plan = Plan::new().config(&acme).listen_as_configured(1);
    Authority::in_directory(&plan.directory).issue(&plan.directory, "own", &["localhost"]);
    let service = plan.directory.join("service");
    std::fs::create_dir(&service).unwrap();
    let server = plan.environment("STATE_DIRECTORY", service.to_str().unwrap()).start();
    let reload = |config: &str| {
        server.directory().write("velodrome.toml", configuration(config));
        server.ctl(&["reload"]).status.success()
    };
    order(&server, NAME, |order| order["failures"] == 1);
    assert!(reload(&files));
    let orders = || server.told("/status")["certificate_orders"].as_array().map(Vec::len);
    until("the end of the orders", || (orders() == Some(0)).then_some(()));
    std::fs::remove_dir_all(service.join("acme")).unwrap();
    std::fs::write(service.join("acme"), "").unwrap();
    assert!(!reload(&acme));
    let told = server.told("/status")["last_reload"]["problems"].to_string();
    assert!(told.contains("certificates cannot be ordered: the state directory"), "{told}");
    std::fs::remove_file(service.join("acme")).unwrap();
    assert_eq!(orders(), Some(0));
}

#[test]
fn keys_in_a_served_directory_and_wrong_names_are_refused_at_the_start() {
    let section = |names: &str, state: &str| {
        format!(
            "[[listener]]\naddress = \"127.0.0.1:0\"\ntls = \"acme\"\n[acme]\nnames = {names}\nstate = \
             \"{state}\"\n"
        )
    };
    for (config, why) in [
        (section("[\"example.org\"]", "site/keys"), "which is served"),
        (section("[\"exa mple.org\"]", "state"), "\"exa mple.org\" in `names`"),
        (section("[\"*.example.org\"]", "state"), "wildcards need dns-persist-01"),
        (section("[\"example.org\", \"example.org\"]", "state"), "twice"),
        (section("[\"example.org\"]", "velodrome.toml/state"), "certificates cannot be kept in"),
    ] {
        let plan = Plan::new().config(&config).listen_as_configured(1);
        let errors = errors_of(&plan.fail());
        assert!(errors.contains(why), "{errors}");
    }
}
