/**
 * Interrupts and steers running turns (V4, T10). A turn of this process is reached directly. For a turn of another
 * process a note is stored; a wake-up announces it, and the other process also polls for it (R3).
 */
import type { Caller } from "../../../domain/caller.ts";
import { AptoveError } from "../../../domain/errors.ts";
import { idOf, newId, sha256 } from "../../../domain/ids.ts";
import type { PendingTurn } from "../../../domain/turn.ts";
import { wakeTopics } from "../../../live/wake-ups.ts";
import { endOfRound } from "../../../system/rounds.ts";
import { limits } from "../../../domain/limits.ts";
import type { Session } from "../../../domain/session.ts";
import type { IdempotentRequest, TurnControl } from "../../../records/record-store.ts";
import type { EngineCore } from "./engine-core.ts";
import { keepsSessionBusy, type LiveTurn } from "./live-turn.ts";
import { takeAnswer } from "./questions.ts";
import { keepSteer } from "../kept/kept-steers.ts";
import { checkInstruction } from "../request/envelope.ts";
import { mayWrite, mayContinue, visibleTurn, visibleSession } from "../../access/visible.ts";

export type ControlTarget = { turnId: string } | { sessionId: string };

/**
 * Stops a turn, or everything that runs in a session, subagents included (A1). Returns the id of the turn that it
 * stopped, or null if none was running: a second call is harmless. For a session it is the turn of the session's agent,
 * or else that of a subagent.
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

/** Stops the subagents of a session, also those that are being prepared here and have no row yet. */
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
  /** The key that makes it safe to send the message again, and the hash of the request that it came with (T13). */
  idempotency?: Pick<IdempotentRequest, "key" | "requestHash">;
}

/** Sends a message, which the model receives at the turn's next step. Throws `turn_not_running`. */
export async function steer(
  core: EngineCore,
  caller: Caller,
  { text, idempotency, ...target }: ControlTarget & SteerRequest,
): Promise<string> {
  mayWrite(caller);
  checkInstruction(text, false);
  const running = await runningTurn(core, caller, { ...target, kind: "steer" });
  if (running === null) throw notRunning();
  const { userId } = caller;
  const id = idempotency === undefined ? newId() : idOf(`${userId}\n${idempotency.key}\n${running.turnId}`);
  const { live, turnId } = running;
  // The sender learns that the message is accepted, so it must survive the process that runs the turn (V4).
  const blob = await keepSteer(core.deps.blobs, { turnId, id: `${id}-${sha256(text).slice(0, 16)}`, text });
  const isTaken =
    live === null ? await note(core, caller, { ...running, id, kind: "steer", text }) : live.steers.offer({ id, text });
  if (!isTaken || !(await isOpened(core, live))) {
    await core.deps.blobs.delete(blob);
    throw notRunning();
  }
  // The same request gets this turn also after its end.
  if (idempotency !== undefined) await core.deps.records.turns.keepIdempotent({ userId, ...idempotency, turnId });
  return turnId;
}

/** Waits for a turn that is being prepared here. Returns false if it was refused: then the message is lost with it. */
async function isOpened({ deps }: EngineCore, live: LiveTurn | null): Promise<boolean> {
  if (live?.state.name !== "preparing") return true;
  await live.until(() => live.state.name !== "preparing");
  return (await deps.records.turns.get(live.turnId)) !== null;
}

function notRunning(): AptoveError {
  return new AptoveError("turn_not_running", "no turn is running; send the message as the next instruction");
}

interface ControlledTurn {
  turnId: string;
  /** The process that runs the turn. */
  runnerId: string;
  /** The turn in this process. Null if it runs in another process. */
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
    // A turn that is being prepared has no row yet. Its session decides whether the caller may see it.
    const session = await visibleSession(deps, caller, visibleBy(here));
    // The session that a new fork comes from decides only who may see the turn.
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
  // It may have started here since the registry was read.
  return pending === null ? null : running(pending);
}

function visibleBy({ state, sessionId }: LiveTurn): string {
  return state.name === "preparing" ? state.visibleBy : sessionId;
}

/**
 * Throws `forbidden` unless the caller may control the turn. A user who may continue the session may steer and stop its
 * turns. An admin who may see it may stop them too.
 */
async function mayControl(
  deps: EngineCore["deps"],
  caller: Caller,
  { session, kind, isNew = false }: { session: Session; kind: TurnControl["kind"]; isNew?: boolean },
): Promise<void> {
  if (kind === "interrupt" && caller.role === "admin") return;
  if (!isNew && (await mayContinue(deps, caller, session))) return;
  throw new AptoveError("forbidden", "the turn runs in a session of another user; ask its owner to invite you");
}

/** Stores a note for the process that runs the turn. Returns false if the turn has ended meanwhile. */
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

/**
 * Carries out the notes of other processes for the turns that run here. The senders already know that their messages
 * are accepted (V4). So a note is deleted only when it is carried out, and a message to a turn that takes no more stays:
 * the turn does not finish before it has recorded the message. `ending` is a turn that is about to record such messages.
 */
export function followControls(core: EngineCore, ending: LiveTurn | null = null): Promise<void> {
  // One at a time: who looks for the last messages of a turn must also see those that another look has just read.
  const before = following.get(core) ?? Promise.resolve();
  const look = before.catch(() => undefined).then(() => followNow(core, ending));
  following.set(core, look);
  return look;
}

const following = new WeakMap<EngineCore, Promise<void>>();

async function followNow(core: EngineCore, ending: LiveTurn | null): Promise<void> {
  const { runners } = core.deps.records;
  const found = await runners.listControls(core.deps.runner.id);
  const done = found.filter((control) => carryOut(core, control, ending));
  if (done.length === 0) return;
  await untilAnswersShow(core, done);
  await runners.deleteControls(done.map(({ id }) => id));
}

/** Resolves when other processes can read that the questions are answered. Until then the notes keep a second answer out (V5). */
async function untilAnswersShow(core: EngineCore, controls: readonly TurnControl[]): Promise<void> {
  const answers = controls.filter(({ kind }) => kind === "answer");
  if (answers.length === 0) return;
  // The turn records the answer in this round.
  await endOfRound();
  for (const { turnId } of answers) {
    const state = core.live.get(turnId)?.state;
    if (state?.name === "running") await state.recorder.flushed();
  }
}

/** Returns false if the note stays. One that comes again, because it could not be deleted, changes nothing. */
function carryOut(core: EngineCore, control: TurnControl, ending: LiveTurn | null): boolean {
  const live = core.live.get(control.turnId);
  if (control.kind === "interrupt") live?.stop();
  else if (control.kind === "answer") takeAnswer(core, control);
  else if (live === ending) live?.steers.addLate(control);
  else return live === undefined || live.steers.offer(control);
  return true;
}

/** Returns the messages for the turn's next step. With `isLast` and no messages, the turn ends and accepts no more. */
export async function takeSteers(
  core: EngineCore,
  live: LiveTurn,
  { isLast }: { isLast: boolean },
): Promise<{ text: string }[]> {
  if (isLast) await followControls(core);
  return live.steers.take({ isLast });
}
