//! The functions of `crypto`, and that long texts delay no other page.

use std::time::Duration;

use proptest::prelude::*;
use script::engine::{EngineSettings, Fault};

use crate::stage::Stage;

#[test]
fn hashes_are_raw_bytes_and_encodings_go_both_ways() {
    let mut stage = Stage::new();
    let body = stage.body(
        "_b:put(#crypto.sha256(''), ' ', crypto.hex(crypto.sha256('abc')), '\\n')
        _b:put(crypto.hex(crypto.hmac('Jefe', 'what do ya want for nothing?')), '\\n')
        _b:put(crypto.base64('\\251\\255'), ' ', crypto.base64url('\\251\\255'), ' ', crypto.hex('\\0\\255'), '\\n')
        _b:put(crypto.unbase64('Zm8='), crypto.unbase64url('Zm8'), crypto.unhex('666F'), '\\n')
        _b:put(#crypto.random(1), ' ', #crypto.random(1024), ' ', tostring(crypto.random(16) == crypto.random(16)))",
    );
    assert_eq!(
        body,
        "32 ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n\
        5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843\n\
        +/8= -_8 00ff\nfofofo\n1 1024 false"
    );
}

#[test]
fn keys_longer_than_a_block_are_those_of_rfc_4231() {
    let mut stage = Stage::new();
    let code = "local key = string.rep('\\170', 131)
        _b:put(crypto.hex(crypto.hmac(key, 'Test Using Larger Than Block-Size Key - Hash Key First')))";
    assert_eq!(
        stage.body(code),
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
    );
}

#[test]
fn invalid_encoding_gives_nil_and_position() {
    let mut stage = Stage::new();
    let body = stage.body(
        "local function try(...) for _, value in ipairs({ ... }) do _b:put(tostring(value), ';') end end
        local nothing, why = crypto.unhex('0g') try(tostring(nothing), why)
        nothing, why = crypto.unbase64('Zg') try(tostring(nothing), why)
        nothing, why = crypto.unbase64url('Zm9v=') try(tostring(nothing), why)
        -- Padding within a long text, at the end of a piece.
        local text = string.rep('A', 48 * 1024 - 2) .. '==' .. 'AAAA'
        nothing, why = crypto.unbase64(text) try(tostring(nothing), why)",
    );
    assert_eq!(
        body,
        "nil;not hexadecimal at byte 2;nil;not base64 at byte 3;nil;not base64url at byte 5;\
        nil;not base64 at byte 49151;"
    );
}

#[test]
fn texts_are_compared_in_whole() {
    let mut stage = Stage::new();
    let body = stage.body(
        "local long = string.rep('a', 100000)
        for _, pair in ipairs({ { '', '' }, { 'a', 'a' }, { 'a', 'b' }, { 'a', 'aa' }, { long, long .. '' },
          { long .. 'a', long .. 'b' }, { 'b' .. long, 'a' .. long } }) do
          _b:put(tostring(crypto.equal(pair[1], pair[2])), ' ')
        end",
    );
    assert_eq!(body, "true true false false true false false ");
}

#[test]
fn wrong_arguments_are_errors_of_the_page() {
    let mut stage = Stage::new();
    for (code, message) in [
        ("crypto.sha256(5)", "crypto.sha256 takes a string, not a number"),
        ("crypto.hmac('key')", "crypto.hmac takes a string, not a nil"),
        ("crypto.unhex({})", "crypto.unhex takes a string, not a table"),
        ("crypto.equal('', nil)", "crypto.equal takes a string, not a nil"),
        ("crypto.random(0)", "crypto.random takes a whole number from 1 to 1024, not 0"),
        ("crypto.random(1025)", "crypto.random takes a whole number from 1 to 1024, not 1025"),
        ("crypto.random(1.5)", "crypto.random takes a whole number from 1 to 1024, not 1.5"),
        ("crypto.random(0 / 0)", "crypto.random takes a whole number from 1 to 1024, not nan"),
        ("crypto.random('2')", "crypto.random takes a whole number from 1 to 1024, not 2"),
        ("crypto.sha256 = nil", "'crypto' is read-only: cannot set 'sha256'"),
    ] {
        let error = stage.failure(&format!("\nlocal _ = nil\n{code}\n"));
        assert_eq!((error.fault, error.line), (Fault::Runtime, 3), "{code}");
        assert!(error.message.ends_with(message), "{code}: {}", error.message);
    }
}

#[test]
fn long_texts_are_interrupted_and_come_out_right() {
    let settings = EngineSettings {
        slice: Duration::from_micros(200),
        cpu_budget: Duration::from_secs(600),
        memory_bytes: 512 << 20,
        run_memory_bytes: 512 << 20,
        ..EngineSettings::default()
    };
    let mut stage = Stage::with(settings);
    let page = stage.load(
        "local text = string.rep('a', 16 * 1024 * 1024)
        _b:put(crypto.hex(crypto.sha256(text)), ' ', crypto.hex(crypto.hmac(text, text)), ' ')
        for _, name in ipairs({ 'hex', 'base64', 'base64url' }) do
          _b:put(tostring(crypto['un' .. name](crypto[name](text)) == text), ' ')
        end",
    );
    let course = stage.play(&page).unwrap();
    // The result of another implementation.
    let hash = "5b6ff2e19d0da0fe323061018fc381393492884e74af8296c81ab9cb2694783a";
    let code = "aea8e3662c62df629516d78f0fa2dab9249e145fb6b8900b89858d91183be3db";
    assert_eq!(course.body, format!("{hash} {code} true true true "));
    assert!(course.slices > 20, "{} slices", course.slices);
}

#[test]
fn a_page_that_hashes_for_ever_is_ended() {
    let budget = Duration::from_millis(20);
    let mut stage = Stage::with(EngineSettings { cpu_budget: budget, ..EngineSettings::default() });
    for code in [
        "local text = string.rep('a', 1e6) while true do text = text:sub(33) .. crypto.sha256(text) end",
        "while true do crypto.random(1024) end",
    ] {
        assert_eq!(stage.failure(code).fault, Fault::CpuBudget, "{code}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_bytes_come_back(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let mut stage = Stage::new();
        let written: String = bytes.iter().map(|byte| format!("\\{byte:03}")).collect();
        let code = format!(
            "local text = '{written}'
            for _, name in ipairs({{ 'hex', 'base64', 'base64url' }}) do
              assert(crypto['un' .. name](crypto[name](text)) == text, name)
            end
            _b:put(#text)"
        );
        prop_assert_eq!(stage.body(&code), bytes.len().to_string());
    }
}
