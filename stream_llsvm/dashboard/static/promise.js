// What the answers promise before their labels come, and what came of it.

import { LineChart, Legend, closeUp } from "page/charts.js";
import { byId, el, empty, fill, mark, say } from "page/dom.js";
import { count, percent } from "page/numbers.js";
import { colour } from "page/palette.js";
import { histogram, reliability } from "page/plots.js";

const LINES = [
  { key: "estimated", name: "estimated", told: "What the probabilities of the last answers promise, whether their labels have come or not", colour: () => colour("--third"), width: 2.25 },
  { key: "windowed", name: "measured", told: "How often the last labelled records were answered right", colour: () => colour("--accent"), width: 2 },
];
const APART = 0.05;

/** Draw the estimated accuracy beside the measured one, and how far probabilities can be trusted. */
export function promisePanel(page) {
  const panel = byId("promise");
  const chart = new LineChart(byId("promise-chart"), { series: LINES, form: (value) => percent(value, 0), height: 190, label: "Estimated and measured accuracy over time." });
  const legend = new Legend(panel.querySelector(".legend"), chart, (value) => percent(value));
  return () => {
    const { estimated, sureness, scores = {}, status, window: size } = page.frame ?? {};
    const none = !sureness || estimated?.windowed === undefined;
    empty(panel, none);
    if (none) return;
    const view = page.view();
    const values = LINES.map(({ key }) => page.points.values(key, view.places));
    chart.limits = closeUp(values, chart.limits ?? [0, 1]);
    chart.draw(view, values);
    legend.draw(values);
    const gap = scores.windowed?.overconfidence;
    facts([
      ["Estimated", percent(estimated.windowed), `of the last ${count(size)} answers; ${percent(estimated.cumulative)} of all`],
      ["Measured", percent(scores.windowed?.accuracy), scores.windowed?.accuracy === undefined ? "no label yet" : `of the last ${count(size)} labelled`],
      ["Overconfidence", gap === undefined ? percent(gap) : `${gap > 0 ? "+" : ""}${percent(gap)}`.replace("-", "\u2212"), "promised less measured, of the same records", Math.abs(gap) > APART ? "warn" : ""],
      ["Labels", percent(status.predicted ? Math.min(1, status.learned / status.predicted) : null), `of the answers so far: ${count(status.learned)}`],
    ]);
    const { windowed: now, cumulative: ever } = sureness;
    histogram(byId("sure-plot"), now.answers, ever.answers, `How sure the answers are: ${upper(now.answers)}. Of all answers: ${upper(ever.answers)}.`);
    say(byId("sure-key"), `Bars: the last ${count(now.answers.reduce((a, b) => a + b, 0))} answers by the probability that each was given. Line: all answers.`);
    reliability(byId("reliability-plot"), now, ever, `Reliability: ${inWords(now)}.`);
  };
}

function facts(told) {
  const boxes = fill(byId("promise-facts"), told.length, () =>
    el("div", {}, el("dt"), el("dd", { class: "big" }), el("dd", { class: "small" })));
  told.forEach(([name, value, below, kind], i) => {
    mark(boxes[i], "class", kind || null);
    [name, value, below].forEach((text, j) => say(boxes[i].children[j], text));
  });
}

/** The share of answers that are surer than nine in ten, for those who do not see bars. */
function upper(counts) {
  const all = counts.reduce((a, b) => a + b, 0);
  const sure = counts.slice(-counts.length / 10).reduce((a, b) => a + b, 0);
  return `${percent(all ? sure / all : null, 0)} are held at least 90% likely`;
}

function inWords({ labelled, held, right }) {
  const told = labelled.map((n, i) => [n, held[i], right[i]]).filter(([n]) => n > 0).slice(-4);
  return told.map(([n, likely, often]) => `${count(n)} answers held ${percent(likely, 0)} likely were right in ${percent(often, 0)}`).join("; ") || "no label yet";
}
