// The list of events, the newest first.

const LEVELS = ["info", "warning", "error"];

class Events {
  /** `profile(number)` shows the profile of the minute around an event. */
  constructor(profile) {
    this.profile = profile;
    this.place = byId("event-list");
    byId("level").addEventListener("change", () => this.show(this.events ?? [], true));
  }

  show(events, isForced = false) {
    const newest = events.at(-1);
    if (!isForced && this.newest === newest && this.events) return;
    Object.assign(this, { events, newest });
    const least = LEVELS.indexOf(byId("level").value);
    const wanted = events.filter(({ level }) => LEVELS.indexOf(level) >= least || !LEVELS.includes(level));
    // What somebody has opened stays open.
    const open = new Set([...this.place.querySelectorAll("details[open]")].map((each) => each.dataset.event));
    const lines = wanted.toReversed().map((event) => this.line(event, open));
    this.place.replaceChildren(...(lines.length ? lines : [make("li", { className: "nothing" }, "nothing happened")]));
  }

  line(event, open) {
    const level = LEVELS.includes(event.level) ? event.level : "info";
    const where = Number.isInteger(event.scheduler) ? ` on scheduler ${event.scheduler}` : "";
    const line = make("li", {},
      make("time", { dateTime: new Date(event.at_ms).toISOString() }, clock(event.at_ms)),
      make("span", { className: `level ${level}` }, level),
      make("b", {}, event.kind.replaceAll("_", " ") + where),
      make("span", { className: "text" }, event.text));
    if (event.cause?.length) {
      const key = `${event.at_ms} ${event.number}`;
      const more = make("details", { open: open.has(key) }, make("summary", {}, "cause"), make("pre", {}, event.cause.join("\n")));
      more.dataset.event = key;
      line.append(more);
    }
    if (event.profiled) {
      const button = make("button", { type: "button", className: "profile" }, "profile");
      button.addEventListener("click", () => this.profile(event.number));
      line.append(button);
    }
    return line;
  }
}
