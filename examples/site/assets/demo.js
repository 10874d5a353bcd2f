// The live examples of the start page: ask, and show the head of the answer. No library, nothing from elsewhere.
"use strict";

const LARGE = "/files/large.bin";
/** Between two pieces of the download: long enough to press a button. */
const PAUSE_MS = 100;
const SHOWN = [
  "accept-ranges", "allow", "cache-control", "content-encoding", "content-length", "content-range", "content-type", "date",
  "etag", "last-modified", "vary", "x-content-type-options",
];

/** One answer pane: text is added as text, never as markup. */
class Pane {
  constructor(card) {
    this.pane = card.querySelector(".answer");
    this.pane.replaceChildren();
    this.pane.hidden = false;
  }

  add(text, kind) {
    const span = document.createElement("span");
    if (kind) span.className = kind;
    span.textContent = text;
    this.pane.append(span);
    return this;
  }

  scrollToEnd() {
    this.pane.scrollTop = this.pane.scrollHeight;
  }

  asked(method, path, fields = {}) {
    if (this.pane.childNodes.length > 0) this.add("\n");
    this.add(`${method} ${path}\n`, "asked");
    for (const [name, value] of Object.entries(fields)) this.add(`${name}: ${value}\n`, "asked");
    return this;
  }

  head(response) {
    const kind = response.status < 300 ? "good" : response.status < 400 ? "moved" : "bad";
    this.add(`${response.status} ${response.statusText}\n`, kind);
    for (const name of SHOWN) {
      const value = response.headers.get(name);
      if (value !== null) this.add(`${name}: `, "name").add(`${value}\n`);
    }
    return this;
  }

  body(text) {
    return this.add(`\n${text.trimEnd()}\n`);
  }
}

async function ask(pane, path, { method = "GET", fields = {} } = {}) {
  pane.asked(method, path, fields);
  const response = await fetch(path, { method, headers: fields, cache: "no-store" });
  pane.head(response);
  return response;
}

/** What came over the wire for the last fetch of a path, and what it became. */
function sizes(path) {
  const entry = performance.getEntriesByName(new URL(path, location.href).href).at(-1);
  if (!entry || entry.decodedBodySize === 0) return "";
  const [sent, meant] = [entry.encodedBodySize, entry.decodedBodySize].map((bytes) => bytes.toLocaleString("en"));
  return `${sent} bytes sent for ${meant}`;
}

const demos = {
  async conditional(pane) {
    const path = "/assets/style.css";
    const first = await ask(pane, path);
    await first.arrayBuffer();
    await ask(pane, path, { fields: { "If-None-Match": first.headers.get("etag") } });
  },

  async range(pane, what) {
    const ranges = { two: "bytes=0-63, 2097088-2097151", beyond: "bytes=2097152-" };
    const response = await ask(pane, LARGE, { fields: { Range: ranges[what] ?? "bytes=1048576-1048639" } });
    if (response.ok) pane.body(await response.text());
  },

  async compression(pane, what) {
    const path = what === "script" ? "/assets/demo.js" : "/assets/velodrome.svg";
    const response = await ask(pane, path);
    await response.arrayBuffer();
    // The entry is written when the body has come, which may be a moment later.
    setTimeout(() => pane.body(sizes(path)), 50);
  },

  async listing(pane) {
    const response = await ask(pane, "/files/", { fields: { Accept: "application/json" } });
    pane.body(JSON.stringify(await response.json(), null, 1));
  },

  async json(pane) {
    const response = await ask(pane, "/api/track");
    pane.body(await response.text());
  },

  async redirect(pane) {
    pane.asked("GET", "/lap/2?from=start");
    const response = await fetch("/lap/2?from=start", { cache: "no-store" });
    // A script does not get to see the 302 itself, only where it led.
    pane.add(response.redirected ? "302, and on to\n" : "not redirected\n", "moved");
    pane.asked("GET", new URL(response.url).pathname + new URL(response.url).search).head(response);
    pane.body(await response.text());
  },

  async missing(pane) {
    await ask(pane, "/no/such/page");
  },

  async method(pane, what) {
    await ask(pane, "/index.html", { method: what === "options" ? "OPTIONS" : "POST" });
  },

  async type(pane) {
    const response = await ask(pane, "/files/flying-200m.lap");
    pane.body(await response.text());
  },
};

