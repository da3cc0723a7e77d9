// Ask the model about a record of one's own.

import { byId, el, empty, fill, mark, say, shown } from "page/dom.js";
import { brief } from "page/numbers.js";
import { tellWhy } from "page/explanation.js";

const MOST = 24;
const ORDER = new Intl.Collator("en", { numeric: true });

// Of a time only the weekday and the time of day count: records have it in the first week there was.
const DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const DATELESS = /^0001-01-0([1-7])T/;
const ON_A_DAY = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)\w* +(\d\d?:\d\d(?::\d\d)?)$/i;

/** A value as it stands in a field: of words all, of a time its weekday. */
const written = (value) => (Array.isArray(value) ? value.join(", ") : String(value ?? "").replace(DATELESS, (_, day) => `${DAYS[day - 1]} `));

/** A time as it is asked about: one on a weekday as records have it, any other as it was written. */
function timed(told) {
  const [, day, clock] = told.match(ON_A_DAY) ?? [];
  if (!day) return told;
  const at = DAYS.findIndex((name) => name.toLowerCase() === day.toLowerCase());
  return `0001-01-0${at + 1}T${clock.padStart(clock.length + (clock.indexOf(":") === 1), "0")}`;
}

/** What is meant by a text in a field whose value was another one. */
function meant(told, before) {
  if (Array.isArray(before)) return told.split(",").map((word) => word.trim()).filter(Boolean);
  if (DATELESS.test(before)) return timed(told);
  return typeof before === "string" ? told : Number(told);
}

/** Make the form; the function returned draws it, and returns the answer that is shown. */
export function askPanel(page) {
  const panel = byId("ask");
  let record = null; // [[feature, value], ...] with which the form was filled: all there are
  let tried = null; // the number of the record that was asked for last
  let answer = null;

  const latest = () => page.model?.whys?.[0]?.record ?? null;
  const write = (values) => {
    // By name, so that a field stays in its place; of many features, those that added most.
    const first = values.slice(0, MOST).sort(([a], [b]) => ORDER.compare(a, b));
    record = [...first, ...values.slice(MOST)];
    const some = record.slice(0, MOST);
    const fields = fill(byId("ask-fields"), some.length, () =>
      el("label", {}, el("span"), el("input", { step: "any" })));
    some.forEach(([name, value], i) => {
      const [label, input] = fields[i].children;
      mark(say(label, brief(name)), "title", name);
      mark(input, "type", typeof value === "number" || value === null ? "number" : "text");
      input.value = written(value);
    });
    const more = values.length - some.length;
    shown(byId("ask-rest"), more > 0);
    say(byId("ask-rest"), `The other ${more} features stay as they were in that record.`);
  };
  const complain = (text) => {
    shown(byId("ask-trouble"), Boolean(text));
    say(byId("ask-trouble"), text);
  };

  // A frame has only what added most; the server keeps the records that are shown, whole and exact.
  const take = async () => {
    tried = latest();
    try {
      const reply = await fetch(`api/records/${tried}`, { signal: AbortSignal.timeout(10_000) });
      const told = await reply.json();
      if (!reply.ok) throw new Error(told.error ?? `the server says ${reply.status}`);
      write(told.values);
      complain("");
    } catch (error) {
      complain(`No record: ${error.message}`);
    }
    page.redraw();
  };

  byId("ask-fill").addEventListener("click", () => {
    if (latest() !== null) take();
  });
  byId("ask-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const given = new Map(record ?? []);
    [...byId("ask-fields").children].forEach((field, i) => {
      const told = field.children[1].value.trim();
      const name = record[i][0];
      if (told === "") given.delete(name);
      else if (told !== written(given.get(name))) given.set(name, meant(told, given.get(name)));
    });
    complain("");
    try {
      const reply = await fetch("api/explain", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ record: Object.fromEntries(given) }),
        signal: AbortSignal.timeout(10_000),
      });
      const told = await reply.json();
      if (!reply.ok) throw new Error(told.error ?? `the server says ${reply.status}`);
      answer = told;
    } catch (error) {
      answer = null;
      complain(`No answer: ${error.message}`);
    }
    page.redraw();
  });

  return () => {
    shown(panel, !page.recorded);
    if (record === null && !page.recorded && latest() !== tried) take();
    empty(panel, record === null && latest() === null);
    byId("ask-send").disabled = record === null;
    shown(byId("ask-none"), answer === null);
    tellWhy(byId("ask-told"), answer);
    return answer;
  };
}
