/**
 * Reads an export from its first line to its last, and stores the lines in the spool. Nothing in the file is trusted:
 * every form, hash and digest is checked, and that turns depend only on turns that they may depend on. Nothing is
 * written to the stores.
 */
import { AptoveError } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import { mayBeParent } from "../../domain/turn.ts";
import { isRecord } from "../../system/guards.ts";
import { blobKeys } from "../turn/kept/turn-blobs.ts";
import { turnDigest } from "../turn/kept/turn-digest.ts";
import { checkBlob, checkPrompt, type CheckedBlob, type CheckedPrompt } from "./check-blob.ts";
import { lineageFault, mailFacts, type MailFacts } from "./check-subagent.ts";
import { beginningFault, checkBases, namedBlobs, outcomeOf, type NamedTurn } from "./check-turn.ts";
import {
  exportFormat,
  LineSeal,
  type BlobLine,
  type ExportedSession,
  type PartLine,
  type SessionLine,
  type ExportedSummaryLine,
  type TurnLine,
} from "./format.ts";
import { checkedLine, endSchema, headerSchema } from "./line-schemas.ts";
import { checkedValue } from "./schema.ts";
import type { Spool, SpooledLine } from "./spool.ts";
import {
  callsFault,
  checkSummaryBlob,
  rangeFault,
  type CheckedSummaryBlob,
  type FileSummary,
} from "./summary-lines.ts";

/** The facts of a turn of the file that fit into memory for every turn. */
export interface FileTurn extends NamedTurn {
  parentId: string | null;
  sequence: number;
  status: TurnLine["turn"]["status"];
  /** True if the turn can be continued and be a head (S5). */
  isContinuable: boolean;
  statusAt: number;
  tokens: number;
  /** The cost in US dollars. 0 if no price is known. */
  costUsd: number;
  /** The digest over the content of the file. It equals the turn's own digest, unless the turn was never sealed. */
  computedDigest: string;
  line: SpooledLine;
  blobs: FileBlob[];
  mail: MailFacts;
}

export type FileBlob = Pick<CheckedBlob, "key" | "kind" | "hash" | "places">;

export interface CheckedExport {
  sessions: Map<string, ExportedSession>;
  /** The turns, parents before their children. */
  turns: Map<string, FileTurn>;
  /** The boot prompts that the turns used, by key. Files of format 1 have none. */
  prompts: Map<string, CheckedPrompt>;
  /** The summaries of its sessions, by id. Files before format 3 have none. */
  summaries: Map<string, FileSummary>;
  /** How many turns of the file are stored here and were not taken from it. Only a conversation of another tool has such turns. */
  passed: number;
  /** The turns that are not in the file, and that its sessions and turns depend on. */
  outside: Set<string>;
}

export interface FileSource {
  spool: Spool;
  /** Returns a stored turn that the caller may continue. Null if there is none. */
  findStored(id: string): Promise<NamedTurn | null>;
}

/** Checks the file. Throws `import_invalid`, which names the line, and `import_newer`. */
export async function checkFile(lines: AsyncIterable<string>, source: FileSource): Promise<CheckedExport> {
  const check = new FileCheck(source);
  for await (const line of lines) await check.take(line);
  await source.spool.flush();
  return check.finish();
}

