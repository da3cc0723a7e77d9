// What is decided by, what decisions cost, and whether what was promised is kept.

import { LineChart, Legend } from "page/charts.js";
import { byId, factBoxes, say, shown, table } from "page/dom.js";
import { brief, count, fixed, percent, short } from "page/numbers.js";
import { colour } from "page/palette.js";

const LOST = 0.03; // below what was promised, from where on it is worth a look
const COLOURS = { held: "--accent", coverage: "--second", cost: "--accent" };

/** Draw what is in force, its facts and its lines; nothing where answers stay what they are. */
export function decisionsPanel(page) {
  const panel = byId("decisions");
  let [chart, legend, drawn] = [null, null, ""];
  const make = (keys, promised) => {
    if (String(keys) === drawn) return;
    chart?.remove();
    const series = keys.flatMap((key) => {
      const line = { name: key === "cost" ? "cost per record" : key, colour: () => colour(COLOURS[key]), width: 2 };
      return key in promised ? [line, { ...line, name: `${key}, promised`, dash: [4, 3], width: 1.25 }] : [line];
    });
    const form = keys[0] === "cost" ? short : (value) => percent(value, 0);
    chart = new LineChart(byId("decision-chart"), { series, form, height: 190, label: "What decisions came to over time." });
    legend = new Legend(panel.querySelector(".legend"), chart, form);
    drawn = String(keys);
  };
  return () => {
    const said = page.frame?.decision;
    shown(panel, Boolean(said));
    if (!said) return;
    const { hold, coverage, costs } = said;
    const kind = hold && ("precision" in hold ? "precision" : "recall");
    const promised = { ...(hold && { held: hold[kind] }), ...(coverage !== null && { coverage }) };
    const shares = Object.keys(promised);
    const keys = shares.length || !costs ? shares : ["cost"]; // a cost has another axis than shares
    say(byId("decided-by"), inForce(said, kind));
    shown(byId("decision-chart").parentElement, keys.length > 0);
    if (keys.length) {
      make(keys, promised);
      const view = page.view();
      const values = keys.flatMap((key) => {
        const reached = page.points.values(key, view.places);
        return key in promised ? [reached, reached.map((v) => (v === null ? null : promised[key]))] : [reached];
      });
      chart.draw(view, values);
      legend.draw(values);
    }
    factBoxes(byId("decision-facts"), facts(page.frame, said, kind));
    const truths = Object.keys(costs ?? {});
    const told = [...new Set(truths.flatMap((truth) => Object.keys(costs[truth])))];
    shown(byId("costs").parentElement, truths.length > 0);
    table(byId("costs"), "What a decision costs", [{ text: "Truth", title: "What is not named costs 0 if it is right and 1 if not" }, ...told.map((name) => ({ text: `as ${brief(name)}`, title: name }))],
      truths.map((truth) => [{ name: truth, head: true }, ...told.map((name) => (name in costs[truth] ? short(costs[truth][name]) : ""))]));
  };
}

function facts({ scores = {}, window: size, status }, { costs, hold, coverage, threshold }, kind) {
  const { windowed: now = {}, cumulative: ever = {} } = scores;
  const of = (name, form) => [form(now[name]), `of the last ${count(size)}; ${form(ever[name])} of all`];
  const kept = (name, wanted) => (now[name] < wanted - LOST ? "warn" : "");
  const found = [];
  if (costs) found.push(["Cost per record", ...of("cost", fixed)]);
  if (hold) {
    found.push([`Promised ${kind}`, percent(hold[kind]), `of ${hold.label}`]);
    found.push([`Reached ${kind}`, ...of("held", percent), kept("held", hold[kind])]);
    found.push(["Threshold", percent(threshold), `from this probability on it is ${hold.label}`]);
  }
  if (coverage !== null) {
    found.push(["Promised coverage", percent(coverage), "of the sets hold the truth"]);
    found.push(["Reached coverage", ...of("coverage", percent), kept("coverage", coverage)]);
    found.push(["Labels in a set", ...of("set_size", (value) => fixed(value, 2))]);
    found.push(["Classes", count(status.classes), "a set could have"]);
  }
  return found;
}

/** The decision in force, in words. */
function inForce({ costs, hold, coverage, class_weight: weights }, kind) {
  const told = [];
  if (hold) told.push(`${hold.label} is decided from a probability on that holds a ${kind} of ${percent(hold[kind])}`);
  if (costs) told.push(`${hold ? "else " : ""}the label whose expected cost is least is decided`);
  if (coverage !== null) told.push(`a set of labels holds the truth in ${percent(coverage)} of records`);
  if (weights === "balanced") told.push("all classes count the same together when they are learned");
  else if (weights) told.push(`records count by their class when they are learned: ${Object.entries(weights).map(([name, weight]) => `${name} ${short(weight)}`).join(", ")}`);
  return `In force: ${told.join("; ")}.`;
}
