/** What all wake-ups must do, as tests: run it on your own driver to know that it keeps the contract (B5). */
import assert from "node:assert/strict";
import { once } from "node:events";
import { suite, test, type TestContext } from "node:test";
import { untilConnected } from "../../testing/live-log.ts";
import { hasCode } from "../../testing/refusals.ts";
import { newId } from "../domain/ids.ts";
import type { WakeUps } from "./wake-ups.ts";

/** Opens two ends, as two processes have them, and registers what closes them. In memory both are the same. */
export type OpenWakeUpsForTest = (context: TestContext) => Promise<[WakeUps, WakeUps]>;

/** Registers the tests. `name` is what they are listed under. */
export function wakeUpsSuite(name: string, open: OpenWakeUpsForTest): void {
  suite(name, () => {
    test("[R3] whoever asked for a topic is woken by any process, its own too, and nobody else is", async (context) => {
      const [here, there] = await open(context);
      const topic = `controls/${newId()}`;
      const others: string[] = [];
      const told = new EventTarget();
      const woken = (process: string): Promise<unknown> => once(told, process, { signal: AbortSignal.timeout(10_000) });
      const ends = [
        here.on(topic, () => told.dispatchEvent(new Event("here"))),
        there.on(topic, () => told.dispatchEvent(new Event("there"))),
        here.on(`${topic}-2`, () => others.push("another topic")),
      ];
      await untilConnected(here);
      await untilConnected(there);
      // A connection that came back wakes everybody.
      others.length = 0;
      for (const sender of [here, there]) {
        const both = Promise.all([woken("here"), woken("there")]);
        sender.send(topic);
        await both;
      }
      assert.deepEqual(others, []);
      for (const end of ends) end();
    });

    test("[R3] whoever ended it is not woken, and one who asked twice can end one of both", async (context) => {
      const [here, there] = await open(context);
      const woken: string[] = [];
      const { promise, resolve } = Promise.withResolvers<void>();
      const count = (): void => void woken.push("counted");
      here.on("keys", () => void woken.push("ended"))();
      here.on("keys", count)();
      await untilConnected(here);
      here.on("keys", count);
      here.on("keys", resolve);
      there.send("keys");
      await promise;
      assert.deepEqual(woken, ["counted"]);
    });

    test("[R3] what is no topic is refused", async (context) => {
      const [here] = await open(context);
      for (const topic of ["", "a b", "a'b", "A", "a,b", "x".repeat(101)]) {
        const isRefused = hasCode("storage_failed");
        assert.throws(() => here.send(topic), isRefused);
        assert.throws(() => here.on(topic, () => undefined), isRefused);
      }
    });
  });
}
