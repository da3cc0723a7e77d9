// Frames from the server: the history first, then live, and again by itself after a break.

import { rows } from "page/points.js";

const SILENT = 10_000; // milliseconds without a frame until the connection is made anew
const LONGEST_PAUSE = 5_000;

/** Keep a page up to date; `changed` is called after every piece of news. */
export function follow(page, changed) {
  let stream = null;
  let lastId = null;
  let heard = performance.now();
  let pause = 500;
  let started = null;
  let retry = null;

  const history = async () => {
    const answer = await fetch("api/history", { signal: AbortSignal.timeout(5_000) });
    if (!answer.ok) throw new Error(`the server says ${answer.status}`);
    const told = await answer.json();
    page.points.merge(rows(told.points));
    page.events.merge(told.events);
    changed();
    return told.points?.id?.at(-1) ?? null;
  };

  const take = (message) => {
    const frame = JSON.parse(message.data);
    heard = performance.now();
    lastId = frame.id;
    pause = 500;
    page.connection = { state: "open", since: page.connection.state === "open" ? page.connection.since : now() };
    if (started !== null && frame.status?.started !== started) history().catch(() => {});
    started = frame.status?.started ?? null;
    page.take(frame);
    changed();
  };

  const missed = (message) => {
    const told = JSON.parse(message.data);
    page.points.merge(told.points ?? []);
    page.events.merge(told.events);
    changed();
  };

  const lost = () => {
    stream?.close();
    stream = null;
    if (page.connection.state !== "lost") page.connection = { state: "lost", since: now() };
    clearTimeout(retry);
    retry = setTimeout(open, pause);
    pause = Math.min(pause * 1.5, LONGEST_PAUSE);
    changed();
  };

  const open = () => {
    stream?.close();
    heard = performance.now();
    stream = new EventSource(lastId === null ? "events" : `events?last=${encodeURIComponent(lastId)}`);
    stream.addEventListener("frame", take);
    stream.addEventListener("missed", missed);
    stream.addEventListener("error", lost);
  };

  const begin = async () => {
    try {
      lastId = await history();
      open();
    } catch {
      if (page.connection.state !== "lost") page.connection = { state: "lost", since: now() };
      pause = Math.min(pause * 1.5, LONGEST_PAUSE);
      changed();
      setTimeout(begin, pause);
    }
  };

  setInterval(() => {
    const quiet = ["stopped", "failed", "compiling"].includes(page.frame?.status?.state);
    if (stream && !quiet && performance.now() - heard > SILENT) lost();
  }, 1_000);
  begin();
}

const now = () => Date.now() / 1000;
