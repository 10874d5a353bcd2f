// Goal: the client of channels comes back from everything that fails, says so, and never asks in a storm.
// Called with the client's script; prints `passed NAME` for each case, and ends with 1 if one fails.
"use strict";
const assert = require("node:assert/strict");
const { World } = require("./world.js");

const SECOND = 1000;
const HOUR = 3600 * SECOND;
const POSITION = "aa-1";

/** A server that grants what is asked. */
function kind(socket, order) {
  const { id, token, subscribe, publish, unsubscribe, ping } = order;
  if (token !== undefined) socket.say({ authorized: "ann", expires_in: 100, id });
  else if (subscribe !== undefined) socket.say({ subscribed: subscribe, since: POSITION });
  else if (unsubscribe !== undefined) socket.say({ unsubscribed: unsubscribe });
  else if (publish !== undefined) socket.say({ published: POSITION, receivers: 1, id });
  else if (ping) socket.say({ pong: true });
}

/** A world with a client that is connected, and has a subscription. */
async function connected(world, options = {}) {
  world.answer = kind;
  const heard = [];
  const client = world.client(options);
  const note = (word) => (...values) => heard.push([word, ...values]);
  const stop = client.subscribe("news", (data, { offset }) => heard.push([offset, data]), {
    error: note("error"), lost: note("lost"), subscribed: ({ recovered }) => heard.push(["subscribed", recovered]),
  });
  world.socket.accept();
  await world.settle();
  assert.deepEqual(heard.splice(0), [["subscribed", undefined]]);
  return { client, heard, stop };
}

/** Attempts while nothing can be reached. */
async function attempts(world, ms) {
  const before = world.sockets.length;
  for (let passed = 0; passed < ms; passed += 100) {
    if (world.socket.readyState === 0) world.socket.end();
    await world.pass(100);
  }
  return world.sockets.length - before;
}

