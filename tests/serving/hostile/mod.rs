//! Random programs with everything that a page can do: what a hostile author could write.
//!
//! Owns the grammar. The same seed gives the same program.

/// A random number generator, xorshift, so that a seed always gives the same program.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }

    fn one_of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len() as u64) as usize]
    }
}

/// Kinds of statements without nested blocks.
const SIMPLE: u64 = 39;

/// Deepest nesting of blocks.
const DEPTH_MAX: u32 = 4;

/// The program of a seed. It is called with `request`, `response` and the URL of the page that runs such programs.
pub(crate) fn program(seed: u64) -> String {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut text = String::from(
        "local request, response, url = ...\nlocal t, s, n, names, f, co = {}, 'x', 1, {}, nil, nil\n",
    );
    for _ in 0..2 + dice.below(5) {
        statement(&mut dice, &mut text, 0, Place::Page);
    }
    text
}

/// Where a statement is: request objects cannot be copied into a process.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Page,
    Process,
}

fn block(dice: &mut Dice, text: &mut String, depth: u32, place: Place) {
    for _ in 0..1 + dice.below(3) {
        statement(dice, text, depth + 1, place);
    }
}

fn statement(dice: &mut Dice, text: &mut String, depth: u32, place: Place) {
    let count = dice.one_of(&["3", "40", "900", "20000", "1e9"]);
    let kind = dice.below(if depth >= DEPTH_MAX { SIMPLE } else { SIMPLE + 14 });
    if kind < SIMPLE {
        let simple = simple(dice, kind, count, place);
        text.push_str(&simple);
        text.push('\n');
        return;
    }
    let (before, inner_place, after) = match kind - SIMPLE {
        0..=2 => (format!("for i = 1, {count} do n = i"), place, "end"),
        3..=6 => ("names[#names + 1] = spawn(function()".to_owned(), Place::Process, "end)"),
        7 => ("pcall(function()".to_owned(), place, "end)"),
        8 => ("co = coroutine.wrap(function()".to_owned(), place, "coroutine.yield(1) end) co()"),
        9 => ("f = function(a)".to_owned(), place, "end pcall(f, n)"),
        10 => ("while n do".to_owned(), place, "end"),
        11 => (
            "pcall(store.update, 'k' .. tostring(n), function(old)".to_owned(),
            place,
            "return (old or '') .. 'x' end)",
        ),
        12 => ("pcall(store.transaction, function(tr)".to_owned(), place, "tr:put('k1', s) end)"),
        _ => (
            "table.sort(t, function(a, b)".to_owned(),
            place,
            "return tostring(a) < tostring(b) end)",
        ),
    };
    text.push_str(&before);
    text.push('\n');
    block(dice, text, depth, inner_place);
    text.push_str(after);
    text.push('\n');
}

