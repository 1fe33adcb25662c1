/**
 * Which tools of which servers are offered to the model, and under which names (P5). Pure. The same lists give the same
 * tools in the same order, whatever order a server lists them in: a list that changes starts a new chain (E6).
 */
import { sha256 } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import { isRecord } from "../../system/guards.ts";
import { shownText } from "../shown-text.ts";

/** A tool that its server described in a way that a model can be told. */
export interface ListedTool {
  /** As its server calls it. */
  name: string;
  description: string;
  /** A JSON Schema of type `object`. */
  schema: Record<string, unknown>;
  /** What the server says of it, which it may lie about. */
  isReadOnly: boolean;
}

export interface ReadList {
  tools: ListedTool[];
  /** One line for each kind of fault, in words that go on after the server's name. */
  faults: string[];
}

const tooMany = `are more than the ${limits.mcpToolsListedMax} that one server may list`;

/** Sorts out what a server listed. By name; of two with one name, the first counts. */
export function readList(listed: readonly unknown[]): ReadList {
  const tools = new Map<string, ListedTool>();
  const leftOut: LeftOut[] = [];
  for (const [at, entry] of listed.entries()) {
    const tool = isRecord(entry) ? entry : {};
    const name = typeof tool["name"] === "string" ? tool["name"] : "";
    const why = at >= limits.mcpToolsListedMax ? tooMany : faultOf(tool, name, tools);
    if (why === null) tools.set(name, readTool(tool, name));
    else leftOut.push({ name, why });
  }
  const faults = [...Map.groupBy(leftOut, ({ why }) => why)].map(([why, some]) => leftOutWords(some, why));
  return { tools: [...tools.values()].toSorted(inOrder), faults };
}

interface LeftOut {
  name: string;
  why: string;
}

function faultOf(tool: Record<string, unknown>, name: string, before: ReadonlyMap<string, unknown>): string | null {
  if (name.trim() === "") return "have no name";
  if (name.length > limits.mcpToolNameCharactersMax) {
    return `have a name of more than ${limits.mcpToolNameCharactersMax} characters`;
  }
  if (before.has(name)) return "are listed twice";
  const schema = tool["inputSchema"];
  if (!isRecord(schema) || schema["type"] !== "object") return "do not have a schema of an object";
  if (sizeOf(schema) > limits.mcpToolSchemaBytesMax)
    return `have a schema of more than ${limits.mcpToolSchemaBytesMax} bytes`;
  return isDeeperThan(schema, limits.jsonDepthMax) ? `have a schema deeper than ${limits.jsonDepthMax} levels` : null;
}

function readTool(tool: Record<string, unknown>, name: string): ListedTool {
  const description = typeof tool["description"] === "string" ? tool["description"] : "";
  const annotations = isRecord(tool["annotations"]) ? tool["annotations"] : {};
  const schema = tool["inputSchema"] as Record<string, unknown>;
  return {
    name,
    description: cut(description.toWellFormed(), limits.mcpToolDescriptionCharactersMax),
    // Some providers refuse an object that does not say which properties it has.
    schema: isRecord(schema["properties"]) ? schema : { ...schema, properties: {} },
    isReadOnly: annotations["readOnlyHint"] === true && annotations["destructiveHint"] !== true,
  };
}

export interface OfferedTool extends ListedTool {
  server: string;
  /** What the model calls it: 1 to 64 letters, digits, `_` or `-`; no two have the same (E4). */
  offeredName: string;
}

/** All that fits, server by server; where not all do, each server has its share. `faults` are whole lines. */
export function offerTools(lists: readonly { server: string; tools: readonly ListedTool[] }[]): {
  tools: OfferedTool[];
  faults: string[];
} {
  const named = nameTools(lists.map(({ server, tools }) => tools.map((tool) => ({ ...tool, server }))));
  const fitting = fairShare(named);
  const tools = named.flat();
  const leftOut = Map.groupBy(
    tools.filter((tool) => !fitting.has(tool)),
    ({ server }) => server,
  );
  const why = `do not fit: ${limits.mcpToolsMax} tools of ${limits.mcpToolsBytesMax} bytes are offered, of all servers together`;
  return {
    tools: tools.filter((tool) => fitting.has(tool)),
    faults: [...leftOut].map(([server, some]) => `${serverWords(server)}: ${leftOutWords(some, why)}`),
  };
}

