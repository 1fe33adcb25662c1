/**
 * Interrupting and steering a running turn (V4, T10), wherever it runs: here at once, in another process by a
 * note that its runner is woken for, and looks for by itself (R3).
 */
import type { Caller } from "../../../domain/caller.ts";
import { AptoveError } from "../../../domain/errors.ts";
import { idOf, newId } from "../../../domain/ids.ts";
import type { PendingTurn } from "../../../domain/turn.ts";
import { wakeTopics } from "../../../live/wake-ups.ts";
import { limits } from "../../../domain/limits.ts";
import type { Session } from "../../../domain/session.ts";
import type { TurnControl } from "../../../records/record-store.ts";
import type { EngineCore } from "./engine-core.ts";
import { keepsSessionBusy, type LiveTurn } from "./live-turn.ts";
import { checkInstruction } from "../request/envelope.ts";
import { mayWrite } from "../../access/visible.ts";
import { mayContinue } from "../../access/visible.ts";
import { visibleTurn } from "../../access/visible.ts";
import { visibleSession } from "../../access/visible.ts";

export type ControlTarget = { turnId: string } | { sessionId: string };

/**
 * Idempotent: gives the id of the turn that it stops, or null when none runs. Of a session everything is stopped, its
 * subagents too (A1): then the id is the agent's turn's, or else that of one of theirs. Of a turn only that turn is.
 */
export async function interrupt(core: EngineCore, caller: Caller, target: ControlTarget): Promise<string | null> {
  mayWrite(caller);
  const running = await runningTurn(core, caller, { ...target, kind: "interrupt" });
  const stopped = running === null ? null : await stop(core, caller, running);
  if ("turnId" in target) return stopped;
  const others = await stopSubagents(core, caller, target.sessionId);
  return stopped ?? others[0] ?? null;
}

/** Returns the id of the turn, or null if it has ended meanwhile. */
async function stop(core: EngineCore, caller: Caller, running: ControlledTurn): Promise<string | null> {
  const { live, turnId } = running;
  if (live === null) {
    return (await note(core, caller, { ...running, id: newId(), kind: "interrupt", text: "" })) ? turnId : null;
  }
  live.stop();
  return turnId;
}

/** Stops also subagents that are just being prepared here, and have no row yet. */
async function stopSubagents(core: EngineCore, caller: Caller, sessionId: string): Promise<string[]> {
  const page = { limit: limits.subagentTurnsPerSessionMax };
  const { deps, live } = core;
  const stored = (await deps.records.subagents.listTurns(sessionId, page)).filter((turn) => turn.status === "pending");
  const here = live
    .all()
    .filter((one) => one.sessionId === sessionId && one.subagent !== null && keepsSessionBusy(one.state));
  const running = new Map(stored.map(({ id, runnerId }) => [id, runnerId]));
  for (const { turnId } of here) running.set(turnId, deps.runner.id);
  const stopped: string[] = [];
  for (const [turnId, runnerId] of running) {
    const id = await stop(core, caller, { turnId, runnerId, live: live.get(turnId) ?? null });
    if (id !== null) stopped.push(id);
  }
  return stopped;
}

export interface SteerRequest {
  text: string;
  /** The same key from the same caller gives the message once (T13). */
  idempotencyKey?: string;
}

/** The model gets the message at the turn's next step. Throws `turn_not_running`. */
export async function steer(
  core: EngineCore,
  caller: Caller,
  { text, idempotencyKey, ...target }: ControlTarget & SteerRequest,
): Promise<string> {
  mayWrite(caller);
  checkInstruction(text, false);
  const running = await runningTurn(core, caller, { ...target, kind: "steer" });
  if (running === null) throw notRunning();
  const id = idempotencyKey === undefined ? newId() : idOf(`${caller.userId}\n${idempotencyKey}\n${running.turnId}`);
  const { live, turnId } = running;
  const isTaken =
    live === null ? await note(core, caller, { ...running, id, kind: "steer", text }) : live.steers.offer({ id, text });
  if (!isTaken) throw notRunning();
  return turnId;
}

