/**
 * A session: a durable thread of turns and a head (S1). The head is the turn that the next instruction
 * continues from; it moves only by compare-and-set from the value last seen (S5).
 */
import type { Millis } from "./ids.ts";
import { limits } from "./limits.ts";
import type { TurnStatus } from "./turn.ts";

export interface Session {
  id: string;
  orgId: string;
  userId: string;
  name: string;
  /** True once somebody set the name: then the program never changes it (S2). */
  nameIsSet: boolean;
  key: string;
  description: string;
  labels: string[];
  isPublic: boolean;
  category: string | null;
  rating: number | null;
  agentContextId: string;
  conversationContextId: string;
  workspaceId: string | null;
  repo: string | null;
  defaultLanguage: string | null;
  /** The client's own data; stored and given back, never read. */
  metadata: Record<string, unknown>;
  /** The turn that a fork started from. */
  originTurnId: string | null;
  headTurnId: string | null;
  /** Sequence number of the newest turn; 0 before the first. */
  lastSequence: number;
  lastTurnStatus: TurnStatus | null;
  lastTurnAt: Millis | null;
  tokensTotal: number;
  /** US dollars: the sum of what its turns cost, of those whose price is known. */
  costUsd: number;
  createdAt: Millis;
  updatedAt: Millis;
  /** Newest of creation and turn activity: the order of lists (S7). */
  activeAt: Millis;
  archivedAt: Millis | null;
  deletedAt: Millis | null;
}

/** What a person may change of a session. */
export type SessionPatch = Partial<
  Pick<Session, "name" | "key" | "description" | "labels" | "isPublic" | "category" | "rating" | "metadata">
>;

/** Where a session's metadata says which folder it is about: an absolute path, on the machine that made it. Every door writes it alike. */
export const folderKey = "aptove.dev/cwd";

/** S2: the first line of the first instruction, cut at 60 characters; characters, not code units. */
export function sessionName(instruction: string): string {
  const firstLine = instruction.split(/\r\n|\r|\n/).find((line) => line.trim() !== "") ?? "";
  // Control characters in a name would garble terminals and lists.
  const printable = firstLine.replace(/[\p{Cc}\p{Cs}]/gu, " ").trim();
  return [...printable].slice(0, limits.sessionNameCharactersMax).join("") || "Untitled";
}

/** A slug for people and URLs, made from the name; unique only together with the session's id. */
export function sessionKey(name: string): string {
  const slug = name
    .toLowerCase()
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "");
  return slug || "session";
}
