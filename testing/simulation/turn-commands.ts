/** Commands that request turns: roots, continues, forks, reruns, feedback, the same request twice. */
import { AptoveError, type ErrorCode } from "../../src/domain/errors.ts";
import type { SequencedEvent } from "../../src/domain/events.ts";
import type { ToolFeedback, DeferredCall } from "../../src/domain/tool.ts";
import { mayBeParent, type FinishedTurn } from "../../src/domain/turn.ts";
import type { RunningTurn, TurnRequest } from "../../src/engine/engine.ts";
import { alice } from "../engine.ts";
import { deviceTool } from "./acting-tools.ts";
import { onBehalf, onNobodysBehalf, type Asked, type Attempt } from "./asked.ts";
import { marksRefuse, processRefuses, servingProcess, type Command, type CommandMaker } from "./command.ts";
import type { NaiveSession, NaiveTurn } from "./naive-model.ts";
import { agents, conversations, models, type Process } from "./process.ts";
import type { Random } from "./random.ts";
import type { World } from "./world.ts";

interface Submission {
  asked: Asked;
  process: Process;
}

/** Sends a request and follows it to its end. */
function submit(world: World, submission: Submission): void {
  const { asked, process } = submission;
  const { engine } = process;
  if (engine === null) return;
  if (asked.request.ifBusy === "interrupt" && asked.sessionId !== null) world.model.stopWishes.add(asked.sessionId);
  const attempt: Attempt = {
    process,
    isClosing: () => process.isClosing,
    outcome: null,
    finished: null,
    received: null,
    isLetGo: false,
  };
  asked.attempts.push(attempt);
  const listens = world.random.chance(0.5);
  const isStopped = (): boolean => {
    const { outcome } = attempt;
    return outcome !== null && "turnId" in outcome && world.model.stopped.has(outcome.turnId);
  };
  const run = onBehalf(asked, process, async () => {
    let running: RunningTurn;
    try {
      running = await engine.turns.run(alice, asked.request);
    } catch (error) {
      return judgeRefusal(world, error, { submission, attempt });
    }
    acknowledge(world, { submission, attempt, running });
    const listening = listens ? onNobodysBehalf(() => listen(running, { attempt, process })) : null;
    // The process may end before the turn does, so it is checked afterwards.
    listening?.catch(() => undefined);
    const finished = await (running.isRepeat ? endOfRepeat(world, running, process) : running.finished);
    if (!running.isRepeat) attempt.finished = finished;
    const events = (await listening) ?? null;
    if (!running.isRepeat) attempt.received = events;
  });
  world.follow({ what: asked.marker, process, isStopped }, run);
}

/**
 * Returns the end of a repeated request. Null if the store failed, or if the process was asked to end while the turn ran
 * in another one (R4).
 */
async function endOfRepeat(world: World, running: RunningTurn, process: Process): Promise<FinishedTurn | null> {
  try {
    return await running.finished;
  } catch (error) {
    const isSentAway = error instanceof AptoveError && error.code === "shutting_down" && process.isClosing;
    if (process.hadTrouble || (isSentAway && !isRunBy(world, process, running.turnId))) return null;
    throw error;
  }
}

/** Collects the events. If the store fails, the listener gets the failure; if the process loses the turn, it keeps what it has. */
async function listen(
  running: RunningTurn,
  { attempt, process }: { attempt: Attempt; process: Process },
): Promise<SequencedEvent[] | null> {
  const received: SequencedEvent[] = [];
  try {
    for await (const event of running.events()) received.push(event);
    return received;
  } catch (error) {
    attempt.isLetGo = error instanceof AptoveError && error.code === "runner_lost";
    if (attempt.isLetGo) return received;
    if (process.hadTrouble) return null;
    throw error;
  }
}

interface Judged {
  submission: Submission;
  attempt: Attempt;
}

function judgeRefusal(world: World, error: unknown, { submission, attempt }: Judged): void {
  if (!(error instanceof AptoveError)) throw error;
  attempt.outcome = { refused: error };
  if (mayBeRefused(world, error, submission)) return;
  const { marker, request } = submission.asked;
  throw new Error(`${marker} was refused with ${error.code}: ${JSON.stringify(request)}`, { cause: error });
}

