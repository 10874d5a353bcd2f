// The latency heat map: time to the right, how long things took upwards, and how many as the colour; percentiles are lines.

const PERCENTILES = [
  { name: "p50", share: 0.5, colour: "second", dash: [] },
  { name: "p99", share: 0.99, colour: "fifth", dash: [7, 3] },
  { name: "p99.9", share: 0.999, colour: "bad", dash: [2, 3] },
];

/** Colours from few to many, as steps between three colours of the style sheet. */
const ramp = () => {
  const parse = (text) => [1, 3, 5].map((from) => parseInt(text.slice(from, from + 2), 16));
  const stops = [palette["heat-low"], palette["heat-middle"], palette["heat-high"]].map(parse);
  const mix = (share) => {
    const place = Math.min(share * 2, 1.9999);
    const [from, to] = [stops[Math.floor(place)], stops[Math.floor(place) + 1]];
    const part = place - Math.floor(place);
    return `rgb(${from.map((value, index) => Math.round(value + (to[index] - value) * part)).join(" ")})`;
  };
  return Array.from({ length: 32 }, (_, step) => mix(step / 31));
};

class Heat {
  constructor(canvas) {
    Object.assign(this, { canvas, columns: [] });
    explain(canvas, (x, y) => this.explain(x, y));
  }

  /** The samples in columns of at least a few pixels, each with the sum of its times. */
  gather(samples, key, area, span) {
    const room = area.right - area.left;
    const widest = Math.max(1000, Math.ceil((span * 4) / room / 1000) * 1000);
    const columns = new Map();
    for (const sample of samples) {
      const times = sample.times.get(key);
      if (!times?.length) continue;
      const start = Math.floor(sample.at_ms / widest) * widest;
      if (!columns.has(start)) columns.set(start, new Map());
      merge(columns.get(start), times);
    }
    return [...columns].map(([start, times]) => ({ start, widest, times: inOrder(times) }));
  }

  draw(samples, key, until, span) {
    const sheet = penOf(this.canvas);
    if (!sheet) return;
    const { pen } = sheet;
    const left = pen.measureText("100 ms").width + 12;
    const area = frame(sheet, { until, span, left, right: pen.measureText("p99.9").width + 10 });
    const columns = this.gather(samples, key, area, span);
    const all = columns.flatMap(({ times }) => times.map(([most]) => most));
    const low = 10 ** Math.floor(Math.log10(Math.max(1000, Math.min(1e5, ...all)) * 0.999));
    const high = 10 ** Math.ceil(Math.log10(Math.max(low * 1000, ...all)));
    const [from, to] = [Math.log10(low), Math.log10(high)];
    const rows = Math.max(8, Math.min(Math.floor((area.bottom - area.top) / 5), Math.round((to - from) * 12)));
    const place = (ns) => Math.max(0, Math.min(1, (Math.log10(Math.max(ns, 1)) - from) / (to - from)));
    const y = (ns) => area.bottom - place(ns) * (area.bottom - area.top);
    Object.assign(this, { area, columns, y });
    this.axis(pen, area, from, to, y);
    if (!columns.length) {
      const middle = [(area.left + area.right) / 2, (area.top + area.bottom) / 2];
      write(pen, "nothing was timed yet", ...middle, { align: "center", halo: true });
    }
    this.cells(pen, { area, columns, rows, place });
    this.curves(pen, { area, columns, y });
    const sum = new Map();
    for (const { times } of columns) merge(sum, times);
    this.note(inOrder(sum));
  }

  axis(pen, area, from, to, y) {
    pen.lineWidth = 1;
    for (let power = from; power <= to; power += 1) {
      const line = Math.round(y(10 ** power)) + 0.5;
      pen.strokeStyle = palette.rule;
      pen.beginPath();
      pen.moveTo(area.left, line);
      pen.lineTo(area.right, line);
      pen.stroke();
      write(pen, inTime(10 ** power), area.left - 6, line, { align: "right" });
    }
  }

  cells(pen, { area, columns, rows, place }) {
    const high = (area.bottom - area.top) / rows;
    const counted = columns.map(({ start, widest, times }) => {
      const counts = new Map();
      for (const [most, count] of times) {
        const row = Math.min(rows - 1, Math.floor(place(most) * rows));
        counts.set(row, (counts.get(row) ?? 0) + count);
      }
      return { start, widest, counts };
    });
    const largest = Math.max(1, ...counted.flatMap(({ counts }) => [...counts.values()]));
    const colours = ramp();
    for (const { start, widest, counts } of counted) {
      const x = Math.max(area.left, area.x(start));
      const end = Math.min(area.right, area.x(start + widest));
      for (const [row, count] of counts) {
        const share = largest > 1 ? Math.log(count) / Math.log(largest) : 1;
        pen.fillStyle = colours[Math.round(share * (colours.length - 1))];
        pen.fillRect(x, area.bottom - (row + 1) * high, end - x + 0.3, high + 0.3);
      }
    }
  }

  curves(pen, { area, columns, y }) {
    let lowest = Infinity;
    for (const { name, share, colour, dash } of PERCENTILES) {
      const points = columns.map(({ start, widest, times }) =>
        [Math.min(area.right, area.x(start + widest / 2)), y(quantile(times, share)), start]);
      for (const [width, style, dashes] of [[2 * palette.line, palette.panel, []], [palette.line, palette[colour], dash]]) {
        pen.strokeStyle = style;
        pen.lineWidth = width;
        pen.lineJoin = "round";
        pen.setLineDash(dashes);
        pen.globalAlpha = style === palette.panel ? 0.7 : 1;
        pen.beginPath();
        points.forEach(([x, line, start], index) => {
          const isNext = index && start - points[index - 1][2] <= GAP_MS;
          pen[isNext ? "lineTo" : "moveTo"](x, line);
        });
        pen.stroke();
      }
      pen.setLineDash([]);
      pen.globalAlpha = 1;
      if (!points.length) continue;
      // Names do not cover each other: a higher percentile is higher.
      lowest = Math.min(points.at(-1)[1], lowest - palette.size);
      write(pen, name, area.right + 5, lowest, { colour: palette[colour] });
    }
  }

  /** The percentiles of the time shown, above the map. */
  note(times) {
    const count = times.reduce((sum, [, more]) => sum + more, 0);
    const words = PERCENTILES.map(({ name, share }) => `${name} ${inTime(quantile(times, share))}`);
    const text = count ? `${inCount(count)} in the time shown: ${words.join(", ")}` : "nothing in the time shown";
    byId("percentiles").textContent = text;
    this.canvas.setAttribute("aria-label", `Latency over time. ${text}`);
  }

  explain(x, y) {
    if (!this.area || x < this.area.left) return "";
    const at = this.area.at(x);
    const column = this.columns.find(({ start, widest }) => at >= start && at < start + widest);
    if (!column) return "";
    const here = column.times.filter(([most]) => Math.abs(this.y(most) - y) < 4);
    const count = here.reduce((sum, [, more]) => sum + more, 0);
    const words = PERCENTILES.map(({ name, share }) => `${name}  ${inTime(quantile(column.times, share))}`);
    const lines = [clock(column.start), ...words];
    if (count) lines.push(`${inCount(count)} took about ${inTime(here.at(-1)[0])}`);
    return lines.join("\n");
  }
}
