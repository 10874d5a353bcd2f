//! `json.encode` and `json.decode`.

use proptest::prelude::*;
use script::engine::Fault;

use crate::stage::Stage;

#[test]
fn json_goes_there_and_back() {
    let mut stage = Stage::new();
    let code = r#"
        local function same(text, expected) local got = json.encode(json.decode(text)) assert(got == (expected or text), got) end
        same('{}') same('[]') same('[1,2.5,-3,1e+300,true,false,null]') same('"a\\nb\\u0001\\"\\\\"')
        same('[[[]],{"a":{"b":[{}]}}]') same(' [ 1 , 2 ] ', '[1,2]') same('0') same('-0.5') same('"\\u00e9"', '"é"')
        same('"\\ud83d\\ude00"', '"😀"') same('"\\ud83d"', '"\239\191\189"') same('"\\/"', '"/"') same('0.1') same('63.4') same('14.2') same('0.30000000000000004')
        for _, whole in ipairs { '123456789012345', '999999999999999', '1795344000123456', '9007199254740991', '-9007199254740991' } do
          same(whole) same('{"' .. whole .. '":1}')
        end
        same('1e+15', '1000000000000000') same('1e+16') same('1.2345678901234567e+19')
        local list = { 1 }
        assert(json.array(list) == list and json.array(json.array(list)) == list and json.encode(list) == '[1]')
        assert(tostring(json.null) == 'null' and tostring(html) == 'html')
        assert(json.encode('</script>') == '"\\u003c/script>"')
        assert(json.encode({}) == '{}' and json.encode(json.array()) == '[]' and json.encode({ 1, 2 }) == '[1,2]')
        assert(json.encode(nil) == 'null' and json.decode('null') == json.null and json.encode({ x = json.null }) == '{"x":null}')
        assert(json.encode({ [5] = 'a' }) == '{"5":"a"}' and json.decode('{"a":[1,{"b":"c"}]}').a[2].b == 'c')
        _b:put('fine')"#;
    assert_eq!(stage.body(code), "fine");
}

#[test]
fn table_with_holes_is_encoded_as_object() {
    let mut stage = Stage::new();
    for (made, told) in [
        ("t = { 1, 2, nil, 4 }", "there is no element 3, and one at 4"),
        ("t = { 1, nil, 3 }", "there is no element 2, and one at 3"),
        ("t[1] = 1 t[2] = 2 t[4] = 4", "there is no element 3, and one at 4"),
        ("t[4] = 4 t[2] = 2 t[1] = 1", "there is no element 3, and one at 4"),
        ("t = { 1, 2, 3, 4 } t[3] = nil", "there is no element 3, and one at 4"),
        ("t = json.array({ nil, 2 })", "there is no element 1, and one at 2"),
    ] {
        let error = stage.failure(&format!("local t = {{}} {made}\njson.encode(t)"));
        assert_eq!(error.line, 2, "{made}: {error}");
        assert!(error.message.contains(told), "{made}: {error}");
    }
    for (made, text) in [
        ("t = { 1, 2, nil, nil }", "[1,2]"),
        ("t = { 1, 2, 3, 4 } t[4] = nil", "[1,2,3]"),
        ("for index = 9, 1, -1 do t[index] = index end", "[1,2,3,4,5,6,7,8,9]"),
        ("t = { nil, 2 }", "{\"2\":2}"),
        ("t[2] = 2", "{\"2\":2}"),
    ] {
        assert_eq!(
            stage.body(&format!("local t = {{}} {made} _b:put(json.encode(t))")),
            text,
            "{made}"
        );
    }
}

#[test]
fn invalid_json_is_refused_with_line() {
    let mut stage = Stage::new();
    for text in [
        "",
        "[",
        "]",
        "{",
        "[1,]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "01",
        "-",
        "+1",
        "1.",
        ".5",
        "1e",
        "tru",
        "nul",
        "\"a",
        "\"\\x\"",
        "\"\\u12g4\"",
        "[1] 2",
        "'a'",
        "0x10",
        "inf",
        "nan",
        "[1 2]",
        "\"\n\"",
        "--1",
        "1-1",
    ] {
        let lua = format!("\njson.decode([==[\n{text}]==])");
        let error = stage.failure(&lua);
        assert_eq!((error.fault, error.line), (Fault::Runtime, 2), "{text:?}: {error}");
    }
    for code in [
        "json.encode(print)",
        "json.encode(0/0)",
        "json.encode(1/0)",
        "json.encode({ [true] = 1 })",
        "json.encode({ 1, x = 2 })",
        "json.encode({ 'a', [5] = 'b' })",
        "json.array('a')",
        "json.array(setmetatable({}, {}))",
        "local t = {} t.t = t json.encode(t)",
        "json.decode(('['):rep(200))",
        "json.decode(5)",
    ] {
        let error = stage.failure(code);
        assert_eq!((error.fault, error.line), (Fault::Runtime, 1), "{code}: {error}");
    }
}

