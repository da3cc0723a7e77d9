// The latest answers, what each feature added to them, and who answered.

import { byId, el, empty, fill, mark, say } from "page/dom.js";
import { askPanel } from "page/ask.js";
import { brief, percent, signed, tail } from "page/numbers.js";
import { isNumber, tellWhy } from "page/explanation.js";

const OF_NUMBERS = "The latest answers and their errors, by the model as it was then. A feature adds what the number loses when it is set to its mean; all parts sum up to the number.";

/** Draw the list of answers and what is behind the one that was chosen. */
export function whyPanel(page) {
  const panel = byId("why");
  const list = byId("why-list");
  const hold = byId("why-hold");
  let held = false; // by the button
  let over = false; // while the pointer or the focus is there, nothing moves away
  let shownNow = [];
  let chosen = null;

  hold.addEventListener("click", () => {
    held = !held;
    mark(hold, "aria-pressed", String(held));
    say(hold, held ? "Go on" : "Hold");
    if (!held) chosen = null;
    page.redraw();
  });
  for (const [event, value] of [["pointerenter", true], ["pointerleave", false], ["focusin", true], ["focusout", false]]) {
    list.addEventListener(event, () => {
      over = value;
      page.redraw();
    });
  }
  const choose = (i) => {
    const why = shownNow[i];
    chosen = chosen && chosen.record === why.record ? null : why;
    held = chosen !== null;
    mark(hold, "aria-pressed", String(held));
    say(hold, held ? "Go on" : "Hold");
    page.redraw();
  };

  const ask = askPanel(page);
  return () => {
    if (page.frame?.task === "regression") say(panel.querySelector("header p"), OF_NUMBERS);
    const whys = page.model?.whys ?? [];
    empty(panel, !whys.length && !shownNow.length);
    if (whys.length && !(held || over)) shownNow = whys.slice(0, 8);
    const lines = fill(list, shownNow.length, (i) => {
      const line = el("li", {}, el("button", { type: "button" },
        el("span", { class: "sign", role: "img" }), el("span", { class: "answer" }),
        el("span", { class: "sure" }), el("span", { class: "place" }, el("span"), el("span"))));
      line.firstChild.addEventListener("click", () => choose(i));
      return line;
    });
    const open = chosen ?? shownNow[0] ?? null;
    shownNow.forEach((why, i) => {
      const button = lines[i].firstChild;
      const [sign, answer, sure, place] = button.children;
      const known = why.truth !== null && why.truth !== undefined;
      const number = isNumber(why); // which is near the truth or far
      const right = known && !number ? why.truth === why.label : null;
      mark(button, "data-right", right === null ? "unknown" : String(right));
      mark(button, "aria-pressed", String(open !== null && why.record === open.record));
      mark(say(sign, number ? "#" : right === null ? "?" : right ? "\u2713" : "\u2717"), "aria-label", number ? "a number" : right === null ? "not known" : right ? "right" : "wrong");
      const told = right === false || (number && known) ? `${brief(why.label, 16)}, was ${brief(why.truth, 16)}` : brief(why.label);
      mark(say(answer, told), "title", right === false ? `${why.label}, was ${why.truth}` : why.label);
      say(sure, number ? (known ? signed(why.error) : "") : percent(why.sure, 0));
      // Where there is no room the name is cut, never the number.
      const whole = tail(why.place || `record ${why.record}`);
      const cut = Math.max(whole.search(/[:@ ][^:@ ]{0,15}$/), 0);
      say(place.children[0], whole.slice(0, cut));
      say(place.children[1], whole.slice(cut));
      mark(place, "title", why.place);
    });
    const asked = ask();
    tellWhy(byId("why-told"), open);
    const focus = chosen ?? asked;
    page.light(focus ? focus.anchors : null);
  };
}
