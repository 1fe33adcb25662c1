/** What a person chooses for the next turn, and what there is to choose from. The choice of a model is the session's own (S9). */
import { computed, signal } from "@preact/signals";
import type { ExecuteRequest, WireContext, WireIndex, WireOfferedModel, WireSession } from "../../src/client/client.ts";
import { client } from "../api/connection.ts";
import type { Thread } from "../api/thread.ts";

export const models = signal<WireOfferedModel[] | null>(null);
const contexts = signal<WireContext[] | null>(null);
export const indexes = signal<WireIndex[] | null>(null);

/** The mode of the next turn; it stays until another one is chosen. */
export const mode = signal("ask");
/** The repositories of a new session, in order (M7). Empty: no code is searched. */
export const newRepos = signal<readonly string[]>([]);
/** The model and the context that a person chose for a session. Null: nothing. */
export type SessionChoice = Pick<WireSession, "model"> & { conversationContextId: string | null };
export const nothingChosen: SessionChoice = { model: null, conversationContextId: null };
/** What a new session is begun with. What is not chosen is as configured. */
export const newChoice = signal(nothingChosen);
/** What a fork is begun with. What is not chosen is as the forked session has it. */
export const forkChoice = signal(nothingChosen);
/** Empty: the default. */
export const efforts = ["", "none", "minimal", "low", "medium", "high"] as const;
export type Effort = (typeof efforts)[number];
export const effort = signal<Effort>("");
export const paths = signal("");

let loading: Promise<void> | null = null;

/** Loads the lists once. Resolves when they are there. A list that cannot be read leaves its picker out, and is read again next time. */
export function loadChoices(): Promise<void> {
  loading ??= readChoices().then(() => {
    if (models.value === null || contexts.value === null || indexes.value === null) loading = null;
  });
  return loading;
}

async function readChoices(): Promise<void> {
  const nothing = (): undefined => undefined;
  await Promise.all([
    client.contexts.models().then((found) => (models.value = found), nothing),
    client.contexts.list().then((found) => (contexts.value = found), nothing),
    client.indexes().then((found) => {
      // A person who chose no code has seen the list.
      const isFirst = indexes.value === null;
      indexes.value = found.toSorted((a, b) => Date.parse(b.indexedAt) - Date.parse(a.indexedAt));
      if (isFirst) newRepos.value = indexes.value.slice(0, 1).map(({ repo }) => repo);
    }, nothing),
  ]);
}

export const conversations = computed(() => (contexts.value ?? []).filter(({ kind }) => kind === "conversation"));

function contentOf(contextId: string | null): WireContext["content"] {
  return conversations.value.find(({ id }) => id === (contextId ?? "default"))?.content ?? null;
}

/** Returns false if the context says that no code is searched. */
export function searchesCode(contextId: string | null): boolean {
  const content = contentOf(contextId);
  return content === null || !("retrieval" in content) || content.retrieval !== "off";
}

/** The modes of a context: those that always exist, and its own. */
export function modesOf(contextId: string | null): string[] {
  const content = contentOf(contextId);
  const own = content !== null && "modes" in content ? Object.keys(content.modes ?? {}) : [];
  return [...new Set(["ask", "edit", ...own])];
}

/** Returns the repositories of a session, in its order. */
export function repositoriesOf({ repo, otherRepos }: WireSession): readonly string[] {
  return repo === null ? [] : [...new Set([repo, ...otherRepos])];
}

/** Returns the repositories that the next question searches. There are none until the session is read. */
export function repositoriesFor(thread: Thread | null): readonly string[] {
  if (thread === null) return newRepos.value;
  return thread.session.value === null ? [] : repositoriesOf(thread.session.value);
}

/** Returns what the first request of a session says about what was chosen for it. */
export function chosenOf({ model, conversationContextId }: SessionChoice): Partial<ExecuteRequest> {
  return { ...(model !== null && { model }), ...(conversationContextId !== null && { conversationContextId }) };
}

/** Returns what the first request of a session says about its repositories, in their order. */
export function placeOf([repo, ...others]: readonly string[]): Pick<ExecuteRequest, "repo" | "otherRepos"> {
  return repo === undefined ? {} : { repo, otherRepos: others.map((other) => ({ repo: other })) };
}

/** The window of a model in tokens. Null: it is not known. */
export function windowOf(provider: string, model: string): number | null {
  return models.value?.find((one) => one.provider === provider && one.model === model)?.contextTokens ?? null;
}

export function modelLabel({ provider, model, contextTokens, price }: WireOfferedModel): string {
  const facts = [
    contextTokens !== null && `${Math.round(contextTokens / 1000)}k`,
    price !== null && `$${price.input} / $${price.output}`,
  ].filter((one) => one !== false);
  return [`${provider}/${model}`, ...facts].join(" · ");
}
