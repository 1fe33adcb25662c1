/** `POST /api/ai/agent/estimate`: what the next turn would send, before anything is sent (H1). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { testDoor } from "../../../../testing/http-door.ts";
import { scriptedProvider } from "../../../providers/scripted/scripted.ts";

const model = "claude-sonnet-5";

test("[H1] an estimate has the tokens by kind and the price, and leaves nothing behind", async (t) => {
  const provider = scriptedProvider({ name: "anthropic", model });
  const { client, provider: spare } = await testDoor(t, { provider, contextTokens: () => 1_000_000 });
  const tools = [{ name: "weather", description: "The weather of a city.", parameters: { type: "object" } }];
  const activeFiles = [{ path: "a.ts", content: "export const a = 1;\n".repeat(50) }];
  const asked = { instruction: "What is this?", tools, activeFiles, settings: { maxOutputTokens: 1_000 } };
  const { tokens, price, manifest, ...estimate } = await client().estimate(asked);
  assert.equal([...provider.exchanges, ...spare.exchanges].length, 0);
  assert.equal((await client().sessions.list()).sessions.length, 0);
  assert.partialDeepStrictEqual(estimate, { provider: "anthropic", model, contextTokens: 1_000_000, warnings: [] });
  const { total, cachedMax, ...kinds } = tokens;
  assert.equal(
    Object.values(kinds).reduce((sum, count) => sum + count, 0),
    total,
  );
  assert.ok(tokens.tools > 5 && tokens.context > 200 && tokens.instruction >= 3 && tokens.history === 0);
  assert.equal(cachedMax, 0);
  assert.deepEqual(
    manifest.activeFiles.map(({ path }) => path),
    ["a.ts"],
  );
  // $2 for a million tokens of input, $2.50 if they are written to the cache, $10 for a million tokens of output.
  assert.ok(price !== null);
  const about = (found: number, expected: number): void => assert.ok(Math.abs(found - expected) < 1e-9, `${found}`);
  about(price.inputMinUsd, (total * 2) / 1e6);
  about(price.inputMaxUsd, (total * 2.5) / 1e6);
  about(price.outputUsdPerThousand, 0.01);
  about(price.maxUsd ?? 0, (total * 2.5 + 10_000) / 1e6);
});

test("[H1] [G3] the history counts as the provider counted it, and may be cached", async (t) => {
  const usage = { input: 5_000, output: 200, cached: 0, reasoning: 0, total: 5_200 };
  const provider = scriptedProvider({
    name: "anthropic",
    model,
    script: () => [{ says: "fine" }, { stops: "stop", usage }],
  });
  const { client } = await testDoor(t, { provider });
  const { sessionId } = await client().execute({ instruction: "one" });
  const { tokens, price } = await client().estimate({ instruction: "two", sessionId });
  assert.ok(tokens.history >= 5_000 && tokens.total > 5_200, JSON.stringify(tokens));
  assert.equal(tokens.cachedMax, 5_200);
  assert.ok(price !== null && price.maxUsd === null);
  assert.ok(price.inputMinUsd < price.inputMaxUsd / 5, "what is cached costs a tenth");
  assert.equal((await client().sessions.get(sessionId)).turnCount, 1);
});

test("[H1] [G3] a price that is not known is null, and what a turn would be refused for is refused", async (t) => {
  const { client, refused } = await testDoor(t);
  assert.equal((await client().estimate({ instruction: "one" })).price, null);
  await refused("instruction_empty", "POST /api/ai/agent/estimate", { json: { instruction: "" } });
  await refused("not_found", "POST /api/ai/agent/estimate", {
    json: { instruction: "x", sessionId: "01890000-0000-7000-8000-000000000000" },
  });
});

test("[F11] [H1] an estimate has the budgets of the next call, and says which it would pass", async (t) => {
  const provider = scriptedProvider({ name: "anthropic", model });
  let now = 1_800_000_000_000;
  const { client } = await testDoor(t, { provider, now: () => (now += 1) });
  const asked = { instruction: "one", settings: { maxOutputTokens: 1_000 } };
  assert.deepEqual((await client().estimate(asked)).budgets, []);
  await client().budgets.set({ scope: "org", limit: 1 });
  await client().budgets.set({ scope: "org", period: "day", limit: 0.001, onLimit: "wait" });
  await client().budgets.set({ scope: "org", unit: "tokens", limit: 100_000 });
  const { budgets } = await client().estimate(asked);
  assert.deepEqual(
    budgets.map(({ budget, refusal }) => [budget.period, budget.unit, budget.left, refusal]),
    [
      ["total", "usd", 1, null],
      ["day", "usd", 0.001, "over"],
      ["total", "tokens", 100_000, null],
    ],
  );
  // A thousand tokens of output alone cost a cent.
  assert.ok((budgets[0]?.callMax ?? 0) > 0.01 && (budgets[2]?.callMax ?? 0) > 1_000);
  const unknown = await client().estimate({ ...asked, model: "anthropic/another" });
  assert.deepEqual([unknown.budgets[0]?.callMax, unknown.budgets[0]?.refusal], [null, "unpriced"]);
});