fn simple(dice: &mut Dice, kind: u64, count: &str, place: Place) -> String {
    let of_page = place == Place::Page;
    match kind {
        0 => format!("for i = 1, {count} do t[i] = i end"),
        1 => format!("for i = 1, {count} do t['k' .. i] = {{ i }} end"),
        2 => format!("for i = 1, {count} do t = {{ t, s }} end"),
        3 => format!("for i = 1, {count} do s = s .. i end"),
        4 => "s = ('abc'):rep(100000)".to_owned(),
        5 => "pcall(function() s = s:rep(1000) end)".to_owned(),
        6 => "pcall(function() s = s:gsub('a', '%0%0') end)".to_owned(),
        7 => "pcall(string.find, s, ('a*'):rep(20) .. 'b')".to_owned(),
        8 => "for w in s:gmatch('%w+') do t[w] = true end".to_owned(),
        9 => "pcall(function() s = json.encode(t) end)".to_owned(),
        10 => "pcall(function() t = json.decode(s) end)".to_owned(),
        11 => "for k, v in pairs(t) do t[k] = nil end".to_owned(),
        12 => "pcall(next, t)".to_owned(),
        13 => format!(
            "for i = 1, {count} do names[#names + 1] = spawn(function() receive(60) end) end"
        ),
        14 => format!(
            "for i = 1, {count} do spawn(function() while true do receive(0.001) end end) end"
        ),
        15 => format!("for i = 1, {count} do spawn(function() fetch(url) end) end"),
        16 => "local function again() spawn(again) spawn(again) end again()".to_owned(),
        17 => {
            format!("for _, name in ipairs(names) do for i = 1, {count} do send(name, s) end end")
        }
        18 => "send(self(), t)".to_owned(),
        19 => format!("receive({})", dice.one_of(&["0", "0.001", "0.5", "60"])),
        20 => dice
            .one_of(&[
                "pcall(fetch, url, { timeout = 1 })",
                "pcall(function() co = fetch(url, { stream = true, timeout = 1 }) s = co:read() end)",
                "pcall(function() for i = 1, 900 do t[i] = fetch(url, { stream = true }) end end)",
                "pcall(function() for piece in fetch(url, { stream = true }):pieces() do \
                 response:write(piece) response:flush() end end)",
                "pcall(function() co:close() end)",
            ])
            .to_owned(),
        21 => format!("sleep({})", dice.one_of(&["0", "0.001", "0.2"])),
        22 => {
            format!("for i = 1, {count} do coroutine.wrap(function() coroutine.yield(t) end)() end")
        }
        23 if of_page => format!("for i = 1, {count} do response:write(s) end"),
        24 if of_page => "response:flush()".to_owned(),
        25 if of_page => {
            "pcall(function() return request.json, request.form, request.files end)".to_owned()
        }
        26 => format!("for i = 1, {count} do log.warn(s) end"),
        27 => "error({ t })".to_owned(),
        28 => format!("f = load('return ' .. ('('):rep({count} % 150) .. '1')"),
        29 if of_page => "pcall(function() s = request.files[1]:read(100000) end)".to_owned(),
        30 if of_page => {
            format!("pcall(function() for i = 1, {count} do request.files[2]:read() end end)")
        }
        31 if of_page => {
            let name = dice.one_of(&["n", "s", "'same'", "names"]);
            format!(
                "pcall(function() for _, file in ipairs(request.files) do file:save({name}, {{ replace = \
                 true }}) end end)"
            )
        }
        32 => "pcall(function() t = request.files end)".to_owned(),
        33..=37 => of_store_and_channels(dice, kind, count),
        _ => dice
            .one_of(&["return", "local x = s + 1", "t = nil t = {}", "exit()", "n = n and nil"])
            .to_owned(),
    }
}

/// Statements that use the store or channels.
fn of_store_and_channels(dice: &mut Dice, kind: u64, count: &str) -> String {
    match kind {
        33 => format!("pcall(function() for i = 1, {count} do store.put('k' .. i, s) end end)"),
        34 => dice
            .one_of(&[
                "pcall(store.put, 'k1', t, { expires_in = 1 })",
                "pcall(function() s = store.get('k1') or s end)",
                "pcall(function() for k, v in store.scan('') do t[k] = v end end)",
                "pcall(function() for k in store.scan('k') do store.delete(k) end end)",
                "pcall(function() n = store.add('n', 1) end)",
                "store.put('n', s)",
            ])
            .to_owned(),
        35 => dice
            .one_of(&[
                "pcall(function() local w = store.watch('k') while w:receive(0.01) do end end)",
                "pcall(function() for i = 1, 900 do t[i] = store.watch('k') end end)",
                "pcall(function() for k, v in store.watch('k') do t[k] = v end end)",
                "pcall(store.transaction, function(tr) for i = 1, 900 do tr:put('k' .. i, tr:get('k1') or \
                 s) end end)",
                "pcall(store.update, 'k1', function() sleep(0.05) return s end)",
            ])
            .to_owned(),
        36 => format!("pcall(function() for i = 1, {count} do channel.publish('c', s) end end)"),
        _ => dice
            .one_of(&[
                "pcall(function() local c = channel.subscribe('c') while true do t[#t + 1] = c:receive(1) \
                 end end)",
                "pcall(function() for i = 1, 900 do t[i] = channel.subscribe('c' .. i) end end)",
            ])
            .to_owned(),
    }
}
