/**
 * Reads a finished turn with empty caches: row, history, events, requests and answer, all from
 * the stores, and compares it with what was observed. A correct turn is kept as text, and must never change (T2).
 */
import assert from "node:assert/strict";
import { isTerminal } from "../../src/domain/events.ts";
import { answerText, type HistoryItem } from "../../src/domain/history.ts";
import { mayBeParent, type ContinuableTurn, type FinishedTurn } from "../../src/domain/turn.ts";
import { engineCore, type EngineCore } from "../../src/engine/turn/live/engine-core.ts";
import { eventsOf } from "../../src/engine/turn/live/turn-events.ts";
import { turnReader } from "../../src/engine/turn/turn-reader.ts";
import { all, testParts } from "../engine.ts";
import type { SeenExchange } from "./asked.ts";
import { shownItems, withoutForeignThoughts, type NaiveTurn, type SealedTurn, wasRecovered } from "./naive-model.ts";
import { compareOwnItems, openCalls } from "./own-items.ts";
import type { OwnEntry, Sight } from "./sight.ts";
import { checkEnd } from "./turn-end.ts";
import type { World } from "./world.ts";

/** The readers of an engine without caches: everything is read again. */
export function coldCore({ stores }: World): EngineCore {
  return engineCore({ ...testParts(), ...stores });
}

/** Throws if the turn differs from what is expected. */
export async function sealTurn(world: World, turn: NaiveTurn, row: FinishedTurn): Promise<SealedTurn> {
  const core = coldCore(world);
  const above = world.model.entriesOf(row.parentId);
  assert.equal(row.depth, (above.at(-1)?.depth ?? 0) + 1, "the depth is the parent's plus one (T1)");
  const events = await all(eventsOf(core, row.id, { afterSeq: 0, signal: undefined }));
  const sight: Sight = { world, turn, row, core, above, events };
  await checkEvents(sight);
  const own = mayBeParent(row) ? await ownEntry(sight, row) : null;
  checkEnd(sight, own);
  checkShown(sight, own);
  await checkRequests(sight);
  return { row, entries: own === null ? null : [...above, own.entry], reading: await readingOf(core, row) };
}

/** Returns everything that a reader gets of a turn, as one text. */
export async function readingOf(core: EngineCore, row: FinishedTurn): Promise<string> {
  const reader = turnReader(core, row);
  const events = await all(eventsOf(core, row.id, { afterSeq: 0, signal: undefined }));
  const history = mayBeParent(row) ? (await core.histories.state(row.id)).entries : null;
  const texts = [await reader.instruction(), await reader.answer(), await reader.message()];
  return JSON.stringify([texts, await reader.steps(), events, history]);
}

/** Checks T11 and V2: numbers without gaps, one terminal event at the end that agrees with the row, the same from any position. */
async function checkEvents({ world, turn, row, core, events }: Sight): Promise<void> {
  assert.deepEqual(
    events.map(({ seq }) => seq),
    events.map((_, index) => index + 1),
    "the events are numbered without gaps (V2)",
  );
  assert.equal(events[0]?.event.type, "run_started");
  const terminal = events.filter(({ event }) => isTerminal(event));
  assert.equal(terminal.length, 1, "a finished turn has exactly one terminal event (T11)");
  const last = events.at(-1)?.event;
  if (row.status === "failed") assert.deepEqual(last?.type === "run_failed" && last.failure, row.failures[0]);
  else assert.equal(last?.type === "run_finished" && last.status, row.status);
  const afterSeq = world.random.below(events.length);
  const rest = await all(eventsOf(core, row.id, { afterSeq, signal: undefined }));
  assert.deepEqual(rest, events.slice(afterSeq), "what was had plus what is resumed is the whole (V2)");
  for (const { received, isLetGo } of turn.asked.attempts) {
    if (received === null || turn.asked.faults > 0) continue;
    // A process that lost the turn shows nothing that is not kept (R1).
    assert.deepEqual(
      received,
      isLetGo ? events.slice(0, received.length) : events,
      "what was received live is kept (V2)",
    );
  }
}

