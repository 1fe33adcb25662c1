/**
 * What an editor's session remembers beside its turns: its folders, mode and model. It is stored in the session's metadata, so
 * that `session/load` finds it after the process has died, and other doors can read it.
 */
import { folderKey, type Session } from "../../../domain/session.ts";
import type { ChosenModel } from "./model-choices.ts";

const keys = {
  cwd: folderKey,
  additionalDirectories: "aptove.dev/additionalDirectories",
  mode: "aptove.dev/mode",
  model: "aptove.dev/model",
  effort: "aptove.dev/effort",
} as const;

export interface SessionMemory {
  /** Absolute path. Null: another door created the session. */
  cwd: string | null;
  additionalDirectories: string[];
  mode: string | null;
  /** The name of the model. Earlier versions wrote its agent context too. */
  model: string | ChosenModel | null;
  /** How long the model thinks. `default`: as the contexts say. */
  effort: string | null;
}

/** Reads the memory. Clients may write any metadata, so a value of another form counts as absent. */
export function readMemory({ metadata }: Pick<Session, "metadata">): SessionMemory {
  const folders = metadata[keys.additionalDirectories];
  return {
    cwd: textOrNull(metadata[keys.cwd]),
    additionalDirectories: Array.isArray(folders) ? folders.filter((folder) => typeof folder === "string") : [],
    mode: textOrNull(metadata[keys.mode]),
    model: modelOrNull(metadata[keys.model]),
    effort: textOrNull(metadata[keys.effort]),
  };
}

/** Returns the metadata with these changes. All other keys stay. */
export function withMemory(
  metadata: Session["metadata"],
  { cwd, additionalDirectories, mode, model, effort }: Partial<SessionMemory>,
): Session["metadata"] {
  return {
    ...metadata,
    ...(cwd != null && { [keys.cwd]: cwd }),
    ...(additionalDirectories !== undefined && { [keys.additionalDirectories]: additionalDirectories }),
    ...(mode != null && { [keys.mode]: mode }),
    ...(model != null && { [keys.model]: typeof model === "string" ? model : { ...model } }),
    ...(effort != null && { [keys.effort]: effort }),
  };
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function modelOrNull(value: unknown): string | ChosenModel | null {
  if (typeof value === "string") return textOrNull(value);
  if (typeof value !== "object" || value === null) return null;
  const { agentContextId, model } = value as Record<string, unknown>;
  return typeof agentContextId === "string" && typeof model === "string" ? { agentContextId, model } : null;
}
