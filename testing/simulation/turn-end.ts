/** Checks that a turn had a reason to end as it did, and that its row agrees with the observed run. */
import assert from "node:assert/strict";
import type { ErrorCode } from "../../src/domain/errors.ts";
import { limits } from "../../src/domain/limits.ts";
import type { FinishedTurn } from "../../src/domain/turn.ts";
import { addUsage, noUsage } from "../../src/domain/usage.ts";
import type { Asked } from "./asked.ts";
import { wasRecovered } from "./naive-model.ts";
import type { OwnEntry, Sight } from "./sight.ts";

export function checkEnd({ world, turn, row, events }: Sight, own: OwnEntry | null): void {
  const { asked } = turn;
  const mayBeStopped = world.model.mayBeStopped(turn);
  if (row.status === "failed") checkFailure({ asked, row, mayBeStopped, lastAt: world.now });
  else checkSuccess({ asked, row, mayBeStopped });
  const wasLost = wasRecovered(row);
  if (row.status === "failed" && asked.faults === 0) checkSealed(asked, row);
  if (!wasLost) {
    const usage = asked.exchanges.map(({ end }) => end?.usage ?? noUsage).reduce(addUsage, noUsage);
    assert.deepEqual(row.run.usage, usage, "the usage of all model calls is kept (T4, T12)");
    assert.equal(row.run.modelRequests, asked.exchanges.length);
  }
  if (row.status !== "failed" || (asked.faults === 0 && !wasLost)) checkSteers({ world, row, own, events });
  const reported = asked.attempts.find(({ finished }) => finished !== null)?.finished ?? null;
  if (reported !== null && asked.faults === 0 && !wasLost)
    assert.deepEqual(plain(reported), plain(row), "the end that was reported");
}

/** Returns the value in the form in which a store returns it. */
function plain(row: FinishedTurn): unknown {
  return JSON.parse(JSON.stringify(row));
}

interface Succeeding {
  asked: Asked;
  row: Exclude<FinishedTurn, { status: "failed" }>;
  mayBeStopped: boolean;
}

function checkSuccess({ asked, row, mayBeStopped }: Succeeding): void {
  const sent = asked.exchanges.filter(({ isSummary }) => !isSummary);
  const last = sent.at(-1);
  if (row.stopReason === "interrupted") {
    assert.ok(mayBeStopped, "no interrupt was requested (T10)");
    assert.ok(didSomething(asked), "a turn that did nothing would have failed (T10, T12)");
    return;
  }
  if (row.stopReason === "step_limit") {
    assert.ok(sent.length >= limits.stepsPerTurnMax);
    return;
  }
  assert.ok(last?.end?.type === "finished", "a turn is completed by an answer that ended");
  assert.equal(row.stopReason, last.end.stopReason);
  const calls = last.items.filter((item) => item.type === "tool_call");
  if (row.status === "completed") assert.equal(calls.length, 0, "calls are never left unanswered (T8)");
  else {
    const waits = row.deferredCalls.map(({ name, waitsFor }) => [name, waitsFor]);
    const isRight = ([name, waitsFor]: string[]): boolean => (name === "guarded") === (waitsFor === "approval");
    assert.ok(waits.length > 0 && waits.every(isRight), "what waits is the client's or needs to be allowed (V5)");
  }
}

function hasOutput({ items, openText }: Asked["exchanges"][number]): boolean {
  return openText !== "" || items.some(({ type }) => type !== "reasoning");
}

/** True if the turn has output, or brought results of tools (T12). */
function didSomething({ exchanges, feedback }: Asked): boolean {
  return feedback.length > 0 || exchanges.some((exchange) => !exchange.isSummary && hasOutput(exchange));
}

/**
 * Checks that a failed turn keeps what it did, and only that (T12). Of a lost turn everything that came before its last
 * model call is durable (R6).
 */
function checkSealed(asked: Asked, row: Failing["row"]): void {
  const isSealed = row.blobs.state !== null;
  const wasLost = wasRecovered(row);
  const durable = { ...asked, exchanges: asked.exchanges.slice(0, -1) };
  if (didSomething(wasLost ? durable : asked)) assert.ok(isSealed, "a failed turn forgot what it did (T12, R6)");
  if (!didSomething(asked)) assert.ok(!isSealed, "a failed turn that did nothing can be continued (T12)");
}

interface Failing {
  asked: Asked;
  row: Extract<FinishedTurn, { status: "failed" }>;
  mayBeStopped: boolean;
  lastAt: number;
}

function checkFailure({ asked, row, mayBeStopped, lastAt }: Failing): void {
  const { code } = row.failures[0];
  const isDead = asked.attempts.some(({ process }) => process.isDead);
  const hasFaults = asked.faults > 0;
  const end = asked.exchanges.at(-1)?.end;
  const explained: Partial<Record<ErrorCode, boolean>> = {
    interrupted: mayBeStopped && !didSomething(asked),
    runner_lost: isDead || hasFaults || lastAt - asked.at >= limits.leaseMs - limits.leaseMarginMs,
    storage_full: hasFaults,
    storage_failed: hasFaults,
    history_unavailable: hasFaults,
    // An empty answer.
    provider_answer_invalid: end?.type === "finished",
    context_window_exceeded: row.model === "small" || (end?.type === "failed" && end.failure.code === code),
  };
  const isProviders = end?.type === "failed" && end.failure.code === code && code !== "interrupted";
  assert.ok(
    explained[code] ?? isProviders,
    `nothing explains the failure ${code}: ${row.failures[0].message} (last call: ${JSON.stringify(end?.type)})`,
  );
  assert.notEqual(code, "provider_rejected", "a model was sent what it refuses");
}

type Steered = Pick<Sight, "world" | "row" | "events"> & { own: OwnEntry | null };

/** Checks that the turn's record has every accepted message: delivered, or reported as undelivered (V4). */
function checkSteers({ world, row, own, events }: Steered): void {
  const reported = events.flatMap(({ event }) => (event.type === "steered" ? [event.text] : []));
  if (own !== null) assert.deepEqual(own.steered, reported, "what was handed in is reported and kept (V4)");
  const undelivered = row.warnings.filter(({ code }) => code === "steer_undelivered").map(({ message }) => message);
  for (const { turnId, text, isRemote } of world.model.steers) {
    if (turnId !== row.id) continue;
    const times =
      reported.filter((one) => one === text).length + undelivered.filter((one) => one.endsWith(text)).length;
    assert.ok(times === 1 || (isRemote && times === 0), `the message "${text}" is ${times} times in the record (V4)`);
  }
}
