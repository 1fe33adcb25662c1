/**
 * Makes turns of a session from a conversation of another tool (O8). Each turn is sealed and stored as any imported turn.
 * A turn that is here already stays as it is, so that importing twice changes nothing.
 */
import type { Caller } from "../../../domain/caller.ts";
import { AptoveError } from "../../../domain/errors.ts";
import type { ForeignSession } from "../../../domain/foreign.ts";
import { idOf, sha256 } from "../../../domain/ids.ts";
import { emptyState, type State } from "../../../domain/lineage.ts";
import { limits } from "../../../domain/limits.ts";
import { folderKey, type Session, sessionKey, sessionName } from "../../../domain/session.ts";
import { noChain, summarize, type CompletedTurn, type Turn, type TurnPosition } from "../../../domain/turn.ts";
import { unknownUsage, type Usage } from "../../../domain/usage.ts";
import { visibleSession } from "../../access/visible.ts";
import type { EngineCore } from "../../turn/live/engine-core.ts";
import { blobKeys } from "../../turn/kept/turn-blobs.ts";
import { unpackedSource } from "../../turn/kept/kept-parts.ts";
import { turnDigest } from "../../turn/kept/turn-digest.ts";
import { noProvider } from "../../turn/prepare/chain.ts";
import type { CheckedExport, FileBlob, FileTurn } from "../check-file.ts";
import { mailFacts } from "../check-subagent.ts";
import type { AncestorTurn } from "../check-turn.ts";
import { blobLines, type ExportedSession } from "../format.ts";
import { findStored } from "../place-import.ts";
import type { Spool, SpooledLine } from "../spool.ts";
import { foreignBlobs, sourceKey } from "./foreign-blobs.ts";
import { foreignHeader, foreignTurn, type ForeignTurnLine } from "./foreign-lines.ts";

/** A turn that others continue: one of this import, or a stored one. */
interface Placed {
  ancestor: AncestorTurn;
  state: State;
}

/** The place of a turn in the session, and what only some turns have. */
interface Place extends Pick<TurnPosition, "id" | "subagent"> {
  parent: Placed | null;
  spawnedBy?: string | null;
  manifest?: Pick<CompletedTurn["manifest"], "mailbox">;
}

type OneTurn = Omit<ForeignTurnLine, "subagents">;

/** Reads the conversation, and stores its turns in the spool in the form of a checked export. Throws `import_invalid`. */
export async function foreignFile(
  core: EngineCore,
  caller: Caller,
  { header, lines, spool }: { header: string; lines: AsyncIterable<string>; spool: Spool },
): Promise<CheckedExport> {
  const building = await ForeignFile.begin(core, caller, { session: foreignHeader(header), spool });
  let number = 1;
  for await (const line of lines) {
    number += 1;
    if (line.length > limits.importLineBytesMax)
      throw new AptoveError("import_invalid", `line ${number} is longer than ${limits.importLineBytesMax} bytes`);
    if (line !== "") await building.take(foreignTurn(line, number));
  }
  await spool.flush();
  return building.finish();
}

