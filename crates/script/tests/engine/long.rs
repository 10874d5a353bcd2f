//! Library calls with a lot of work: they are done in pieces, between which others run, or refused. The results are the
//! same.

use std::time::Duration;

use script::engine::EngineSettings;

use crate::stage::{Course, Stage};

/// Plays a page without a time limit.
fn played(code: &str) -> Course {
    let mut stage = Stage::with(EngineSettings {
        cpu_budget: Duration::from_secs(3600),
        memory_bytes: 512 << 20,
        run_memory_bytes: 512 << 20,
        ..EngineSettings::default()
    });
    let page = stage.load(code);
    stage.play(&page).unwrap()
}

/// Checks that the call is interrupted more often than the code around it could explain, and returns the expected
/// result.
fn is_sliced(code: &str, expected: &str) {
    let course = played(code);
    assert_eq!(course.body, expected, "{code}");
    assert!(course.slices > 3, "{code}: {} slices", course.slices);
}

/// The same for a call whose preparation takes a while itself: a wait is between them, and what came before it does not
/// count.
fn is_sliced_after(before: &str, call: &str, expected: &str) {
    let course = played(&format!("{before} sleep(0) {call}"));
    assert_eq!(course.body, expected, "{call}");
    let own = course.slices - course.slices_before[0];
    assert!(own > 3, "{call}: {own} slices of {}", course.slices);
}

/// Checks that the page prints the expected results.
fn holds(code: &str) {
    assert_eq!(played(&format!("{code} _b:put('it holds')")).body, "it holds");
}

#[test]
fn long_texts_are_escaped_in_pieces() {
    is_sliced(
        "local text = html.escape(('\"'):rep(6000000)) _b:put(#text, text:sub(-7))",
        "36000000;&quot;",
    );
    // Pieces end anywhere: the results are those of short texts.
    let code = "local short = ('<a href=\"x\">&amp;</a>\\n'):rep(10)
        local long = short:rep(1000)
        _b:put(tostring(html.escape(long) == html.escape(short):rep(1000)), tostring(_e(('x'):rep(1e6)) == ('x'):rep(1e6)))";
    assert_eq!(played(code).body, "truetrue");
}

#[test]
fn letters_are_changed_in_pieces() {
    is_sliced("_b:put(#('x'):rep(12000000):upper())", "12000000");
    is_sliced("_b:put(#('x'):rep(12000000):lower())", "12000000");
    is_sliced("_b:put(#('x'):rep(12000000):reverse())", "12000000");
    holds(
        "local short, long = 'aBc', ('aBc'):rep(100000)
        assert(long:upper() == ('ABC'):rep(100000) and long:lower() == ('abc'):rep(100000))
        assert(long:reverse() == ('cBa'):rep(100000))",
    );
}

