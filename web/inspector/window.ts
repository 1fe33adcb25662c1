/**
 * What filled the model's window in the first call of a turn, by kind and by size (U6). Providers count tokens for a whole call
 * only. The parts are known as text, so their share is worked out from their lengths. Pure.
 */
import type { WireTurn, WireTurnContext } from "../../src/client/client.ts";

export const windowKinds = [
  ["boot", "boot prompt"],
  ["rules", "rules"],
  ["tools", "tools"],
  ["history", "history"],
  ["code", "code found"],
  ["files", "files"],
  ["skills", "skills"],
  ["memory", "memory"],
  ["message", "this message"],
  ["steps", "tool results of this turn"],
] as const;
export type WindowKind = (typeof windowKinds)[number][0];

export interface Piece {
  name: string;
  characters: number;
  text: string;
}

export interface WindowPart {
  kind: WindowKind;
  label: string;
  tokens: number;
  /** The largest pieces first. Empty: the part is known by its size only. */
  pieces: Piece[];
}

export interface WindowBar {
  parts: WindowPart[];
  tokens: number;
  /** False: no provider counted, and the tokens are a quarter of the characters. */
  isCounted: boolean;
}

const charactersPerToken = 4;

interface WindowInput {
  turn: WireTurn;
  context: WireTurnContext;
  /** The body of the first request as text. Null: it cannot be read. */
  request: string | null;
}

export function windowOfTurn({ turn, context, request }: WindowInput): WindowBar {
  const pieces = piecesOf({ turn, context, request });
  const estimate = (kind: WindowKind): number => sum(pieces.get(kind) ?? []) / charactersPerToken;
  const counted = turn.steps[0]?.usage.inputTokens ?? null;
  const last = turn.run?.contextTokens ?? turn.steps.at(-1)?.usage.inputTokens ?? null;
  const known = windowKinds.filter(([kind]) => kind !== "history" && kind !== "steps").map(([kind]) => kind);
  const others = known.reduce((total, kind) => total + estimate(kind), 0);
  const inRequest = estimate("history");
  const hasHistory = turn.manifest.historyTurns > 0;
  // With a chain, the provider has the history, and the request does not show it: it is what the count leaves over. The same holds
  // for a request that cannot be read.
  const isElsewhere = hasHistory && (turn.manifest.history === "chain" || inRequest === 0);
  const history = isElsewhere ? Math.max(0, (counted ?? others) - others) : inRequest;
  const total = others + history;
  const scale = counted === null || total === 0 ? 1 : counted / total;
  const grown = turn.steps.length > 1 && last !== null && counted !== null ? Math.max(0, last - counted) : 0;
  const tokensOf = (kind: WindowKind): number => {
    if (kind === "steps") return grown;
    return Math.round((kind === "history" ? history : estimate(kind)) * scale);
  };
  const parts = windowKinds.map(([kind, label]) => ({
    kind,
    label,
    tokens: tokensOf(kind),
    pieces: pieces.get(kind) ?? [],
  }));
  const shown = parts.filter(({ tokens }) => tokens > 0);
  return { parts: shown, tokens: shown.reduce((all, { tokens }) => all + tokens, 0), isCounted: counted !== null };
}

function sum(pieces: readonly Piece[]): number {
  return pieces.reduce((total, { characters }) => total + characters, 0);
}

function piece(name: string, text: string): Piece {
  return { name, characters: text.length, text };
}

function piecesOf({ turn, context, request }: WindowInput): Map<WindowKind, Piece[]> {
  const { manifest } = turn;
  const prompt = context.prompt ?? "";
  const rulesLength = Math.min(prompt.length, manifest.rules?.characters ?? 0);
  const boot = prompt.slice(0, prompt.length - rulesLength);
  const found = new Map<WindowKind, Piece[]>([
    ["boot", boot === "" ? [] : [piece("boot prompt", boot)]],
    ["rules", rulesLength === 0 ? [] : [piece("rules of the repository", prompt.slice(-rulesLength))]],
  ]);
  const add = (kind: WindowKind, one: Piece): void => void found.set(kind, [...(found.get(kind) ?? []), one]);
  for (const text of context.message) {
    if (text.startsWith("[SKILLS]")) add("skills", piece("list of skills", text));
    else if (text.startsWith("[MEMORY]")) add("memory", piece("about the memory", text));
    else if (text.startsWith("=== FACT ")) add("memory", piece(/^=== FACT (\S+)/.exec(text)?.[1] ?? "fact", text));
    else if (text.startsWith("[CONTEXT]")) for (const [kind, one] of contextPieces(text)) add(kind, one);
    else add("message", piece(/^\[(\w+)/.exec(text)?.[1]?.toLowerCase() ?? "message", text));
  }
  const body = request === null ? null : parsed(request);
  for (const tool of listOf(body?.["tools"])) add("tools", piece(nameOfTool(tool), JSON.stringify(tool)));
  for (const one of historyPieces(body)) add("history", one);
  for (const all of found.values()) all.sort((a, b) => b.characters - a.characters);
  return found;
}

/** The chunks and files of a `[CONTEXT]` block (E3). Text inside is fenced, so a line of a file cannot look like a heading. */
function contextPieces(text: string): [WindowKind, Piece][] {
  const heads = [...text.matchAll(/^=== (CHUNK|FILE) \d+ ===$/gm)];
  return heads.map((head, at) => {
    const part = text.slice(head.index, heads[at + 1]?.index ?? text.length);
    const path = /^Path: (.*)$/m.exec(part)?.[1] ?? "";
    const lines = /^Lines: (.*)$/m.exec(part)?.[1];
    const name = lines === undefined ? path : `${path}:${lines}`;
    return [head[1] === "CHUNK" ? "code" : "files", piece(name, part)];
  });
}

/** The messages before the last one, in the words of any provider. The first may be the boot prompt. */
function historyPieces(body: Record<string, unknown> | null): Piece[] {
  const messages = listOf(body?.["input"] ?? body?.["messages"] ?? body?.["contents"]);
  const before = messages.slice(0, -1).filter((one) => !["system", "developer"].includes(String(one["role"])));
  return before.map((one, at) => {
    const role = String(one["role"] ?? one["type"] ?? "item");
    return piece(`${at + 1}. ${role}`, JSON.stringify(one, null, 1));
  });
}

function nameOfTool(tool: Record<string, unknown>): string {
  const inner = tool["function"];
  const name = tool["name"] ?? (isObject(inner) ? inner["name"] : undefined);
  return typeof name === "string" ? name : "tool";
}

function listOf(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
