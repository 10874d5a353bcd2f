//! The files of the servers of pages, each in its own language, and the servers' command lines.
//!
//! Owns the locations of the sources below the folder of the run. Never starts anything.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::bench::contender::Start;
use crate::bench::site::{self, Site};
use crate::failure::Failure;
use crate::process;

/// Where distributions keep nginx's modules.
const MODULE_FOLDERS: [&str; 2] = ["/usr/lib/nginx/modules", "/usr/lib64/nginx/modules"];

/// Where Debian keeps yaws.
const YAWS_FOLDER: &str = "/usr/lib/yaws/ebin";

/// Our pages.
const OURS: [(&str, &str); 6] = [
    ("hello.page.html", include_str!("sources/hello.page.html")),
    ("light.page.html", include_str!("sources/light.page.html")),
    ("heavy.page.html", include_str!("sources/heavy.page.html")),
    ("_part.page.html", include_str!("sources/_part.page.html")),
    ("sleep.page.html", include_str!("sources/sleep.page.html")),
    ("receive.page.html", include_str!("sources/receive.page.html")),
];

/// Our harmful pages.
const HARM: [(&str, &str); 11] = [
    ("loop.page.html", include_str!("sources/harm/loop.page.html")),
    ("bomb.page.html", include_str!("sources/harm/bomb.page.html")),
    ("chat.page.html", include_str!("sources/harm/chat.page.html")),
    ("tick.page.html", include_str!("sources/harm/tick.page.html")),
    ("hash.page.html", include_str!("sources/harm/hash.page.html")),
    ("array.page.html", include_str!("sources/harm/array.page.html")),
    ("sparse.page.html", include_str!("sources/harm/sparse.page.html")),
    ("digits.page.html", include_str!("sources/harm/digits.page.html")),
    ("byte.page.html", include_str!("sources/harm/byte.page.html")),
    ("strings.page.html", include_str!("sources/harm/strings.page.html")),
    ("collide.page.html", include_str!("sources/harm/collide.page.html")),
];

/// The pages for nginx, with the modules they share.
const LUA: [(&str, &str); 6] = [
    ("hello.lua", include_str!("sources/hello.lua")),
    ("light.lua", include_str!("sources/light.lua")),
    ("heavy.lua", include_str!("sources/heavy.lua")),
    ("sleep.lua", include_str!("sources/sleep.lua")),
    ("escape.lua", include_str!("sources/escape.lua")),
    ("part.lua", include_str!("sources/part.lua")),
];

/// The pages for yaws.
const YAWS: [(&str, &str); 5] = [
    ("hello.yaws", include_str!("sources/hello.yaws")),
    ("light.yaws", include_str!("sources/light.yaws")),
    ("heavy.yaws", include_str!("sources/heavy.yaws")),
    ("sleep.yaws", include_str!("sources/sleep.yaws")),
    ("receive.yaws", include_str!("sources/receive.yaws")),
];

/// Writes the files of every server.
pub(crate) fn write(site: &Site) -> Result<(), Failure> {
    write_all(&site.folder().join("ours"), &OURS)?;
    write_all(&site.folder().join("ours/harm"), &HARM)?;
    write_all(&site.folder().join("lua"), &LUA)?;
    write_all(&site.folder().join("yaws"), &YAWS)
}

/// Writes the page that fetches from this port.
pub(crate) fn write_fetching(site: &Site, port: u16) -> Result<(), Failure> {
    let text = include_str!("sources/fetch.page.html").replace("PORT", &port.to_string());
    Ok(std::fs::write(site.folder().join("ours/fetch.page.html"), text)?)
}

fn write_all(folder: &Path, files: &[(&str, &str)]) -> Result<(), Failure> {
    std::fs::create_dir_all(folder)?;
    for (name, text) in files {
        std::fs::write(folder.join(name), text)?;
    }
    Ok(())
}

/// The command line of a server of pages.
pub(crate) fn words(
    start: Start,
    site: &Site,
    address: SocketAddr,
) -> Result<Vec<String>, Failure> {
    match start {
        Start::Serve => {
            let (program, folder) = (shown(site.velodrome()?), shown(site.folder().join("ours")));
            let address = address.to_string();
            let words = [&program, "serve", &folder, "--schedulers", "1", "--listen", &address];
            Ok(words.map(str::to_owned).to_vec())
        }
        Start::Example(name) => Ok(vec![shown(site.example(name)?), address.to_string()]),
        Start::Nginx => nginx(&site.folder().join("lua"), address.port()),
        Start::Yaws => yaws(site.folder(), address.port()),
        Start::Floor { .. }
        | Start::Channels { .. }
        | Start::Secure(_)
        | Start::Redis
        | Start::Store { .. }
        | Start::RedisStore { .. }
        | Start::Memcached
        | Start::Nats
        | Start::Nchan
        | Start::Proxied { .. }
        | Start::Given { .. } => {
            Err(Failure::Work("only servers of pages are compared in pages".to_owned()))
        }
    }
}

