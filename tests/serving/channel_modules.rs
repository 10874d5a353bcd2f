//! Goal: the module of a channel decides what clients may do there, with every protocol, and is called once for each
//! subscription and message. Method: plain sockets; the module publishes its calls on another channel.

use std::io::Write;

use crate::server::channel::{
    API_KEY, SECRET, UPGRADE, ask, connect, frame, resp, say, token, websocket,
};
use crate::server::client::{field, text};
use crate::server::patience::until;
use crate::server::{Plan, Server};
use conformance::ParsedResponse;
use serde_json::Value;

const CONFIG: &str = "[[channel]]\npattern = \"asked\"\nhistory = 1000\n\
    [[channel]]\npattern = \"room.*\"\nmodule = \"rooms\"\nhistory = 10\n\
    [[channel]]\npattern = \"half\"\nmodule = \"half\"\n\
    [[channel]]\npattern = \"signed\"\nmodule = \"half\"\nsubscribe = \"token\"\npublish = \"token\"\n\
    [channels]\ntoken_keys = \"tokens\"\napi_keys = \"keys\"\n";

const ROOMS: &str = r#"
local function check(request, response)
  channel.publish("asked", request.method .. " " .. request.channel .. " " .. request.rest)
  local room = request.channel:sub(6)
  if room:find("slow") then sleep(0.02) end
  if room:find("fails") then error("it fails") end
  if room:find("flushes") then response:flush() end
  if room:find("ann") and not (request.claims and request.claims.sub == "ann" and request.claims.own.deep == 7) then return 403, "for ann" end
  if room:find("cookie") and request.cookies.name ~= "ann" then return 401 end
  if room:find("query") and (request.query.q ~= "1" or request.headers.host ~= "a") then return 400, { error = "no" } end
  if room:find("peer") and request.peer ~= "127.0.0.1" then return 403 end
end
return {
  SUBSCRIBE = check,
  PUBLISH = function(request, response)
    local message = request.message
    if message == "stuck" then receive() end
    if message == "no" or type(message) == "table" and message.no then return 400, "not\nthat" end
    return check(request, response)
  end,
}
"#;

const HALF: &str = "return { { 'PUBLISH', '/:name', function(request) if request.parameters.name ~= \
                    request.channel then error() end end } }";

fn site(schedulers: u16) -> Server {
    let plan = Plan::new().config(CONFIG).argument("--listen-resp=127.0.0.1:0");
    let plan = plan.argument(&format!("--schedulers={schedulers}"));
    for (name, content) in
        [("tokens", SECRET), ("keys", API_KEY), ("app/rooms.lua", ROOMS), ("app/half.lua", HALF)]
    {
        plan.directory.write(name, content);
    }
    plan.start()
}

/// The calls of the module so far.
fn asked(server: &Server) -> Vec<String> {
    let answer = server.get("/channels/asked?since=0&wait=0");
    let told: Value = serde_json::from_slice(&answer.body).unwrap();
    let messages = told["messages"].as_array().unwrap().iter();
    messages.map(|message| message["data"].as_str().unwrap().to_owned()).collect()
}

fn post(server: &Server, name: &str, fields: &[(&str, &str)], body: &str) -> ParsedResponse {
    ask(server, "POST", &format!("/channels/{name}"), fields, body.as_bytes())
}

#[test]
fn a_message_by_post_is_allowed_or_refused_with_the_text_of_the_module() {
    let server = site(2);
    let json = [("Content-Type", "application/json")];
    let bearer = format!("Bearer {}", token("\"sub\":\"ann\",\"own\":{\"deep\":7}", 60));
    let ann = [("Authorization", &*bearer)];
    let other = format!("Bearer {}", token("\"sub\":\"bob\",\"own\":{\"deep\":7}", 60));
    let program = format!("Bearer {API_KEY}");
    let nobody: [(&str, &str); 0] = [];
    for (name, fields, body, status, told) in [
        ("room.a", &nobody[..], "yes", 200, "\"receivers\":0"),
        ("room.slow.a", &nobody, "yes", 200, "\"receivers\":0"),
        ("room.a", &nobody, "no", 400, "{\"error\":\"not that\"}"),
        ("room.a", &json, "{\"no\":true}", 400, "{\"error\":\"not that\"}"),
        ("room.a", &json, "{\"no\":false}", 200, "\"receivers\":0"),
        ("room.a", &nobody, "{\"no\":true}", 200, "\"receivers\":0"),
        ("room.slow.ann", &nobody, "x", 403, "{\"error\":\"for ann\"}"),
        ("room.ann", &ann, "x", 200, "\"receivers\":0"),
        ("room.ann", &[("Authorization", &*other)], "x", 403, "{\"error\":\"for ann\"}"),
        ("room.ann", &[("Authorization", &*program)], "x", 200, "\"receivers\":0"),
        ("room.cookie", &nobody, "x", 401, "the module of this channel does not allow it"),
        ("room.cookie", &[("Cookie", "a=b; name=ann")], "x", 200, "\"receivers\":0"),
        ("room.query?q=1", &nobody, "x", 400, "{\"error\":\"{\\\"error\\\":\\\"no\\\"}\"}"),
        ("room.peer", &nobody, "x", 200, "\"receivers\":0"),
        ("room.fails", &nobody, "x", 500, "the module of this channel has failed"),
        ("room.flushes", &nobody, "x", 500, "the module could not decide whether that is allowed"),
        ("half", &nobody, "x", 200, "\"receivers\":0"),
        ("signed", &nobody, "x", 401, "the channel requires a token"),
    ] {
        let answer = post(&server, name, fields, body);
        assert_eq!(answer.status, status, "{name} {body}");
        assert!(text(&answer).contains(told), "{name} {body}: {}", text(&answer));
    }
    let answer = post(&server, "room.cookie", &nobody, "x");
    assert_eq!(field(&answer, "www-authenticate"), "Bearer");
    let told = server.printed_troubles();
    assert!(told.contains("module rooms.lua: rooms.lua:6: it fails"), "{told}");
}

