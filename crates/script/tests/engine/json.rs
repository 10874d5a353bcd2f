//! `json.encode` and `json.decode`.

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
fn what_has_holes_is_no_array_however_it_was_made() {
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
fn what_is_no_json_is_refused_with_the_line() {
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
