/**
 * Starts a subagent, and continues one that has ended (A1). Its turns run through the same steps as any other turn,
 * beside the session's agent. They have the tools, the workspace and the caller of the turn that requested them, and
 * their own history.
 */
import { AptoveError } from "../../domain/errors.ts";
import { newId } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import type { SubagentRef } from "../../domain/subagent.ts";
import { hasHistory, summarize, type FinishedTurn, type Turn, type ContinuableTurn } from "../../domain/turn.ts";
import { ToolFault } from "../../tools/tool-fault.ts";
import type { ToolContext } from "../../tools/tool.ts";
import { acceptRequest } from "../turn/prepare/accept.ts";
import { withEarlierTurns } from "../turn/prepare/summarised/turn-tool.ts";
import type { AcceptedRequest } from "../turn/prepare/accepted-request.ts";
import type { EngineCore } from "../turn/live/engine-core.ts";
import type { RunningTurn, TurnRequest } from "../engine.ts";
import type { LiveTurn, RunningState } from "../turn/live/live-turn.ts";
import { noClientTools } from "../turn/prepare/client-tools.ts";
import { noSkills, type TurnSkills } from "../turn/prepare/skills.ts";
import { readSkillTool } from "../turn/request/skills-block.ts";
import { newRoot, type SubagentPlacement } from "../turn/prepare/turn-placement.ts";
import { launchTurn } from "../turn/run-turn.ts";
import { continuableSession } from "../access/visible.ts";

/** The running turn that called one of the tools. */
export interface Spawner {
  live: LiveTurn;
  run: RunningState;
  signal: AbortSignal;
}

export function spawnerOf(core: EngineCore, { turnId, signal }: Pick<ToolContext, "turnId" | "signal">): Spawner {
  const live = core.live.get(turnId);
  if (live?.state.name !== "running") throw new ToolFault("the turn has ended");
  return { live, run: live.state, signal };
}

export interface NewSubagent {
  instruction: string;
  name: string;
  conversationContextId: string | undefined;
  /** The names of the tools that it may use. Null: all tools of the spawner. */
  tools: string[] | null;
}

export async function beginSubagent(core: EngineCore, spawner: Spawner, wanted: NewSubagent): Promise<SubagentRef> {
  const { live, run } = spawner;
  if (run.subagentsBegun >= limits.subagentsPerTurnMax) {
    throw new ToolFault(
      `a turn may start at most ${limits.subagentsPerTurnMax} subagents, and this turn has started as many`,
    );
  }
  // It is counted before the first await, because calls run side by side.
  run.subagentsBegun += 1;
  const id = newId();
  const ref: SubagentRef = {
    id,
    name: wanted.name,
    owner: live.subagent?.id ?? null,
    level: (live.subagent?.level ?? 0) + 1,
    tools: wanted.tools,
  };
  const place = { turnId: id, ref, spawnedBy: live.turnId, seenTurnId: null };
  try {
    await startTurnOf(core, spawner, { ...wanted, place, parent: null });
  } catch (error) {
    run.subagentsBegun -= 1;
    throw error;
  }
  return ref;
}

/** Starts the next turn of a subagent that has ended. Throws `subagent_moved` if it got another turn meanwhile. */
export async function continueSubagent(
  core: EngineCore,
  spawner: Spawner,
  { newest, instruction }: { newest: Turn & { subagent: SubagentRef }; instruction: string },
): Promise<void> {
  const place = {
    turnId: newId(),
    ref: newest.subagent,
    spawnedBy: spawner.live.turnId,
    seenTurnId: newest.id,
  };
  const parent = await lastGoodTurn(core, newest);
  const conversationContextId = newest.manifest.conversationContext.id;
  await startTurnOf(core, spawner, { place, parent, instruction, conversationContextId });
}

/** Returns the turn to continue from. After a failed turn that did nothing it is the parent of that turn (T12). Null: there is none. */
async function lastGoodTurn({ deps }: EngineCore, newest: Turn): Promise<ContinuableTurn | null> {
  if (hasHistory(newest)) return newest;
  const before = newest.parentId === null ? null : await deps.records.turns.get(newest.parentId);
  if (before === null && newest.parentId === null) return null;
  if (before !== null && hasHistory(before)) return before;
  throw new AptoveError("history_unavailable", `the turn ${newest.parentId} of the subagent no longer exists`);
}

interface SubagentTurn {
  place: SubagentPlacement;
  parent: ContinuableTurn | null;
  instruction: string;
  conversationContextId: string | undefined;
}