/** A download that can be stopped and goes on where it was. */
class Download {
  constructor(card) {
    this.card = card;
    [this.start, this.stop] = card.querySelectorAll("button");
    this.bar = card.querySelector("progress");
    this.text = card.querySelector("output");
    this.stop.addEventListener("click", () => this.abort?.abort());
    this.reset();
  }

  reset() {
    [this.done, this.tag, this.pane] = [0, null, null];
  }

  async run() {
    if (this.done === 0) this.pane = new Pane(this.card);
    const pane = this.pane;
    [this.start.disabled, this.stop.disabled] = [true, false];
    this.abort = new AbortController();
    try {
      await this.receive();
      pane.add("complete\n", "good");
      this.reset();
      this.start.textContent = "Again";
    } catch (error) {
      if (error.name !== "AbortError") throw error;
      pane.add(`stopped after ${this.done.toLocaleString("en")} bytes\n`, "moved");
      this.start.textContent = "Go on";
    } finally {
      [this.start.disabled, this.stop.disabled] = [false, true];
      pane.scrollToEnd();
    }
  }

  async receive() {
    const fields = this.done === 0 ? {} : { Range: `bytes=${this.done}-`, "If-Range": this.tag };
    this.pane.asked("GET", LARGE, fields);
    const response = await fetch(LARGE, { headers: fields, cache: "no-store", signal: this.abort.signal });
    this.pane.head(response);
    if (!response.ok) throw new Error(`the server answered ${response.status}`);
    if (response.status === 200) this.done = 0;
    this.tag = response.headers.get("etag");
    let checked = false;
    for (const reader = response.body.getReader(); ;) {
      const { done, value } = await reader.read();
      if (done) return;
      if (!checked) this.check(value);
      checked = true;
      this.done += value.length;
      this.bar.value = this.done;
      this.text.textContent = `${(this.done / 1048576).toFixed(1)} of 2 MiB`;
      await new Promise((go) => setTimeout(go, PAUSE_MS));
    }
  }

  /** The file's lines are 64 bytes and begin with their offset: the first whole one has to fit where we are. */
  check(bytes) {
    const skip = (64 - (this.done % 64)) % 64;
    const line = new TextDecoder().decode(bytes.subarray(skip, skip + 64));
    if (line.length < 64) return;
    const fits = Number.parseInt(line, 10) === this.done + skip;
    this.pane.add(fits ? "the bytes fit: " : "THE BYTES DO NOT FIT: ", fits ? "good" : "bad").add(`${line}`);
  }
}

function connect(card) {
  if (card.dataset.demo === "download") {
    const download = new Download(card);
    download.start.addEventListener("click", () => report(card, download.run()));
    return;
  }
  for (const button of card.querySelectorAll("button")) {
    button.addEventListener("click", () => report(card, demos[card.dataset.demo](new Pane(card), button.dataset.what)));
  }
}

async function report(card, promise) {
  try {
    await promise;
  } catch (error) {
    new Pane(card).add(`${error.message}\n`, "bad");
  }
}

/** The lines for the shell name this server, and the tag that is true now. */
async function fillShellLines() {
  const lines = document.querySelectorAll(".shell");
  for (const line of lines) line.textContent = line.textContent.replaceAll("{origin}", location.origin);
  // curl asks for no coding, and neither does a browser for a range: this is the tag of the file as it is.
  const style = await fetch("/assets/style.css", { headers: { Range: "bytes=0-0" } });
  for (const line of lines) line.textContent = line.textContent.replace("{tag}", style.headers.get("etag") ?? "");
}

for (const card of document.querySelectorAll(".card")) connect(card);
fillShellLines();
