// What happened between snapshots: counters become rates, histograms become the times of a second. Kept for 15 minutes.

const KEPT_MS = 900_000;
const KEPT_EVENTS = 300;
/** A longer pause between two snapshots is a gap in the charts. */
const GAP_MS = 10_000;

/** The accounts of a scheduler in groups, in the order in which they are drawn; `wait` is the rest. */
const GROUPS = [
  ["network", ["accept", "connect", "receive", "send"], "first"],
  ["parsing", ["parse"], "fourth"],
  ["handlers", ["handler"], "seventh"],
  ["pages", ["page"], "second"],
  ["collector", ["collector"], "sixth"],
  ["store", ["store"], "third"],
  ["channels", ["publish"], "fifth"],
  ["polling, timers, mail", ["poll", "timers", "mail", "other"], "eighth"],
];

const sumOf = (snapshot, name) =>
  snapshot.schedulers.reduce((sum, scheduler) => sum + (scheduler.numbers[name] ?? 0), 0);

/** Counters of the whole server, by the names of `velodrome ctl stats`. */
const COUNTERS = {
  requests: "http.requests",
  received: "network.received_bytes",
  sent: "network.sent_bytes",
  refused: "http.by_class.4xx",
  failed: "http.by_class.5xx",
};

/** The names under which times are shown; "" is all requests, which are apart by class of status. */
const timedAs = ({ of, name }) => (of === "class" ? ["", `answers ${name}`] : [`${of} ${name}`]);

/** The times that were added to a histogram; `null` if it has fewer than before. */
const added = (later, earlier) => {
  const before = new Map(earlier?.buckets ?? []);
  const grown = [];
  for (const [most, count] of later.buckets) {
    const more = count - (before.get(most) ?? 0);
    if (more < 0) return null;
    if (more > 0) grown.push([most, more]);
  }
  return grown;
};

/** Adds bucket counts up. */
const merge = (into, buckets) => {
  for (const [most, count] of buckets ?? []) into.set(most, (into.get(most) ?? 0) + count);
};

const inOrder = (times) => [...times].sort(([a], [b]) => a - b);

/** The time that this share took at most; buckets are in order. */
const quantile = (buckets, share) => {
  const total = buckets.reduce((sum, [, count]) => sum + count, 0);
  const rank = Math.max(1, Math.ceil(total * share));
  let seen = 0;
  for (const [most, count] of buckets) {
    seen += count;
    if (seen >= rank) return most;
  }
  return null;
};

class History {
  samples = [];
  events = [];
  last = null;

  /** Whether a snapshot cannot be compared with the last one: another process, or counters that have gone back. */
  isNewStart(snapshot) {
    const { last } = this;
    if (!last) return false;
    if (last.server.process !== snapshot.server.process || last.server.started !== snapshot.server.started) return true;
    return Object.values(COUNTERS).some((name) => sumOf(snapshot, name) < sumOf(last, name));
  }

  add(snapshot) {
    const isNewStart = this.isNewStart(snapshot);
    const before = isNewStart ? null : this.last;
    this.addEvents(snapshot, isNewStart);
    // Taken in the same moment: there is no time in which something could have happened.
    if (before && snapshot.at_ms <= before.at_ms) return;
    if (before) this.samples.push(this.compare(snapshot, before));
    this.last = snapshot;
    const oldest = snapshot.at_ms - KEPT_MS;
    while (this.samples.length && this.samples[0].at_ms < oldest) this.samples.shift();
  }

  compare(snapshot, before) {
    const ms = snapshot.at_ms - before.at_ms;
    const sample = { at_ms: snapshot.at_ms, ms };
    for (const [key, name] of Object.entries(COUNTERS)) {
      sample[key] = ((sumOf(snapshot, name) - sumOf(before, name)) * 1000) / ms;
    }
    sample.times = this.compareTimes(snapshot.latencies, before.latencies);
    sample.lanes = snapshot.schedulers.map((scheduler, number) => {
      const was = before.schedulers[number];
      const wall = scheduler.wall_us - (was?.wall_us ?? 0);
      const spent = (account) => (scheduler.accounts_us[account] ?? 0) - (was?.accounts_us[account] ?? 0);
      const shares = GROUPS.map(([, accounts]) =>
        wall > 0 ? Math.max(0, accounts.reduce((sum, account) => sum + spent(account), 0)) / wall : 0);
      return { answers: scheduler.answers && wall > 0, shares, turn_us: scheduler.longest_turn_us,
        turn_ran: scheduler.longest_turn_ran };
    });
    return sample;
  }

  compareTimes(latencies, before) {
    const keyOf = ({ of, name }) => `${of}\n${name}`;
    const earlier = new Map(before.map((latency) => [keyOf(latency), latency.times]));
    const sums = new Map();
    for (const latency of latencies) {
      const grown = added(latency.times, earlier.get(keyOf(latency)));
      if (!grown?.length) continue;
      for (const name of timedAs(latency)) {
        if (!sums.has(name)) sums.set(name, new Map());
        merge(sums.get(name), grown);
      }
    }
    return new Map([...sums].map(([name, times]) => [name, inOrder(times)]));
  }

  addEvents(snapshot, isNewStart) {
    if (isNewStart) {
      const text = "The server was started again: counters begin at 0.";
      this.events.push({ number: 0, at_ms: snapshot.at_ms, kind: "restart", level: "warning", text, cause: [] });
      this.newest = 0;
    }
    for (const event of snapshot.events) {
      if (event.number <= (this.newest ?? 0)) continue;
      this.newest = event.number;
      this.events.push(event);
    }
    this.events.splice(0, Math.max(0, this.events.length - KEPT_EVENTS));
  }

  /** Samples of the last milliseconds. */
  recent(ms) {
    const from = (this.last?.at_ms ?? 0) - ms;
    return this.samples.filter((sample) => sample.at_ms > from);
  }
}
