/** The turn that a person marked to compare another one with it. */
import { signal } from "@preact/signals";

export const markedTurn = signal<string | null>(null);
