// The anchors on a plane, with the latest records and, where two features are all, the decisions.

import { byId, el, empty, fill, mark, named, say, style, table } from "page/dom.js";
import { brief, fixed, inOrder, percent, short, signed } from "page/numbers.js";
import { classColour, classShape, colour, rgb, shape } from "page/palette.js";

const MARGIN = { left: 44, right: 12, top: 12, bottom: 30 };
const SWATCHES = 12;

/** Draw the map, and tell of the anchor that is pointed at. */
export function mapPanel(page) {
  const panel = byId("map");
  const canvas = byId("ground");
  const picture = document.createElement("canvas"); // the regions, a pixel a cell
  const spot = { chosen: null, hovered: null, box: null, at: [] };

  const nearest = (event) => {
    const box = canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    const y = event.clientY - box.top;
    let best = null;
    let least = 24 ** 2;
    for (const one of spot.at) {
      const d = (one.x - x) ** 2 + (one.y - y) ** 2;
      if (d < least) [best, least] = [one.id, d];
    }
    return best;
  };
  canvas.addEventListener("pointermove", (event) => {
    spot.hovered = nearest(event);
    page.redraw();
  });
  canvas.addEventListener("pointerleave", () => {
    spot.hovered = null;
    page.redraw();
  });
  canvas.addEventListener("click", (event) => {
    spot.chosen = nearest(event);
    page.redraw();
  });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") spot.chosen = null;
    else if (step) {
      const order = [...spot.at].sort((a, b) => a.x - b.x || a.y - b.y).map(({ id }) => id);
      const from = order.indexOf(spot.chosen);
      spot.chosen = order[from < 0 ? (step > 0 ? 0 : order.length - 1) : (from + step + order.length) % order.length] ?? null;
      event.preventDefault();
    } else return;
    page.redraw();
  });
  new ResizeObserver(() => page.redraw()).observe(canvas.parentElement);

  return () => {
    const map = page.model?.map;
    empty(panel, !map?.anchors?.length);
    if (!map?.anchors?.length) return;
    swatches(map.classes ?? []);
    const several = (map.members ?? []).length > 1;
    say(byId("map-key"), `Member ${map.member}${several ? `, of ${map.members.map((one) => brief(one)).join(", ")}` : ""}. ${PLANES[map.plane] ?? ""} `
      + "Small marks: the latest records, ringed where the answer was wrong. Large: anchors, by how much they are used; their tails show where they came from.");
    draw(canvas, picture, map, spot, page.lit);
    told(byId("anchor-told"), map, spot, page);
  };
}

const PLANES = {
  features: "Both features, as they are.",
  value: "One feature, from left to right.",
  pair: "The two features that count most in the learned distance; colours are what is answered where all others are at their mean.",
  projection: "Many features, seen from where the first records spread most.",
};

function swatches(classes) {
  const some = Math.min(classes.length, SWATCHES);
  const more = classes.length - some;
  const items = fill(byId("map-classes"), some + (more > 0 ? 1 : 0), () => el("li", {}, el("canvas", { width: 28, height: 28, "aria-hidden": "true" }), el("span")));
  inOrder(classes).slice(0, some).forEach((i, at) => {
    const [icon, name] = items[at].children;
    const key = `${classColour(i)} ${i}`;
    if (icon.dataset.key !== key) {
      icon.dataset.key = key;
      const pen = icon.getContext("2d");
      pen.clearRect(0, 0, 28, 28);
      pen.fillStyle = classColour(i);
      shape(pen, classShape(i), 14, 14, 9);
      pen.fill();
    }
    icon.hidden = false;
    named(name, classes[i]);
  });
  if (more > 0) {
    items[some].children[0].hidden = true;
    say(items[some].children[1], `and ${more} more`);
  }
}

/** The part of the plane to show: the regions' own, or one that grows at once and shrinks slowly. */
function boxOf(map, before) {
  if (map.regions?.box) return map.regions.box;
  const all = [...map.anchors.map(({ at }) => at), ...(map.records ?? []).map(({ at }) => at)];
  let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const [x, y] of all) {
    [x0, y0] = [Math.min(x0, x), Math.min(y0, y)];
    [x1, y1] = [Math.max(x1, x), Math.max(y1, y)];
  }
  const [w, h] = [(x1 - x0) * 0.05 || 1, (y1 - y0) * 0.05 || 1];
  const now = [x0 - w, y0 - h, x1 + w, y1 + h];
  if (!before || before.plane !== map.plane) return Object.assign(now, { plane: map.plane });
  const grown = now.map((v, i) => (i < 2 ? Math.min(v, before[i] + (v - before[i]) * 0.02) : Math.max(v, before[i] + (v - before[i]) * 0.02)));
  return Object.assign(grown, { plane: map.plane });
}

