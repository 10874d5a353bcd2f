// A world for the client of channels: its clock, its network and its page are the test's, so that hours pass in no time.
"use strict";
const fs = require("node:fs");
const vm = require("node:vm");

class FakeSocket {
  constructor(world, url) {
    Object.assign(this, { world, url: String(url), readyState: 0, sent: [] });
    world.sockets.push(this);
  }

  send(text) {
    if (this.readyState !== 1) throw new Error(`sent while the state is ${this.readyState}`);
    this.sent.push(JSON.parse(text));
    this.world.answer?.(this, this.sent.at(-1));
  }

  // As in browsers, the end is not told before the other side has answered.
  close() {
    this.readyState = 2;
  }

  /** The server takes the connection. */
  accept() {
    this.readyState = 1;
    this.onopen({});
  }

  /** The server says this. */
  say(told) {
    this.onmessage({ data: typeof told === "string" ? told : JSON.stringify(told) });
  }

  /** It has ended, or could not be opened. */
  end(code = 1006, reason = "") {
    this.readyState = 3;
    this.onclose({ code, reason });
  }

  /** What was sent, without pings. */
  orders() {
    return this.sent.filter(({ ping }) => ping === undefined);
  }
}

class World {
  constructor(script) {
    Object.assign(this, { now: 1_800_000_000_000, elapsed: 0, timers: new Map(), number: 0, sockets: [], reported: [], random: 1 });
    const world = this;
    class WebSocket extends FakeSocket {
      constructor(url) {
        if (world.refusal) throw world.refusal;
        super(world, url);
      }
    }
    const target = () => new EventTarget();
    this.page = Object.assign(target(), { visibilityState: "visible" });
    this.window = target();
    const timer = (act, ms, every) => {
      this.timers.set(++this.number, { act, at: this.elapsed + ms, every });
      return this.number;
    };
    const forget = (number) => this.timers.delete(number);
    const scope = {
      WebSocket, URL, AbortController, atob, document: this.page, location: { href: "http://site.example/page" },
      addEventListener: (...all) => this.window.addEventListener(...all),
      setTimeout: (act, ms) => timer(act, ms), setInterval: (act, ms) => timer(act, ms, ms),
      clearTimeout: forget, clearInterval: forget,
      console: { error: (...words) => this.reported.push(words.join(" ")) },
      reportError: (error) => this.reported.push(error.message),
    };
    const context = vm.createContext(scope);
    vm.runInContext("this.setClock = (now, random) => { Date.now = now; Math.random = random; }", context);
    scope.setClock(() => this.now, () => this.random);
    vm.runInContext(fs.readFileSync(script, "utf8"), context);
    this.Velodrome = scope.Velodrome;
  }

  get socket() {
    return this.sockets.at(-1);
  }

  /** A client, and the states that it tells. */
  client(options = {}) {
    this.states = [];
    const onstate = (state, why) => this.states.push(why ? `${state}: ${why.message}` : state);
    return new this.Velodrome("/channels", { onstate, ...options });
  }

  /** What was waited for has come. */
  async settle() {
    for (let round = 0; round < 20; round += 1) await Promise.resolve();
  }

  /** Time passes. */
  async pass(ms) {
    const end = this.elapsed + ms;
    for (;;) {
      const due = [...this.timers].filter(([, { at }]) => at <= end).sort(([, one], [, other]) => one.at - other.at)[0];
      if (!due) break;
      const [number, timer] = due;
      this.now += timer.at - this.elapsed;
      this.elapsed = timer.at;
      if (timer.every) timer.at += timer.every;
      else this.timers.delete(number);
      timer.act();
      await this.settle();
    }
    this.now += end - this.elapsed;
    this.elapsed = end;
    await this.settle();
  }

  /** The computer sleeps: the clock goes on, timers do not. */
  sleep(ms) {
    this.now += ms;
  }

  happen(target, type, fields = {}) {
    target.dispatchEvent(Object.assign(new Event(type), fields));
  }
}

module.exports = { World };
