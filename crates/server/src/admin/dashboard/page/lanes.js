// A lane for each scheduler: what it did with its time, as stacked shares; what is left is waiting.

class Lanes {
  constructor(canvas, legend) {
    Object.assign(this, { canvas, legend, samples: [] });
    explain(canvas, (x, y) => this.explain(x, y));
  }

  draw(samples, count, until, span) {
    const least = palette.size * 2.4;
    this.canvas.style.minHeight = `${Math.round(count * least + palette.size * 3)}px`;
    const sheet = penOf(this.canvas);
    if (!sheet) return;
    const { pen } = sheet;
    const right = pen.measureText("100 % busy").width + 14;
    const left = pen.measureText("00").width + 10;
    const area = frame(sheet, { until, span, left, right });
    const high = (area.bottom - area.top) / Math.max(1, count);
    Object.assign(this, { samples, area, high, count });
    for (let lane = 0; lane < count; lane += 1) {
      const top = area.top + lane * high + 2;
      const bottom = area.top + (lane + 1) * high - 2;
      pen.fillStyle = palette.idle;
      pen.fillRect(area.left, top, area.right - area.left, bottom - top);
      write(pen, String(lane), area.left - 6, (top + bottom) / 2, { align: "right" });
      for (const piece of pieces(samples)) this.stack(pen, piece, lane, top, bottom);
      this.now(pen, samples.at(-1)?.lanes[lane], area.right + 7, (top + bottom) / 2, bottom - top);
    }
    this.note();
  }

  /** One step for each sample, not a slope: a share belongs to the whole time between two snapshots. */
  stack(pen, piece, lane, top, bottom) {
    for (const sample of piece) {
      const shown = sample.lanes[lane];
      const from = Math.max(this.area.left, this.area.x(sample.at_ms - sample.ms));
      const to = this.area.x(sample.at_ms);
      if (!shown || to <= from) continue;
      if (!shown.answers) {
        pen.fillStyle = palette.bad;
        pen.fillRect(from, top, to - from + 0.3, bottom - top);
        continue;
      }
      let base = bottom;
      shown.shares.forEach((share, group) => {
        const size = share * (bottom - top);
        pen.fillStyle = palette[GROUPS[group][2]];
        pen.fillRect(from, base - size, to - from + 0.3, size);
        base -= size;
      });
    }
  }

  now(pen, lane, x, middle, room) {
    if (!lane) return;
    const busy = lane.shares.reduce((sum, share) => sum + share, 0);
    const text = lane.answers ? `${inPercent(busy)} busy` : "no answer";
    const two = room > palette.size * 2.3 && lane.turn_us > 0;
    const colour = lane.answers ? palette.ink : palette.bad;
    write(pen, text, x, two ? middle - palette.size * 0.6 : middle, { colour });
    if (two) write(pen, `turn ${inTime(lane.turn_us * 1e3)}`, x, middle + palette.size * 0.6);
  }

  /** The legend, with the share of each group now. */
  note() {
    const lanes = this.samples.at(-1)?.lanes ?? [];
    const shares = GROUPS.map((_, group) => lanes.reduce((sum, lane) => sum + lane.shares[group], 0) / (lanes.length || 1));
    const words = GROUPS.map(([name], group) => `${name} ${inPercent(shares[group])}`);
    this.legend.replaceChildren(...GROUPS.map(([, , colour], group) =>
      make("span", {}, make("i", { className: colour }), words[group])));
    this.canvas.setAttribute("aria-label", `Schedulers now: ${words.join(", ")}`);
  }

  explain(x, y) {
    if (!this.area || x < this.area.left) return "";
    const lane = Math.floor((y - this.area.top) / this.high);
    const sample = nearest(this.samples, Math.min(this.area.at(x), this.samples.at(-1)?.at_ms ?? 0));
    const shown = sample?.lanes[lane];
    if (!shown) return "";
    const shares = GROUPS.map(([name], group) => [name, shown.shares[group]]).filter(([, share]) => share >= 0.0005);
    const lines = shares.reverse().map(([name, share]) => `${inPercent(share).padStart(6)}  ${name}`);
    const turn = shown.turn_us ? [`longest turn ${inTime(shown.turn_us * 1e3)}${shown.turn_ran ? `: ${shown.turn_ran}` : ""}`] : [];
    return [`scheduler ${lane}, ${clock(sample.at_ms)}`, ...lines, ...turn].join("\n");
  }
}