function draw(canvas, picture, map, spot, lit) {
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.parentElement.clientWidth;
  if (!width) return;
  const height = Math.round(Math.min(600, Math.max(260, width * 0.92)));
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    style(canvas, "height", `${height}px`);
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  spot.box = boxOf(map, spot.box);
  const [x0, y0, x1, y1] = spot.box;
  const inner = { w: width - MARGIN.left - MARGIN.right, h: height - MARGIN.top - MARGIN.bottom };
  const X = (x) => MARGIN.left + ((x - x0) / (x1 - x0 || 1)) * inner.w;
  const Y = (y) => MARGIN.top + (1 - (y - y0) / (y1 - y0 || 1)) * inner.h;

  pen.save();
  pen.beginPath();
  pen.rect(MARGIN.left, MARGIN.top, inner.w, inner.h);
  pen.fillStyle = colour("--ground");
  pen.fill();
  pen.clip();
  if (map.regions) regions(pen, picture, map.regions, X, Y);
  records(pen, map.records ?? [], X, Y);
  trails(pen, map.anchors, X, Y);
  spot.at = anchors(pen, map.anchors, X, Y, spot, lit);
  pen.restore();
  frame(pen, map, spot.box, inner);
  mark(canvas, "data-anchors", map.anchors.length);
  mark(canvas, "data-lit", lit ? lit.size : 0);
}

function regions(pen, picture, told, X, Y) {
  const { columns, rows, box } = told;
  if (picture.width !== columns || picture.height !== rows) Object.assign(picture, { width: columns, height: rows });
  const codes = atob(told.codes);
  const sure = atob(told.sure);
  const small = picture.getContext("2d");
  const pixels = small.createImageData(columns, rows);
  for (let i = 0; i < columns * rows; i++) {
    // The first row of cells is the lowest of the plane, the first of pixels the highest.
    const to = 4 * ((rows - 1 - Math.floor(i / columns)) * columns + (i % columns));
    const code = codes.charCodeAt(i);
    pixels.data.set(rgb(classColour(code)), to);
    pixels.data[to + 3] = code === 255 ? 0 : 12 + (sure.charCodeAt(i) / 255) ** 2 * 62;
  }
  small.putImageData(pixels, 0, 0);
  pen.imageSmoothingEnabled = true;
  pen.imageSmoothingQuality = "high";
  pen.drawImage(picture, X(box[0]), Y(box[3]), X(box[2]) - X(box[0]), Y(box[1]) - Y(box[3]));
}

function records(pen, all, X, Y) {
  for (const { at, label, right } of all) {
    const [x, y] = [X(at[0]), Y(at[1])];
    pen.globalAlpha = right ? 0.55 : 0.95;
    pen.fillStyle = classColour(label);
    shape(pen, classShape(label), x, y, 2.6);
    pen.fill();
    if (right === false) {
      pen.strokeStyle = colour("--bad");
      pen.lineWidth = 1.3;
      shape(pen, "circle", x, y, 5.5);
      pen.stroke();
    }
  }
  pen.globalAlpha = 1;
}

function trails(pen, all, X, Y) {
  pen.lineWidth = 1.5;
  pen.lineCap = "round";
  for (const { trail, label, at } of all) {
    const path = [...(trail ?? []), at];
    pen.strokeStyle = classColour(label);
    for (let i = 1; i < path.length; i++) {
      pen.globalAlpha = 0.1 + (0.6 * i) / path.length;
      pen.beginPath();
      pen.moveTo(X(path[i - 1][0]), Y(path[i - 1][1]));
      pen.lineTo(X(path[i][0]), Y(path[i][1]));
      pen.stroke();
    }
  }
  pen.globalAlpha = 1;
}

