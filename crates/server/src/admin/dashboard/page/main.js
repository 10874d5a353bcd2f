// The page as a whole: tiles, charts, lists and events from one snapshot after the other.

const past = new History();
const flames = new Flames();
const events = new Events((number) => flames.open(`event=${number}`));
const details = new Details(confirmEnd);
new Trace();
const requestLines = new Lines(byId("requests"), [{ key: "requests", name: "requests", colour: "first" }], inCount, 10);
const byteLines = new Lines(byId("bytes"), [
  { key: "sent", name: "out", colour: "first" },
  { key: "received", name: "in", colour: "second", dash: [6, 3] },
], inBytes, 2);
const heat = new Heat(byId("heat"));
const lanes = new Lanes(byId("lanes"), byId("lanes-legend"));

const follower = new Follower({
  onSnapshot(snapshot) {
    byId("entrance").hidden = true;
    byId("board").hidden = false;
    byId("forget").hidden = sessionStorage.getItem(KEY) === null;
    if (past.isNewStart(snapshot)) list.forget();
    past.add(snapshot);
    list.onSnapshot(snapshot);
    details.refresh();
    show();
  },
  onState(state, words) {
    byId("connection").className = state;
    if (byId("connection").textContent !== words) byId("connection").textContent = words;
    document.body.classList.toggle("away", state === "away");
  },
  onLocked(wasWrong) {
    byId("board").hidden = true;
    byId("forget").hidden = true;
    byId("entrance").hidden = false;
    byId("refused").textContent = wasWrong ? "The server does not know this key." : "";
    byId("key").value = "";
    byId("key").focus();
  },
});
const list = new List({
  choose: (name, sort) => follower.follow({ list: name, ...(sort ? { sort } : {}) }),
  open: (id) => details.open(id, list.name),
  end: confirmEnd,
});

/** Draws at the next frame; a page that nobody sees draws nothing. */
let isDue = false;
const show = () => {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    if (past.last && !byId("board").hidden) draw();
  });
};

const draw = () => {
  const { last } = past;
  const span = Number(byId("window").value) * 1000;
  const recent = past.recent(span);
  header(last);
  tiles(last, past.samples.at(-1));
  choices(last.latencies);
  requestLines.draw(recent, last.at_ms, span);
  byteLines.draw(recent, last.at_ms, span);
  heat.draw(recent, byId("timed").value, last.at_ms, span);
  lanes.draw(recent, last.schedulers.length, last.at_ms, span);
  events.show(past.events);
};

const header = ({ server, at_ms }) => {
  byId("phase").textContent = server.phase;
  byId("phase").classList.toggle("other", server.phase !== "serving");
  const up = inSpan(Math.max(0, at_ms / 1000 - server.started));
  const facts = [`version ${server.version}`, `up ${up}`, `process ${server.process}`, server.listeners.join(", ")];
  byId("facts").textContent = facts.join(" · ");
  document.title = `Velodrome ${server.listeners[0] ?? ""}: ${server.phase}`;
};

const tiles = (last, sample) => {
  const times = sample?.times.get("") ?? [];
  const time = (share) => (times.length ? inTime(quantile(times, share)) : "–");
  const rate = (key, how) => (sample ? how(sample[key]) : "–");
  const busy = sample?.lanes.map(({ shares }) => shares.reduce((sum, share) => sum + share, 0)) ?? [];
  const silent = last.schedulers.filter(({ answers }) => !answers).length;
  const all = [
    ["requests/s", rate("requests", inCount)],
    ["p50", time(0.5)],
    ["p99", time(0.99)],
    ["p99.9", time(0.999)],
    ["4xx/s · 5xx/s", sample ? `${inCount(sample.refused)} · ${inCount(sample.failed)}` : "–"],
    ["connections", inCount(sumOf(last, "connections"))],
    ["memory", inBytes(last.server.resident_bytes)],
    silent ? ["schedulers without answer", String(silent)]
      : ["busiest scheduler", busy.length ? inPercent(Math.max(...busy)) : "–"],
  ];
  const place = byId("tiles");
  if (!place.children.length) place.append(...all.map(() => make("div", {}, make("span"), make("strong"))));
  all.forEach(([name, value], index) => {
    const [label, figure] = place.children[index].children;
    if (label.textContent !== name) label.textContent = name;
    if (figure.textContent !== value) figure.textContent = value;
  });
};

/** What the heat map can show: everything, or one thing that is timed. */
const choices = (latencies) => {
  const names = [...new Set(["", ...latencies.flatMap(timedAs)])];
  const select = byId("timed");
  if (select.options.length === names.length && names.every((name, place) => select.options[place].value === name)) return;
  const chosen = select.value;
  select.replaceChildren(...names.map((name) => make("option", { value: name }, name || "all requests")));
  select.value = names.includes(chosen) ? chosen : "";
};

/** Light or dark: as the system says, until somebody chooses. */
const dark = matchMedia("(prefers-color-scheme: dark)");
const theme = () => {
  const chosen = localStorage.getItem("velodrome-theme");
  document.documentElement.dataset.theme = chosen ?? (dark.matches ? "dark" : "light");
  palette.read();
  flames.draw();
  show();
};
dark.addEventListener("change", theme);
byId("theme").addEventListener("click", () => {
  const other = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  // What the system says needs no memory.
  if (other === (dark.matches ? "dark" : "light")) localStorage.removeItem("velodrome-theme");
  else localStorage.setItem("velodrome-theme", other);
  theme();
});

byId("window").value = localStorage.getItem("velodrome-window") ?? "300";
byId("window").addEventListener("change", () => {
  localStorage.setItem("velodrome-window", byId("window").value);
  show();
});
byId("timed").addEventListener("change", show);
byId("entrance").addEventListener("submit", (event) => {
  event.preventDefault();
  follower.unlock(byId("key").value.trim());
});
byId("forget").addEventListener("click", () => {
  sessionStorage.removeItem(KEY);
  location.reload();
});
byId("bytes-legend").append(
  make("span", {}, make("i", { className: "first" }), "out"),
  make("span", {}, make("i", { className: "dashed" }), "in"));
const sizes = new ResizeObserver(() => {
  palette.read();
  show();
});
for (const canvas of document.querySelectorAll("main canvas")) sizes.observe(canvas);
document.addEventListener("visibilitychange", show);
theme();
