/**
 * One context in the form of `config.toml`, for those that an org keeps as records (G1): checked by the same table of
 * keys as the file, and filled in by the same built-in values.
 */
import { stringify } from "smol-toml";
import type { AgentContext, ContextKind, ConversationContext } from "../domain/context.ts";
import { AptoveError } from "../domain/errors.ts";
import { agentContext, conversationContext } from "./built-in-configuration.ts";
import { flatten, parseConfigText, type ConfigFault } from "./config-layer.ts";
import { MergedValues } from "./merged-values.ts";

const sections = { agent: "agent_contexts", conversation: "conversation_contexts" } as const;

export interface ContextEntryRequest {
  kind: ContextKind;
  id: string;
  entry: Record<string, unknown>;
  /** Who answers, and where code is looked up, where an agent context does not say. */
  provider: string;
  index: string;
}

/** Throws `context_invalid` that names every fault. */
export function readContextEntry({
  kind,
  id,
  entry,
  ...usual
}: ContextEntryRequest): AgentContext | ConversationContext {
  const section = sections[kind];
  const faults: ConfigFault[] = [];
  const values = new MergedValues(flatten({ tree: { [section]: { [id]: entry } }, place: "" }, faults));
  if (faults.length > 0) throw contextInvalid(`${section}.${id}`, faults);
  return kind === "agent" ? agentContext(values, id, usual) : conversationContext(values, id);
}

function contextInvalid(prefix: string, faults: readonly ConfigFault[]): AptoveError {
  // A key of the file that is no key of such a context is no suggestion.
  const suggested = /; did you mean "([^"]+)"\?$/;
  const fitting = (text: string): string =>
    suggested.exec(text)?.[1]?.startsWith(`${prefix}.`) === false
      ? text.replace(suggested, " in such a context")
      : text;
  const inEntry = (text: string): string => text.replaceAll(`${prefix}.`, "");
  const told = faults.map(({ key, message }) => ({ key: inEntry(key), message: inEntry(fitting(message)) }));
  return new AptoveError("context_invalid", told.map(({ key, message }) => `${key} ${message}`).join("; "), {
    facts: { faults: told },
  });
}

/** The keys of one context as TOML. */
export function contextToml(entry: Record<string, unknown>): string {
  return stringify(entry);
}

/** Throws `context_invalid` for what is no TOML. */
export function parseContextToml(text: string, place: string): Record<string, unknown> {
  try {
    return parseConfigText(text, place);
  } catch (cause) {
    if (!(cause instanceof AptoveError)) throw cause;
    throw new AptoveError("context_invalid", cause.detail, { cause });
  }
}
