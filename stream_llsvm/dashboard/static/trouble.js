// Whether something is wrong: what, since when, where, and what to do about it.

import { CHECKS } from "page/checks.js";
import { byId, el, fill, mark, say, shown } from "page/dom.js";
import { clock, count, span } from "page/numbers.js";

const WHERE = { input: "Input", labels: "Labels", model: "Model", machine: "Machine" };

/** Ask all checks; what is worst comes first, then what has lasted longest. */
export function findings(page) {
  if (!page.frame?.status) return [];
  const found = CHECKS.flatMap((check) => check(page) ?? []);
  const rank = ({ kind }) => (kind === "bad" ? 0 : 1);
  return found.sort((a, b) => rank(a) - rank(b) || (a.since ?? 0) - (b.since ?? 0));
}

/** Draw the verdict, what was found, and how much that is beside the view's name. */
export function troublePanel(page) {
  return () => {
    const known = Boolean(page.frame?.status);
    const found = findings(page);
    const many = found.length;
    const worst = found[0]?.kind ?? "good";
    shown(byId("wrong-badge"), many > 0);
    mark(say(byId("wrong-badge"), many), "data-kind", worst);
    say(byId("wrong-told"), many ? `: ${many === 1 ? "one thing needs" : `${many} things need`} a look` : "");
    mark(say(byId("verdict"), verdict(known, found)), "data-kind", known ? worst : null);
    say(byId("checked"), known ? `${CHECKS.length} checks of the input, the labels, the model and the machine. ${byPlace(found)}` : "");
    const lines = fill(byId("findings"), found.length, () =>
      el("li", {}, ...["where", "what", "since", "todo"].map((name) => el("span", { class: name }))));
    found.forEach(({ where, what, since, todo, kind }, i) => {
      const [place, text, time, advice] = lines[i].children;
      mark(lines[i], "data-kind", kind);
      mark(lines[i], "data-where", where);
      say(place, WHERE[where]);
      say(text, what);
      mark(say(time, since ? `since ${clock(since)}, ${span(page.now() - since)}` : ""), "title", since ? new Date(since * 1000).toLocaleString() : null);
      say(advice, todo);
    });
  };
}

function verdict(known, found) {
  if (!known) return "Nothing is known yet.";
  if (!found.length) return "Nothing is wrong.";
  const bad = found.filter(({ kind }) => kind === "bad").length;
  const word = (n) => (n === 1 ? "One thing" : `${count(n)} things`);
  if (!bad) return `${word(found.length)} may be wrong.`;
  return bad === found.length ? `${word(bad)} ${bad === 1 ? "is" : "are"} wrong.` : `${word(bad)} ${bad === 1 ? "is" : "are"} wrong, ${count(found.length - bad)} more may be.`;
}

function byPlace(found) {
  const places = Object.entries(WHERE).filter(([where]) => found.some((one) => one.where === where));
  return places.length ? `Look at: ${places.map(([, name]) => name.toLowerCase()).join(", ")}.` : "All are passed.";
}
