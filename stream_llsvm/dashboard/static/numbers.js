// Numbers as people read them. What is not known is a dash.

const NONE = "\u2013";
const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const known = (value) => typeof value === "number" && Number.isFinite(value);

/** 12,345 */
export const count = (value) => (known(value) ? WHOLE.format(value) : NONE);

/** 12.3k, for axes */
export function compact(value) {
  if (!known(value)) return NONE;
  const size = Math.abs(value);
  if (size >= 1e9) return `${trim(value / 1e9)}G`;
  if (size >= 1e6) return `${trim(value / 1e6)}M`;
  if (size >= 1e4) return `${trim(value / 1e3)}k`;
  return WHOLE.format(value);
}

/** 91.2% */
export const percent = (value, digits = 1) =>
  known(value) ? `${(100 * value).toFixed(digits)}%` : NONE;

/** 0.912 */
export const fixed = (value, digits = 3) =>
  known(value) ? value.toFixed(digits).replace(/^-/, "\u2212") : NONE;

/** A score as its list says it is read: 91.2%, 0.912, or a number of any size */
export const score = ({ percent: share, in_units: units }, value, digits = 1) =>
  (share ? percent(value, digits) : units ? short(value) : fixed(value));

/** A number of any size in a few characters: 0.0123, 12.3, 1.2e+6 */
export function short(value) {
  if (!known(value)) return NONE;
  const size = Math.abs(value);
  const told =
    size !== 0 && (size >= 1e5 || size < 1e-3)
      ? value.toExponential(1)
      : String(Number(value.toPrecision(3)));
  return told.replace("-", "\u2212");
}

/** Like `short`, with its sign. */
export const signed = (value) => (known(value) && value > 0 ? `+${short(value)}` : short(value));

/** 31 \u00b5s, 2.1 ms, 3.4 s */
export function seconds(value) {
  if (!known(value)) return NONE;
  if (value === 0) return "0";
  if (value < 1e-3) return `${trim(value * 1e6)} \u00b5s`;
  if (value < 1) return `${trim(value * 1e3)} ms`;
  return `${trim(value)} s`;
}

/** 12 s, 3 min, 2 h, 4 d: how long ago or for how long */
export function span(value) {
  if (!known(value)) return NONE;
  const whole = Math.max(0, Math.floor(value));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min`;
  const [unit, size, less, part] = whole < 86400 ? ["h", 3600, "min", 60] : ["d", 86400, "h", 3600];
  const rest = Math.floor((whole % size) / part);
  return `${Math.floor(whole / size)} ${unit}${rest ? ` ${rest} ${less}` : ""}`;
}

/** 18:32:05, here */
export function clock(time) {
  if (!known(time)) return NONE;
  const at = new Date(time * 1000);
  return [at.getHours(), at.getMinutes(), at.getSeconds()]
    .map((part) => String(part).padStart(2, "0"))
    .join(":");
}

/** A time on an axis that spans so many seconds: 18:32:05, 18:32, 19 Nov 18:00 */
export function moment(time, seconds) {
  if (seconds <= 600) return clock(time);
  return `${seconds > 86_400 ? `${day(time)} ` : ""}${clock(time).slice(0, 5)}`;
}

/** 19 Nov */
export const day = (time) => new Date(time * 1000).toLocaleDateString("en-GB", { day: "numeric", month: "short" });

/** 1.2 MB */
export function bytes(value) {
  if (!known(value)) return NONE;
  if (value < 1e3) return `${value} B`;
  return value < 1e6 ? `${trim(value / 1e3)} kB` : `${trim(value / 1e6)} MB`;
}

/** A name that may be long, in few characters: its middle is left out. */
export function brief(name, most = 24) {
  const all = [...harmless(name)];
  if (all.length <= most) return all.join("");
  const end = Math.floor((most - 1) / 2);
  return `${all.slice(0, most - 1 - end).join("")}\u2026${all.slice(all.length - end).join("")}`;
}

/** All of a name; nothing in it turns the text around it. */
export function harmless(name) {
  const plain = String(name).replace(/[\u202a-\u202e\u2066-\u2069]/g, "");
  return plain.trim() ? plain : "(no name)";
}

const ORDER = new Intl.Collator("en", { numeric: true });

/** The places of names in the order in which people look for them: 2 before 10, a before B. */
export function inOrder(names) {
  const places = names.map((_, i) => i);
  const values = names.map((name) => (String(name).trim() ? Number(name) : NaN));
  return values.every(Number.isFinite)
    ? places.sort((a, b) => values[a] - values[b])
    : places.sort((a, b) => ORDER.compare(String(names[a]), String(names[b])));
}

/** The last characters of a place that may be long: what is at its end tells most. */
export function tail(name, most = 30) {
  const all = [...harmless(name)];
  return all.length <= most ? all.join("") : `\u2026${all.slice(1 - most).join("")}`;
}

function trim(value) {
  const size = Math.abs(value);
  const told = size >= 100 ? value.toFixed(0) : size >= 10 ? value.toFixed(1) : value.toFixed(2);
  return told.includes(".") ? told.replace(/\.?0+$/, "") : told;
}
