/** The news of a caller's sessions, for those who listen (U3, U8). */
import type { Millis } from "./ids.ts";

/**
 * How a session changed. `began` to `failed`: what its newest turn did. `gone`: it was deleted, or the caller may no longer see it.
 * `changed`: anything else, for example its labels or its head.
 */
export const sessionChanges = [
  "created",
  "began",
  "ended",
  "waits",
  "failed",
  "renamed",
  "archived",
  "unarchived",
  "gone",
  "changed",
] as const;
export type SessionChangeKind = (typeof sessionChanges)[number];

export type SessionNews =
  /** The listener may have missed something, so it reads its lists again. Each listener receives this first. */
  | { type: "read_anew"; at: Millis }
  | { type: "session_changed"; sessionId: string; what: SessionChangeKind; at: Millis }
  /** What waits for the caller changed. `count` is the number of calls that wait. */
  | { type: "approvals_changed"; count: number; at: Millis };
