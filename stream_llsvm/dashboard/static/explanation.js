// One answer taken apart: features, contexts, members, anchors and remembered records.

import { el, fill, mark, say, shown, table } from "page/dom.js";
import { brief, count, percent, short, signed } from "page/numbers.js";

/** Whether the answer is a number, and no class: nobody says how sure that is. */
export const isNumber = (why) => why.sure === null || why.sure === undefined;

/** Fill a box with what is behind an answer; nothing if there is none. */
export function tellWhy(box, why) {
  shown(box, Boolean(why));
  if (!why) return;
  const [title, below, bars, contexts, members, anchors, voters] = fill(box, 7, (i) =>
    [() => el("h3"), () => el("p", { class: "key" }), () => el("table", { class: "bars both" }),
      () => el("table", { class: "numbers contexts" }),
      () => el("p", { class: "key" }), () => el("p", { class: "key" }), () => el("table", { class: "numbers" })][i]());
  const number = isNumber(why);
  const truth = why.truth === null || why.truth === undefined || why.truth === why.label ? "" : `, ${number ? "and" : "but"} it was ${brief(why.truth)}`;
  say(title, `${brief(why.label)}${truth}`);
  say(below, number ? `With all features at their means it would be ${short(why.reference)}. What raises it (right) or lowers it (left):` : `${percent(why.sure)} sure. Its score of ${short(why.score)} is the sum of these parts, for ${brief(why.label)} (right) or against it (left):`);
  parts(bars, why);
  const together = why.contexts ?? [];
  shown(contexts, together.length > 0);
  table(contexts, "Contexts: what fields say together", ["Together", "Came with", "Adds"],
    together.map(({ values, counts, part }) => [
      { text: values.map(([name, value]) => `${brief(name)}=${brief(value)}`).join(", "), head: true },
      { text: cameWith(counts, why.label), title: counts.map(([label, n]) => `${count(n)} ${label}`).join(", ") },
      signed(part)]));
  const voices = Object.entries(why.members ?? {});
  shown(members, voices.length > 1);
  say(members, `By member: ${voices.map(([name, value]) => `${brief(name)} ${signed(value)}`).join(", ")}.`);
  const near = why.anchors ?? [];
  shown(anchors, near.length > 0);
  say(anchors, `Anchors that answered: ${near.map(({ id, share }) => `${id} (${percent(share, 0)})`).join(", ")}.`);
  const votes = (why.voters ?? []).slice(0, 5);
  shown(voters, votes.length > 0);
  table(voters, "Remembered records that voted", ["Remembered", "Records ago", "Distance", "Vote"],
    votes.map((vote) => [{ name: vote.label, head: true },
      count(vote.age), short(vote.distance), percent(vote.share, 0)]));
}

/** 31 of 40 fraud: of the records with a context, how many had the label that is explained. */
function cameWith(counts, label) {
  const own = counts.find(([name]) => name === label)?.[1] ?? 0;
  return `${count(own)} of ${count(counts.reduce((sum, [, n]) => sum + n, 0))} ${brief(label, 16)}`;
}

function parts(node, why) {
  const values = new Map(why.values ?? []);
  const all = [...(why.contributions ?? [])].map(([name, part]) => ({
    name, part, value: values.has(name) ? ` = ${said(values.get(name))}` : "" }));
  if (why.rest) all.push({ name: "all other features", part: why.rest, own: true });
  if (why.memory) all.push({ name: "remembered records", part: why.memory, own: true });
  // Of a model that cannot share its score out among features all of it is the bias.
  const shared = all.length > 0 && (why.contributions ?? []).length > 0;
  const together = shared ? (why.bias ?? 0) - (why.reference ?? 0) : 0;
  if (shared && why.reference && !isNumber(why)) all.push({ name: "all features at their means", part: why.reference, own: true });
  if (together) all.push({ name: "what features do together", part: together, own: true });
  if (!shared && why.bias) all.push({ name: "not any one feature's", part: why.bias, own: true });
  const most = Math.max(1e-12, ...all.map(({ part }) => Math.abs(part)));
  table(node, "Parts of the score", ["Part", "", "Adds"], all.map(({ name, part, value, own }) => [
    { ...(own ? { text: name } : { name, after: value }), head: true },
    { bar: part / most, both: true, class: `wide ${part < 0 ? "minus" : "plus"}` },
    signed(part)]));
  mark(node, "data-parts", all.length);
}

/** A value as it is read: a number in few characters, or a text. */
const said = (value) => (typeof value === "string" ? brief(value, 32) : short(value));
