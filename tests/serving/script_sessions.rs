//! Goal: sessions and signed cookies survive requests, schedulers and reloads, and nobody else can create them.
//! Method: the built binary, clients that keep their cookies as a browser does.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::server::client::{field, head, text};
use crate::server::patience::until;
use crate::server::{PROGRAM, Plan, Server, errors_of, printed_by, run};
use conformance::{ParsedResponse, RequestKind};

const LOGIN: &str = "<%
if request.form.name then
  request.session = { user = request.form.name }
  return response:redirect('/login', 303)
elseif request.form.leave then
  request.session = nil
end
local user = request.session.user
-%>
<%= user and 'You are ' .. user or 'Who are you?' %>";

const OTHER: &str = "<%= request.session.user or 'nobody' %>";

const PLAIN: &str = "nothing to keep";

const CONFIG: &str = "[pages]\nsecret_file = \"run/secret\"\n";

const OLD: &str = "an old secret of more than thirty-two bytes";
const NEW: &str = "a new secret of more than thirty-two bytes";

/// A browser with one cookie jar.
#[derive(Default)]
struct Browser {
    cookie: Option<String>,
}

impl Browser {
    fn get(&mut self, server: &Server, path: &str) -> ParsedResponse {
        self.send(server, "GET", path, "")
    }

    fn post(&mut self, server: &Server, path: &str, form: &str) -> ParsedResponse {
        self.send(server, "POST", path, form)
    }

    /// Each request on a connection of its own: the kernel spreads them over the schedulers.
    fn send(&mut self, server: &Server, method: &str, path: &str, form: &str) -> ParsedResponse {
        let length = form.len().to_string();
        let mut fields = vec![
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("Content-Length", length.as_str()),
        ];
        fields.extend(self.cookie.as_deref().map(|cookie| ("Cookie", cookie)));
        let mut client = server.client();
        client.send(head(method, path, &fields) + form).unwrap();
        let response = client.response(RequestKind::Other).unwrap();
        let set = field(&response, "set-cookie");
        if let Some((pair, attributes)) = set.split_once(';') {
            assert!(attributes.contains("SameSite=Lax; HttpOnly"), "{attributes}");
            self.cookie = (!attributes.contains("Max-Age=0")).then(|| pair.to_owned());
        }
        response
    }
}

fn site(plan: Plan) -> Plan {
    plan.file("login.page.html", LOGIN).file("other.page.txt", OTHER).file("plain.page.txt", PLAIN)
}

/// A plan with a secret in a file that only its owner can read.
fn with_secret(secret: &str) -> Plan {
    let plan = site(Plan::new().config(CONFIG));
    write_secret(&plan, secret);
    plan
}

