// How good the answers are for the values of fields, such as for each country.

import { byId, el, fill, mark, named, shown, table } from "page/dom.js";
import { count, percent, score } from "page/numbers.js";

const FEW = 100; // records of a value before it is judged

/** Draw a table for each field; nothing where nobody asks for slices. */
export function slicesPanel(page) {
  return () => {
    const { cohorts: fields = [], score_list: list = [] } = page.frame ?? {};
    shown(byId("slices"), fields.length > 0);
    const lead = list.find(({ chart }) => chart === "view");
    const boxes = fill(byId("slice-tables"), lead ? fields.length : 0, () =>
      el("div", {}, el("h3"), el("div", { class: "scroll", tabindex: "0", role: "region" }, el("table", { class: "numbers" }))));
    fields.slice(0, boxes.length).forEach(({ field, cohorts }, i) => {
      const [title, scroll] = boxes[i].children;
      named(title, field);
      mark(scroll, "aria-label", `Table of the values of ${field}`);
      draw(scroll.firstElementChild, lead, field, cohorts);
    });
  };
}

function draw(node, lead, field, cohorts) {
  const all = cohorts.reduce((sum, { records }) => sum + records, 0);
  const told = (error) => score(lead, error === null || lead.less ? error : 1 - error);
  const worse = ({ recent, majority, records }) => records >= FEW && majority !== null && recent !== null && 1 - recent < majority;
  const heads = ["Value", "Records", { text: "Share", title: "Of all records that were scored" },
    { text: lead.less ? `${lead.title} of late` : "Right of late", title: "Of its last 1,000 labelled records or so; red below the majority" }, "Over all"];
  if (!lead.less) heads.push({ text: "Majority", title: "How often its most frequent label comes" });
  table(node, `Scores by ${field}`, heads, cohorts.map((one) => [
    { name: one.name, head: true }, count(one.records), percent(all ? one.records / all : null),
    { text: told(one.recent), class: worse(one) ? "moved" : null }, told(one.error),
    ...(lead.less ? [] : [percent(one.majority)])]));
}
