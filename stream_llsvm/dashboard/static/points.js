// The run so far, as points over time: a bounded number, whatever the length of the run.

const MOST_COLUMNS = 64;
const MOST_MEMBERS = 64;
const MOST_STEPS = 12; // of a member
const MOST_CLASSES = 24;
/** What a point says of each class, in this order behind its number. */
export const OF_CLASSES = ["precision", "recall", "f1", "support"];
const DRAWN = 800; // points of a line
const FRESH = 1000; // so many of the latest are never thinned

const SPANS = { minute: 60, day: 86_400, week: 604_800 }; // seconds that a chart may show

/** Columns of numbers, made once; when they are full, the older points are thinned by halving. */
export class Points {
  constructor(capacity = 4000) {
    this.capacity = capacity;
    this.length = 0;
    this.columns = new Map(); // by name: whatever numbers points have
    this.make("time");
    this.make("records");
    this.members = [];
    this.parts = new Map(); // of members and classes: by "step <member> <step>" or "recall <class>"
    this.gap = 0.25; // seconds between two of the older points
  }

  make(name) {
    if (this.columns.size < MOST_COLUMNS) this.columns.set(name, new Float64Array(this.capacity).fill(NaN));
  }

  get last() {
    return this.length ? this.columns.get("time")[this.length - 1] : -Infinity;
  }

  /** Add a point that is newer than all others; say whether it was. */
  add(point) {
    if (!(point.time > this.last)) return false;
    if (this.length === this.capacity) this.thin();
    const at = this.length++;
    for (const [name, value] of Object.entries(point)) {
      if (typeof value === "number" && name !== "id" && !this.columns.has(name)) this.make(name);
    }
    for (const [name, column] of this.columns) column[at] = point[name] ?? NaN;
    const weights = (point.members ?? []).slice(0, MOST_MEMBERS);
    while (this.members.length < weights.length) {
      this.members.push(new Float32Array(this.capacity).fill(NaN));
    }
    this.members.forEach((column, i) => {
      column[at] = weights[i] ?? NaN;
    });
    for (const column of this.parts.values()) column[at] = NaN;
    for (const [key, value] of point.parts ?? partsOf(point)) {
      if (!this.parts.has(key) && this.parts.size < MOST_PARTS) this.parts.set(key, new Float32Array(this.capacity).fill(NaN));
      if (this.parts.has(key)) this.parts.get(key)[at] = value ?? NaN;
    }
    return true;
  }

  /** Add points of any age; those that are there already stay as they are. */
  merge(points) {
    const times = this.columns.get("time");
    const mine = Array.from({ length: this.length }, (_, i) => this.point(i));
    const known = new Set(times.subarray(0, this.length));
    const others = points.filter((point) => Number.isFinite(point.time) && !known.has(point.time));
    if (!others.length) return;
    this.length = 0;
    for (const point of [...mine, ...others].sort((a, b) => a.time - b.time)) this.add(point);
  }

  /** One point, as it was added. */
  point(i) {
    const point = {
      members: this.members.map((column) => column[i]),
      parts: [...this.parts].map(([key, column]) => [key, column[i]]),
    };
    for (const [name, column] of this.columns) point[name] = column[i];
    return point;
  }

  /** Since when a column's value has been so, up to the last point; null if it is not now. */
  since(name, holds) {
    const column = this.columns.get(name);
    let at = this.length;
    while (column && at > 0 && holds(column[at - 1])) at -= 1;
    return column && at < this.length ? this.columns.get("time")[at] : null;
  }

  /** A column's value so many seconds before the last point, or that of the first. */
  before(name, seconds) {
    const times = this.columns.get("time");
    let at = this.length - 1;
    while (at > 0 && times[at] > this.last - seconds) at -= 1;
    return this.columns.get(name)?.[at] ?? NaN;
  }

  /** Keep fewer of the older points, as far apart as a power of two times a quarter second. */
  thin() {
    const times = this.columns.get("time");
    const fresh = this.length - Math.min(FRESH, this.capacity >> 2);
    let kept = spaced(times, fresh, this.gap);
    while (kept.length > fresh / 2) {
      this.gap *= 2;
      kept = spaced(times, fresh, this.gap);
    }
    for (const column of [...this.columns.values(), ...this.members, ...this.parts.values()]) {
      kept.forEach((from, to) => {
        column[to] = column[from];
      });
      column.copyWithin(kept.length, fresh, this.length);
    }
    this.length = kept.length + this.length - fresh;
  }

  /** Seconds from the first point to the last. */
  get span() {
    return this.length ? this.last - this.columns.get("time")[0] : 0;
  }

  /** What a chart shows: over time for the last minute, day or week, else over records, as places of points. */
  view(range) {
    const seconds = SPANS[range];
    const byTime = seconds !== undefined;
    const x = this.columns.get(byTime ? "time" : "records");
    const end = this.length - 1;
    if (end < 0) return { x: [], places: [], axis: byTime ? "time" : "records", low: 0, high: 1 };
    const low = byTime ? x[end] - seconds : range === "records" ? x[end] - 10000 : -Infinity;
    let places = [];
    for (let i = end; i >= 0 && x[i] >= low; i--) {
      // A run that began anew counts anew: what was before does not fit on this axis.
      const next = places.length ? x[places.at(-1)] : Infinity;
      if (x[i] > next) break;
      if (x[i] < next) places.push(i);
    }
    places = some(places.reverse(), x);
    const first = places.length ? x[places[0]] : 0;
    return {
      x: places.map((i) => x[i]),
      places,
      axis: byTime ? "time" : "records",
      low: byTime ? low : Math.max(first, low),
      high: Math.max(x[end], (byTime ? low : first) + 1),
    };
  }

  /** The values of a column, or of that of this name, at these places; null where there is none. */
  values(given, places) {
    const column = typeof given === "string" ? this.columns.get(given) : given;
    return places.map((i) => (column && !Number.isNaN(column[i]) ? column[i] : null));
  }
}

const MOST_PARTS = MOST_MEMBERS * MOST_STEPS + MOST_CLASSES * OF_CLASSES.length;

/** What a point says of the steps of members and of classes, each number under a name of its own. */
function partsOf({ steps = [], by_class: classes = [] }) {
  return [
    ...(steps ?? []).slice(0, MOST_MEMBERS).flatMap((each, i) =>
      each.slice(0, MOST_STEPS).map((weight, j) => [`step ${i} ${j}`, weight])),
    ...(classes ?? []).slice(0, MOST_CLASSES).flatMap(([code, ...told]) =>
      OF_CLASSES.map((name, j) => [`${name} ${code}`, told[j]])),
  ];
}

/** The places of the first n times that are so far apart. */
function spaced(times, n, gap) {
  const kept = [];
  for (let i = 0, before = -Infinity; i < n; i++) {
    if (times[i] - before < gap) continue;
    kept.push(i);
    before = times[i];
  }
  return kept;
}

/** No more places than can be told apart: the last in each step of a grid that stands still. */
function some(places, x) {
  if (places.length <= DRAWN) return places;
  const step = 2 ** Math.ceil(Math.log2((x[places.at(-1)] - x[places[0]]) / DRAWN));
  const cell = (at) => Math.floor(x[places[at]] / step);
  return places.filter((_, at) => at === places.length - 1 || cell(at) !== cell(at + 1));
}

/** Turn columns, as the history comes, into points. */
export function rows(columns) {
  const times = columns?.time ?? [];
  const names = Object.keys(columns ?? {});
  return times.map((_, i) => Object.fromEntries(names.map((name) => [name, columns[name][i]])));
}