class FileCheck {
  readonly #source: FileSource;
  readonly #seal = new LineSeal();
  readonly #file: CheckedExport = {
    sessions: new Map(),
    turns: new Map(),
    prompts: new Map(),
    summaries: new Map(),
    passed: 0,
    outside: new Set(),
  };
  readonly #stored = new Map<string, NamedTurn>();
  readonly #sequences = new Set<string>();
  #lineNumber = 0;
  #made = "";
  /** The blobs of the next turn. */
  #blobs = new Map<string, CheckedBlob>();
  #blobCount = 0;
  /** The blobs of the next summary. */
  #summaryBlobs = new Map<string, CheckedSummaryBlob>();
  /** The boot prompt of the next turn, if the file has not had it before. */
  #prompt: CheckedPrompt | null = null;
  /** A blob whose parts are still being read. */
  #parted: { blob: BlobLine; head: SpooledLine; parts: PartLine[]; places: SpooledLine[] } | null = null;
  #hasEnded = false;

  constructor(source: FileSource) {
    this.#source = source;
  }

  async take(line: string): Promise<void> {
    this.#lineNumber += 1;
    if (this.#hasEnded) {
      if (line === "") return;
      throw this.#fault("the file has more lines after the end");
    }
    if (line.length > limits.importLineBytesMax)
      throw this.#fault(`the line is longer than ${limits.importLineBytesMax} bytes`);
    if (!line.isWellFormed() || line.includes("\n")) throw this.#fault("the line is not valid text");
    const content = this.#parsed(line);
    if (this.#lineNumber === 1) this.#takeHeader(content);
    else if (content.kind === "end") return this.#takeEnd(content);
    else await this.#takeContent(content, line);
    this.#seal.add(line);
  }

  finish(): CheckedExport {
    if (this.#lineNumber === 0) throw new AptoveError("import_invalid", "the file is empty");
    if (!this.#hasEnded)
      throw new AptoveError("import_invalid", "the file is cut off: its last line is not the end line");
    return this.#file;
  }

  #fault(what: string): AptoveError {
    const made = this.#made === "" ? "" : ` (the file was made by aptove ${this.#made})`;
    return new AptoveError("import_invalid", `line ${this.#lineNumber}: ${what}${made}`, {
      facts: { line: this.#lineNumber },
    });
  }

  #parsed(line: string): Record<string, unknown> {
    try {
      const content: unknown = JSON.parse(line);
      if (isRecord(content)) return { ...content };
    } catch (cause) {
      throw new AptoveError("import_invalid", `line ${this.#lineNumber} is not JSON`, { cause });
    }
    throw this.#fault("it is not an object");
  }

  #takeHeader(header: Record<string, unknown>): void {
    const { format, version } = header;
    if (header.aptove === "export" && Number.isSafeInteger(format) && Number(format) > exportFormat) {
      throw new AptoveError(
        "import_newer",
        `the file has format ${String(format)}, and this program knows up to ${exportFormat}; import it with a newer aptove`,
        { facts: { found: format, known: exportFormat } },
      );
    }
    const line = checkedValue(headerSchema, header, "header");
    if ("fault" in line) throw this.#fault(`this is not an export of aptove: ${line.fault}`);
    this.#made = String(version);
  }

  async #takeContent(content: Record<string, unknown>, text: string): Promise<void> {
    const line = checkedLine(content);
    if ("fault" in line) throw this.#fault(line.fault);
    const { value } = line;
    if ((value.kind === "part") !== (this.#parted !== null)) throw this.#fault("the parts of a blob do not follow it");
    if (value.kind === "session") return this.#takeSession(value);
    const place = await this.#source.spool.add(text);
    if (value.kind === "blob") this.#takeBlob(value, place);
    else if (value.kind === "part") this.#takePart(value, place);
    else if (value.kind === "summary") this.#takeSummary(value, place);
    else await this.#takeTurn(value, place);
  }

  #takeSession({ session }: SessionLine): void {
    if (this.#file.turns.size > 0 || this.#blobs.size > 0) throw this.#fault("the sessions must come before all turns");
    if (this.#file.sessions.has(session.id)) throw this.#fault(`the session ${session.id} occurs twice`);
    this.#file.sessions.set(session.id, session);
  }

  #takeBlob(blob: BlobLine, head: SpooledLine): void {
    if (this.#blobs.has(blob.key) || this.#summaryBlobs.has(blob.key))
      throw this.#fault(`the blob ${blob.key} occurs twice`);
    if (this.#blobs.size + this.#summaryBlobs.size >= limits.importBlobsPerTurnMax)
      throw this.#fault("there are too many blobs before a turn");
    if ("parts" in blob.content) this.#parted = { blob, head, parts: [], places: [] };
    else this.#keepBlob(blob, [], [head]);
  }

  #takePart(part: PartLine, place: SpooledLine): void {
    const parted = this.#parted;
    if (parted === null || !("parts" in parted.blob.content)) return;
    parted.parts.push(part);
    parted.places.push(place);
    if (parted.parts.length < parted.blob.content.parts) return;
    this.#parted = null;
    this.#keepBlob(parted.blob, parted.parts, [parted.head, ...parted.places]);
  }

  #keepBlob(blob: BlobLine, parts: readonly PartLine[], places: SpooledLine[]): void {
    this.#blobCount += 1;
    const prompt = checkPrompt(blob, parts);
    if (prompt !== null) return this.#keepPrompt(prompt, places);
    const ofSummary = checkSummaryBlob(blob, parts);
    if (ofSummary !== null) {
      if ("fault" in ofSummary) throw this.#fault(ofSummary.fault);
      this.#summaryBlobs.set(blob.key, { ...ofSummary, places });
      return;
    }
    const checked = checkBlob(blob, parts);
    if ("fault" in checked) throw this.#fault(checked.fault);
    this.#blobs.set(blob.key, { ...checked, places });
  }

  #keepPrompt(prompt: { key: string } | { fault: string }, places: SpooledLine[]): void {
    if ("fault" in prompt) throw this.#fault(prompt.fault);
    if (this.#file.prompts.has(prompt.key) || this.#prompt !== null)
      throw this.#fault(`the boot prompt ${prompt.key} occurs twice`);
    this.#prompt = { key: prompt.key, places };
  }

  /** Takes the boot prompt that stands before a turn: the one that the turn used. */
  #takePrompt({ id, manifest }: TurnLine["turn"]): void {
    if (this.#prompt === null) return;
    if (this.#prompt.key !== blobKeys.prompt(manifest.promptHash))
      throw this.#fault(`the turn ${id} did not use the boot prompt ${this.#prompt.key}`);
    this.#file.prompts.set(this.#prompt.key, this.#prompt);
    this.#prompt = null;
  }

  async #takeTurn({ turn, steps }: TurnLine, line: SpooledLine): Promise<void> {
    const { id, sessionId, parentId, depth, sequence, status, statusAt, digest } = turn;
    if (this.#file.turns.has(id)) throw this.#fault(`the turn ${id} occurs twice`);
    if (this.#summaryBlobs.size + this.#file.summaries.size > 0)
      throw this.#fault("the turns must come before all summaries");
    const session = this.#file.sessions.get(sessionId);
    if (session === undefined) throw this.#fault(`its session ${sessionId} is not in the file`);
    if ((sequence === 1) !== (id === sessionId))
      throw this.#fault("the first turn, and no other one, must have the session's id");
    const place = `${sessionId} ${sequence}`;
    if (this.#sequences.has(place)) throw this.#fault(`another turn of the session has the number ${sequence}`);
    this.#sequences.add(place);
    const parent = parentId === null ? null : await this.#find(parentId);
    if (depth !== (parent?.depth ?? 0) + 1) throw this.#fault("its depth is not the parent's depth + 1");
    if (parent?.hasHistory === false) throw this.#fault(`it continues the failed turn ${parent.id}`);
    const { originTurnId } = session;
    const strays = lineageFault(turn, parent) ?? beginningFault(turn, { parent, originTurnId });
    if (strays !== null) throw this.#fault(strays);

    const blobs = namedBlobs({ turn, steps }, this.#blobs);
    if ("fault" in blobs) throw this.#fault(blobs.fault);
    this.#blobs = new Map();
    this.#takePrompt(turn);
    const fault = checkBases({ id, depth, parent }, blobs);
    if (fault !== null) throw this.#fault(fault);
    const outcome = outcomeOf(turn);
    const sealedParts = { parent: parent?.digest ?? null, steps, hashes: blobs.hashes };
    const computedDigest = turnDigest(turn, sealedParts);
    const isUnsealed = digest === null && (turn.blobs.state === null || sealedParts.parent === null);
    if (!isUnsealed && digest !== computedDigest) throw this.#fault(`the digest of turn ${id} does not match`);
    const isContinuable = mayBeParent(turn);
    const hasHistory = turn.blobs.state !== null;
    const subagentId = turn.subagent?.id ?? null;
    const facts = {
      id,
      sessionId,
      parentId,
      parent,
      depth,
      sequence,
      status,
      statusAt,
      digest,
      outcome,
      hasHistory,
      subagentId,
    };
    const { total: tokens, costUsd = 0 } = turn.run.usage;
    const kept = blobs.all.map(({ key, kind, hash, places }): FileBlob => ({ key, kind, hash, places }));
    const rest = { tokens, costUsd, computedDigest, line, blobs: kept, mail: mailFacts(turn) };
    this.#file.turns.set(id, { ...facts, isContinuable, ...rest });
  }

  #takeSummary({ summary }: ExportedSummaryLine, line: SpooledLine): void {
    const { id, sessionId, throughTurnId } = summary;
    if (this.#file.summaries.has(id)) throw this.#fault(`the summary ${id} occurs twice`);
    const session = this.#file.sessions.get(sessionId);
    if (session === undefined) throw this.#fault(`its session ${sessionId} is not in the file`);
    const through = this.#file.turns.get(throughTurnId);
    const blobs = this.#summaryBlobs;
    const fault = rangeFault(summary, { through, originTurnId: session.originTurnId }) ?? callsFault(summary, blobs);
    if (fault !== null) throw this.#fault(`the summary ${id}: ${fault}`);
    this.#file.summaries.set(id, { id, sessionId, throughTurnId, line, blobs: [...blobs.values()] });
    this.#summaryBlobs = new Map();
  }

  /** Returns a turn that another one depends on, from the file or from the store. */
  async #find(id: string): Promise<NamedTurn> {
    const known = this.#file.turns.get(id) ?? this.#stored.get(id) ?? (await this.#source.findStored(id));
    if (known === null) throw this.#fault(`it depends on the turn ${id}, which is neither in the file nor stored here`);
    if (this.#file.turns.has(id)) return known;
    this.#stored.set(id, known);
    this.#file.outside.add(id);
    return known;
  }

  async #takeEnd(content: Record<string, unknown>): Promise<void> {
    const line = checkedValue(endSchema, content, "end");
    if ("fault" in line) throw this.#fault(line.fault);
    const end = line.value;
    const { sessions, turns } = this.#file;
    const isWhole = end.sessions === sessions.size && end.turns === turns.size && end.blobs === this.#blobCount;
    if (
      !isWhole ||
      this.#parted !== null ||
      this.#prompt !== null ||
      this.#blobs.size + this.#summaryBlobs.size > 0 ||
      end.sha256 !== this.#seal.digest()
    ) {
      throw this.#fault("the file was changed: the digest of its lines does not match");
    }
    for (const session of sessions.values()) await this.#checkSession(session);
    this.#hasEnded = true;
  }

  async #checkSession({ id, headTurnId, originTurnId }: ExportedSession): Promise<void> {
    const head = headTurnId === null ? undefined : this.#file.turns.get(headTurnId);
    if (headTurnId !== null && (head?.sessionId !== id || !head.isContinuable)) {
      throw this.#fault(`the head of the session ${id} is not a turn of it that can be continued`);
    }
    if (originTurnId === null) return;
    const origin = await this.#find(originTurnId);
    if (origin.sessionId === id) throw this.#fault(`the session ${id} begins below a turn of its own`);
    if (!origin.hasHistory) throw this.#fault(`the session ${id} begins below a failed turn`);
  }
}
