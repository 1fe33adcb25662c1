/** Leaves out the outputs that a conversation already has: some clients send all of them again with each step (T9, O2). */
import type { Caller } from "../../../domain/caller.ts";
import type { Turn } from "../../../domain/turn.ts";
import type { Engine, TurnRequest } from "../../../engine/engine.ts";
import { unlessHidden } from "../wire-error.ts";

/**
 * Returns the request without outputs of calls that were answered before with the same text. Another text is a fault, which the
 * engine names, and so is a request with nothing else.
 */
export async function withoutKnownResults(engine: Engine, caller: Caller, request: TurnRequest): Promise<TurnRequest> {
  const { sessionId, toolResults = [], instruction, input = [], earlier = [] } = request;
  if (sessionId === undefined || toolResults.length === 0) return request;
  const head = await headOf(engine, caller, sessionId);
  if (head === null) return request;
  const waiting = new Set(
    head.status === "awaiting_tool_results" ? head.deferredCalls.map(({ callId }) => callId) : [],
  );
  if (toolResults.every(({ callId }) => waiting.has(callId))) return request;
  const known = await resultsAt(engine, caller, head.id);
  const news = toolResults.filter(
    (result) => waiting.has(result.callId) || !("output" in result) || known.get(result.callId) !== result.output,
  );
  const isEmpty = news.length === 0 && instruction === "" && input.length === 0 && earlier.length === 0;
  return isEmpty ? request : { ...request, toolResults: news };
}

async function headOf(engine: Engine, caller: Caller, sessionId: string): Promise<Turn | null> {
  const { headTurnId, originTurnId } = await engine.sessions.get(caller, sessionId);
  const id = headTurnId ?? originTurnId;
  return id === null ? null : await engine.turns.get(caller, id).catch(unlessHidden);
}

async function resultsAt(engine: Engine, caller: Caller, turnId: string): Promise<Map<string, string>> {
  const history = await engine.turns.history(caller, turnId);
  const items = history.flatMap((turn) => turn.items.map(({ item }) => item));
  return new Map(items.flatMap((item) => (item.type === "tool_result" ? [[item.callId, item.output] as const] : [])));
}
