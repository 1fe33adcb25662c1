/** Tools as the model, people and doors know them. */

/** A tool as it is offered to the model. `parameters` is a JSON Schema object. */
export interface ToolDefinition {
  name: string;
  description?: string;
  parameters: Record<string, unknown>;
  strict?: boolean;
  /** What a call may do; never sent to the model. Mode `ask` allows none that write or run. Absent: not known, and allowed in every mode. */
  effect?: ToolEffect;
}

export type ToolEffect = "read" | "write" | "run";

/** A call that waits for an answer from outside (V5). */
export interface DeferredCall {
  callId: string;
  name: string;
  arguments: string;
  /** `client`: the caller runs it and sends the result. `approval`: the caller allows or denies it. */
  waitsFor: "client" | "approval";
}

/** A caller's answer to a deferred call (T9): the result of a client's tool, or a word on an approval. */
export type ToolFeedback =
  | { callId: string; output: string; isError: boolean }
  | { callId: string; approved: boolean; reason?: string };

/** How a call is shown to a person, before it has run and beside its result. */
export interface ToolCallView {
  /** One line, for example `Run npm test`. */
  title: string;
  kind: ToolCallKind;
  /** Absolute paths that the call is about. */
  locations: ToolLocation[];
  /** What it is about to do, for example the change of a file; empty where the title says all. */
  content: ToolContent[];
  /** What somebody allows who allows it for ever in this workspace; null: that cannot be allowed. */
  permission: ToolPermission | null;
}

export type ToolCallKind = "read" | "edit" | "delete" | "move" | "search" | "execute" | "think" | "fetch" | "other";

export interface ToolLocation {
  path: string;
  /** From 1. */
  line?: number;
}

export type ToolContent =
  | { type: "text"; text: string }
  /** A change of one file. `oldText` null: it is new. */
  | { type: "diff"; path: string; oldText: string | null; newText: string }
  /** What the model means to do; the newest one counts. */
  | { type: "plan"; steps: PlanStep[] };

export interface PlanStep {
  content: string;
  status: "pending" | "in_progress" | "completed";
}

/** `key` is what is remembered, and equal for whatever is allowed together; `label` names it to a person: "npm test". */
export interface ToolPermission {
  key: string;
  label: string;
}
