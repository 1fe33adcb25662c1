/**
 * The server of the streaming bench, in a separate process. Each token of its model is the time at which it
 * left, in microseconds since the epoch, so the reader knows how long it was on its way. Prints its address
 * and key; a line on standard input is answered with its resident memory in bytes. Several on one data folder are
 * servers of one team if `overrides` names stores that they can share.
 */
import { createInterface } from "node:readline";
import { httpDoor } from "../src/doors/http/door.ts";
import { listen } from "../src/doors/http/listen.ts";
import { createAptove } from "../src/index.ts";
import { noUsage } from "../src/domain/usage.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { instantProvider } from "./instant-provider.ts";

const [dataDir = "", tokens = "50", tokenMs = "20", overrides = "{}"] = process.argv.slice(2);

const timed = {
  ...instantProvider(),
  async *send() {
    yield { type: "started", responseId: null } as const;
    let text = "";
    for (let token = 0; token < Number(tokens); token += 1) {
      if (Number(tokenMs) > 0) await sleep(Number(tokenMs));
      const delta = `${Math.round((performance.timeOrigin + performance.now()) * 1000)} `;
      text += delta;
      yield {
        type: "bytes",
        bytes: Buffer.from(`data: {"type":"response.output_text.delta","delta":"${delta}"}\n\n`),
      } as const;
      yield { type: "text_delta", itemId: "m", delta } as const;
    }
    yield { type: "item", itemId: "m", item: { type: "assistant", text } } as const;
    yield { type: "finished", stopReason: "stop", usage: noUsage, responseId: null, model: "instant-1" } as const;
  },
};

const { engine } = await createAptove({
  dataDir,
  env: {},
  overrides: {
    ...(JSON.parse(overrides) as Record<string, unknown>),
    limits: { concurrent_runs_per_user_max: 1_000, requests_per_minute_max: 1_000_000 },
  },
  providers: [timed],
  agentContexts: [{ id: "default", name: "Default", provider: "instant", index: "local" }],
});
const owner = await engine.keys.owner();
const { secret } = await engine.keys.create(owner, { name: "bench" });
const limits = { concurrentRunsPerUserMax: 1_000, requestsPerMinuteMax: 1_000_000 };
const door = httpDoor({ engine, limits, report: (message, error) => console.error(message, error) });
const { url } = await listen(door, { host: "127.0.0.1", port: 0 });
console.log(JSON.stringify({ url, key: secret }));
for await (const _line of createInterface({ input: process.stdin })) console.log(process.memoryUsage.rss());
await engine.close();
process.exit(0);