fn write_secret(plan: &Plan, secret: &str) {
    plan.directory.write("run/secret", secret);
    let path = plan.directory.join("run/secret");
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

fn reload(server: &Server) -> Vec<String> {
    let number = || server.told("/status")["last_reload"]["number"].as_u64().unwrap();
    let before = number();
    server.signal("HUP");
    until("the reload", || (number() > before).then_some(()));
    let status = server.told("/status");
    let problems = status["last_reload"]["problems"].as_array().unwrap();
    problems.iter().map(|problem| problem.as_str().unwrap().to_owned()).collect()
}

#[test]
fn login_session_lasts_until_logout() {
    let server = site(Plan::new().argument("--schedulers=2")).start();
    let [mut ada, mut grace] = [Browser::default(), Browser::default()];
    assert_eq!(text(&ada.get(&server, "/login")), "Who are you?");
    assert_eq!(ada.cookie, None);
    let answer = ada.post(&server, "/login", "name=Ada+%26+co");
    assert_eq!((answer.status, field(&answer, "location")), (303, "/login"));
    assert_eq!(field(&answer, "cache-control"), "private");
    grace.post(&server, "/login", "name=Grace");
    for _ in 0..20 {
        assert_eq!(text(&ada.get(&server, "/login")), "You are Ada &amp; co");
        let answer = grace.get(&server, "/other");
        assert_eq!((text(&answer), field(&answer, "set-cookie")), ("Grace", ""));
    }
    let answer = grace.get(&server, "/plain");
    assert_eq!((field(&answer, "set-cookie"), field(&answer, "cache-control")), ("", ""));
    assert_eq!(text(&ada.post(&server, "/login", "leave=yes")), "Who are you?");
    assert_eq!(ada.cookie, None);
    assert_eq!(text(&grace.get(&server, "/other")), "Grace");
    // Without a configured secret, a restart ends all sessions.
    let server = server.kill_and_restart();
    assert_eq!(text(&grace.get(&server, "/other")), "nobody");
}

#[test]
fn a_session_that_was_changed_is_none() {
    let server = with_secret(OLD).start();
    let mut browser = Browser::default();
    browser.post(&server, "/login", "name=Ada");
    let cookie = browser.cookie.clone().unwrap();
    // {"user":"Ada"} becomes {"user":"Bda"}.
    let changed = cookie.replacen("eyJ1c2VyIjoiQWRhIn0", "eyJ1c2VyIjoiQmRhIn0", 1);
    assert_ne!(changed, cookie);
    for (cookie, user) in [(cookie.clone(), "Ada"), (changed, "nobody"), (cookie + "x", "nobody")] {
        browser.cookie = Some(cookie);
        assert_eq!(text(&browser.get(&server, "/other")), user, "{:?}", browser.cookie);
    }
}

#[test]
fn a_secret_outlives_a_restart_and_is_changed_by_a_reload() {
    let server = with_secret(OLD).start();
    let mut browser = Browser::default();
    browser.post(&server, "/login", "name=Ada");
    let server = server.kill_and_restart();
    assert_eq!(text(&browser.get(&server, "/other")), "Ada");
    write_secret(&server.plan, &format!("{NEW}\n{OLD}\n"));
    assert_eq!(reload(&server), Vec::<String>::new());
    assert_eq!(text(&browser.get(&server, "/other")), "Ada");
    let mut later = Browser::default();
    later.post(&server, "/login", "name=Grace");
    write_secret(&server.plan, NEW);
    assert_eq!(reload(&server), Vec::<String>::new());
    until("the old secret has gone", || {
        (text(&browser.get(&server, "/other")) == "nobody").then_some(())
    });
    assert_eq!(text(&later.get(&server, "/other")), "Grace");
    // A broken file changes nothing and is reported.
    for (secret, told) in [("short", "has 5 bytes in line 1, less than 32"), ("", "is empty")] {
        write_secret(&server.plan, secret);
        let problems = reload(&server).join("\n");
        assert!(
            problems.contains("run/secret` of [pages] ") && problems.contains(told),
            "{problems}"
        );
        assert_eq!(text(&later.get(&server, "/other")), "Grace");
        assert!(server.printed_errors().contains(told));
    }
}

#[test]
fn without_a_good_secret_file_there_is_no_server() {
    let plan = with_secret(OLD);
    let path = plan.directory.join("run/secret");
    let check = |plan: &Plan| {
        let config = plan.directory.join("velodrome.toml");
        let flag = format!("--config={}", config.display());
        run(Command::new(PROGRAM).arg("check").arg(plan.directory.join("site")).arg(flag))
    };
    assert!(check(&plan).status.success());
    let refused = |told: &str| {
        for output in [plan.fail(), check(&plan)] {
            let errors = errors_of(&output);
            assert!(!output.status.success(), "{told}: {}", printed_by(&output));
            assert!(errors.contains("the secret_file `") && errors.contains(told), "{errors}");
            assert!(!errors.contains("secret of more"), "it is never shown: {errors}");
        }
    };
    write_secret(&plan, "a secret of more than thirty-two \x07 bytes");
    refused("is not printable text in line 1; make one with: openssl rand -base64 32");
    write_secret(&plan, &"x".repeat(70_000));
    refused("is longer than 65536 bytes");
    fs::remove_file(&path).unwrap();
    refused("cannot be read: No such file");
    fs::create_dir(&path).unwrap();
    refused("is not a file; make one with: openssl");
    plan.directory.write("site/secret", OLD);
    plan.directory
        .write("velodrome.toml", "root = \"site\"\n[pages]\nsecret_file = \"site/secret\"\n");
    refused("which is served: put it where no client finds it");
}

#[test]
fn a_secret_that_others_can_read_is_told() {
    let plan = with_secret(OLD);
    let path = plan.directory.join("run/secret");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let server = plan.start();
    let told = format!("chmod 600 {}", path.display());
    assert!(server.printed_errors().contains(&told), "{}", server.printed_errors());
    let config = server.directory().join("velodrome.toml");
    let output = run(Command::new(PROGRAM)
        .arg("check")
        .arg(server.directory().join("site"))
        .arg(format!("--config={}", config.display())));
    assert!(output.status.success() && printed_by(&output).contains(&told), "{output:?}");
}

#[test]
fn a_session_ends_when_it_was_not_used_for_its_age() {
    let config = "[pages]\nsession_age = \"1s\"\nsecure_cookies = true\n";
    let server = site(Plan::new().config(config)).start();
    let mut browser = Browser::default();
    let answer = browser.post(&server, "/login", "name=Ada");
    let attributes = "; Path=/; Max-Age=1; SameSite=Lax; HttpOnly; Secure";
    assert!(field(&answer, "set-cookie").ends_with(attributes), "{answer:?}");
    let cookie = browser.cookie.clone();
    until("the session is over", || {
        browser.cookie.clone_from(&cookie);
        (text(&browser.get(&server, "/other")) == "nobody").then_some(())
    });
}

#[test]
fn session_of_other_site_is_refused() {
    let hosts = "[[host]]\nnames = [\"a.test\", \"www.a.test\"]\n[[host]]\nnames = [\"b.test\"]\n";
    let plan = Plan::new().config(&format!("{CONFIG}{hosts}"));
    write_secret(&plan, NEW);
    let server = site(plan).start();
    let user = |host: &str, cookie: &str| {
        let fields = [("Host", host), ("Cookie", cookie)];
        text(&server.request("GET", "/other", &fields)).to_owned()
    };
    let sites = ["a.test", "b.test", "other.test"];
    for signer in sites {
        let form = "name=Ada";
        let fields = [
            ("Host", signer),
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("Content-Length", "8"),
        ];
        let mut client = server.client();
        client.send(head("POST", "/login", &fields) + form).unwrap();
        let answer = client.response(RequestKind::Other).unwrap();
        let cookie = field(&answer, "set-cookie").split(';').next().unwrap().to_owned();
        for taker in sites {
            let expected = if taker == signer { "Ada" } else { "nobody" };
            assert_eq!(user(taker, &cookie), expected, "{signer} to {taker}");
        }
        if signer == "a.test" {
            assert_eq!(user("www.a.test", &cookie), "Ada", "another name of the same site");
        }
    }
}
