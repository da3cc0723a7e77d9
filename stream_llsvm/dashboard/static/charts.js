// Lines over time or over records: uPlot, in the page's colours.

/* global uPlot */
import { el, fill, mark, say } from "page/dom.js";
import { brief, compact, moment } from "page/numbers.js";
import { colour } from "page/palette.js";

const FONT = '11px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';

/** How far apart the labels of an axis may be: in seconds, and in records. */
const TIMES = [1, 5, 10, 30, 60, 300, 600, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400, 172_800, 604_800];
const WHOLE = Array.from({ length: 48 }, (_, i) => [1, 2, 5][i % 3] * 10 ** Math.floor(i / 3));

/** Draws series of numbers into a box, as wide as that box is. */
export class LineChart {
  /**
   * series: [{name, colour: () => text, width, dash, fill, hidden}]; form: a value as text;
   * bounds: (low, high) => [low, high] of the vertical axis. Where `limits` are set, they are its.
   */
  constructor(box, { series, form, bounds, height = 150, label, log = false }) {
    Object.assign(this, { box, series, form, height, label, log, marks: [], axis: "records", limits: null });
    this.range = [0, 1];
    this.bounds = bounds ?? (log ? ofDecades : fromZero);
    this.hovered = null;
    this.onHover = () => {};
    this.plot = null;
    mark(box, "role", "img");
    mark(box, "aria-label", label);
    box.style.setProperty("height", `${height}px`);
    this.sized = new ResizeObserver(() => {
      const width = box.clientWidth;
      if (this.plot && width > 0 && width !== this.plot.width) this.plot.setSize({ width, height });
    });
    this.sized.observe(box);
    this.themed = () => this.plot?.redraw(false);
    document.addEventListener("themechange", this.themed);
  }

  /** Leave the box to another chart. */
  remove() {
    this.sized.disconnect();
    document.removeEventListener("themechange", this.themed);
    this.plot?.destroy();
  }

  /** Show these: x, a list of values for each series, marks [{at, kind, text}]. */
  draw(view, values, marks = []) {
    this.axis = view.axis;
    this.range = [view.low, view.high];
    this.marks = marks.filter(({ at }) => at >= view.low && at <= view.high);
    for (const kind of ["drift", "better", "checkpoint", "promoted"]) {
      mark(this.box, `data-${kind}`, this.marks.filter((one) => one.kind === kind).length);
    }
    mark(this.box, "data-points", view.x.length);
    mark(this.box, "aria-label", `${this.label}${this.inWords(values)}`);
    const data = [view.x, ...values];
    if (!this.plot) {
      if (this.box.clientWidth === 0) return;
      this.plot = this.make(data);
    } else this.plot.setData(data);
  }

  /** Say what the first line that is shown does, for those who do not see it. */
  inWords(values) {
    const i = this.series.findIndex(({ hidden }) => !hidden);
    const known = [...(values[i] ?? [])].filter((value) => Number.isFinite(value));
    if (!known.length) return "";
    const [low, high] = known.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [Infinity, -Infinity]);
    const name = this.series.length > 1 ? `${this.series[i].name}: ` : "";
    return ` Shown: ${name}now ${this.form(known.at(-1))}, lowest ${this.form(low)}, highest ${this.form(high)}.`;
  }

  /** Show or hide a series. */
  show(i, yes) {
    this.series[i].hidden = !yes;
    this.plot?.setSeries(i + 1, { show: yes });
  }

  make(data) {
    const axis = {
      stroke: () => colour("--muted"),
      font: FONT,
      grid: { stroke: () => colour("--line"), width: 1 },
      ticks: { show: false },
    };
    return new uPlot(
      {
        width: this.box.clientWidth,
        height: this.height,
        padding: [10, 18, 0, 0],
        legend: { show: false },
        cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
        scales: { x: { time: false, range: () => this.range }, y: { distr: this.log ? 3 : 1, range: (_, low, high) => this.limits ?? this.bounds(low, high) } },
        axes: [
          { ...axis, size: 24, gap: 4, space: 90, grid: { show: false },
            incrs: () => (this.axis === "time" ? TIMES : WHOLE),
            values: (_, all) => all.map((v) => (this.axis === "time" ? moment(v, this.range[1] - this.range[0]) : Number.isInteger(v) ? compact(v) : "")) },
          { ...axis, grid: { ...axis.grid, ...(this.log ? { filter: decades } : {}) }, size: 48, gap: 6, space: 28, values: (_, all) => all.map((v) => (v === null || (this.form === compact && !Number.isInteger(v)) ? "" : this.form(v))) },
        ],
        series: [
          {},
          ...this.series.map((one) => ({
            label: one.name,
            stroke: one.colour,
            width: one.width ?? 1.5,
            dash: one.dash,
            fill: one.fill,
            show: !one.hidden,
            spanGaps: true,
            points: { show: (_, i, from, to) => to - from < 2, size: 4 },
          })),
        ],
        hooks: {
          drawAxes: [(plot) => this.drawMarks(plot)],
          setCursor: [(plot) => {
            this.hovered = plot.cursor.idx ?? null;
            this.onHover(this.hovered);
          }],
        },
      },
      data,
      this.box,
    );
  }

  drawMarks(plot) {
    const pen = plot.ctx;
    const { left, top, width, height } = plot.bbox;
    const ratio = window.devicePixelRatio || 1;
    pen.save();
    pen.textAlign = "left";
    pen.font = FONT.replace("11px", `${10 * ratio}px`);
    let free = -Infinity;
    for (const one of this.marks) {
      const x = Math.round(plot.valToPos(one.at, "x", true));
      if (one.kind === "checkpoint") {
        pen.fillStyle = colour("--faint");
        pen.beginPath();
        pen.moveTo(x, top + height - 6 * ratio);
        pen.lineTo(x + 4 * ratio, top + height);
        pen.lineTo(x - 4 * ratio, top + height);
        pen.fill();
        continue;
      }
      pen.strokeStyle = pen.fillStyle = colour(one.kind === "drift" ? "--bad" : one.kind === "better" ? "--good" : "--muted");
      pen.lineWidth = ratio;
      pen.setLineDash([4 * ratio, 3 * ratio]);
      pen.beginPath();
      pen.moveTo(x, top);
      pen.lineTo(x, top + height);
      pen.stroke();
      const wide = pen.measureText(one.kind).width;
      const at = Math.min(x + 4 * ratio, left + width - wide);
      if (at > free) {
        pen.fillText(one.kind, at, top + 9 * ratio);
        free = at + wide + 4 * ratio;
      }
    }
    pen.restore();
  }
}

