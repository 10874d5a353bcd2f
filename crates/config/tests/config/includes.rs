//! Configurations of several files, with variables and secrets.

use config::route::{RouteRequest, RouteTable};
use config::{Config, RouteAction};

use super::outside::Table as Disk;
use super::read_within;

fn told(text: &str, disk: &Disk) -> String {
    match read_within(text, disk) {
        Err(errors) => errors.to_string(),
        Ok(config) => {
            RouteTable::compile(&config).map_or_else(|errors| errors.to_string(), |_| String::new())
        }
    }
}

fn route(path: &str, body: &str) -> String {
    format!("[[route]]\npath = \"{path}\"\nrespond = {{ body = \"{body}\" }}\n")
}

fn bodies(config: &Config) -> Vec<&str> {
    let body = |route: &'_ config::Route| match &route.action {
        RouteAction::Respond(respond) => Some(respond.body.clone()),
        _ => None,
    };
    let bodies = config.default_host.routes.iter().filter_map(body);
    bodies.map(|body| &*body.leak()).collect()
}

#[test]
fn files_follow_the_main_one_by_list_and_name() {
    let disk = Disk::default()
        .file("/base/conf.d/20-b.toml", route("/b", "b"))
        .file("/base/conf.d/10-a.toml", route("/a", "a"))
        .file("/base/conf.d/30-c.txt", "nothing of it is read")
        .file("/base/conf.d/.swp.toml", "nor of it")
        .file("/base/last.toml", route("/l", "l") + "[limits]\nfield_count = 9\n")
        .file("/etc/first.toml", "[[host]]\nnames = [\"f\"]\nroot = \"f\"\n");
    let main =
        "include = [\"/etc/first.toml\", \"conf.d/*.toml\", \"last.toml\", \"none.d/*.toml\"]\n";
    let disk = disk.file("/base/none.d/x", "");
    let config = read_within(&(main.to_owned() + &route("/m", "m")), &disk).unwrap();
    assert_eq!(bodies(&config), ["m", "a", "b", "l"]);
    assert_eq!(config.limits.field_count, 9);
    // Paths are as in the main file.
    assert_eq!(config.hosts[0].files.root.to_str(), Some("/base/f"));
    let explained = RouteTable::compile(&config).unwrap();
    let explained = explained.explain(&RouteRequest::new(None, "GET", "/b", None)).to_string();
    assert!(explained.contains("conf.d/20-b.toml:1:1 path `/b` (respond): yes"), "{explained}");
}

#[test]
fn mistakes_of_several_files_have_their_places() {
    let one = |text: &str| Disk::default().file("/base/a.toml", text);
    let main = "include = \"a.toml\"\nroot = \"site\"\n[limits]\nfield_count = 7\n[[route]]\npath = \
                \"/x\"\njson = 1\n";
    for (text, expected) in [
        ("lisen = 1", "a.toml:1:1: unknown key `lisen` at the top level; did you mean `listener`?"),
        (
            "listen = \"127.0.0.1:80\"",
            "a.toml:1:1: unknown key `listen` at the top level; did you mean `listener`? Otherwise it belongs in \
             [admin]",
        ),
        ("\n\nroot = \"x\"", "a.toml:3:1: the key `root` is in line 2 of velodrome.toml already"),
        (
            "[limits]\nfield_count = 8",
            "a.toml:2:1: the key `field_count` is in line 4 of velodrome.toml already",
        ),
        ("x = = 1", "a.toml:1:5: "),
        (
            "include = \"b.toml\"",
            "a.toml:1:1: `include` is for the main file; files that are included include none",
        ),
        (
            "[[route]]\npath = \"/x\"\njson = 2",
            "a.toml:1:1: this route is never reached: the one in line 5 of velodrome.toml takes all its requests",
        ),
        (
            "[[route]]\npath = \"/y\"\njson = 2\n[[route]]\npath = \"/y\"\njson = 3",
            "a.toml:4:1: this route is never reached: the one in line 1 of a.toml takes all its requests",
        ),
        ("route = 1", "a.toml:1:1: the key `route` is in line 5 of velodrome.toml already"),
        (
            "[[limits]]\nfield_count = 8",
            "a.toml:1:3: the key `limits` is in line 3 of velodrome.toml already",
        ),
    ] {
        let told = told(main, &one(text));
        assert!(told.starts_with(expected), "{text}: {told}");
    }
    for (include, expected) in [
        ("\"b.toml\"", "velodrome.toml:1:11: cannot include `/base/b.toml`: no such file"),
        ("[\"a.toml\", \"a.toml\"]", "velodrome.toml:1:22: `/base/a.toml` is included twice"),
        ("[\"*.toml\", \"a.toml\"]", "velodrome.toml:1:22: `/base/a.toml` is included twice"),
        (
            "\"*/a.toml\"",
            "velodrome.toml:1:11: `include` cannot be \"*/a.toml\": `*` has a meaning in the name",
        ),
        ("\"a/\"", "velodrome.toml:1:11: `include` cannot be \"a/\": write the path of a file"),
        ("7", "velodrome.toml:1:11: `include` must be a text, or an array of them"),
    ] {
        let told = told(&format!("include = {include}\n"), &one(""));
        assert!(told.starts_with(expected), "{include}: {told}");
    }
}

