/**
 * Exports a session, or the branch that ends at a turn, with everything that it depends on, as the lines of one file.
 */
import type { Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { sha256 } from "../../domain/ids.ts";
import { sessionKey, sessionName, type Session } from "../../domain/session.ts";
import type { Step } from "../../domain/step.ts";
import { mayBeParent, partBlobs, type Turn } from "../../domain/turn.ts";
import type { EngineCore } from "../turn/live/engine-core.ts";
import { visibleTurn, visibleSession } from "../access/visible.ts";
import { turnDigest } from "../turn/kept/turn-digest.ts";
import { blobKeys, readBootPrompt } from "../turn/kept/turn-blobs.ts";
import { ancestors, finishedTurns, lineage, turnsWithLineage, type StoredTurn } from "../turn/kept/turn-order.ts";
import { summariesToExport } from "./summary-lines.ts";
import { blobLines, exportFormat, LineSeal, type ExportedSession, type ExportLine } from "./format.ts";

export type ExportScope = { sessionId: string } | { turnId: string };

/**
 * Yields the lines without their line breaks. One batch of turns at a time is in memory. Running turns are left out.
 * Throws `not_found` and `turn_not_finished` with the first line, and at any line the error of what cannot be read
 * completely: an export is never incomplete.
 */
export async function* exportLines(core: EngineCore, caller: Caller, scope: ExportScope): AsyncGenerator<string> {
  const { sessions, shownIds, turns } = await contentOf(core, caller, scope);
  const seal = new LineSeal();
  const counts = { sessions: sessions.length, turns: 0, blobs: 0 };
  const sealed = (line: ExportLine): string => {
    const text = JSON.stringify(line);
    seal.add(text);
    return text;
  };
  yield sealed({ aptove: "export", format: exportFormat, version: core.deps.version });
  for (const session of sessions) yield sealed({ kind: "session", session });
  const digests = new Map<string, string | null>();
  const prompts = new Set<string>();
  for await (const batch of finishedTurns(turns)) {
    for (const { turn, steps, blobs } of await Promise.all(batch.map((one) => readWhole(core, one)))) {
      checkSeal({ turn, steps, blobs }, turn.parentId === null ? null : digests.get(turn.parentId));
      digests.set(turn.id, turn.digest);
      const prompt = await unseenPrompt(core, turn, prompts);
      for (const [key, bytes] of [...prompt, ...blobs]) yield* blobLines(key, bytes).map(sealed);
      yield sealed({ kind: "turn", turn, steps });
      counts.turns += 1;
      counts.blobs += blobs.size + prompt.length;
    }
  }
  for (const id of shownIds) {
    for await (const { summary, blobs } of summariesToExport(core, id, (turnId) => digests.has(turnId))) {
      for (const [key, bytes] of blobs) yield* blobLines(key, bytes).map(sealed);
      yield sealed({ kind: "summary", summary });
      counts.blobs += blobs.length;
    }
  }
  yield JSON.stringify({ kind: "end", ...counts, sha256: seal.digest() } satisfies ExportLine);
}

interface Content {
  sessions: ExportedSession[];
  /** The sessions that the caller may see. Only their summaries leave (H4). */
  shownIds: string[];
  /** The turns, parents before their children. */
  turns: AsyncIterable<Turn>;
}

async function contentOf(core: EngineCore, caller: Caller, scope: ExportScope): Promise<Content> {
  const { records } = core.deps;
  if ("turnId" in scope) {
    const turn = await visibleTurn(core.deps, caller, scope.turnId);
    if (turn.status === "pending") throw new AptoveError("turn_not_finished", `turn ${turn.id} is still running`);
    return { ...(await sessionsAbove(core, caller, turn.id)), turns: lineage(records, turn.id) };
  }
  const session = await visibleSession(core.deps, caller, scope.sessionId);
  const above =
    session.originTurnId === null
      ? { sessions: [], shownIds: [] }
      : await sessionsAbove(core, caller, session.originTurnId);
  return {
    sessions: [...above.sessions, exported(session)],
    shownIds: [...above.shownIds, session.id],
    turns: turnsWithLineage(records, session),
  };
}

/** Returns the sessions of a lineage, that of the root first, each with its last turn of this lineage as its head. */
async function sessionsAbove(core: EngineCore, caller: Caller, turnId: string): Promise<Omit<Content, "turns">> {
  const parts = new Map<string, { head: string | null; first: Turn }>();
  for await (const turn of ancestors(core.deps.records, turnId)) {
    const head = parts.get(turn.sessionId)?.head ?? (mayBeParent(turn) ? turn.id : null);
    parts.set(turn.sessionId, { head, first: turn });
  }
  const sessions: ExportedSession[] = [];
  const shownIds: string[] = [];
  for (const [id, { head, first }] of parts) {
    const session = await core.deps.records.sessions.get(id);
    if (session === null) throw new AptoveError("history_unavailable", `the session ${id} is not stored`);
    const isShown = await maySee(core, caller, id);
    sessions.unshift({ ...(isShown ? exported(session) : nameless(session, first)), headTurnId: head });
    if (isShown) shownIds.unshift(id);
  }
  return { sessions, shownIds };
}

async function maySee({ deps }: EngineCore, caller: Caller, id: string): Promise<boolean> {
  try {
    await visibleSession(deps, caller, id);
    return true;
  } catch (error) {
    if (error instanceof AptoveError && error.code === "not_found") return false;
    throw error;
  }
}

/** Returns what leaves of a session. The list is complete, so a new field stays here until it is added to it. */
function exported(session: Session): ExportedSession {
  return {
    ...shared(session),
    name: session.name,
    nameIsSet: session.nameIsSet,
    key: session.key,
    description: session.description,
    labels: session.labels,
    category: session.category,
    rating: session.rating,
    metadata: session.metadata,
    pins: session.pins,
    turnNames: session.turnNames,
    archivedAt: session.archivedAt,
  };
}

/**
 * Returns a session without what its owner wrote about it. A user who has a fork has the turns above it, but not their
 * session's description (H4).
 */
function nameless(session: Session, first: Turn): ExportedSession {
  const name = sessionName(first.instructionSummary);
  return {
    ...shared(session),
    name,
    nameIsSet: false,
    key: sessionKey(name),
    description: "",
    labels: [],
    category: null,
    rating: null,
    metadata: {},
    pins: [],
    turnNames: [],
    archivedAt: null,
  };
}

/** Returns the fields that also a user who has only a fork of the session receives. */
function shared(session: Session) {
  return {
    id: session.id,
    agentContextId: session.agentContextId,
    conversationContextId: session.conversationContextId,
    model: session.model,
    settings: session.settings,
    workspaceId: session.workspaceId,
    repo: session.repo,
    otherRepos: session.otherRepos,
    defaultLanguage: session.defaultLanguage,
    originTurnId: session.originTurnId,
    headTurnId: session.headTurnId,
    createdAt: session.createdAt,
    updatedAt: session.updatedAt,
  };
}

interface WholeTurn {
  turn: StoredTurn;
  steps: Step[];
  blobs: Map<string, Uint8Array>;
}

async function readWhole({ deps }: EngineCore, turn: StoredTurn): Promise<WholeTurn> {
  const steps = await deps.records.turns.listSteps(turn.id);
  const { opening, run, state } = turn.blobs;
  const own = partBlobs(turn).filter((key) => key.startsWith(`turns/${turn.id}/`));
  const keys = [opening, run, state, ...own, ...steps.map((step) => step.request.blob)].filter((key) => key !== null);
  const blobs = await Promise.all(
    [...new Set(keys)].map(async (key): Promise<[string, Uint8Array]> => {
      const bytes = await deps.blobs.get(key);
      if (bytes === null) throw new AptoveError("blob_missing", `there is no blob ${key}`, { facts: { key } });
      return [key, bytes];
    }),
  );
  return { turn, steps, blobs: new Map(blobs) };
}

/**
 * Returns the boot prompt of a turn with its key, unless an earlier turn of the file used the same one. Sessions that version
 * 0.1.0 imported may have none.
 */
async function unseenPrompt(
  { deps }: EngineCore,
  turn: StoredTurn,
  seen: Set<string>,
): Promise<[string, Uint8Array][]> {
  const { promptHash } = turn.manifest;
  if (seen.has(promptHash)) return [];
  seen.add(promptHash);
  const prompt = await readBootPrompt(deps.blobs, promptHash);
  return prompt === null ? [] : [[blobKeys.prompt(promptHash), prompt]];
}

/** Throws if the digest of a turn does not match: an import would refuse such a turn, so it is not exported (D2). */
function checkSeal({ turn, steps, blobs }: WholeTurn, parent: string | null | undefined): void {
  const facts = { turnId: turn.id };
  if (parent === undefined) {
    throw new AptoveError("history_unavailable", `turn ${turn.parentId}, the parent of ${turn.id}, is not stored`, {
      facts,
    });
  }
  const hashOf = (key: string | null): string | null => (key === null ? null : sha256(blobs.get(key) ?? ""));
  const { opening, run, state } = turn.blobs;
  const hashes = { opening: hashOf(opening) ?? "", run: hashOf(run), state: hashOf(state) };
  if (turn.digest === null || turnDigest(turn, { parent, steps, hashes }) === turn.digest) return;
  throw new AptoveError(
    "blob_damaged",
    `turn ${turn.id} has a digest that does not match: the turn was changed since it was stored`,
    {
      facts,
    },
  );
}
