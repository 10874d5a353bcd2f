// The list of a tab: rates from two snapshots, rows in the order of a column, a filter. While the pointer is over the rows
// they keep their places, so that nobody ends another row than the one that was meant.

const LISTS = ["connections", "routes", "pages", "processes", "channels", "keys", "upstreams", "listeners", "mailboxes",
  "store"];
/** Lists whose rows can be looked at one by one, and ended. */
const SINGLE = new Set(["connections", "processes"]);

class List {
  /** `choose(list, sort)` asks the server for another list or order; `open(row)` and `end(row)` act on a row. */
  constructor({ choose, open, end }) {
    Object.assign(this, { choose, open, end, name: LISTS[0], sort: "", direction: "descending", rows: new Map() });
    this.place = byId("table-place");
    this.tabs = LISTS.map((name) => {
      const tab = make("button", { type: "button", role: "tab", textContent: name });
      tab.addEventListener("click", () => { location.hash = name; });
      return tab;
    });
    byId("tabs").append(...this.tabs);
    byId("tabs").addEventListener("keydown", (event) => this.step(event));
    this.place.addEventListener("pointerenter", (event) => { this.isHeld = event.pointerType === "mouse"; });
    this.place.addEventListener("pointerleave", () => { this.isHeld = false; });
    byId("filter").addEventListener("input", () => this.show());
    addEventListener("hashchange", () => this.turnTo(location.hash.slice(1)));
    this.turnTo(location.hash.slice(1) || this.name);
  }

