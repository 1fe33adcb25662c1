/** Values that ACP has no field for. They are in `_meta`, under keys of the domain aptove.dev (P2). They are never trusted: any other type counts as absent. */

export type RequestMeta = { [key: string]: unknown } | null | undefined;

export const metaKeys = {
  /** The id of the device, in requests. */
  deviceId: "aptove.dev/deviceId",
  /** The beginning of the conversation, in `session/new`: true begins empty, false continues where the workspace was. */
  fresh: "aptove.dev/fresh",
  workspaceId: "aptove.dev/workspaceId",
  /** The id of a turn. In responses it is the turn that ran, or the one that the session continues from. In `session/fork` it is the turn to fork at. */
  turnId: "aptove.dev/turnId",
  /** The turn that is running, in the response to `session/load` and `session/resume`. The client then follows it. */
  runningTurnId: "aptove.dev/runningTurnId",
  /** How the followed turn ended: a stop reason of ACP, or `failed`. In the `session_info_update` at its end. */
  stopReason: "aptove.dev/stopReason",
  /** What a prompt does if a turn is running: `steer`, `queue` or `interrupt`. */
  ifBusy: "aptove.dev/ifBusy",
  /** The error code, in the response to a prompt that ended with a refusal. */
  errorCode: "aptove.dev/errorCode",
} as const;

/** Returns the value if it is a text that is not empty, or null. */
export function metaText(meta: RequestMeta, key: string): string | null {
  const value = meta?.[key];
  return typeof value === "string" && value !== "" ? value : null;
}

export function metaFlag(meta: RequestMeta, key: string): boolean | null {
  const value = meta?.[key];
  return typeof value === "boolean" ? value : null;
}

/** Returns the value if it is one of these, or null. */
export function metaChoice<T extends string>(meta: RequestMeta, key: string, choices: readonly T[]): T | null {
  const value = meta?.[key];
  return choices.find((choice) => choice === value) ?? null;
}

/** Returns `{ _meta }` with the values that are not null, or an empty object if all are null. */
export function metaOf(values: Record<string, string | null>): { _meta?: Record<string, string> } {
  const known = Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== null);
  return known.length === 0 ? {} : { _meta: Object.fromEntries(known) };
}
