/** The `[NOTE]` block of the user message (E2): facts about the history that the model could not know otherwise. */
import { errorCatalogue } from "../../../domain/errors.ts";
import type { ContinuableTurn } from "../../../domain/turn.ts";

/** Returns the block, or null if there is nothing to note. */
export function noteBlock(notes: readonly string[]): string | null {
  return notes.length === 0 ? null : `[NOTE]\n${notes.join("\n")}`;
}

/**
 * Returns how the turn before ended, if it did not end by itself (T10, T12). Words of a provider are left out: they are
 * not ours, and the model needs only the kind of the failure.
 */
export function endingNotes(parent: ContinuableTurn | null): string[] {
  if (parent === null) return [];
  if (parent.status === "failed") {
    const { code } = parent.failures[0];
    return [
      `The turn before this one failed: ${errorCatalogue[code].title} (${code}). What it did before that is above; its last text may be cut off. ` +
        "A call without a proper result may have run or not: check before you repeat it.",
    ];
  }
  if (parent.stopReason !== "interrupted") return [];
  return [
    "The turn before this one was stopped before its end. What it did before that is above; its last text may be cut off.",
  ];
}

/** Returns the note of a message that was sent to the turn before, and that the model never received (V4). */
export function unheardNote(text: string): string {
  return `The user also sent this message to the turn before, which ended before you could receive it: ${text}`;
}
