// What the fields of the records were taken for, how many names they had, and how often they lack.

import { byId, say, shown, table } from "page/dom.js";
import { brief, count, percent } from "page/numbers.js";

const WORDS = { number: "number", name: "name", time: "time", text: "words", missing: "nothing yet" };
const CLEAR = 0.01; // of the values, from where on another kind is worth a word

/** Draw the table of fields. */
export function fieldsPanel(page) {
  return () => {
    const told = page.frame?.fields;
    const all = told?.fields ?? [];
    shown(byId("fields"), all.length > 0);
    if (!all.length) return;
    table(byId("kinds"), "Fields", ["Field", "Taken for",
      { text: "Names", title: "How many different names it had; with ~, about" },
      { text: "Missing", title: "In how many of the records it had no value" }],
    all.map((field) => [
      { name: field.name, head: true },
      { text: kind(field), title: field.example ? `for example ${field.example}` : null },
      field.distinct === null ? "" : (field.about ? "~" : "") + count(field.distinct),
      percent(field.missing)]));
    const more = told.known - all.length;
    shown(byId("fields-rest"), more > 0);
    say(byId("fields-rest"), `and ${count(more)} more`);
  };
}

/** name, such as DE; with what else it was now and then. */
function kind({ kind: usual, share, example }) {
  const values = Object.entries(share).filter(([name]) => name !== "missing");
  const whole = values.reduce((sum, [, part]) => sum + part, 0);
  const others = values.filter(([name, part]) => name !== usual && part > CLEAR * whole);
  const rest = others.map(([name, part]) => `, ${percent(part / whole, 0)} ${WORDS[name]}`).join("");
  return `${WORDS[usual]}${usual === "name" && example ? `, such as ${brief(example, 20)}` : ""}${rest}`;
}
