//! Goal: a page reads and writes values of the store with their types, and retries an update after a conflict. Method:
//! a host with records, which answers each wait in turn.

use script::engine::WaitReply;

use crate::stage::Stage;
use crate::waits::{Step, Wait};

/// A stage with values of each kind.
fn stage() -> Stage {
    let mut stage = Stage::new();
    let records: [(&[u8], [&'static [u8]; 4]); 5] = [
        (b"bytes", [b"0", b"5", b"7", b""]),
        (b"huge", [b"1", b"9223372036854775807", b"8", b""]),
        (b"json", [b"2", b"{\"a\":[1]}", b"9", b"1500"]),
        (b"none", [b"2", b"null", b"10", b""]),
        (b"number", [b"1", b"-3", b"11", b""]),
    ];
    stage.desk.records.extend(records.map(|(key, record)| (key.to_vec(), record)));
    stage
}

/// Plays a page with these replies in turn; returns its waits, and its output or error.
fn played(stage: &mut Stage, code: &str, replies: &[WaitReply<'_>]) -> (Vec<String>, String) {
    let page = stage.load(code);
    let (mut waits, mut replies) = (Vec::new(), replies.iter());
    let mut step = stage.start(&page);
    loop {
        step = match step {
            Step::Waits(run, wait) => {
                waits.push(match wait {
                    Wait::Order(text) => format!("order {}", String::from_utf8_lossy(&text)),
                    Wait::StandInLine(line) => format!("line {}", String::from_utf8_lossy(&line)),
                    Wait::Commit { after, time } => {
                        // The host has something to show when it goes on.
                        stage.desk.records.remove(b"bytes".as_slice());
                        stage.desk.records.insert(b"new".to_vec(), [b"1", b"1", b"12", b""]);
                        if let Some(json) = stage.desk.records.get_mut(b"json".as_slice()) {
                            *json = [b"0", b"other", b"13", b""];
                        }
                        format!("commit {after} {time:?}")
                    }
                    other => panic!("{other:?}"),
                });
                let reply = *replies.next().expect("it waits no more often");
                stage.reply(run, reply)
            }
            Step::Done => return (waits, String::from_utf8(stage.output.body.clone()).unwrap()),
            Step::Failed(error) => return (waits, error.to_string()),
            Step::Sliced(run) => stage.resume(run),
        };
    }
}

fn written(code: &str) -> String {
    let (waits, written) = played(&mut stage(), code, &[]);
    assert_eq!(waits, Vec::<String>::new(), "{code}");
    written
}

const DONE: WaitReply<'_> = WaitReply::Texts(&[b"done", b"1"]);
const REFUSED: WaitReply<'_> = WaitReply::Texts(&[b"refused", b""]);

#[test]
fn values_are_read_as_what_they_are() {
    let show = "local function show(key) local value, about = store.get(key)
        response:write(type(value), ' ', json.encode(value), ' ', json.encode(about and about.version), ' ', tostring(about and about.expires_at), ';') end ";
    for (key, expected) in [
        ("bytes", "string \"5\" \"7\" nil;"),
        ("huge", "string \"9223372036854775807\" \"8\" nil;"),
        ("json", "table {\"a\":[1]} \"9\" 1.5;"),
        ("none", "userdata null \"10\" nil;"),
        ("number", "number -3 \"11\" nil;"),
        ("absent", "nil null null nil;"),
    ] {
        assert_eq!(written(&format!("{show} show('{key}')")), expected);
    }
    assert_eq!(written("response:write((store.database('9'):get('number')))"), "-3");
}

#[test]
fn a_scan_gives_all_keys_page_by_page_and_no_more_than_it_is_asked_for() {
    let mut stage = stage();
    for number in 0..250 {
        stage.desk.records.insert(format!("m:{number:03}").into_bytes(), [b"1", b"1", b"1", b""]);
    }
    let code = "local count, last = 0 for key, value in store.scan('m:') do count, last = count + value, key end
        response:write(count, last, ' ')
        for key, value, about in store.scan('n', { limit = 1 }) do response:write(key, about.version) end
        for key in store.scan('', { after = 'none', limit = 5 }) do response:write(key) end
        response:write(tostring(store.scan('m:', { limit = 0 })()), tostring(store.scan('x')()))";
    assert_eq!(played(&mut stage, code, &[]).1, "250m:249 none10numbernilnil");
}

#[test]
fn changes_cross_as_items_and_their_outcomes_come_back() {
    let order = |code: &str, reply: WaitReply<'_>| {
        let code =
            format!("local one, two = {code} response:write(tostring(one), ' ', tostring(two))");
        let (waits, written) = played(&mut stage(), &code, &[reply]);
        (waits.concat(), written)
    };
    let put = |kind: &str, bytes: &str, end: &str, condition: &str| {
        let items = ["0", "put", "0", "k", kind, bytes, end, condition];
        let text: String = items.iter().map(|item| format!("{}:{item}", item.len())).collect();
        format!("order {text}")
    };
    for (value, kind, bytes) in [
        ("'a:b'", "0", "a:b"),
        ("5", "1", "5"),
        ("-0", "1", "0"),
        ("1.5", "2", "1.5"),
        ("true", "2", "true"),
        ("{ 1, json.null }", "2", "[1,null]"),
        ("json.null", "2", "null"),
        ("2 ^ 53", "2", "9007199254740992"),
    ] {
        let done = order(&format!("store.put('k', {value})"), DONE);
        assert_eq!(done, (put(kind, bytes, "", ""), "true nil".to_owned()), "{value}");
    }
    // The clock of the stage says 1,000,000,000.5 s.
    let (sent, _) = order("store.put('k', 'x', { expires_in = 2.25, only = 'absent' })", DONE);
    assert_eq!(sent, put("0", "x", "1000000002750", "absent"));
    let (sent, gave) = order(
        "store.put('k', 'x', { keep_expiry = true, version = '7' })",
        WaitReply::Texts(&[b"done", b"0"]),
    );
    assert_eq!((sent, gave), (put("0", "x", "keep", "7"), "false nil".to_owned()));
    let full = WaitReply::Texts(&[b"failed", b"the disk is full"]);
    for call in
        ["store.put('k', 1)", "store.delete('k')", "store.add('k')", "store.transaction(print)"]
    {
        assert_eq!(order(call, full).1, "nil the disk is full", "{call}");
    }
    let sum = order("store.database('cards'):add('k', -2)", WaitReply::Texts(&[b"done", b"40"]));
    assert_eq!(sum, ("order 1:03:add5:cards1:k2:-2".to_owned(), "40 nil".to_owned()));
    let deleted = order("store.delete('k', { version = '7' })", DONE);
    assert_eq!(deleted, ("order 1:06:delete1:01:k1:7".to_owned(), "true nil".to_owned()));
    let (_, told) = order("store.put('k', 1)", WaitReply::Texts(&[b"wrong", b"there is no store"]));
    assert_eq!(told, "test.page.html:1: store.put: there is no store");
}

#[test]
fn an_update_that_others_come_before_is_tried_again_in_line() {
    let code = "local calls = 0
        response:write(store.update('number', function(value) calls = calls + 1 return value + 1 end), ' ', calls)";
    let sent = "order 1:11:06:number2:113:put1:06:number1:12:-24:keep0:";
    let (waits, wrote) = played(&mut stage(), code, &[DONE]);
    assert_eq!((waits, wrote.as_str()), (vec![sent.to_owned()], "-2 1"));
    let replies = [REFUSED, WaitReply::Nothing, REFUSED, DONE, WaitReply::Nothing];
    let (waits, wrote) = played(&mut stage(), code, &replies);
    assert_eq!(waits, [sent, "line 0/number", sent, sent, "line "]);
    assert_eq!(wrote, "-2 3");
    // Nothing is written if the function returns nothing, and the page leaves the queue of the key when it fails.
    let code = "response:write(store.update('number', function() end), tostring(store.update('x', \
                function() end)))";
    assert_eq!(written(code), "-3nil");
    let code = "local calls = 0
        response:write((select(2, pcall(store.update, 'number', function(value)
          calls = calls + 1
          if calls == 2 then error('enough', 0) end
          return 1
        end))))";
    let (waits, wrote) =
        played(&mut stage(), code, &[REFUSED, WaitReply::Nothing, WaitReply::Nothing]);
    assert_eq!(
        (waits.len(), waits.last().unwrap().as_str(), wrote.as_str()),
        (3, "line ", "enough")
    );
    let mut replies = vec![REFUSED, WaitReply::Nothing];
    replies.extend([REFUSED; 99]);
    replies.push(WaitReply::Nothing);
    let code = "response:write(select(2, store.update('number', function() return 1 end)))";
    let (_, wrote) = played(&mut stage(), code, &replies);
    assert_eq!(wrote, "others changed what it had read, each time that it was tried");
}

#[test]
fn a_transaction_sees_what_it_wrote_and_depends_on_what_it_read() {
    let code = "local runs, kept = 0
        local done, was = store.transaction(function(t)
          runs, kept = runs + 1, t
          local was = t:get('number')
          t:put('number', was - 1)
          t:delete('bytes')
          assert(t:get('number') == -4 and t:get('bytes') == nil and t:get('absent') == nil)
          return was
        end)
        response:write(tostring(done), was, runs, ' ', (select(2, pcall(kept.get, kept, 'a'))))";
    let (waits, wrote) =
        played(&mut stage(), code, &[REFUSED, WaitReply::Nothing, DONE, WaitReply::Nothing]);
    assert_eq!(
        wrote,
        "true-32 test.page.html:10: get is called with a colon, within its transaction: t:get(...)"
    );
    let order = waits.first().unwrap();
    assert!(order.starts_with("order 1:2"), "two keys were read: {order}");
    for part in
        ["1:06:number2:11", "1:06:absent1:0", "3:put1:06:number1:12:-40:0:", "6:delete1:05:bytes0:"]
    {
        assert!(order.contains(part), "{part} in {order}");
    }
    assert_eq!([waits[1].as_str(), waits[3].as_str()], ["line 0", "line "]);
}

#[test]
fn a_database_goes_with_a_process_and_a_transaction_does_not() {
    let mut stage = stage();
    let page = stage.load(
        "local cards = store.database('cards') spawn(function() return cards:get('a'), \
                           store.get end)",
    );
    assert!(matches!(stage.start(&page), Step::Waits(_, Wait::Spawn(_))));
}

#[test]
fn a_watch_gives_what_others_have_changed_and_nothing_else() {
    let code = "local watch, seen = store.watch(''), {}
        for key, value in watch do
          seen[key] = value == nil and 'gone' or value
          if seen.new and seen.json and seen.bytes then break end
        end
        response:write(seen.bytes, seen.json, seen.new, tostring(seen.number), ' ', tostring(watch:receive(0)))";
    let (waits, wrote) = played(&mut stage(), code, &[WaitReply::Nothing]);
    assert_eq!((waits, wrote.as_str()), (vec!["commit 7 None".to_owned()], "goneother1nil nil"));
    // Time passes with each look of the stage at its clock: 250 us.
    let code = "response:write(tostring(store.watch('x'):receive(0.0006)))";
    let (waits, wrote) = played(&mut stage(), code, &[WaitReply::Nothing, WaitReply::Nothing]);
    assert_eq!((waits.len(), wrote.as_str()), (2, "nil"), "{waits:?}");
    let mut stage = stage();
    for number in 0..1001 {
        stage.desk.records.insert(format!("m:{number:04}").into_bytes(), [b"1", b"1", b"1", b""]);
    }
    let (_, told) = played(&mut stage, "store.watch('m:')", &[]);
    assert!(told.ends_with("store.watch: more than 1000 keys begin so"), "{told}");
}
