// The state of the run in a word, and the numbers one looks at first.

import { byId, el, fill, mark, say, shown } from "page/dom.js";
import { clock, compact, count, percent, score, span, tail } from "page/numbers.js";

const WORDS = {
  connecting: "Connecting", starting: "Starting", compiling: "Compiling kernels", running: "Running", waiting: "Waiting for records",
  recovering: "Recovering", stopped: "Stopped", failed: "Failed", lost: "Connection lost",
  recorded: "Recorded", silent: "No news",
};

const ENDED = ["stopped", "failed"];

/** Draw the bar at the top and the glance below it. */
export function statusPanel(page) {
  const pill = byId("state");
  return () => {
    const status = page.frame?.status;
    const { state, since, trouble } = told(page, status);
    mark(pill, "data-state", state);
    say(byId("state-word"), WORDS[state] ?? state);
    say(byId("state-since"), since ? `since ${clock(since)}` : "");
    shown(byId("trouble"), Boolean(trouble));
    mark(say(byId("trouble"), trouble), "data-state", state);
    if (!status) return;
    const source = status.source || "a stream";
    mark(say(byId("source"), tail(source, 36)), "title", source);
    mark(say(byId("model"), status.model), "title", status.model);
    const { lead } = scoresOf(page.frame);
    const promised = estimateLeads(page.frame, lead);
    const value = promised ?? page.frame.scores?.windowed?.[lead?.name];
    const heading = value === undefined ? WORDS[state] : promised !== null ? `about ${percent(value)}` : lead.percent ? score(lead, value) : `${lead.title} ${score(lead, value)}`;
    const title = `${heading} \u00b7 ${source}`;
    if (document.title !== title) document.title = title;
    glance(page, status);
  };
}

/** Say what is going on: the connection's trouble comes before the engine's. */
function told(page, status) {
  if (page.recorded) return { state: "recorded", since: null, trouble: "" };
  const { state, since } = page.connection;
  const now = Date.now() / 1000;
  if (state === "lost" && ENDED.includes(status?.state)) {
    const word = status.state === "failed" ? `failed: ${status.text || "it did not say why"}` : "ended as it should";
    return { state: status.state, since: status.since, trouble: `The run ${word}; its server is gone. What you see is how it was then.` };
  }
  if (state === "lost") {
    return { state, since, trouble:
      `The connection to the run was lost at ${clock(since)}, ${span(now - since)} ago. ` +
      "What you see is how it was then. The page tries again every few seconds." };
  }
  if (!status) return { state: "connecting", since: null, trouble: "" };
  const quiet = (performance.now() - page.heard) / 1000;
  if (status.state === "compiling") return { state: status.state, since: status.since, trouble: status.text };
  if (!ENDED.includes(status.state) && quiet > 3 && !document.hidden) {
    return { state: "silent", since: now - quiet, trouble: `The run has said nothing for ${span(quiet)}.` };
  }
  if (status.state === "failed") {
    return { state: "failed", since: status.since, trouble: `The run failed: ${status.text || "it did not say why"}` };
  }
  const trouble = status.state === "recovering" ? status.text : "";
  return { state: status.state, since: status.since, trouble };
}

const FEW = 100; // labelled records before a score is judged
const FALLEN = 0.05; // below its mean that is worth a colour
const GROWN = 1.5; // times its mean that is, of an error

/** The score that is looked at first, and what it is held against. */
function scoresOf(frame) {
  const all = frame.score_list ?? [];
  return { lead: all.find(({ chart }) => chart === "view"), naive: all.filter(({ chart }) => chart === "baseline") };
}

/** The accuracy that the answers promise, where labels come late or not at all; else null. */
function estimateLeads(frame, lead) {
  const promised = frame.estimated?.windowed;
  const measured = frame.scores?.windowed?.[lead?.name];
  return promised !== undefined && (frame.labels || measured === undefined) ? promised : null;
}

/** Whether the main score is as it should be: a class for its colour, and what it is held against. */
function judged({ lead, naive }, scores, status) {
  const now = scores?.windowed ?? {};
  const value = now[lead.name];
  const usual = `${naive[0].title} ${score(naive[0], now[naive[0].name])}`;
  if (!(status.learned >= FEW)) return ["", usual];
  const side = lead.less ? "above" : "below";
  const beaten = naive.find(({ name }) => (lead.less ? value > now[name] : value < now[name]));
  if (beaten) return ["bad", `${side} the ${beaten.title}, ${score(beaten, now[beaten.name])}`];
  const mean = scores.cumulative?.[lead.name];
  const worse = lead.less ? value > GROWN * mean : value < mean - FALLEN;
  return worse ? ["warn", `${side} its mean, ${score(lead, mean)}`] : ["", usual];
}

function glance(page, status) {
  const { scores, task, window: size } = page.frame;
  const listed = scoresOf(page.frame);
  const { lead } = listed;
  const value = scores?.windowed?.[lead.name] ?? null;
  // After a promotion the window begins anew, though there were labels before.
  const none = scores?.cumulative ? "no label since the promotion" : "no label yet";
  const [good, compared] = judged(listed, scores, status);
  const behind = status.lag ?? null;
  const kept = status.checkpoint;
  const reasons = Object.entries(status.reasons ?? {});
  const promised = estimateLeads(page.frame, lead);
  const facts = [
    ...(promised !== null ? [["Estimated accuracy", percent(promised), `what the last ${count(size)} answers promise; ${value === null ? none : `measured ${score(lead, value)}, ${compared}`}`, `lead ${good}`]] : [[lead.title[0].toUpperCase() + lead.title.slice(1), score(lead, value), value === null ? none : `last ${count(size)}; ${compared}`, `lead ${good}`]]),
    ["Records", count(status.records), `${count(status.learned)} learned`],
    ["Rate", `${compact(status.rate)}/s`, "records per second"],
    ...(behind === null ? [] : [["Lag", count(behind), "records behind"]]),
    ...(status.waited || status.late || status.gave_up ? [["Too late", count(status.late),
      `for the order of time; ${count(status.gave_up)} waits ran out, ${span(status.waited)} waited in all`, status.late || status.gave_up ? "warn" : ""]] : []),
    ["Rejected", count(status.rejected), reasons.length ? reasons.map(([why, n]) => `${count(n)} ${why}`).join(", ") : "none so far", status.rejected ? "warn" : ""],
    ...(kept ? [["Checkpoint", `${span(page.now() - kept.time)} ago`,
      kept.failed ? "the latest could not be written" : `number ${count(kept.number)} at ${compact(kept.record)}`, kept.failed ? "bad" : ""]] : []),
    ["Drift alarms", count(status.drifts), "times errors rose"],
    ["Features", compact(status.features), task === "regression" ? "known so far" : `${compact(status.classes)} ${status.classes === 1 ? "class" : "classes"}`],
  ];
  const boxes = fill(byId("glance"), facts.length, () => el("div", {}, el("dt"), el("dd", { class: "big" }), el("dd", { class: "small" })));
  facts.forEach(([name, value, below, kind], i) => {
    const [dt, big, small] = boxes[i].children;
    mark(boxes[i], "class", kind || null);
    mark(boxes[i], "data-fact", name);
    say(dt, name);
    say(big, value);
    mark(say(small, below), "title", below);
  });
}
