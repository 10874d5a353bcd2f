//! Files of a cache on a disk, cut, changed, mixed and renamed: a client gets the body that was stored for its key and
//! its fields, or none.

use cache::{
    AnswerHead, AnswerKey, CacheRules, DiskRecord, FileMatch, FileSum, KeyParts, Label,
    LabelLedger, Object, StoredFile, Time, Uri, file_head, judge, record,
};
use wire::http::fields::FieldList;
use wire::http::url::Scheme;

/// The code that it runs.
pub const COVERS: &[&str] = &[
    "crates/cache/src/label",
    "crates/cache/src/ledger",
    "crates/cache/src/purges",
    "crates/cache/src/record",
    "crates/cache/src/stored_file",
];

/// Damage of each kind, a name, and purges.
pub const SEEDS: &[&[u8]] = &[
    b"\x00\x00\x00\x00\x11\x01",
    b"\x01\x01\x00\x00\x00\x40",
    b"\x02\x00\x01\x00\x00\xff",
    b"\x03\x00\x02\x00\x00\x18",
    b"\x04\x01\x03\x00\x00\x00",
    b"\x05\x02\x00\x00\x00\x00VELOCA02\x10\0\0\0\x10\0\0\0",
    b"\x06\x00\x03\x00\x00\x0f",
    b"\x04\x00\x01\x00\x00\x00\x03\x00\x01\x00\x00\x00",
    b"00000000000000010000000000000002000000000000000300000000000000044.10",
    b"1f //site.test/a*\nffff /b\n",
];

/// Magic numbers of this version and others, and lengths.
pub const WORDS: &[&[u8]] = &[
    b"VELOCA01",
    b"VELOCA02",
    b"VELOCA03",
    b"\0\0\0\0",
    b"\xff\xff\xff\xff",
    b"\x10\0\0\0",
    b"\0\0\x10\0",
    b"//site.test/a",
    b"accept-language",
    b"*",
    b"\n",
];

/// Bytes of an instruction: what is done, with which two files, and where.
const INSTRUCTION_SIZE: usize = 6;
/// More instructions than this do nothing.
const INSTRUCTIONS: usize = 64;
const NOW: Time = Time { unix_s: 1_767_225_600, ms: 1_000_000 };

/// A stored answer, and the file of its label, which may not be its own any more.
struct Stored {
    key: AnswerKey,
    request: FieldList,
    label: Label,
    record: Vec<u8>,
    body: Vec<u8>,
    file: Vec<u8>,
}

impl Stored {
    fn new(target: &str, language: &str, (serial, body): (u64, &[u8])) -> Self {
        let uri = Uri { scheme: Scheme::Http, host: "site.test", target, way: 0 };
        let key = AnswerKey::new(&uri, KeyParts::default());
        let request = list(&[("Accept-Language", language)]);
        let length = body.len().to_string();
        let fields = list(&[
            ("Cache-Control", "max-age=1000"),
            ("Vary", "Accept-Language"),
            ("Content-Length", &length),
        ]);
        let (rules, answer) =
            (CacheRules::default(), AnswerHead { status: 200, fields: fields.fields() });
        let terms = judge(&answer, &request.fields(), &rules, (NOW, NOW));
        let terms = terms.expect("it says that it is fresh");
        let object = Object::new(&answer, Vec::new(), terms, &rules, NOW);
        let record = DiskRecord::of(&key, &object, NOW);
        let label = Label::new(&record, serial);
        let mut file = file_head(&label, &record.bytes, record.bytes.len() + 8);
        let mut sum = FileSum::new(&label);
        sum.add(body);
        file.extend_from_slice(body);
        file.extend_from_slice(&sum.bytes());
        let label = Label { size: file.len() as u64, ..label };
        Self { key, request, label, record: record.bytes, body: body.to_vec(), file }
    }
}

fn list(fields: &[(&str, &str)]) -> FieldList {
    let mut list = FieldList::new();
    for (name, value) in fields {
        list.add(name, value.as_bytes()).expect("a field");
    }
    list
}

