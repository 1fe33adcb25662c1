/** The boot prompt and the list of tools, which stay unchanged at the front of every request of a session (E6). */
import { builtInBootPrompt, mayCall, type ConversationContext, type Mode } from "../../../domain/context.ts";
import { AptoveError } from "../../../domain/errors.ts";
import { sha256 } from "../../../domain/ids.ts";
import { limits } from "../../../domain/limits.ts";
import type { ToolDefinition } from "../../../domain/tool.ts";

/**
 * Returns the system message: the boot prompt, the instructions of each mode, and what `ends` has: the names of several
 * repositories (M7), and the rules of the repository at the end (M1). A turn then only names its mode (E2).
 */
export function bootPrompt(context: Pick<ConversationContext, "bootPrompt" | "modes">, ...ends: string[]): string {
  const sections = context.modes
    .filter((mode) => mode.instructions !== "")
    .map((mode) => `When a message says [MODE: ${mode.id}]:\n${mode.instructions}`);
  return [context.bootPrompt, ...sections, ...ends].filter((section) => section !== "").join("\n\n");
}

/** Returns the part of the boot prompt that names the repositories of a session about several. Empty if it is about one. */
export function repositoriesSection(names: readonly string[]): string {
  const [first] = names;
  if (first === undefined) return "";
  return [
    "[REPOSITORIES]",
    `This session is about ${names.length} repositories, in this order: ${names.map((name) => `\`${name}\``).join(", ")}.`,
    `Each path begins with the name of its repository and a colon, for example \`${first}:src/main.ts\`. Give paths in this form, in answers, in changes and to tools. The same path in two repositories is two files.`,
  ].join("\n");
}

/**
 * Returns the context with the instructions of one request (O4). They follow a boot prompt that the context configures, and
 * replace the built-in one, which describes a program of its own.
 */
export function withInstructions(context: ConversationContext, instructions: string | undefined): ConversationContext {
  if (instructions === undefined) return context;
  const configured = context.bootPrompt === builtInBootPrompt ? "" : context.bootPrompt;
  return { ...context, bootPrompt: [configured, instructions].filter((text) => text !== "").join("\n\n") };
}

const toolNamePattern = /^[a-zA-Z0-9_-]{1,64}$/;

function checkTool(tool: ToolDefinition): void {
  if (!toolNamePattern.test(tool.name)) {
    throw new AptoveError(
      "tool_invalid",
      `the tool name ${JSON.stringify(tool.name)} must be 1 to 64 letters, digits, "_" or "-"`,
    );
  }
  if (tool.parameters["type"] !== "object") {
    throw new AptoveError(
      "tool_invalid",
      `the parameters of tool "${tool.name}" must be a JSON Schema of type "object"`,
    );
  }
}

/**
 * Returns the tools of the context, followed by those of the request. If two have the same name, the one of the request
 * counts, in the position of the other (E4).
 */
export function mergeTools(
  defaults: readonly ToolDefinition[],
  requested: readonly ToolDefinition[],
): ToolDefinition[] {
  const byName = new Map<string, ToolDefinition>();
  const seen = new Set<string>();
  for (const tool of defaults) byName.set(tool.name, tool);
  for (const tool of requested) {
    if (seen.has(tool.name)) throw new AptoveError("tool_invalid", `the tool "${tool.name}" is given twice`);
    seen.add(tool.name);
    byName.set(tool.name, tool);
  }
  const merged = [...byName.values()];
  merged.forEach(checkTool);
  if (merged.length > limits.toolsPerTurnMax) {
    throw new AptoveError("tool_invalid", `${merged.length} tools are more than the ${limits.toolsPerTurnMax} allowed`);
  }
  return merged;
}

export interface ToolUse {
  tools: ToolDefinition[];
  /** The tool that the model must call. Null: it chooses. */
  choice: string | null;
  /** The tools that the model may call. Null: all of them (E5). */
  allowed: string[] | null;
}

interface ToolLimits {
  /** The tool that the request forces. */
  choice: string | undefined;
  /** The names of tools that are listed and may not be called: no client is there that runs them (E4). */
  closed: ReadonlySet<string>;
}

/**
 * Returns the tools that a turn offers, narrowed by its mode. Throws `tool_choice_unknown` for a forced tool that is
 * not among them (E4).
 */
export function toolUse(tools: ToolDefinition[], mode: Mode, { choice: requested, closed }: ToolLimits): ToolUse {
  const names = tools.map((tool) => tool.name);
  const isOpen = (tool: ToolDefinition): boolean => !closed.has(tool.name) && (mode.tools?.includes(tool.name) ?? true);
  const callable = tools.filter((tool) => mayCall(mode, tool) && isOpen(tool));
  const isNarrowed = mode.tools !== null || callable.length < tools.length;
  const allowed = isNarrowed ? callable.map((tool) => tool.name) : null;
  const choice = requested ?? mode.forceTool;
  if (choice !== null && !(allowed ?? names).includes(choice)) {
    const known = (allowed ?? names).map((name) => `"${name}"`).join(", ") || "none";
    throw new AptoveError("tool_choice_unknown", `"${choice}" cannot be forced; the tools of this turn are: ${known}`);
  }
  return { tools, choice, allowed };
}

export function toolsHash(tools: readonly ToolDefinition[]): string {
  // What the model never receives does not change the hash.
  return sha256(JSON.stringify(tools.map(({ effect: _effect, ...shown }) => shown)));
}
