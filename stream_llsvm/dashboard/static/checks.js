// What can be wrong with a run. A check tells what it finds, or nothing:
// {where: "input" | "labels" | "model" | "machine", kind: "bad" | "warn", what, since, todo}.

import { compact, count, percent, score, span } from "page/numbers.js";

const MINUTE = 60;
const FEW = 100; // records before anything is judged
const BEHIND = 10; // seconds of records that a run may be behind
const MOST_REJECTED = 0.1; // of the last minute's records, from where on it is grave
const OVERDUE = 3; // times the usual time between two checkpoints
const FALLEN = 0.05; // below its mean, from where on an accuracy is worth a look
const GROWN = 1.5; // times its mean, from where on an error is
const QUIET = 10; // seconds without news from a run

const over = (page) => page.recorded || ["stopped", "failed"].includes(page.frame.status.state);
const last = (page, ...kinds) => page.events.all.findLast(({ kind }) => kinds.includes(kind));

/** The run has failed. */
function failed({ frame: { status } }) {
  if (status.state !== "failed") return null;
  return { where: "machine", kind: "bad", since: status.since,
    what: `The run failed: ${status.text || "it did not say why"}`,
    todo: "Mend what the message names, and start the same command again: it goes on from its last checkpoint." };
}

/** No news come any more, though the run should be there. */
function silent(page) {
  if (over(page)) return null;
  const quiet = (performance.now() - page.heard) / 1000;
  const lost = page.connection.state === "lost";
  if (page.frame.status.state === "compiling" || !(lost || quiet > QUIET)) return null;
  return { where: "machine", kind: "bad", since: lost ? page.connection.since : Date.now() / 1000 - quiet,
    what: lost ? "The page has lost the run." : "The run has stalled: its loop does not turn.",
    todo: "Look whether the process lives and whether its disk and its sink take what it writes. Started again it goes on from its last checkpoint." };
}

/** The source is in trouble. */
function recovering({ frame: { status } }) {
  if (status.state !== "recovering") return null;
  return { where: "input", kind: "bad", since: status.since, what: `The source cannot be read: ${status.text}`,
    todo: "Look at the source. The run tries again by itself and loses nothing." };
}

/** No record comes. */
function waiting({ frame: { status } }) {
  if (status.state !== "waiting") return null;
  return { where: "input", kind: "warn", since: status.since, what: "No record comes.",
    todo: "If the stream should not pause, look whether its producer still writes, and to this place." };
}

/** The run cannot keep up. */
function lagging(page) {
  const { lag, rate } = page.frame.status;
  const most = Math.max(1_000, BEHIND * rate);
  if (over(page) || !(lag > most)) return null;
  const before = page.points.before("lag", MINUTE);
  const grows = lag > 1.1 * before;
  return { where: "input", kind: grows ? "bad" : "warn", since: page.points.since("lag", (n) => n > most),
    what: `${count(lag)} records behind the source${rate > 0 ? `, ${span(lag / rate)} at this rate` : ""}${grows ? ", and growing" : ""}.`,
    todo: grows ? "Compare records per second with what the source gets. A smaller model, more threads or readers on further machines keep up with more." : "It is catching up: nothing to do if it goes on falling." };
}

/** Records were rejected lately. */
function rejecting(page) {
  const { rejected, records, reasons } = page.frame.status;
  const before = page.points.before("rejected", MINUTE);
  const came = records - page.points.before("records", MINUTE);
  const fresh = rejected - before;
  if (over(page) || !(fresh > 0)) return null;
  const [why] = Object.entries(reasons ?? {}).sort((a, b) => b[1] - a[1])[0] ?? ["unknown"];
  const share = came > 0 ? fresh / came : 1;
  return { where: "input", kind: share > MOST_REJECTED ? "bad" : "warn", since: page.points.since("rejected", (n) => n > before),
    what: `${count(fresh)} records of the last minute could not be used, ${share < 0.001 ? "fewer than 0.1%" : percent(Math.min(1, share))}. Most often: ${why}.`,
    todo: "Rejected records, in the view Watch, has the first of them with their places. They are also among the dead letters." };
}

