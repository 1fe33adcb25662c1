/** A tracked file that is not indexed, with the reason (Q1). */

/**
 * Why a tracked file is not indexed. `secrets`: its name says that it may hold some, as `.env` does. `ignored`: by `.aptoveignore` or the setting. `unusual_path`: a control character, a line break, a
 * backslash or bytes that are not UTF-8 stand in its path, so that no model could name the file.
 */
export const indexSkipReasons = [
  "binary",
  "too_large",
  "lock_file",
  "ignore_file",
  "image",
  "minified",
  "generated",
  "vendored",
  "secrets",
  "ignored",
  "unusual_path",
] as const;
export type IndexSkipReason = (typeof indexSkipReasons)[number];

export interface UnindexedFile {
  path: string;
  reason: IndexSkipReason;
}

/** Returns the file of a path that cannot be used. Signs that would change a terminal or a list are written as their numbers. */
export function withUnusualPath(path: string): UnindexedFile {
  const shown = path.replace(
    /[\p{Cc}\p{Cs}\u2028\u2029]/gu,
    (sign) => `\\u{${(sign.codePointAt(0) ?? 0).toString(16)}}`,
  );
  return { path: shown, reason: "unusual_path" };
}
