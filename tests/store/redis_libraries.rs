//! Goal: the client libraries of Redis work as with Redis, including the commands that they send when they connect, for
//! channels and the store. Method: small programs with redis-py, node-redis and go-redis, each reported as skipped if
//! it is not installed.

use std::process::Command;

use crate::server::channel::{API_KEY, resp, token};
use crate::server::{Plan, Server, errors_of, printed_by, run};

const CONFIG: &str = "[[channel]]\npattern = \"news\"\n[[channel]]\npattern = \"room.*\"\nsubscribe = \
                      \"token\"\npublish = \"token\"\n[channels]\napi_keys = \"keys\"\ntoken_keys = \
                      \"tokens\"\n";

/// Prints the messages it receives, with RESP2, and with RESP3 if the library supports both.
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
except redis.exceptions.RedisError as error:
    assert 'invalid username-password pair' in str(error), error
    print('done')
"#;

/// Uses the store, and prints what Redis would print as well.
const PYTHON_STORE: &str = r#"
import sys, redis
client = redis.Redis.from_url(sys.argv[1] + '/3', socket_timeout=20)
assert client.set('a', 'one') and client.get('a') == b'one'
assert client.set('a', 'two', nx=True) is None and client.set('none', 'x', xx=True) is None
assert client.set('a', 'three', ex=100, get=True) == b'one' and 90 < client.ttl('a') <= 100
assert client.set('a', 'four', keepttl=True) and client.ttl('a') > 0 and client.persist('a')
assert client.ttl('a') == -1 and client.pttl('none') == -2
assert client.mset({'m:1': '1', 'm:2': b'\x00\xff', 'm:3': 'x' * 1000000})
assert client.mget('m:1', 'none', 'm:2') == [b'1', None, b'\x00\xff']
assert client.strlen('m:3') == 1000000 and client.getrange('m:3', 0, 2) == b'xxx'
assert client.incr('n') == 1 and client.incrby('n', 5) == 6 and client.decr('n', 2) == 4
try:
    client.incr('a')
    raise AssertionError('a is no number')
except redis.exceptions.ResponseError as error:
    assert str(error) == 'value is not an integer or out of range', error
assert client.append('a', '!') == 5 and client.getset('a', 'five') == b'four!' and client.getdel('a') == b'five'
assert sorted(client.scan_iter('m:*')) == [b'm:1', b'm:2', b'm:3'] == sorted(client.keys('m:*'))
assert client.exists('m:1', 'm:2', 'none') == 2 and client.type('m:1') == b'string'
with client.pipeline() as together:
    assert together.set('p', 1).incr('p').get('p').execute() == [True, 2, b'2']
other = redis.Redis.from_url(sys.argv[1] + '/3')
tries = 0
def double(pipe):
    global tries
    tries += 1
    value = int(pipe.get('p'))
    if tries == 1:
        other.set('p', 21)
    pipe.multi()
    pipe.set('p', value * 2)
client.transaction(double, 'p')
assert (tries, client.get('p')) == (2, b'42')
assert client.delete('m:1', 'm:2', 'none') == 2 and client.dbsize() == 3
assert 'db3' in client.info('keyspace') and client.flushdb() and client.dbsize() == 0
print('done')
"#;

const NODE_STORE: &str = r#"
const { createClient } = require('redis');
const assert = require('assert');
(async () => {
  const client = createClient({ url: process.argv[2], database: 3 });
  await client.connect();
  assert.equal(await client.set('a', 'one', { EX: 100 }), 'OK');
  assert.equal(await client.set('a', 'two', { NX: true }), null);
  assert.equal(await client.get('a'), 'one');
  assert.ok(await client.ttl('a') > 90);
  await client.mSet({ 'm:1': '1', 'm:2': '2', 'm:3': 'x'.repeat(1000000) });
  assert.deepEqual(await client.mGet(['m:1', 'none', 'm:2']), ['1', null, '2']);
  assert.equal((await client.get('m:3')).length, 1000000);
  const keys = [];
  for await (const key of client.scanIterator({ MATCH: 'm:*' })) keys.push(key);
  assert.deepEqual(keys.flat().sort(), ['m:1', 'm:2', 'm:3']);
  assert.deepEqual(await client.multi().set('p', '1').incr('p').get('p').exec(), ['OK', 2, '2']);
  const counted = await Promise.all(Array.from({ length: 100 }, () => client.incr('n')));
  assert.deepEqual(counted, Array.from({ length: 100 }, (_, at) => at + 1));
  await client.watch('p');
  const other = client.duplicate();
  await other.connect();
  await other.set('p', '21');
  await assert.rejects(client.multi().set('p', '3').exec(), /watch/i);
  assert.equal(await client.get('p'), '21');
  assert.equal(await client.del(['m:1', 'none']), 1);
  await assert.rejects(client.hGet('h', 'f'), /unknown command/);
  await client.quit();
  await other.quit();
  console.log('done');
})();
"#;

const GO_STORE: &str = r#"package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
)

func check(is bool, what string) {
	if !is {
		panic(what)
	}
}

