/** Reads one history of another tool: what it has, and its turns in the form that an import takes. */
import { createHash } from "node:crypto";
import { createReadStream, readFileSync, statSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { addCounts, type ForeignSession, type ForeignTool, type ForeignTurn } from "../domain/foreign.ts";
import { isRecord } from "../system/guards.ts";
import { ClaudeCodeParser } from "./claude-code.ts";
import { CodexParser } from "./codex.ts";
import { projectFolder, subagentFile } from "./find-histories.ts";
import { GeminiParser } from "./gemini.ts";
import { PlainFiles } from "./plain-files.ts";
import { historyLines, type HistoryLine } from "./history-lines.ts";
import type { HistoryParser, ParsedTurn, HistoryFacts } from "./history-parser.ts";
import type { DraftedTurn, SourceRange } from "./turn-draft.ts";

/** What a history has. */
export interface HistoryPreview {
  path: string;
  facts: HistoryFacts;
  bytes: number;
  turns: number;
  subagentTurns: number;
  toolCalls: number;
  texts: number;
  firstInstruction: string;
  /** What is not taken over, by its kind. The bytes of it are kept. */
  unmapped: Record<string, number>;
}

/** A file of one object, as older versions of Gemini CLI wrote it, is read at once up to this size. */
export const wholeFileBytesMax = 268_435_456;

/** Reads a history without keeping it in memory, and returns what it has. */
export async function previewHistory(tool: ForeignTool, path: string): Promise<HistoryPreview> {
  await using files = new PlainFiles();
  const plain = await files.of(path);
  const parser = parserOf(tool, plain);
  const preview: HistoryPreview = {
    path,
    facts: parser.facts,
    bytes: statSync(plain).size,
    turns: 0,
    subagentTurns: 0,
    toolCalls: 0,
    texts: 0,
    firstInstruction: "",
    unmapped: {},
  };
  for await (const turn of turnsOf(tool, parser, { path, plain, size: preview.bytes, files })) {
    if (preview.turns === 0) preview.firstInstruction = turn.instruction;
    preview.turns += 1;
    const agents = turn.subagents.flatMap(({ turns }) => turns);
    preview.subagentTurns += agents.length;
    for (const one of [turn, ...agents]) {
      preview.toolCalls += one.items.filter(({ type }) => type === "tool_call").length;
      preview.texts += one.items.filter(({ type }) => type === "assistant").length;
      addCounts(preview.unmapped, one.unmapped);
    }
  }
  if (tool === "gemini") parser.facts.folder ??= projectFolder(path);
  return preview;
}

/** Yields the lines of an import of a history that was previewed. */
export async function* historyImportLines(
  tool: ForeignTool,
  { path, bytes, facts }: HistoryPreview,
  { repo }: { repo: string | null },
): AsyncGenerator<string> {
  const { id, version, folder, name, createdAt, updatedAt } = facts;
  const session: ForeignSession = { tool, id: id ?? path, version, folder, repo, name, createdAt, updatedAt };
  yield JSON.stringify({ aptove: "conversation", format: 1, session });
  await using files = new PlainFiles();
  const plain = await files.of(path);
  for await (const turn of turnsOf(tool, parserOf(tool, plain), { path, plain, size: bytes, files })) {
    const subagents = await Promise.all(
      turn.subagents.map(async (agent) => ({ ...agent, turns: await Promise.all(agent.turns.map(packed)) })),
    );
    yield JSON.stringify({ ...(await packed(turn)), subagents });
  }
}

function parserOf(tool: ForeignTool, path: string, { isSubagent = false } = {}): HistoryParser {
  switch (tool) {
    case "claude-code":
      return new ClaudeCodeParser(path, { isSubagent });
    case "codex":
      return new CodexParser(path);
    case "gemini":
      return new GeminiParser(path);
  }
}

interface HistoryFile {
  path: string;
  /** The same file, or what was unpacked from it. */
  plain: string;
  /** How many bytes of `plain` are read. */
  size: number;
  files: PlainFiles;
}

async function* turnsOf(
  tool: ForeignTool,
  parser: HistoryParser,
  { path, plain, size, files }: HistoryFile,
): AsyncGenerator<DraftedTurn> {
  for await (const line of path.endsWith(".json") ? wholeFile(path, size) : historyLines(plain, size)) {
    parser.take(line);
    for (const parsed of parser.turns()) yield await withSubagents(tool, parser, { path, parsed, files });
  }
  parser.finish();
  for (const parsed of parser.turns()) yield await withSubagents(tool, parser, { path, parsed, files });
}

function* wholeFile(path: string, size: number): Generator<HistoryLine> {
  const place = { from: 0, to: size };
  if (size > wholeFileBytesMax) return yield { ...place, value: null, fault: "line that is too long" };
  const value = wholeObject(path);
  yield { ...place, value, fault: value === null ? "damaged line" : null };
}

/** Returns null for a file that was cut off or is no object: it is counted like such a line. */
function wholeObject(path: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

async function withSubagents(
  tool: ForeignTool,
  parser: HistoryParser,
  { path, parsed: { turn, started }, files }: { path: string; parsed: ParsedTurn; files: PlainFiles },
): Promise<DraftedTurn> {
  for (const [agentId, name] of started) {
    const file = subagentFile(tool, { path, sessionId: parser.facts.id ?? "", agentId });
    if (file === null) {
      addCounts(turn.unmapped, { "subagent without a file": 1 });
      continue;
    }
    const plain = await files.of(file);
    const own = parserOf(tool, plain, { isSubagent: true });
    for await (const line of historyLines(plain, statSync(plain).size)) own.take(line);
    own.finish();
    const turns = own.turns().map(({ turn: { subagents: _none, ...one } }) => one);
    if (turns.length > 0) turn.subagents.push({ id: agentId, name: name || agentId, turns });
  }
  return turn;
}

async function packed<T extends Pick<ForeignTurn<SourceRange>, "source">>(turn: T) {
  const bytes = await rangeOf(turn.source);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return { ...turn, source: { gzip: gzipSync(bytes).toString("base64"), bytes: bytes.length, sha256 } };
}

async function rangeOf({ path, from, to }: SourceRange): Promise<Buffer> {
  const pieces: Buffer[] = [];
  if (to <= from) return Buffer.alloc(0);
  for await (const piece of createReadStream(path, { start: from, end: to - 1 })) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}
