//! Goal: nodes of two versions or configurations: what one cannot read or hear is said. Method: the built server, and
//! messages as the next version might send them.

use crate::server::channel::say;
use crate::server::nats::Nats;
use crate::server::patience::until;
use crate::server::{Server, configuration};

use super::cluster::{events, poll, publish, texts};

const CONFIG: &str =
    "[[channel]]\npattern = \"chat.*\"\nhistory = 100\n[[channel]]\npattern = \"news.*\"\n";

#[test]
fn a_message_of_the_next_version_is_told_as_lost() {
    let Some(nats) = Nats::start("a_message_of_the_next_version_is_told_as_lost") else { return };
    let section = format!("{}prefix = \"v\"\nstreams = 1\n", nats.section("one"));
    let one = nats.node_of(&format!("{CONFIG}\n{section}"));
    let (mut news, mut chat) = (events(&one, "news.a"), events(&one, "chat.a"));
    let (_, before) = publish(&one, "chat.a", "before");
    say(&mut chat, b"", b"data: before\n\n");
    nats.publish("v.c.news=2Ea", b"?of the next version");
    nats.publish("v.h.0.chat=2Ea", b"?of the next version");
    until("what cannot be read", || (one.count("/cluster/unreadable") >= 2).then_some(()));
    let problem = one.told("/status")["cluster"]["problem"].as_str().unwrap().to_owned();
    assert!(problem.contains("a form that this version does not know"), "{problem}");
    assert!(one.printed_errors().contains(&problem));
    // Messages that both versions know go on.
    assert_eq!(publish(&one, "news.a", "known").0, 200);
    say(&mut news, b"", b"data: known\n\n");
    assert_eq!(publish(&one, "chat.a", "after").0, 200);
    let seen = String::from_utf8(say(&mut chat, b"", b"data: after\n\n")).unwrap();
    assert!(seen.contains("event: lost"), "{seen}");
    let rest = poll(&one, "chat.a", before["since"].as_str().unwrap());
    assert_eq!(texts(&rest), ["after"]);
    assert_eq!(rest["recovered"], false, "{rest}");
}

#[test]
fn a_node_with_other_sections_is_told_until_a_reload_gives_it_the_same() {
    let test = "a_node_with_other_sections_is_told_until_a_reload_gives_it_the_same";
    let Some(nats) = Nats::start(test) else { return };
    let config = |name: &str, history: &str| {
        format!("[[channel]]\npattern = \"news.*\"\n{history}{}", nats.section(name))
    };
    let one = nats.node_of(&config("one", "history = 10\n"));
    let two = nats.node_of(&config("two", ""));
    let problem = |server: &Server| server.told("/status")["cluster"]["problem"].clone();
    for (server, other) in [(&one, "two"), (&two, "one")] {
        let expected = format!("the node `{other}` has other `[[channel]]` sections");
        until("it is told", || {
            problem(server).as_str().is_some_and(|why| why.contains(&expected)).then_some(())
        });
    }
    two.plan.directory.write("velodrome.toml", configuration(&config("two", "history = 10\n")));
    assert!(two.ctl(&["reload"]).status.success());
    for server in [&one, &two] {
        until("nothing is wrong", || problem(server).is_null().then_some(()));
    }
}
