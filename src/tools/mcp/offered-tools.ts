/**
 * Decides which tools of which servers are offered to the model, and under which names (P5). Pure. The same lists give the
 * same tools in the same order, whatever order a server lists them in, because a changed list starts a new chain (E6).
 */
import { sha256 } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import { isRecord } from "../../system/guards.ts";
import { shownText } from "../shown-text.ts";
import { schemaFault } from "./schema-fault.ts";

/** A tool whose description by the server is valid for a model. */
export interface ListedMcpTool {
  /** The tool's name at its server. */
  name: string;
  description: string;
  /** A JSON Schema of type `object`. */
  schema: Record<string, unknown>;
  /** True if the server states that the tool only reads. The statement may be false. */
  isReadOnly: boolean;
}

/** The valid tools of one server. */
export interface CheckedToolList {
  tools: ListedMcpTool[];
  /** One line for each kind of fault, in words that follow the server's name. */
  faults: string[];
}

const tooMany = `are more than the ${limits.mcpToolsListedMax} that one server may list`;

/** Checks the tools that a server listed and sorts them by name. Of two tools with one name, the first is kept. */
export function checkToolList(listed: readonly unknown[]): CheckedToolList {
  const tools = new Map<string, ListedMcpTool>();
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
  if (isDeeperThan(schema, limits.jsonDepthMax)) return `have a schema deeper than ${limits.jsonDepthMax} levels`;
  return schemaFault(schema);
}

function readTool(tool: Record<string, unknown>, name: string): ListedMcpTool {
  const description = typeof tool["description"] === "string" ? tool["description"] : "";
  const annotations = isRecord(tool["annotations"]) ? tool["annotations"] : {};
  const schema = tool["inputSchema"] as Record<string, unknown>;
  return {
    name,
    description: cut(description.toWellFormed(), limits.mcpToolDescriptionCharactersMax),
    // Some providers refuse an object schema without properties.
    schema: isRecord(schema["properties"]) ? schema : { ...schema, properties: {} },
    isReadOnly: annotations["readOnlyHint"] === true && annotations["destructiveHint"] !== true,
  };
}

/** A tool with the name under which the model calls it. */
export interface OfferedMcpTool extends ListedMcpTool {
  server: string;
  /** The name for the model: 1 to 64 letters, digits, `_` or `-`. No two tools have the same (E4). */
  offeredName: string;
}

/** Returns the tools that fit, server by server. If not all fit, each server gets a share. `faults` are complete lines. */
export function offerMcpTools(lists: readonly { server: string; tools: readonly ListedMcpTool[] }[]): {
  tools: OfferedMcpTool[];
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
    faults: [...leftOut].map(([server, some]) => `${serverLabel(server)}: ${leftOutWords(some, why)}`),
  };
}

function nameTools(lists: readonly (readonly Omit<OfferedMcpTool, "offeredName">[])[]): OfferedMcpTool[][] {
  const byName = Map.groupBy(lists.flat(), plainName);
  return lists.map((tools) =>
    tools.map((tool) => {
      const plain = plainName(tool);
      // All tools that share a name get another name, so none keeps it by being first.
      const isShared = (byName.get(plain)?.length ?? 0) > 1;
      const needsMark = isShared || plain.length > nameCharactersMax || markPattern.test(plain);
      return { ...tool, offeredName: needsMark ? marked(plain, tool) : plain };
    }),
  );
}

/** Chooses the first tool of each server, then the second of each, and so on. So a server with many tools costs no other server its tools. */
function fairShare(lists: readonly (readonly OfferedMcpTool[])[]): Set<OfferedMcpTool> {
  const rounds = Math.max(0, ...lists.map((tools) => tools.length));
  const fitting = new Set<OfferedMcpTool>();
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

/** Returns the name of a server for a line of text. */
export function serverLabel(name: string): string {
  return `the MCP server ${quoted(name)}`;
}

const nameCharactersMax = 64;
/** The length of a mark. It is long enough that no server can find a name with the mark of another server's tool. */
const markCharacters = 16;
/** Matches names that end like a mark. Such a name gets a mark too, so that it cannot be taken for another tool's name. */
const markPattern = new RegExp(`_[0-9a-f]{${markCharacters}}$`);

function plainName({ server, name }: { server: string; name: string }): string {
  return `${safeName(server)}__${safeName(name)}`;
}

/** Returns the text with the characters replaced that the name of a tool or a file must not have. */
export function safeName(text: string): string {
  return text.replaceAll(/[^a-zA-Z0-9_-]/gu, "_");
}

/** Returns the name, cut to its limit, with a mark that is a hash of the original names. */
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

/** Returns an untrusted name in quotes, for a line of text. */
function quoted(name: string): string {
  return shownText(JSON.stringify(cut(name.toWellFormed(), 100)));
}

function cut(text: string, charactersMax: number): string {
  return text.length <= charactersMax ? text : `${text.slice(0, charactersMax - 1)}…`.toWellFormed();
}

function inOrder(one: ListedMcpTool, other: ListedMcpTool): number {
  return one.name < other.name ? -1 : 1;
}

/** Returns the size in bytes of JSON. A value that cannot be written is larger than any limit. */
function sizeOf(value: unknown): number {
  try {
    return Buffer.byteLength(JSON.stringify(value));
  } catch {
    // It contains itself, or is nested too deeply.
    return Infinity;
  }
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((child) => isDeeperThan(child, levels - 1));
}