/** A legend whose entries show their line's value and switch it on and off. */
export class Legend {
  constructor(box, chart, form) {
    Object.assign(this, { box, chart, form });
    this.latest = [];
    chart.onHover = () => this.tell();
  }

  draw(values) {
    this.latest = values;
    this.tell();
  }

  tell() {
    const { series, hovered } = this.chart;
    const entries = fill(this.box, series.length, (i) => {
      const entry = el("button", { type: "button", class: "entry" },
        el("span", { class: "dash", "aria-hidden": "true" }), el("span"), el("output"));
      entry.addEventListener("click", () => {
        this.chart.show(i, series[i].hidden);
        this.tell();
      });
      return entry;
    });
    series.forEach((one, i) => {
      const [dash, name, value] = entries[i].children;
      dash.style.setProperty("border-color", one.colour());
      dash.style.setProperty("border-top-style", one.dash ? "dashed" : "solid");
      dash.style.setProperty("border-top-width", `${Math.max(2, one.width ?? 1.5)}px`);
      mark(entries[i], "aria-pressed", String(!one.hidden));
      mark(entries[i], "title", `${one.told ?? one.name}. ${one.hidden ? "Show it" : "Hide it"}`);
      say(name, brief(one.name, 28));
      const all = this.latest[i] ?? [];
      const now = all[hovered ?? all.length - 1] ?? null;
      const [foot, top] = (now !== null && this.chart.limits) || [-Infinity, Infinity];
      const outside = now < foot ? " \u2193" : now > top ? " \u2191" : "";
      say(value, one.hidden ? "off" : `${this.form(now)}${outside}`);
    });
  }
}

/** Bounds of what cannot be below nothing. */
export function fromZero(_, high) {
  return [0, high > 0 ? high * 1.1 : 1];
}

/** Bounds of what may be below nothing. */
export function ofSigned(low, high) {
  const [least, most] = [Math.min(0, low ?? 0), Math.max(0, high ?? 0)];
  return least === most ? [0, 1] : [least * 1.1, most * 1.1];
}

/** Bounds of what spans several powers of ten. */
export function ofDecades(low, high) {
  if (!(low > 0) || !(high > 0)) return [1e-6, 1];
  return [10 ** Math.floor(Math.log10(low)), 10 ** Math.ceil(Math.log10(high * 1.001))];
}

/** Of an axis' steps only the powers of ten. */
const decades = (_, steps) => steps.map((v) => (Math.abs(Math.log10(v) % 1) < 1e-6 ? v : null));

/**
 * Bounds of shares, as close as what is told can be seen: all that was lately, and almost all of
 * what was before, so that a beginning does not press the rest flat. They stay while they fit.
 */
export function closeUp(lines, before) {
  const known = lines.flatMap((line) => line.filter(Number.isFinite)).sort((a, b) => a - b);
  if (!known.length) return before;
  const lately = lines.flatMap((line) => line.slice(-Math.ceil(line.length / 5)).filter(Number.isFinite));
  const high = known.at(-1);
  const low = Math.min(Math.max(known[Math.floor(known.length * 0.05)], high - FARTHEST), ...lately);
  const span = Math.max(high - low, CLOSEST);
  const wide = before[1] - before[0];
  if (low >= before[0] && high <= before[1] && wide < 2.2 * span) return before;
  const step = STEPS.find((one) => span / one <= 10) ?? 0.2;
  const top = Math.min(1, Math.ceil((high + 0.1 * span) / step) * step);
  const foot = Math.floor((Math.min(low, top - span) - 0.1 * span) / step) * step;
  return [low >= 0 ? Math.max(0, foot) : foot, top + 0.002];
}

/**
 * Bounds of errors: from nothing to all that was lately and almost all of what was before. Others
 * are in it, too, as far as that does not press the rest flat.
 */
export function fromNothing(lines, others) {
  const known = lines.flatMap((line) => line.filter(Number.isFinite)).sort((a, b) => a - b);
  const lately = lines.flatMap((line) => line.slice(-Math.ceil(line.length / 5)).filter(Number.isFinite));
  const high = Math.max(known[Math.floor(known.length * 0.95)] ?? 0, ...lately);
  const beside = others.flatMap((line) => line.slice(-1)).filter((value) => value <= 4 * high);
  return [0, 1.1 * Math.max(high, ...beside) || 1];
}

const CLOSEST = 0.04; // what is nearer is noise
const FARTHEST = 0.2; // what was further below long ago would press a fall of two points flat
const STEPS = [0.01, 0.02, 0.05, 0.1];
