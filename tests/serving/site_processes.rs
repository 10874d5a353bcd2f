//! Goal: a site has the processes that its configuration names, one of each, and they survive failures, edits and
//! reloads. Method: the built server with one to three schedulers, any of which may run a process.

use crate::server::client::text;
use crate::server::patience::until;
use crate::server::{Plan, Server, configuration, errors_of};

/// A process that returns its name, and fails when it is told to. If there were two of it, one could not register the
/// name.
const ECHO: &str = "return function() assert(register('echo')) \
    while true do local message = receive() \
      if message == 'fail' then error('as it was told') end \
      send(message, 'NUMBER') end end";

/// Sends it a message, or makes it fail.
const ASK: &str = "return function(request) local name = request.query.name or 'echo' \
    if request.query.fail then return tostring(send('echo', 'fail')) end \
    local sent, why = send(name, self()) if not sent then return 503, why end return receive(5) end";

/// Adds what `tick` sends.
const SUM: &str = "local sum = 0 return function() assert(register('sum')) \
    while true do local message = receive() \
      if message == 1 then sum = sum + 1 else send(message, tostring(sum)) end end end";

const TICK: &str = "return function() send('sum', 1) end";

const CONFIG: &str = "[[process]]\nmodule = \"echo\"\n[[process]]\nmodule = \"sum\"\n\
    [[process]]\nmodule = \"tick\"\nevery = \"1s\"\n\
    [[process]]\nmodule = \"never\"\nat = \"03:00\"\nzone = \"UTC\"\n\
    [[route]]\npath = \"/ask\"\nmodule = \"ask\"\n";

fn site(schedulers: u16) -> Server {
    let plan = Plan::new().argument(&format!("--schedulers={schedulers}")).config(CONFIG);
    let never = "return function() error('it is not the time') end";
    let modules = [("ask", ASK), ("sum", SUM), ("tick", TICK), ("never", never)];
    for (name, source) in modules {
        plan.directory.write(&format!("app/{name}.lua"), source);
    }
    plan.directory.write("app/echo.lua", ECHO.replace("NUMBER", "one"));
    plan.start()
}

/// Waits for this answer.
fn until_told(server: &Server, query: &str, wanted: &str) {
    until(&format!("{wanted} of {query}"), || {
        let answer = server.get(&format!("/ask?{query}"));
        (text(&answer) == wanted).then_some(())
    });
}

#[test]
fn there_is_one_of_each_on_all_schedulers() {
    for schedulers in 1..=3 {
        let server = site(schedulers);
        // From any scheduler that the connection is on.
        for _ in 0..8 {
            until_told(&server, "", "one");
        }
        until("two ticks", || {
            let sum = server.get("/ask?name=sum");
            text(&sum).parse::<u64>().is_ok_and(|sum| sum >= 2).then_some(())
        });
        assert_eq!(server.printed_troubles(), "");
    }
}

#[test]
fn one_that_fails_begins_again_and_the_log_has_its_line() {
    let server = site(2);
    until_told(&server, "", "one");
    assert_eq!(text(&server.get("/ask?fail=1")), "true");
    until_told(&server, "", "one");
    let told = server.printed_troubles();
    assert!(told.contains("module echo.lua: echo.lua:1: as it was told"), "{told}");
    assert!(told.contains("; it begins again in 1 s"), "{told}");
}

#[test]
fn an_edit_and_a_reload_change_what_runs() {
    let server = site(2);
    until_told(&server, "", "one");
    server.directory().write("app/echo.lua", ECHO.replace("NUMBER", "two"));
    until_told(&server, "", "two");
    // A broken file changes nothing.
    server.directory().write("app/echo.lua", "return 7");
    until("the problem", || {
        let told = server.printed_troubles();
        told.contains(
            "a process is a function: the module ends with `return` and one, not with a number",
        )
        .then_some(())
    });
    until_told(&server, "", "two");
    server.directory().write("app/echo.lua", ECHO.replace("NUMBER", "three"));
    until_told(&server, "", "three");
    let without = "[[route]]\npath = \"/ask\"\nmodule = \"ask\"\n";
    server.directory().write("velodrome.toml", configuration(without));
    assert!(server.ctl(&["reload"]).status.success());
    until_told(&server, "", "that is not the name of a process");
    server.directory().write("velodrome.toml", configuration(CONFIG));
    assert!(server.ctl(&["reload"]).status.success());
    until_told(&server, "", "three");
}

#[test]
fn a_module_that_is_not_there_and_a_zone_that_is_not_known_are_told() {
    let server = Plan::new().config("[[process]]\nmodule = \"gone\"\n").file("index.html", "");
    server.directory.write("app/main.lua", "return function() return 404 end");
    let server = server.start();
    let told = server.printed_troubles();
    assert!(told.contains("gone.lua: does not exist, but [[process]] names it"), "{told}");
    // It starts when the file exists.
    let source = "return function() register('gone') receive() end";
    server.directory().write("app/gone.lua", source);
    let ask = "return function() return tostring(whereis('gone') ~= nil) end";
    server.directory().write("app/main.lua", ask);
    until("the process", || (text(&server.get("/any")) == "true").then_some(()));

    let zone = "[[process]]\nmodule = \"x\"\nat = \"03:00\"\nzone = \"Mars/Olympus\"\n";
    let plan = Plan::new().config(zone);
    plan.directory.write("app/x.lua", "return function() end");
    let told = errors_of(&plan.fail());
    assert!(told.contains("velodrome.toml:2:1: `zone` cannot be \"Mars/Olympus\": "), "{told}");
}