/** Checks that the stored history equals the naive one, and that the turn added what was observed. */
async function ownEntry({ world, turn, row, core, above }: Sight, continuable: ContinuableTurn): Promise<OwnEntry> {
  const { entries } = await core.histories.state(row.id);
  const stored = entries.map(({ turnId, depth, items, summary }) => ({
    turnId,
    depth,
    items,
    summary: summary ?? null,
  }));
  assert.deepEqual(stored.slice(0, -1), above, "the history of a turn is its parent's and its own (K2)");
  const entry = stored.at(-1);
  assert.ok(entry !== undefined && entry.turnId === row.id && entry.depth === row.depth);
  const parent = row.parentId === null ? null : world.model.turns.get(row.parentId)?.sealed?.row;
  assert.ok(parent === null || (parent !== undefined && mayBeParent(parent)), "its parent may not be continued (T12)");
  const own = compareOwnItems({ asked: turn.asked, row: continuable, parent, items: entry.items });
  const open = openCalls(stored.flatMap(({ items }) => items));
  const waiting = continuable.status === "awaiting_tool_results" ? continuable.deferredCalls : [];
  assert.deepEqual(
    open,
    waiting.map(({ callId }) => callId),
    "only the listed calls of a turn that waits are open (T8)",
  );
  assert.equal(await turnReader(core, row).answer(), answerText(entry.items), "the answer is the model's text");
  return { ...own, entry };
}

/** Checks that each model got the naive history, except for what the rules drop with a warning. */
function checkShown({ world, turn, row, above }: Sight, own: OwnEntry | null): void {
  const { asked } = turn;
  let hasSummary = false;
  const lastSummary = asked.exchanges.findLastIndex(({ isSummary }) => isSummary);
  for (const [index, exchange] of asked.exchanges.entries()) {
    const { shown, provider, isSummary, end } = exchange;
    hasSummary ||= isSummary;
    if (shown === null || isSummary) continue;
    // The turn to continue does not exist any more, so no model got an input.
    if (end?.type === "failed" && end.failure.code === "chain_forgotten") continue;
    const { context } = shown;
    assert.deepEqual(openCalls(context), [], "a model is shown a call without its result (T8)");
    if (own === null) {
      const before = withoutForeignThoughts(shownItems(above), provider);
      if (!hasSummary) assert.deepEqual(context.slice(0, before.length), before);
      continue;
    }
    const items = own.entry.items.slice(0, own.shown.get(exchange));
    if (hasSummary && index < lastSummary) {
      const whole = [...above.flatMap((entry) => entry.items), ...items];
      checkTail(withoutForeignThoughts(whole, provider), exchange);
      continue;
    }
    const now = { turnId: row.id, depth: row.depth, items, summary: hasSummary ? own.entry.summary : null };
    const expected = withoutForeignThoughts(shownItems([...above, now]), provider);
    assert.deepEqual(context, expected, `the model was not shown the history of ${asked.marker}`);
    const dropped = shownItems([...above, now]).length - expected.length;
    const isWarned = row.warnings.some(({ code }) => code === "reasoning_dropped");
    const before = row.parentId === null ? null : world.model.turns.get(row.parentId)?.sealed?.row;
    const isSwitch = before?.provider !== row.provider;
    if (dropped > 0 && isSwitch) assert.ok(isWarned, "thoughts were dropped in silence (C5)");
  }
}

/** Checks an input behind a summary that a later one of the same turn replaced: the store keeps only the last one. */
function checkTail(whole: readonly HistoryItem[], { shown }: SeenExchange): void {
  const [first, ...rest] = shown?.context ?? [];
  assert.ok(first?.type === "user" && first.parts[0]?.startsWith("[SUMMARY"), "the input begins with the summary (C6)");
  assert.deepEqual(rest, whole.slice(whole.length - rest.length), "what follows the summary is the end of the history");
}

/** Checks the exact bytes of every call that has a step (D3). */
async function checkRequests({ turn, row, core }: Sight): Promise<void> {
  const reader = turnReader(core, row);
  const steps = await reader.steps();
  checkStepsKept(turn, row, steps.length);
  for (const { index } of steps) {
    const exchange = turn.asked.exchanges[index - 1];
    assert.ok(exchange !== undefined, `step ${index} was never sent`);
    assert.equal(Buffer.from(await reader.request(index)).toString(), exchange.body, "the request reads back (D3)");
    const isWhole = row.blobs.run !== null && row.blobs.run.endsWith("/run.json");
    if (isWhole) assert.deepEqual(Buffer.from(await reader.response(index)), Buffer.concat(exchange.bytes));
  }
}

/** R2: of a turn that was lost, every model call that had ended is there, but for one whose answer was just being taken. */
function checkStepsKept({ asked }: NaiveTurn, row: FinishedTurn, kept: number): void {
  if (!wasRecovered(row) || asked.faults > 0) return;
  const ended = asked.exchanges.filter(({ end }) => end !== null);
  const lastCalls = ended.at(-1)?.items.flatMap((item) => (item.type === "tool_call" ? [item.callId] : [])) ?? [];
  const isTaken = asked.toolRuns.some(({ turnId, callId }) => turnId === row.id && lastCalls.includes(callId));
  const least = isTaken ? ended.length : ended.length - 1;
  assert.ok(kept >= least, `${kept} steps are kept of ${ended.length} model calls that had ended (R2)`);
}
