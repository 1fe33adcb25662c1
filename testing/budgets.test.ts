/** A budget over three servers on one PostgreSQL (F11): long loops of tools, nearly all of whose input is cached, and a restart. */
import assert from "node:assert/strict";
import { after, before, test, type TestContext } from "node:test";
import { memoryBlobs } from "../src/blobs/memory/memory-blobs.ts";
import { nanoUsd, type BudgetState } from "../src/domain/budget.ts";
import { costBoundOf, costOf } from "../src/domain/models.ts";
import type { Usage } from "../src/domain/usage.ts";
import { memoryEventLog } from "../src/live/memory/memory-event-log.ts";
import { openPostgresRecords } from "../src/records/sql/postgres/postgres.ts";
import type { Tool } from "../src/tools/tool.ts";
import { alice, testEngine, testRunner, type TestEngine } from "./engine.ts";
import { startPostgres, type TestPostgres } from "./postgres.ts";

let database: TestPostgres;
before(async () => void (database = await startPostgres()));
after(() => database.stop());

const model = "gpt-6.2-sol";
const outputMax = 500;
const steps = 30;

/** Three servers whose model tells what its calls cost together. */
async function servers(context: TestContext) {
  const stores = { blobs: memoryBlobs(), log: memoryEventLog() };
  const bill = { nano: 0, calls: 0, inputMax: 0 };
  const tool: Tool = {
    definition: { name: "look", parameters: { type: "object" } },
    needsApproval: () => false,
    run: async () => ({ output: "seen ".repeat(400), isError: false }),
  };
  const start = async (): Promise<TestEngine> =>
    await testEngine(context, {
      ...stores,
      records: await openPostgresRecords({ url: database.url, schema: "budgets", poolMax: 4 }),
      runner: testRunner({ startedAt: Date.now() }),
      isAlive: () => null,
      remembers: false,
      conversation: { model, settings: { maxOutputTokens: outputMax } },
      tools: [tool],
      script: (call) => {
        // A dense text: a token for every two bytes, of which the provider had 97 % cached.
        const input = Math.floor(Buffer.byteLength(JSON.stringify(call.items)) / 2);
        const cached = Math.floor(input * 0.97);
        const usage: Usage = { input, cached, output: outputMax, reasoning: 0, total: input + outputMax };
        bill.nano += nanoUsd(costOf(model, usage) ?? 0);
        bill.calls += 1;
        bill.inputMax = Math.max(bill.inputMax, input);
        const looked = call.items.filter((item) => item.type === "tool_result").length;
        const next = looked < steps ? [{ calls: "look", with: { looked } }] : [{ says: "done" }];
        return [...next, { stops: looked < steps ? ("tool_calls" as const) : ("stop" as const), usage }];
      },
    });
  return { bill, start };
}

async function only({ engine }: TestEngine): Promise<BudgetState> {
  const [budget] = await engine.people.budgets.list(alice);
  return budget ?? assert.fail("there is no budget");
}

test("[F11] three servers at once, loops of 30 tool calls, 97 % of the input cached: a budget is never passed, also over a restart", async (t) => {
  const { bill, start } = await servers(t);
  const all = await Promise.all([start(), start(), start()]);
  const [first] = all;
  const limit = nanoUsd(1);
  await first.engine.people.budgets.set(alice, { scope: "person", period: "total", unit: "usd", limit });

  const turns = await Promise.all(all.flatMap((server) => [server, server].map((one) => one.ask("look around"))));
  const ends = turns.map((turn) => (turn.status === "failed" ? turn.failures[0].code : turn.status));
  assert.ok(ends.includes("budget_exceeded"), ends.join(", "));
  const used = await only(first);
  assert.deepEqual([used.spent, used.reserved], [bill.nano, 0], "the budget counts what the provider bills");
  assert.ok(bill.nano <= limit, `${bill.nano} of ${limit} after ${bill.calls} calls`);
  assert.ok(bill.calls > 2 * steps, `only ${bill.calls} calls were made`);
  // What is left is less than some calls that were running together could have cost.
  const most = nanoUsd(costBoundOf(model, { input: bill.inputMax * 3, output: outputMax }) ?? 0);
  assert.ok(limit - bill.nano < most * turns.length, `${limit - bill.nano} is left, and a call costs up to ${most}`);

  for (const { engine } of all) await engine.close();
  const again = await start();
  const billed = bill.nano;
  assert.equal((await only(again)).spent, billed);
  for (let n = 0; n < 3; n += 1) await again.ask("look around");
  assert.ok(bill.nano <= limit);
  assert.equal((await only(again)).spent, bill.nano);
});
