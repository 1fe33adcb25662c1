import assert from "node:assert/strict";
import fs from "node:fs";
import { test } from "node:test";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import { hasCode } from "../testing/refusals.ts";
import { createAptove } from "./compose.ts";
import type { AptoveOptions } from "./compose/options.ts";
import { keyedProviders } from "./configuration/configured-providers.ts";
import type { Caller } from "./domain/caller.ts";
import { modelInfo } from "./domain/models.ts";
import type { Engine } from "./engine/engine.ts";
import { scriptedProvider } from "./providers/scripted/scripted.ts";

test("[W7] [L3] every provider that the configuration makes callable is there by its name, and no other", async (t) => {
  const { engine } = await createAptove({
    dataDir: await temporaryFolder(t),
    env: { OPENAI_API_KEY: "sk-1", GEMINI_API_KEY: "g", APTOVE_PROVIDER: "work" },
    overrides: {
      providers: {
        compatible: {
          work: { base_url: "http://127.0.0.1:1/v1", model: "m" },
          half: { base_url: "http://127.0.0.1:1/v1" },
        },
      },
      agent_contexts: { claude: { provider: "anthropic" } },
    },
  });
  t.after(() => engine.close());
  const found = await engine.contexts.providers();
  assert.deepEqual(
    found.map(({ name, remembers }) => [name, remembers]),
    [
      ["offline", false],
      ["openai", true],
      ["google", false],
      ["work", false],
    ],
  );
  const owner = await engine.keys.owner();
  await assert.rejects(engine.turns.run(owner, { instruction: "x", agentContextId: "claude" }), (error) => {
    assert.match(
      String(error),
      /names the provider "anthropic", which has no key: set ANTHROPIC_API_KEY, or providers\.anthropic\.api_key/,
    );
    return true;
  });
});

test("[C4] the window and the price of every default model are known", async (t) => {
  const env = Object.fromEntries(
    Object.values(keyedProviders).map(({ keyVariables: [variable] }) => [variable, "key"]),
  );
  const { engine } = await createAptove({ dataDir: await temporaryFolder(t), env });
  t.after(() => engine.close());
  const hosted = (await engine.contexts.providers()).filter(({ name }) => name !== "offline");
  assert.deepEqual(
    hosted.map(({ name }) => name),
    Object.keys(keyedProviders),
  );
  for (const { defaultModel } of hosted) assert.notEqual(modelInfo(defaultModel), null, defaultModel);
});

test("[B3] [T11] a turn whose end the disk did not keep is a failure for every reader, and never an answer", async (t) => {
  const held = Promise.withResolvers<void>();
  const provider = scriptedProvider({ name: "mine", script: () => [{ says: ["half ", held.promise, "an answer"] }] });
  const { engine } = await createAptove({
    dataDir: await temporaryFolder(t),
    env: {},
    providers: [provider],
    overrides: { provider: "mine" },
  });
  const owner = await engine.keys.owner();
  const { turnId, events, finished } = await engine.turns.run(owner, { instruction: "x" });
  const types: string[] = [];
  const following = (async () => {
    for await (const { event } of events()) types.push(event.type);
  })();
  const rejected = assert.rejects(following, { code: "storage_failed" });
  const broken = Object.assign(new Error("EIO: i/o error, fdatasync"), { code: "EIO" });
  t.mock.method(fs, "fdatasync", (_descriptor: number, done: (error: Error) => void) => done(broken));
  held.resolve();
  assert.equal((await finished).status, "failed");
  await rejected;
  assert.ok(!types.includes("run_finished"), types.join());
  await assert.rejects(engine.turns.read(owner, turnId), { code: "storage_failed" });
  await assert.rejects(engine.close(), { code: "storage_failed" });
});

test("[Y1] an option that is unknown or in another form is refused, and names it", async (t) => {
  const dataDir = await temporaryFolder(t);
  const wrong: [unknown, string][] = [
    [null, "the options are not an object"],
    [{ overides: {} }, 'overides is not known; the nearest known field is "overrides"'],
    [{ dataDir: 5 }, "dataDir is not text"],
    [{ dataDir, tools: {} }, "tools is not a list"],
    [{ dataDir, report: "log" }, "report is not a function"],
  ];
  for (const [options, message] of wrong) {
    await assert.rejects(createAptove(options as AptoveOptions), hasCode("request_invalid", message));
  }
});

test("[R4] [Y1] the end of an `await using` closes everything, and calls after it say so", async (t) => {
  const dataDir = await temporaryFolder(t);
  let engine: Engine;
  let owner: Caller;
  let turnId: string;
  {
    await using aptove = await createAptove({ dataDir, env: {}, overrides: { provider: "offline" } });
    ({ engine } = aptove);
    owner = await engine.keys.owner();
    ({ id: turnId } = await (await engine.turns.run(owner, { instruction: "hi" })).finished);
  }
  const closed = hasCode("shutting_down", "the engine is closed");
  await assert.rejects(engine.keys.owner(), closed);
  await assert.rejects(engine.turns.get(owner, turnId), closed);
  await assert.rejects(engine.sessions.list(owner, {}), closed);
  await assert.rejects(Array.fromAsync(engine.transfer.export(owner, { turnId })), closed);
  await assert.rejects(engine.turns.run(owner, { instruction: "hi" }), hasCode("shutting_down"));
  assert.equal((await engine.health()).isShuttingDown, true);
  await engine.close();
});
