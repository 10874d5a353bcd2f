//! The files of the contenders: programs built in release, the folder they serve, nginx's
//! configuration. In a temporary folder below the target folder, removed when the run ends.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::contender::{FILE_BYTES, SecureServer, Start};
use crate::bench::workload::Workload;
use crate::bench::workloads::FILES;
use crate::failure::Failure;
use crate::process;
use crate::scratch::Scratch;
use crate::workspace;

/// Connections that nginx is configured for; more than any workload opens, fewer than the usual limit.
pub(crate) const NGINX_CONNECTIONS: u32 = 19_000;

/// Connections that HAProxy is configured for: it wants two descriptors for each, and has 20,000 on usual machines.
pub(crate) const HAPROXY_CONNECTIONS: u32 = 9_900;

/// The folder of a run and the folder of the programs.
pub(crate) struct Site {
    folder: Scratch,
    programs: PathBuf,
}

impl Site {
    /// Builds what the workloads need and writes the files of the servers.
    pub(crate) fn prepare(workloads: &[&Workload]) -> Result<Site, Failure> {
        let contenders = workloads.iter().flat_map(|workload| workload.contenders);
        let site = Site::with_programs(contenders.map(|contender| contender.start))?;
        for (path, kib) in FILES {
            if workloads.iter().any(|workload| workload.path == *path) {
                let bytes: Vec<u8> = (0..kib * 1024).map(|place| (place % 251) as u8).collect();
                std::fs::write(site.files().join(&path[1..]), bytes)?;
            }
        }
        Ok(site)
    }

    /// The same for servers that are not part of a workload.
    pub(crate) fn with_programs(wanted: impl Iterator<Item = Start>) -> Result<Site, Failure> {
        let target = workspace::target_folder()?;
        let folder = Scratch::at(target.join(format!("bench/site-{}", std::process::id())))?;
        let site = Site { folder, programs: target.join("release") };
        std::fs::create_dir_all(site.files())?;
        std::fs::write(site.files().join("page.html"), page())?;
        let mut programs: Vec<Words> = Vec::new();
        for words in wanted.flat_map(programs_of) {
            if !programs.contains(&words) {
                programs.push(words);
            }
        }
        programs.into_iter().for_each(build);
        Ok(site)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The folder that file servers serve.
    pub(crate) fn files(&self) -> PathBuf {
        self.folder().join("files")
    }

    pub(crate) fn floor(&self) -> Result<PathBuf, Failure> {
        built(self.programs.join("floor"))
    }

    /// The light client that belongs to the floor.
    pub(crate) fn floor_load(&self) -> Result<PathBuf, Failure> {
        built(self.programs.join("floor-load"))
    }

    /// The client of broadcast servers, including the floor's hub.
    pub(crate) fn floor_fan(&self) -> Result<PathBuf, Failure> {
        built(self.programs.join("floor-fan"))
    }

    pub(crate) fn example(&self, name: &str) -> Result<PathBuf, Failure> {
        built(self.programs.join("examples").join(name))
    }

    pub(crate) fn velodrome(&self) -> Result<PathBuf, Failure> {
        built(self.programs.join("velodrome"))
    }

    /// The command line of our program with these words.
    pub(crate) fn ours(&self, line: &str) -> Result<Vec<String>, Failure> {
        let program = shown(&self.velodrome()?);
        Ok(std::iter::once(program).chain(line.split_whitespace().map(str::to_owned)).collect())
    }

    /// The command line of nginx with a file and a JSON answer.
    pub(crate) fn nginx(&self, port: u16) -> Result<Vec<String>, Failure> {
        self.nginx_with(port, "", &nginx_server(&self.files(), port))
    }

    /// Writes a configuration of nginx into a folder of its own; returns its command line.
    pub(crate) fn nginx_with(
        &self,
        port: u16,
        begin: &str,
        http: &str,
    ) -> Result<Vec<String>, Failure> {
        let program = process::installed("nginx", "nginx-light")?;
        let folder = self.folder().join(format!("nginx-{port}"));
        std::fs::create_dir_all(&folder)?;
        let configuration = folder.join("nginx.conf");
        std::fs::write(&configuration, nginx_configuration(&folder, begin, http))?;
        let words = [&program, "-e", "stderr", "-p", &shown(&folder), "-c", &shown(&configuration)];
        Ok(words.map(str::to_owned).to_vec())
    }
}

pub(super) fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// The words that tell cargo what to build.
type Words = &'static [&'static str];

const VELODROME: Words = &["--package", "velodrome", "--bin", "velodrome"];
const FLOOR: Words = &["--package", "velodrome-floor", "--bins"];

