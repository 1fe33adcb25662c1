/**
 * Finds what a client continues that names nothing, because it sends its whole history each time (O5): the longest beginning that
 * is stored, else the session of its prompt cache key.
 */
import type { Caller } from "../../../domain/caller.ts";
import type { ConversationItem } from "../../../domain/history.ts";
import type { Session } from "../../../domain/session.ts";
import type { Engine, SessionStart, TurnRequest } from "../../../engine/engine.ts";
import { turnInput } from "../read-input.ts";

/** The key of a session's metadata that holds the prompt cache key of its client. */
const cacheKeyKey = "aptove.dev/prompt-cache-key";

/** Returns the key by which the session of a request is found. Null: the request has none, or its content is not stored (O3). */
export function cacheKeyOf({ prompt_cache_key: key, store }: KeyedRequest): string | null {
  return store === false || key === undefined || key === "" ? null : key;
}

interface KeyedRequest {
  prompt_cache_key?: string | null | undefined;
  store?: boolean | null | undefined;
}

interface Continuing {
  engine: Engine;
  caller: Caller;
  /** The turn that the items follow. */
  below?: string;
  /** The client's key. Null: there is none, or nothing may be stored for it. */
  cacheKey: string | null;
}

/**
 * Returns the input of the turn. If the client sends a history that is stored already, the turn continues it and is given only
 * what is new.
 */
export async function continuedByHistory(
  { engine, caller, below, cacheKey }: Continuing,
  items: readonly ConversationItem[],
): Promise<TurnRequest> {
  const hasHistory = items.some(({ type }) => type === "assistant" || type === "tool_call");
  const found = hasHistory ? await engine.turns.find(caller, items, below) : null;
  const session = startOf(cacheKey);
  if (found !== null && found.items < items.length) {
    const after = { turnId: found.turnId };
    return { ...turnInput(items.slice(found.items)), after, isFindable: true, session };
  }
  const input = turnInput(items);
  if (below !== undefined) return { ...input, after: { turnId: below }, isFindable: true, session };
  const isBeginning = items.filter(({ type }) => type !== "system").length < 2;
  const known = isBeginning || cacheKey === null ? null : await onlySession(engine, caller, cacheKey);
  const emptied = known === null ? null : await withoutHistory(engine, caller, known);
  return { ...input, ...(emptied !== null && { after: { turnId: emptied } }), isFindable: true, session };
}

function startOf(cacheKey: string | null): Pick<SessionStart, "metadata"> {
  return cacheKey === null ? {} : { metadata: { [cacheKeyKey]: cacheKey } };
}

/** Returns the caller's session with this key. Null if there is none, or several: then the key names no conversation. */
async function onlySession(engine: Engine, caller: Caller, value: string): Promise<Session | null> {
  const query = { memberId: caller.userId, metadata: { key: cacheKeyKey, value }, archived: false, limit: 2 };
  const { sessions } = await engine.sessions.list(caller, query);
  const [only, another] = sessions.filter(({ userId }) => userId === caller.userId);
  return another === undefined ? (only ?? null) : null;
}

/**
 * Hides the history of a session's head from the model, because the client has replaced it, for example by a summary. Returns
 * the turn below which the new history begins. Null: the head cannot be continued so.
 */
async function withoutHistory(engine: Engine, caller: Caller, { headTurnId }: Session): Promise<string | null> {
  if (headTurnId === null) return null;
  const head = await engine.turns.get(caller, headTurnId);
  if (head.status !== "completed") return null;
  const history = await engine.turns.history(caller, headTurnId);
  const hides = history.flatMap(({ turnId, items }) => items.map(({ at }) => ({ turnId, at })));
  const nothing = { instruction: "", instructions: "", tools: [], onlyNamedTools: true, withoutModel: true };
  const running = await engine.turns.run(caller, { ...nothing, after: { turnId: headTurnId }, hides });
  const turn = await running.finished;
  return turn.status === "completed" ? turn.id : null;
}
