//! Input that arrives in parts at the real site: messages of WebSockets and forms with fields. It counts as memory, and
//! a client that has sent most is ended first.

use std::sync::Arc;

use runtime::mailbox::Endpoint;
use runtime::scheduler::SchedulerSettings;
use server::conn::Connections;
use server::message::ToScheduler;
use server::site::{Helpers, Site};
use sys::pollset::Speaks;
use world::{ClientId, ClientState};

use crate::subscriber::open_socket;
use crate::whole_site::data;
use crate::world::{SECOND_NS, Setting, Stage, address};

/// Bytes that the scheduler may hold.
const LIMIT: usize = 1_000_000;

fn stage() -> Stage<Connections> {
    let data = data();
    let scheduler = SchedulerSettings {
        connections: 1_000,
        buffered_bytes: LIMIT,
        ..SchedulerSettings::default()
    };
    let setting = Setting { scheduler, first: Speaks::Either, ..Setting::quiet(1) };
    let mut stage = Stage::new(&setting, Vec::new(), |_, _: &[Endpoint]| {
        let files = Vec::new();
        let helpers = Helpers::of_files(1, files);
        let site = Site::open(Arc::clone(&data), helpers, 1).unwrap();
        Connections::new(site, &data, None)
    });
    stage.tell_all(|| {
        let sets = data.pages.clone().into();
        ToScheduler::Pages { generation: 1, sets }.into()
    });
    stage
}

/// Lets everything happen that can happen within a second.
fn rest(stage: &mut Stage<Connections>) {
    stage.run_to(stage.now_ns() + SECOND_NS);
}

/// A client that sends this.
fn client(stage: &mut Stage<Connections>, bytes: &[u8]) -> ClientId {
    let client = stage.world.connect(&address()).unwrap();
    stage.world.client_send(client, bytes);
    rest(stage);
    client
}

fn held(stage: &Stage<Connections>) -> usize {
    stage.sum(|scheduler| scheduler.stats().buffered_bytes) as usize
}

/// Clients that have sent more and more of something, none of them all of it. Returns what the largest was told.
fn crowd(begin: impl Fn(usize) -> Vec<u8>) -> String {
    let mut stage = stage();
    let sizes = (40_000..).step_by(1_000).take(14);
    let clients: Vec<ClientId> =
        sizes.clone().map(|size| client(&mut stage, &begin(size))).collect();
    let (all, counted) = (sizes.sum::<usize>(), held(&stage));
    assert!((all..LIMIT * 95 / 100).contains(&counted), "{counted} bytes of {all} are counted");
    let is_open = |stage: &Stage<Connections>, client: ClientId| {
        stage.world.client_state(client) == ClientState::Open
    };
    assert!(clients.iter().all(|client| is_open(&stage, *client)));
    let others: Vec<ClientId> = (0..10).map(|_| client(&mut stage, &begin(40_000))).collect();
    let open = |clients: &[ClientId]| clients.iter().filter(|one| is_open(&stage, **one)).count();
    assert!(!is_open(&stage, clients[13]), "the largest");
    assert_eq!(open(&clients[..5]) + open(&others), 15, "those that have sent less go on");
    let told = stage.world.client_received(clients[13]);
    for client in clients.iter().chain(&others) {
        stage.world.client_close(*client);
    }
    rest(&mut stage);
    stage.run_until(&mut [], |stage, _| stage.processes() == 0);
    stage.assert_nothing_is_left();
    String::from_utf8_lossy(&told).into_owned()
}

#[test]
fn largest_partial_message_is_closed_first() {
    let told = crowd(|size| {
        // A text that goes on in another frame, not masked by anything.
        let mut request = open_socket("/channels/a");
        request.extend([1, 0x80 | 126]);
        request.extend(u16::try_from(size).unwrap().to_be_bytes());
        request.extend([0; 4]);
        request.extend(vec![b'x'; size]);
        request
    });
    assert!(told.ends_with("no memory"), "{told:?}");
}

#[test]
fn largest_partial_form_is_refused_first() {
    let told = crowd(|size| {
        let part = "--b\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\n";
        let length = part.len() + size + 100;
        let head = format!(
            "POST /form HTTP/1.1\r\nHost: example.test\r\n\
             Content-Type: multipart/form-data; boundary=b\r\nContent-Length: {length}\r\n\r\n"
        );
        [head.as_bytes(), part.as_bytes(), &vec![b'x'; size]].concat()
    });
    assert!(told.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{told:?}");
    assert!(told.contains("\r\nRetry-After: 1\r\n"), "{told:?}");
}
