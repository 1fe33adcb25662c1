/** The texts of a turn in the form that search needs (S8). */
import type { TurnText } from "../../record-store.ts";
import { foldedText, storableText } from "../../search-text.ts";
import type { TextRow } from "../tables.ts";

export function textToRow(text: TurnText): Omit<TextRow, "session_id" | "sequence"> {
  const instruction = storableText(text.instruction);
  const answer = storableText(text.answer);
  return {
    instruction,
    answer,
    folded_instruction: foldedWhereNeeded(instruction),
    folded_answer: foldedWhereNeeded(answer),
  };
}

/** Returns null if both database engines fold the text in the same way by themselves. */
function foldedWhereNeeded(storable: string): string | null {
  const folded = foldedText(storable);
  return folded === storable.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()) ? null : folded;
}
