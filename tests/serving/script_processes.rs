//! Goal: pages spawn processes and send messages, whatever scheduler each is on. Method: the built binary, raw clients.

use std::collections::BTreeSet;

use crate::server::client::{head, text};
use crate::server::patience::until;
use crate::server::{Plan, Server};
use conformance::RequestKind;

/// A process that adds the numbers it receives and answers with the sum.
const SUM: &str = "<%= spawn(function()
  local sum = 0
  while true do
    local message = receive()
    if message == 'end' then return end
    sum = sum + message.number
    send(message.from, { sum = sum, from = self() })
  end
end) -%>";

const ADD: &str = "<%
local ok, why = send(request.query.to, { from = self(), number = tonumber(request.query.number) })
local answer = ok and receive(20)
-%>
<%= answer and answer.sum or why %> <%= self() -%>";

const TELL: &str = "<%
local ok, why = send(request.query.to, request.query.text)
-%>
<%= ok and 'told' or why -%>";

fn start(schedulers: usize, pages: &[(&str, &str)]) -> Server {
    Plan::new().argument(&format!("--schedulers={schedulers}")).files(pages).start()
}

fn scheduler_of(name: &str) -> &str {
    name.split('.').next().unwrap()
}

#[test]
fn a_process_answers_pages_of_every_scheduler_and_outlives_its_request() {
    let server = start(2, &[("sum.page.txt", SUM), ("add.page.txt", ADD), ("tell.page.txt", TELL)]);
    let name = text(&server.get("/sum")).to_owned();
    assert_eq!(server.count("/pages/spawned_waiting"), 1);
    let mut schedulers = BTreeSet::new();
    let mut sum = 0;
    // The kernel spreads connections over schedulers by their ports.
    while schedulers.len() < 2 || sum < 100 {
        sum += 5;
        let answer = server.get(&format!("/add?to={name}&number=5"));
        let (told, own) = text(&answer).split_once(' ').unwrap();
        assert_eq!(told, sum.to_string());
        schedulers.insert(scheduler_of(own).to_owned());
        assert!(sum < 100_000, "all connections go to one scheduler");
    }
    let end = || text(&server.get(&format!("/tell?to={name}&text=end"))).to_owned();
    assert_eq!(end(), "told");
    until("the process has ended", || (end() == "the process has ended").then_some(()));
    assert_eq!(server.count("/pages/spawned"), 1);
    until("it is counted no more", || (server.count("/pages/spawned_waiting") == 0).then_some(()));
}

#[test]
fn a_page_that_waits_is_told_by_another() {
    let wait = "<% log.info('name', self()) local first, second = receive(20), receive(20) -%>
<%= first, ' ', second -%>";
    let server = start(2, &[("wait.page.txt", wait), ("tell.page.txt", TELL)]);
    for round in 1..=8 {
        let mut waiting = server.client();
        waiting.send(head("GET", "/wait", &[])).unwrap();
        let names = || -> Vec<String> {
            let told = server.printed_errors();
            told.lines().filter_map(|line| Some(line.split_once("name ")?.1.to_owned())).collect()
        };
        until("the page has said its name", || (names().len() == round).then_some(()));
        let name = names().pop().unwrap();
        for word in ["one", "two"] {
            assert_eq!(text(&server.get(&format!("/tell?to={name}&text={word}"))), "told");
        }
        assert_eq!(text(&waiting.response(RequestKind::Other).unwrap()), "one two");
        let late = server.get(&format!("/tell?to={name}&text=late"));
        assert_eq!(text(&late), "the process has ended");
    }
}

#[test]
fn names_of_nobody_are_answered() {
    let server = start(2, &[("tell.page.txt", TELL)]);
    let token = "00000000000000000000000000000001";
    for place in ["0.5.9", "1.0.7", "1.4000000000.1", "2.0.1", "3.0.1", "65535.1.1"] {
        let name = format!("{place}.{token}");
        let answer = server.get(&format!("/tell?to={name}&text=x"));
        assert_eq!(text(&answer), "the process has ended", "{name}");
    }
    for name in ["", "x", "1.2", "1.2.3", "1.2.3.4", "1.2.3.4.00000000000000000000000000000001"] {
        let answer = server.get(&format!("/tell?to={name}&text=x"));
        assert_eq!(text(&answer), "that is not the name of a process", "{name}");
    }
}

#[test]
fn a_name_is_of_one_start_of_the_server_and_cannot_be_guessed() {
    let deaf = "<%= spawn(function() log.info('told', receive()) end) -%>";
    let pages = [("deaf.page.txt", deaf), ("tell.page.txt", TELL)];
    let tell = |server: &Server, name: &str| {
        text(&server.get(&format!("/tell?to={name}&text=x"))).to_owned()
    };
    let before = text(&start(1, &pages).get("/deaf")).to_owned();
    let server = start(1, &pages);
    let name = text(&server.get("/deaf")).to_owned();
    let (place, _) = name.rsplit_once('.').unwrap();
    assert_eq!(before.rsplit_once('.').unwrap().0, place, "the same process as before");
    assert_eq!(tell(&server, &before), "the process has ended");
    for token in ["0".repeat(32), "f".repeat(32)] {
        assert_eq!(tell(&server, &format!("{place}.{token}")), "the process has ended");
    }
    assert_eq!(tell(&server, &name), "told");
    until("its process was told", || server.printed_errors().contains("told x").then_some(()));
}

