//! Helpers that are too slow: their mailbox is full, and no client is dropped for it.

use runtime::limits::MAILBOX_MESSAGES;
use runtime::service::CloseReason;
use server::conn::Connections;
use server::file_helper::FileHelper;
use server::message::Message;
use world::{ALWAYS, Faults};

use crate::client::{Client, Ending, Step};
use crate::expected::Expected;
use crate::site;
use crate::small::{get, pattern};
use crate::world::{Errand, MILLISECOND_NS, Setting, Stage};

/// More than fit into the mailbox of one helper.
const CLIENTS: usize = MAILBOX_MESSAGES + 100;

/// A site with one helper.
fn stage(faults: Faults) -> Stage<Connections> {
    let mut helper = FileHelper::new();
    let errand = Box::new(move |message| helper.answer(message)) as Errand<Message>;
    let setting = Setting { faults, ..Setting::quiet(1) };
    site::stage_with(&setting, site::data(1), vec![errand])
}

fn play(stage: &mut Stage<Connections>, script: impl Fn(usize) -> Vec<Step>) -> u64 {
    let begin_ns = stage.now_ns();
    let mut clients: Vec<Client> =
        (0..CLIENTS).map(|number| Client::new(begin_ns, script(number))).collect();
    assert!(stage.run_until(&mut clients, |_, clients| clients.iter().all(Client::is_over)));
    for client in &clients {
        assert_eq!(client.ending(), Some(Ending::Satisfied), "{client:?}");
    }
    stage.run_until(&mut [], |stage, _| stage.processes() == 0);
    stage.assert_nothing_is_left();
    assert_eq!(stage.closed(CloseReason::Failed), 0);
    let full = stage.sum(|scheduler| scheduler.stats().mail.full);
    assert!(full > 0, "the mailbox was not full");
    full
}

#[test]
fn look_ups_that_find_no_room_are_answered_503() {
    let mut stage = stage(Faults::none());
    let full = play(&mut stage, |number| {
        let busy = Expected::status(503).with("Retry-After", "1");
        let expected = Expected::status(404).or(busy);
        // The connection is kept: when there is room again it is answered.
        let again = Expected::new(200, *b"well");
        let ask = |path: &str| Step::Send(get(path));
        let path = format!("/none/{number}");
        vec![ask(&path), Step::Expect(expected), ask("/health"), Step::Expect(again), Step::Close]
    });
    assert!(full <= 100, "{full}");
}

#[test]
fn downloads_of_cold_files_wait_for_room() {
    let cold = Faults { cold: ALWAYS, cold_ns_maximum: MILLISECOND_NS, ..Faults::none() };
    let mut stage = stage(cold);
    play(&mut stage, |number| {
        let last = 1_000 + number;
        let request = format!(
            "GET /large.bin HTTP/1.1\r\nHost: example.test\r\nRange: bytes=0-{last}\r\n\r\n"
        );
        let expected = Expected::new(206, &pattern(300_000)[..=last]);
        vec![Step::Send(request.into_bytes()), Step::Expect(expected), Step::Close]
    });
}