  step(event) {
    const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!way) return;
    const next = this.tabs.at((LISTS.indexOf(this.name) + way) % LISTS.length);
    next.focus();
    next.click();
  }

  turnTo(name) {
    if (!LISTS.includes(name)) return;
    this.name = name;
    this.tabs.forEach((tab, place) => {
      tab.setAttribute("aria-selected", String(LISTS[place] === name));
      tab.tabIndex = LISTS[place] === name ? 0 : -1;
      if (LISTS[place] === name) tab.scrollIntoView?.({ block: "nearest", inline: "nearest" });
    });
    Object.assign(this, { sort: "", direction: "descending", before: null, table: null });
    this.clear();
    byId("table-note").textContent = "…";
    this.choose(name, "");
  }

  clear() {
    this.rows.clear();
    this.body = null;
    this.place.replaceChildren();
  }

  /** Another start of the server has other rows. */
  forget() {
    this.before = null;
  }

  onSnapshot({ list, at_ms }) {
    if (list.name !== this.name) return;
    const keys = list.columns.map(({ key }) => key).join(" ");
    if (keys !== this.keys || !this.body) {
      this.keys = keys;
      this.table = list;
      this.head();
    }
    this.sort ||= list.sorted_by || list.columns.at(-1)?.key || "";
    const was = new Map((this.before?.list.rows ?? []).map((row) => [row.id, row.values]));
    const seconds = this.before ? (at_ms - this.before.at_ms) / 1000 : 0;
    if (this.before && seconds <= 0) return;
    this.shown = list.rows.map(({ id, values }) => ({ id, values: this.rated(values, was.get(id), seconds) }));
    this.before = { list, at_ms };
    this.table = list;
    this.show();
  }

  /** Values with rates in place of counters. A row that is new has no rate yet. */
  rated(values, was, seconds) {
    const rated = { ...values };
    for (const { key, counts } of this.table.columns) {
      if (counts !== "up" || typeof values[key] !== "number") continue;
      const rate = was && seconds > 0 ? (values[key] - (was[key] ?? 0)) / seconds : undefined;
      rated[key] = rate < 0 ? undefined : rate;
    }
    return rated;
  }

  head() {
    this.clear();
    const cells = this.table.columns.map((column) => {
      const button = make("button", { type: "button", textContent: column.title });
      button.addEventListener("click", () => this.order(column.key));
      const cell = make("th", { scope: "col" }, button);
      cell.dataset.key = column.key;
      if (column.unit === "text") cell.classList.add("words");
      return cell;
    });
    if (SINGLE.has(this.name)) cells.push(make("th", { scope: "col", "aria-label": "Action" }));
    this.cells = cells;
    this.body = make("tbody");
    this.place.replaceChildren(make("table", {}, make("thead", {}, make("tr", {}, ...cells)), this.body));
  }

  order(key) {
    const isSame = this.sort === key;
    const isText = this.table.columns.find((column) => column.key === key)?.unit === "text";
    const first = isText ? "ascending" : "descending";
    const other = first === "ascending" ? "descending" : "ascending";
    this.direction = isSame && this.direction === first ? other : first;
    this.sort = key;
    this.isHeld = false;
    this.show();
    // The server chooses the rows that are sent by this column too.
    if (!isSame) this.choose(this.name, key);
  }

  show() {
    if (!this.body || !this.shown) return;
    for (const cell of this.cells) {
      if (cell.dataset.key === this.sort) cell.setAttribute("aria-sort", this.direction);
      else cell.removeAttribute("aria-sort");
    }
    const wanted = byId("filter").value.trim().toLowerCase();
    const fits = ({ id, values }) =>
      !wanted || id.toLowerCase().includes(wanted) || Object.values(values).some((value) => String(value).toLowerCase().includes(wanted));
    const rows = this.sorted(this.shown.filter(fits));
    const ids = new Set(rows.map(({ id }) => id));
    for (const [id, line] of this.rows) {
      if (ids.has(id)) continue;
      line.remove();
      this.rows.delete(id);
    }
    rows.forEach((row, place) => {
      const line = this.line(row);
      if (!line.isConnected || (!this.isHeld && this.body.children[place] !== line)) {
        this.body.insertBefore(line, this.body.children[place] ?? null);
      }
    });
    this.note(rows.length);
  }

  note(count) {
    const { left_out: left, sorted_by: key, columns } = this.table;
    const title = columns.find((column) => column.key === key)?.title ?? key;
    const more = left ? `: the largest by ${title}; ${inCount(left)} more are left out` : "";
    const words = byId("filter").value.trim() ? `${count} of ${this.shown.length} rows` : `${count} ${count === 1 ? "row" : "rows"}`;
    byId("table-note").textContent = words + more;
  }

  sorted(rows) {
    const sign = this.direction === "ascending" ? 1 : -1;
    const compare = (a, b) => {
      const [one, two] = [a.values[this.sort], b.values[this.sort]];
      // What has no value is last in both directions.
      if (one === undefined || two === undefined) return (one === undefined) - (two === undefined);
      const order = typeof one === "string" || typeof two === "string"
        ? String(one).localeCompare(String(two), "en", { numeric: true }) : one - two;
      return order * sign || a.id.localeCompare(b.id);
    };
    return rows.sort(compare);
  }

  line(row) {
    let line = this.rows.get(row.id);
    if (!line) {
      line = make("tr");
      line.append(...this.table.columns.map((column, place) => this.cell(column, place, row)));
      if (SINGLE.has(this.name)) {
        const button = make("button", { type: "button", className: "end", textContent: "End" });
        button.addEventListener("click", () => this.end({ id: row.id, name: line.dataset.name, list: this.name }));
        line.append(make("td", {}, button));
      }
      line.dataset.id = row.id;
      this.rows.set(row.id, line);
    }
    this.table.columns.forEach((column, place) => {
      const cell = line.children[place];
      const text = inUnit(row.values[column.key], column) || (place === 0 ? plain(row.id) : "");
      const inner = place === 0 ? cell.firstChild : cell;
      if (inner.textContent === text) return;
      inner.textContent = text;
      cell.title = column.unit === "text" ? text : "";
      if (place > 0) return;
      line.dataset.name = text;
      // The end of a long path says more than its begin.
      cell.classList.toggle("path", text.startsWith("/"));
    });
    return line;
  }

  cell(column, place, row) {
    const cell = make("td", { className: column.unit === "text" ? "words" : "" });
    if (place === 0) {
      const name = SINGLE.has(this.name) ? make("button", { type: "button", className: "name" }) : make("bdi");
      if (SINGLE.has(this.name)) name.addEventListener("click", () => this.open(row.id));
      cell.append(name);
    }
    return cell;
  }
}