/** Records come too late for the order of time. */
function disordered(page) {
  const event = last(page, "too late", "out of order");
  if (!event || over(page) || page.now() - event.time > 5 * MINUTE) return null;
  return { where: "input", kind: "warn", since: event.time, what: `Records come out of the order of time: ${event.text}.`,
    todo: "Wait longer for slow partitions (max_wait), or look why they are slow." };
}

/** Fields of the records are others than they were. */
function moved({ frame: { input }, points }) {
  if (!(input?.moved > 0)) return null;
  const some = input.fields.filter(({ moved: since }) => since >= 0);
  const told = some.slice(0, 3).map(({ name, what }) => `${name}: ${what}`).join("; ");
  const more = input.moved - Math.min(3, some.length);
  return { where: "input", kind: "warn", since: points.since("fields_moved", (n) => n > 0),
    what: `${input.moved === 1 ? "A field has" : `${count(input.moved)} fields have`} moved. ${told}${more > 0 ? `; and ${count(more)} more` : ""}.`,
    todo: "Look whether who sends these fields has changed something. If the change is meant, the model learns it; those that count most in the model come first." };
}

/** No labels come. */
function unlabelled(page) {
  const { records, learned } = page.frame.status;
  if (learned > 0 || !(records > FEW) || page.frame.labels) return null;
  return { where: "labels", kind: "bad", since: last(page, "no labels")?.time ?? page.frame.status.started,
    what: `None of ${count(records)} records has a label: nothing is learned.`,
    todo: "Compare the label's name with the fields of the records." };
}

/** Late labels have stopped. */
function unmatched(page) {
  const { labels, status } = page.frame;
  if (!labels || over(page) || !(labels.waiting > 0)) return null;
  const usual = usualDelay(labels.delays) ?? MINUTE;
  const since = page.points.since("learned", (n) => n === status.learned);
  if (since === null || page.now() - since < Math.max(MINUTE, OVERDUE * usual)) return null;
  return { where: "labels", kind: "bad", since,
    what: `No label has come for ${span(page.now() - since)}; ${count(labels.waiting)} records wait for theirs.`,
    todo: "Look at the source of labels, and whether its keys are those of the records." };
}

/** The bound under which nine of ten delays lay; null if none came. */
function usualDelay({ upto, counts } = { upto: [], counts: [] }) {
  const all = counts.reduce((sum, n) => sum + n, 0);
  let below = 0;
  const at = counts.findIndex((n) => (below += n) >= 0.9 * all);
  return all ? (upto[at] ?? upto.findLast(Number.isFinite)) : null;
}

/** Errors have risen and have not fallen again. */
function drifted(page) {
  const event = last(page, "drift", "better");
  if (event?.kind !== "drift") return null;
  return { where: "model", kind: "warn", since: event.time, what: `A drift alarm at record ${count(event.record)}: ${event.text}.`,
    todo: "The model learns on and mostly recovers by itself. Look what changed in the records or in how they are labelled." };
}

/** The answers promise another accuracy than they have. */
function miscalibrated(page) {
  const { scores, status, window: size } = page.frame;
  const now = scores?.windowed ?? {};
  const gap = now.overconfidence;
  if (!(status.learned >= FEW) || !(Math.abs(gap) > FALLEN)) return null;
  return { where: "model", kind: "warn", since: page.points.since("overconfidence", (n) => Math.sign(n) === Math.sign(gap) && Math.abs(n) > FALLEN),
    what: `The model is too ${gap > 0 ? "sure" : "modest"}: of the last ${count(size)} labelled records it promised ${percent(now.accuracy + gap)} and had ${percent(now.accuracy)} right.`,
    todo: "Take the estimated accuracy and thresholds on probabilities with that much care. It calibrates itself as labels come." };
}