#[test]
fn readers_are_asked_once_for_each_subscription() {
    let server = site(2);
    let status = |path: &str, fields: &[(&str, &str)]| {
        ask(&server, "GET", &format!("/channels/{path}"), fields, b"").status
    };
    let events = ("Accept", "text/event-stream");
    assert_eq!(status("room.fails", &[]), 500);
    assert_eq!(status("room.ann", &[events]), 403);
    assert_eq!(status("half?since=0", &[]), 405, "it has no handler for it");
    assert_eq!(status("room.slow.b?since=0&wait=0", &[]), 200);
    let upgrade = |name: &str, fields: &str| {
        let request = format!("GET /channels/{name} HTTP/1.1\r\nHost: a\r\n{fields}{UPGRADE}\r\n");
        let head = say(&mut connect(server.address()), request.as_bytes(), b"\r\n\r\n");
        String::from_utf8_lossy(&head).get(9..12).unwrap().to_owned()
    };
    assert_eq!(upgrade("room.slow.query?q=1", ""), "101");
    assert_eq!(upgrade("room.slow.query?q=2", ""), "400");
    assert_eq!(upgrade("room.cookie", ""), "401");
    let long = format!("X-Long: {}\r\n", "x".repeat(5_000));
    assert_eq!(upgrade("room.a", &long), "431");
    // For a long poll that waits for a message, the module is not called again when there is one.
    let mut client = server.client();
    client.send("GET /channels/room.slow.poll?wait=20 HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    until("the question", || asked(&server).iter().any(|told| told.contains("poll")).then_some(()));
    let mut number = 0;
    let answer = until("the message", || {
        number += 1;
        assert_eq!(post(&server, "room.slow.poll", &[], &format!("{number}")).status, 200);
        let seen = client.response(conformance::RequestKind::Other);
        seen.ok()
    });
    assert_eq!(answer.status, 200);
    let polls =
        asked(&server).into_iter().filter(|told| told.starts_with("SUBSCRIBE room.slow.poll"));
    assert_eq!(polls.collect::<Vec<_>>(), ["SUBSCRIBE room.slow.poll /room.slow.poll"]);
}

#[test]
fn the_orders_of_a_socket_wait_for_the_module_and_keep_their_order() {
    for schedulers in 1..=2 {
        let server = site(schedulers);
        let mut socket = websocket(&server, "/channels?q=1");
        let mut orders = Vec::new();
        for order in [
            "{\"subscribe\":\"room.slow.query\",\"id\":1}",
            "{\"publish\":\"room.slow.query\",\"data\":\"one\",\"id\":2}",
            "{\"publish\":\"room.query\",\"data\":\"no\",\"id\":3}",
            "{\"subscribe\":\"room.slow.ann\",\"id\":4}",
            "{\"publish\":\"room.slow.query\",\"data\":\"two\",\"id\":5}",
            "{\"members\":\"room.slow.query\",\"id\":6}",
        ] {
            orders.extend_from_slice(&frame(order));
        }
        let told = say(&mut socket, &orders, b",\"id\":6}");
        let told = String::from_utf8_lossy(&told);
        // An error may overtake a confirmation that other schedulers have to give.
        let place = |part: &str| told.find(part).unwrap_or_else(|| panic!("{part} in {told}"));
        for part in [
            "{\"error\":\"not that\",\"channel\":\"room.query\",\"id\":3}",
            "{\"error\":\"for ann\",\"channel\":\"room.slow.ann\",\"id\":4}",
        ] {
            assert!(place(part) < place("{\"members\":\"room.slow.query\""), "{told}");
        }
        assert!(place("{\"subscribed\":\"room.slow.query\"") < place("\"data\":\"one\""), "{told}");
        let wanted = [
            "SUBSCRIBE room.slow.query /room.slow.query",
            "PUBLISH room.slow.query /room.slow.query",
            "SUBSCRIBE room.slow.ann /room.slow.ann",
            "PUBLISH room.slow.query /room.slow.query",
        ];
        assert_eq!(asked(&server), wanted);
    }
}

#[test]
fn the_members_of_a_channel_are_told_to_those_who_may_subscribe_to_it() {
    let server = site(1);
    let mut socket = websocket(&server, "/channels?q=1");
    let mut orders = Vec::new();
    for order in [
        "{\"members\":\"room.slow.ann\",\"id\":1}",
        "{\"members\":\"room.slow.query\",\"id\":2}",
        "{\"members\":\"signed\",\"id\":3}",
        "{\"members\":\"none\",\"id\":4}",
    ] {
        orders.extend_from_slice(&frame(order));
    }
    let told = say(&mut socket, &orders, b",\"id\":4}");
    let told = String::from_utf8_lossy(&told);
    for part in [
        "{\"error\":\"for ann\",\"channel\":\"room.slow.ann\",\"id\":1}",
        "{\"members\":\"room.slow.query\",\"subscribers\":0",
        "{\"error\":\"the channel requires a token\",\"channel\":\"signed\",\"id\":3}",
        "{\"error\":\"no [[channel]] has a pattern for this name\",\"channel\":\"none\",\"id\":4}",
    ] {
        assert!(told.contains(part), "{part} in {told}");
    }
    let wanted =
        ["SUBSCRIBE room.slow.ann /room.slow.ann", "SUBSCRIBE room.slow.query /room.slow.query"];
    assert_eq!(asked(&server), wanted);
}

#[test]
fn a_plain_socket_ends_with_a_message_that_is_refused() {
    let server = site(1);
    let mut socket = websocket(&server, "/channels/room.slow.a");
    say(&mut socket, &frame("fine"), b"fine");
    let told =
        say(&mut socket, &[frame("no"), frame("never")].concat(), b"publishing is not allowed");
    assert!(!told.windows(5).any(|part| part == b"never"));
    assert_eq!(asked(&server).len(), 2, "{:?}", asked(&server));
    // If a client closes while its module runs, the call is dropped.
    let mut socket = websocket(&server, "/channels/room.a");
    say(&mut socket, &frame("fine"), b"fine");
    socket.write_all(&frame("stuck")).unwrap();
    server.reaches("/pages/waiting", 1);
    drop(socket);
    server.reaches("/pages/waiting", 0);
}

#[test]
fn redis_clients_are_asked_about_each_channel() {
    for schedulers in 1..=2 {
        let server = site(schedulers);
        let mut client = connect(resp(&server));
        let told = say(
            &mut client,
            b"PUBLISH room.slow.a x\r\nPUBLISH room.a no\r\nPUBLISH half x\r\nPING\r\n",
            b"PONG\r\n",
        );
        assert_eq!(told, b":0\r\n-NOPERM not that\r\n:0\r\n+PONG\r\n");
        let told = say(
            &mut client,
            b"SUBSCRIBE room.slow.a half room.slow.ann room.slow.peer\r\nPSUBSCRIBE *\r\nPING\r\n",
            b"pong\r\n$0\r\n\r\n",
        );
        let told = String::from_utf8_lossy(&told);
        let refused = "-NOPERM the module of this channel does not allow it\r\n-NOPERM for ann\r\n";
        assert!(
            told.starts_with("*3\r\n$9\r\nsubscribe\r\n$11\r\nroom.slow.a\r\n:1\r\n"),
            "{told}"
        );
        assert!(told.contains(refused), "{told}");
        assert!(told.contains("$14\r\nroom.slow.peer\r\n:2\r\n"), "{told}");
        assert!(told.contains("-NOPERM the channel's rules do not allow it\r\n"), "{told}");
        let wanted = [
            "PUBLISH room.slow.a /room.slow.a",
            "SUBSCRIBE room.slow.a /room.slow.a",
            "SUBSCRIBE room.slow.ann /room.slow.ann",
            "SUBSCRIBE room.slow.peer /room.slow.peer",
        ];
        assert_eq!(asked(&server), wanted);
        // The module is not called for a program with a key.
        let order =
            format!("AUTH \"{API_KEY}\"\r\nRESET\r\nAUTH \"{API_KEY}\"\r\nPUBLISH room.ann x\r\n");
        let mut client = connect(resp(&server));
        let told = say(&mut client, order.as_bytes(), b":0\r\n");
        assert!(told.ends_with(b"+OK\r\n:0\r\n"));
    }
}
