/**
 * Everything over all sessions that waits for a person to allow it (U8): questions of running turns and of clients, and calls
 * of parked turns.
 */
import type { Caller } from "../../../domain/caller.ts";
import type { Session } from "../../../domain/session.ts";
import type { AlwaysOffer, DeferredCall, ToolCallView } from "../../../domain/tool.ts";
import type { Turn } from "../../../domain/turn.ts";
import { limits } from "../../../domain/limits.ts";
import { BoundedCache } from "../../../system/bounded-cache.ts";
import { parsedArguments } from "../../../domain/tool-arguments.ts";
import { scopeOf } from "../../access/access.ts";
import { alwaysOffer, clientAlwaysOffer } from "../../access/permanent.ts";
import { mayContinue } from "../../access/visible.ts";
import type { CallToApprove } from "../../engine.ts";
import { clientQuestionsOf } from "./client-questions.ts";
import type { EngineCore } from "./engine-core.ts";
import { questionsOf } from "./questions.ts";
import { eventsOf } from "./turn-events.ts";

/** Returns the calls that this caller may allow or deny, the oldest session activity first. */
export async function waitingCalls(core: EngineCore, caller: Caller): Promise<CallToApprove[]> {
  if (caller.role === "reader") return [];
  const { sessions } = core.deps.records;
  const busy = await Promise.all(
    (["pending", "awaiting_tool_results"] as const).map((status) =>
      sessions.list({ ...scopeOf(caller), status, archived: false, limit: limits.pageSizeMax }),
    ),
  );
  const found: CallToApprove[] = [];
  for (const session of busy.flatMap((page) => page.sessions).toSorted(byActivity)) {
    if (await mayContinue(core.deps, caller, session)) found.push(...(await callsOf(core, caller, session)));
  }
  return found;
}

/** The session that was made first comes first of those that were active in the same millisecond. */
function byActivity(a: Session, b: Session): number {
  return a.activeAt - b.activeAt || (a.id < b.id ? -1 : 1);
}

async function callsOf(core: EngineCore, caller: Caller, session: Session): Promise<CallToApprove[]> {
  const { turns } = core.deps.records;
  const offer = (view: ToolCallView | undefined): Promise<AlwaysOffer> =>
    alwaysOffer(core.deps, caller, { workspaceId: session.workspaceId, permission: view?.permission ?? null });
  const running = await turns.findPending(session.id);
  if (running !== null) {
    const at = { ...placeOf(session, running), isParked: false };
    return await Promise.all(
      (await questionsOf(core, running)).map(async (one) => ({ ...at, ...one, always: await offer(one.view) })),
    );
  }
  const head = session.headTurnId === null ? null : await turns.get(session.headTurnId);
  if (head?.status !== "awaiting_tool_results") return [];
  const calls = head.deferredCalls.filter(({ waitsFor }) => waitsFor === "approval");
  const views = calls.length === 0 ? new Map<string, ToolCallView>() : await viewsOf(core, head.id);
  const at = placeOf(session, head);
  const asked = await clientQuestionsOf(core.deps, head);
  const parked = calls.map(async (call) => {
    const view = views.get(call.callId);
    return { ...at, isParked: true, ...callOf(call), view: view ?? null, always: await offer(view) };
  });
  return [
    ...(await Promise.all(parked)),
    ...asked.map((one) => ({ ...at, isParked: false, ...one, always: clientAlwaysOffer(caller, head, one.view) })),
  ];
}

function placeOf(
  session: Session,
  turn: Turn,
): Omit<CallToApprove, "callId" | "name" | "args" | "view" | "isParked" | "always"> {
  const since = turn.status === "pending" ? turn.createdAt : turn.statusAt;
  return {
    sessionId: session.id,
    sessionName: session.name,
    turnId: turn.id,
    userId: turn.createdBy,
    mode: turn.mode,
    since,
  };
}

type CallFacts = Pick<CallToApprove, "callId" | "name" | "args" | "budgetIds">;

function callOf({ callId, name, arguments: given, budgetIds }: DeferredCall): CallFacts {
  return { callId, name, args: parsedArguments(given), ...(budgetIds !== undefined && { budgetIds }) };
}

/** A parked turn never changes, so its views are read once. */
const keptViews = new WeakMap<EngineCore, BoundedCache<ReadonlyMap<string, ToolCallView>>>();
const turnsKept = 200;

/** Returns how the calls of a turn that has ended were shown, by call. */
export async function viewsOf(core: EngineCore, turnId: string): Promise<ReadonlyMap<string, ToolCallView>> {
  const kept = keptViews.get(core) ?? new BoundedCache(turnsKept);
  keptViews.set(core, kept);
  const known = kept.get(turnId);
  if (known !== undefined) return known;
  const views = new Map<string, ToolCallView>();
  for await (const { event } of eventsOf(core, turnId, { afterSeq: 0, signal: undefined })) {
    if (event.type === "tool_call_view") views.set(event.callId, event.view);
  }
  kept.set(turnId, views, 1);
  return views;
}
