//! Idioms of Lua programmers: they work as expected, or the error says why not.

use script::engine::{Author, Fault};
use script::limits;

use crate::stage::Stage;

#[test]
fn the_names_of_a_library_can_be_looked_through() {
    let mut stage = Stage::new();
    let code = "local names = {}
        for name, member in pairs(string) do names[#names + 1] = name .. ':' .. type(member) end
        table.sort(names) _b:put(names[1], ' ', tostring(#names > 10))";
    assert_eq!(stage.body(code), "byte:function true");
    // `pairs` of a library gives a copy.
    let code = "local _, names = pairs(math) names.pi = 3 names.more = 4
        _b:put(tostring(math.pi > 3.1), ' ', tostring(rawequal(names.floor, math.floor)), ' ', #{ next({ 1 }) })
        local sum = 0 for _, value in pairs({ 1, 2, 3 }) do sum = sum + value end _b:put(' ', sum)";
    assert_eq!(stage.body(code), "true true 2 6");
    let error = stage.failure("for _ in pairs(7) do end");
    assert!(error.message.contains("bad argument #1 to"), "{error}");
}

#[test]
fn a_page_may_give_its_status() {
    let mut stage = Stage::new();
    assert_eq!(stage.body("return 404"), "");
    assert_eq!((stage.output.status, stage.output.author), (Some(404), Author::Server));
    assert_eq!(stage.body("_b:put('gone') do return 410 end"), "gone");
    assert_eq!((stage.output.status, stage.output.author), (Some(410), Author::Page));
    assert_eq!(stage.body("_b:put('made') do return 201 end"), "made");
    assert_eq!((stage.output.status, stage.output.author), (Some(201), Author::Page));
    for (code, told) in [
        ("return 'text'", "a page gives nothing, or a status (`return 404`), not a string"),
        ("return 99", "not a status: 99"),
        ("return 404.5", "not a status: 404.5"),
    ] {
        let error = stage.failure(code);
        assert!(error.message.contains(told), "{error}");
    }
}

#[test]
fn errors_that_a_client_is_to_blame_for_can_be_told_apart() {
    let mut stage = Stage::new();
    let count = limits::FIELDS_MAX + 1;
    stage.desk.cookies = (0..count).map(|number| (number.to_string(), String::new())).collect();
    let look = "local fine, why = pcall(function() return request.cookies.a end)";
    assert_eq!(stage.body(&format!("{look} _b:put(tostring(client_error(why)))")), "400");
    let code = format!(
        "{look} local other, what = pcall(error, 'mine') _b:put(tostring(client_error(what)), \
         tostring(client_error(nil)))"
    );
    assert_eq!(stage.body(&code), "nilnil");
    // The error of another run is unknown here.
    assert_eq!(stage.body("_b:put(tostring(client_error('x')))"), "nil");
    let again = format!("{look} if client_error(why) then error(why, 0) end");
    assert_eq!(stage.failure(&again).fault, Fault::Request);
}
