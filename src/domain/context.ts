/**
 * Contexts and manifests. An agent context says which provider and index an agent uses; a conversation
 * context says how it talks (G1). The manifest says what one turn gave the model, each thing with its hash.
 */
import type { ActiveFileRef, SkippedFile } from "./active-file.ts";
import type { ChunkRef } from "./chunk.ts";
import type { MailboxRef } from "./mailbox.ts";
import { sha256, type Millis } from "./ids.ts";
import type { ToolDefinition } from "./tool.ts";

export interface AgentContext {
  id: string;
  name: string;
  /** Key of a configured provider. */
  provider: string;
  /** Key of a configured index. */
  index: string;
}

/** The two kinds of contexts. */
export type ContextKind = "agent" | "conversation";

/**
 * One version of a context that an org keeps as a record (G1). Versions count up from 1 and never change: every edit is a
 * new one, and so is the word that a context is retired.
 */
export interface ContextVersion {
  orgId: string;
  kind: ContextKind;
  id: string;
  version: number;
  createdAt: Millis;
  /** The user who wrote it. */
  createdBy: string;
  /** All that the context says, with nothing left to be filled in later; null: with this version it was retired. */
  content: AgentContext | ConversationContext | null;
}

/** What is known of a version without what it says. */
export type ContextVersionFacts = Omit<ContextVersion, "content"> & { isRetired: boolean };

/** What a manifest keeps of a context: two with the same hash say the same. */
export function contextHash(context: AgentContext | ConversationContext): string {
  return sha256(JSON.stringify(context));
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

export interface ContextRef {
  id: string;
  hash: string;
  /** Of the org's record that counted; absent: the configuration said it. */
  version?: number;
}

export interface ContextManifest {
  agentContext: ContextRef;
  conversationContext: ContextRef;
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
