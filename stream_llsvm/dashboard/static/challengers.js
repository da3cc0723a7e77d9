// The models that learn beside the champion: how each does, who is better, and a button to promote.

import { byId, el, fill, mark, say, shown, table } from "page/dom.js";
import { count, score, seconds } from "page/numbers.js";

const heads = (cost) => ["Model", "Windowed", "Over all", { text: cost ? "Costs more by" : "Errs more by", title: `Its ${cost ? "cost" : "error"} minus the champion's, on the mean of the records that both answered` },
  { text: "95% interval", title: "Holds the mean difference at every moment at once: look as often as you like" },
  "Verdict", { text: "Learns in", title: "What a record costs it" }, "Refused", ""];
const VERDICTS = { better: "better than the champion", worse: "worse than the champion", undecided: "undecided" };

/** Draw the challengers; the champion stands above them. */
export function challengersPanel(page) {
  const node = byId("rivals");
  let busy = null;

  const complain = (text) => {
    shown(byId("rivals-told"), Boolean(text));
    say(byId("rivals-told"), text);
  };
  const promote = async (name) => {
    busy = name;
    page.redraw();
    try {
      const reply = await fetch("api/promote", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ name }),
        signal: AbortSignal.timeout(70_000),
      });
      const told = await reply.json();
      if (!reply.ok) throw new Error(told.error ?? `the server says ${reply.status}`);
      complain(`${told.text}.`);
    } catch (error) {
      complain(`Not promoted: ${error.message}`);
    }
    busy = null;
    page.redraw();
  };
  node.addEventListener("click", ({ target }) => {
    const name = target.closest("button")?.dataset.name;
    if (name !== undefined && busy === null) promote(name);
  });

  return () => {
    const told = page.frame?.challengers;
    shown(byId("challengers"), Boolean(told));
    shown(byId("h-theme-model"), Boolean(told || page.frame?.decision));
    if (!told) return;
    const lead = page.frame.score_list.find(({ chart }) => chart === "view");
    const of = (scores, view) => score(lead, scores?.[view]?.[lead.name]);
    const point = (value) => (value === null ? "–" : `${value > 0 ? "+" : ""}${value.toFixed(4)}`);
    const own = [{ name: told.champion, head: true, after: ", the champion" },
      of(page.frame.scores, "windowed"), of(page.frame.scores, "cumulative"), "", "", "", "", "", ""];
    table(node, "Champion and challengers", heads(told.rivals.some(({ by_cost: cost }) => cost)), [own, ...told.rivals.map((one) => [
      { name: one.name, head: true, after: `, ${one.model}` },
      of(one.scores, "windowed"), of(one.scores, "cumulative"), point(one.difference),
      one.compared ? `${point(one.low)} to ${point(one.high)}` : "–",
      { text: VERDICTS[one.verdict], class: one.verdict, title: `over ${count(one.compared)} records` },
      seconds(one.microseconds / 1e6), count(one.refused), { class: "act" },
    ])]);
    const over = page.recorded || ["stopped", "failed"].includes(page.frame.status.state);
    [...node.tBodies[0].rows].slice(1).forEach((row, i) => {
      const [button] = fill(row.lastElementChild, over ? 0 : 1, () => el("button", { type: "button", class: "plain" }, "Promote"));
      if (!button) return;
      mark(button, "data-name", told.rivals[i].name);
      mark(button, "aria-label", `Promote ${told.rivals[i].name}`);
      button.disabled = busy !== null;
    });
    const gone = Object.entries(told.dropped).map(([name, why]) => `${name} was dropped: ${why}.`);
    shown(byId("rivals-gone"), gone.length > 0);
    say(byId("rivals-gone"), gone.join(" "));
  };
}
