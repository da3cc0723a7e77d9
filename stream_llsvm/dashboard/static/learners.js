// Many learners of one stream: how their rounds go, where the time goes, and what several cost.

import { byId, factBoxes, shown, table } from "page/dom.js";
import { count, percent, seconds } from "page/numbers.js";

/** Draw the rounds; a run of one learner has none. */
export function learnersPanel(page) {
  return () => {
    const told = page.frame?.rounds;
    shown(byId("learners"), Boolean(told));
    if (!told) return;
    const fell = Object.entries(told.fallbacks);
    const numbers = page.frame.task === "regression";
    const facts = [
      ["Learners", count(told.learners), `in the last round, of at most ${count(told.most)}`],
      ["Rounds", count(told.rounds), `${count(told.repeated)} in which something died`, told.repeated ? "warn" : ""],
      ["Restarted", count(told.restarts), "learners that were replaced", told.restarts ? "warn" : ""],
      ["Backlog", count(told.backlog), "records before the last round, about"],
      told.shards.length ? shards(told.shards)
        : ["Price", price(told.price, numbers), told.audited ? `one learner would be better by that, in ${count(told.audited)} rounds` : "no round was learned twice yet"],
      ["Fell back", count(fell.reduce((sum, [, n]) => sum + n, 0)), fell.length ? fell.map(([name, n]) => `${name} ${count(n)}`).join(", ") : "every merge had a mean"],
    ];
    factBoxes(byId("learner-facts"), facts);
    const whole = told.seconds.reduce((sum, [, took]) => sum + (took ?? 0), 0);
    table(byId("round-parts"), "Parts of the last round", ["Part", "Took", "Share"],
      told.seconds.map(([part, took]) => [{ text: part, head: true }, seconds(took), whole ? percent((took ?? 0) / whole) : ""]));
  };
}

/** How many keys learners have, of a model for each key. */
function shards(sizes) {
  const keys = sizes.map((one) => one.keys);
  const [least, most] = [Math.min(...keys), Math.max(...keys)];
  const each = least === most ? `each learner has ${count(most)}` : `a learner has ${count(least)} to ${count(most)}`;
  return ["Keys", count(keys.reduce((sum, n) => sum + n, 0)), each];
}

/** Points of a share, or an error as it is. */
function price(value, numbers) {
  if (value === null || value === undefined) return "\u2013";
  return numbers ? value.toPrecision(3) : `${(100 * value).toFixed(2)} points`;
}