/// Damages files by the data, and reads all of them for all requests.
pub fn check(data: &[u8]) {
    // Two keys, two variants, and a younger answer: all files have one size.
    let mut all = [
        Stored::new("/a", "de", (1, b"the first body")),
        Stored::new("/b", "de", (2, b"another body..")),
        Stored::new("/a", "en", (3, b"in English....")),
        Stored::new("/a", "de", (4, b"the new body..")),
    ];
    for (number, instruction) in data.chunks(INSTRUCTION_SIZE).take(INSTRUCTIONS).enumerate() {
        let rest = data.get(INSTRUCTION_SIZE * (number + 1)..).unwrap_or_default();
        damage(&mut all, instruction, rest);
    }
    for at in 0..all.len() {
        for asked in &all {
            read(&all, at, asked);
        }
    }
    check_text(data);
}

fn damage(all: &mut [Stored; 4], instruction: &[u8], rest: &[u8]) {
    let [what, one, other, high, low, value] = *instruction else { return };
    let (one, other) = (usize::from(one) % all.len(), usize::from(other) % all.len());
    let length = all[one].file.len();
    let place = (usize::from(high) << 8 | usize::from(low)) % length.max(1);
    match what % 7 {
        0 => all[one].file.iter_mut().skip(place).take(1).for_each(|byte| *byte ^= value),
        1 => all[one].file.truncate(place),
        2 => all[one].file.push(value),
        // Its last bytes are those of the other one.
        3 => {
            let tail = all[other].file.iter().rev().take(usize::from(value)).rev();
            let tail: Vec<u8> = tail.copied().collect();
            let kept = length.saturating_sub(tail.len());
            all[one].file.truncate(kept);
            all[one].file.extend(tail);
        }
        // Each has the name of the other one.
        4 if one != other => {
            let file = std::mem::take(&mut all[one].file);
            all[one].file = std::mem::replace(&mut all[other].file, file);
        }
        5 => {
            let room = all[one].file.iter_mut().skip(place);
            room.zip(rest).for_each(|(byte, new)| *byte = *new);
        }
        // Its first bytes are those of the other one.
        6 => {
            let head: Vec<u8> = all[other].file.iter().take(place).copied().collect();
            all[one].file.iter_mut().zip(head).for_each(|(byte, new)| *byte = new);
        }
        _ => {}
    }
}

/// Reads a file as the thread with the directory does, for the request of another one.
fn read(all: &[Stored; 4], at: usize, asked: &Stored) {
    let Stored { label, file, .. } = &all[at];
    // Another size than that of its name is noticed before.
    if file.len() as u64 != label.size {
        return;
    }
    let from = |buffer: &mut [u8], offset: u64| {
        let begin = usize::try_from(offset).map_err(|_| cache::Damaged)?;
        let bytes = file.get(begin..).and_then(|rest| rest.get(..buffer.len()));
        buffer.copy_from_slice(bytes.ok_or(cache::Damaged)?);
        Ok(())
    };
    let Ok(stored) = StoredFile::read(*label, from) else { return };
    let (offset, length) = stored.body_at();
    assert!(offset + length < label.size, "a body is within its file, before its check sum");
    let key = record::key_bytes(&asked.key);
    match stored.compare(&key, &asked.request.fields(), NOW) {
        Ok(FileMatch::Answer(found, _)) => {
            assert_eq!(found, asked.key);
            assert_eq!(stored.record(), all[at].record, "a record is under its own name");
            assert_eq!(all[at].label.identity, asked.label.identity, "and for this request");
            if let Ok(body) = stored.body(from) {
                assert_eq!(body, all[at].body, "a body belongs to its record");
            }
        }
        Ok(FileMatch::OtherKey) => assert_ne!(all[at].key, asked.key),
        Ok(FileMatch::OtherVariant) => assert_ne!(all[at].label.identity, asked.label.identity),
        Err(cache::Damaged) => {}
    }
}

/// Names and purges are texts, which somebody else may have written.
fn check_text(data: &[u8]) {
    let _none = record::read(data, NOW);
    let Ok(text) = str::from_utf8(data) else { return };
    if let Some(label) = Label::parse(text) {
        assert_eq!(label.name(), text, "one name for each label");
    }
    let mut ledger = LabelLedger::new(u64::MAX, usize::MAX);
    ledger.restore_purges(text);
    let kept = ledger.purges_text();
    let mut again = LabelLedger::new(u64::MAX, usize::MAX);
    again.restore_purges(&kept);
    assert_eq!(again.purges_text(), kept, "a restart goes on with the same purges");
}
