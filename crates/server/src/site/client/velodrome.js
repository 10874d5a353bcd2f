// The client of Velodrome's channels: one WebSocket for any number of subscriptions. It comes back by itself, and with the number of the
// last message that it got, so that nothing is missed or `lost` says so. The types are in velodrome.d.ts.
"use strict";
(() => {
  const FIRST_DELAY = 500;
  const LAST_DELAY = 30000;
  const WAITING_MOST = 100;
  // A new token is asked for when this part of the time is over.
  const REFRESH_AT = 0.8;
  // Seconds: a timer that is longer fires at once.
  const LONGEST_TIMER = 2000000;

  class Velodrome {
    constructor(url = "/channels", options = {}) {
      this.url = new URL(url, globalThis.location?.href);
      this.url.protocol = this.url.protocol.replace("http", "ws");
      this.onstate = options.onstate ?? (() => {});
      this.token = options.token ?? null;
      this.subscriptions = new Map();
      this.waiting = new Map();
      this.unsent = [];
      this.id = 0;
      this.failures = 0;
      this.closed = false;
      this.isReady = false;
      this.connect();
    }

    /** Subscribes; gives a function that ends it. */
    subscribe(channel, message, options = {}) {
      const known = this.subscriptions.get(channel);
      if (known) throw new Error(`there is a subscription to ${channel} already`);
      const lost = options.lost ?? (() => {});
      const error = options.error ?? ((why) => console.error(`${channel}: ${why}`));
      const { joined = () => {}, left = () => {}, since = null } = options;
      const subscription = { message, lost, error, joined, left, since, asked: false };
      this.subscriptions.set(channel, subscription);
      if (this.isReady) this.ask(channel, subscription);
      return () => {
        if (this.subscriptions.get(channel) !== subscription) return;
        this.subscriptions.delete(channel);
        if (this.isReady) this.send({ unsubscribe: channel });
      };
    }

    /** Publishes; the promise tells how many subscribers it is for, or fails. */
    async publish(channel, data) {
      const { published, receivers } = await this.order({ publish: channel, data }, this.isReady);
      return { position: published, receivers };
    }

    /** The users that subscribe to a channel with presence. */
    async members(channel) {
      const { total, subscribers, users } = await this.order({ members: channel }, this.isReady);
      return { total, subscribers, users };
    }

    /** Ends it for good. */
    close() {
      this.closed = true;
      clearTimeout(this.timer);
      clearTimeout(this.refresh);
      this.socket?.close();
      this.fail("the client is closed");
    }

    isOpen() {
      return this.socket?.readyState === WebSocket.OPEN;
    }

    send(order) {
      this.socket.send(JSON.stringify(order));
    }

    /** Sends an order, now or once the connection is ready; the promise gives the answer. */
    order(order, now) {
      return new Promise((resolve, reject) => {
        if (this.closed) return reject(new Error("the client is closed"));
        if (this.waiting.size >= WAITING_MOST) return reject(new Error("too many messages wait"));
        const id = ++this.id;
        this.waiting.set(id, { resolve, reject });
        if (now) this.send({ ...order, id });
        else this.unsent.push({ ...order, id });
      });
    }

    /** Shows a token, and a new one before its time is over. */
    async authorize(socket) {
      if (this.token === null) return;
      const isCalled = typeof this.token === "function";
      const token = isCalled ? await this.token() : this.token;
      if (this.socket !== socket || !this.isOpen()) return;
      const { expires_in: seconds } = await this.order({ token }, true);
      clearTimeout(this.refresh);
      if (!isCalled || seconds === undefined) return;
      const delay = Math.min(Math.max(seconds * REFRESH_AT, 1), LONGEST_TIMER) * 1000;
      this.refresh = setTimeout(() => {
        if (this.socket !== socket) return;
        this.authorize(socket).then(
          () => this.askAll(),
          (error) => {
            console.error(`token: ${error.message}`);
            socket.close();
          },
        );
      }, delay);
    }

    /** Subscribes to all that it has not asked for. */
    askAll() {
      for (const [channel, subscription] of this.subscriptions) {
        if (!subscription.asked) this.ask(channel, subscription);
      }
    }

    ask(channel, subscription) {
      const { since } = subscription;
      subscription.asked = true;
      this.send(since ? { subscribe: channel, since } : { subscribe: channel });
    }

    connect() {
      this.onstate("connecting");
      const socket = new WebSocket(this.url);
      this.socket = socket;
      socket.onopen = async () => {
        try {
          await this.authorize(socket);
        } catch (error) {
          // What asks for no token works without one.
          console.error(`token: ${error.message}`);
        }
        if (this.socket !== socket || !this.isOpen()) return;
        this.isReady = true;
        this.onstate("open");
        this.askAll();
        for (const order of this.unsent.splice(0)) this.send(order);
      };
      socket.onmessage = ({ data }) => this.take(JSON.parse(data));
      socket.onclose = () => this.again();
    }

    /** Comes back: later each time, and not when all others do. */
    again() {
      this.isReady = false;
      clearTimeout(this.refresh);
      for (const subscription of this.subscriptions.values()) subscription.asked = false;
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
        else resolve?.(told);
        return;
      }
      const subscription = this.subscriptions.get(told.subscribed ?? told.unsubscribed ?? told.channel);
      if (told.subscribed !== undefined) {
        this.failures = 0;
        if (!subscription) return;
        subscription.since = told.since;
        if (told.recovered === false) subscription.lost();
      } else if (told.unsubscribed !== undefined) {
        if (!subscription || told.reason === undefined) return;
        subscription.asked = false;
        subscription.error(told.reason);
      } else if (told.error !== undefined) {
        if (!subscription) return;
        subscription.asked = false;
        subscription.error(told.error);
      } else if (!subscription) {
        return;
      } else if (told.joined !== undefined) {
        subscription.joined(told.joined, told.info);
      } else if (told.left !== undefined) {
        subscription.left(told.left);
      } else if (told.offset !== undefined) {
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
