// The client of Velodrome's channels: one WebSocket for any number of subscriptions. It comes back by itself, and with the number of the
// last message that it got, so that nothing is missed or `lost` says so. The types are in velodrome.d.ts.
"use strict";
(() => {
  const FIRST_DELAY = 500;
  const LAST_DELAY = 30000;
  const WAITING_MOST = 100;

  class Velodrome {
    constructor(url = "/channels", options = {}) {
      this.url = new URL(url, globalThis.location?.href);
      this.url.protocol = this.url.protocol.replace("http", "ws");
      this.onstate = options.onstate ?? (() => {});
      this.subscriptions = new Map();
      this.waiting = new Map();
      this.unsent = [];
      this.id = 0;
      this.failures = 0;
      this.closed = false;
      this.connect();
    }

    /** Subscribes; gives a function that ends it. */
    subscribe(channel, message, options = {}) {
      const known = this.subscriptions.get(channel);
      if (known) throw new Error(`there is a subscription to ${channel} already`);
      const lost = options.lost ?? (() => {});
      const error = options.error ?? ((why) => console.error(`${channel}: ${why}`));
      const subscription = { message, lost, error, since: options.since ?? null };
      this.subscriptions.set(channel, subscription);
      if (this.isOpen()) this.ask(channel, subscription);
      return () => {
        if (this.subscriptions.get(channel) !== subscription) return;
        this.subscriptions.delete(channel);
        if (this.isOpen()) this.send({ unsubscribe: channel });
      };
    }

    /** Publishes; the promise tells how many subscribers it is for, or fails. */
    publish(channel, data) {
      return new Promise((resolve, reject) => {
        if (this.closed) return reject(new Error("the client is closed"));
        if (this.waiting.size >= WAITING_MOST) return reject(new Error("too many messages wait"));
        const id = ++this.id;
        this.waiting.set(id, { resolve, reject });
        const order = { publish: channel, data, id };
        if (this.isOpen()) this.send(order);
        else this.unsent.push(order);
      });
    }

    /** Ends it for good. */
    close() {
      this.closed = true;
      clearTimeout(this.timer);
      this.socket?.close();
      this.fail("the client is closed");
    }

    isOpen() {
      return this.socket?.readyState === WebSocket.OPEN;
    }

    send(order) {
      this.socket.send(JSON.stringify(order));
    }

    ask(channel, { since }) {
      this.send(since ? { subscribe: channel, since } : { subscribe: channel });
    }

    connect() {
      this.onstate("connecting");
      const socket = new WebSocket(this.url);
      this.socket = socket;
      socket.onopen = () => {
        this.onstate("open");
        for (const [channel, subscription] of this.subscriptions) this.ask(channel, subscription);
        for (const order of this.unsent.splice(0)) this.send(order);
      };
      socket.onmessage = ({ data }) => this.take(JSON.parse(data));
      socket.onclose = () => this.again();
    }

    /** Comes back: later each time, and not when all others do. */
    again() {
      if (this.closed) return;
      this.onstate("waiting");
      // Whether the server has got them is not known: whoever published decides.
      const unsent = new Set(this.unsent.map(({ id }) => id));
      for (const [id, { reject }] of this.waiting) {
        if (unsent.has(id)) continue;
        this.waiting.delete(id);
        reject(new Error("the connection ended before the answer"));
      }
      const longest = Math.min(LAST_DELAY, FIRST_DELAY * 2 ** this.failures++);
      this.timer = setTimeout(() => this.connect(), longest * (0.5 + Math.random() / 2));
    }

    fail(why) {
      for (const { reject } of this.waiting.values()) reject(new Error(why));
      this.waiting.clear();
      this.unsent = [];
    }

    take(told) {
      if (told.id !== undefined) {
        const { resolve, reject } = this.waiting.get(told.id) ?? {};
        this.waiting.delete(told.id);
        if (told.error !== undefined) reject?.(new Error(told.error));
        else resolve?.({ position: told.published, receivers: told.receivers });
        return;
      }
      const subscription = this.subscriptions.get(told.subscribed ?? told.channel);
      if (told.subscribed !== undefined) {
        this.failures = 0;
        if (!subscription) return;
        subscription.since = told.since;
        if (told.recovered === false) subscription.lost();
      } else if (told.error !== undefined) {
        subscription?.error(told.error);
      } else if (told.channel !== undefined && subscription) {
        const epoch = subscription.since.split("-")[0];
        subscription.since = `${epoch}-${told.offset}`;
        const data = told.base64 === undefined ? told.data : bytes(told.base64);
        subscription.message(data, { channel: told.channel, offset: told.offset, since: subscription.since });
      }
    }
  }

  function bytes(text) {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  }

  globalThis.Velodrome = Velodrome;
})();
