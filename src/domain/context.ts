/**
 * Contexts and manifests. An agent context says which provider and index an agent uses; a conversation
 * context says how it talks (G1). The manifest says what one turn gave the model, each thing with its hash.
 */
import type { ActiveFileRef, SkippedFile } from "./active-file.ts";
import type { ChunkRef } from "./chunk.ts";
import type { MailboxRef } from "./mailbox.ts";
import type { ToolDefinition } from "./tool.ts";

export interface AgentContext {
  id: string;
  name: string;
  /** Key of a configured provider. */
  provider: string;
  /** Key of a configured index. */
  index: string;
}

export interface Mode {
  id: string;
  /** What the mode asks of the model; empty for none. Stands in the boot prompt, which is frozen (E6); the user message only names the mode (E2). */
  instructions: string;
  /** Names of the tools that the model may call in this mode; null for all. */
  tools: string[] | null;
  /** Name of a tool that the model must call. */
  forceTool: string | null;
}

export interface ConversationContext {
  id: string;
  name: string;
  bootPrompt: string;
  /** Null: the provider's default model. */
  model: string | null;
  /** `chain`: the provider's memory is used and only what is new is sent. `replay`: everything is sent (C1). Null: what the provider does best. */
  history: "chain" | "replay" | null;
  retrieval: "required" | "optional" | "off";
  toolResend: "always" | "when-changed";
  tools: ToolDefinition[];
  modes: Mode[];
  settings: ModelSettings;
  /** Whether the model may begin subagents (A1). Absent: no. */
  subagents?: boolean;
}

export interface ModelSettings {
  temperature?: number;
  maxOutputTokens?: number;
  reasoningEffort?: "minimal" | "low" | "medium" | "high";
}

/** How the model got its history on this turn. */
export type HistorySource = "none" | "chain" | "replay";

export interface ContextManifest {
  agentContext: { id: string; hash: string };
  conversationContext: { id: string; hash: string };
  /** SHA-256 of the boot prompt and of the tool list as sent; frozen at the start of a chain (E6). */
  promptHash: string;
  toolsHash: string;
  history: HistorySource;
  settings: ModelSettings;
  chunks: ChunkRef[];
  activeFiles: ActiveFileRef[];
  skippedFiles: SkippedFile[];
  /** How many turns of history the model had, and up to which turn. */
  historyTurns: number;
  /** Messages of subagents that the model was given, oldest first (A2). Absent: none. */
  mailbox?: MailboxRef[];
}

/** In mode `ask` nothing is written or run (P4); every other mode may call whatever it offers. */
export function mayCall(mode: Pick<Mode, "id">, tool: Pick<ToolDefinition, "effect">): boolean {
  return mode.id !== "ask" || (tool.effect !== "write" && tool.effect !== "run");
}

/** The modes that always exist (G2). */
export const builtInModes: Mode[] = [
  { id: "ask", instructions: "", tools: null, forceTool: null },
  {
    id: "edit",
    instructions:
      'Where a tool that writes files is offered, make the changes with it. Where none is, answer with the changes as one fenced json block: {"root": ".", "files": [{"path", "operation": "create|replace|delete|patch", "content"?, "patches"?: [{"find", "replace", "limit": "once|all"}], "baseSha256"?}]}.',
    tools: null,
    forceTool: null,
  },
];