#[test]
fn too_many_and_too_long_files_are_refused() {
    let many = (0..257)
        .fold(Disk::default(), |disk, number| disk.file(&format!("/base/d/{number}.toml"), ""));
    let told_of = |disk: &Disk| told("include = \"d/*.toml\"\n", disk);
    assert_eq!(told_of(&many), "velodrome.toml:1:11: more than 256 files are included");
    let long = Disk::default().file("/base/d/a.toml", "#".repeat(1024 * 1024 + 1));
    assert!(told_of(&long).contains("cannot include `/base/d/a.toml`: longer than 1048576"));
}

#[test]
fn variables_and_files_are_put_into_texts() {
    let disk = Disk::default()
        .variable("NAME", "ann")
        .variable("_X1", "")
        .variable("TWICE", "${NAME}")
        .file("/base/key", "s3cret\n")
        .file("/run/secrets/key", "other");
    for (text, expected) in [
        ("${NAME}", "ann"),
        ("a${NAME}b${NAME}", "aannbann"),
        ("[${_X1}]", "[]"),
        ("$NAME $$ $", "$NAME $$ $"),
        ("$${NAME}", "${NAME}"),
        ("$$${NAME}", "$${NAME}"),
        ("${TWICE}", "${NAME}"),
        ("${file:key}", "s3cret"),
        ("${file:/run/secrets/key}", "other"),
    ] {
        let config = read_within(&route("/a", text), &disk).unwrap();
        assert_eq!(bodies(&config), [expected], "{text}");
    }
    // Also in lists, in tables in braces, and in JSON, whatever the keys are called.
    let text =
        "[[route]]\npath = \"/${NAME}\"\njson = { a = [\"${NAME}\"], format = \"${NAME}\" }\n";
    let config = read_within(text, &disk).unwrap();
    let RouteAction::Json(json) = &config.default_host.routes[0].action else { panic!() };
    assert_eq!(json, "{\"a\":[\"ann\"],\"format\":\"ann\"}");
    // And in the names of included files, but no secret.
    let included =
        Disk::default().variable("D", "conf").file("/base/conf/a.toml", route("/a", "a"));
    let config = read_within("include = \"${D}/*.toml\"\n", &included).unwrap();
    assert_eq!(bodies(&config), ["a"]);
    let secret = told("include = \"${file:key}\"\n", &disk);
    assert!(secret.contains("the path of an included file is no secret"), "{secret}");
    for (text, expected) in [
        ("${NONE}", "the variable `NONE` is not set; set it, or write `$${` for a plain `${`"),
        ("${", "`${` without a `}`"),
        ("${NAME", "`${` without a `}`"),
        ("${}", "`${}` is no variable"),
        ("${1A}", "`${1A}` is no variable"),
        ("${A-B}", "`${A-B}` is no variable"),
        ("${file:}", "write the path of a file behind `file:`"),
        ("${file:none}", "the file `/base/none`: no such file"),
    ] {
        let told = told(&route("/a", text), &disk);
        assert!(told.starts_with(&format!("velodrome.toml:3:20: {expected}")), "{text}: {told}");
    }
}

/// A secret that cannot be what it is used as is shown by no message.
#[test]
fn secrets_are_not_shown() {
    let disk = Disk::default().file("/base/key", "s3cret\r\n").variable("OPEN", "s3cret");
    for text in [
        "user = 1\nroot = \"${file:key}\"\n",
        "[[listener]]\naddress = \"${file:key}\"\n",
        "[headers]\nX-A = \" ${file:key}\"\n",
        "[[route]]\npath = \"${file:key}\"\njson = 1\n",
        "[[route]]\npath = \"/\"\nredirect = { to = \"x${file:key}\" }\n",
        "[log]\nlevel = \"${file:key}\"\n",
        "[limits]\nhead_size = \"${file:key}\"\n",
        "[[host]]\nnames = [\"${file:key}:1\"]\n",
        "[error_pages]\n404 = \"${file:key}\"\n",
    ] {
        let told = told(text, &disk);
        assert!(!told.is_empty() && !told.contains("s3cret") && !told.contains("3cre"), "{told}");
        assert!(told.starts_with("velodrome.toml:"), "{told}");
    }
    let told = told("[log]\nlevel = \"${OPEN}\"\n", &disk);
    assert!(told.contains("s3cret"), "a variable is shown: {told}");
    // Nor by messages that others make of the configuration, also if they shorten it.
    let long = "k".repeat(100);
    let disk = disk.file("/base/long", format!("{long}\n"));
    let config = read_within(&route("/a", "${file:key}${file:long}"), &disk).unwrap();
    let hidden = config.secrets.hidden_in(&format!("s3cret, {long} or {}…", &long[..80]));
    assert_eq!(hidden, "(a secret), (a secret) or (a secret)…");
}
