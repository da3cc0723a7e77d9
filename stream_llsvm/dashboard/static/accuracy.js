// How good the answers are, over time and now.

import { LineChart, Legend, closeUp, fromNothing } from "page/charts.js";
import { byId, empty, mark, say, table } from "page/dom.js";
import { count, percent, score, short } from "page/numbers.js";
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

const WORDS = {
  classification: {
    head: "Accuracy",
    told: "How often the answer was right. Every record is predicted first and learned afterwards.",
    none: "No label has come yet: accuracy appears with the first.",
    label: "Accuracy over time. The table below has the numbers.",
    outside: "\u2193: below what the chart shows.",
  },
  regression: {
    head: "Error",
    told: "How far the answer was from the label, in the label's unit, as a mean over records. Every record is predicted first and learned afterwards.",
    none: "No label has come yet: the error appears with the first.",
    label: "Mean absolute error over time. The table below has the numbers.",
    outside: "\u2191: above what the chart shows.",
  },
};

/** The lines of the chart: the main score in each view, and what else the list of scores says. */
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

/** Draw the chart of accuracy, or of the error, and the table of scores. */
export function accuracyPanel(page) {
  const panel = byId("accuracy");
  let [chart, legend, lines, drawn] = [null, null, [], ""];
  const draw = (list, task) => {
    const key = list.map(({ name, chart: shown }) => `${name} ${shown}`).join();
    if (key === drawn) return;
    chart?.remove();
    [lines, drawn] = [linesOf(list), key];
    const units = list.find(({ chart: shown }) => shown === "view").in_units;
    chart = new LineChart(panel.querySelector(".chart"), {
      series: lines,
      form: units ? short : (value) => percent(value, Math.abs(value * 100 - Math.round(value * 100)) < 1e-6 ? 0 : 1),
      height: 300,
      label: WORDS[task].label,
    });
    legend = new Legend(panel.querySelector(".legend"), chart, units ? short : (value) => percent(value));
  };
  return () => {
    const scores = page.frame?.scores ?? {};
    const task = page.frame?.task ?? "classification";
    say(byId("h-accuracy"), WORDS[task].head);
    say(panel.querySelector("header p"), WORDS[task].told);
    say(panel.querySelector(".none"), WORDS[task].none);
    const none = !Object.keys(scores).length && page.frame?.estimated?.windowed === undefined;
    empty(panel, none);
    if (none) return;
    draw(page.frame.score_list, task);
    const view = page.view();
    const values = lines.map(({ key }) => page.points.values(key, view.places));
    const marks = page.events.all
      .filter(({ kind }) => ["drift", "better", "checkpoint", "continued", "promoted", "rolled back"].includes(kind))
      .map((event) => ({ kind: event.kind, at: view.axis === "time" ? event.time : event.record }));
    // Baselines stand far off: the axis shows what the model does, and they where there is room.
    const shown = lines.map((line, i) => [line, values[i]]).filter(([line]) => !line.hidden);
    const leading = shown.filter(([line]) => !line.beside);
    const close = (leading.length ? leading : shown).map(([, line]) => line);
    chart.limits = task === "regression"
      ? fromNothing(close, shown.filter(([line]) => line.beside).map(([, line]) => line))
      : closeUp(close, chart.limits ?? [0, 1]);
    mark(panel.querySelector(".chart"), "data-axis", chart.limits.join(" "));
    chart.draw(view, values, marks);
    legend.draw(values);
    say(byId("marks-key"), `${view.axis === "time" ? "Time of day" : "Records"} from left to right. `
      + "Dashed verticals: drift alarms (errors rose), and better: they are half of that again; promotions, restarts. Triangles: checkpoints. " + WORDS[task].outside);
    const columns = page.frame.score_list.filter(({ chart: shown }) => shown !== "baseline");
    table(byId("scores"), "Scores", ["", ...columns.map(({ title, help }) => ({ text: title, title: help }))],
      VIEWS.map((name) => [
        { text: name === "windowed" ? `${name}, last ${count(page.frame.window)}` : name, head: true },
        ...columns.map((one) => ({ text: score(one, scores[name]?.[one.name] ?? null) })),
      ]));
  };
}
