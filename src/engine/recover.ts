/**
 * Fails turns whose runner is gone (R2): their steps and their partial output are kept, and their terminal
 * event is told. A live runner's turn is never touched. The dead runner's id is the token of the write, so
 * two recoveries at once, or a runner that was only asleep, cannot both finish a turn (R1).
 */
import { failure } from "../domain/errors.ts";
import { joinDeltas, type TurnEvent } from "../domain/events.ts";
import { failTurn, type PendingTurn } from "../domain/turn.ts";
import { addUsage, noUsage, type RunSummary, type Usage } from "../domain/usage.ts";
import type { EngineCore } from "./core.ts";
import { tellingMailbox } from "./settle-turn.ts";
import { blobKeys, encodeBlob } from "./turn-blobs.ts";

/** Looks at every pending turn of the store. Gives back how many were recovered. */
export async function recoverLostTurns(core: EngineCore): Promise<number> {
  let recovered = 0;
  for (const turn of await core.parts.records.pendingTurns()) {
    try {
      if (await recoverIfLost(core, turn)) recovered += 1;
    } catch (error) {
      // Its log may be damaged, or the disk full: the others are not to wait for that, and neither is the start.
      core.parts.report(`turn ${turn.id} could not be recovered; it will be tried again`, error);
    }
  }
  await forgetDeadRunners(core);
  if (recovered > 0) core.parts.observer.note({ type: "turns_recovered", count: recovered });
  return recovered;
}

/** Logs of turns whose process was killed between their last write and the drop. At start only: nothing makes new ones. */
export async function dropLeftLogs(core: EngineCore): Promise<void> {
  for (const turnId of await core.parts.log.list()) {
    const turn = await core.parts.records.getTurn(turnId);
    if (turn !== null && turn.status !== "pending" && turn.blobs.run !== null) await core.parts.log.drop(turnId);
  }
}

/** One turn, when somebody stands before a busy session. True if it was lost and is failed now. */
export async function recoverTurn(core: EngineCore, turnId: string): Promise<boolean> {
  const turn = await core.parts.records.getTurn(turnId);
  return turn?.status === "pending" && (await recoverIfLost(core, turn));
}

async function recoverIfLost(core: EngineCore, turn: PendingTurn): Promise<boolean> {
  const { parts } = core;
  if (!(await isLost(core, turn))) return false;
  // Since it was read it may have ended, or its lease been renewed: a whole round of recovery takes its time.
  const now = await parts.records.getTurn(turn.id);
  if (now?.status !== "pending" || !(await isLost(core, now))) return false;
  const logged = (await parts.log.read(turn.id, 0)) ?? [];
  const events = logged.map(({ event }) => event);
  const run = await runOf(core, turn);
  const reason = failure("runner_lost", "the process that ran this turn ended; what it had said is kept");
  const terminal: TurnEvent = { type: "run_failed", failure: reason, usage: run.usage };
  const beginning: TurnEvent[] =
    events.length > 0
      ? events
      : [{ type: "run_started", sessionId: turn.sessionId, turnId: turn.id, parentTurnId: turn.parentId }];
  const key = blobKeys.recoveredRun(turn.id);
  const blob = {
    format: 1,
    turnId: turn.id,
    events: joinDeltas([...beginning, ...endings(events), terminal]),
    responses: [],
  } as const;
  await parts.blobs.put(key, encodeBlob("run", { ...blob, responses: [] }));
  const failed = failTurn(turn, reason, {
    at: parts.now(),
    answeredAt: null,
    blobs: { ...turn.blobs, run: key, state: null },
    warnings: events.flatMap((event) => (event.type === "warning" ? [event.warning] : [])),
    run,
    chain: { account: null, responseId: null, previousResponseId: null, expiresAt: null },
    digest: null,
  });
  const result = await parts.records.finishTurn({
    turn: failed,
    runnerId: turn.runnerId,
    head: null,
    steps: [],
    text: null,
    controls: "drop",
    ...tellingMailbox(failed),
  });
  await parts.log.drop(turn.id);
  return result.outcome === "finished";
}

/** R1: turns that others took for lost, while this process was asleep, cost no more calls and run no more tools. */
export async function stopOutlivedTurns(core: EngineCore): Promise<void> {
  for (const live of core.live.all()) {
    // One that is still being prepared has no row to lose.
    if (live.finished === null) continue;
    const turn = await core.parts.records.getTurn(live.turnId);
    if (turn?.status !== "pending" || turn.runnerId !== core.parts.runner.id) live.controller.abort();
  }
}

async function isLost(core: EngineCore, turn: PendingTurn): Promise<boolean> {
  if (turn.runnerId === core.parts.runner.id) return core.live.get(turn.id) === undefined;
  if (turn.leaseExpiresAt <= core.parts.now()) return true;
  const runner = await core.parts.records.getRunner(turn.runnerId);
  return runner === null || core.parts.isAlive(runner) === false;
}

/** What the steps that ended had used. */
async function runOf(core: EngineCore, turn: PendingTurn): Promise<RunSummary> {
  const steps = await core.parts.records.listSteps(turn.id);
  const byModel: Record<string, Usage> = {};
  for (const step of steps) byModel[step.model] = addUsage(byModel[step.model] ?? noUsage, step.usage);
  return {
    durationMs: Math.max(0, core.parts.now() - turn.createdAt),
    modelRequests: steps.length,
    usage: steps.map((step) => step.usage).reduce(addUsage, noUsage),
    byModel,
  };
}

/** Ends for every message and call that the run left open. */
function endings(events: readonly TurnEvent[]): TurnEvent[] {
  const open = new Map<string, TurnEvent>();
  for (const event of events) {
    switch (event.type) {
      case "text_started":
        open.set(event.messageId, { type: "text_ended", messageId: event.messageId });
        break;
      case "reasoning_started":
        open.set(event.messageId, { type: "reasoning_ended", messageId: event.messageId });
        break;
      case "tool_call_started":
        open.set(event.callId, { type: "tool_call_ended", callId: event.callId });
        break;
      case "text_ended":
      case "reasoning_ended":
        open.delete(event.messageId);
        break;
      case "tool_call_ended":
        open.delete(event.callId);
        break;
      default:
        break;
    }
  }
  return [...open.values()];
}

async function forgetDeadRunners(core: EngineCore): Promise<void> {
  for (const runner of await core.parts.records.listRunners()) {
    if (runner.id !== core.parts.runner.id && core.parts.isAlive(runner) === false) {
      await core.parts.records.deleteRunner(runner.id);
    }
  }
}
