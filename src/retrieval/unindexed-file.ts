/** A tracked file that is not indexed, with the reason (Q1). */

/** Why a tracked file is not indexed. `ignored`: by `.aptoveignore` or the setting. */
export const indexSkipReasons = [
  "binary",
  "too_large",
  "lock_file",
  "ignore_file",
  "image",
  "minified",
  "generated",
  "vendored",
  "ignored",
] as const;
export type IndexSkipReason = (typeof indexSkipReasons)[number];

export interface UnindexedFile {
  path: string;
  reason: IndexSkipReason;
}
