/** What one turn asks of the embedded store. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { countStatements } from "../../testing/count-statements.ts";
import { testEngine, type TestEngine } from "../../testing/engine.ts";
import { openEmbeddedStore } from "./embedded-store.ts";

/** An engine on the embedded store, and the statements that SQLite ran for it so far. */
async function countedEngine(context: TestContext): Promise<{ engine: TestEngine; ran: string[] }> {
  const folder = await mkdtemp(join(tmpdir(), "aptove-cost-"));
  context.after(() => rm(folder, { recursive: true }));
  // The background jobs of the engine would run statements of their own.
  context.mock.timers.enable({ apis: ["setInterval"] });
  const ran = countStatements(context);
  const { records, blobs, turnStore } = await openEmbeddedStore({ file: join(folder, "records.db") });
  const engine = await testEngine(context, { records, blobs, turnStore });
  context.after(() => records.close());
  return { engine, ran };
}

test("[K5] a turn of one model call is two transactions", async (context) => {
  const { engine, ran } = await countedEngine(context);
  const first = await engine.ask("warm up");
  await engine.ask("once more", { sessionId: first.sessionId });
  ran.length = 0;
  await engine.ask("count this one", { sessionId: first.sessionId });
  assert.deepEqual(transactionsIn(ran), [4, 6], ran.join("\n"));
  assert.ok(ran.length <= 22, ran.join("\n"));
});

/** Returns how many statements each transaction has. */
function transactionsIn(ran: readonly string[]): number[] {
  const begins = ran.flatMap((text, at) => (text === "begin immediate" ? [at] : []));
  return begins.map((at) => ran.indexOf("commit", at) - at - 1);
}

test("[K5] turns of different sessions that end together share commits", async (context) => {
  const { engine, ran } = await countedEngine(context);
  ran.length = 0;
  const turns = await Promise.all(Array.from({ length: 16 }, (_, at) => engine.ask(`question ${at}`)));
  assert.ok(turns.every(({ status }) => status === "completed"));
  assert.ok(ran.filter((text) => text === "commit").length <= 16, "32 transactions have at most half as many commits");
});
