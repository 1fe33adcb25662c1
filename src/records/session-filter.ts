/** The filters of a list of sessions that no column serves. Every driver applies them alike (S7). */
import type { Session } from "../domain/session.ts";
import type { SessionFilter } from "./sessions.ts";

export function hasDocumentFilter(filter: SessionFilter): boolean {
  const { label, metadata, agentContextId, conversationContextId } = filter;
  return [label, metadata, agentContextId, conversationContextId].some((value) => value !== undefined);
}

export function matchesDocument(session: Session, filter: SessionFilter): boolean {
  const { label, metadata, agentContextId, conversationContextId } = filter;
  if (label !== undefined && !session.labels.includes(label)) return false;
  if (agentContextId !== undefined && agentContextId !== session.agentContextId) return false;
  if (conversationContextId !== undefined && conversationContextId !== session.conversationContextId) return false;
  return metadata === undefined || hasMetadata(session.metadata, metadata);
}

/** Text is compared as it is, any other value by its JSON. */
function hasMetadata(of: Record<string, unknown>, { key, value }: { key: string; value?: string }): boolean {
  if (!Object.hasOwn(of, key)) return false;
  const found = of[key];
  return value === undefined || value === (typeof found === "string" ? found : JSON.stringify(found));
}
