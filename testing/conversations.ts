/** Sessions and their finished turns as the engine tells a workspace of them, without an engine. */
import { newId } from "../src/domain/ids.ts";
import type { TranscribedTurn, TranscriptMessage } from "../src/domain/transcript.ts";

interface Said {
  turnId: string;
  sessionId: string;
  parentTurnId: string | null;
  messages: TranscriptMessage[];
}

export class Conversations {
  readonly #turns = new Map<string, Said>();
  readonly #sessions = new Map<string, { createdAt: number; head: string | null }>();
  /** How often anybody asked for what was said before a turn. */
  earlierAsked = 0;

  /** A session that begins empty, or below a turn. */
  begin({ at = 0, below = null }: { at?: number; below?: string | null } = {}): string {
    const id = newId();
    this.#sessions.set(id, { createdAt: at, head: below });
    return id;
  }

  headOf(sessionId: string): string | null {
    return this.#session(sessionId).head;
  }

  /** The session's next turn; `after`: not below its head but below this turn. */
  say(sessionId: string, messages: TranscriptMessage[], after?: string | null): TranscribedTurn {
    const session = this.#session(sessionId);
    const parentTurnId = after === undefined ? session.head : after;
    const turn = { turnId: newId(), sessionId, parentTurnId, messages };
    this.#turns.set(turn.turnId, turn);
    session.head = turn.turnId;
    return this.#told(turn);
  }

  /** The same turn once more, as the engine would tell it. */
  again(turnId: string): TranscribedTurn {
    return this.#told(this.#turn(turnId));
  }

  /** All that was said from the root to the session's head. */
  messagesOf(sessionId: string): TranscriptMessage[] {
    return this.#lineage(this.#session(sessionId).head).flatMap(({ messages }) => messages);
  }

  #told(turn: Said): TranscribedTurn {
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

  #lineage(turnId: string | null): Said[] {
    const lineage: Said[] = [];
    for (let at = turnId; at !== null; at = this.#turn(at).parentTurnId) lineage.unshift(this.#turn(at));
    return lineage;
  }

  #turn(id: string): Said {
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
