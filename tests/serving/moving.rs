//! Goal: the configuration that `check` prints for nginx and Caddy is valid, and a server with it answers. Method: the
//! built binary on samples with directories that are there.

use std::process::Command;

use crate::server::client::{field, text};
use crate::server::{Plan, configuration};

/// The output of `velodrome check`.
fn printed(plan: &Plan, flag: &str, name: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_velodrome"))
        .arg("check")
        .arg(format!("{flag}={}", plan.directory.join(name).display()))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A server of a printed configuration.
fn serve(plan: Plan, text: &str) -> crate::server::Server {
    plan.directory.write("velodrome.toml", text);
    plan.start()
}

#[test]
fn a_site_of_nginx_is_served() {
    let plan = Plan::new().file("index.html", "<p>app").file("a.css", "a {}");
    let root = plan.directory.join("site");
    plan.directory.write("downloads/a.txt", "download");
    plan.directory.write(
        "nginx/nginx.conf",
        format!("http {{ include sites/*.conf; client_max_body_size 2m; }} # {}", root.display()),
    );
    plan.directory.write(
        "nginx/sites/site.conf",
        format!(
            "server {{\n listen 8080;\n root {};\n location / {{ try_files $uri /index.html; }}\n\
             location /files/ {{ alias {}/; }}\n location ~ \\.php$ {{ fastcgi_pass unix:/x; }}\n\
             location /old {{ return 301 https://$host/new; }}\nlocation /odd/ {{ odd_thing on; }}\n}}\n",
            root.display(),
            plan.directory.join("downloads").display(),
        ),
    );
    let text_of = printed(&plan, "--from-nginx", "nginx/nginx.conf");
    assert!(text_of.contains("closed: "), "{text_of}");
    let server = serve(plan, &text_of);
    assert_eq!(text(&server.get("/a.css")), "a {}");
    assert_eq!(text(&server.get("/users/7")), "<p>app");
    assert_eq!(text(&server.get("/files/a.txt")), "download");
    assert_eq!(server.get("/x.php").status, 501);
    assert_eq!(server.get("/odd/x").status, 501);
    let old = server.request("GET", "/old/x", &[("Host", "a.example:8080")]);
    assert_eq!((old.status, field(&old, "Location")), (301, "https://a.example/new"));
}

#[test]
fn a_site_of_caddy_is_served() {
    let plan = Plan::new().file("index.html", "<p>app").file("about.html", "<p>about");
    let root = plan.directory.join("site");
    plan.directory.write("more.caddy", "respond /more \"more\"\n");
    plan.directory.write(
        "Caddyfile",
        format!(
            ":8080 {{\n root * {}\n import more.caddy\n redir /old /new permanent\n handle /odd/* {{\n \
             forbidden_thing\n }}\nhandle {{\n try_files {{path}} {{path}}.html /index.html\n file_server\n \
             }}\n}}\n",
            root.display()
        ),
    );
    let text_of = printed(&plan, "--from-caddy", "Caddyfile");
    assert!(text_of.contains("closed: "), "{text_of}");
    let server = serve(plan, &text_of);
    assert_eq!(text(&server.get("/about")), "<p>about");
    assert_eq!(text(&server.get("/users/7")), "<p>app");
    assert_eq!(server.get("/odd/x").status, 501);
    assert_eq!(server.get("/old").status, 301);
}

#[test]
fn only_ordinary_files_of_a_bounded_size_are_read() {
    let plan = Plan::new();
    plan.directory.write("velodrome.toml", configuration(""));
    plan.directory.write("long.conf", "#".repeat(2 * 1024 * 1024));
    for (include, why) in [
        ("/dev/zero", "it is not a regular file"),
        (".", "is a directory"),
        ("long.conf", "it is longer than 1048576 bytes"),
        ("[a-z].conf", "only a `*` in the name of a file is read"),
        ("missing.conf", "No such file"),
    ] {
        plan.directory.write("nginx.conf", format!("server {{ include {include}; }}"));
        let text = printed(&plan, "--from-nginx", "nginx.conf");
        assert!(text.contains(why) && text.contains("status = 501"), "{why}: {text}");
    }
    plan.directory.write("nginx.conf", "server { include m*s*g; }");
    assert!(
        !printed(&plan, "--from-nginx", "nginx.conf").contains("include"),
        "a pattern may fit no file"
    );
    for refused in ["/dev/zero", "long.conf"] {
        let output = Command::new(env!("CARGO_BIN_EXE_velodrome"))
            .arg("check")
            .arg(format!("--from-caddy={}", plan.directory.join(refused).display()))
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{refused}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_refused_with_its_place() {
    let plan = Plan::new();
    plan.directory.write("velodrome.toml", configuration(""));
    plan.directory.write("nginx.conf", "http {\n server {\n}\n");
    let output = Command::new(env!("CARGO_BIN_EXE_velodrome"))
        .arg("check")
        .arg(format!("--from-nginx={}", plan.directory.join("nginx.conf").display()))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("nginx.conf:3: a block does not end"), "{told}");
}
