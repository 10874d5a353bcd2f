//! Goal: a name belongs to one process on all schedulers, and is free when that process has ended. Method: the built
//! server with one to three schedulers, any of which may own a name.

use crate::server::patience::until;
use crate::server::{Plan, Server};

/// A process with that name that answers until it is told to end.
const START: &str = "<% local me, name = self(), request.query.name spawn(function() local fine, why = \
                     register(name) send(me, why or 'registered') if not fine then return end while true do \
                     local message = receive() if message == 'end' then return end send(message, 'from ' .. \
                     name) end end) response:write(receive(5)) %>";

const ASK: &str = "<% local name = request.query.name local fine, why = send(name, self()) \
    response:write(fine and receive(5) or why) %>";

const END: &str = "<% response:write(tostring(send(request.query.name, 'end'))) %>";

const WHERE: &str = "<% response:write(tostring(whereis(request.query.name))) %>";

/// Names that are refused, and names that a page registers for itself.
const OWN: &str = "<% local told = {} for _, name in ipairs({ '', 'a b', self(), ('x'):rep(256) }) do \
                   told[#told + 1] = select(2, register(name)) end for i = 1, 17 do told[5] = select(2, \
                   register('n' .. i)) end told[6] = tostring(register('n1')) told[7] = \
                   tostring(whereis('n1') == self()) response:write(table.concat(told, ';')) %>";

fn site(schedulers: u16) -> Server {
    Plan::new()
        .argument(&format!("--schedulers={schedulers}"))
        .file("start.page.txt", START)
        .file("ask.page.txt", ASK)
        .file("end.page.txt", END)
        .file("where.page.txt", WHERE)
        .file("own.page.txt", OWN)
        .start()
}

fn told(server: &Server, page: &str, name: &str) -> String {
    let answer = server.get(&format!("/{page}?name={name}"));
    assert_eq!(answer.status, 200);
    String::from_utf8_lossy(&answer.body).trim().to_owned()
}

#[test]
fn a_name_is_one_process_until_that_ends() {
    for schedulers in 1..=3 {
        let server = site(schedulers);
        for name in ["one", "two", "three", "four", "five", "six"] {
            assert_eq!(told(&server, "ask", name), "that is not the name of a process");
            assert_eq!(told(&server, "start", name), "registered");
            // From any scheduler that the connection is on.
            for _ in 0..8 {
                assert_eq!(told(&server, "ask", name), format!("from {name}"));
                assert_eq!(told(&server, "start", name), "another process has that name");
            }
            assert_eq!(told(&server, "end", name), "true");
            until("the name to be free", || (told(&server, "where", name) == "nil").then_some(()));
            assert_eq!(told(&server, "start", name), "registered");
        }
    }
}

#[test]
fn a_page_takes_names_within_their_bounds_and_gives_them_back() {
    let server = site(2);
    let wrong = "a name has 1 to 255 bytes, no spaces, and no digit at its beginning";
    let expected =
        format!("{wrong};{wrong};{wrong};{wrong};a process has at most 16 names;true;true");
    for _ in 0..20 {
        until("the names to be free", || {
            let answer = server.get("/own");
            let text = String::from_utf8_lossy(&answer.body).trim().to_owned();
            (text == expected).then_some(())
        });
    }
    until("the last one to be free", || (told(&server, "where", "n1") == "nil").then_some(()));
}
