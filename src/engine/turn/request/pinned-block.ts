/**
 * The `[PINNED]` block: passages of the conversation that the user pinned and that the model would otherwise only have as
 * a summary (M6). A model may have written them, from material of any author, so each stays inside its fence (E3).
 */
import type { Pin } from "../../../domain/pin.ts";
import { fenced } from "./context-block.ts";

export interface PinnedText {
  pin: Pin;
  text: string;
}

const about =
  "The user pinned these passages of the conversation. They stand here word for word, because a summary stands for the turns that they are from.";

/** Returns the block, oldest turn first. Null if nothing is pinned. */
export function pinnedBlock(passages: readonly PinnedText[]): string | null {
  if (passages.length === 0) return null;
  const ordered = passages.toSorted((a, b) => a.pin.depth - b.pin.depth || a.pin.from - b.pin.from);
  return `[PINNED]\n${about}\n\n${ordered.map((passage, index) => passageBlock(passage, index + 1)).join("\n")}`;
}

function passageBlock({ pin: { turnId, depth, part }, text }: PinnedText, number: number): string {
  const from = part === "turn" ? "the instruction and the answer" : `the ${part}`;
  const facts = [`=== PINNED ${number} ===`, `Turn: ${depth}`, `Id: ${turnId}`, `From: ${from}`];
  return [...facts, fenced(text.toWellFormed(), "plaintext"), ""].join("\n");
}