class ForeignFile {
  readonly #core: EngineCore;
  readonly #caller: Caller;
  readonly #spool: Spool;
  readonly #from: ForeignSession;
  readonly #sessionId: string;
  readonly #file: CheckedExport = {
    sessions: new Map(),
    turns: new Map(),
    prompts: new Map(),
    summaries: new Map(),
    passed: 0,
    outside: new Set(),
  };
  readonly #placed = new Map<string, Placed>();
  /** The stored turns of the conversation, by their ids in that tool. */
  readonly #known = new Map<string, Turn>();
  #sequence = 0;
  #head: string | null = null;
  #firstInstruction = "";
  #stored: Session | null = null;

  private constructor(core: EngineCore, caller: Caller, { session, spool }: { session: ForeignSession; spool: Spool }) {
    this.#core = core;
    this.#caller = caller;
    this.#spool = spool;
    this.#from = session;
    this.#sessionId = idOf(JSON.stringify([caller.orgId, caller.userId, session.tool, session.id]));
  }

  static async begin(
    core: EngineCore,
    caller: Caller,
    from: { session: ForeignSession; spool: Spool },
  ): Promise<ForeignFile> {
    const building = new ForeignFile(core, caller, from);
    await building.#findKnown();
    return building;
  }

  async #findKnown(): Promise<void> {
    const { records } = this.#core.deps;
    if ((await records.sessions.get(this.#sessionId)) === null) return;
    this.#stored = await visibleSession(this.#core.deps, this.#caller, this.#sessionId);
    this.#sequence = this.#stored.lastSequence;
    for (let before = this.#sequence + 1; before > 1;) {
      const turns = await records.turns.list(this.#sessionId, { before, limit: 200 });
      for (const turn of turns) if (turn.foreign !== undefined) this.#known.set(turn.foreign.turn, turn);
      const last = turns.at(-1)?.sequence ?? 1;
      before = Math.min(last, before - 1);
    }
  }

  async take({ subagents, ...turn }: ForeignTurnLine): Promise<void> {
    if (this.#firstInstruction === "") this.#firstInstruction = turn.instruction;
    const known = this.#known.get(turn.id);
    if (known !== undefined) {
      this.#head = known.id;
      this.#file.passed += 1 + subagents.reduce((sum, { turns }) => sum + turns.length, 0);
      return;
    }
    const isFirst = this.#sequence === 0;
    const id = isFirst ? this.#sessionId : this.#idOf(turn.id);
    const reports = subagents.flatMap(({ turns }) => turns.map((one) => this.#mail(one, turns[0]?.id ?? "")));
    const parent = turn.parent === null ? null : await this.#find(turn.parent);
    await this.#add(turn, { id, parent, manifest: reports.length > 0 ? { mailbox: reports } : {} });
    this.#head = id;
    for (const agent of subagents) {
      let before: Placed | null = null;
      for (const one of agent.turns) {
        const ref = { id: this.#idOf(agent.turns[0]?.id ?? ""), name: agent.name || agent.id, owner: null };
        const subagent = { ...ref, level: 1, tools: null };
        before = await this.#add(one, { id: this.#idOf(one.id), parent: before, spawnedBy: id, subagent });
      }
    }
  }

  #idOf(turnId: string): string {
    return idOf(`${this.#sessionId} ${turnId}`);
  }

  #mail(turn: OneTurn, first: string): NonNullable<CompletedTurn["manifest"]["mailbox"]>[number] {
    const text = turn.items.flatMap((item) => (item.type === "assistant" ? [item.text] : [])).at(-1) ?? "";
    const turnId = this.#idOf(turn.id);
    return { turnId, subagentId: this.#idOf(first), kind: "subagent_result", contentHash: sha256(text) };
  }

  async #find(turnId: string): Promise<Placed> {
    const here = this.#placed.get(turnId);
    if (here !== undefined) return here;
    const stored = this.#known.get(turnId);
    const ancestor = stored === undefined ? null : await findStored(this.#core, this.#caller, stored.id);
    if (ancestor === null) throw new AptoveError("import_invalid", `there is no turn ${JSON.stringify(turnId)} before`);
    const placed = { ancestor, state: await this.#core.histories.state(ancestor.id) };
    this.#file.outside.add(ancestor.id);
    this.#placed.set(turnId, placed);
    return placed;
  }

  async #add(turn: OneTurn, place: Place): Promise<Placed> {
    const { id, parent } = place;
    if ((await unpackedSource(Buffer.from(turn.source.gzip, "base64"), turn.source)) === null) {
      const whose = JSON.stringify(turn.id.slice(0, 100));
      throw new AptoveError(
        "import_invalid",
        `the source of turn ${whose} does not have the size and the hash that are named`,
      );
    }
    const { tool } = this.#from;
    this.#sequence += 1;
    const usage = turn.usage ?? unknownUsage;
    const depth = (parent?.ancestor.depth ?? 0) + 1;
    const position = { id, sessionId: this.#sessionId, parentId: parent?.ancestor.id ?? null, depth };
    const made = foreignBlobs({ tool, ...position, state: parent?.state ?? emptyState, turn, usage });
    const row = { ...this.#row(turn, { ...position, ...place, usage }), answerSummary: summarize(made.answer) };
    const unsealed: CompletedTurn = {
      ...row,
      status: "completed",
      finalMessage: made.lastMessage === made.answer ? null : made.lastMessage,
    };
    const hashes = {
      opening: sha256(made.blobs.get(unsealed.blobs.opening) ?? ""),
      run: sha256(made.blobs.get(unsealed.blobs.run ?? "") ?? ""),
      state: sha256(made.blobs.get(unsealed.blobs.state ?? "") ?? ""),
    };
    const digest = turnDigest(unsealed, { parent: parent?.ancestor.digest ?? null, steps: [], hashes });
    const sealed: CompletedTurn = { ...unsealed, digest };
    const blobs: FileBlob[] = [];
    for (const [key, bytes] of made.blobs) blobs.push(await this.#spoolBlob(key, bytes));
    const fileTurn = await this.#fileTurn(sealed, { parent: parent?.ancestor ?? null, blobs, digest });
    this.#file.turns.set(id, fileTurn);
    const placed = { ancestor: fileTurn, state: made.state };
    this.#placed.set(turn.id, placed);
    return placed;
  }

  async #spoolBlob(key: string, bytes: Uint8Array): Promise<FileBlob> {
    if (bytes.length > limits.blobBytesMax)
      throw new AptoveError("import_invalid", `the history of ${this.#from.id} is larger than ${limits.blobBytesMax}`);
    const places: SpooledLine[] = [];
    // The spool takes one line after the other.
    for (const line of blobLines(key, bytes)) places.push(await this.#spool.add(JSON.stringify(line)));
    const kind = /\/(part|opening|run|state)/.exec(key)?.[1] as FileBlob["kind"];
    return { key, kind, hash: sha256(bytes), places };
  }

  async #fileTurn(
    turn: CompletedTurn,
    { parent, blobs, digest }: { parent: AncestorTurn | null; blobs: FileBlob[]; digest: string },
  ): Promise<FileTurn> {
    const { id, sessionId, parentId, depth, sequence, statusAt } = turn;
    const line = await this.#spool.add(JSON.stringify({ kind: "turn", turn, steps: [] }));
    const place = { id, sessionId, parentId, parent, depth, sequence, statusAt, digest, computedDigest: digest };
    const costs = { tokens: turn.run.usage.total, costUsd: 0 };
    return {
      ...place,
      ...costs,
      status: "completed",
      outcome: "completed",
      hasHistory: true,
      subagentId: turn.subagent?.id ?? null,
      isContinuable: turn.kind === "agent",
      line,
      blobs,
      mail: mailFacts(turn),
    };
  }

  #row(
    turn: OneTurn,
    {
      usage,
      spawnedBy = null,
      subagent,
      manifest = {},
      parent: _parent,
      ...position
    }: Place & Pick<CompletedTurn, "sessionId" | "parentId" | "depth"> & { usage: Usage },
  ): Omit<CompletedTurn, "status" | "answerSummary" | "finalMessage"> {
    const { tool, version, id: sessionId, repo } = this.#from;
    const { id } = position;
    const { gzip: _gzip, ...source } = turn.source;
    return {
      ...position,
      sequence: this.#sequence,
      kind: subagent === undefined ? "agent" : "async_subagent",
      spawnedBy,
      ...(subagent !== undefined && { subagent }),
      rerunOf: null,
      createdAt: turn.startedAt,
      createdBy: this.#caller.userId,
      mode: "edit",
      provider: noProvider,
      model: turn.model,
      instructionSummary: summarize(turn.instruction),
      workspaceId: this.#caller.workspaceId ?? null,
      repo,
      manifest: { ...this.#manifest(position.depth), ...manifest },
      foreign: {
        tool,
        version,
        sessionId,
        turn: turn.id,
        source: { ...source, blob: sourceKey(id) },
        unmapped: turn.unmapped,
      },
      blobs: { opening: blobKeys.opening(id, null), run: blobKeys.run(id, 1), state: blobKeys.state(id) },
      warnings: [],
      answeredAt: turn.endedAt,
      statusAt: turn.endedAt,
      run: {
        durationMs: turn.endedAt - turn.startedAt,
        modelRequests: turn.modelRequests,
        usage,
        byModel: { [turn.model]: usage },
      },
      chain: noChain,
      digest: null,
      stopReason: turn.stopReason,
    };
  }

  #manifest(depth: number): CompletedTurn["manifest"] {
    const prompt = `${this.#from.tool} ran this turn with instructions of its own.`;
    const promptHash = sha256(prompt);
    return {
      agentContext: { id: "default", hash: promptHash },
      conversationContext: { id: "default", hash: promptHash },
      promptHash,
      toolsHash: sha256("[]"),
      history: depth === 1 ? "none" : "replay",
      settings: {},
      chunks: [],
      activeFiles: [],
      skippedFiles: [],
      historyTurns: depth - 1,
    };
  }

  async finish(): Promise<CheckedExport> {
    if (this.#head === null) throw new AptoveError("import_invalid", "the conversation has no turn");
    if (this.#file.turns.size > 0) {
      const prompt = Buffer.from(`${this.#from.tool} ran this turn with instructions of its own.`);
      const key = blobKeys.prompt(sha256(prompt));
      const places = await Promise.all(blobLines(key, prompt).map((line) => this.#spool.add(JSON.stringify(line))));
      this.#file.prompts.set(key, { key, places });
      await this.#spool.flush();
    }
    this.#file.sessions.set(this.#sessionId, this.#session(this.#head));
    return this.#file;
  }

  #session(headTurnId: string): ExportedSession {
    const { tool, id, version, folder, repo, name: given, createdAt, updatedAt } = this.#from;
    const name = this.#stored?.name ?? given ?? sessionName(this.#firstInstruction);
    return {
      id: this.#sessionId,
      name,
      nameIsSet: given !== null,
      key: sessionKey(name),
      description: "",
      labels: [tool],
      category: null,
      rating: null,
      agentContextId: "default",
      conversationContextId: "default",
      model: null,
      settings: {},
      workspaceId: null,
      repo,
      otherRepos: [],
      defaultLanguage: null,
      metadata: {
        "aptove.dev/foreign": { tool, id, version },
        ...(folder !== null && { [folderKey]: folder }),
      },
      pins: [],
      turnNames: [],
      originTurnId: null,
      headTurnId,
      createdAt,
      updatedAt,
      archivedAt: null,
    };
  }
}
