// Alerts: which rules fire, since when and with which value, and which have fired lately.

import { byId, el, fill, mark, say, shown } from "page/dom.js";
import { clock, count, span } from "page/numbers.js";

const LATELY = 86_400; // seconds for which an alert that is over is still shown

/** Draw the alerts; nothing if none fires and none has fired lately. */
export function alertsPanel(page) {
  return () => {
    const { alerts: firing = [], alerts_over: all = [], alert_rules: rules } = page.frame ?? {};
    const over = all.filter(({ until }) => page.now() - until < LATELY);
    shown(byId("alerts"), firing.length + over.length > 0);
    say(byId("alerts-now"), `${firing.length || "None"} of ${count(rules)} rules ${firing.length > 1 ? "fire" : "fires"}${over.length ? `; ${count(over.length)} fired in the last day and ${over.length > 1 ? "are" : "is"} over` : ""}.`);
    list(byId("alerts-firing"), firing, ({ since }) => `since ${clock(since)}, ${span(page.now() - since)}`);
    list(byId("alerts-over"), over, ({ since, until }) => `from ${clock(since)} to ${clock(until)}, over for ${span(page.now() - until)}`);
  };
}

function list(node, alerts, when) {
  shown(node, alerts.length > 0);
  const lines = fill(node, alerts.length, () =>
    el("li", {}, ...["where", "what", "since", "todo"].map((name) => el("span", { class: name }))));
  alerts.forEach((one, i) => {
    const [severity, what, time, more] = lines[i].children;
    mark(lines[i], "data-kind", one.severity === "critical" ? "bad" : "warn");
    mark(lines[i], "data-alert", one.alert);
    say(severity, one.severity);
    say(what, `${one.alert}: ${one.summary}`);
    mark(say(time, when(one)), "title", new Date(one.since * 1000).toLocaleString());
    say(more, `${one.until === null ? "Value" : "Its last value was"} ${one.value ?? "unknown"}; the threshold is ${one.threshold} (${one.meaning}). What to do: ${one.runbook}`);
  });
}