fn nginx(folder: &Path, port: u16) -> Result<Vec<String>, Failure> {
    let Some(program) = process::find("nginx") else { return Err(skipped("nginx", "nginx-light")) };
    let has_lua = |folder: &&&str| Path::new(folder).join("ngx_http_lua_module.so").is_file();
    let modules = MODULE_FOLDERS.iter().find(has_lua);
    let Some(modules) = modules else {
        return Err(skipped("nginx's Lua module", "libnginx-mod-http-lua"));
    };
    let configuration = folder.join(format!("nginx-{port}.conf"));
    std::fs::write(&configuration, nginx_configuration(folder, modules, port))?;
    let (program, folder) = (shown(program), shown(folder.to_owned()));
    let words = [&program, "-e", "stderr", "-p", &folder, "-c", &shown(configuration)];
    Ok(words.map(str::to_owned).to_vec())
}

fn nginx_configuration(folder: &Path, modules: &str, port: u16) -> String {
    let folder = folder.display().to_string();
    include_str!("sources/nginx.conf")
        .replace("USER\n", site::nginx_user())
        .replace("SPOOLS\n", &site::nginx_spools(&folder))
        .replace("MODULES", modules)
        .replace("CONNECTIONS", &site::NGINX_CONNECTIONS.to_string())
        .replace("FOLDER", &folder)
        .replace("PORT", &port.to_string())
}

/// The command that `yaws --interactive` starts, without its shell.
fn yaws(site: &Path, port: u16) -> Result<Vec<String>, Failure> {
    if !process::is_installed("erl") || !Path::new(YAWS_FOLDER).is_dir() {
        return Err(skipped("yaws", "yaws"));
    }
    // It writes files of its own, so each start has a folder.
    let home = site.join(format!("yaws-{port}"));
    std::fs::create_dir_all(home.join("log"))?;
    let configuration = home.join("yaws.conf");
    std::fs::write(&configuration, yaws_configuration(&home, &site.join("yaws"), port))?;
    let (home, configuration) =
        (format!("YAWSHOME={}", home.display()), format!("\"{}\"", configuration.display()));
    let start = ["env", &home, "erl", "+S", "1", "-noshell", "-noinput", "-pa", YAWS_FOLDER];
    let yaws = ["-yaws", "debug", "false", "-yaws", "conf", &configuration, "-s", "yaws"];
    Ok(start.iter().chain(&yaws).map(|word| (*word).to_owned()).collect())
}

fn yaws_configuration(home: &Path, pages: &Path, port: u16) -> String {
    include_str!("sources/yaws.conf")
        .replace("FOLDER", &home.display().to_string())
        .replace("PAGES", &pages.display().to_string())
        .replace("PORT", &port.to_string())
}

fn skipped(what: &str, package: &str) -> Failure {
    Failure::Work(format!("{what} is not installed (apt: {package})"))
}

fn shown(path: PathBuf) -> String {
    path.display().to_string()
}

/// The path of a page on this server.
pub(crate) fn path_at(start: Start, path: &str) -> String {
    if start != Start::Yaws {
        return path.to_owned();
    }
    match path.split_once('?') {
        Some((path, query)) => format!("{path}.yaws?{query}"),
        None => format!("{path}.yaws"),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn nothing_is_left_open_in_a_configuration() {
        let folder = Path::new("/a/folder");
        let nginx = nginx_configuration(folder, "/modules", 21_901);
        assert!(nginx.contains("listen 127.0.0.1:21901 reuseport"), "{nginx}");
        assert!(nginx.contains("content_by_lua_file /a/folder/heavy.lua;"), "{nginx}");
        let yaws = yaws_configuration(folder, Path::new("/pages"), 21_902);
        assert!(yaws.contains("docroot = /pages\n"), "{yaws}");
        for text in [nginx, yaws] {
            for open in ["FOLDER", "PORT", "USER", "SPOOLS", "MODULES", "CONNECTIONS", "PAGES"] {
                assert!(!text.contains(open), "{open}: {text}");
            }
        }
    }

    #[test]
    fn nginx_accepts_its_configuration() {
        let folder = std::env::temp_dir().join(format!("xtask-nginx-lua-{}", std::process::id()));
        write_all(&folder, &LUA).expect("its pages");
        let words = nginx(&folder, 21_903);
        let output = words.as_ref().map(|words| {
            Command::new(&words[0])
                .args(["-t", "-q"])
                .args(&words[1..])
                .output()
                .expect("nginx runs")
        });
        std::fs::remove_dir_all(&folder).expect("the folder goes");
        match output {
            Ok(output) => {
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            }
            Err(failure) => println!("SKIPPED nginx_accepts_its_configuration: {failure}"),
        }
    }

    #[test]
    fn yaws_has_an_ending_of_its_own() {
        assert_eq!(path_at(Start::Yaws, "/light?a=1"), "/light.yaws?a=1");
        assert_eq!(path_at(Start::Yaws, "/hello"), "/hello.yaws");
        assert_eq!(path_at(Start::Serve, "/light?a=1"), "/light?a=1");
    }
}
