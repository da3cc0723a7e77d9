// A report's other learners, if there were any.

import { byId, shown, table } from "page/dom.js";
import { score, short } from "page/numbers.js";

/** Draw the table of all learners. */
export function comparedPanel(page) {
  return () => {
    const all = page.recorded?.compared ?? [];
    shown(byId("compared"), all.length > 1);
    if (all.length < 2) return;
    const scores = page.frame.score_list.filter(({ main }) => main);
    table(byId("compared-table"), "Learners compared",
      ["Learner", ...scores.map(({ title, help }) => ({ text: title, title: help })), "\u00b5s per record"],
      all.map((row) => [
        { text: row.model, head: true }, ...scores.map((one) => score(one, row[one.name], 2)),
        short(row.us_per_record)]));
  };
}
