//! Everything a page sets, names, logs or requests has a limit: beyond it there is an error at the page's line, or it
//! is shortened. Values just below the limit work as usual.

use script::engine::Fault;
use script::limits;

use crate::stage::Stage;
use crate::waits::{Step, Wait};

/// The first call succeeds; the second one is refused at its line, with this text.
fn is_bounded(fine: &str, refused: &str, words: &str) {
    let mut stage = Stage::new();
    let page = stage.load(fine);
    stage.play(&page).unwrap_or_else(|error| panic!("{fine}: {error}"));
    let error = stage.failure(&format!("\n{refused}"));
    assert_eq!(error.line, 2, "{refused}: {error}");
    assert!(error.message.contains(words), "{refused}: {error}");
    assert!(error.message.len() < 400, "{refused}: {error}");
}

#[test]
fn names_and_values_of_fields_are_bounded() {
    is_bounded(
        "response.headers.a = ('x'):rep(16384)",
        "response.headers.a = ('x'):rep(16385)",
        "the value of 'a' is longer than 16384 bytes",
    );
    is_bounded(
        "response.headers[('x'):rep(256)] = 'x'",
        "response.headers[('x'):rep(257)] = 'x'",
        "not a field name",
    );
    is_bounded(
        "response.headers.a = { ('x'):rep(16384), ('x'):rep(16384), ('x'):rep(16384), ('x'):rep(16300) }",
        "response.headers.a = { ('x'):rep(16384), ('x'):rep(16384), ('x'):rep(16384), ('x'):rep(16384), 'x' \
         }",
        "the values of 'a' are longer than 65536 bytes together",
    );
    is_bounded(
        "response:redirect('/' .. ('x'):rep(16383))",
        "response:redirect('/' .. ('x'):rep(16384))",
        "the target of redirect is longer than 16384 bytes",
    );
    is_bounded(
        "response:cookie('a', ('x'):rep(16000))",
        "response:cookie('a', ('x'):rep(16385))",
        "the value of the cookie 'a' is longer than 16384 bytes",
    );
    is_bounded(
        "for index = 1, 4 do response:cookie('a' .. index, ('x'):rep(16000)) end",
        "for index = 1, 5 do response:cookie('a' .. index, ('x'):rep(16000)) end",
        "the cookies are longer than 65536 bytes together",
    );
}

#[test]
fn a_head_is_bounded_as_a_whole() {
    let mut stage = Stage::new();
    let code = "for index = 1, 4 do response.headers['a' .. index] = ('x'):rep(16300) end";
    stage.body(code);
    let error = stage.failure(&format!("{code} response.headers.b = ('x'):rep(400)"));
    assert!(
        error.message.starts_with("the fields of the answer are longer than 65536 bytes together"),
        "{error}"
    );
    let error =
        stage.failure(&format!("{code} response.headers['X-Long'] = {{ 'x', ('y'):rep(16301) }}"));
    assert!(error.message.ends_with("; the largest is 'X-Long', with 16301"), "{error}");
}

/// The first call of `fetch` waits for its answer; the second one is refused.
fn fetch_is_bounded(fine: &str, refused: &str, words: &str) {
    let mut stage = Stage::new();
    let page = stage.load(fine);
    assert!(matches!(stage.start(&page), Step::Waits(_, Wait::Fetch(_))), "{fine}");
    let error = stage.failure(&format!("\n{refused}"));
    assert_eq!((error.line, &*error.message), (2, words));
}

#[test]
fn url_of_fetch_is_bounded() {
    fetch_is_bounded(
        "fetch('http://a/' .. ('x'):rep(16375))",
        "fetch('http://a/' .. ('x'):rep(16376))",
        "fetch: the URL is longer than 16384 bytes",
    );
    fetch_is_bounded(
        "fetch('http://a/', { headers = { a = ('x'):rep(16384) } })",
        "fetch('http://a/', { headers = { a = ('x'):rep(16385) } })",
        "fetch: the value of 'a' is longer than 16384 bytes",
    );
    let with = |count: usize| {
        format!(
            "local all = {{}} for index = 1, {count} do all['a' .. index] = ('x'):rep(16000) end \
            fetch('http://a/', {{ headers = all }})"
        )
    };
    let words = "fetch: the headers are longer than 65536 bytes together";
    fetch_is_bounded(&with(4), &with(5), words);
}