async function startTurnOf(core: EngineCore, spawner: Spawner, start: SubagentTurn): Promise<void> {
  const { caller } = spawner.run.accepted;
  const { ref } = start.place;
  spawner.signal.throwIfAborted();
  const session = await continuableSession(core.deps, caller, spawner.live.sessionId);
  const request = requestOf(core, spawner, start);
  const { subagentTools } = core;
  const inherited = await core.histories.readableBefore(start.parent);
  // A subagent begins with the rules of its spawner.
  const keptRules = start.parent === null ? spawner.run.accepted.surroundings.rules : await core.rules.of(start.parent);
  const clientTools = noClientTools;
  const skills = skillsOf(spawner.run.accepted, ref);
  const asked = { caller, request, session, subagent: ref, subagentTools, inherited, clientTools, keptRules, skills };
  const accepted = await withEarlierTurns(core.histories, await acceptRequest(core.deps, asked), start.parent);
  const place = { ...newRoot, session, model: session, parent: start.parent, subagent: start.place };
  const running = await launchTurn(core, { place, request, accepted });
  // The result of a stopped call states that it did not run, so the subagent must not run either.
  if (spawner.signal.aborted) core.live.get(running.turnId)?.stop();
  const { turnId } = running;
  const facts = { subagentId: ref.id, turnId, name: ref.name };
  const instruction = summarize(start.instruction);
  runOf(spawner.live)?.recorder.emit({ type: "subagent_started", ...facts, instruction });
  void showEnd(core, spawner.live, running);
}

/**
 * Returns the request for the subagent's turn. It takes over the workspace, the repository and those tools of the
 * spawner that need no client.
 */
function requestOf(core: EngineCore, { live, run }: Spawner, start: SubagentTurn): TurnRequest {
  const { accepted } = run;
  const { tools: names } = start.place.ref;
  const { agentContext, conversationContext } = accepted;
  const { repo, language, pathPrefixes } = accepted.retrieval;
  const contextId = start.conversationContextId ?? conversationContext.id;
  const settings = contextId === conversationContext.id ? { model: accepted.model, settings: accepted.settings } : {};
  const own = [...accepted.serverTools.values()].filter((tool) => !core.subagentTools.includes(tool));
  return {
    ...settings,
    sessionId: live.sessionId,
    instruction: start.instruction,
    mode: modeFor(accepted.mode.id, contextId === conversationContext.id),
    agentContextId: agentContext.id,
    conversationContextId: contextId,
    ...(accepted.workspaceId !== null && { workspaceId: accepted.workspaceId }),
    repo,
    ...(language !== null && { language }),
    pathPrefixes,
    rules: rulesNow(accepted),
    place: accepted.surroundings.place,
    ownTools: names === null ? own : own.filter((tool) => names.includes(tool.definition.name)),
  };
}

/** Returns the rules of the repository as the spawner knows them. Those that it did not use are left out. */
function rulesNow({ surroundings: { now } }: AcceptedRequest): NonNullable<TurnRequest["rules"]> | null {
  return now === null ? null : now.texts.map(({ path, text }) => ({ path, text }));
}

/** Returns the skills of the subagent, which are its spawner's, unless it may not read them (M4). */
function skillsOf({ surroundings: { skills } }: AcceptedRequest, { tools }: SubagentRef): TurnSkills {
  return { ...(tools === null || tools.includes(readSkillTool) ? skills : noSkills), warnings: [], read: [] };
}

/**
 * Returns the mode of the subagent, which never allows more than the spawner's (P4). In the same context it is the same
 * mode. In another context only `ask` and `edit` mean the same; any other mode becomes `ask`, because it is not known
 * to be narrower.
 */
function modeFor(mode: string, isSameContext: boolean): string {
  return isSameContext || mode === "edit" ? mode : "ask";
}

/** Shows the end of the subagent in the turn that started it, or else in the running turn of the session's agent. */
async function showEnd(core: EngineCore, spawner: LiveTurn, { turnId, finished }: RunningTurn): Promise<void> {
  const turn: FinishedTurn = await finished;
  const run = runOf(spawner) ?? runOf(core.live.ofSession(spawner.sessionId));
  if (turn.subagent === undefined || run === null) return;
  const { id: subagentId, name } = turn.subagent;
  const status = turn.status === "failed" ? "failed" : "completed";
  run.recorder.emit({ type: "subagent_ended", subagentId, turnId, name, status });
}

/** Returns the run of a turn, or null if the turn does not run in this process. */
function runOf(live: LiveTurn | undefined): RunningState | null {
  return live?.state.name === "running" ? live.state : null;
}