function anchors(pen, all, X, Y, spot, lit) {
  const most = Math.max(1e-12, ...all.map(({ mass }) => mass ?? 0));
  const small = all.length > 100 ? 0.7 : 1;
  const placed = [];
  for (const one of all) {
    const [x, y] = [X(one.at[0]), Y(one.at[1])];
    const r = small * (4.5 + 7 * Math.sqrt((one.mass ?? 0) / most));
    const chosen = one.id === spot.chosen || one.id === spot.hovered;
    const among = lit?.has(one.id);
    pen.globalAlpha = lit && !among && !chosen ? 0.35 : one.dead ? 0.6 : 1;
    shape(pen, classShape(one.label), x, y, r);
    pen.fillStyle = one.dead ? colour("--panel") : classColour(one.label);
    pen.fill();
    pen.lineWidth = one.dead ? 1.5 : 1.25;
    pen.strokeStyle = one.dead ? classColour(one.label) : colour("--panel");
    pen.setLineDash(one.dead ? [2, 2] : []);
    pen.stroke();
    pen.setLineDash([]);
    if (chosen || among) {
      pen.lineWidth = chosen ? 2.5 : 2;
      pen.strokeStyle = chosen ? colour("--ink") : colour("--accent");
      pen.beginPath();
      pen.arc(x, y, r + 4, 0, 2 * Math.PI);
      pen.stroke();
    }
    placed.push({ id: one.id, x, y });
  }
  pen.globalAlpha = 1;
  return placed;
}

function frame(pen, map, [x0, y0, x1, y1], inner) {
  pen.strokeStyle = colour("--line");
  pen.lineWidth = 1;
  pen.strokeRect(MARGIN.left - 0.5, MARGIN.top - 0.5, inner.w + 1, inner.h + 1);
  pen.fillStyle = colour("--muted");
  pen.font = '11px system-ui, "DejaVu Sans", sans-serif';
  const foot = MARGIN.top + inner.h;
  pen.textAlign = "left";
  pen.fillText(short(x0), MARGIN.left, foot + 14);
  pen.textAlign = "right";
  pen.fillText(short(x1), MARGIN.left + inner.w, foot + 14);
  pen.fillText(short(y1), MARGIN.left - 6, MARGIN.top + 9);
  pen.fillText(short(y0), MARGIN.left - 6, foot);
  pen.textAlign = "center";
  pen.fillText(brief(map.axes?.[0] ?? "", 40), MARGIN.left + inner.w / 2, foot + 22);
  if (map.plane === "value") return;
  pen.save();
  pen.translate(14, MARGIN.top + inner.h / 2);
  pen.rotate(-Math.PI / 2);
  pen.fillText(brief(map.axes?.[1] ?? "", 40), 0, 0);
  pen.restore();
}

function told(node, map, spot, page) {
  const id = spot.hovered ?? spot.chosen;
  const one = id === null ? null : map.anchors.find((anchor) => anchor.id === id);
  if (!node.children.length) node.append(el("h3", { "aria-live": "polite" }), el("p", { class: "key" }), el("table", { class: "bars both" }));
  const [title, below, weights] = node.children;
  if (!one) {
    const dead = map.anchors.filter((anchor) => anchor.dead).length;
    say(title, `${map.anchors.length} anchors`);
    say(below, (dead ? `${dead} of them have not answered for long (hollow). ` : "")
      + (page.lit ? "Those that answered the record on the right are ringed." : ""));
    weights.hidden = true;
    return;
  }
  const name = map.classes?.[one.label];
  say(title, `Anchor ${one.id}`);
  const where = map.plane === "projection" ? "" : ` At ${one.at.slice(0, map.plane === "value" ? 1 : 2).map(short).join(", ")}.`;
  say(below, `${one.dead ? "Has not answered for long. " : ""}Takes part in ${percent(one.mass)} of the answers${
    name === undefined ? "" : `, mostly for ${brief(name)} (${percent(one.share?.[one.label], 0)})`}.${where} What its own machine adds per feature:`);
  const all = one.weights ?? [];
  const most = Math.max(1e-12, ...all.map(([, value]) => Math.abs(value)));
  weights.hidden = false;
  table(weights, "Weights of the anchor", ["Feature", "", "Weight"], all.map(([feature, value]) => [
    { name: feature, head: true },
    { bar: value / most, both: true, class: `wide ${value < 0 ? "minus" : "plus"}` },
    signed(value)]));
  mark(node, "data-anchor", fixed(one.id, 0));
}
