//! Random programs against an app: requests, waits, failures and panics of handlers together with every way in which a
//! client ends.
//!
//! Owns the model of what each client has to be answered. The answers come in the order of the requests, none is lost
//! as long as the connection stands, and at the end no scheduler keeps anything.

use std::time::Duration;

use http::{App, Failure, Http, Response, Status};
use proptest::prelude::*;
use runtime::scheduler::TurnWait;
use world::{ClientId, Faults, Random, Stage};

/// The state of each scheduler.
struct Kept {
    scheduler: usize,
    /// How often its jobs have run.
    ticks: u64,
}

fn app(scheduler: usize) -> App<Kept> {
    let text = |call: &mut http::Call<'_, Kept>| Ok(Response::text(call.parameter("token")));
    App::new(Kept { scheduler, ticks: 0 })
        .get("/now/{token}", text)
        .post("/echo/{token}", |call| {
            Ok(Response::text(String::from_utf8_lossy(call.body()).into_owned()))
        })
        .get("/after/{token}", move |call| call.after(Duration::from_millis(7), text))
        .get("/all/{token}", |call| {
            // Each result contains the token of its question.
            let token = call.parameter("token").to_owned();
            call.ask_all(move |_| token.clone(), |_call, all| Ok(Response::text(all.join(","))))
        })
        .get("/chain/{token}", move |call| {
            call.after(Duration::from_millis(3), move |call| {
                call.ask_all(|kept| kept.ticks, move |call, _| call.after(Duration::ZERO, text))
            })
        })
        .get("/dropped/{token}", move |call| {
            let _later = call.after(Duration::from_millis(5), text);
            let _asked = call.ask_all(|kept| kept.ticks, move |call, _| text(call));
            text(call)
        })
        .get("/fails/{token}", |call| {
            let token = call.parameter("token").to_owned();
            call.after(Duration::from_millis(1), |_call| Err(Failure::new(Status::CONFLICT, token)))
        })
        .get("/panics/{token}", |_call| panic!("at once"))
        .get("/panics-asking/{token}", move |call| {
            let _later = call.after(Duration::from_millis(5), text);
            let _asked = call.ask_all(|kept| kept.ticks, move |call, _| text(call));
            panic!("behind a wait that it began")
        })
        .get("/panics-later/{token}", move |call| {
            call.after(Duration::from_millis(5), move |call| {
                let _later = call.after(Duration::from_millis(5), text);
                panic!("behind its wait")
            })
        })
        .get("/work-panics/{token}", move |call| {
            let own = call.state().scheduler;
            call.ask_all(
                move |kept| assert_eq!(kept.scheduler, own, "the work"),
                move |call, _| text(call),
            )
        })
        .every(Duration::from_millis(10), |kept| {
            kept.ticks += 1;
            assert!(!kept.ticks.is_multiple_of(3), "the job");
        })
        .every(Duration::from_millis(11), |kept| kept.ticks += 1)
}

/// Paths before the token, and whether they end the connection.
const ROUTES: [(&str, bool); 11] = [
    ("now", false),
    ("echo", false),
    ("after", false),
    ("all", false),
    ("chain", false),
    ("dropped", false),
    ("fails", false),
    ("panics", true),
    ("panics-asking", true),
    ("panics-later", true),
    ("work-panics", false),
];

#[derive(Clone, Debug)]
enum Act {
    Connect,
    Pass { milliseconds: u64 },
    Client { number: usize, does: Does },
}

#[derive(Clone, Debug)]
enum Does {
    Ask { route: usize },
    SendHalf,
    EndOutput,
    Reset,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let does = prop_oneof![
        12 => (0..7_usize).prop_map(|route| Does::Ask { route }),
        2 => (7..11_usize).prop_map(|route| Does::Ask { route }),
        1 => Just(Does::SendHalf),
        1 => Just(Does::EndOutput),
        2 => Just(Does::Reset),
    ];
    let act = prop_oneof![
        2 => Just(Act::Connect),
        4 => (0..20_u64).prop_map(|milliseconds| Act::Pass { milliseconds }),
        18 => (0..8_usize, does).prop_map(|(number, does)| Act::Client { number, does }),
    ];
    proptest::collection::vec(act, 1..60)
}

/// The knowledge of the test about a client.
struct Client {
    id: ClientId,
    /// The answers it must get, in this order.
    expected: Vec<(u16, String)>,
    received: Vec<u8>,
    /// How many of them must arrive; all of them while the connection stands.
    certain: Option<usize>,
    /// It has sent half a request or ended its output, so it sends no more.
    is_done: bool,
}

impl Client {
    fn new(id: ClientId) -> Self {
        Self { id, expected: Vec::new(), received: Vec::new(), certain: None, is_done: false }
    }

