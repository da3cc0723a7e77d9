// How good the answers are, over time and now.

import { LineChart, Legend, ofShares } from "page/charts.js";
import { byId, empty, say, table } from "page/dom.js";
import { count, fixed, percent } from "page/numbers.js";
import { colour } from "page/palette.js";

const LINES = [
  { key: "windowed", name: "latest", told: "The records of the window", colour: () => colour("--accent"), width: 2.25 },
  { key: "fading", name: "fading", told: "All records, the latest counting most", colour: () => colour("--second"), width: 1.5 },
  { key: "cumulative", name: "all", told: "All records alike", colour: () => colour("--ink"), width: 1.5 },
  { key: "majority", name: "majority", told: "What always naming the most frequent class would score", colour: () => colour("--muted"), width: 1.25, dash: [5, 4] },
  { key: "no_change", name: "no change", told: "What naming the previous label again would score", colour: () => colour("--faint"), width: 1.25, dash: [2, 3] },
  { key: "kappa", name: "kappa", told: "Agreement beyond chance: 1 is perfect, 0 is chance", colour: () => colour("--third"), width: 1.25, hidden: true },
];
const VIEWS = [["windowed", "Latest"], ["fading", "Fading"], ["cumulative", "All"]];
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
    form: (value) => percent(value, 0),
    bounds: ofShares,
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
    chart.draw(view, values, marks);
    legend.draw(values);
    say(byId("marks-key"), `${view.axis === "time" ? "Time of day" : "Records"} from left to right. `
      + "Dashed verticals: drift alarms (errors rose) and recoveries (better). Triangles: checkpoints.");
    table(byId("scores"), "Scores", ["", ...SCORES.map(([, name, , told]) => ({ text: name, title: told }))],
      VIEWS.map(([key, name]) => [
        { text: key === "windowed" ? `Latest ${count(page.frame.window)}` : name, head: true },
        ...SCORES.map(([score, , form]) => ({ text: form(scores[key]?.[score] ?? null) })),
      ]));
  };
}
