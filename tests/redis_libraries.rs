//! Goal: the client libraries of Redis subscribe and publish as with Redis, with what they send by themselves when they connect. Method:
//! small programs with redis-py and node-redis, each skipped and said so where it is not installed.
#![expect(clippy::disallowed_types, reason = "a test holds files of its own")]
#![expect(clippy::disallowed_methods, reason = "a test's patience is measured by its own clock")]
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

mod server;

use std::process::Command;

use server::channel::{API_KEY, resp, token};
use server::{Plan, Server, errors_of, printed_by, run};

const CONFIG: &str = "[[channel]]\npattern = \"news\"\n[[channel]]\npattern = \"room.*\"\nsubscribe = \"token\"\n\
    publish = \"token\"\n[channels]\napi_keys = \"keys\"\ntoken_keys = \"tokens\"\n";

/// Prints what it hears, with RESP2 and RESP3 where the library has both.
const PYTHON: &str = r#"
import inspect, sys, redis
url, key, token = sys.argv[1:]
has_both = 'protocol' in inspect.signature(redis.Connection.__init__).parameters
for protocol in ([2, 3] if has_both else [2]):
    options = {'protocol': protocol} if has_both else {}
    for password, name in ((key, 'news'), (token, 'room.a')):
        client = redis.Redis.from_url(url, password=password, socket_timeout=20, **options)
        assert client.ping() and client.echo('x') == b'x'
        subscriber = client.pubsub(ignore_subscribe_messages=False)
        subscriber.subscribe(name)
        assert subscriber.get_message(timeout=20)['type'] == 'subscribe'
        assert client.pubsub_numsub(name) == [(name.encode(), 1)]
        assert client.publish(name, 'hello') == 1
        told = subscriber.get_message(timeout=20)
        assert (told['type'], told['channel'], told['data']) == ('message', name.encode(), b'hello'), told
        pipeline = client.pipeline(transaction=False)
        for number in range(100):
            pipeline.publish(name, number)
        assert pipeline.execute() == [1] * 100
        heard = [int(subscriber.get_message(timeout=20)['data']) for _ in range(100)]
        assert heard == list(range(100)), heard
        subscriber.unsubscribe()
        assert subscriber.get_message(timeout=20)['type'] == 'unsubscribe'
        subscriber.close()
try:
    redis.Redis.from_url(url, password='wrong').ping()
except redis.exceptions.AuthenticationError:
    print('done')
"#;

const NODE: &str = r#"
const { createClient } = require('redis');
const [url, key] = process.argv.slice(2);
(async () => {
  const client = createClient({ url, password: key });
  await client.connect();
  const subscriber = client.duplicate();
  await subscriber.connect();
  const heard = [];
  let done;
  const all = new Promise((resolve) => { done = resolve; });
  const hear = (kind) => (message, channel) => {
    heard.push(`${kind} ${channel} ${message}`);
    if (heard.length === 4) done();
  };
  await subscriber.subscribe('news', hear('message'));
  await subscriber.pSubscribe('n*', hear('pattern'));
  const receivers = [await client.publish('news', 'one'), await client.publish('news', 'two')];
  await all;
  await subscriber.unsubscribe('news');
  await subscriber.pUnsubscribe('n*');
  const left = await client.publish('news', 'three');
  console.log(JSON.stringify({ heard, receivers, left }));
  await client.quit();
  await subscriber.quit();
})();
"#;

fn site() -> Server {
    let plan = Plan::new().config(CONFIG).argument("--listen-resp=127.0.0.1:0");
    plan.directory.write("keys", API_KEY);
    plan.directory.write("tokens", server::channel::SECRET);
    plan.argument("--schedulers=1").start()
}

/// Whether a library can be used; says that the test is skipped when not.
#[expect(clippy::print_stdout, reason = "what is skipped has to be seen")]
fn has_library(command: &mut Command, library: &str, test: &str) -> bool {
    let has = command.output().is_ok_and(|output| output.status.success());
    if !has {
        println!("SKIPPED {test}: {library} is not installed");
    }
    has
}

fn node() -> Command {
    let mut node = Command::new("node");
    // Where Debian has the libraries of its packages.
    node.env("NODE_PATH", "/usr/share/nodejs");
    node
}

#[test]
fn redis_py_subscribes_and_publishes() {
    let test = "redis_py_subscribes_and_publishes";
    if !has_library(Command::new("python3").args(["-c", "import redis"]), "redis-py", test) {
        return;
    }
    let server = site();
    let url = format!("redis://{}", resp(&server));
    let token = token("\"sub\":\"ann\",\"subscribe\":[\"room.*\"],\"publish\":[\"room.*\"]", 3600);
    let output = run(Command::new("python3").args(["-c", PYTHON, &url, API_KEY, &token]));
    assert_eq!(printed_by(&output).trim(), "done", "{}", errors_of(&output));
}

#[test]
fn node_redis_subscribes_and_publishes() {
    let test = "node_redis_subscribes_and_publishes";
    if !has_library(node().args(["-e", "require('redis')"]), "node-redis", test) {
        return;
    }
    let server = site();
    let url = format!("redis://{}", resp(&server));
    let script = server.directory().join("client.js");
    server.directory().write("client.js", NODE);
    let output = run(node().arg(script).args([&*url, API_KEY]));
    let told: serde_json::Value = serde_json::from_str(printed_by(&output).trim())
        .unwrap_or_else(|error| panic!("{error}: {}", errors_of(&output)));
    let mut heard: Vec<&str> =
        told["heard"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
    heard.sort_unstable();
    let expected = ["message news one", "message news two", "pattern news one", "pattern news two"];
    assert_eq!(heard, expected);
    assert_eq!((&told["receivers"], &told["left"]), (&serde_json::json!([2, 2]), &0.into()));
}
