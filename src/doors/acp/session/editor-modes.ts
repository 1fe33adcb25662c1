/**
 * The modes that an editor can choose: those of the session's context, and two that only say how the editor's user wants to be
 * asked (P1, P4). An engine knows the modes of the context alone.
 */
import { editorOnlyModes, type Mode } from "../../../domain/context.ts";
import type { ToolCallView } from "../../../domain/tool.ts";

/** A mode as an editor shows it. */
export interface EditorMode {
  id: string;
  name: string;
  description?: string;
  /** The mode of the turns that are run. */
  turnMode: string;
  /** True if files are changed without a question. */
  acceptsEdits?: boolean;
  /** True if the model is asked for a plan. */
  plans?: boolean;
}

export const defaultMode = "edit";

const descriptions: Record<string, string> = {
  ask: "Answers and reads; writes and runs nothing",
  edit: "Writes files and runs commands, and asks you first",
};

const acceptEdits: EditorMode = {
  id: editorOnlyModes.acceptEdits,
  name: "Accept edits",
  description: "Changes files without asking, and asks before it runs commands",
  turnMode: "edit",
  acceptsEdits: true,
};

const plan: EditorMode = {
  id: editorOnlyModes.plan,
  name: "Plan",
  description: "Reads, and answers with a plan; writes and runs nothing",
  turnMode: "ask",
  plans: true,
};

/** Returns the modes. A mode of the context replaces one of ours that has the same id. */
export function editorModes(modes: readonly Mode[]): EditorMode[] {
  const known = new Set(modes.map(({ id }) => id));
  const own = [acceptEdits, plan].filter(({ id, turnMode }) => known.has(turnMode) && !known.has(id));
  return [...modes.map(shown), ...own];
}

function shown({ id }: Mode): EditorMode {
  const name = id.charAt(0).toUpperCase() + id.slice(1).replaceAll(/[-_]/g, " ");
  const description = descriptions[id];
  return { id, name, turnMode: id, ...(description !== undefined && { description }) };
}

/**
 * Returns true for a change of a file that may be made without a question. A change that is asked about each time, for example of
 * a file that runs by itself, has no permission.
 */
export function isAcceptedEdit({ kind, permission }: ToolCallView): boolean {
  return kind === "edit" && permission?.key.startsWith("write ") === true;
}

const planNote =
  "Plan mode: look at what you need, then answer with a plan of the changes, step by step. Change nothing and run nothing yet.";

/** Returns the instruction with the request for a plan after it. */
export function withPlanNote(instruction: string): string {
  return instruction === "" ? "" : `${instruction}\n\n${planNote}`;
}

/** Returns the instruction as its user wrote it. */
export function withoutPlanNote(instruction: string): string {
  return instruction.endsWith(`\n\n${planNote}`) ? instruction.slice(0, -planNote.length - 2) : instruction;
}