function mayBeRefused({ model }: World, { code, facts }: AptoveError, { asked, process }: Submission): boolean {
  const { request } = asked;
  const session = asked.sessionId === null ? undefined : model.sessions.get(asked.sessionId);
  if (code === asked.mustRefuse || processRefuses(code, process)) return true;
  if (asked.sessionId !== null && marksRefuse(code, session)) return true;
  if (code === "not_found" && wasRemoved(model, asked)) return true;
  const named = asked.turnId === null ? undefined : model.turns.get(asked.turnId)?.sealed?.row;
  const mayWait = request.ifBusy !== undefined && request.ifBusy !== "refuse";
  switch (code) {
    case "session_busy":
      return request.fork === undefined && !mayWait && !isTurnOf(asked, String(facts["turnId"]));
    case "head_moved":
      return request.expectedHead !== undefined || (request.fork === undefined && !mayWait && asked.sessionId !== null);
    case "tool_feedback_invalid":
      return asked.feedback.length > 0 && request.expectedHead === undefined && request.fork === undefined;
    case "turn_not_continuable":
      return request.fork !== undefined && (named === undefined || !mayBeParent(named));
    case "turn_not_finished":
      return request.rerun !== undefined && named === undefined;
    case "blob_missing":
    case "history_unavailable":
      return session?.isPurged !== false;
    default:
      return false;
  }
}

/** True if a session was removed in which an equal request had made a turn. */
function wasRemoved(model: World["model"], asked: Asked): boolean {
  const made = [...model.turns.values()].find((turn) => turn.asked === asked);
  if (made !== undefined) return model.sessions.get(made.sessionId)?.wasRemoved !== false;
  return asked.attempts.some(({ outcome }) => outcome !== null && "turnId" in outcome);
}

function isTurnOf({ attempts }: Asked, turnId: string): boolean {
  return attempts.some(({ outcome }) => outcome !== null && "turnId" in outcome && outcome.turnId === turnId);
}

interface Acknowledged extends Judged {
  running: RunningTurn;
}

function acknowledge(world: World, { submission, attempt, running }: Acknowledged): void {
  const { asked, process } = submission;
  const { mustRefuse } = asked;
  const { turnId, sessionId, isRepeat } = running;
  attempt.outcome = { turnId, sessionId, isRepeat };
  if (mustRefuse !== null) throw new Error(`${asked.marker} was taken, and must be refused with ${mustRefuse}`);
  const other = asked.attempts.find(({ outcome }) => outcome !== null && "turnId" in outcome)?.outcome;
  if (other !== undefined && other !== null && "turnId" in other && other.turnId !== turnId)
    throw new Error(`${asked.marker} gave the turns ${other.turnId} and ${turnId} (T13)`);
  const isJoined = isRepeat && asked.request.ifBusy === "steer" && world.model.turns.get(turnId)?.asked !== asked;
  if (!isJoined) world.model.acknowledge(asked, running);
  else world.model.steers.push({ turnId, text: asked.instruction, isRemote: !isRunBy(world, process, turnId) });
}

/** Returns true if a turn is known to run in this process. */
export function isRunBy({ model }: World, process: Process, turnId: string): boolean {
  const attempts = model.turns.get(turnId)?.asked.attempts ?? [];
  return attempts.some(
    (attempt) =>
      attempt.process === process &&
      attempt.outcome !== null &&
      "turnId" in attempt.outcome &&
      attempt.outcome.turnId === turnId &&
      !attempt.outcome.isRepeat,
  );
}

interface Wanted {
  request: Omit<TurnRequest, "workspaceId">;
  session?: NaiveSession | undefined;
  of?: NaiveTurn;
  repeats?: Asked;
  mustRefuse?: ErrorCode;
}

