/**
 * The tools that the client of a turn runs (E4). A request that gives none keeps those of the parent turn, so that the
 * list stays the same in a chain (E6). They are stored once, with the turn that brought them.
 */
import type { ToolDefinition } from "../../../domain/tool.ts";
import type { Turn } from "../../../domain/turn.ts";
import { canonicalJson } from "../../../system/canonical-json.ts";
import type { TurnRequest } from "../../engine.ts";
import type { Histories } from "../kept/histories.ts";

export interface ClientTools {
  tools: readonly ToolDefinition[];
  /**
   * True if the model may call them: this caller gave them, or answers calls of them. Otherwise they are only listed,
   * because no client may be there that runs them.
   */
  mayCall: boolean;
  /** The earlier turn that stored them. Null: they are stored with this turn. */
  storedWith: string | null;
}

export const noClientTools: ClientTools = { tools: [], mayCall: true, storedWith: null };

/** Returns the client's tools of a turn that continues `parent`. Throws if those of the parent cannot be read. */
export async function clientToolsOf(
  histories: Histories,
  parent: Pick<Turn, "manifest"> | null,
  { tools, toolResults = [] }: Pick<TurnRequest, "tools" | "toolResults">,
): Promise<ClientTools> {
  const from = parent?.manifest.clientTools ?? null;
  if (from === null) return { ...noClientTools, tools: tools ?? [] };
  const inherited = await histories.clientTools(from);
  if (tools === undefined) return { tools: inherited, mayCall: toolResults.length > 0, storedWith: from };
  const isSame = canonicalJson(tools) === canonicalJson(inherited);
  return { tools, mayCall: true, storedWith: isSame ? from : null };
}
