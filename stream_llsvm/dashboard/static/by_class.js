// The scores of each class, now and over time.

import { LineChart, Legend } from "page/charts.js";
import { byId, empty, segments, table } from "page/dom.js";
import { compact, count, percent } from "page/numbers.js";
import { classColour } from "page/palette.js";

const SHOWN = 6; // lines at first: more of them cannot be told apart
const NAMES = { f1: "F1", precision: "Precision", recall: "Recall", support: "Labels" };

/** Draw the chart and the table of classes. */
export function byClassPanel(page) {
  const panel = byId("by-class");
  let score = "f1";
  let [chart, legend, drawn] = [null, null, ""];
  segments(byId("class-score"), "choice", score, (value) => {
    score = value;
    page.redraw();
  });
  const draw = (classes) => {
    const key = `${score} ${classes.map(({ code, name }) => `${code} ${name}`).join()}`;
    if (key === drawn) return;
    chart?.remove();
    const form = score === "support" ? compact : (value) => percent(value, 0);
    const hidden = new Set([...classes].sort((a, b) => b.support - a.support).slice(SHOWN).map(({ code }) => code));
    const series = classes.map(({ code, name }) => ({ name, colour: () => classColour(code), hidden: hidden.has(code) }));
    chart = new LineChart(byId("class-chart"), { series, form, height: 220, label: `${NAMES[score]} of each class over time.` });
    legend = new Legend(byId("class-legend"), chart, form);
    drawn = key;
  };
  return () => {
    const classes = page.frame?.by_class ?? [];
    const none = !classes.some(({ support }) => support);
    empty(panel, none);
    if (none) return;
    draw(classes);
    const view = page.view();
    const values = classes.map(({ code }) => page.points.values(page.points.parts.get(`${score} ${code}`), view.places));
    chart.limits = score === "support" ? null : [0, 1.002];
    chart.draw(view, values);
    legend.draw(values);
    table(byId("class-table"), "Each class", ["Class", "Precision", "Recall", "F1", "Labels",
      { text: "Of labels", title: "Its share of the last labels" },
      { text: "Of answers", title: "Its share of the last answers, whether their labels have come or not" }],
    classes.map((one) => [{ name: one.name, head: true }, ...["precision", "recall", "f1"].map((name) => percent(one[name])),
      count(one.support), percent(one.labels), percent(one.answers)]));
  };
}
