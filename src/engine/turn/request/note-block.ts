/** The `[NOTE]` block of the user message (E2): facts about the history that the model could not know otherwise. */

/** Returns the block, or null if there is nothing to note. */
export function noteBlock(notes: readonly string[]): string | null {
  return notes.length === 0 ? null : `[NOTE]\n${notes.join("\n")}`;
}
