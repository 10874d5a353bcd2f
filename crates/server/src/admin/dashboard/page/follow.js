// The connection to the server: its event stream, the key, and the requests that act.
//
// The stream is read with fetch, because an EventSource cannot send a key and would put it into the address.

const KEY = "velodrome-key";
const FIRST_DELAY_MS = 500;
const LAST_DELAY_MS = 15_000;
/** A stream that is silent for longer is given up: it has a snapshot every second. */
const SILENCE_MS = 12_000;

const heads = () => {
  const key = sessionStorage.getItem(KEY);
  return key ? { Authorization: `Bearer ${key}` } : {};
};

/** A request to the control of the server: the answer, or an error that says why there is none. */
const ask = async (path, options = {}) => {
  const answer = await fetch(`../${path}`, { ...options, headers: heads(), cache: "no-store", credentials: "omit" });
  if (answer.status === 404) throw new Error("the server does not know it: it may have ended");
  if (answer.status === 401) throw new Error("the key is not known to the server");
  if (!answer.ok) throw new Error((await answer.text()) || `the server answered ${answer.status}`);
  return answer;
};

class Follower {
  /** `onSnapshot(snapshot)`, `onState(state, words)` and `onLocked(wasWrong)`. */
  constructor(handlers) {
    Object.assign(this, handlers, { failures: 0, turn: 0 });
    // A computer that wakes up, or a network that comes back, is no reason to wait longer.
    addEventListener("online", () => this.follow());
  }

  /** From now on with this list; a stream that is open ends. */
  follow(query = this.query) {
    this.query = query;
    this.failures = 0;
    this.open();
  }

  async open() {
    this.turn += 1;
    const { turn } = this;
    this.abort?.abort();
    clearTimeout(this.again);
    this.abort = new AbortController();
    let words = "the server ended the stream";
    try {
      await this.read(turn, this.abort);
    } catch (error) {
      words = error instanceof TypeError ? "the server does not answer" : error.message;
    }
    if (turn === this.turn && !this.isLocked) this.retry(words);
  }

  async read(turn, abort) {
    if (!this.hasNews) this.onState("opening", "connecting");
    this.watch(abort);
    const path = `events?${new URLSearchParams(this.query)}`;
    const answer = await fetch(path, { headers: heads(), cache: "no-store", credentials: "omit", signal: abort.signal });
    if (turn !== this.turn) return;
    if (answer.status === 401) return this.lock();
    if (!answer.ok) throw new Error(answer.status === 503 ? "too many dashboards are open" : `the server answered ${answer.status}`);
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done || turn !== this.turn) return;
      this.watch(abort);
      text += value;
      const events = text.split("\n\n");
      text = events.pop();
      for (const event of events) this.take(event);
    }
  }

  take(event) {
    const data = event.split("\n").filter((line) => line.startsWith("data: ")).map((line) => line.slice(6)).join("\n");
    if (!data) return;
    this.failures = 0;
    this.hasNews = true;
    this.onState("live", "live");
    this.onSnapshot(told(data));
  }

  watch(abort) {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => abort.abort(new Error("the server is silent")), SILENCE_MS);
  }

  retry(why) {
    clearTimeout(this.silence);
    this.hasNews = false;
    const delay = Math.min(LAST_DELAY_MS, FIRST_DELAY_MS * 2 ** this.failures) * (0.75 + Math.random() / 4);
    this.failures += 1;
    const due = Date.now() + delay;
    const wait = () => {
      const left = due - Date.now();
      if (left <= 0) return this.open();
      this.onState("away", `${why}; again in ${Math.ceil(left / 1000)} s`);
      this.again = setTimeout(wait, Math.min(left, 1000));
    };
    wait();
  }

  lock() {
    clearTimeout(this.silence);
    this.isLocked = true;
    this.hasNews = false;
    const wasWrong = sessionStorage.getItem(KEY) !== null;
    sessionStorage.removeItem(KEY);
    this.onState("locked", "a key is required");
    this.onLocked(wasWrong);
  }

  unlock(key) {
    sessionStorage.setItem(KEY, key);
    this.isLocked = false;
    this.follow();
  }
}
