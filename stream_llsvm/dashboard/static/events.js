// What happened, the latest few hundred, each once, however often it was told.

const MOST = 400;

/** Events in the order of time. */
export class Events {
  constructor() {
    this.all = [];
    this.known = new Set();
  }

  /** Take those that are new. */
  merge(events) {
    let fresh = false;
    for (const event of events ?? []) {
      const key = keyOf(event);
      if (this.known.has(key)) continue;
      this.known.add(key);
      this.all.push(event);
      fresh = true;
    }
    if (!fresh) return;
    this.all.sort((a, b) => a.time - b.time);
    for (const old of this.all.splice(0, Math.max(0, this.all.length - MOST))) {
      this.known.delete(keyOf(old));
    }
  }
}

// Numbers begin anew with every process; when and what do not.
const keyOf = (event) => `${event.time} ${event.record} ${event.kind}`;
