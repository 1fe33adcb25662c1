/**
 * What a session of an editor remembers beside its turns: its folders, and what it was set to. It stands in the
 * session's own metadata, so that `session/load` finds it after the process died, and other doors see it.
 */
import { folderKey, type Session } from "../../../domain/session.ts";
import type { ChosenModel } from "./session-options.ts";

const keys = {
  cwd: folderKey,
  additionalDirectories: "aptove.dev/additionalDirectories",
  mode: "aptove.dev/mode",
  model: "aptove.dev/model",
} as const;

export interface SessionMemory {
  /** Absolute; null: another door made the session. */
  cwd: string | null;
  additionalDirectories: string[];
  mode: string | null;
  model: ChosenModel | null;
}

/** Metadata belongs to clients: what is not of our form counts as absent. */
export function readMemory({ metadata }: Pick<Session, "metadata">): SessionMemory {
  const folders = metadata[keys.additionalDirectories];
  return {
    cwd: textOrNull(metadata[keys.cwd]),
    additionalDirectories: Array.isArray(folders) ? folders.filter((folder) => typeof folder === "string") : [],
    mode: textOrNull(metadata[keys.mode]),
    model: modelOrNull(metadata[keys.model]),
  };
}

/** The metadata with these changes; the rest of it stays. */
export function withMemory(
  metadata: Session["metadata"],
  { cwd, additionalDirectories, mode, model }: Partial<SessionMemory>,
): Session["metadata"] {
  return {
    ...metadata,
    ...(cwd != null && { [keys.cwd]: cwd }),
    ...(additionalDirectories !== undefined && { [keys.additionalDirectories]: additionalDirectories }),
    ...(mode != null && { [keys.mode]: mode }),
    ...(model != null && { [keys.model]: { ...model } }),
  };
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function modelOrNull(value: unknown): ChosenModel | null {
  if (typeof value !== "object" || value === null) return null;
  const { agentContextId, model } = value as Record<string, unknown>;
  return typeof agentContextId === "string" && typeof model === "string" ? { agentContextId, model } : null;
}
