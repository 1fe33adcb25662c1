/**
 * The sessions whose newest turn ended in this process, as that end left them, and the newest contexts of their orgs. The next
 * turn of such a session reads nothing before it opens: its opening is refused if anything of this has changed since, on
 * whatever server, and then the turn reads (B1, K5). A store on the same machine gives nothing to remember.
 */
import { isDeepStrictEqual } from "node:util";
import type { ContextVersionFacts } from "../../../domain/context.ts";
import { limits } from "../../../domain/limits.ts";
import type { FinishedTurn } from "../../../domain/turn.ts";
import type { RecordStore } from "../../../records/record-store.ts";
import type { RememberedState, SessionAfterTurn } from "../../../records/turns.ts";
import type { SessionWithHead } from "../../../records/sessions.ts";
import { BoundedCache } from "../../../system/bounded-cache.ts";

/** The position of a session's next turn, and the contexts that count for it. */
export interface RememberedPlace extends SessionWithHead {
  contexts: ContextVersionFacts[];
  state: RememberedState;
}

type Ended = Omit<SessionAfterTurn, "session"> & SessionWithHead;

export class RememberedPlaces {
  readonly #sessions = new BoundedCache<Ended>(limits.rememberedSessionsMax);
  readonly #contexts = new BoundedCache<ContextVersionFacts[]>(limits.rememberedSessionsMax);

  /** Keeps the session if the turn became its head. */
  ended(turn: FinishedTurn, after: SessionAfterTurn | undefined): void {
    if (after === undefined || after.session.headTurnId !== turn.id) return;
    this.#sessions.set(turn.sessionId, { ...after, head: turn }, 1);
  }

  /** Reads the newest contexts of the org, and keeps them. */
  async contextsOf({ contexts }: Pick<RecordStore, "contexts">, orgId: string): Promise<ContextVersionFacts[]> {
    const newest = await contexts.listNewest(orgId);
    this.#contexts.set(orgId, newest, 1);
    return newest;
  }

  /** Returns what is remembered of the session, and forgets it: the turn that uses it changes the session, or shows that it has changed. */
  take(orgId: string, sessionId: string): RememberedPlace | null {
    const contexts = this.#contexts.get(orgId);
    const ended = this.#sessions.get(sessionId);
    this.#sessions.delete(sessionId);
    if (contexts === undefined || ended === undefined || ended.session.orgId !== orgId) return null;
    const { session, head, version } = ended;
    return { session, head, contexts, state: { sessionVersion: version, orgId, contexts } };
  }

  /** Returns true if the stores have it like that, and keeps it again. */
  async stillHolds(
    { sessions, contexts }: Pick<RecordStore, "sessions" | "contexts">,
    { session, head, contexts: known, state }: RememberedPlace,
  ): Promise<boolean> {
    const [found, newest] = await Promise.all([sessions.get(session.id), contexts.listNewest(session.orgId)]);
    if (!isDeepStrictEqual([found, newest], [session, known])) return false;
    this.#sessions.set(session.id, { session, head, version: state.sessionVersion }, 1);
    return true;
  }
}
