/**
 * Reads one context in the form of `config.toml`, for the contexts that an org stores as records (G1). It is checked by
 * the same table of keys as the file, and has the same built-in values.
 */
import { stringify } from "smol-toml";
import type { AgentContext, ContextKind, ConversationContext } from "../domain/context.ts";
import { AptoveError } from "../domain/errors.ts";
import { agentContext, conversationContext } from "./built-in-configuration.ts";
import { flattenLayer, parseConfigText, type ConfigFault } from "./config-layer.ts";
import { MergedValues } from "./merged-values.ts";

const sections = { agent: "agent_contexts", conversation: "conversation_contexts" } as const;

export interface ContextEntryRequest {
  kind: ContextKind;
  id: string;
  entry: Record<string, unknown>;
  /** The provider and the index (next field) of an agent context that does not name its own. */
  provider: string;
  index: string;
}

/** Checks a context and fills in the built-in values. Throws `context_invalid` with every fault. */
export function readContextEntry({
  kind,
  id,
  entry,
  ...usual
}: ContextEntryRequest): AgentContext | ConversationContext {
  const section = sections[kind];
  const faults: ConfigFault[] = [];
  const values = new MergedValues(flattenLayer({ tree: { [section]: { [id]: entry } }, place: "" }, faults));
  if (faults.length > 0) throw contextInvalid(`${section}.${id}`, faults);
  return kind === "agent" ? agentContext(values, id, usual) : conversationContext(values, id);
}

function contextInvalid(prefix: string, faults: readonly ConfigFault[]): AptoveError {
  // A key of the file that a context of this kind cannot have is not a useful suggestion.
  const suggested = /; did you mean "([^"]+)"\?$/;
  const fitting = (text: string): string =>
    suggested.exec(text)?.[1]?.startsWith(`${prefix}.`) === false
      ? text.replace(suggested, " in such a context")
      : text;
  const inEntry = (text: string): string => text.replaceAll(`${prefix}.`, "");
  const reported = faults.map(({ key, message }) => ({ key: inEntry(key), message: inEntry(fitting(message)) }));
  return new AptoveError("context_invalid", reported.map(({ key, message }) => `${key} ${message}`).join("; "), {
    facts: { faults: reported },
  });
}

/** Returns the keys of one context as TOML. */
export function contextToml(entry: Record<string, unknown>): string {
  return stringify(entry);
}

/** Parses a context that is written as TOML. Throws `context_invalid` if it is not valid TOML. */
export function parseContextToml(text: string, place: string): Record<string, unknown> {
  try {
    return parseConfigText(text, place);
  } catch (cause) {
    if (!(cause instanceof AptoveError)) throw cause;
    throw new AptoveError("context_invalid", cause.detail, { cause });
  }
}