/// The programs of ours that a contender needs.
fn programs_of(start: Start) -> Vec<Words> {
    match start {
        Start::Floor { .. } => vec![FLOOR],
        Start::Example("json") => vec![&["--package", "velodrome", "--example", "json"]],
        Start::Example(_) => vec![&["--package", "velodrome", "--example", "chat"]],
        Start::Serve
        | Start::Channels { .. }
        | Start::Store { .. }
        | Start::Secure(
            SecureServer::Velodrome | SecureServer::Plain | SecureServer::Http1 | SecureServer::Clear,
        ) => vec![VELODROME],
        // A proxy stands before the floor.
        Start::Proxied { .. } => vec![VELODROME, FLOOR],
        Start::Redis
        | Start::RedisStore { .. }
        | Start::Memcached
        | Start::Nats
        | Start::Nchan
        | Start::Nginx
        // Their own programs; the load is of ours.
        | Start::Secure(_)
        | Start::Yaws
        | Start::Given { .. } => Vec::new(),
    }
}

/// Builds a program in release. If it does not build, only its contenders are reported later.
fn build(words: Words) {
    if let Err(failure) = workspace::build_release(words) {
        eprintln!("xtask: {failure}");
    }
}

fn built(program: PathBuf) -> Result<PathBuf, Failure> {
    if program.is_file() {
        return Ok(program);
    }
    Err(Failure::Work(format!("{} was not built", program.display())))
}

/// A page of exactly this many bytes.
fn page() -> String {
    let mut page = String::from("<!doctype html>\n<title>A page</title>\n<p>");
    let end = "</p>\n";
    while page.len() + end.len() < FILE_BYTES {
        page.push(if page.len().is_multiple_of(64) { '\n' } else { 'x' });
    }
    page + end
}

/// The files belong to the user of this tool; a worker under another user could not read them.
pub(crate) fn nginx_user() -> &'static str {
    if rustix::process::geteuid().is_root() { "user root;\n" } else { "" }
}

/// The directories that nginx may write to: not those of the distribution's own instance.
pub(crate) fn nginx_spools(folder: &str) -> String {
    ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .into_iter()
        .filter(|name| *name == "client_body" || nginx_has(name))
        .map(|name| format!("    {name}_temp_path {folder}/{name};\n"))
        .collect()
}

/// nginx as a process that keeps all connections, with this in its block `http`.
fn nginx_configuration(folder: &Path, begin: &str, http: &str) -> String {
    let folder = shown(folder);
    let (user, spools) = (nginx_user(), nginx_spools(&folder));
    format!(
        "{begin}{user}worker_processes 1;\ndaemon off;\npid {folder}/nginx.pid;\nerror_log stderr;\n\
         worker_rlimit_nofile {NGINX_CONNECTIONS};\n\
         events {{ worker_connections {NGINX_CONNECTIONS}; }}\n\
         http {{\n{spools}    access_log off;\n    tcp_nodelay on;\n\
         \x20   keepalive_requests 1000000000;\n    keepalive_timeout 3600s;\n{http}}}\n"
    )
}

fn nginx_server(files: &Path, port: u16) -> String {
    let files = files.display();
    format!(
        "    sendfile on;\n\
         \x20   open_file_cache max=1000 inactive=60s;\n    open_file_cache_valid 60s;\n\
         \x20   types {{ text/html html; }}\n\
         \x20   server {{\n        listen 127.0.0.1:{port} reuseport deferred backlog=4096;\n\
         \x20       root {files};\n\
         \x20       location = /json {{\n            default_type application/json;\n\
         \x20           return 200 '{{\"message\":\"Hello, World!\"}}';\n        }}\n    }}\n"
    )
}

/// Whether nginx was built with a module whose spool folder must then be set.
fn nginx_has(module: &str) -> bool {
    let built_without = format!("--without-http_{module}_module");
    let output = process::find("nginx").map(|program| Command::new(program).arg("-V").output());
    output.is_some_and(|output| {
        output.is_ok_and(|output| !String::from_utf8_lossy(&output.stderr).contains(&built_without))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_its_size() {
        assert_eq!(page().len(), FILE_BYTES);
    }

    #[test]
    fn nginx_accepts_its_configuration() {
        let Some(program) = process::find("nginx") else {
            println!("SKIPPED nginx_accepts_its_configuration: nginx is not installed");
            return;
        };
        let folder = std::env::temp_dir().join(format!("xtask-nginx-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("nginx.conf");
        std::fs::write(&path, nginx_configuration(&folder, "", &nginx_server(&folder, 21_900)))
            .expect("a file");
        let output = Command::new(program)
            .args(["-t", "-q", "-e", "stderr", "-p"])
            .arg(&folder)
            .arg("-c")
            .arg(&path)
            .output()
            .expect("nginx runs");
        std::fs::remove_dir_all(&folder).expect("the folder goes");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
