// What all charts share: a canvas in the pixels of the screen, axes, and what is under the pointer.

/** The colours and the font of the style sheet, read again when they change. */
const palette = {
  read() {
    const style = getComputedStyle(document.documentElement);
    const names = ["ground", "panel", "ink", "soft", "rule", "idle", "bad", "heat-low", "heat-middle", "heat-high",
      "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"];
    for (const name of names) this[name] = style.getPropertyValue(`--${name}`).trim();
    this.size = Math.round(parseFloat(style.fontSize) * 0.82);
    this.line = Math.max(2, this.size / 6);
    this.font = `${this.size}px system-ui, sans-serif`;
  },
};

/** A pen for a canvas of which everything is drawn anew; `null` while it is not visible. */
const penOf = (canvas) => {
  const { width, height } = canvas.getBoundingClientRect();
  if (width < 20 || height < 20) return null;
  const scale = globalThis.devicePixelRatio || 1;
  const [wide, high] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = palette.font;
  return { pen, width, height };
};

/** The text with a border in the colour of the ground, so that it can be read over anything. */
const write = (pen, text, x, y, { align = "left", base = "middle", colour = palette.soft, halo = false } = {}) => {
  pen.textAlign = align;
  pen.textBaseline = base;
  if (halo) {
    pen.strokeStyle = palette.panel;
    pen.lineWidth = 4;
    pen.lineJoin = "round";
    pen.strokeText(text, x, y);
  }
  pen.fillStyle = colour;
  pen.fillText(text, x, y);
};

/** The place for the curves, with axes around it: the time from `until - span` to `until` is below. */
const frame = ({ pen, width, height }, { until, span, left, right = 8 }) => {
  const area = { left, right: width - right, top: palette.size * 0.6, bottom: height - palette.size * 1.7 };
  area.x = (ms) => area.right - ((until - ms) / span) * (area.right - area.left);
  area.at = (x) => until - ((area.right - x) / (area.right - area.left)) * span;
  const steps = [5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 180_000, 300_000];
  const room = palette.size * 6;
  const most = Math.max(1, (area.right - area.left) / room);
  const step = steps.find((each) => span / each <= most) ?? steps.at(-1);
  pen.strokeStyle = palette.rule;
  pen.lineWidth = 1;
  for (let mark = Math.ceil((until - span) / step) * step; mark <= until; mark += step) {
    const x = Math.round(area.x(mark)) + 0.5;
    pen.beginPath();
    pen.moveTo(x, area.bottom);
    pen.lineTo(x, area.bottom + 4);
    pen.stroke();
    const text = clock(mark).slice(0, step % 60_000 ? 8 : 5);
    const half = pen.measureText(text).width / 2;
    if (x - half > area.left - palette.size && x + half < width) {
      write(pen, text, x, height, { align: "center", base: "bottom" });
    }
  }
  return area;
};

/** A round number that is not smaller. */
const roundUp = (value, base = 10) => {
  if (value <= 0) return 1;
  const unit = base ** Math.floor(Math.log(value) / Math.log(base));
  const factors = base === 10 ? [1, 1.5, 2, 3, 4, 5, 6, 8, 10] : [1, 1.5, 2];
  return factors.map((factor) => factor * unit).find((round) => round >= value * 0.9999) ?? value;
};

/** Horizontal lines with their values, from 0. */
const heightAxis = (pen, area, most, show) => {
  const lines = 2;
  pen.strokeStyle = palette.rule;
  for (let line = 0; line <= lines; line += 1) {
    const y = Math.round(area.bottom - (line / lines) * (area.bottom - area.top)) + 0.5;
    pen.beginPath();
    pen.moveTo(area.left, y);
    pen.lineTo(area.right, y);
    pen.stroke();
    write(pen, show((most * line) / lines), area.left - 6, y, { align: "right" });
  }
};

/** Pieces of samples between which nothing is missing. */
const pieces = (samples) => {
  const found = [];
  for (const sample of samples) {
    if (sample.ms > GAP_MS || !found.length || sample.at_ms - sample.ms > found.at(-1).at(-1).at_ms + 50) found.push([]);
    found.at(-1).push(sample);
  }
  return found;
};

/** Shows what `read(x, y)` says of the place under the pointer: lines of text, or nothing. */
const explain = (canvas, read) => {
  const tip = byId("tip");
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const text = read(event.clientX - box.left, event.clientY - box.top);
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    const { width, height } = tip.getBoundingClientRect();
    const x = event.clientX + 14 + width > innerWidth ? event.clientX - width - 10 : event.clientX + 14;
    tip.style.left = `${Math.max(4, x)}px`;
    tip.style.top = `${Math.max(4, Math.min(event.clientY + 12, innerHeight - height - 4))}px`;
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
};
