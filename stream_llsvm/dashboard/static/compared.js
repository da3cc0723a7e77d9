// A report's other learners, if there were any.

import { byId, shown, table } from "page/dom.js";
import { fixed, percent, short } from "page/numbers.js";

/** Draw the table of all learners. */
export function comparedPanel(page) {
  return () => {
    const all = page.recorded?.compared ?? [];
    shown(byId("compared"), all.length > 1);
    if (all.length < 2) return;
    table(byId("compared-table"), "Learners compared",
      ["Learner", "Accuracy", "Kappa", "Macro F1", "Log loss", "\u00b5s per record"],
      all.map((row) => [
        { text: row.model, head: true }, percent(row.accuracy, 2), fixed(row.kappa),
        fixed(row.macro_f1), fixed(row.log_loss), short(row.us_per_record)]));
  };
}
