/** Tools: how the model, people and doors see them and their calls. */
import type { InputPart } from "./input-part.ts";

/** A tool as the model receives it. `parameters` is a JSON Schema of type object. */
export interface ToolDefinition {
  name: string;
  description?: string;
  parameters: Record<string, unknown>;
  strict?: boolean;
  /**
   * What a call can do. The model never receives it. Mode `ask` allows no tool that writes or runs. Absent: not known,
   * and every mode allows the tool.
   */
  effect?: ToolEffect;
}

export type ToolEffect = "read" | "write" | "run";

/** A call that waits for an answer of the caller (V5). */
export interface DeferredCall {
  callId: string;
  name: string;
  arguments: string;
  /**
   * What the call waits for. `client`: the caller runs it and sends the result. `approval`: the caller allows or denies
   * it.
   */
  waitsFor: "client" | "approval";
  /**
   * The budgets that the next call of the model could pass (F11). Then this is no call of a tool: no item of the history has
   * its id, and an approval lets the call of the model pass once. Absent: it is a call of a tool.
   */
  budgetIds?: string[];
}

/**
 * The caller's answer to a deferred call (T9): the result of a client's tool, or an approval or denial. A result may have images and
 * documents, which the model sees at once. A stored turn has references to them.
 */
export type ToolFeedback<Media = InputPart> =
  | { callId: string; output: string; isError: boolean; media?: Media[] }
  | { callId: string; approved: boolean; reason?: string };

/** How a person sees a call, before it has run and beside its result. */
export interface ToolCallView {
  /** One line, for example `Run npm test`. */
  title: string;
  kind: ToolCallKind;
  /** Absolute paths that the call is about. */
  locations: ToolLocation[];
  /** What the call will do, for example the change of a file. Empty if the title is enough. */
  content: ToolContent[];
  /**
   * What a person allows if they allow calls like this one permanently in this workspace. Null: that is not possible.
   */
  permission: ToolPermission | null;
}

export type ToolCallKind = "read" | "edit" | "delete" | "move" | "search" | "execute" | "think" | "fetch" | "other";

export interface ToolLocation {
  path: string;
  /** The line, counted from 1. */
  line?: number;
}

export type ToolContent =
  | { type: "text"; text: string }
  /** A change of one file. `oldText` is null if the file is new. */
  | { type: "diff"; path: string; oldText: string | null; newText: string }
  /** An image that the tool returned, for people only. `data` is base64. */
  | { type: "image"; mimeType: string; data: string }
  /** The plan of the model. The newest plan replaces the earlier ones. */
  | { type: "plan"; steps: PlanStep[] };

export interface PlanStep {
  content: string;
  status: "pending" | "in_progress" | "completed";
}

/**
 * A permission that can be remembered. Calls with the same `key` are allowed together. `label` is the name that a
 * person sees, for example "npm test".
 */
export interface ToolPermission {
  key: string;
  label: string;
}

/** How far a permanent permission reaches: calls of the workspace, or of one running chat. */
export const alwaysScopes = ["workspace", "chat"] as const;

/** Why a call cannot be allowed permanently: each one is asked, there is no workspace, another person decides, or the caller is a device. */
export const notAlways = ["each_time", "no_workspace", "not_yours", "device"] as const;
export type NotAlways = (typeof notAlways)[number];

export interface OfferedAlways {
  /** What is allowed, for people, for example "npm test". */
  label: string;
  scope: (typeof alwaysScopes)[number];
}

/** What can be allowed permanently with an answer, or why nothing can. */
export type AlwaysOffer = OfferedAlways | { not: NotAlways };

/** How a client shows a call of its own tools. `always`: what it would allow permanently. It keeps the key itself. */
export interface ClientCallView extends ToolCallView {
  always?: OfferedAlways;
}
