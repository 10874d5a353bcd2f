// Values as people read them, and elements made of text: nothing that the server says is ever read as HTML.

/** Characters that nobody sees, or that turn others round: their numbers are shown, as in `velodrome top`. */
const HIDDEN = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
const plain = (text) => text.replace(HIDDEN, (one) => `\\u{${one.codePointAt(0).toString(16)}}`);

/** The answer of the server: ids stay as they are, because they are sent back. */
const told = (json) => JSON.parse(json, (key, value) =>
  (typeof value === "string" && key !== "id" ? plain(value) : value));

const byId = (id) => document.getElementById(id);

/** An element with properties, and texts or elements inside it. */
const make = (tag, properties = {}, ...inside) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes("-") || name === "role") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...inside);
  return element;
};

/** A number with about three digits. */
const short = (value) => {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 999.5) return value.toFixed(0);
  if (size >= 99.5 || Number.isInteger(value)) return value.toFixed(0);
  return value.toFixed(size >= 9.95 ? 1 : 2).replace(/\.?0+$/, "");
};

/** A number in the largest unit that is not larger than it. */
const scaled = (value, base, units) => {
  let place = 0;
  let rest = value;
  while (Math.abs(rest) >= base * 0.9995 && place < units.length - 1) {
    rest /= base;
    place += 1;
  }
  return `${short(rest)}${units[place] === "" ? "" : ` ${units[place]}`}`;
};

const inCount = (value) => scaled(value, 1000, ["", "k", "M", "G", "T"]);
const inBytes = (value) => scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]);

/** Nanoseconds. */
const inTime = (ns) => {
  if (ns === 0) return "0 s";
  if (ns < 1e9) return scaled(ns, 1000, ["ns", "us", "ms"]);
  const seconds = ns / 1e9;
  return seconds < 120 ? `${short(seconds)} s` : inSpan(seconds);
};

/** Seconds, as the two largest units. */
const inSpan = (seconds) => {
  const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const first = units.findIndex(([size]) => seconds >= size);
  if (first < 0) return "0 s";
  const [size, unit] = units[first];
  const rest = units[first + 1];
  const more = rest ? Math.floor((seconds % size) / rest[0]) : 0;
  return `${Math.floor(seconds / size)} ${unit}${more ? ` ${more} ${rest[1]}` : ""}`;
};

const inPercent = (share) => `${(share * 100).toFixed(share > 0 && share < 0.0995 ? 1 : 0)} %`;

const clock = (ms) => new Date(ms).toLocaleTimeString([], { hour12: false });

/** The value of a column of a list, which may be a rate. */
const inUnit = (value, { unit, counts }) => {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  const per = counts === "up" ? "/s" : "";
  switch (unit) {
    case "bytes": return inBytes(value) + per;
    // Microseconds that grow by microseconds: a share of the time.
    case "microseconds": return per ? inPercent(value / 1e6) : inTime(value * 1e3);
    case "milliseconds": return per ? inPercent(value / 1e3) : inTime(value * 1e6);
    case "percent": return inPercent(value / 100);
    default: return inCount(value) + per;
  }
};

let toldLast = 0;

/** Says something for a few seconds. */
const tell = (text) => {
  const place = byId("told");
  place.textContent = text;
  toldLast += 1;
  const mine = toldLast;
  setTimeout(() => { if (mine === toldLast) place.textContent = ""; }, 6000);
};
