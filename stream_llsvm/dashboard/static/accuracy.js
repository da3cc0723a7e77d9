// How good the answers are, over time and now.

import { LineChart, Legend, closeUp } from "page/charts.js";
import { byId, empty, mark, say, table } from "page/dom.js";
import { count, fixed, percent } from "page/numbers.js";
import { colour } from "page/palette.js";

const LINES = [
  { key: "windowed", name: "windowed", told: "Over the records of the window", colour: () => colour("--accent"), width: 2.25 },
  { key: "fading", name: "fading", told: "Over all records, the latest counting most", colour: () => colour("--second"), width: 1.5 },
  { key: "cumulative", name: "cumulative", told: "Over all records alike", colour: () => colour("--ink"), width: 1.5, dash: [10, 3] },
  { key: "majority", name: "majority", told: "What always naming the most frequent class would score", colour: () => colour("--muted"), width: 1.25, dash: [5, 4], beside: true },
  { key: "no_change", name: "no change", told: "What naming the previous label again would score", colour: () => colour("--faint"), width: 1.25, dash: [2, 3], beside: true },
  { key: "kappa", name: "kappa", told: "Agreement beyond chance: 1 is perfect, 0 is chance", colour: () => colour("--third"), width: 1.25, beside: true, hidden: true },
];
const VIEWS = [["windowed", "Windowed"], ["fading", "Fading"], ["cumulative", "Cumulative"]];
const SCORES = [
  ["accuracy", "Accuracy", percent, "Share of right answers"],
  ["macro_f1", "Macro F1", fixed, "Mean of the classes' F1: small classes count as much as large ones"],
  ["kappa", "Kappa", fixed, "Agreement beyond chance"],
  ["kappa_m", "Kappa M", fixed, "Gain over always naming the majority"],
  ["kappa_t", "Kappa T", fixed, "Gain over naming the previous label again"],
  ["log_loss", "Log loss", fixed, "How surprised the probabilities were: less is better"],
];

/** Draw the chart of accuracy and the table of scores. */
export function accuracyPanel(page) {
  const panel = byId("accuracy");
  const chart = new LineChart(panel.querySelector(".chart"), {
    series: LINES,
    form: (value) => percent(value, Math.abs(value * 100 - Math.round(value * 100)) < 1e-6 ? 0 : 1),
    height: 300,
    label: "Accuracy over time. The table below has the numbers.",
  });
  const legend = new Legend(panel.querySelector(".legend"), chart, (value) => percent(value));
  return () => {
    const scores = page.frame?.scores ?? {};
    const none = !Object.keys(scores).length;
    empty(panel, none);
    if (none) return;
    const view = page.view();
    const values = LINES.map(({ key }) => page.points.values(page.points.columns.get(key), view.places));
    const marks = page.events.all
      .filter(({ kind }) => ["drift", "better", "checkpoint", "continued"].includes(kind))
      .map((event) => ({ kind: event.kind, at: view.axis === "time" ? event.time : event.record }));
    // Baselines stand far below: the axis shows what accuracy does, and they where there is room.
    const shown = LINES.map((line, i) => [line, values[i]]).filter(([line]) => !line.hidden);
    const leading = shown.filter(([line]) => !line.beside);
    chart.limits = closeUp((leading.length ? leading : shown).map(([, line]) => line), chart.limits ?? [0, 1]);
    mark(panel.querySelector(".chart"), "data-axis", chart.limits.join(" "));
    chart.draw(view, values, marks);
    legend.draw(values);
    say(byId("marks-key"), `${view.axis === "time" ? "Time of day" : "Records"} from left to right. `
      + "Dashed verticals: drift alarms (errors rose), and better: they are half of that again. Triangles: checkpoints. \u2193: below what the chart shows.");
    table(byId("scores"), "Scores", ["", ...SCORES.map(([, name, , told]) => ({ text: name, title: told }))],
      VIEWS.map(([key, name]) => [
        { text: key === "windowed" ? `${name}, last ${count(page.frame.window)}` : name, head: true },
        ...SCORES.map(([score, , form]) => ({ text: form(scores[key]?.[score] ?? null) })),
      ]));
  };
}