#[test]
fn as_many_values_are_taken_as_unpack_gives() {
    let mut stage = Stage::new();
    for count in [3, 4, 30, 31, 613, 7999] {
        let code = format!(
            "local t = {{}} for index = 1, {count} do t[index] = index % 10 + 48 end
            assert(#string.char(unpack(t)) == {count} and math.max(unpack(t)) >= 51 and bit.bor(unpack(t)) >= 51)
            for index = 1, {count} do t[index] = string.char(t[index]) end
            assert(math.max(unpack(t)) >= 3)
            response:write(unpack(t)) _b:put('|')
            print(unpack(t))
            assert(#string.format(('%s'):rep({count}), unpack(t)) == {count})"
        );
        let body = stage.body(&code);
        assert_eq!((body.len(), &body[..4]), (count + 1, if count > 3 { "1234" } else { "123|" }));
    }
    // Wherever the long texts are among them.
    for place in [1, 3, 7, 33, 34, 35, 5000] {
        let error = stage.failure(&format!(
            "local t = {{}} for index = 1, 5000 do t[index] = 1 end t[{place}] = ('1'):rep(70000)
            math.max(unpack(t))"
        ));
        assert!(
            error.message.contains("numbers that are texts have more than 65536 bytes"),
            "{error}"
        );
    }
}

#[test]
fn value_out_of_range_has_no_date() {
    for code in [
        "time.date('%Y', 0/0)",
        "time.http(1/0)",
        "time.http(-1/0)",
        "time.date(nil, 1e17)",
        "os.date('!%c', 1e300)",
        "time.http(0/0)",
    ] {
        let error = Stage::new().failure(&format!("\n{code}"));
        assert_eq!(error.line, 2, "{code}: {error}");
        assert!(error.message.contains("no date is "), "{code}: {error}");
    }
    let fine = "assert(time.http(0) == 'Thu, 01 Jan 1970 00:00:00 GMT' and time.date('!%Y', -1) == '1969' \
                and time.date('') == '')";
    Stage::new().body(fine);
}

#[test]
fn dates_numbers_and_names_are_bounded() {
    is_bounded(
        "assert(#os.date(('x'):rep(1024)) == 1024)",
        "os.date(('x'):rep(1025))",
        "the format of a date is longer than 1024 bytes",
    );
    is_bounded(
        "math.max(('1'):rep(30000), ('1'):rep(30000))",
        "math.max(('1'):rep(40000), ('1'):rep(40000))",
        "numbers that are texts have more than 65536 bytes",
    );
    is_bounded(
        "assert(tonumber((' '):rep(65535) .. 7) == 7)",
        "assert(tonumber((' '):rep(65536) .. 7) == 7)",
        "assertion failed",
    );
    is_bounded(
        "pcall(include, ('x'):rep(4096))",
        "include(('x'):rep(4097))",
        "the name of a part has more than 4096 bytes",
    );
    is_bounded(
        "local text = ('a'):rep(1e6) assert(not text:find(('b'):rep(524288), 1, true))",
        "local text = ('a'):rep(1e6) text:find(('b'):rep(524289), 1, true)",
        "the text to find is longer than 524288 bytes",
    );
    is_bounded("('x'):rep('16777216')", "('x'):rep('16777217')", "the result of 'rep'");
    is_bounded("string.rep(5, 16777216)", "string.rep(55, 16777216)", "the result of 'rep'");
}

#[test]
fn load_is_bounded_by_compilation_cost() {
    let mut stage = Stage::new();
    for (text, why) in [
        ("('x=1 '):rep(20000)", "the text is longer than 65536 bytes"),
        ("function() return 'x=1 ' end", "the text is longer than 65536 bytes"),
        ("'local a return a' .. (' or a'):rep(1001)", "the text has more than 1000 jumps"),
        ("'local a return a' .. ('?.b'):rep(1001)", "the text has more than 1000 jumps"),
        ("'return ' .. ('1e300,'):rep(200) .. '1e300'", "the text has more than 200 numbers"),
        ("'return ' .. ('1'):rep(4020)", "the text has more than 200 numbers"),
    ] {
        let told = stage.body(&format!("local _, why = load({text}) _b:put(why)"));
        assert!(told.starts_with(why), "{text}: {told}");
    }
    for text in [
        "('x=1 '):rep(16000)",
        "'local a return a' .. (' or a'):rep(1000)",
        "'local a return a' .. (' || a'):rep(1000)",
        "'return ' .. ('1e300,'):rep(199) .. '1e300'",
        "'return ' .. ('1'):rep(4019)",
    ] {
        assert_eq!(stage.body(&format!("_b:put(type(load({text})))")), "function", "{text}");
    }
    let told = stage.failure("\nload(function() return {} end)");
    assert_eq!(
        (told.line, &*told.message),
        (2, "bad argument #1 to 'load' (the function gave a table in the place of a string)")
    );
}

#[test]
fn a_line_of_the_log_is_cut() {
    let mut stage = Stage::new();
    stage.body("log.info(('x'):rep(65535), 'y') log.info(('x'):rep(65534), 'y') print(unpack({ 'a', nil, 7 \
                }, 1, 3))");
    stage.body("local long = ('x'):rep(10000) print(long, long, long, long, long, long, long, long, 'end')");
    let lines: Vec<&str> = stage.desk.log.iter().map(|(_, line)| &**line).collect();
    let long = "x".repeat(65534);
    assert_eq!(lines[0], format!("{long}x .. (1 bytes more)").replacen(" ..", "  ..", 1));
    assert_eq!(lines[1], format!("{long} y"));
    assert_eq!(lines[2], "a nil 7");
    assert_eq!(lines[3].len(), 65536 + " .. (14475 bytes more)".len());
    assert!(lines[3].ends_with("x .. (14475 bytes more)"), "{}", &lines[3][65500..]);
}

#[test]
fn long_error_message_is_truncated() {
    let mut stage = Stage::new();
    let place = "test.page.html:1: ".len();
    let most = limits::MESSAGE_TEXT_SIZE - place;
    let error = stage.failure(&format!("error(('x'):rep({most}))"));
    assert_eq!((error.line, error.message.len()), (1, most));
    let error = stage.failure(&format!("error(('x'):rep({most} + 5))"));
    assert_eq!((error.line, error.message.len()), (1, most + " .. (5 bytes more)".len()));
    assert!(error.message.ends_with("x .. (5 bytes more)"));
    // In the middle of a character.
    let error = stage.failure("error(('\u{e4}'):rep(1e6), 0)");
    assert!(error.message.ends_with(" bytes more)"));
}

#[test]
fn very_many_fields_of_a_request_are_refused_where_a_page_looks() {
    let mut stage = Stage::new();
    let cookies = |count: usize| (0..count).map(|number| (number.to_string(), String::new()));
    let code =
        "local count = 0 for _ in pairs(request.cookies) do count = count + 1 end _b:put(count)";
    stage.desk.cookies = cookies(limits::FIELDS_MAX).collect();
    assert_eq!(stage.body(code), limits::FIELDS_MAX.to_string());
    stage.desk.cookies = cookies(limits::FIELDS_MAX + 1).collect();
    let error = stage.failure(&format!("\n{code}"));
    assert_eq!((error.line, &*error.message), (2, "request.cookies has more than 2000 fields"));
    assert_eq!(error.fault, Fault::Request);
}

#[test]
fn client_fault_stays_client_fault_unless_page_raises_another() {
    let mut stage = Stage::new();
    let count = limits::FIELDS_MAX + 1;
    stage.desk.cookies = (0..count).map(|number| (number.to_string(), String::new())).collect();
    let look = "local fine, why = pcall(function() return request.cookies.a end)";
    assert_eq!(
        stage.body(&format!("{look} _b:put(tostring(fine), ' ', why)")),
        "false test.page.html:1: request.cookies has more than 2000 fields"
    );
    for (code, fault) in [
        ("error(why, 0)", Fault::Request),
        ("error('no: ' .. why, 0)", Fault::Runtime),
        ("local x = nil; x.y = 1", Fault::Runtime),
    ] {
        assert_eq!(stage.failure(&format!("{look} {code}")).fault, fault, "{code}");
    }
    let inner = "coroutine.wrap(function() return request.cookies.a end)()";
    assert_eq!(stage.failure(inner).fault, Fault::Request);
}
