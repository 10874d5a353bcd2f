// Curves over time: requests and bytes per second.

class Lines {
  /** `series`: the key in a sample, its name, its colour, and a dash; `show` writes a value. */
  constructor(canvas, series, show, base) {
    Object.assign(this, { canvas, series, show, base, samples: [] });
    explain(canvas, (x) => this.explain(x));
  }

  draw(samples, until, span) {
    const sheet = penOf(this.canvas);
    if (!sheet) return;
    const { pen } = sheet;
    const highest = Math.max(0, ...samples.flatMap((sample) => this.series.map(({ key }) => sample[key])));
    const most = roundUp(highest, this.base);
    // The same for all curves, so that their times are below each other.
    const left = pen.measureText("999 MiB").width + 10;
    const area = frame(sheet, { until, span, left });
    Object.assign(this, { samples, area });
    heightAxis(pen, area, most, this.show);
    const y = (value) => area.bottom - (value / most) * (area.bottom - area.top);
    pen.save();
    pen.beginPath();
    pen.rect(area.left, 0, area.right - area.left, area.bottom + 1);
    pen.clip();
    for (const { key, colour, dash = [] } of this.series) {
      pen.strokeStyle = palette[colour];
      pen.lineWidth = palette.line;
      pen.lineJoin = "round";
      pen.setLineDash(dash);
      for (const piece of pieces(samples)) {
        pen.beginPath();
        piece.forEach((sample, place) => pen[place ? "lineTo" : "moveTo"](area.x(sample.at_ms), y(sample[key])));
        pen.stroke();
        if (this.series.length > 1) continue;
        pen.lineTo(area.x(piece.at(-1).at_ms), area.bottom);
        pen.lineTo(area.x(piece[0].at_ms), area.bottom);
        pen.globalAlpha = 0.14;
        pen.fillStyle = palette[colour];
        pen.fill();
        pen.globalAlpha = 1;
      }
    }
    pen.restore();
    const now = samples.at(-1);
    const words = this.series.map(({ key, name }) => `${name} ${now ? this.show(now[key]) : "none"}/s`);
    this.canvas.setAttribute("aria-label", `${words.join(", ")}; at most ${this.show(highest)}/s in the time shown`);
  }

  explain(x) {
    if (!this.area || x < this.area.left) return "";
    const at = this.area.at(x);
    const sample = nearest(this.samples, at);
    if (!sample) return "";
    const values = this.series.map(({ key, name }) => `${name}  ${this.show(sample[key])}/s`);
    return [clock(sample.at_ms), ...values].join("\n");
  }
}

/** The sample at a time; nothing in a gap. */
const nearest = (samples, at) => {
  const sample = samples.find(({ at_ms }) => at_ms >= at) ?? samples.at(-1);
  return sample && Math.abs(sample.at_ms - at) <= GAP_MS ? sample : null;
};