#[test]
fn a_full_mailbox_is_told_and_nothing_of_it_is_lost() {
    let deaf = "<% local s = tonumber(request.query.seconds) -%>\n<%= spawn(function() sleep(s) receive() \
                end) -%>";
    let fill = "<%
local sent = 0
while true do
  local ok, why = send(request.query.to, sent)
  if not ok then response:write(sent, ' ', why) return end
  sent = sent + 1
end -%>";
    let server = start(2, &[("deaf.page.txt", deaf), ("fill.page.txt", fill)]);
    let name = text(&server.get("/deaf?seconds=1000")).to_owned();
    let answer = server.get(&format!("/fill?to={name}"));
    assert_eq!(text(&answer), "1000 its mailbox is full");
}

#[test]
fn processes_that_fail_or_loop_are_told_and_harm_nobody() {
    let fail = "made\n<% spawn(function()\n  local nothing\n  nothing.x = 1\nend) -%>";
    let loops = "made\n<% spawn(function()\n  while true do end\nend) -%>";
    let busy = "made\n<% spawn(function()\n  while true do send(self(), 1) receive() end\nend) -%>";
    let server = start(
        1,
        &[
            ("fail.page.txt", fail),
            ("loop.page.txt", loops),
            ("busy.page.txt", busy),
            ("hello.page.txt", "hello"),
        ],
    );
    for path in ["/fail", "/loop", "/busy"] {
        assert_eq!(text(&server.get(path)), "made\n");
    }
    for words in [
        "page fail.page.txt: fail.page.txt:4: attempt to index local 'nothing'",
        "page loop.page.txt: loop.page.txt:3: used more than 250 ms of CPU time",
        "page busy.page.txt: busy.page.txt:3: used more than 250 ms of CPU time",
    ] {
        until(words, || {
            assert_eq!(text(&server.get("/hello")), "hello");
            server.printed_errors().contains(words).then_some(())
        });
    }
    assert_eq!(server.count("/pages/kills/cpu_budget"), 2);
    assert_eq!(
        server.count("/pages/waiting"),
        0,
        "to wait for what is there already takes time, too"
    );
}

#[test]
fn client_that_closes_ends_waiting_page() {
    let wait = "<% log.info('name', self()) receive() -%>";
    let server = start(1, &[("wait.page.txt", wait), ("tell.page.txt", TELL)]);
    let mut waiting = server.client();
    waiting.send(head("GET", "/wait", &[])).unwrap();
    until("the page has said its name", || {
        (server.printed_errors().contains("name ")).then_some(())
    });
    let told = server.printed_errors();
    let name = told.split_once("name ").unwrap().1.trim();
    drop(waiting);
    until("the page has ended", || (server.count("/pages/cancelled") == 1).then_some(()));
    let answer = server.get(&format!("/tell?to={name}&text=x"));
    assert_eq!(text(&answer), "the process has ended");
}

/// Long-lived processes spawned by many requests: there is a limit, further spawns are refused, and statistics say
/// which page holds how many.
#[test]
fn spawn_beyond_bound_fails_and_statistics_name_holder() {
    let chat = "<% local name, why = spawn(function() receive(600) end) -%><%= name and 'spawned' or why -%>";
    let server = Plan::new()
        .argument("--schedulers=1")
        .config("[pages]\nprocess_memory = \"4 MiB\"\n")
        .files(&[("chat.page.txt", chat), ("hello.page.txt", "hello")])
        .start();
    let mut client = server.client();
    let mut spawned = 0;
    while text(&client.get("/chat").unwrap()) == "spawned" {
        spawned += 1;
        assert!(spawned < 10_000, "there is no bound");
    }
    assert_eq!(text(&client.get("/chat").unwrap()), "full");
    assert_eq!(text(&client.get("/hello").unwrap()), "hello");
    assert!(spawned > 200, "{spawned} found room");
    assert_eq!(server.count("/pages/spawned_waiting"), spawned);
    assert_eq!(server.count("/pages/page/0/spawned_requests"), spawned);
    let held = server.count("/pages/page/0/spawned_held_bytes");
    assert!((500 * spawned..8_000 * spawned).contains(&held), "{held} bytes of {spawned}");
    assert_eq!(server.count("/pages/kills/memory"), 0);
}

/// Processes may use half of a scheduler's concurrent fetches: the other half is for requests, whatever processes do.
#[test]
fn processes_leave_half_of_the_fetches_to_requests() {
    let (_silent, silent) = crate::server::used_port();
    let many = format!(
        "<% local me = self()
        for i = 1, 600 do spawn(function() local _, why = fetch('http://{silent}/', {{ timeout = 20 }}) send(me, why) end) end
        for i = 1, 88 do if receive(20) ~= 'too many fetches at once' then exit() end end -%>88 refused"
    );
    let one = "<%= assert(fetch('http://' .. request.query.at .. '/hello')).body -%>";
    let pages =
        [("many.page.txt", many.as_str()), ("one.page.txt", one), ("hello.page.txt", "hello")];
    let server = Plan::new().argument("--schedulers=1").files(&pages).start();
    assert_eq!(text(&server.get("/many")), "88 refused");
    let path = format!("/one?at={}", server.address());
    assert_eq!(text(&server.get(&path)), "hello");
}