function nameTools(lists: readonly (readonly Omit<OfferedTool, "offeredName">[])[]): OfferedTool[][] {
  const byName = Map.groupBy(lists.flat(), plainName);
  return lists.map((tools) =>
    tools.map((tool) => {
      const plain = plainName(tool);
      // All of those with one name get another: none of them keeps it by coming first.
      const isShared = (byName.get(plain)?.length ?? 0) > 1;
      const needsMark = isShared || plain.length > nameCharactersMax || markPattern.test(plain);
      return { ...tool, offeredName: needsMark ? marked(plain, tool) : plain };
    }),
  );
}

/** The first of each server, then the second of each, and so on: a server that lists many costs no other its tools. */
function fairShare(lists: readonly (readonly OfferedTool[])[]): Set<OfferedTool> {
  const rounds = Math.max(0, ...lists.map((tools) => tools.length));
  const fitting = new Set<OfferedTool>();
  let bytes = 0;
  for (let round = 0; round < rounds; round += 1) {
    for (const tool of lists.flatMap((tools) => tools.slice(round, round + 1))) {
      const size = sizeOf([tool.offeredName, tool.description, tool.schema]);
      if (fitting.size === limits.mcpToolsMax || bytes + size > limits.mcpToolsBytesMax) continue;
      fitting.add(tool);
      bytes += size;
    }
  }
  return fitting;
}

/** How a line of text names a server. */
export function serverWords(name: string): string {
  return `the MCP server ${quoted(name)}`;
}

const nameCharactersMax = 64;
/** Long enough that no server finds a name for the mark of another's tool. */
const markCharacters = 16;
/** A name that ends like a mark gets one itself, so that none passes for another's. */
const markPattern = new RegExp(`_[0-9a-f]{${markCharacters}}$`);

function plainName({ server, name }: { server: string; name: string }): string {
  return `${plainWord(server)}__${plainWord(name)}`;
}

/** A word that may stand in the name of a tool and of a file. */
export function plainWord(text: string): string {
  return text.replaceAll(/[^a-zA-Z0-9_-]/gu, "_");
}

/** Cut, with a mark that follows from the true names. */
function marked(plain: string, { server, name }: { server: string; name: string }): string {
  const mark = sha256(JSON.stringify([server, name])).slice(0, markCharacters);
  return `${plain.slice(0, nameCharactersMax - mark.length - 1)}_${mark}`;
}

const namedMax = 3;

function leftOutWords(tools: readonly { name: string }[], why: string): string {
  const some = tools.slice(0, namedMax).map(({ name }) => quoted(name));
  const more = tools.length > namedMax ? ` and ${tools.length - namedMax} more` : "";
  return `tools are left out that ${why}: ${some.join(", ")}${more}`;
}

/** A name of a stranger, for a line of text. */
function quoted(name: string): string {
  return shownText(JSON.stringify(cut(name.toWellFormed(), 100)));
}

function cut(text: string, charactersMax: number): string {
  return text.length <= charactersMax ? text : `${text.slice(0, charactersMax - 1)}…`.toWellFormed();
}

function inOrder(one: ListedTool, other: ListedTool): number {
  return one.name < other.name ? -1 : 1;
}

/** In bytes of JSON; what cannot be written is larger than any limit. */
function sizeOf(value: unknown): number {
  try {
    return Buffer.byteLength(JSON.stringify(value));
  } catch {
    // It holds itself, or is nested without end.
    return Infinity;
  }
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((child) => isDeeperThan(child, levels - 1));
}
