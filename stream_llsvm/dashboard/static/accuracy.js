// How good the answers are, over time and now.

import { LineChart, Legend, closeUp } from "page/charts.js";
import { byId, empty, mark, say, table } from "page/dom.js";
import { count, percent, score } from "page/numbers.js";
import { classColour, colour } from "page/palette.js";

const VIEWS = ["windowed", "fading", "cumulative"];
const OVER = {
  windowed: "Over the records of the window", fading: "Over all records, the latest counting most",
  cumulative: "Over all records alike",
};
const STYLES = [
  { colour: () => colour("--accent"), width: 2.25 },
  { colour: () => colour("--second"), width: 1.5 },
  { colour: () => colour("--ink"), width: 1.5, dash: [10, 3] },
];
const BASELINES = [
  { colour: () => colour("--muted"), width: 1.25, dash: [5, 4] },
  { colour: () => colour("--faint"), width: 1.25, dash: [2, 3] },
];

/** The lines of the chart: the accuracy in each view, and what else the list of scores says. */
function linesOf(scores) {
  let [baselines, others] = [0, 0];
  return scores.filter(({ chart }) => chart).flatMap(({ name, title, help, chart }) => {
    if (chart === "view") return VIEWS.map((view, i) => ({ key: view, name: view, told: OVER[view], ...STYLES[i] }));
    const line = { key: name, name: name.replaceAll("_", " "), told: `${title}: ${help}`, beside: chart !== "line", hidden: chart === "hidden" };
    if (chart === "baseline") return [{ ...line, ...BASELINES[baselines++ % BASELINES.length] }];
    const at = others++;
    return [{ ...line, width: 1.25, colour: () => (at ? classColour(at + 2) : colour("--third")) }];
  });
}

/** Draw the chart of accuracy and the table of scores. */
export function accuracyPanel(page) {
  const panel = byId("accuracy");
  let [chart, legend, lines, drawn] = [null, null, [], ""];
  const draw = (list) => {
    const key = list.map(({ name, chart: shown }) => `${name} ${shown}`).join();
    if (key === drawn) return;
    chart?.remove();
    [lines, drawn] = [linesOf(list), key];
    chart = new LineChart(panel.querySelector(".chart"), {
      series: lines,
      form: (value) => percent(value, Math.abs(value * 100 - Math.round(value * 100)) < 1e-6 ? 0 : 1),
      height: 300,
      label: "Accuracy over time. The table below has the numbers.",
    });
    legend = new Legend(panel.querySelector(".legend"), chart, (value) => percent(value));
  };
  return () => {
    const scores = page.frame?.scores ?? {};
    const none = !Object.keys(scores).length;
    empty(panel, none);
    if (none) return;
    draw(page.frame.score_list);
    const view = page.view();
    const values = lines.map(({ key }) => page.points.values(key, view.places));
    const marks = page.events.all
      .filter(({ kind }) => ["drift", "better", "checkpoint", "continued"].includes(kind))
      .map((event) => ({ kind: event.kind, at: view.axis === "time" ? event.time : event.record }));
    // Baselines stand far below: the axis shows what accuracy does, and they where there is room.
    const shown = lines.map((line, i) => [line, values[i]]).filter(([line]) => !line.hidden);
    const leading = shown.filter(([line]) => !line.beside);
    chart.limits = closeUp((leading.length ? leading : shown).map(([, line]) => line), chart.limits ?? [0, 1]);
    mark(panel.querySelector(".chart"), "data-axis", chart.limits.join(" "));
    chart.draw(view, values, marks);
    legend.draw(values);
    say(byId("marks-key"), `${view.axis === "time" ? "Time of day" : "Records"} from left to right. `
      + "Dashed verticals: drift alarms (errors rose), and better: they are half of that again. Triangles: checkpoints. \u2193: below what the chart shows.");
    const columns = page.frame.score_list.filter(({ chart: shown }) => shown !== "baseline");
    table(byId("scores"), "Scores", ["", ...columns.map(({ title, help }) => ({ text: title, title: help }))],
      VIEWS.map((name) => [
        { text: name === "windowed" ? `${name}, last ${count(page.frame.window)}` : name, head: true },
        ...columns.map((one) => ({ text: score(one, scores[name]?.[one.name] ?? null) })),
      ]));
  };
}
