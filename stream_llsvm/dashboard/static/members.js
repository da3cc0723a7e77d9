// Whom the model believes, which features count, and whether its numbers are sound.

import { Legend, LineChart, ofSigned } from "page/charts.js";
import { byId, el, empty, fill, mark, say, shown, style, table } from "page/dom.js";
import { brief, bytes, count, fixed, percent, short } from "page/numbers.js";
import { classColour } from "page/palette.js";

const LINES = 12;
const MOST = 64;

/** Draw the members' weights, their scores, the relevance of features and the health. */
export function membersPanel(page) {
  const panel = byId("members");
  const choice = byId("members-of");
  let chart = null;
  let legend = null;
  let drawn = "";
  choice.addEventListener("change", () => page.redraw());
  return () => {
    const model = page.model;
    const mixture = (model?.mixture ?? []).slice(0, MOST);
    const none = !model || (!mixture.length && !model.health);
    empty(panel, none);
    if (none) return;
    choices(choice, mixture);
    const of = Number(choice.value || -1); // -1: all members
    const lines = of < 0 ? ofMembers(page, mixture) : ofSteps(page, mixture[of], of);
    const alone = mixture.length < 2;
    shown(byId("members-chart"), lines.length > 1);
    shown(choice, choice.options.length > 1);
    shown(byId("members-alone"), alone);
    shown(byId("steps-legend"), of >= 0 && lines.length > 1);
    say(byId("members-alone"), alone ? "This model has one member: it decides alone." : "");
    if (lines.length > 1) {
      const key = JSON.stringify([of, lines.map(({ name }) => name)]);
      if (drawn !== key) {
        chart?.remove();
        chart = new LineChart(byId("members-chart"), {
          series: lines,
          form: (value) => percent(value, 0),
          bounds: of < 0 ? undefined : ofSigned,
          label: of < 0 ? "Weight of each member over time. The table below has the numbers."
            : `Weight of each step of ${mixture[of].name} over time.`,
        });
        legend = new Legend(byId("steps-legend"), chart, (value) => percent(value));
        drawn = key;
      }
      const view = page.view();
      const values = lines.map(({ column }) =>
        column ? page.points.values(column, view.places) : view.x.map(() => null));
      chart.draw(view, values);
      if (of >= 0) legend.draw(values);
    }
    shown(byId("mixture").parentElement, mixture.length > 0);
    mixtureTable(mixture);
    relevance(model.relevance ?? []);
    health(model.health, page.frame.task);
  };
}

/** What may be drawn: all members, or the steps of one that has several. */
function choices(node, mixture) {
  const some = mixture.map((member, i) => [i, member]).filter(([, { steps }]) => (steps ?? []).length > 1);
  const told = [...(mixture.length > 1 ? [[-1, "Members"]] : []),
    ...some.map(([i, { name }]) => [i, `Steps of ${brief(name, 28)}`])];
  const options = fill(node, told.length, () => el("option"));
  told.forEach(([value, text], at) => mark(say(options[at], text), "value", value));
}

function ofMembers(page, mixture) {
  return mixture.slice(0, LINES).map((member, i) => ({
    name: member.name, colour: () => classColour(i), width: 1.75, column: page.points.members[i] }));
}

/** The raw weights' steps are drawn in full, the averaged ones' dashed. */
function ofSteps(page, member, i) {
  const names = (member?.steps ?? []).slice(0, LINES).map(([name], j) => name || `step ${j + 1}`);
  const raw = names.filter((name) => !name.endsWith(", averaged")).length;
  return names.map((name, j) => ({
    name, colour: () => classColour(j % raw), width: 1.75, dash: j < raw ? undefined : [5, 4],
    column: page.points.parts.get(`step ${i} ${j}`) }));
}

function mixtureTable(mixture) {
  table(byId("mixture"), "Members", ["Member", "Weight", "", { text: "Accuracy", title: "Of the member if it decided alone" }, { text: "Log loss", title: "Of the member alone: less is better" }, { text: "Worth", title: "How much worse the whole would be without it" }],
    mixture.map((member, i) => [
      { name: member.name, head: true, class: `swatch${member.awake === false ? " asleep" : ""}`, "--swatch": classColour(i) },
      percent(member.weight),
      { bar: member.weight ?? 0, colour: classColour(i), class: "wide" },
      member.awake === false ? "asleep" : percent(member.accuracy),
      fixed(member.log_loss),
      fixed(member.worth),
    ]));
}

function relevance(all) {
  shown(byId("relevance-none"), !all.length);
  shown(byId("relevance").parentElement, all.length > 0);
  const most = Math.max(1e-12, ...all.map(([, value]) => Math.abs(value)));
  table(byId("relevance"), "Relevance of features", ["Feature", "", "Relevance"],
    all.slice(0, 30).map(([name, value]) => [
      { name, head: true },
      { bar: value / most, class: "wide" },
      short(value),
    ]));
}

function health(told, task) {
  const facts = told ? [
    ["Weight norm", short(told.weight_norm), "length of all weights together"],
    ...(task === "regression" ? [] : [["Margin violations", percent(told.violations), "of the latest records: the truth was given less than 73%"]]),
    ["Non-finite numbers", count(told.non_finite), "must be 0", told.non_finite > 0],
    ["Anchor moves", count(told.anchor_moves), "steps that anchors have taken"],
    ["Size of the model", bytes(told.state_bytes), "does not grow with the stream"],
  ] : [];
  const boxes = fill(byId("health"), facts.length, () =>
    el("div", {}, el("dt"), el("dd", { class: "big" }), el("dd", { class: "small" })));
  facts.forEach(([name, value, below, bad], i) => {
    const [dt, big, small] = boxes[i].children;
    say(dt, name);
    say(big, value);
    say(small, below);
    mark(boxes[i], "class", bad ? "bad" : null);
    style(boxes[i], "order", String(i));
  });
}