    /// The text of this client's request with this number.
    fn ask(&mut self, route: usize, number: usize, schedulers: usize) -> String {
        let (name, ends) = ROUTES[route];
        let method = if name == "echo" { "POST" } else { "GET" };
        let body = if name == "echo" { format!("b{number}") } else { String::new() };
        let length = body.len();
        let head = format!("{method} /{name}/{number} HTTP/1.1\r\nHost: a");
        let request = format!("{head}\r\nContent-Length: {length}\r\n\r\n{body}");
        self.expected.push(match name {
            "echo" => (200, body),
            "all" => (200, vec![number.to_string(); schedulers].join(",")),
            "work-panics" if schedulers > 1 => (500, "500 Internal Server Error\n".to_owned()),
            "fails" => (409, format!("409 Conflict: {number}\n")),
            _ => (200, number.to_string()),
        });
        if ends {
            // Earlier answers may be lost with the reset that the panic causes.
            self.certain = Some(0);
        }
        request
    }

    fn act(&mut self, does: &Does, number: usize, stage: &mut Stage<Http<App<Kept>>>) {
        if self.is_done && matches!(does, Does::Ask { .. } | Does::SendHalf) {
            return;
        }
        let so_far = self.expected.len();
        match does {
            Does::Ask { route } => {
                let request = self.ask(*route, number, stage.schedulers().len());
                return stage.send(self.id, request.as_bytes());
            }
            Does::SendHalf => {
                self.certain.get_or_insert(so_far);
                stage.send(self.id, b"GET /now/half HT");
            }
            Does::EndOutput => {
                self.certain.get_or_insert(so_far);
                stage.world().client_end_output(self.id);
            }
            Does::Reset => {
                self.certain = Some(0);
                stage.world().client_reset(self.id);
            }
        }
        self.is_done = true;
    }

    fn check(&self, must_be_all: bool) -> Result<(), TestCaseError> {
        let text = String::from_utf8_lossy(&self.received);
        let mut rest = &*text;
        let mut count = 0;
        while let Some((head, behind)) = rest.split_once("\r\n\r\n") {
            let status: u16 = head.split(' ').nth(1).unwrap().parse().unwrap();
            let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
            let length: usize = length.unwrap().parse().unwrap();
            let Some((body, behind)) = behind.split_at_checked(length) else { break };
            rest = behind;
            if status == 408 {
                // Half a request, whose time has run out.
                break;
            }
            prop_assert!(count < self.expected.len(), "an answer too many: {}", text);
            prop_assert_eq!((status, body), (self.expected[count].0, &*self.expected[count].1));
            count += 1;
        }
        let certain = self.certain.unwrap_or(self.expected.len());
        prop_assert!(!must_be_all || count >= certain, "{} of {}: {}", count, certain, text);
        Ok(())
    }
}

fn run(schedulers: usize, faults: Faults, acts: &[Act]) -> Result<(), TestCaseError> {
    let must_be_all = faults == Faults::none();
    let mut numbers = 0..;
    let make = || app(numbers.next().unwrap()).into_service();
    let mut stage = Stage::with_faults(schedulers, 7, faults, make);
    let mut clients: Vec<Client> = Vec::new();
    for (count, act) in acts.iter().enumerate() {
        match act {
            Act::Connect => clients.push(Client::new(stage.connect())),
            Act::Pass { milliseconds } => stage.pass(Duration::from_millis(*milliseconds)),
            Act::Client { number, does } => {
                let all = clients.len().max(1);
                let Some(client) = clients.get_mut(number % all) else { continue };
                client.act(does, count, &mut stage);
                stage.rest();
                client.received.extend(stage.world().client_received(client.id));
            }
        }
    }
    // No wait is longer than this, even if they follow each other.
    stage.pass(Duration::from_secs(1));
    for client in &mut clients {
        client.received.extend(stage.world().client_received(client.id));
        client.check(must_be_all)?;
        stage.world().client_reset(client.id);
    }
    stage.pass(Duration::from_millis(100));
    for scheduler in stage.schedulers() {
        let left = (scheduler.processes(), scheduler.service().application().waiting());
        prop_assert_eq!(left, (0, 0), "processes and waits that are left");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn an_app_answers_in_order_and_keeps_nothing(schedulers in 1..4_usize, acts in acts()) {
        run(schedulers, Faults::none(), &acts)?;
    }

    #[test]
    fn also_in_a_network_with_faults(seed: u64, schedulers in 1..4_usize, acts in acts()) {
        run(schedulers, Faults::drawn(&mut Random::new(seed)), &acts)?;
    }
}

#[test]
fn a_job_that_panics_keeps_no_wait_from_its_time() {
    let app = || {
        let app = App::new(()).every(Duration::from_millis(10), |()| panic!("the job"));
        app.get("/", |call| {
            call.after(Duration::from_millis(12), |_call| Ok(Response::text("in time")))
        })
    };
    let mut stage = Stage::new(1, || app().into_service());
    let client = stage.connect();
    let due_ns = stage.world().now_ns() + 12_000_000;
    stage.send(client, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    stage.world().advance(10_000_000);
    let scheduler = &mut stage.schedulers()[0];
    // One turn, as after a sleep until the job is due.
    assert!(!scheduler.turn(TurnWait::Forbidden).unwrap());
    assert_eq!(scheduler.stats().panics, 1);
    assert!(
        scheduler.next_due_ns().is_some_and(|next_ns| next_ns <= due_ns),
        "it wakes for the wait"
    );
}
