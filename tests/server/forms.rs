//! Forms with files as a test sends them, and the pages that receive them.
//!
//! Owns the boundary `B` and the directory `up`. Does not check answers.

use std::path::{Path, PathBuf};

use conformance::{ParsedResponse, RequestKind};

use super::client::{Client, head};
use super::patience::until;
use super::{Plan, Server};

/// Lists the files, in the order of the form.
pub(crate) const LIST: &str = "<% for _, file in ipairs(request.files) do -%>\n\
    <%= file.field %>|<%= file.name %>|<%= file.type %>|<%= file.size %>\n<% end -%>\n\
    title=<%= request.form.title %>\n";

/// Saves the file of the field `file` under the name in the query.
pub(crate) const SAVE: &str = "<% local file = request.files.file -%>\n\
    <% local done, why = file:save(request.query.name, { replace = request.query.replace == 'yes' }) -%>\n\
    <%= tostring(done) %> <%= tostring(why) %>";

/// A server with pages and a directory `up` for uploads.
pub(crate) fn plan() -> Plan {
    configured("")
}

/// The same with more keys of `[pages]`.
pub(crate) fn configured(keys: &str) -> Plan {
    let plan = Plan::new().config(&format!("[pages]\nuploads = \"up\"\n{keys}"));
    std::fs::create_dir(plan.directory.join("up")).unwrap();
    plan.file("list.page.txt", LIST)
        .file("save.page.txt", SAVE)
        .file("hello.page.txt", "hello")
        .file("wait.page.txt", "<% local file = request.files.file sleep(60) -%>")
        .file("fail.page.txt", "<% error(request.files.file.name) %>")
}

/// The files in the directory for uploads.
pub(crate) fn kept(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The directory for uploads.
pub(crate) fn uploads(server: &Server) -> PathBuf {
    server.directory().join("up")
}

/// Waits until all unsaved files have been removed.
pub(crate) fn until_swept(directory: &Path) {
    until("unsaved files to go", || {
        kept(directory).iter().all(|name| !name.starts_with('.')).then_some(())
    });
}

/// A part of a form with the boundary `B`, its line end included.
pub(crate) fn part(disposition: &str, data: &str) -> String {
    format!("--B\r\nContent-Disposition: form-data; {disposition}\r\n\r\n{data}\r\n")
}

/// The type of a form with that boundary.
pub(crate) const TYPE: &str = "multipart/form-data; boundary=B";

/// A head for a body of this length and type.
pub(crate) fn head_of(path: &str, media_type: &str, length: u64) -> String {
    let length = length.to_string();
    head("POST", path, &[("Content-Type", media_type), ("Content-Length", &length)])
}

/// The next answer.
pub(crate) fn answer(client: &mut Client) -> ParsedResponse {
    client.response(RequestKind::Other).unwrap()
}

/// Sends a whole body and returns the answer.
pub(crate) fn post(server: &Server, path: &str, media_type: &str, body: &str) -> ParsedResponse {
    let mut client = server.client();
    client.send(head_of(path, media_type, body.len() as u64) + body).unwrap();
    answer(&mut client)
}
