// Labels that come after their records: how many are waited for, and how late they were.

import { byId, el, fill, say, shown, table } from "page/dom.js";
import { count, span } from "page/numbers.js";

const FACTS = [
  ["waiting", "Waiting", "records without their label"],
  ["matched", "Matched", "learned when it came"],
  ["expired", "Expired", "given up: it took too long"],
  ["orphaned", "Orphaned", "labels of no known record"],
  ["duplicated", "Duplicated", "labels that came again"],
];

/** Draw what is known of late labels. */
export function labelsPanel(page) {
  const panel = byId("labels");
  return () => {
    const told = page.frame?.labels;
    shown(panel, Boolean(told)); // where labels come with their records none is waited for
    if (!told) return;
    const facts = FACTS.filter(([key]) => told[key] !== undefined && told[key] !== null);
    const boxes = fill(byId("label-facts"), facts.length, () =>
      el("div", {}, el("dt"), el("dd", { class: "big" }), el("dd", { class: "small" })));
    facts.forEach(([key, name, below], i) => {
      [name, count(told[key]), below].forEach((text, j) => say(boxes[i].children[j], text));
    });
    const counts = told.delays?.counts ?? [];
    const upto = told.delays?.upto ?? [];
    const most = Math.max(1, ...counts);
    shown(byId("delays").parentElement, counts.length > 0);
    table(byId("delays"), "Delays of labels", ["Delay", "", "Labels"], counts.map((n, i) => [
      { text: bound(upto, i), head: true }, { bar: n / most, class: "wide" }, count(n)]));
  };
}

function bound(upto, i) {
  const told = (value) => (value < 1 ? `${Math.round(value * 1000)} ms` : span(value));
  if (upto[i] === null || upto[i] === undefined) return i ? `over ${told(upto[i - 1])}` : "any";
  return `up to ${told(upto[i])}`;
}
