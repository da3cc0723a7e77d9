// The records that come: how many, how far behind, and which could not be used.

import { LineChart } from "page/charts.js";
import { byId, say, shown, table } from "page/dom.js";
import { compact, count } from "page/numbers.js";
import { colour } from "page/palette.js";

const tint = () => colour("--tint");

/** Draw the charts of what comes in. */
export function intakePanel(page) {
  const chart = (id, name, label, line) => new LineChart(byId(id), {
    series: [{ name, colour: () => colour(line), fill: tint }], form: compact, label });
  const rate = chart("intake-rate-chart", "records per second", "Records per second over time.", "--accent");
  const lag = chart("intake-lag-chart", "records behind", "Lag over time: records behind the source's end.", "--accent");
  const rejected = chart("intake-rejected-chart", "rejected", "Rejected records over time.", "--bad");
  return () => {
    const status = page.frame?.status;
    if (!status) return;
    const view = page.view();
    const of = (name) => [page.points.values(name, view.places)];
    const told = status.lag !== null && status.lag !== undefined;
    say(byId("intake-rate"), count(status.rate));
    say(byId("intake-behind"), told ? count(status.lag) : "");
    say(byId("intake-rejected"), count(status.rejected));
    shown(byId("intake-lag"), told);
    rate.draw(view, of("rate"));
    if (told) lag.draw(view, of("lag"));
    rejected.draw(view, of("rejected"));
    const reasons = Object.entries(status.reasons ?? {}).sort((a, b) => b[1] - a[1]);
    shown(byId("intake-reasons").parentElement, reasons.length > 0);
    table(byId("intake-reasons"), "Reasons of rejection", ["Reason", "Records"],
      reasons.map(([name, n]) => [{ name, head: true }, count(n)]));
  };
}
