/** The memory of a workspace (M3): facts that a person or the model wrote down, which later sessions of the workspace are given. */
import { AptoveError } from "./errors.ts";
import { sha256, type Millis } from "./ids.ts";
import { limits } from "./limits.ts";

/** One fact of a workspace's memory. */
export interface Fact {
  /** Its name in the workspace. It contains nothing of the text, because manifests keep it when the fact is forgotten. */
  id: string;
  text: string;
  /** SHA-256 of the text. */
  hash: string;
  /** The time at which it was written down. Null: unknown, because a person wrote it without one. */
  createdAt: Millis | null;
  /** The turn that it came from. Null: a person wrote it down outside of a session. */
  source: FactSource | null;
}

export interface FactSource {
  sessionId: string;
  turnId: string;
}

/** A part of the memory that cannot be used, and why. */
export interface FactFault {
  name: string;
  reason: string;
}

export interface Memory {
  /** Sorted by the time of writing, then by id. */
  facts: Fact[];
  faults: FactFault[];
}

/**
 * The store of the facts of workspaces. A call for a workspace that does not exist throws `workspace_unknown`, but `read`
 * returns null. Several processes may call it at the same time, and none of their changes is lost. No cache hides a change
 * of another process or of a person.
 */
export interface FactStore {
  /** Returns the memory of a workspace. What cannot be used is listed as a fault, and hides nothing else. */
  read(workspaceId: string): Promise<Memory | null>;
  /** Adds a fact. If there is one with the same text, it stays and is returned. Throws `fact_invalid`. */
  add(workspaceId: string, fact: NewFact): Promise<Fact>;
  /** Replaces the text of a fact. Null: there is none with this id. Throws `fact_invalid`, and `fact_changed` if its hash is not the expected one. */
  change(workspaceId: string, change: FactChange): Promise<Fact | null>;
  /**
   * Removes a fact, every other fact with the same text, and every copy that the store made of them. Returns their ids;
   * empty if there is none with this id. When the call resolves, no later `read` has them, also after kill -9.
   */
  forget(workspaceId: string, id: string): Promise<string[]>;
}

export interface NewFact {
  text: string;
  at: Millis;
  source: FactSource | null;
}

export interface FactChange {
  id: string;
  text: string;
  /** The hash of the text that the change is based on. Absent: any. */
  expectedHash?: string;
}

/** A fact as a manifest keeps it. */
export interface FactRef {
  id: string;
  workspaceId: string;
  /** SHA-256 of the text as the model has it. */
  contentHash: string;
  /** The turn that the fact came from. Null: a person wrote it down outside of a session. */
  sourceTurnId: string | null;
  /** False if an earlier message of the history has it. */
  wasSent: boolean;
}

/** A fact that a message brought, as the history keeps it. */
export interface SentFact {
  id: string;
  workspaceId: string;
  hash: string;
}

const idPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export function isFactId(text: string): boolean {
  return idPattern.test(text);
}

/** Returns the text as it is kept: with line feeds, and without white space around it. Throws `fact_invalid`. */
export function checkedFact(given: string): string {
  const text = plainFact(given);
  const fault = factFault(text);
  if (fault !== null) throw new AptoveError("fact_invalid", fault);
  return text;
}

/** Returns the text of a fact without byte order mark, with line feeds, and without white space around it. */
export function plainFact(text: string): string {
  return text
    .replace(/^\uFEFF/, "")
    .replace(/\r\n?/g, "\n")
    .trim();
}

/** Returns why a text cannot be a fact. Null: it can. */
export function factFault(text: string): string | null {
  if (text === "") return "a fact must have a text";
  if (!text.isWellFormed()) return "the text contains half of a surrogate pair";
  if (text.includes("\u0000")) return "the text contains a NUL";
  const { length } = new TextEncoder().encode(text);
  if (length <= limits.factBytesMax) return null;
  return `the text has ${length} bytes; a fact has at most ${limits.factBytesMax}`;
}

export function factHash(text: string): string {
  return sha256(text);
}

/** Sorts facts by the time of writing, then by id. Those without a time are the last ones. */
export function sortedFacts(facts: readonly Fact[]): Fact[] {
  const time = ({ createdAt }: Fact): number => createdAt ?? Number.POSITIVE_INFINITY;
  return facts.toSorted((one, other) => {
    if (time(one) !== time(other)) return time(one) - time(other);
    return one.id < other.id ? -1 : 1;
  });
}
