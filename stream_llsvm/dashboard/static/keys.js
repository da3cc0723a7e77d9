// A model for each key: how many keys, how their answers do by age, and which are worst now.

import { byId, el, fill, say, shown, table } from "page/dom.js";
import { compact, count, percent } from "page/numbers.js";

/** Draw what is known of keys. */
export function keysPanel(page) {
  return () => {
    const told = page.frame?.keys;
    shown(byId("keys"), Boolean(told)); // one model for all has none
    if (!told) return;
    const facts = [
      ["Keys", count(told.known), "each with a correction of its own"],
      ["New", count(told.known + told.forgotten), "that came, those that came again included"],
      ["Forgotten", count(told.forgotten), "used longest ago when there was no room"],
      ["Memory", `${compact(told.bytes)}B`, "beside the keys themselves"],
    ];
    const boxes = fill(byId("key-facts"), facts.length, () =>
      el("div", {}, el("dt"), el("dd", { class: "big" }), el("dd", { class: "small" })));
    facts.forEach((texts, i) => texts.forEach((text, j) => say(boxes[i].children[j], text)));
    const ages = told.ages.map((age, i) => [age, i]).filter(([age]) => age.share > 0);
    table(byId("key-ages"), "Answers by age of the key", ["Records before",
      { text: "Answers", title: "Share of the answers whose label came" }, "Right",
      { text: "For all", title: "What the model for all alone had right" },
      { text: "Trust", title: "How far corrections of that age are believed" }],
    ages.map(([age, i]) => [{ text: span(told.ages, i), head: true }, percent(age.share),
      percent(age.accuracy), percent(age.alone), age.trust.toFixed(2)]));
    shown(byId("key-worst-none"), told.worst.length === 0);
    shown(byId("key-worst").parentElement, told.worst.length > 0);
    table(byId("key-worst"), "Worst keys", ["Key", "Answers", "Wrong"], told.worst.map((one) => [
      { name: one.key, head: true }, count(one.answers), count(one.wrong)]));
  };
}

/** none, 1, 2 to 3, ..., 1,024 and more */
function span(ages, i) {
  const next = ages[i + 1]?.since;
  if (next === undefined) return `${count(ages[i].since)} and more`;
  if (i === 0) return "none";
  return next - 1 > ages[i].since ? `${count(ages[i].since)} to ${count(next - 1)}` : count(ages[i].since);
}