/** Returns the command that sends the request, sometimes twice at once. */
function asking(world: World, what: string, { request, session, of, repeats, mustRefuse }: Wanted): Command | null {
  const here = servingProcess(world);
  if (here === null) return null;
  const { random, now } = world;
  // A request that joins a running turn has no turn of its own for the key.
  const key =
    request.ifBusy !== "steer" && random.chance(0.2) ? { idempotencyKey: `key-${world.model.asked.length + 1}` } : {};
  const asked = world.model.ask({
    request: { ...request, ...variations(random), ...key },
    random,
    at: now,
    repeats,
    mustRefuse: mustRefuse ?? null,
    sessionId: session?.id ?? null,
    turnId: of?.id ?? null,
  });
  const { process } = here;
  const twin =
    asked.request.idempotencyKey !== undefined && random.chance(0.4) ? (servingProcess(world)?.process ?? null) : null;
  const isTwin = twin === null ? "" : `, twice at once (${twin.name})`;
  return {
    text: `${asked.marker}: ${what} in ${process.name}${isTwin}${asked.request.ifBusy === undefined ? "" : `, ${asked.request.ifBusy} if busy`}`,
    run: () => {
      submit(world, { asked, process });
      if (twin !== null) submit(world, { asked, process: twin });
    },
  };
}

/** Returns, at times, another provider, model, context or tool than the session's (C5, E4). */
function variations(random: Random): Partial<TurnRequest> {
  const agent = random.chance(0.12) ? random.pick(agents) : undefined;
  const conversation = random.chance(0.08) ? random.pick(conversations) : undefined;
  const model = random.chance(0.15) ? random.pick(models) : undefined;
  return {
    ...(agent !== undefined && { agentContextId: agent.id }),
    ...(conversation !== undefined && { conversationContextId: conversation.id }),
    ...(model !== undefined && { model }),
    ...(random.chance(0.3) && { tools: [deviceTool] }),
  };
}

function instruction({ model }: World): string {
  return `please do ${model.asked.length + 1}`;
}

/** Returns a session, mostly a usable one, at times a removed one. */
function someSession({ model, random, hasLongSessions }: World): NaiveSession | undefined {
  const every = [...model.sessions.values()];
  const inUse = every.filter(({ isRemoved }) => isRemoved !== true);
  return random.pick(
    inUse.length > 0 && random.chance(0.9) ? (hasLongSessions ? inUse.slice(0, 2) : inUse.slice(-6)) : every,
  );
}

export const root: CommandMaker = (world) => asking(world, "a root", { request: { instruction: instruction(world) } });

const ifBusy: readonly (readonly [number, TurnRequest["ifBusy"] | null])[] = [
  [5, null],
  [1, "refuse"],
  [3, "queue"],
  [2, "interrupt"],
  [3, "steer"],
];

export const goOn: CommandMaker = (world) => {
  const session = someSession(world);
  if (session === undefined) return null;
  const { random, model } = world;
  const busy = random.weighted(ifBusy);
  const seen = random.chance(0.15)
    ? random.pick([...model.turns.values()].filter((turn) => turn.sessionId === session.id))
    : undefined;
  const request = {
    sessionId: session.id,
    instruction: instruction(world),
    ...(busy != null && { ifBusy: busy }),
    ...(seen !== undefined && { expectedHead: seen.id }),
  };
  return asking(world, `go on in session ${numberOf(world, session)}`, { request, session });
};

export function numberOf({ model }: World, { id }: NaiveSession): number {
  return [...model.sessions.keys()].indexOf(id) + 1;
}

export const fork: CommandMaker = (world) => {
  const { model, random } = world;
  const turn = random.pick([...model.turns.values()]);
  if (turn === undefined) return null;
  const { sealed } = turn;
  const hasNothing = sealed !== null && !mayBeParent(sealed.row);
  return asking(world, `a fork of ${turn.asked.marker}`, {
    request: { fork: { turnId: turn.id }, instruction: instruction(world) },
    session: model.sessions.get(turn.sessionId),
    of: turn,
    ...(hasNothing && { mustRefuse: "turn_not_continuable" as const }),
  });
};

export const rerun: CommandMaker = (world) => {
  const { model, random } = world;
  const turn = random.pick([...model.turns.values()]);
  if (turn === undefined) return null;
  const isSame = random.chance(0.5);
  return asking(world, `a rerun of ${turn.asked.marker}`, {
    request: { rerun: { turnId: turn.id }, instruction: isSame ? "" : instruction(world) },
    session: model.sessions.get(turn.sessionId),
    of: turn,
    repeats: turn.asked,
  });
};

