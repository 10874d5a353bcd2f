//! Tests of the rule that nothing is held where Lua may raise: each native function runs with too
//! little memory, at each of its allocations in turn.

use std::time::Duration;

use crate::engine::ffi::context::MemorySizes;
use crate::engine::ffi::coroutine::Coroutine;
use crate::engine::ffi::ledger::Meter;
use crate::engine::ffi::lua::{Lua, Resumed};
use crate::engine::ffi::pieces::Describe;
use crate::engine::ffi::reference::Reference;
use crate::engine::host::{
    HostAnswer, PageHost, PageLogLevel, PublishedValue, RecordScan, RequestPart,
};
use crate::engine::keys::Keys;

/// Functions of the library that call native ones, and keep what they get until they wait.
const LIBRARY: &str = "local kit = ...
local function waits(call, ...)
  local arguments = { ... }
  return function() coroutine.yield(call(unpack(arguments))) end
end
kit.text, kit.fields = waits(kit.ask, 1), waits(kit.ask, 4)
kit.published, kit.named = waits(kit.publish_message, 1, 'c', 'x'), waits(kit.site)
kit.record, kit.no_record = waits(kit.read_record, '0', 'good'), waits(kit.read_record, '0', 'bad')
kit.records = waits(kit.read_records, '0', 'good', '', 0, 9, 0)
kit.no_records = waits(kit.read_records, '0', 'bad', '', 0, 9, 0)
kit.signed = waits(kit.sign, 'a', 1, 'b')";

/// More than LuaJIT keeps free anywhere.
const LONG: [u8; 3000] = [b'x'; 3000];

/// Bytes that the memory has room for, from none to enough.
const ROOMS: std::ops::Range<usize> = 0..60_000;

/// A host whose answers are long.
struct Wordy;

impl PageHost for Wordy {
    fn request(&mut self, part: RequestPart, answer: &mut HostAnswer) {
        if part == RequestPart::Method {
            answer.text(&LONG);
        } else {
            (0..9).for_each(|number| answer.field(&[b'0' + number], &LONG));
        }
    }

    fn now(&mut self) -> Duration {
        Duration::ZERO
    }

    fn site(&mut self, name: &mut Vec<u8>) {
        name.extend_from_slice(&LONG);
    }

    fn log(&mut self, _level: PageLogLevel, _text: &[u8]) {}

    fn publish(&mut self, _channel: &[u8], _value: PublishedValue<'_>) -> Result<(), String> {
        Err("no ".repeat(1000))
    }

    fn record(&mut self, _: &[u8], key: &[u8], answer: &mut HostAnswer) -> Result<(), String> {
        (0..2).for_each(|_| answer.field(&LONG, &LONG));
        if key == b"good" { Ok(()) } else { Err("no ".repeat(1000)) }
    }

    fn records(&mut self, wanted: RecordScan<'_>, answer: &mut HostAnswer) -> Result<(), String> {
        (0..8).for_each(|_| answer.field(&LONG, &LONG));
        if wanted.prefix == b"good" { Ok(()) } else { Err("no ".repeat(1000)) }
    }
}

fn lua() -> (Lua, [Reference; 9]) {
    let sizes = MemorySizes { whole: 8 << 20, table: 1 << 20 };
    let mut lua = Lua::open(sizes, Duration::from_secs(1)).expect("memory").expect("a state");
    lua.set_keys(Keys::new(["a secret"]));
    let names = [
        c"text",
        c"fields",
        c"published",
        c"named",
        c"record",
        c"no_record",
        c"records",
        c"no_records",
        c"signed",
    ];
    let kept = lua.build(&[(c"=library", LIBRARY)], &[], &[], names).expect("it compiles");
    (lua, kept)
}

fn run(lua: &mut Lua, coroutine: &mut Coroutine) -> Resumed {
    lua.resume(coroutine, 0, &mut Wordy, &mut Meter::of_nobody()).0
}

#[test]
fn nothing_is_held_where_lua_may_raise() {
    let (mut lua, functions) = lua();
    for (number, function) in functions.iter().enumerate() {
        let mut coroutine = lua.coroutine(function).expect("a coroutine");
        assert_eq!(run(&mut lua, &mut coroutine), Resumed::Yielded, "{number}");
        assert_eq!(
            lua.context().host.take_held(),
            0,
            "allocations while a cell is held, of {number}"
        );
        lua.drop_coroutine(coroutine);
    }
}

#[test]
fn an_answer_that_was_not_pushed_is_asked_for_again() {
    let (mut lua, functions) = lua();
    for (number, function) in functions.iter().enumerate() {
        let (mut refused, mut outcome) = (0, Resumed::OutOfMemory);
        for room in ROOMS.step_by(64) {
            let mut coroutine = lua.coroutine(function).expect("a coroutine");
            lua.collect();
            let (used, whole) = (lua.memory().used(), lua.memory().whole());
            lua.memory().set_whole(used + room);
            outcome = run(&mut lua, &mut coroutine);
            lua.memory().set_whole(whole);
            lua.drop_coroutine(coroutine);
            if outcome != Resumed::OutOfMemory {
                break;
            }
            refused += 1;
            assert!(!lua.context().host.is_held(), "{number} with {room}");
            let mut coroutine = lua.coroutine(function).expect("a coroutine");
            assert_eq!(run(&mut lua, &mut coroutine), Resumed::Yielded, "{number} after {room}");
            lua.drop_coroutine(coroutine);
        }
        assert!(refused > 0, "{number} was never refused");
        assert_eq!(outcome, Resumed::Yielded, "{number} with enough memory");
    }
}

#[test]
fn the_limit_comes_back_when_a_place_cannot_be_described() {
    let (mut lua, _) = lua();
    let looping = "local kit, calls = ..., 0
        function kit.fails() calls = calls + 1 error({}) end
        function kit.loop()
            local sum = 0
            for number = 1, 1000 do sum = sum + number end
            coroutine.yield(calls)
        end";
    let names = [c"loop", c"fails"];
    let [body, Reference(function)] =
        lua.build(&[(c"=loop", looping)], &[], &[], names).expect("it compiles");
    let pieces = &lua.context().pieces;
    let known = pieces.describe().expect("a description");
    pieces.describe_by(Describe { function, ..known });
    let bound = lua.memory().bound();
    let mut coroutine = lua.coroutine(&body).expect("a coroutine");
    assert_eq!(run(&mut lua, &mut coroutine), Resumed::Yielded);
    assert!(coroutine.stack().number_at(1) > 0.0, "the compiler began");
    assert_eq!(lua.memory().bound(), bound);
    lua.drop_coroutine(coroutine);
}

#[test]
#[should_panic(expected = "a coroutine belongs to this state")]
fn a_coroutine_is_not_run_by_another_state() {
    let ((mut one, functions), (mut other, _)) = (lua(), lua());
    let mut coroutine = one.coroutine(&functions[0]).expect("a coroutine");
    run(&mut other, &mut coroutine);
}

#[test]
#[should_panic(expected = "the state of a coroutine is open")]
fn a_coroutine_is_not_read_after_its_state() {
    let (mut lua, functions) = lua();
    let coroutine = lua.coroutine(&functions[0]).expect("a coroutine");
    drop(lua);
    coroutine.stack().number_at(1);
}