function notRunning(): AptoveError {
  return new AptoveError("turn_not_running", "send the message as the next instruction");
}

interface ControlledTurn {
  turnId: string;
  /** The process that runs it. */
  runnerId: string;
  /** Null: it runs in another process. */
  live: LiveTurn | null;
}

async function runningTurn(
  core: EngineCore,
  caller: Caller,
  { kind, ...target }: ControlTarget & { kind: TurnControl["kind"] },
): Promise<ControlledTurn | null> {
  const { deps, live } = core;
  const running = ({ id, runnerId }: PendingTurn): ControlledTurn => ({
    turnId: id,
    runnerId,
    live: live.get(id) ?? null,
  });
  const here = "turnId" in target ? live.get(target.turnId) : live.ofSession(target.sessionId);
  if (here !== undefined && keepsSessionBusy(here.state)) {
    // A turn that is still being prepared has no row yet; its session decides whether the caller may see it.
    const session = await visibleSession(deps, caller, visibleBy(here));
    // The session that a new fork comes from only decides who may see the turn.
    const isNew = here.sessionId !== session.id;
    const isOwn = isNew && here.startedBy === caller.userId;
    if (!isOwn) await mayControl(deps, caller, { session, kind, isNew });
    return { turnId: here.turnId, runnerId: deps.runner.id, live: here };
  }
  if ("turnId" in target) {
    const turn = await visibleTurn(deps, caller, target.turnId);
    await mayControl(deps, caller, { session: await visibleSession(deps, caller, turn.sessionId), kind });
    return turn.status === "pending" ? running(turn) : null;
  }
  await mayControl(deps, caller, { session: await visibleSession(deps, caller, target.sessionId), kind });
  const pending = await deps.records.turns.findPending(target.sessionId);
  // It may have begun here since we looked.
  return pending === null ? null : running(pending);
}

function visibleBy({ state, sessionId }: LiveTurn): string {
  return state.name === "preparing" ? state.visibleBy : sessionId;
}

/** A user who may continue a session may steer and stop what runs in it. An admin who may see it may stop it too. */
async function mayControl(
  deps: EngineCore["deps"],
  caller: Caller,
  { session, kind, isNew = false }: { session: Session; kind: TurnControl["kind"]; isNew?: boolean },
): Promise<void> {
  if (kind === "interrupt" && caller.role === "admin") return;
  if (!isNew && (await mayContinue(deps, caller, session))) return;
  throw new AptoveError("forbidden", "the turn runs in somebody else's session; ask its owner to invite you");
}

/** Leaves a note for the process that runs the turn. Returns false if the turn has ended meanwhile. */
async function note(
  core: EngineCore,
  caller: Caller,
  { runnerId, id, turnId, kind, text }: Pick<TurnControl, "id" | "turnId" | "kind" | "text"> & { runnerId: string },
): Promise<boolean> {
  const { deps } = core;
  const isTaken = await deps.records.runners.insertControl({
    id,
    turnId,
    kind,
    text,
    userId: caller.userId,
    at: deps.now(),
  });
  if (isTaken) deps.wakeUps?.send(wakeTopics.controls(runnerId));
  return isTaken;
}

/** Carries out what other processes want of the turns that run here. Their senders know already that a message is taken (V4). */
export async function followControls(core: EngineCore): Promise<void> {
  for (const control of await core.deps.records.runners.takeControls(core.deps.runner.id)) {
    const live = core.live.get(control.turnId);
    if (control.kind === "interrupt") live?.stop();
    else live?.steers.add(control);
  }
}

/** The messages for the turn's next step. `isLast`: if there are none, the turn ends and takes no more. */
export async function takeSteers(
  core: EngineCore,
  live: LiveTurn,
  { isLast }: { isLast: boolean },
): Promise<{ text: string }[]> {
  if (isLast) await followControls(core);
  return live.steers.take({ isLast });
}