func main() {
	all := context.Background()
	client := redis.NewClient(&redis.Options{Addr: os.Args[1], DB: 3})
	check(client.Set(all, "a", "one", 100*time.Second).Val() == "OK", "set")
	check(!client.SetNX(all, "a", "two", 0).Val(), "setnx")
	check(client.Get(all, "a").Val() == "one" && client.TTL(all, "a").Val() > 90*time.Second, "get")
	check(client.Get(all, "none").Err() == redis.Nil, "nil")
	client.MSet(all, "m:1", "1", "m:2", "2")
	check(fmt.Sprint(client.MGet(all, "m:1", "none", "m:2").Val()) == "[1 <nil> 2]", "mget")
	found := client.Scan(all, 0, "m:*", 100).Iterator()
	count := 0
	for found.Next(all) {
		count++
	}
	check(count == 2 && found.Err() == nil, "scan")
	commands, err := client.TxPipelined(all, func(pipe redis.Pipeliner) error {
		pipe.Set(all, "p", 1, 0)
		pipe.Incr(all, "p")
		return nil
	})
	check(err == nil && len(commands) == 2, "pipeline")
	tries := 0
	double := func(tx *redis.Tx) error {
		tries++
		value, err := tx.Get(all, "p").Int()
		if err != nil {
			return err
		}
		if tries == 1 {
			client.Set(all, "p", 21, 0)
		}
		_, err = tx.TxPipelined(all, func(pipe redis.Pipeliner) error {
			pipe.Set(all, "p", value*2, 0)
			return nil
		})
		return err
	}
	check(client.Watch(all, double, "p") == redis.TxFailedErr, "watch")
	check(client.Watch(all, double, "p") == nil && client.Get(all, "p").Val() == "42", "again")
	heard := client.Subscribe(all, "news")
	_, err = heard.Receive(all)
	check(err == nil, "subscribe")
	check(client.Publish(all, "news", "hello").Val() == 1, "publish")
	message, err := heard.ReceiveMessage(all)
	check(err == nil && message.Payload == "hello", "message")
	check(client.HGet(all, "h", "f").Err() != nil, "unknown command")
	fmt.Println("done")
}
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
    plan.directory.write("tokens", crate::server::channel::SECRET);
    plan.argument("--schedulers=1").start()
}

/// A server with a store and no rules.
fn store() -> Server {
    let plan = Plan::new().argument("--listen-resp=127.0.0.1:0");
    let store = format!("--store={}", plan.directory.join("store").display());
    plan.argument(&store).config("[store]\nsync = \"none\"\n").start()
}

/// Whether a library is installed; reports the test as skipped otherwise.
#[expect(clippy::print_stdout, reason = "what is skipped has to be seen")]
fn has_library(command: &mut Command, library: &str, test: &str) -> bool {
    let has = command.output().is_ok_and(|output| output.status.success());
    if !has {
        println!("SKIPPED {test}: {library} is not installed");
    }
    has
}

/// A Python with redis-py: the one in the path, or Debian's.
fn python() -> Command {
    let names = ["python3", "/usr/bin/python3"];
    let has = |name: &&str| {
        let mut python = Command::new(name);
        python.args(["-c", "import redis"]).output().is_ok_and(|output| output.status.success())
    };
    Command::new(names.into_iter().find(has).unwrap_or("python3"))
}

fn node() -> Command {
    let mut node = Command::new("node");
    // Debian's directory for Node packages.
    node.env("NODE_PATH", "/usr/share/nodejs");
    node
}

#[test]
fn redis_py_subscribes_and_publishes() {
    let test = "redis_py_subscribes_and_publishes";
    if !has_library(python().args(["-c", "import redis"]), "redis-py", test) {
        return;
    }
    let server = site();
    let url = format!("redis://{}", resp(&server));
    let token = token("\"sub\":\"ann\",\"subscribe\":[\"room.*\"],\"publish\":[\"room.*\"]", 3600);
    let output = run(python().args(["-c", PYTHON, &url, API_KEY, &token]));
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

#[test]
fn redis_py_uses_the_store() {
    if !has_library(python().args(["-c", "import redis"]), "redis-py", "redis_py_uses_the_store") {
        return;
    }
    let server = store();
    let url = format!("redis://{}", resp(&server));
    let output = run(python().args(["-c", PYTHON_STORE, &url]));
    assert_eq!(printed_by(&output).trim(), "done", "{}", errors_of(&output));
}

#[test]
fn node_redis_uses_the_store() {
    if !has_library(
        node().args(["-e", "require('redis')"]),
        "node-redis",
        "node_redis_uses_the_store",
    ) {
        return;
    }
    let server = store();
    let url = format!("redis://{}", resp(&server));
    server.directory().write("store.js", NODE_STORE);
    let output = run(node().arg(server.directory().join("store.js")).arg(&url));
    assert_eq!(printed_by(&output).trim(), "done", "{}", errors_of(&output));
}

#[test]
fn go_redis_uses_the_store() {
    let test = "go_redis_uses_the_store";
    let server = store();
    let directory = server.directory().join("go");
    std::fs::create_dir(&directory).unwrap();
    std::fs::write(directory.join("main.go"), GO_STORE).unwrap();
    std::fs::write(directory.join("go.mod"), "module client\n").unwrap();
    let go = |words: &[&str]| {
        let mut command = Command::new("go");
        command.current_dir(&directory).args(words);
        command
    };
    // Downloaded once; later runs use Go's cache.
    let fetch = &mut go(&["get", "github.com/redis/go-redis/v9@v9.17.3"]);
    if !has_library(fetch, "Go with go-redis", test) {
        return;
    }
    let address = resp(&server).to_string();
    let output = run(&mut go(&["run", ".", &address]));
    assert_eq!(printed_by(&output).trim(), "done", "{}", errors_of(&output));
}
