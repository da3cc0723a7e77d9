// What the fields of the records do: which are others than they were, missing, new or out of range.

import { LineChart } from "page/charts.js";
import { byId, empty, say, table } from "page/dom.js";
import { count, fixed, percent, short } from "page/numbers.js";
import { colour } from "page/palette.js";

const SHOWN = 30;
const WORTH = 0.005; // of the records: a smaller share is not worth a figure

/** Draw the chart of the field that has moved most, and the table of fields. */
export function inputPanel(page) {
  const panel = byId("input");
  const chart = new LineChart(byId("input-chart"), {
    series: [
      { name: "most drift", colour: () => colour("--accent"), width: 2 },
      { name: "alarm from here on", colour: () => colour("--bad"), dash: [4, 3], width: 1.25 },
    ],
    form: (value) => fixed(value, 2),
    height: 150,
    label: "Drift of the field that moved most over time, in bits.",
  });
  return () => {
    const told = page.frame?.input;
    empty(panel, !told);
    if (!told) return;
    const view = page.view();
    const most = page.points.values("most_drift", view.places);
    chart.draw(view, [most, most.map((value) => (value === null ? null : 0.05))]);
    say(byId("input-now"), told.moved ? `${count(told.moved)} of ${count(told.known)} moved` : `none of ${count(told.known)} moved`);
    say(byId("input-against"), `Of late is the last 1,000 records or so. They are held against ${told.against}.${told.duplicates === null ? "" : ` ${percent(told.duplicates)} of the records had a key that came before.`}`);
    table(byId("input-table"), "Fields of the input", ["Field", "Kind",
      { text: "Drift", title: "Jensen-Shannon divergence from before, in bits: 0 is the same, 1 is nothing in common" },
      { text: "Missing", title: "Share of the last records without a value; before in brackets" },
      { text: "Mean", title: "Of its numbers; before in brackets" },
      { text: "Spread", title: "One standard deviation; before in brackets" },
      { text: "Out of range", title: "Share of its numbers beyond all seen before" },
      { text: "New names", title: "Share of its names that had never come" },
      { text: "Names", title: "About how many different ones" }],
    told.fields.slice(0, SHOWN).map((one) => [
      { name: one.name, head: true, after: one.moved >= 0 ? " (moved)" : "", class: one.moved >= 0 ? "moved" : null },
      one.kind === one.was ? one.kind : `${one.kind} (${one.was})`,
      fixed(one.drift, 3), both(one.missing, one.missing_before, percent), both(one.mean, one.mean_before, short),
      both(one.spread, one.spread_before, short), share(one.outside), share(one.fresh), one.distinct ? `~${count(one.distinct)}` : ""]));
    const more = told.known - Math.min(SHOWN, told.fields.length);
    say(byId("input-rest"), more > 0 ? `and ${count(more)} more fields that matter less` : "");
  };
}

const both = (now, before, form) => (now === null ? "" : `${form(now)} (${form(before)})`);
const share = (value) => (value > WORTH ? percent(value) : "");
