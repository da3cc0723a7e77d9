// Small tools for the document. What came from a stream only ever becomes text.

import { harmless } from "page/numbers.js";

const END = 8; // characters of a name that are always shown: what is at its end tells names apart
const LONG = 18; // from here on a name may be cut

/** Find an element by its id. */
export const byId = (id) => document.getElementById(id);

/** Make an element; children that are no nodes become text. */
export function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children.map((child) => (child instanceof Node ? child : String(child))));
  return node;
}

/** Set a node's text, if it is another one than before. */
export function say(node, text) {
  const told = text === null || text === undefined ? "" : String(text);
  if (node.textContent !== told) node.textContent = told;
  return node;
}

/** Set or remove an attribute, if it is another one than before. */
export function mark(node, name, value) {
  if (value === null || value === undefined || value === false) {
    if (node.hasAttribute(name)) node.removeAttribute(name);
  } else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}

/** Set a style's property, if it is another one than before. */
export function style(node, name, value) {
  if (node.style.getPropertyValue(name) !== value) node.style.setProperty(name, value);
}

/** Let a node have so many children, and return them: those that are there stay. */
export function fill(parent, count, make) {
  while (parent.children.length > count) parent.lastElementChild.remove();
  while (parent.children.length < count) parent.append(make(parent.children.length));
  return parent.children;
}

/**
 * Show a name that may be long, and what is `after` it. Where there is no room the name's middle is
 * left out, never its end or what is after it; the button "Full names" lets all names wrap instead.
 */
export function named(node, text, after = "") {
  const all = [...harmless(text)];
  const cut = all.length > LONG ? all.length - END : all.length;
  const box = node.firstElementChild ?? el("span", { class: "name" }, el("span"), el("span"), el("span"));
  if (!box.parentElement) node.replaceChildren(box);
  [all.slice(0, cut).join(""), all.slice(cut).join(""), after].forEach((part, i) => say(box.children[i], part));
  mark(node, "title", `${text}${after}`);
  if (cut < all.length) mark(document.body, "data-long", "yes");
  return node;
}

/** Show or hide. */
export function shown(node, yes) {
  if (node.hidden === yes) node.hidden = !yes;
}

/** Say that a panel has nothing to show, or that it has. */
export function empty(panel, yes) {
  panel.classList.toggle("empty", yes);
}

/** Let one button of a group be pressed; `changed` is told whose. */
export function segments(group, name, chosen, changed) {
  const buttons = [...group.querySelectorAll("button")];
  const press = (value) => {
    for (const button of buttons) mark(button, "aria-pressed", button.dataset[name] === value);
  };
  for (const button of buttons) {
    button.addEventListener("click", () => {
      press(button.dataset[name]);
      changed(button.dataset[name]);
    });
  }
  press(chosen);
}

/** Fill a table: names above, and rows of cells, each text or {text, name, head, class, title}. */
export function table(node, caption, names, rows) {
  if (!node.tHead) {
    node.append(el("caption", { class: "unseen" }, caption), el("thead", {}, el("tr")), el("tbody"));
  }
  const heads = fill(node.tHead.rows[0], names.length, () => el("th", { scope: "col" }));
  names.forEach((name, i) => cell(heads[i], name));
  const lines = fill(node.tBodies[0], rows.length, () => el("tr"));
  rows.forEach((row, i) => {
    const cells = fill(lines[i], row.length, (j) =>
      row[j]?.head ? el("th", { scope: "row" }) : el("td"),
    );
    row.forEach((value, j) => cell(cells[j], value));
  });
}

/** Put a value into a cell. */
export function cell(node, value) {
  const given = value !== null && typeof value === "object" ? value : { text: value };
  if (given.bar !== undefined) {
    const track = fill(node, 1, () => el("span", { class: "track" }, el("span")))[0];
    bar(track, given.bar, given);
  } else if (given.name !== undefined) named(node, given.name, given.after);
  else say(node, given.text);
  mark(node, "class", given.class);
  if (given.name === undefined) mark(node, "title", given.title);
  for (const name of ["--share", "--swatch"]) {
    if (given[name] !== undefined) style(node, name, String(given[name]));
  }
}

/** Draw a bar from -1 to 1: on both sides of the middle, or from the left whatever its sign. */
function bar(track, share, { colour, both }) {
  const inner = track.firstElementChild;
  const size = Math.min(1, Math.abs(share)) * (both ? 50 : 100);
  style(inner, "width", `${size.toFixed(1)}%`);
  if (both) style(inner, "margin-left", `${(share < 0 ? 50 - size : 50).toFixed(1)}%`);
  if (colour) style(inner, "background", colour);
}

/** Show facts, each a name, a value, what is said below it, and a class for its colour if it has one. */
export function factBoxes(list, facts) {
  const boxes = fill(list, facts.length, () =>
    el("div", {}, el("dt"), el("dd", { class: "big" }), el("dd", { class: "small" })));
  facts.forEach(([name, value, below, kind], i) => {
    const [dt, big, small] = boxes[i].children;
    mark(boxes[i], "class", kind || null);
    say(dt, name);
    say(big, value);
    mark(say(small, below), "title", below);
  });
}
