// A profile: where the threads of the server were seen, as a flame graph. A frame is below the one that called it.

/** Heights of a row in pixels, and the width below which a frame is not drawn. */
const [FLAME_ROW, NARROWEST] = [20, 0.6];
/** The colour of each kind of frame. */
const FLAME_COLOURS = { page: "third", program: "first", inlined: "fourth", kernel: "second" };

/** The kind and the name of a frame of folded stacks. */
const frameOf = (text) => {
  if (text.endsWith("_[k]")) return { kind: "kernel", name: text.slice(0, -4) };
  if (text.endsWith("_[i]")) return { kind: "inlined", name: text.slice(0, -4) };
  return { kind: text.startsWith("page ") ? "page" : "program", name: text };
};

/** Folded stacks as a tree. */
const flamesOf = (folded) => {
  const root = { name: "all", kind: "program", count: 0, below: new Map() };
  for (const line of folded.split("\n")) {
    const end = line.lastIndexOf(" ");
    const count = Number(line.slice(end + 1));
    if (end < 0 || !(count > 0)) continue;
    root.count += count;
    let node = root;
    for (const text of line.slice(0, end).split(";")) {
      if (!node.below.has(text)) node.below.set(text, { ...frameOf(text), count: 0, below: new Map(), above: node });
      node = node.below.get(text);
      node.count += count;
    }
  }
  return root;
};

class Flames {
  constructor() {
    this.dialog = byId("profile");
    this.canvas = byId("flames");
    this.drawn = [];
    byId("profile-legend").append(...Object.entries(FLAME_COLOURS)
      .map(([kind, colour]) => make("span", {}, make("i", { className: colour }), kind)));
    byId("profile-open").addEventListener("click", () => this.open(byId("profile-time").value));
    byId("profile-time").addEventListener("change", () => this.open(byId("profile-time").value));
    byId("profile-close").addEventListener("click", () => this.dialog.close());
    byId("profile-out").addEventListener("click", () => this.zoom(this.shown.above ?? this.root));
    byId("profile-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.open(byId("profile-time").value);
    });
    byId("profile-search").addEventListener("input", () => this.draw());
    this.dialog.addEventListener("close", () => {
      this.abort?.abort();
      document.body.append(byId("tip"));
      byId("tip").hidden = true;
    });
    this.canvas.addEventListener("click", ({ offsetX, offsetY }) => this.zoom(this.at(offsetX, offsetY)?.node));
    explain(this.canvas, (x, y) => this.words(this.at(x, y)?.node));
    new ResizeObserver(() => this.draw()).observe(byId("flames-place"));
  }

  /** Asks for a profile: of the last seconds, or of the minute around an event. */
  async open(wish) {
    this.abort?.abort();
    const abort = new AbortController();
    Object.assign(this, { abort, root: null, shown: null });
    if (!this.dialog.open) this.dialog.showModal();
    // What is not in a modal dialog is behind it.
    this.dialog.append(byId("tip"));
    this.say("the server is looking …");
    this.draw();
    try {
      const answer = await fetch(`../profile?${wish}`, {
        method: "POST", headers: heads(), cache: "no-store", credentials: "omit", signal: abort.signal });
      if (!answer.ok) throw new Error((await answer.text()) || `the server answered ${answer.status}`);
      const { title, remarks, folded } = told(await answer.text());
      this.root = flamesOf(folded);
      this.say([title, `${inCount(this.root.count)} samples`, ...remarks].join(" · "));
      this.zoom(this.root);
    } catch (error) {
      if (error.name !== "AbortError") this.say(error.message);
    }
  }

  say(text) {
    byId("profile-note").textContent = text;
  }

  /** From now on this frame is as wide as the picture. */
  zoom(node) {
    if (!node) return;
    this.shown = node;
    byId("tip").hidden = true;
    byId("profile-out").hidden = node === this.root;
    this.draw();
  }

  draw() {
    this.drawn = [];
    const above = [];
    for (let node = this.shown?.above; node; node = node.above) above.unshift(node);
    const depth = (node) => 1 + Math.max(0, ...[...node.below.values()].map(depth));
    const rows = this.shown ? above.length + depth(this.shown) : 1;
    this.canvas.style.height = `${rows * FLAME_ROW + 2}px`;
    const place = penOf(this.canvas);
    if (!place || !this.shown) return;
    const { pen, width } = place;
    const wanted = byId("profile-search").value.toLowerCase();
    above.forEach((node, row) => this.frame(pen, node, { x: 0, width, row }, wanted));
    const add = (node, x, row) => {
      const wide = (node.count / this.shown.count) * width;
      if (wide < NARROWEST) return;
      this.frame(pen, node, { x, width: wide, row }, wanted);
      let left = x;
      for (const below of node.below.values()) {
        add(below, left, row + 1);
        left += (below.count / this.shown.count) * width;
      }
    };
    add(this.shown, 0, above.length);
    this.canvas.setAttribute("aria-label", `flame graph of ${this.root.count} samples; the hottest: ${this.hottest()}`);
  }

  frame(pen, node, { x, width, row }, wanted) {
    const y = row * FLAME_ROW;
    this.drawn.push({ node, x, y, width });
    const isWanted = !wanted || node.name.toLowerCase().includes(wanted);
    pen.globalAlpha = isWanted ? 0.42 : 0.12;
    pen.fillStyle = palette[FLAME_COLOURS[node.kind]];
    pen.fillRect(x, y, Math.max(NARROWEST, width - 1), FLAME_ROW - 1);
    pen.globalAlpha = 1;
    if (width < palette.size * 2.5) return;
    pen.save();
    pen.beginPath();
    pen.rect(x, y, width - 4, FLAME_ROW);
    pen.clip();
    write(pen, node.name, x + 4, y + FLAME_ROW / 2, { colour: isWanted ? palette.ink : palette.soft });
    pen.restore();
  }

  /** The frames that were innermost most often. */
  hottest() {
    const own = new Map();
    const look = (node) => {
      let inner = node.count;
      for (const below of node.below.values()) {
        inner -= below.count;
        look(below);
      }
      own.set(node.name, (own.get(node.name) ?? 0) + inner);
    };
    look(this.root);
    const sorted = [...own].filter(([, count]) => count > 0).sort(([, one], [, other]) => other - one);
    return sorted.slice(0, 5).map(([name, count]) => `${name} ${inPercent(count / this.root.count)}`).join(", ");
  }

  at(left, top) {
    return this.drawn.find(({ x, y, width }) => left >= x && left < x + width && top >= y && top < y + FLAME_ROW);
  }

  words(node) {
    if (!node) return "";
    const share = inPercent(node.count / this.root.count);
    return `${node.name}\n${inCount(node.count)} samples, ${share} · ${node.kind}`;
  }
}
