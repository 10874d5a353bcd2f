// A trace: what happens to requests, connections and messages of one name, step by step, each as a sequence diagram.

/** What can be traced, with what its names look like. */
const TRACED = [["url", "/api/*"], ["page", "*"], ["channel", "chat.*"], ["key", "card:*"], ["user", "*"], ["conn", "*"]];
const TRACE_SECONDS = 30;
/** Things and steps that are kept for the list and the drawing. */
const [THINGS_KEPT, STEPS_KEPT] = [200, 400];
const SVG = "http://www.w3.org/2000/svg";

const drawn = (tag, attributes = {}, text = "") => {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text) element.textContent = text;
  return element;
};

class Trace {
  constructor() {
    this.dialog = byId("trace");
    this.things = new Map();
    byId("trace-what").append(...TRACED.map(([name]) => make("option", { value: name }, name)));
    byId("trace-what").addEventListener("change", () => this.suggest());
    byId("trace-open").addEventListener("click", () => this.dialog.showModal());
    byId("trace-close").addEventListener("click", () => this.dialog.close());
    byId("trace-form").addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.abort) this.abort.abort();
      else this.begin();
    });
    this.dialog.addEventListener("close", () => this.abort?.abort());
    this.suggest();
  }

  suggest() {
    byId("trace-pattern").value = TRACED.find(([name]) => name === byId("trace-what").value)[1];
  }

  say(text) {
    byId("trace-note").textContent = text;
  }

  /** The answer has a line of JSON for each step, while they happen. The trace ends with its reader. */
  async begin() {
    this.abort = new AbortController();
    this.things.clear();
    this.chosen = null;
    byId("trace-go").textContent = "Stop";
    this.say("…");
    const wish = new URLSearchParams({
      what: byId("trace-what").value, pattern: byId("trace-pattern").value, for: TRACE_SECONDS });
    try {
      const answer = await fetch(`../trace?${wish}`, {
        method: "POST", headers: heads(), cache: "no-store", credentials: "omit", signal: this.abort.signal });
      if (!answer.ok) throw new Error((await answer.text()) || `the server answered ${answer.status}`);
      await this.read(answer.body.pipeThrough(new TextDecoderStream()).getReader());
    } catch (error) {
      this.say(error.name === "AbortError" ? "stopped" : error.message);
    }
    this.abort = null;
    byId("trace-go").textContent = "Trace";
    this.show();
  }

  async read(reader) {
    let text = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (text + value).split("\n");
      text = lines.pop();
      for (const line of lines) if (line) this.take(told(line));
      this.show();
    }
  }

  take(line) {
    if (line.line === "begun") this.say(`for ${line.seconds} s, at most ${line.most_per_second} per second`);
    if (line.line === "ended") {
      const left = line.left_out ? `; ${inCount(line.left_out)} were not followed` : "";
      this.say(`${inCount(line.steps)} steps${left}`);
    }
    if (line.line !== "step") return;
    if (!this.things.has(line.of)) {
      if (this.things.size >= THINGS_KEPT) return;
      this.things.set(line.of, []);
      this.chosen ??= line.of;
    }
    const steps = this.things.get(line.of);
    if (steps.length < STEPS_KEPT) steps.push(line);
  }

  show() {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      byId("trace-things").replaceChildren(...[...this.things].map(([of, steps]) => this.thing(of, steps)));
      byId("trace-diagram").replaceChildren(...(this.chosen ? [diagram(this.things.get(this.chosen))] : []));
    });
  }

  thing(of, steps) {
    const took = inTime(steps.at(-1).at_ns - steps[0].at_ns);
    const name = steps.find(({ detail }) => detail)?.detail ?? steps[0].what;
    const button = make("button", { type: "button" }, `${name} · ${steps.length} steps in ${took}`);
    button.setAttribute("aria-pressed", String(of === this.chosen));
    button.addEventListener("click", () => {
      this.chosen = of;
      this.show();
    });
    return make("li", {}, button);
  }
}

/** A column for each actor, a row for each step, from top to bottom in the order of time. */
const diagram = (steps) => {
  const actors = [...new Set(steps.flatMap(({ from, to }) => [from, to]))];
  const [times, column, row, top] = [90, 190, 30, 34];
  const x = (actor) => times + column / 2 + actors.indexOf(actor) * column;
  const height = top + steps.length * row + 10;
  // Of a step within one actor the text is to the right of it.
  const width = times + (actors.length + 0.8) * column;
  const image = drawn("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img" });
  image.setAttribute("aria-label", `${steps.length} steps between ${actors.join(", ")}`);
  for (const actor of actors) {
    image.append(drawn("line", { class: "life", x1: x(actor), x2: x(actor), y1: top - 8, y2: height }));
    image.append(drawn("text", { class: "actor", x: x(actor), y: 16 }, actor));
  }
  steps.forEach((step, place) => {
    const y = top + (place + 0.65) * row;
    const [from, to] = [x(step.from), x(step.to)];
    image.append(drawn("text", { class: "time", x: 4, y: y + 4 }, `+${inTime(step.at_ns - steps[0].at_ns)}`));
    const words = step.detail ? `${step.what} ${step.detail}` : step.what;
    const text = words.length > 60 ? `${words.slice(0, 59)}…` : words;
    if (from === to) {
      image.append(drawn("circle", { class: "dot", cx: from, cy: y, r: 4 }));
      image.append(drawn("text", { class: "inner", x: from + 10, y: y + 4 }, text));
    } else {
      const way = Math.sign(to - from);
      image.append(drawn("line", { class: "step", x1: from, x2: to - way * 2, y1: y, y2: y }));
      image.append(drawn("path", { class: "dot", d: `M${to} ${y}l${-way * 8} -4v8z` }));
      image.append(drawn("text", { class: "words", x: (from + to) / 2, y: y - 5 }, text));
    }
    const last = image.lastChild;
    if (text !== words) last.append(drawn("title", {}, words));
  });
  return image;
};
