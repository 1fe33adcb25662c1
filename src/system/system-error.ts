/** The codes of errors that the operating system reports through Node. */

/** Returns the code of an error, such as `ENOENT`. Empty if it has none. */
export function systemCode(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}

/** Returns true if there is nothing at the path, or a file where the path needs a folder. */
export function isAbsence(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR"].includes(systemCode(error));
}

/** Returns null if there is nothing at the path that is asked about. */
export function nullIfAbsent<T>(ask: () => T): T | null {
  try {
    return ask();
  } catch (error) {
    if (isAbsence(error)) return null;
    throw error;
  }
}
