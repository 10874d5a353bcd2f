//! Encoded representations: siblings on disk, and compression on request.

use std::sync::Arc;

use files::job::Errand;
use files::rules::{Compress, Precompressed};
use files::{BodySource, FileRules, LookupResult, PathContent};
use wire::http::encoding::{Available, Coding};

use super::site::{Site, bytes, content, etag, known};

const TEXT: &str = "all work and no play makes jack a dull boy\n";

fn text() -> Vec<u8> {
    TEXT.repeat(100).into_bytes()
}

fn wanting(coding: Coding) -> Errand {
    Errand { known: None, wanted: Available::IDENTITY.with(coding) }
}

#[test]
fn siblings_are_used_unless_they_are_older() {
    let mut site = Site::new(FileRules { compress: Compress::Off, ..FileRules::default() });
    site.write("a.txt", "plain");
    for (name, content, seconds) in [
        ("a.txt", "plain", 1000),
        ("a.txt.br", "BR", 1000),
        ("a.txt.gz", "GZ", 999),
        ("a.txt.zst", "", 2000),
    ] {
        site.write(name, content);
        site.date(name, seconds);
    }
    let file = site.look_up_file("/a.txt");
    assert_eq!(file.available, Available::IDENTITY.with(Coding::Brotli));
    assert_eq!(bytes(&file, Coding::Brotli), b"BR");
    let brotli = file.representation(Coding::Brotli).unwrap();
    assert_ne!(*brotli.etag, *etag(&file));
    let fields = std::str::from_utf8(brotli.fields().lines()).unwrap();
    assert!(fields.contains("Content-Encoding: br\r\n"), "{fields}");
    assert!(fields.contains("Content-Type: text/plain; charset=utf-8\r\n"), "{fields}");
    for representation in &file.representations {
        let fields = std::str::from_utf8(representation.fields().lines()).unwrap();
        assert!(fields.contains("Vary: Accept-Encoding\r\n"), "{fields}");
    }

    // A new or changed sibling is a change of the file.
    assert!(matches!(site.look_up_with("/a.txt", known(&file)), LookupResult::Unchanged));
    site.write("a.txt.gz", "GZ2");
    let PathContent::File(file) = content(site.look_up_with("/a.txt", known(&file))) else {
        panic!()
    };
    assert_eq!(bytes(&file, Coding::Gzip), b"GZ2");

    site.rules =
        Arc::new(FileRules { precompressed: Precompressed::Ignore, ..(*site.rules).clone() });
    assert_eq!(site.look_up_file("/a.txt").available, Available::IDENTITY);
    assert_eq!(bytes(&site.look_up_file("/a.txt.br"), Coding::Identity), b"BR");
}

#[test]
fn text_is_compressed_when_it_is_wanted() {
    let mut site = Site::new(FileRules::default());
    site.write("a.txt", text());
    let plain = site.look_up_file("/a.txt");
    assert_eq!(plain.available, Available::IDENTITY);
    let both = Available::IDENTITY.with(Coding::Gzip).with(Coding::Zstd);
    assert_eq!(plain.possible, both);

    // Unchanged on disk, but now gzip is wanted.
    let errand = Errand { wanted: Available::IDENTITY.with(Coding::Gzip), ..known(&plain) };
    let PathContent::File(file) = content(site.look_up_with("/a.txt", errand.clone())) else {
        panic!()
    };
    assert_eq!(file.available, Available::IDENTITY.with(Coding::Gzip));
    assert_eq!(file.possible, Available::IDENTITY.with(Coding::Zstd));
    let mut unpacked = Vec::new();
    let mut decoder = flate2::read::GzDecoder::new(bytes(&file, Coding::Gzip));
    std::io::Read::read_to_end(&mut decoder, &mut unpacked).unwrap();
    assert_eq!(unpacked, text());
    assert!(matches!(site.look_up_with("/a.txt", known(&file)), LookupResult::Unchanged));
    assert_ne!(*file.representation(Coding::Gzip).unwrap().etag, *etag(&file));

    let PathContent::File(file) = content(site.look_up_with("/a.txt", wanting(Coding::Zstd)))
    else {
        panic!()
    };
    assert_eq!(zstd::bulk::decompress(bytes(&file, Coding::Zstd), 10_000).unwrap(), text());
}

#[test]
fn compression_is_not_tried_where_it_is_no_use() {
    let mut site = Site::new(FileRules { compress_to: 9_000, ..FileRules::default() });
    site.write("small.txt", "a".repeat(1000));
    site.write("photo.jpg", "a".repeat(5000));
    site.write("huge.txt", "a".repeat(9001));
    site.write("has.txt", "a".repeat(5000));
    site.write("has.txt.gz", "GZ");
    for (path, available) in [
        ("/small.txt", Available::IDENTITY),
        ("/photo.jpg", Available::IDENTITY),
        ("/huge.txt", Available::IDENTITY),
        ("/has.txt", Available::IDENTITY.with(Coding::Gzip)),
    ] {
        let PathContent::File(file) = content(site.look_up_with(path, wanting(Coding::Gzip)))
        else {
            panic!()
        };
        assert_eq!(file.available, available, "{path}");
        assert!(!file.possible.contains(Coding::Gzip), "{path}");
    }
    // Text that does not shrink is tried once.
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    })
    .take(1500)
    .collect();
    site.write("noise.txt", &noise);
    let found = site.look_up_with("/noise.txt", wanting(Coding::Zstd));
    let PathContent::File(file) = content(found) else { panic!() };
    assert_eq!(file.available, Available::IDENTITY);
    assert!(!file.possible.contains(Coding::Zstd));
    assert!(matches!(site.look_up_with("/noise.txt", known(&file)), LookupResult::Unchanged));
}

#[test]
fn a_file_too_large_to_hold_can_still_be_compressed() {
    let mut site = Site::new(FileRules { held_size: 2000, ..FileRules::default() });
    site.write("a.txt", text());
    let PathContent::File(file) = content(site.look_up_with("/a.txt", wanting(Coding::Gzip)))
    else {
        panic!()
    };
    let BodySource::Large(large) = &file.representations[0].body else { panic!() };
    assert_eq!((large.metadata.size, &*large.relative), (text().len() as u64, "a.txt"));
    assert!(bytes(&file, Coding::Gzip).len() < 500);
}
