/** What all wake-ups must do, as tests. Run it on your own driver to know that it keeps the contract (B5). */
import assert from "node:assert/strict";
import { once } from "node:events";
import { suite, test, type TestContext } from "node:test";
import { newId } from "../domain/ids.ts";
import type { WakeUps } from "./wake-ups.ts";

const storageFailed = { name: "AptoveError", code: "storage_failed" };

/** Opens two ends, as two processes have them, and registers with `context.after` what must be closed. In memory both are the same. */
export type OpenWakeUpsForTest = (context: TestContext) => Promise<[WakeUps, WakeUps]>;

/** Registers the tests in a suite of this name. */
export function wakeUpsSuite(name: string, open: OpenWakeUpsForTest): void {
  suite(name, () => {
    test("[R3] every subscriber of a topic is woken by any process, its own too, and no other subscriber is", async (context) => {
      const [here, there] = await open(context);
      const topic = `controls/${newId()}`;
      const others: string[] = [];
      const woke = new EventTarget();
      const woken = (process: string): Promise<unknown> => once(woke, process, { signal: AbortSignal.timeout(10_000) });
      const ends = [
        here.on(topic, () => woke.dispatchEvent(new Event("here"))),
        there.on(topic, () => woke.dispatchEvent(new Event("there"))),
        here.on(`${topic}-2`, () => others.push("another topic")),
      ];
      await untilConnected(here);
      await untilConnected(there);
      // A connection that was restored wakes all subscribers.
      others.length = 0;
      for (const sender of [here, there]) {
        const both = Promise.all([woken("here"), woken("there")]);
        sender.send(topic);
        await both;
      }
      assert.deepEqual(others, []);
      for (const end of ends) end();
    });

    test("[R3] an ended subscription is not woken, and a function that was subscribed twice can be ended once", async (context) => {
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
        assert.throws(() => here.send(topic), storageFailed);
        assert.throws(() => here.on(topic, () => undefined), storageFailed);
      }
    });
  });
}

async function untilConnected(wakeUps: WakeUps): Promise<void> {
  while (!wakeUps.isConnected()) await new Promise((resolve) => setTimeout(resolve, 1));
}
