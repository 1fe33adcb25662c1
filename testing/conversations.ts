/** Sessions and their finished turns in the form that the engine passes to a workspace, without an engine. */
import { newId } from "../src/domain/ids.ts";
import type { TranscribedTurn, TranscriptMessage } from "../src/domain/transcript.ts";

interface StoredTurn {
  turnId: string;
  sessionId: string;
  parentTurnId: string | null;
  messages: TranscriptMessage[];
}

export class Conversations {
  readonly #turns = new Map<string, StoredTurn>();
  readonly #sessions = new Map<string, { createdAt: number; head: string | null }>();
  /** The number of times that the history before a turn was read. */
  earlierAsked = 0;

  /** Begins a session, empty or below a turn. */
  begin({ at = 0, below = null }: { at?: number; below?: string | null } = {}): string {
    const id = newId();
    this.#sessions.set(id, { createdAt: at, head: below });
    return id;
  }

  headOf(sessionId: string): string | null {
    return this.#session(sessionId).head;
  }

  /** Adds the session's next turn below its head, or below the turn `after`. */
  say(sessionId: string, messages: TranscriptMessage[], after?: string | null): TranscribedTurn {
    const session = this.#session(sessionId);
    const parentTurnId = after === undefined ? session.head : after;
    const turn = { turnId: newId(), sessionId, parentTurnId, messages };
    this.#turns.set(turn.turnId, turn);
    session.head = turn.turnId;
    return this.#transcribed(turn);
  }

  /** Returns the same turn again, as the engine would pass it. */
  again(turnId: string): TranscribedTurn {
    return this.#transcribed(this.#turn(turnId));
  }

  /** Returns all messages from the root to the session's head. */
  messagesOf(sessionId: string): TranscriptMessage[] {
    return this.#lineage(this.#session(sessionId).head).flatMap(({ messages }) => messages);
  }

  #transcribed(turn: StoredTurn): TranscribedTurn {
    return {
      ...turn,
      provider: "scripted",
      model: "model-1",
      sessionCreatedAt: this.#session(turn.sessionId).createdAt,
      earlier: async () => {
        this.earlierAsked += 1;
        return this.#lineage(turn.parentTurnId);
      },
    };
  }

  #lineage(turnId: string | null): StoredTurn[] {
    const lineage: StoredTurn[] = [];
    for (let at = turnId; at !== null; at = this.#turn(at).parentTurnId) lineage.unshift(this.#turn(at));
    return lineage;
  }

  #turn(id: string): StoredTurn {
    const turn = this.#turns.get(id);
    if (turn === undefined) throw new RangeError(`there is no turn ${id}`);
    return turn;
  }

  #session(id: string): { createdAt: number; head: string | null } {
    const session = this.#sessions.get(id);
    if (session === undefined) throw new RangeError(`there is no session ${id}`);
    return session;
  }
}

export function asked(text: string, answer: string): TranscriptMessage[] {
  return [
    { role: "user", text },
    { role: "assistant", text: answer },
  ];
}
