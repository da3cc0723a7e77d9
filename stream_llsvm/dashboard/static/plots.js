// Small pictures of shares, drawn as SVG in the colours of the style sheet.

import { fill, mark } from "page/dom.js";

const SVG = "http://www.w3.org/2000/svg";
const SIDE = 200;

/** An SVG element; `fill` of dom.js keeps as many as are wanted. */
const shape = (name) => document.createElementNS(SVG, name);

function put(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) mark(node, name, value);
}

function picture(box, label, stretched) {
  const svg = fill(box, 1, () => shape("svg"))[0];
  put(svg, { role: "img", "aria-label": label, viewBox: `0 0 ${SIDE} ${SIDE}`, preserveAspectRatio: stretched ? "none" : "xMidYMid meet" });
  return svg;
}

/** Bars of how many lie in each of equal bins, and as an outline how many did before. */
export function histogram(box, counts, before, label) {
  const svg = picture(box, label, true);
  const share = (all) => {
    const sum = Math.max(1, all.reduce((a, b) => a + b, 0));
    return all.map((n) => n / sum);
  };
  const [now, ever] = [share(counts), share(before)];
  const most = Math.max(1e-9, ...now, ...ever);
  const wide = SIDE / now.length;
  const height = (part) => ((part / most) * SIDE).toFixed(1);
  const [bars, line] = fill(svg, 2, (i) => shape(i ? "path" : "g"));
  now.forEach((part, i) => {
    put(fill(bars, now.length, () => shape("rect"))[i], { class: "bar", x: (i * wide + 0.5).toFixed(1), width: (wide - 1).toFixed(1), y: SIDE - height(part), height: height(part) });
  });
  const steps = ever.map((part, i) => `V${SIDE - height(part)}H${((i + 1) * wide).toFixed(1)}`).join("");
  put(line, { class: "ever", d: `M0 ${SIDE}${steps}` });
}

/** Discs of how often something was right, over how likely it was held, beside the even line. */
export function reliability(box, now, ever, label) {
  const svg = picture(box, label, false);
  const [even, rings, discs] = fill(svg, 3, (i) => shape(i ? "g" : "line"));
  put(even, { class: "even", x1: 0, y1: SIDE, x2: SIDE, y2: 0 });
  for (const [group, told, kind] of [[rings, ever, "ring"], [discs, now, "disc"]]) {
    const all = told.labelled.reduce((a, b) => a + b, 0);
    const seen = told.labelled.map((n, i) => [n, told.held[i], told.right[i]]).filter(([n]) => n > 0);
    const nodes = fill(group, seen.length, () => shape("circle"));
    seen.forEach(([n, held, right], i) => {
      put(nodes[i], { class: kind, cx: (held * SIDE).toFixed(1), cy: ((1 - right) * SIDE).toFixed(1), r: (3 + 14 * Math.sqrt(n / all)).toFixed(1) });
    });
  }
}
