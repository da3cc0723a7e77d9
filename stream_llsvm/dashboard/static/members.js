// Whom the model believes, which features count, and whether its numbers are sound.

import { LineChart } from "page/charts.js";
import { byId, el, empty, fill, mark, say, shown, style, table } from "page/dom.js";
import { brief, bytes, count, fixed, percent, short } from "page/numbers.js";
import { classColour } from "page/palette.js";

const LINES = 12;
const MOST = 64;

/** Draw the members' weights, their scores, the relevance of features and the health. */
export function membersPanel(page) {
  const panel = byId("members");
  let chart = null;
  let drawn = 0;
  return () => {
    const model = page.model;
    const mixture = (model?.mixture ?? []).slice(0, MOST);
    const none = !model || (!mixture.length && !model.health);
    empty(panel, none);
    if (none) return;
    const lines = Math.min(LINES, mixture.length);
    const alone = mixture.length < 2;
    shown(byId("members-chart"), !alone);
    shown(byId("members-alone"), alone);
    say(byId("members-alone"), alone ? "This model has one member: it decides alone." : "");
    if (!alone) {
      if (drawn !== lines) {
        chart?.plot?.destroy();
        chart = new LineChart(byId("members-chart"), {
          series: mixture.slice(0, lines).map((member, i) => ({
            name: member.name, colour: () => classColour(i), width: 1.75 })),
          form: (value) => percent(value, 0),
          label: "Weight of each member over time. The table below has the numbers.",
        });
        drawn = lines;
      }
      const view = page.view();
      chart.draw(view, Array.from({ length: lines }, (_, i) =>
        page.points.members[i] ? page.points.values(page.points.members[i], view.places) : view.x.map(() => null)));
    }
    mixtureTable(mixture);
    relevance(model.relevance ?? []);
    health(model.health);
  };
}

function mixtureTable(mixture) {
  table(byId("mixture"), "Members", ["Member", "Weight", "", { text: "Alone", title: "Its accuracy if it decided alone" }, { text: "Log loss", title: "Of the member alone: less is better" }, { text: "Worth", title: "How much worse the whole would be without it" }],
    mixture.map((member, i) => [
      { text: brief(member.name, 28), head: true, title: member.name, class: `swatch${member.awake === false ? " asleep" : ""}`, "--swatch": classColour(i) },
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
      { text: brief(name), head: true, title: name },
      { bar: value / most, class: "wide" },
      short(value),
    ]));
}

function health(told) {
  const facts = told ? [
    ["Weight norm", short(told.weight_norm), "length of all weights together"],
    ["Margin violations", percent(told.violations), "of the latest records made the model step"],
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
