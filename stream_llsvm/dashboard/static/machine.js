// The process: how long answers take, and what a restart would go on from.

import { LineChart } from "page/charts.js";
import { byId, factBoxes, say } from "page/dom.js";
import { bytes, clock, count, seconds, span } from "page/numbers.js";
import { colour } from "page/palette.js";

const ERRORS = ["failed", "checkpoint failed", "recovering"];

/** Draw the chart of latency and the facts of the process. */
export function machinePanel(page) {
  const latency = new LineChart(byId("machine-latency-chart"), {
    series: [
      { name: "p50", colour: () => colour("--accent"), width: 2 },
      { name: "p99", colour: () => colour("--muted"), dash: [4, 3] },
    ],
    form: seconds,
    log: true,
    label: "Latency over time: seconds that a record waits for its prediction.",
  });
  return () => {
    const status = page.frame?.status;
    if (!status) return;
    const view = page.view();
    latency.draw(view, ["predict_p50", "predict_p99"].map((name) => page.points.values(name, view.places)));
    say(byId("machine-latency"), `p99 ${seconds(page.frame.point?.predict_p99)}`);
    const { checkpoint: kept } = status;
    const error = page.events.all.findLast(({ kind }) => ERRORS.includes(kind));
    const facts = [
      ["Running for", span(page.now() - status.started), `since ${clock(status.started)}`],
      ["Checkpoint", kept ? `${span(page.now() - kept.time)} ago` : "none", kept ? `number ${count(kept.number)} at record ${count(kept.record)}` : "a restart begins anew", kept?.failed ? "bad" : ""],
      ["Would be learned again", kept ? count(status.records - kept.record) : count(status.records), "records, after a crash now"],
      ["Last error", error ? `${span(page.now() - error.time)} ago` : "none", error ? `${error.kind}: ${error.text}` : "in the events that are kept"],
      ...(page.model?.health ? [["Model", bytes(page.model.health.state_bytes), "of state"]] : []),
    ];
    factBoxes(byId("machine-facts"), facts);
  };
}
