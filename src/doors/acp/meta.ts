/** What ACP has no field for travels in `_meta`, under keys of our domain (P2). Reads whatever stands there, and believes nothing. */

export type Meta = { [key: string]: unknown } | null | undefined;

export const metaKeys = {
  /** Of requests: the device that asks. */
  deviceId: "aptove.dev/deviceId",
  /** Of `session/new`: true begins empty, false goes on where the workspace was. */
  fresh: "aptove.dev/fresh",
  workspaceId: "aptove.dev/workspaceId",
  /** Of answers: the turn that was run, or that the session goes on from. Of `session/fork`: where to fork. */
  turnId: "aptove.dev/turnId",
  /** Of a prompt that ended in a refusal: the code of the failure. */
  errorCode: "aptove.dev/errorCode",
} as const;

/** A text that is not empty, or null. */
export function metaText(meta: Meta, key: string): string | null {
  const value = meta?.[key];
  return typeof value === "string" && value !== "" ? value : null;
}

export function metaFlag(meta: Meta, key: string): boolean | null {
  const value = meta?.[key];
  return typeof value === "boolean" ? value : null;
}

/** `{ _meta }` of what is known; nothing where nothing is. */
export function metaOf(values: Record<string, string | null>): { _meta?: Record<string, string> } {
  const known = Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== null);
  return known.length === 0 ? {} : { _meta: Object.fromEntries(known) };
}
