// How fast records pass, how long answers take, and how far behind the stream the model is.

import { LineChart } from "page/charts.js";
import { byId, empty, say, shown, table } from "page/dom.js";
import { compact, count, seconds } from "page/numbers.js";
import { colour } from "page/palette.js";

const QUANTILES = ["p50", "p95", "p99"];
const MOST_PARTITIONS = 64;

/** Draw the three charts of speed. */
export function speedPanel(page) {
  const panel = byId("speed");
  const tint = () => colour("--tint");
  const rate = new LineChart(byId("rate-chart"), {
    series: [{ name: "records per second", colour: () => colour("--accent"), fill: tint }],
    form: compact,
    height: 222,
    label: "Records per second over time.",
  });
  const latency = new LineChart(byId("latency-chart"), {
    series: [
      { name: "p50", colour: () => colour("--accent"), width: 2 },
      { name: "p95", colour: () => colour("--second") },
      { name: "p99", colour: () => colour("--muted"), dash: [4, 3] },
    ],
    form: seconds,
    log: true,
    label: "Latency over time: seconds that a record waits for its prediction. The table below has the numbers.",
  });
  const lag = new LineChart(byId("lag-chart"), {
    series: [{ name: "records behind", colour: () => colour("--accent"), fill: tint }],
    form: compact,
    label: "Lag over time: records behind the stream's end.",
  });
  return () => {
    const none = !page.points.length || !page.frame?.status?.records;
    empty(panel, none);
    if (none) return;
    const view = page.view();
    const of = (name) => page.points.values(name, view.places);
    say(byId("rate-now"), count(page.frame.status.rate));
    rate.draw(view, [of("rate")]);
    latency.draw(view, QUANTILES.map((q) => of(`predict_${q}`)));
    const now = page.points.point(page.points.length - 1);
    table(byId("latency"), "Seconds", ["", { text: "p50", title: "Half of the records took less" }, { text: "p95", title: "95% of the records took less" }, { text: "p99", title: "99% of the records took less" }],
      [["predict", "predict"], ["learn", "learn"]].map(([kind, name]) => [
        { text: name, head: true },
        ...QUANTILES.map((q) => seconds(now[`${kind}_${q}`])),
      ]));
    behind(page, view, of, lag);
  };
}

function behind(page, view, of, chart) {
  const each = Object.entries(page.frame.lag ?? {}).sort((a, b) => b[1] - a[1]);
  const total = page.frame.status.lag;
  const told = total !== null && total !== undefined;
  shown(byId("lag"), told);
  say(byId("lag-now"), told ? count(total) : "");
  if (!told) return;
  chart.draw(view, [of("lag")]);
  table(byId("lags"), "Lag of each partition", ["Partition", "Lag"],
    each.slice(0, MOST_PARTITIONS).map(([name, n]) => [
      { name, head: true }, count(n)]));
}
