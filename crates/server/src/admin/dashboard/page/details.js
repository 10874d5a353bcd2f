// What is known about one row, and the question before it is ended.

/** Numbers whose name ends with their unit. */
const SUFFIXES = [["_bytes", inBytes], ["_us", (us) => inTime(us * 1e3)], ["_ms", (ms) => inTime(ms * 1e6)]];
const suffixOf = (name) => SUFFIXES.find(([suffix]) => name.endsWith(suffix));
const wordsOf = (name) => name.slice(0, name.length - (suffixOf(name)?.[0].length ?? 0)).replaceAll("_", " ");
const inSuffix = (name, value) => (/^\d+$/.test(value) && suffixOf(name) ? suffixOf(name)[1](Number(value)) : value);

class Details {
  constructor(end) {
    this.end = end;
    this.dialog = byId("details");
    this.dialog.addEventListener("close", () => { this.id = null; });
  }

  open(id, list) {
    this.dialog.replaceChildren(make("h2", { id: "details-title" }, "…"));
    this.dialog.showModal();
    Object.assign(this, { id, list });
    this.refresh();
  }

  /** Asked again with every snapshot while it is open. */
  async refresh() {
    const { id } = this;
    if (!id || this.isAsking || getSelection()?.toString()) return;
    this.isAsking = true;
    try {
      const info = told(await (await ask(`info?id=${encodeURIComponent(id)}`)).text());
      if (id === this.id) this.show(info);
    } catch (error) {
      if (id === this.id) this.note(error.message);
    }
    this.isAsking = false;
  }

  note(text) {
    const known = this.dialog.querySelector(".note");
    if (known) known.textContent = text;
    else this.dialog.append(make("p", { className: "note warning" }, text), this.actions());
  }

  show(info) {
    const facts = info.facts.flatMap(([name, value]) => [make("dt", {}, wordsOf(name)), make("dd", {}, inSuffix(name, value))]);
    const texts = info.texts.flatMap(([title, lines]) => [make("h3", {}, title), make("pre", {}, lines.join("\n"))]);
    const focused = this.dialog.querySelector("button:focus")?.className;
    this.dialog.replaceChildren(
      make("h2", { id: "details-title" }, `${info.kind} ${plain(info.id)}`),
      make("dl", {}, ...facts), ...texts, this.actions());
    if (focused !== undefined) [...this.dialog.querySelectorAll("button")].find((each) => each.className === focused)?.focus();
  }

  actions() {
    const close = make("button", { type: "button", className: "close" }, "Close");
    close.addEventListener("click", () => this.dialog.close());
    const all = [close];
    if (SINGLE.has(this.list)) {
      const row = { id: this.id, name: this.id, list: this.list };
      const end = make("button", { type: "button", className: "danger" }, "End …");
      end.addEventListener("click", () => { this.dialog.close(); this.end(row); });
      all.unshift(end);
    }
    return make("div", { className: "actions" }, ...all);
  }
}

/** Asks whether a row is to be ended, and ends it. */
const confirmEnd = ({ id, name, list }) => {
  const dialog = byId("confirm");
  const what = { connections: "this connection", pages: "this page", processes: "this process" }[list];
  const cancel = make("button", { type: "button" }, "Keep it");
  const go = make("button", { type: "button", className: "danger", id: "end-it" }, "End it");
  cancel.addEventListener("click", () => dialog.close());
  go.addEventListener("click", async () => {
    dialog.close();
    try {
      const ended = told(await (await ask("kill", { method: "POST", body: id })).text());
      tell(`ended: ${ended.kind} ${plain(name)}`);
    } catch (error) {
      tell(`not ended: ${error.message}`);
    }
  });
  dialog.replaceChildren(
    make("h2", { id: "confirm-title" }, `End ${what}?`), make("p", {}, plain(name === id ? id : `${name} (${id})`)),
    make("div", { className: "actions" }, go, cancel));
  dialog.showModal();
  cancel.focus();
};
