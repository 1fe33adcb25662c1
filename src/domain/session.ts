/**
 * A session: a durable thread of turns with a head (S1). The head is the turn that the next instruction continues from.
 * It changes only by compare-and-set from the value that the writer last read (S5).
 */
import type { ModelSettings } from "./context.ts";
import type { Millis } from "./ids.ts";
import { limits } from "./limits.ts";
import { cutText, oneLine } from "./one-line.ts";
import type { Pin } from "./pin.ts";
import type { TurnName } from "./turn-name.ts";
import type { TurnPosition, TurnStatus } from "./turn.ts";

/** A session with all of its fields (S1). Rows and the wire have the same fields. */
export interface Session {
  id: string;
  orgId: string;
  userId: string;
  name: string;
  /** True if a person has set the name. Then the program never changes it (S2). */
  nameIsSet: boolean;
  key: string;
  description: string;
  labels: string[];
  isPublic: boolean;
  /** True for a draft: only its owner sees it, and no list or search of others shows it. */
  isDraft: boolean;
  category: string | null;
  rating: number | null;
  agentContextId: string;
  conversationContextId: string;
  /** The model that a person chose for the session, in the words of G3. Null: the contexts decide (S9). */
  model: string | null;
  /** The settings that a person chose for the session. They count before those of its contexts (S9). */
  settings: ModelSettings;
  workspaceId: string | null;
  /** The repository that the session is about. Null: none. */
  repo: string | null;
  /** More repositories that the session is about, in order, after `repo` (M7). They are chosen when it begins. */
  otherRepos: string[];
  defaultLanguage: string | null;
  /** Data of the client. It is stored and returned, and the program never reads it. */
  metadata: Record<string, unknown>;
  /** What no compaction drops (M6), oldest first. A fork takes over the pins of its history. */
  pins: Pin[];
  /** The names that people gave turns (U5), by depth. A fork takes over those of its history. */
  turnNames: TurnName[];
  /** The turn that a fork started from. Null if the session is no fork. */
  originTurnId: string | null;
  headTurnId: string | null;
  /** The sequence number of the newest turn. 0 before the first turn. */
  lastSequence: number;
  lastTurnStatus: TurnStatus | null;
  lastTurnAt: Millis | null;
  tokensTotal: number;
  /** The cost of all turns whose price is known, in US dollars. */
  costUsd: number;
  createdAt: Millis;
  updatedAt: Millis;
  /**
   * The time of the newest activity: the creation of the session or of its newest turn. Lists are sorted by it (S7).
   */
  activeAt: Millis;
  archivedAt: Millis | null;
  deletedAt: Millis | null;
}

/** What a person chose for the turns of a session (S9). */
export type StandingChoice = Pick<Session, "agentContextId" | "conversationContextId" | "model" | "settings">;

/** The fields of a session that a person may change. */
export type SessionPatch = Partial<
  StandingChoice &
    Pick<
      Session,
      "name" | "key" | "description" | "labels" | "isPublic" | "isDraft" | "category" | "rating" | "metadata"
    >
>;

/**
 * The key of a session's metadata that holds the folder of the session: an absolute path on the machine that made it.
 * Every door uses this key.
 */
export const folderKey = "aptove.dev/cwd";

/**
 * Returns the name of a session: the first line of its first instruction, cut at 60 characters, of which the last
 * is then `…`. They are counted as Unicode characters, not as code units (S2).
 */
export function sessionName(instruction: string): string {
  const firstLine = instruction.split(/\r\n|\r|\n/).find((line) => line.trim() !== "") ?? "";
  return cutText(oneLine(firstLine), limits.sessionNameCharactersMax) || "Untitled";
}

/** Returns a slug for people and URLs, made from the name. It is unique only together with the id of the session. */
export function sessionKey(name: string): string {
  const slug = name
    .toLowerCase()
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "");
  return slug || "session";
}

type SessionPlace = Pick<Session, "headTurnId" | "originTurnId">;
type TreePlace = Pick<TurnPosition, "id" | "parentId">;

/** Returns whether the turn is the head, or directly below it. A fork without a head is at the turn that it was forked from. */
export function isAtHead({ headTurnId, originTurnId }: SessionPlace, { id, parentId }: TreePlace): boolean {
  const head = headTurnId ?? originTurnId;
  return head === id || head === parentId;
}

/**
 * Returns the turn that a retry repeats, of the newest turns of the session's agent, newest first (T12). After several undos that
 * is the newest one at the head or directly below it, so that the rerun stays in the session. Undefined: there are no turns.
 */
export function turnToRepeat<T extends TreePlace>(session: SessionPlace, turns: readonly T[]): T | undefined {
  return turns.find((turn) => isAtHead(session, turn)) ?? turns[0];
}
