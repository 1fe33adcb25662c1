/**
 * Everything that a data folder holds, read through the engine's public API: texts as digests, so that a manifest of it is
 * small. The script that freezes a folder writes it down, and every later build must read the same (testing/data-folders.test.ts).
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { sha256 } from "../src/domain/ids.ts";
import type { Aptove, Caller, Session, Turn } from "../src/index.ts";

export interface DataInventory {
  /** The ids of the sessions in the order of the list. */
  listed: string[];
  removed: string[];
  sessions: Record<string, unknown>[];
  /** Words, and the sessions in which they are found. */
  searches: { text: string; sessionIds: string[] }[];
  people: Record<string, unknown>;
  contexts: unknown[];
  audit: string[];
  workspaces: Record<string, unknown>[];
  bindings: unknown[];
  indexes: unknown[];
}

export async function inventoryOf(aptove: Aptove, searched: readonly string[]): Promise<DataInventory> {
  const { engine } = aptove;
  const owner = await engine.keys.owner();
  const { sessions } = await engine.sessions.list(owner, { limit: 100 });
  const searches = [];
  for (const text of searched) {
    const hits = await engine.tree.search(owner, { text });
    searches.push({ text, sessionIds: hits.map(({ session }) => session.id).toSorted() });
  }
  const audit = await engine.audit.list(owner, { limit: 100 });
  return {
    listed: sessions.map(({ id }) => id),
    removed: (await engine.tree.listRemoved(owner)).map(({ id }) => id),
    sessions: await inOrder(sessions, (session) => sessionFacts(aptove, owner, session)),
    searches,
    people: await peopleFacts(aptove, owner),
    contexts: await contextFacts(aptove, owner),
    audit: audit.entries.map(({ at, action, outcome }) => `${at} ${action} ${outcome}`).toSorted(),
    ...(await workspaceFacts(aptove)),
    indexes: (await engine.indexes.list(owner)).map(({ repo, files, chunks, commit, embedding }) => ({
      repo,
      files,
      chunks,
      commit,
      embedding,
    })),
  };
}

async function inOrder<T, R>(items: readonly T[], of: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (const item of items) results.push(await of(item));
  return results;
}

async function sessionFacts(
  { engine }: Aptove,
  caller: Caller,
  session: Session,
): Promise<DataInventory["sessions"][number]> {
  const turns = await engine.turns.list(caller, session.id, { limit: 100 });
  const { messages } = await engine.sessions.mailbox(caller, session.id);
  const { participants } = await engine.sharing.of(caller, session.id);
  return {
    session,
    verify: await engine.explain.verify(caller, session.id),
    mailbox: messages,
    participants: participants.map(({ name }) => name),
    turns: await inOrder(turns, (turn) => turnFacts(engine, caller, turn)),
  };
}

async function turnFacts(engine: Aptove["engine"], caller: Caller, turn: Turn): Promise<Record<string, unknown>> {
  const reader = await engine.turns.read(caller, turn.id);
  const steps = await reader.steps();
  const prompt = await reader.prompt();
  const events: string[] = [];
  for await (const event of await engine.turns.events(caller, turn.id, { afterSeq: 0 }))
    events.push(JSON.stringify(event));
  return {
    turn,
    instruction: sha256(await reader.instruction()),
    answer: sha256(await reader.answer()),
    toolResults: sha256(JSON.stringify(await reader.toolResults())),
    message: sha256(JSON.stringify(await reader.message())),
    prompt: prompt === null ? null : sha256(prompt),
    events: sha256(events.join("\n")),
    steps: await inOrder(steps, async (step) => ({
      step,
      request: sha256(await reader.request(step.index)),
      response: sha256(await reader.response(step.index)),
    })),
  };
}

async function peopleFacts({ engine }: Aptove, owner: Caller): Promise<Record<string, unknown>> {
  const { keys } = await engine.keys.list(owner);
  return {
    orgs: (await engine.operator.listOrgs()).orgs,
    users: (await engine.people.users(owner)).users,
    keys: keys.map(({ lastUsedAt: _used, ...key }) => key),
    devices: (await engine.devices.list(owner)).map(({ id, name }) => ({ id, name })),
  };
}

async function contextFacts({ engine }: Aptove, owner: Caller): Promise<unknown[]> {
  const kept = (await engine.contexts.list(owner)).filter(({ version }) => version !== null);
  return await inOrder(kept, async ({ kind, id, content }) => ({
    ...{ kind, id, content },
    versions: await engine.contexts.versions(owner, { kind, id }, {}),
  }));
}

async function workspaceFacts(aptove: Aptove): Promise<Pick<DataInventory, "workspaces" | "bindings">> {
  const { store, bindings, permissions } = await aptove.workspaces();
  const folder = aptove.folder.workspaces;
  const workspaces = await inOrder(await store.list(), async ({ id, name, createdAt, damage }) => ({
    ...{ id, name, createdAt, damage },
    permissions: (await permissions.list(id)).map(({ key }) => key),
    transcripts: readdirSync(join(folder, id), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".md"))
      .toSorted()
      .map((path) => ({ path, sha256: sha256(readFileSync(join(folder, id, path))) })),
  }));
  return { workspaces, bindings: await bindings.list() };
}
