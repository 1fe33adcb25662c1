/** Faults of turns while they run: their leases, events and listeners. */
import type { Mutant } from "./mutant.ts";

export const liveFaults: readonly Mutant[] = [
  {
    name: "lost-turn-shows-events",
    does: "shows events of a turn that this process lost (R1)",
    file: "src/engine/turn/live/event-feed.ts",
    find: "      if (!holdsLease(this.#core, this.#live)) throw leaseLost(this.#live.turnId);\n",
    replace: "",
    tests: ["src/engine/turn/live/lost-turn.test.ts"],
  },
  {
    name: "stored-turn-breaks-streams",
    does: "breaks the streams of a turn whose lease is not renewed because its end was just stored (R1, V2)",
    file: "src/engine/turn/live/event-feed.ts",
    find: "(isOver(live.state) ? report(null) : undefined)",
    replace: "report(null)",
    tests: ["src/engine/turn/live/lost-turn.test.ts"],
  },
  {
    name: "waiting-listener-outlives-lease",
    does: "shows a listener that waits the events that came while the lease ended (R1)",
    file: "src/engine/turn/live/event-feed.ts",
    find: 'return { events: this.#whileHeld(events), next: "wait" };',
    replace: 'return { events, next: "wait" };',
    tests: ["src/engine/turn/live/event-feed.test.ts"],
  },
  {
    name: "refused-events-are-shown",
    does: "shows a listener that waits the events that the live log has refused (R2)",
    file: "src/engine/turn/live/run-recorder.ts",
    find: "this.#onAppended(this.#logFailed ? null : batch",
    replace: "this.#onAppended(batch",
    tests: ["src/engine/turn/live/event-feed.test.ts"],
  },
  {
    name: "lease-outlived",
    does: "goes on with a turn whose lease is over (R1)",
    file: "src/engine/turn/live/leases.ts",
    find: "if (at >= live.leaseUntil - limits.leaseMarginMs) lose(core, live);",
    replace: "",
    tests: ["src/engine/turn/recover-turns.test.ts", "src/engine/turn/live/lost-turn.test.ts"],
  },
  {
    name: "terminal-event-twice",
    does: "stores two terminal events (T11)",
    file: "src/engine/turn/live/run-recorder.ts",
    find: "return [...this.#events, terminal];",
    replace: "return [...this.#events, terminal, terminal];",
    tests: ["src/engine/turn/end/terminal-events.test.ts"],
  },
];
