import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as aptove from "aptove";
import * as client from "aptove/client";
import * as testing from "aptove/testing";
import { temporaryFolder } from "../testing/temporary-folder.ts";

test("[Y1] an engine is built from parts, all of them optional, all of them replaceable", async (t) => {
  const provider = testing.scriptedProvider({ name: "mine", script: () => "from my own model" });
  const { engine } = await aptove.createAptove({
    dataDir: await temporaryFolder(t),
    env: {},
    records: testing.memoryRecords(),
    blobs: testing.memoryBlobs(),
    log: testing.memoryEventLog(),
    providers: [provider],
    agentContexts: [{ id: "default", name: "Mine", provider: "mine", index: "local" }],
  });
  const owner = await engine.keys.owner();
  const turn = await engine.turns.run(owner, { instruction: "say something" });
  assert.equal((await turn.finished).status, "completed");
  assert.equal(await (await engine.turns.read(owner, turn.turnId)).answer(), "from my own model");
  await engine.close();
});

test("[Y1] [V5] a tool of the caller's own is offered to the model, and run", async (t) => {
  const weather: aptove.Tool = {
    definition: { name: "weather", parameters: { type: "object" }, effect: "read" },
    needsApproval: () => false,
    run: async ({ city }): Promise<aptove.ToolResult> => ({ output: `rain in ${String(city)}`, isError: false }),
  };
  const provider = testing.scriptedProvider({
    name: "mine",
    script: (call, n) => {
      const result = call.items.findLast((item) => item.type === "tool_result");
      return n === 1 ? [{ calls: "weather", with: { city: "Bergen" } }] : `they say: ${result?.output ?? "nothing"}`;
    },
  });
  const { engine } = await aptove.createAptove({
    dataDir: await temporaryFolder(t),
    env: {},
    providers: [provider],
    tools: [weather],
    overrides: { provider: "mine" },
  });
  t.after(() => engine.close());
  const owner = await engine.keys.owner();
  const turn = await engine.turns.run(owner, { instruction: "how is the weather?" });
  await turn.finished;
  assert.equal(await (await engine.turns.read(owner, turn.turnId)).answer(), "they say: rain in Bergen");
});

test("[Y1] without any part it is embedded: what one engine stored the next one reads", async (t) => {
  const dataDir = await temporaryFolder(t);
  const first = await aptove.createAptove({ dataDir, env: {} });
  const owner = await first.engine.keys.owner();
  const turn = await first.engine.turns.run(owner, { instruction: "hello" });
  await turn.finished;
  await first.engine.close();
  const second = await aptove.createAptove({ dataDir, env: {} });
  t.after(() => second.engine.close());
  const next = await second.engine.turns.run(owner, { instruction: "still there?", sessionId: turn.sessionId });
  assert.equal((await next.finished).parentId, turn.turnId);
});

test("[Y1] the page of the library names every option, every part of the records and every suite", () => {
  const read = (path: string): string => readFileSync(new URL(path, import.meta.url), "utf8");
  const page = read("../docs/library.md");
  const options = [...read("./compose/options.ts").matchAll(/^  (\w+)\?:/gm)].map(([, name = ""]) => name);
  const parts = Object.keys(testing.recordPartSuites);
  const suites = Object.keys(testing).filter((name) => name.endsWith("Suite"));
  assert.ok(options.includes("records") && options.includes("now"), "the options are not read");
  for (const name of [...options, ...parts, ...suites]) assert.ok(page.includes(`\`${name}\``), `it names no ${name}`);
});

test("[B5] [Y1] the contracts' suites and the client are exported by name", () => {
  const suites = Object.entries(testing).filter(([name]) => name.endsWith("Suite"));
  assert.deepEqual(suites.map(([name]) => name).toSorted(), [
    "bindingStoreSuite",
    "blobStoreSuite",
    "eventLogSuite",
    "factStoreSuite",
    "providerSuite",
    "recordStoreSuite",
    "retrieverSuite",
    "sharedCacheSuite",
    "transcriptStoreSuite",
    "wakeUpsSuite",
    "workspaceStoreSuite",
  ]);
  for (const [, suite] of suites) assert.equal(typeof suite, "function");
  assert.equal(typeof client.createClient, "function");
});

/** A blob store as a third party would write it, with only the exported contract. */
function foreignStore(): aptove.BlobStore {
  const kept = new Map<string, Uint8Array>();
  const checked = (key: string): string => {
    const isKey = key.length <= 512 && key.split("/").every((part) => /^(?!\.{1,2}$)[a-z0-9._-]{1,200}$/.test(part));
    if (!isKey) throw new aptove.AptoveError("storage_failed", `${key} is not a key`);
    return key;
  };
  return {
    put: async (key, bytes) => {
      const there = kept.get(checked(key));
      if (there === undefined) kept.set(key, bytes.slice());
      else if (!there.every((byte, at) => byte === bytes[at]) || there.length !== bytes.length) {
        throw new aptove.AptoveError("blob_exists", key);
      }
    },
    get: async (key) => kept.get(checked(key))?.slice() ?? null,
    delete: async (key) => void kept.delete(checked(key)),
    list: async (prefix) => [...kept.keys()].filter((key) => key.startsWith(prefix)),
    size: async (key) => kept.get(checked(key))?.length ?? null,
  };
}

testing.blobStoreSuite("[B5] blobs of a third party", () => ({ store: foreignStore(), reopen: null }));

/** Bindings as a third party would write them, with only the exported contract. */
function foreignBindings(): aptove.BindingStore {
  const kept = new Map<string, string>();
  let line: Promise<unknown> = Promise.resolve();
  const alone = <T>(body: () => Promise<T>): Promise<T> => {
    const mine = line.then(body, body);
    line = mine;
    return mine;
  };
  const device = (id: string): string => {
    aptove.checkDeviceId(id);
    return id;
  };
  const workspace = (id: string): string => {
    aptove.checkWorkspaceId(id);
    return id;
  };
  const store: aptove.BindingStore = {
    resolve: async (id) => kept.get(device(id)) ?? null,
    settle: async (id, choose) =>
      await alone(async () => {
        const chosen = workspace(await choose(kept.get(device(id)) ?? null));
        kept.set(id, chosen);
        return chosen;
      }),
    bind: async (id, workspaceId) => void (await store.settle(id, () => Promise.resolve(workspaceId))),
    unbind: async (id) => await alone(async () => kept.delete(device(id))),
    unbindWorkspace: async (workspaceId) =>
      await alone(async () => {
        const gone = workspace(workspaceId);
        const bound = [...kept].filter(([, to]) => to === gone).map(([id]) => id);
        for (const id of bound) kept.delete(id);
        return bound;
      }),
    list: async () => [...kept].map(([deviceId, workspaceId]) => ({ deviceId, workspaceId })),
  };
  return store;
}

testing.bindingStoreSuite("[B5] bindings of a third party", () => ({ store: foreignBindings(), reopen: null }));