#[test]
fn a_long_repetition_is_what_short_ones_make_together() {
    holds(
        "for _, count in ipairs { 70000, 65536, 65537, 32768, 2 } do
          for _, text in ipairs { 'x', 'abc', ('y'):rep(3000) } do
            local long = text:rep(count / #text)
            local made = {}
            for index = 1, math.floor(count / #text) do made[index] = text end
            assert(long == table.concat(made))
            assert(text:rep(count / #text, ', ') == table.concat(made, ', '))
          end
        end
        assert(('x'):rep('100000') == ('x'):rep(100000) and string.rep(12, 50000) == ('12'):rep(50000))",
    );
}

#[test]
fn long_formats_and_texts_are_formatted_in_pieces() {
    is_sliced("_b:put(#string.format(('%%'):rep(1000000)))", "1000000");
    is_sliced("_b:put(#string.format('%q', ('\\n'):rep(4000000)))", "8000002");
    is_sliced(
        "local values = {} for index = 1, 7000 do values[index] = 1.5e300 end
        _b:put(#string.format(('%.99f'):rep(7000), unpack(values)))",
        "2807000",
    );
    holds(
        "local text = ('a\\1\\0012\"\\\\\\n\\127\\1279'):rep(20000)
        assert(loadstring('return ' .. string.format('%q', text:sub(1, 5000)))() == text:sub(1, 5000))
        local long = string.format('%q', text)
        assert(long == '\"' .. string.format('%q', ('a\\1\\0012\"\\\\\\n\\127\\1279')):sub(2, -2):rep(20000) .. '\"')
        assert(string.format(('x'):rep(5000) .. '%d %s%%', 5, text) == ('x'):rep(5000) .. '5 ' .. text .. '%')",
    );
}

#[test]
fn long_lists_are_put_together_in_pieces() {
    is_sliced_after(
        "local list = {} for index = 1, 200000 do list[index] = index / 7 end",
        "_b:put(#table.concat(list, ','))",
        "2903189",
    );
    holds(
        "local list = {} for index = 1, 12001 do list[index] = index % 7 end
        local all = table.concat(list, '--')
        assert(all == table.concat(list, '--', 1, 4000) .. '--' .. table.concat(list, '--', 4001, 8000) .. '--'
          .. table.concat(list, '--', 8001, 12000) .. '--' .. 12001 % 7)
        list[9000] = {}
        local _, why = pcall(table.concat, list)
        assert(why:find('invalid value (table) at index 9000 in table for \\'concat\\'', 1, true), why)",
    );
}

#[test]
fn much_is_moved_for_an_inserted_value_in_pieces() {
    is_sliced("local list = {} table.insert(list, -1e8, 'x') _b:put(list[-1e8])", "x");
    holds(
        "local list = {} for index = 1, 60000 do list[index] = index end
        table.insert(list, 1, 'first') table.insert(list, '60000', 'late')
        assert(#list == 60002 and list[1] == 'first' and list[2] == 1 and list[60000] == 'late')
        assert(list[59999] == 59998 and list[60001] == 59999 and list[60002] == 60000)
        list[5e6] = 1
        assert(table.maxn(list) == 5e6)",
    );
}

#[test]
fn long_replacements_are_made_in_pieces() {
    is_sliced("_b:put(#('a'):rep(600):gsub('', ('x'):rep(100000)))", "60100600");
    is_sliced("local text = ('ab'):rep(200000):gsub('a(b)', '%1') _b:put(#text)", "200000");
    is_sliced("_b:put(#('aa'):gsub('a', ('%%'):rep(100000)))", "200000");
    is_sliced("_b:put(#('a'):rep(100000):gsub('.*', ('%0'):rep(500)))", "50000000");
    holds(
        "local text = ('ab '):rep(10000)
        assert(text:gsub('(a)(b)', '<%2%1%%>') == ('<ba%> '):rep(10000))
        assert(text:gsub('%a+', 7) == ('7 '):rep(10000))
        assert(select(2, text:gsub('a', ('%0'):rep(1000), 3)) == 3)
        local fine, why = pcall(string.gsub, text, 'a', '%2')
        assert(not fine and why:find('invalid capture index', 1, true), why)",
    );
}

#[test]
fn long_classes_count_as_what_they_cost() {
    is_sliced("_b:put(('a'):rep(1900000):find('[' .. ('b'):rep(4000) .. ']') or 'no')", "no");
    is_sliced("_b:put(('a'):rep(1900000):find('%f[' .. ('b'):rep(3000) .. ']') or 'no')", "no");
    is_sliced("_b:put(('a'):rep(1900000):find(('%a'):rep(30) .. 'b') or 'no')", "no");
}

#[test]
fn long_texts_are_searched_in_pieces() {
    is_sliced_after(
        "local text, needle = ('ab'):rep(4000000), ('ab'):rep(250000) .. 'c'",
        "_b:put(text:find(needle, 1, true) or 'no', ' ', (text .. 'c'):find(needle, 1, true))",
        "no 75000018000001",
    );
    // Every byte is checked for whether it is a pattern.
    is_sliced("_b:put(('b'):find(('a'):rep(500000)) or 'no')", "no");
    // At each place where one piece ends and the next begins.
    holds(
        "local needle = ('n'):rep(5000)
        for at = 262000, 262400, 57 do
          local text = ('x'):rep(at - 1) .. needle .. ('y'):rep(300000)
          assert(text:find(needle, 1, true) == at and text:find(needle, at, true) == at)
          assert(not text:find(needle, at + 1, true))
        end",
    );
}

#[test]
fn json_of_long_texts_is_made_in_pieces() {
    is_sliced("_b:put(#json.encode(('\\n'):rep(1000000)))", "2000002");
    holds(
        "local text = ('a\"b\\n<\\1'):rep(20000)
        assert(json.encode(text) == '\"' .. json.encode('a\"b\\n<\\1'):sub(2, -2):rep(20000) .. '\"')
        assert(json.decode(json.encode(text)) == text)
        local digits = ('1'):rep(1000)
        assert(json.decode('0.' .. digits:sub(3)) == tonumber('0.' .. digits:sub(3)))
        assert(not pcall(json.decode, '0.' .. digits))",
    );
}

#[test]
fn long_texts_are_sorted_in_slices() {
    is_sliced_after(
        "local list = {}
        for index = 1, 400 do list[index] = ('x'):rep(200000) .. 1000 + index * 7 % 401 end",
        "table.sort(list)
        for index = 1, 400, 57 do _b:put(list[index]:sub(-4), ' ') end",
        "1001 1058 1115 1172 1229 1286 1343 1400 ",
    );
}