#[test]
fn equal_tables_have_one_text() {
    let mut stage = Stage::new();
    let code = r#"
        local one = { code = 'a', hits = 0, url = 'u', at = 1, [10] = 'ten', [9] = 'nine', ['10a'] = 1 }
        assert(json.encode(one) == '{"10":"ten","10a":1,"9":"nine","at":1,"code":"a","hits":0,"url":"u"}', json.encode(one))
        local many, other = {}, {}
        for index = 1, 100 do many['k' .. index] = index end
        for index = 100, 1, -1 do other['k' .. index] = index end
        assert(json.encode(many) == json.encode(other) and json.encode(many):find('"k1":1,"k10":10,"k100":100,"k11":11', 1, true))
        _b:put('fine')"#;
    assert_eq!(stage.body(code), "fine");
    let error = stage.failure("json.encode({ ['5'] = 1, [5] = 2 })");
    assert!(error.message.contains("two fields '5'"), "{error}");
}

#[test]
fn invalid_utf8_is_refused_by_json_in_both_directions() {
    let mut stage = Stage::new();
    for (code, told) in [
        ("json.encode('caf\\233')", "json.encode: the text is not UTF-8"),
        ("json.encode({ a = { note = '\\255' } })", "json.encode: the text of 'note' is not UTF-8"),
        ("json.encode({ 'a', '\\255' })", "json.encode: element 2 is not UTF-8"),
        (
            "json.encode({ ['caf\\233'] = 1 })",
            "json.encode: the name of a field is not UTF-8: 'caf?'",
        ),
        (
            "json.encode({ a = ('x'):rep(70000) .. '\\237\\160\\128' })",
            "the text of 'a' is not UTF-8",
        ),
        ("json.decode('\"a\\255\"')", "json.decode: not UTF-8 at byte 3"),
        (
            "json.decode('\"' .. ('\\195\\169'):rep(40000) .. '\\192\\128\"')",
            "json.decode: not UTF-8 at byte 80002",
        ),
        ("channel.publish('c', { text = '\\255' })", "the text of 'text' is not UTF-8"),
    ] {
        let error = stage.failure(code);
        assert!(error.line == 1 && error.message.contains(told), "{code}: {error}");
    }
    // Characters that lie on the border of two pieces.
    let code = "local long = ('x'):rep(65535) .. ('é😀'):rep(20000)
        assert(json.decode(json.encode(long)) == long) _b:put('fine')";
    assert_eq!(stage.body(code), "fine");
}

/// A text as Lua writes it, whatever bytes it has.
fn quoted(text: &[u8]) -> String {
    text.iter().map(|byte| format!("\\{byte:03}")).collect()
}

/// Texts that are JSON, or nearly.
fn texts() -> impl Strategy<Value = Vec<u8>> {
    let pieces = prop::sample::select(vec![
        &b"{"[..],
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"\"",
        b"\"a\":",
        b"1",
        b"-",
        b"0",
        b".",
        b"e",
        b"E",
        b"+",
        b"true",
        b"false",
        b"null",
        b" ",
        b"\n",
        b"\\",
        b"\\u0041",
        b"\\ud83d",
        b"\\ude00",
        b"\x01",
        b"\xc3\xa9",
        b"\xff",
        b"1e999",
        b"12.5e-3",
        b"{\"a\":[1,{\"b\":\"c\"}]}",
        b"\xed\xa0\x80",
    ]);
    let deep =
        (119_usize..129).prop_map(|depth| ("[".repeat(depth) + &"]".repeat(depth)).into_bytes());
    let long = (995_usize..1005, prop::sample::select(vec!["0.", "1", "-0."])).prop_map(
        |(size, start)| (start.to_owned() + &"1".repeat(size - start.len())).into_bytes(),
    );
    let mixed = prop::collection::vec(pieces, 0..16).prop_map(|pieces| pieces.concat());
    prop_oneof![20 => mixed, 1 => deep, 1 => long]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn json_that_the_server_takes_is_the_json_that_pages_can_read(texts in prop::collection::vec(texts(), 64)) {
        let mut stage = Stage::new();
        let list: String = texts.iter().map(|text| format!("'{}',", quoted(text))).collect();
        let code = format!("for _, text in ipairs {{ {list} }} do _b:put(pcall(json.decode, text) and '1' \
                            or '0') end");
        let read = stage.body(&code);
        let taken: String = texts.iter().map(|text| if wire::json::check_of_page(text).is_ok() { '1' } else { '0' }).collect();
        for (text, (read, taken)) in texts.iter().zip(read.chars().zip(taken.chars())) {
            prop_assert_eq!(read, taken, "{:?}", String::from_utf8_lossy(text));
        }
        prop_assert_eq!(read.len(), taken.len());
    }
}