const cases = {
  async "a token function that fails is called again, and the state says so"(world) {
    world.answer = (socket, order) => {
      if (order.subscribe && !socket.isKnown) socket.say({ error: "the channel requires a token", channel: order.subscribe });
      else kind(socket, order);
      socket.isKnown ||= order.token !== undefined;
    };
    const bad = [() => { throw new Error("502"); }, () => Promise.reject(new Error("no network")), () => undefined, () => 7, async () => "", () => Promise.reject(),
      () => new Promise(() => {})];
    const troubles = ["502", "no network", "the function gave no text", "the function gave no text", "the function gave no text", "undefined",
      "the function gave none in time"];
    let calls = 0;
    const heard = [];
    const client = world.client({ token: () => (bad[calls++] ?? (() => "good"))() });
    client.subscribe("news", (data) => heard.push(data), { error: (why) => heard.push(why) });
    world.socket.accept();
    for (const [number, trouble] of troubles.entries()) {
      await world.pass(number === 6 ? 10 * SECOND : 0);
      assert.equal(calls, number + 1);
      assert.equal(world.states.at(-1), `waiting: token: ${trouble}`);
      await world.pass(Math.min(500 * 2 ** number, 30 * SECOND) - 1);
      assert.equal(calls, number + 1);
      await world.pass(1);
    }
    assert.equal(world.states.at(-1), "open");
    world.socket.say({ channel: "news", offset: 2, data: "hello" });
    assert.equal(heard.at(-1), "hello");
    assert.equal(world.sockets.length, 1);
  },

  async "a token that the server refuses is asked for again"(world) {
    let number = 0;
    world.answer = (socket, order) => {
      if (order.token === "token 1") socket.say({ error: "the token has expired", id: order.id });
      else kind(socket, order);
    };
    world.client({ token: async () => `token ${++number}` });
    world.socket.accept();
    await world.settle();
    assert.equal(world.states.at(-1), "waiting: token: the token has expired");
    await world.pass(500);
    assert.equal(world.states.at(-1), "open");
  },

  async "what needs no token works without one"(world) {
    const { heard } = await connected(world, { token: () => { throw new Error("no"); } });
    world.socket.say({ channel: "news", offset: 2, data: 1 });
    assert.deepEqual(heard, [[2, 1]]);
  },

  async "a new token comes before the old one ends, and one that fails closes nothing"(world) {
    let calls = 0;
    await connected(world, { token: () => { if (++calls === 2) throw new Error("a deploy"); return "good"; } });
    await world.pass(80 * SECOND);
    assert.deepEqual([calls, world.states.at(-1)], [2, "waiting: token: a deploy"]);
    await world.pass(500);
    assert.deepEqual([calls, world.states.at(-1), world.sockets.length], [3, "open", 1]);
  },

  async "a token that ended while the computer slept is replaced, and its subscription begins again"(world) {
    let calls = 0;
    const { heard } = await connected(world, { token: () => { calls += 1; return "good"; } });
    world.sleep(101 * SECOND);
    world.socket.say({ unsubscribed: "news", reason: "the token has expired" });
    await world.settle();
    assert.equal(calls, 2);
    assert.deepEqual(heard, [["error", "the token has expired"], ["subscribed", undefined]]);
  },

  async "a token is a text or a function, an address one of a WebSocket"(world) {
    assert.throws(() => world.client({ token: 7 }), /a string or a function/);
    assert.throws(() => new world.Velodrome("ftp://site.example/"), /no address of a WebSocket/);
    assert.equal(world.sockets.length, 0);
  },

  async "a handshake that is refused, whatever the status, is tried again later and later"(world) {
    world.client();
    for (const pause of [500, 1000, 2000, 4000, 8000, 16000, 30000, 30000]) {
      world.socket.end();
      assert.equal(world.states.at(-1), "waiting: the connection could not be opened");
      const before = world.sockets.length;
      await world.pass(pause - 1);
      assert.equal(world.sockets.length, before);
      await world.pass(1);
      assert.equal(world.sockets.length, before + 1);
    }
    world.answer = kind;
    world.socket.accept();
    assert.equal(world.states.at(-1), "open");
  },

  async "a browser that makes no WebSocket is asked again"(world) {
    world.refusal = new Error("the policy forbids it");
    world.client();
    assert.equal(world.states.at(-1), "waiting: no WebSocket: the policy forbids it");
    world.refusal = null;
    await world.pass(500);
    assert.equal(world.sockets.length, 1);
  },

  async "a handshake without an answer ends after a quarter of a minute"(world) {
    world.client();
    await world.pass(15 * SECOND);
    assert.equal(world.states.at(-1), "waiting: the connection was not opened in time");
    await world.pass(500);
    assert.equal(world.sockets.length, 2);
  },

  async "every close code brings it back, with its position"(world) {
    const { heard } = await connected(world);
    for (const code of [1000, 1001, 1002, 1003, 1005, 1006, 1007, 1008, 1009, 1011, 1012, 1013, 4001, 4003, 4008, 4999]) {
      await world.pass(6 * SECOND);
      world.socket.say({ channel: "news", offset: code, data: code });
      world.socket.end(code, code === 4003 ? "disconnected by the server" : "");
      const reason = code === 4003 ? "disconnected by the server" : "no reason";
      assert.equal(world.states.at(-1), `waiting: the connection ended: ${reason} (${code})`);
      await world.pass(500);
      world.socket.accept();
      await world.settle();
      assert.deepEqual(world.socket.orders()[0], { subscribe: "news", since: `aa-${code}` });
      assert.equal(world.states.at(-1), "open");
      heard.length = 0;
    }
  },

  async "a server that ends each connection at once is not asked in a storm"(world) {
    await connected(world);
    let ends = 0;
    for (let passed = 0; passed < HOUR; passed += 100) {
      if (world.socket.readyState === 1) { ends += 1; world.socket.end(4008); }
      await world.pass(100);
      if (world.socket.readyState === 0) world.socket.accept();
    }
    assert.ok(ends > 100 && ends < 130, `${ends}`);
  },

  async "a server that is gone for an hour is asked at most twice a minute, and less than four times"(world) {
    await connected(world);
    world.socket.end();
    const slow = await attempts(world, HOUR);
    assert.ok(slow > 118 && slow < 128, `${slow}`);
    world.random = 0;
    const quick = await attempts(world, HOUR);
    assert.ok(quick > 230 && quick < 245, `${quick}`);
  },

  async "a server that is back without its history tells that messages are lost"(world) {
    const { heard } = await connected(world);
    world.socket.end();
    world.answer = (socket, { subscribe }) => subscribe && socket.say({ subscribed: subscribe, since: "bb-0", recovered: false });
    await world.pass(500);
    world.socket.accept();
    world.socket.say({ channel: "news", offset: 1, data: "new" });
    await world.settle();
    assert.deepEqual(heard, [["lost"], ["subscribed", false], [1, "new"]]);
    world.socket.end();
    await world.pass(SECOND);
    world.socket.accept();
    assert.deepEqual(world.socket.orders()[0], { subscribe: "news", since: "bb-1" });
  },

  async "a connection that says nothing is asked, and ends without an answer"(world) {
    await connected(world);
    await world.pass(HOUR);
    assert.equal(world.sockets.length, 1);
    const pings = world.socket.sent.filter(({ ping }) => ping).length;
    assert.ok(pings > 80 && pings <= 180, `${pings}`);
    world.answer = null;
    await world.pass(50 * SECOND);
    assert.ok(world.states.includes("waiting: the server does not answer"));
    assert.ok(world.sockets.length >= 2);
  },

  async "a connection that hears messages is not asked"(world) {
    await connected(world);
    for (let number = 2; number < 100; number += 1) {
      world.socket.say({ channel: "news", offset: number, data: number });
      await world.pass(10 * SECOND);
    }
    assert.equal(world.socket.sent.filter(({ ping }) => ping).length, 0);
  },

  async "an order that a module decides about has more time"(world) {
    const { client } = await connected(world);
    world.answer = null;
    const promise = client.publish("news", 1);
    const published = world.socket;
    await world.pass(20 * SECOND + 39 * SECOND);
    assert.equal(published.readyState, 1);
    published.say({ published: "aa-2", receivers: 3, id: published.orders().at(-1).id });
    assert.equal((await promise).receivers, 3);
  },

  async "after a sleep the connection is asked at once"(world) {
    await connected(world);
    world.answer = null;
    world.sleep(HOUR);
    await world.pass(5 * SECOND);
    assert.deepEqual(world.socket.sent.at(-1), { ping: true });
    await world.pass(10 * SECOND);
    assert.equal(world.states.at(-1), "waiting: the server does not answer");
  },

  async "after a sleep what waits is tried soon, once"(world) {
    world.client();
    for (let number = 0; number < 8; number += 1) { world.socket.end(); await world.pass(30 * SECOND); }
    world.socket.end();
    const before = world.sockets.length;
    world.sleep(HOUR);
    await world.pass(6 * SECOND);
    assert.equal(world.sockets.length, before + 1);
  },

  async "a clock that is set back stops nothing"(world) {
    await connected(world);
    world.sleep(-HOUR);
    world.socket.end();
    await world.pass(SECOND);
    assert.equal(world.sockets.length, 2);
  },

  async "the network is back: what waits is tried soon, what is open is asked"(world) {
    await connected(world);
    world.happen(world.window, "offline");
    assert.deepEqual(world.socket.sent.at(-1), { ping: true });
    world.socket.end();
    await attempts(world, 5 * 60 * SECOND);
    await world.pass(30 * SECOND);
    world.socket.end();
    await world.pass(6 * SECOND);
    const before = world.sockets.length;
    world.happen(world.window, "online");
    await world.pass(500);
    assert.equal(world.sockets.length, before + 1);
    // A network that comes and goes is no reason for a storm.
    world.socket.end();
    for (let number = 0; number < 100; number += 1) { world.happen(world.window, "online"); await world.pass(10); }
    assert.ok(world.sockets.length <= before + 3, `${world.sockets.length - before}`);
  },

  async "a page that is shown again asks whether its connection is alive"(world) {
    await connected(world);
    world.page.visibilityState = "hidden";
    world.happen(world.page, "visibilitychange");
    assert.equal(world.socket.sent.filter(({ ping }) => ping).length, 0);
    world.page.visibilityState = "visible";
    world.happen(world.page, "visibilitychange");
    assert.equal(world.socket.sent.filter(({ ping }) => ping).length, 1);
  },

  async "a page in the browser's cache has no connection, and comes back with its position"(world) {
    await connected(world);
    world.happen(world.window, "pagehide", { persisted: false });
    assert.equal(world.socket.readyState, 1);
    world.happen(world.window, "pagehide", { persisted: true });
    assert.deepEqual([world.socket.readyState, world.states.at(-1)], [2, "waiting: the page was left"]);
    world.socket.end(1005);
    await world.pass(HOUR);
    assert.equal(world.sockets.length, 1);
    world.happen(world.window, "pageshow", { persisted: true });
    assert.equal(world.sockets.length, 2);
    world.socket.accept();
    assert.deepEqual(world.socket.orders()[0], { subscribe: "news", since: POSITION });
  },

  async "what is not an object of channels ends the connection, and the position tells what was missed"(world) {
    const { heard } = await connected(world);
    for (const strange of ["<html>", "", "null", "7", "[]", "{\"channel\":\"news\",\"offset\":3,\"base64\":\"*\"}"]) {
      world.socket.say(strange);
      assert.equal(world.states.at(-1), "waiting: the server sent something else than the objects of channels");
      await world.pass(30 * SECOND);
      world.socket.accept();
      await world.pass(6 * SECOND);
    }
    // What a later server may say.
    world.socket.say({ weather: "rain" });
    world.socket.say({ channel: "news", weather: "rain" });
    assert.equal(world.states.at(-1), "open");
    assert.ok(heard.every(([word]) => word === "subscribed"), JSON.stringify(heard));
  },

  async "functions of the page that throw are reported and stop nothing"(world) {
    world.answer = (socket, order) => (order.subscribe ? socket.say({ subscribed: order.subscribe, since: "aa-1", recovered: false }) : kind(socket, order));
    const oops = (word) => () => { throw new Error(word); };
    const client = world.client({ onstate: oops("state") });
    client.subscribe("news", oops("message"), { lost: oops("lost"), error: oops("error"), subscribed: oops("subscribed"), joined: oops("joined"), left: oops("left") });
    world.socket.accept();
    for (const told of [{ offset: 2, data: 1 }, { joined: "ann" }, { left: "ann" }]) world.socket.say({ channel: "news", ...told });
    world.socket.say({ unsubscribed: "news", reason: "no" });
    world.socket.end();
    await world.pass(500);
    world.socket.accept();
    assert.deepEqual(world.socket.orders()[0], { subscribe: "news", since: "aa-2" });
    const words = ["state", "state", "lost", "subscribed", "message", "joined", "left", "error", "state", "state", "state", "lost", "subscribed"];
    assert.deepEqual(world.reported, words);
  },

  async "a subscription that is ended while it reconnects does not come back"(world) {
    const { stop } = await connected(world);
    world.socket.end();
    stop();
    stop();
    await world.pass(500);
    world.socket.accept();
    await world.settle();
    assert.deepEqual(world.socket.orders(), []);
  },

  async "there is one subscription of a name, and its successor hears nothing of it"(world) {
    const { client, heard, stop } = await connected(world);
    assert.throws(() => client.subscribe("news", () => {}), /there is a subscription to news already/);
    world.answer = null;
    stop();
    const { id } = world.socket.sent.at(-1);
    assert.deepEqual(world.socket.sent.at(-1), { unsubscribe: "news", id });
    const next = [];
    client.subscribe("news", (data) => next.push(data), { error: (why) => next.push(why), since: "aa-9" });
    world.socket.say({ channel: "news", offset: 2, data: "late" });
    world.socket.say({ error: "it is not subscribed to", channel: "news", id });
    assert.deepEqual(world.socket.sent.at(-1), { subscribe: "news", since: "aa-9" });
    world.socket.say({ subscribed: "news", since: "aa-9", recovered: true });
    world.socket.say({ channel: "news", offset: 10, data: "new" });
    assert.deepEqual([heard, next], [[], ["new"]]);
  },

  async "a subscription that is refused for now is asked for again, another one is not"(world) {
    const { client } = await connected(world);
    const heard = [];
    world.answer = null;
    client.subscribe("full", () => {}, { error: (why) => heard.push(why) });
    client.subscribe("secret", () => {}, { error: (why) => heard.push(why) });
    world.socket.say({ error: "full", temporary: true, channel: "full" });
    world.socket.say({ error: "not you", channel: "secret" });
    const before = world.socket.orders().length;
    await world.pass(500);
    assert.deepEqual(world.socket.orders().slice(before), [{ subscribe: "full" }]);
    world.socket.say({ error: "full", temporary: true, channel: "full" });
    await world.pass(999);
    assert.equal(world.socket.orders().length, before + 1);
    await world.pass(1);
    assert.equal(world.socket.orders().length, before + 2);
    assert.deepEqual(heard, ["full", "not you", "full"]);
  },

  async "a message is sent once, and its sender learns what became of it"(world) {
    const { client } = await connected(world);
    world.answer = null;
    client.subscribe("laps", () => {});
    const cut = client.publish("news", 1);
    world.socket.end();
    await assert.rejects(cut, /the connection ended before the answer/);
    const kept = client.publish("news", { lap: 2 });
    const circle = {};
    circle.self = circle;
    await assert.rejects(client.publish("news", circle), /circular/);
    await world.pass(500);
    world.answer = kind;
    world.socket.accept();
    assert.equal((await kept).receivers, 1);
    // A page hears what it publishes: its subscriptions go first.
    const orders = world.socket.orders().map(({ subscribe, data }) => subscribe ?? data);
    assert.deepEqual(orders, ["news", "laps", { lap: 2 }]);
  },

  async "too many messages are refused, and all are when it is closed"(world) {
    const client = world.client();
    const all = Array.from({ length: 101 }, () => client.publish("news", 1).catch(({ message }) => message));
    client.close();
    client.close();
    const troubles = await Promise.all(all);
    assert.deepEqual([troubles[100], troubles[99]], ["too many messages wait", "the client is closed"]);
    await assert.rejects(client.publish("news", 1), /the client is closed/);
    assert.deepEqual([world.states.at(-1), world.timers.size], ["closed", 0]);
    world.happen(world.window, "online");
    world.happen(world.window, "pageshow", { persisted: true });
    await world.pass(HOUR);
    assert.equal(world.sockets.length, 1);
  },
};

(async () => {
  let failed = 0;
  for (const [name, run] of Object.entries(cases)) {
    const world = new World(process.argv[2]);
    try {
      await run(world);
      console.log(`passed ${name}`);
    } catch (error) {
      failed += 1;
      console.log(`FAILED ${name}\n${error.stack}`);
    }
  }
  process.exitCode = failed === 0 ? 0 : 1;
})();
