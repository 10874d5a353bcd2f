// The client of Velodrome's channels: one WebSocket for any number of subscriptions. It comes back by itself, with the number of the last
// message that it got, so that nothing is missed or `lost` says so. The types are in velodrome.d.ts.
"use strict";
(() => {
  // Milliseconds. The delays between attempts double from the first to the last, and each is shortened at random by up to a half.
  const FIRST_DELAY = 500;
  const LAST_DELAY = 30000;
  // A connection that ends earlier does not count as success: its successor comes later still.
  const STABLE_AFTER = 5000;
  const CONNECT_MOST = 15000;
  const TOKEN_MOST = 10000;
  // A silent connection is asked whether it is alive, and has this long to answer; longer while an order waits, because a module may be
  // deciding about it.
  const SILENCE_MOST = 20000;
  const ANSWER_MOST = 10000;
  const ORDER_MOST = 40000;
  // Timers stop while a computer sleeps: the clock tells.
  const [TICK, JUMP] = [5000, 5000];
  // A timer that is longer fires at once.
  const LONGEST_TIMER = 2000000000;
  // A new token is asked for when this part of the time is over.
  const REFRESH_AT = 0.8;
  const WAITING_MOST = 100;

  class Velodrome {
    constructor(url = "/channels", options = {}) {
      this.url = new URL(url, globalThis.location?.href);
      this.url.protocol = this.url.protocol.replace("http", "ws");
      if (!/^wss?:$/.test(this.url.protocol)) throw new TypeError(`no address of a WebSocket: ${this.url}`);
      this.token = options.token ?? null;
      if (!["string", "function"].includes(typeof this.token) && this.token !== null) {
        throw new TypeError("`token` is a string or a function");
      }
      this.onstate = options.onstate ?? (() => {});
      this.subscriptions = new Map();
      /** Names whose end the server has not confirmed, with the number of the order. */
      this.leaving = new Map();
      this.waiting = new Map();
      this.plans = new Map();
      this.id = 0;
      this.failures = 0;
      this.refused = 0;
      this.heard = 0;
      this.closed = false;
      this.suspended = false;
      this.isReady = false;
      this.listen();
      this.connect();
    }

    /** Subscribes; gives a function that ends it. */
    subscribe(channel, message, options = {}) {
      const known = this.subscriptions.get(channel);
      if (known) throw new Error(`there is a subscription to ${channel} already`);
      const error = options.error ?? ((why) => console.error(`${channel}: ${why}`));
      const { subscribed, lost, joined, left, since = null } = options;
      const subscription = { message, subscribed, lost, error, joined, left, since, state: "new", failures: 0 };
      this.subscriptions.set(channel, subscription);
      this.ask(channel, subscription);
      return () => {
        if (this.subscriptions.get(channel) !== subscription) return;
        this.subscriptions.delete(channel);
        this.cancel(`subscribe ${channel}`);
        if (subscription.state === "new") return;
        this.leaving.set(channel, ++this.id);
        this.send(JSON.stringify({ unsubscribe: channel, id: this.id }));
      };
    }

    /** Publishes; the promise tells how many subscribers it is for, or fails. */
    async publish(channel, data) {
      const { published, receivers } = await this.order({ publish: channel, data });
      return { position: published, receivers };
    }

    /** The users that subscribe to a channel with presence. */
    async members(channel) {
      const { total, subscribers, users } = await this.order({ members: channel });
      return { total, subscribers, users };
    }

    /** Ends it for good. */
    close() {
      if (this.closed) return;
      this.closed = true;
      this.listening.abort();
      clearInterval(this.ticking);
      this.leave("the client is closed");
      this.tell("closed");
    }

    connect() {
      this.tell("connecting");
      if (this.closed) return;
      this.suspended = false;
      this.tried = Date.now();
      this.stable = null;
      let socket;
      try {
        socket = this.socket = new WebSocket(this.url);
      } catch (error) {
        return this.again(`no WebSocket: ${error.message}`);
      }
      const ours = (act) => (event) => this.socket === socket && act(event);
      socket.onopen = ours(() => {
        this.cancel("connect");
        this.stable = Date.now();
        this.listenFor(SILENCE_MOST);
        this.authorize(socket);
      });
      socket.onmessage = ours(({ data }) => this.hear(data));
      const ending = ({ code, reason }) => `the connection ended: ${reason || "no reason"} (${code})`;
      socket.onclose = ours((event) => this.again(this.stable ? ending(event) : "the connection could not be opened"));
      this.plan("connect", CONNECT_MOST, () => this.again("the connection was not opened in time"));
    }

    /** Orders may go, and what waits goes. */
    begin(state, why) {
      const { socket } = this;
      if (this.state !== state || why) this.tell(state, why);
      if (this.socket !== socket) return;
      this.isReady = true;
      // Subscriptions first: a page hears what it publishes.
      for (const [channel, subscription] of this.subscriptions) this.ask(channel, subscription);
      for (const order of this.waiting.values()) if (!order.isSent) this.sendOrder(order);
    }

    /** Ends the connection, without waiting for the server: it may be gone. */
    leave(why) {
      const { socket } = this;
      this.socket = null;
      this.isReady = false;
      socket?.close();
      for (const name of [...this.plans.keys()]) this.cancel(name);
      this.leaving.clear();
      for (const subscription of this.subscriptions.values()) subscription.state = "new";
      for (const [id, { reject, isSent }] of this.waiting) {
        // Whether the server has got it is not known: whoever published decides.
        if (isSent || this.closed) {
          this.waiting.delete(id);
          reject(new Error(why));
        }
      }
    }

    /** The connection has ended or never began: comes back. */
    again(why) {
      this.leave("the connection ended before the answer");
      if (this.stable !== null && Math.abs(Date.now() - this.stable) >= STABLE_AFTER) this.failures = 0;
      this.plan("again", delay(this.failures++), () => this.connect());
      this.tell("waiting", why);
    }

    /** Shows a token, and again: before its time is over, or later if that fails. What needs no token works without one. */
    async authorize(socket) {
      this.cancel("token");
      if (this.token === null) return this.begin("open");
      const attempt = (this.attempt = {});
      const isCurrent = () => this.socket === socket && this.attempt === attempt;
      try {
        const token = await this.askToken().finally(() => isCurrent() && this.cancel("no token"));
        if (!isCurrent()) return;
        const { expires_in: seconds } = await this.order({ token }, "at once");
        if (!isCurrent()) return;
        this.refused = 0;
        this.isOver = seconds === undefined ? Infinity : Date.now() + seconds * 1000;
        if (typeof this.token === "function" && seconds !== undefined) {
          this.plan("token", Math.max(seconds * REFRESH_AT, 1) * 1000, () => this.authorize(socket));
        }
        this.begin("open");
      } catch (error) {
        if (!isCurrent()) return;
        this.plan("token", delay(this.refused++), () => this.authorize(socket));
        this.begin("waiting", `token: ${error?.message ?? error}`);
      }
    }

    /** The token, or an error: also if there is none in time. */
    async askToken() {
      if (typeof this.token === "string") return this.token;
      const late = new Promise((_, reject) => {
        this.plan("no token", TOKEN_MOST, () => reject(new Error("the function gave none in time")));
      });
      const token = await Promise.race([Promise.resolve().then(() => this.token()), late]);
      if (typeof token !== "string" || token === "") throw new Error("the function gave no text");
      return token;
    }

    send(text) {
      if (this.socket?.readyState === 1) this.socket.send(text);
    }

    /** Sends an order, at once or when the connection is ready; the promise gives the answer. */
    order(order, when = "ready") {
      return new Promise((resolve, reject) => {
        if (this.closed) return reject(new Error("the client is closed"));
        if (this.waiting.size >= WAITING_MOST && when === "ready") return reject(new Error("too many messages wait"));
        const id = ++this.id;
        const waiting = { resolve, reject, text: JSON.stringify({ ...order, id }) };
        this.waiting.set(id, waiting);
        if (this.isReady || when === "at once") this.sendOrder(waiting);
      });
    }

    sendOrder(order) {
      order.isSent = true;
      this.send(order.text);
    }

    /** Subscribes, if that was not asked yet and its predecessor of the same name has ended. */
    ask(channel, subscription) {
      if (!this.isReady || subscription.state !== "new" || this.leaving.has(channel)) return;
      this.cancel(`subscribe ${channel}`);
      const { since } = subscription;
      subscription.state = "asked";
      this.send(JSON.stringify(since ? { subscribe: channel, since } : { subscribe: channel }));
    }

    hear(text) {
      this.heard += 1;
      try {
        this.take(JSON.parse(text));
      } catch {
        // What it was is not known. With the position, it comes again or `lost` says so.
        this.again("the server sent something else than the objects of channels");
      }
    }

    take(told) {
      if (Object.getPrototypeOf(told) !== Object.prototype) throw new TypeError("no object");
      const order = this.waiting.get(told.id);
      if (order) {
        this.waiting.delete(told.id);
        return told.error === undefined ? order.resolve(told) : order.reject(new Error(told.error));
      }
      const channel = told.subscribed ?? told.unsubscribed ?? told.channel;
      const subscription = this.subscriptions.get(channel);
      if (this.leaving.has(channel)) {
        this.takeLast(channel, told);
      } else if (!subscription || subscription.state === "new") {
        if (told.error !== undefined) console.error(`channels: ${told.error}`);
      } else if (told.subscribed !== undefined) {
        subscription.state = "on";
        subscription.failures = 0;
        subscription.since = told.since;
        if (told.recovered === false) call(subscription.lost);
        call(subscription.subscribed, { channel, since: told.since, recovered: told.recovered });
      } else if (told.unsubscribed !== undefined || told.error !== undefined) {
        this.takeEnd(channel, subscription, told);
      } else if (subscription.state === "on") {
        takeNotice(subscription, told);
      }
    }

    /** About a subscription that this client has ended: all is dropped until the server confirms it. Then the next one may begin. */
    takeLast(channel, told) {
      const isConfirmed = told.unsubscribed !== undefined && told.reason === undefined;
      if (!isConfirmed && told.id !== this.leaving.get(channel)) return;
      this.leaving.delete(channel);
      const next = this.subscriptions.get(channel);
      if (next) this.ask(channel, next);
    }

    /** The server refuses a subscription, or ends it. */
    takeEnd(channel, subscription, told) {
      subscription.state = "new";
      if (told.temporary) {
        this.plan(`subscribe ${channel}`, delay(subscription.failures++), () => this.ask(channel, subscription));
      } else if (typeof this.token === "function" && Date.now() >= this.isOver && this.plans.has("token")) {
        // Its time is over before the timer was: the computer slept.
        this.isOver = Infinity;
        this.authorize(this.socket);
      }
      call(subscription.error, told.reason ?? told.error);
    }

    /** Does something later. The computer may sleep meanwhile: see `tick`. */
    plan(name, after, act) {
      this.cancel(name);
      const run = () => {
        this.cancel(name);
        act();
      };
      const ms = Math.min(after, LONGEST_TIMER);
      this.plans.set(name, { run, due: Date.now() + ms, timer: setTimeout(run, ms) });
    }

    cancel(name) {
      clearTimeout(this.plans.get(name)?.timer);
      this.plans.delete(name);
    }

    /** Asks whether the connection is alive if it has been silent; one that does not answer has ended without a word. */
    listenFor(ms) {
      const before = this.heard;
      this.plan("silence", ms, () => {
        if (this.heard === before) this.probe();
        else this.listenFor(SILENCE_MOST);
      });
    }

    probe() {
      const before = this.heard;
      const isAsked = [...this.subscriptions.values()].some(({ state }) => state === "asked");
      const patience = isAsked || this.waiting.size > 0 ? ORDER_MOST : ANSWER_MOST;
      this.send(JSON.stringify({ ping: true }));
      this.plan("silence", patience, () => {
        if (this.heard === before) this.again("the server does not answer");
        else this.listenFor(SILENCE_MOST);
      });
    }

    /** After a sleep, the timers have stopped and the clock has not. */
    tick() {
      const now = Date.now();
      const hasSlept = now - this.ticked >= TICK + JUMP;
      this.ticked = now;
      for (const [name, plan] of [...this.plans]) {
        if (now >= plan.due + JUMP && this.plans.get(name) === plan) plan.run();
      }
      if (hasSlept) this.wake();
    }

    /** The computer, the network or the page is back: tries soon if it waits, and asks whether an open connection is alive. */
    wake() {
      if (this.suspended || this.closed) return;
      if (this.socket?.readyState === 1) return this.probe();
      if (!this.plans.has("again") || Math.abs(Date.now() - this.tried) < STABLE_AFTER) return;
      this.failures = 0;
      this.plan("again", delay(this.failures++), () => this.connect());
    }

    /** The page goes into the browser's cache of pages, where no connection may be open. */
    suspend() {
      if (this.closed || this.suspended) return;
      this.suspended = true;
      this.leave("the page was left before the answer");
      this.tell("waiting", "the page was left");
    }

    resume() {
      if (this.suspended) this.connect();
    }

    listen() {
      this.listening = new AbortController();
      const { signal } = this.listening;
      const on = (target, type, act) => target?.addEventListener?.(type, act, { signal });
      for (const type of ["online", "offline"]) on(globalThis, type, () => this.wake());
      on(globalThis, "pagehide", ({ persisted }) => persisted && this.suspend());
      on(globalThis, "pageshow", () => this.resume());
      const page = globalThis.document;
      on(page, "resume", () => this.tick());
      on(page, "visibilitychange", () => {
        if (page.visibilityState !== "visible") return;
        this.tick();
        this.wake();
      });
      this.ticked = Date.now();
      this.ticking = setInterval(() => this.tick(), TICK);
    }

    tell(state, why) {
      this.state = state;
      call(this.onstate, state, why === undefined ? undefined : new Error(why));
    }
  }

  function takeNotice(subscription, told) {
    if (told.joined !== undefined) {
      call(subscription.joined, told.joined, told.info);
    } else if (told.left !== undefined) {
      call(subscription.left, told.left);
    } else if (told.offset !== undefined) {
      const data = told.base64 === undefined ? told.data : bytes(told.base64);
      subscription.since = `${subscription.since.split("-")[0]}-${told.offset}`;
      call(subscription.message, data, { channel: told.channel, offset: told.offset, since: subscription.since });
    }
  }

  /** An error of the page's function is the page's: it is reported, and the client goes on. */
  function call(act, ...values) {
    try {
      act?.(...values);
    } catch (error) {
      if (globalThis.reportError) globalThis.reportError(error);
      else console.error(error);
    }
  }

  /** The pause before the next attempt: longer each time, and not the same as that of others. */
  function delay(failures) {
    return Math.min(LAST_DELAY, FIRST_DELAY * 2 ** failures) * (0.5 + Math.random() / 2);
  }

  function bytes(text) {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  }

  globalThis.Velodrome = Velodrome;
})();
