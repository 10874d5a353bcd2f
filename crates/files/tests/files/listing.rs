//! Listings of directories: their content, and that no name can break out of the markup.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use files::rules::ListingRule;
use files::{FileRules, PathContent, limits};
use serde_json::Value;
use wire::http::encoding::Coding;
use wire::http::target;

use super::site::{Site, bytes, memory};

fn listing_site() -> Site {
    Site::new(FileRules { listing: ListingRule::On, ..FileRules::default() })
}

fn list(site: &mut Site, path: &str) -> (String, Value) {
    let PathContent::Listing(listing) = site.look_up(path) else { panic!("{path} is not listed") };
    let html = String::from_utf8(memory(&listing.html).to_vec()).unwrap();
    let json = serde_json::from_slice(memory(&listing.json)).unwrap();
    (html, json)
}

fn names(json: &Value) -> Vec<&str> {
    json["entries"].as_array().unwrap().iter().map(|line| line["name"].as_str().unwrap()).collect()
}

/// The links of a page without the one to the parent, as a browser reads them.
fn links(html: &str) -> Vec<String> {
    let hrefs = html.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
    hrefs
        .filter(|href| *href != "../")
        .map(|href| href.replace("&amp;", "&").replace("&#39;", "'"))
        .collect()
}

#[test]
fn directories_come_first_and_numbers_count() {
    let mut site = listing_site();
    for name in ["d/file10", "d/file2", "d/zebra/x", "d/.hidden", "d/velodrome.toml"] {
        site.write(name, "12345");
    }
    site.date("d/file2", 784_111_777);
    symlink("file2", site.file("d/link")).unwrap();
    symlink("../../outside", site.file("d/escape")).unwrap();
    fs::write(site.outside("outside"), "secret").unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        site.file("d/fifo"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    let (html, json) = list(&mut site, "/d/");
    assert_eq!(names(&json), ["zebra", "file2", "file10", "link"]);
    assert_eq!(json["path"], "/d/");
    assert_eq!(json["cut"], false);
    assert_eq!(
        json["entries"][1],
        serde_json::json!({
            "name": "file2", "kind": "file", "size": 5, "modified": "1994-11-06T08:49:37Z",
        })
    );
    assert_eq!(json["entries"][0]["kind"], "directory");
    assert!(json["entries"][0].get("size").is_none());
    assert_eq!(links(&html), ["./zebra/", "./file2", "./file10", "./link"]);
    assert!(html.contains("<a href=\"../\">"), "the way up");
    assert!(html.contains("1994-11-06 08:49"), "{html}");
    assert!(html.contains("4 names"), "{html}");
    assert!(!list(&mut site, "/").0.contains("href=\"../\""), "no way up from the top");
}

#[test]
fn no_name_breaks_out_and_every_link_leads_to_its_file() {
    let mut site = listing_site();
    let wild = [
        "<script>alert(1)</script>".replace('/', "_"),
        "\"onmouseover=\"x".to_owned(),
        "'&amp;.html".to_owned(),
        "a b%20?#;=+.txt".to_owned(),
        "javascript:alert(1)".to_owned(),
        "ünï€😀".to_owned(),
        "%2e%2e".to_owned(),
        "...".replace('.', "·"),
    ];
    for name in &wild {
        site.write(format!("<d>/{name}"), name);
    }
    site.write(OsStr::from_bytes(b"<d>/not utf-8 \xFF"), "x");
    site.write("<d>/line\nbreak", "x");
    site.write("<d>/back\\slash", "x");
    let (html, json) = list(&mut site, "/<d>/");
    assert_eq!(names(&json).len(), wild.len());
    assert!(!html.contains("<script") && !html.contains("<d>"), "{html}");
    let links = links(&html);
    assert_eq!(links.len(), wild.len());
    for (link, name) in links.iter().zip(names(&json)) {
        let path = format!("/%3Cd%3E/{}", link.strip_prefix("./").unwrap());
        let mut scratch = Vec::new();
        let resolved = target::resolve(path.as_bytes(), &mut scratch).unwrap().to_owned();
        let file = site.look_up_file(&resolved);
        assert_eq!(bytes(&file, Coding::Identity), name.as_bytes());
    }
}

#[test]
fn a_huge_directory_is_cut_and_says_so() {
    let mut site = listing_site();
    fs::create_dir(site.file("d")).unwrap();
    for number in 0..limits::LISTING_NAMES_MAX + 10 {
        fs::write(site.file(format!("d/{number}")), "").unwrap();
    }
    let (html, json) = list(&mut site, "/d/");
    assert_eq!(names(&json).len(), limits::LISTING_NAMES_MAX);
    assert_eq!(json["cut"], true);
    assert!(html.contains("there are more"));
}

#[test]
fn an_empty_directory_is_listed_and_a_redirect_comes_before() {
    let mut site = listing_site();
    fs::create_dir(site.file("d")).unwrap();
    let (html, json) = list(&mut site, "/d/");
    assert!(names(&json).is_empty());
    assert!(html.contains("Nothing is here."));
    assert!(matches!(site.look_up("/d"), PathContent::Redirect));
}