/** Returns answers to calls that wait: correct ones, too few, and ones that must be refused (T9). */
export const feedback: CommandMaker = (world) => {
  const { model, random } = world;
  const waiting = [...model.turns.values()].flatMap((turn) => {
    const end = model.endOf(turn.id);
    return end?.status === "awaiting_tool_results" ? [{ turn, calls: end.deferredCalls }] : [];
  });
  const found = random.pick(random.chance(0.8) ? waiting.slice(-3) : waiting);
  if (found === undefined) return null;
  const { turn, calls } = found;
  const right = calls.map((call) => answerTo(call, random));
  const given = right.filter(() => random.chance(0.85));
  const [first] = right;
  const wrong = random.chance(0.2) && first !== undefined ? wrongFeedback(first, random) : null;
  const toolResults = wrong === null ? given : [...given.filter(({ callId }) => callId !== first?.callId), ...wrong];
  const says = toolResults.length === 0 || random.chance(0.4) ? instruction(world) : "";
  const place = random.chance(0.2)
    ? { fork: { turnId: turn.id } }
    : { sessionId: turn.sessionId, expectedHead: turn.id };
  return asking(world, `${toolResults.length} of ${calls.length} answers for ${turn.asked.marker}`, {
    request: { ...place, toolResults, instruction: says },
    session: model.sessions.get(turn.sessionId),
    of: turn,
    ...(wrong !== null && { mustRefuse: "tool_feedback_invalid" as const }),
  });
};

function answerTo({ callId, waitsFor }: DeferredCall, random: Random): ToolFeedback {
  if (waitsFor === "client") return { callId, output: `answer to ${callId}`, isError: random.chance(0.2) };
  return random.chance(0.6) ? { callId, approved: true } : { callId, approved: false, reason: "not now" };
}

/** Returns answers that must be refused: doubled, unknown, or of the wrong kind. */
function wrongFeedback(right: ToolFeedback, random: Random): ToolFeedback[] {
  const { callId } = right;
  return random.weighted<ToolFeedback[]>([
    [1, [right, right]],
    [1, [{ callId: "call_of_nobody", output: "x", isError: false }]],
    [1, ["approved" in right ? { callId, output: "x", isError: false } : { callId, approved: true }]],
  ]);
}

/** Repeats an earlier request in any process: it gets the same turn (T13), or a refusal if its body differs. */
export const sameAgain: CommandMaker = (world) => {
  const { model, random, now } = world;
  const asked = random.pick(model.asked.filter((one) => mayComeAgain(world, one)));
  const here = servingProcess(world);
  if (asked === undefined || here === null) return null;
  const { process } = here;
  const made = [...model.turns.values()].find((turn) => turn.asked === asked);
  if (made?.isAcknowledged !== true || random.chance(0.7)) {
    // The repeated request became the first one, and is judged like that.
    return { text: `${asked.marker} again in ${process.name}`, run: () => submit(world, { asked, process }) };
  }
  const request = { ...asked.request, instruction: "something else" };
  const other = model.ask({ request, random, at: now, mustRefuse: "idempotency_key_reused" });
  const text = `${other.marker}: another body under the key of ${asked.marker}`;
  return { text, run: () => submit(world, { asked: other, process }) };
};

/** True if a purge of the session removed the key, so that the same request is a new one. */
function mayComeAgain({ model }: World, asked: Asked): boolean {
  if (asked.request.idempotencyKey === undefined || asked.mustRefuse !== null) return false;
  const made = [...model.turns.values()].find((turn) => turn.asked === asked);
  const wasMade = asked.attempts.some(({ outcome }) => outcome !== null && "turnId" in outcome);
  if (wasMade && made === undefined) return false;
  const sessions = [asked.sessionId, made?.sessionId ?? null].flatMap((id) =>
    id === null ? [] : [model.sessions.get(id)],
  );
  return sessions.every((session) => session?.wasRemoved === false);
}

/** True if an earlier request is being repeated. */
export function comesAgain({ model }: World): boolean {
  return model.asked.some(({ attempts }) => attempts.length > 1 && attempts.some(({ outcome }) => outcome === null));
}
