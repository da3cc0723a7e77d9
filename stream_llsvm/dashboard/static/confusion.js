// Which class is taken for which, and how good the answers are for each.

import { byId, cell, el, empty, fill, mark, segments, shown, table } from "page/dom.js";
import { count, inOrder, percent } from "page/numbers.js";

/** Draw the matrix and the scores of each class. */
export function confusionPanel(page) {
  const panel = byId("confusion");
  const chosen = { span: "window", unit: "count" };
  segments(byId("confusion-span"), "choice", chosen.span, (value) => {
    chosen.span = value;
    page.redraw();
  });
  segments(byId("confusion-unit"), "choice", chosen.unit, (value) => {
    chosen.unit = value;
    page.redraw();
  });
  return () => {
    shown(panel, page.frame?.task !== "regression"); // numbers are not taken for one another
    const told = page.frame?.confusion;
    const none = !told?.classes?.length || !Object.keys(page.frame.scores ?? {}).length;
    empty(panel, none);
    if (none) return;
    const seen = sorted(told, (chosen.span === "all" && told.cumulative) || told.table);
    matrix(byId("matrix"), seen.classes, seen.counts, chosen.unit === "share");
    classes(byId("classes"), seen, page.frame);
  };
}

/** The table in the order of the classes' names; what stands for many others stays last. */
function sorted({ classes: names, since = [], others }, counts) {
  const places = inOrder(names.slice(0, names.length - (others ? 1 : 0)));
  if (others) places.push(names.length - 1);
  return {
    classes: places.map((i) => names[i]),
    since: places.map((i) => since[i]),
    counts: places.map((i) => places.map((j) => counts[i]?.[j] ?? 0)),
  };
}

function matrix(node, names, counts, share) {
  if (!node.tHead) {
    node.append(el("caption", { class: "unseen" }, "Rows are true classes, columns are answers"),
      el("thead", {}, el("tr")), el("tbody"));
  }
  mark(node, "class", names.length > 8 ? "many" : null);
  const heads = fill(node.tHead.rows[0], names.length + 1, () => el("th", { scope: "col" }));
  cell(heads[0], { text: "true \\ answer", class: "corner" });
  names.forEach((name, j) => cell(heads[j + 1], { name }));
  const lines = fill(node.tBodies[0], names.length, () => el("tr"));
  names.forEach((name, i) => {
    const row = counts[i] ?? [];
    const total = row.reduce((sum, n) => sum + n, 0);
    const cells = fill(lines[i], names.length + 1, (j) => (j ? el("td") : el("th", { scope: "row" })));
    cell(cells[0], { name });
    names.forEach((other, j) => {
      const part = total ? (row[j] ?? 0) / total : 0;
      const told = share ? (total ? percent(part, 0) : "\u2013") : count(row[j] ?? 0);
      cell(cells[j + 1], {
        text: row[j] ? told : share && total ? "0%" : "0",
        class: `${i === j ? "right" : "wrong"}${row[j] ? "" : " zero"}`,
        title: `${name} answered as ${other}: ${count(row[j] ?? 0)} of ${count(total)}`,
        "--share": part.toFixed(2),
      });
    });
  });
}

function classes(node, { classes: names, since, counts }, frame) {
  const columns = names.map((_, j) => counts.reduce((sum, row) => sum + (row[j] ?? 0), 0));
  table(node, "Scores of each class", ["Class", "Precision", "Recall", "F1", "Records"],
    names.map((name, i) => {
      const support = (counts[i] ?? []).reduce((sum, n) => sum + n, 0);
      const hits = counts[i]?.[i] ?? 0;
      const fresh = isNew(since[i], frame);
      return [
        { name, after: fresh ? " (new)" : "", head: true, class: fresh ? "new" : null },
        percent(columns[i] ? hits / columns[i] : null, 0),
        percent(support ? hits / support : null, 0),
        percent(support + columns[i] ? (2 * hits) / (support + columns[i]) : null, 0),
        count(support),
      ];
    }));
}

/** Whether a class first came in the window, and not with the stream's beginning. */
function isNew(since, frame) {
  const size = frame.window ?? 1000;
  return since > 100 && frame.status.records - since <= size;
}