/** The answers promise less than they did, before labels can tell. */
function doubting(page) {
  const { estimated, status } = page.frame;
  if (!(status.predicted >= FEW) || !(estimated?.windowed < estimated?.cumulative - FALLEN)) return null;
  const bound = estimated.cumulative - FALLEN;
  return { where: "model", kind: "warn", since: page.points.since("estimated", (n) => n < bound),
    what: `The model is less sure than it was: its last answers promise ${percent(estimated.windowed)}, all of them ${percent(estimated.cumulative)}.`,
    todo: "The records may have changed: look at the fields. Labels will tell later whether the answers are worse." };
}

/** The model is no better than a rule that learns nothing, or worse than it was. */
function inferior(page) {
  const { scores, score_list: list = [], status } = page.frame;
  const lead = list.find(({ chart }) => chart === "view");
  const now = scores?.windowed ?? {};
  const value = now[lead?.name];
  if (!(status.learned >= FEW) || value === undefined) return null;
  const worse = (a, b) => (lead.less ? a > b : a < b);
  const naive = list.find(({ name, chart }) => chart === "baseline" && worse(value, now[name]));
  if (naive) {
    return { where: "model", kind: "bad", since: page.points.since("windowed", (n) => worse(n, now[naive.name])),
      what: `${upper(lead.title)} ${score(lead, value)}: worse than the ${naive.title}, ${score(naive, now[naive.name])}.`,
      todo: "Records and labels may no longer belong together: look at the label, its delay, and at fields that went missing." };
  }
  const mean = scores.cumulative?.[lead.name];
  const bound = lead.less ? GROWN * mean : mean - FALLEN;
  if (!worse(value, bound)) return null;
  return { where: "model", kind: "warn", since: page.points.since("windowed", (n) => worse(n, bound)),
    what: `${upper(lead.title)} ${score(lead, value)} is well ${lead.less ? "above" : "below"} its mean over the run, ${score(lead, mean)}.`,
    todo: "See since when, and what else changed then." };
}

/** Numbers in the model are no longer finite. */
function infinite(page) {
  const n = page.model?.health?.non_finite;
  if (!(n > 0)) return null;
  return { where: "model", kind: "bad", since: null, what: `${count(n)} numbers of the model are not finite.`,
    todo: "Stop the run and go on from an older checkpoint; keep this one for a report of the fault." };
}

/** The newest checkpoint could not be written, or is older than usual. */
function unsaved(page) {
  const { checkpoint: kept, records } = page.frame.status;
  if (!kept) return null;
  if (kept.failed) {
    return { where: "machine", kind: "bad", since: last(page, "checkpoint failed")?.time ?? kept.time,
      what: `The last checkpoint could not be written; number ${count(kept.number)} at record ${compact(kept.record)} is the newest good one.`,
      todo: "Look at the folder's disk: is it full, is it there? The run goes on and tries again." };
  }
  const times = page.events.all.filter(({ kind }) => kind === "checkpoint").map(({ time }) => time);
  const gaps = times.slice(1).map((time, i) => time - times[i]).sort((a, b) => a - b);
  const usual = gaps[gaps.length >> 1];
  const age = page.now() - kept.time;
  if (over(page) || !(records > kept.record) || !(age > Math.max(QUIET, OVERDUE * usual))) return null;
  return { where: "machine", kind: "warn", since: kept.time,
    what: `The last checkpoint is ${span(age)} old; they mostly come every ${span(usual)}.`,
    todo: "Look at the folder's disk. Until the next checkpoint a crash costs what came since: it would be learned again." };
}

const upper = (text) => text[0].toUpperCase() + text.slice(1);

/** All checks. What watches something new adds its own. */
export const CHECKS = [
  failed, silent, recovering, waiting, lagging, rejecting, disordered, moved,
  unlabelled, unmatched, drifted, doubting, miscalibrated, inferior, infinite, unsaved,
];
