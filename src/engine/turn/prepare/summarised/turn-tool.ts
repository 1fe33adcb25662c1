/**
 * The tool `read_turn`, with which a model opens a turn that it has only as a summary (M6). It runs beside the engine,
 * reads only the history of the turn that runs. It is offered as soon as a summary stands for a part of
 * the history, also in the turn that made the summary, so that the list of tools changes once (E6).
 */
import { containedFacts, withoutForgotten } from "../../../../domain/forgetting.ts";
import { historySummary, shownItems, type State } from "../../../../domain/lineage.ts";
import { limits } from "../../../../domain/limits.ts";
import { describedTool } from "../../../../tools/described-tool.ts";
import { toolParameters, wholeArgument } from "../../../../tools/parameters.ts";
import type { Tool } from "../../../../tools/tool.ts";
import { ToolFault } from "../../../../tools/tool-fault.ts";
import type { Histories } from "../../kept/histories.ts";
import { toolsHash } from "../../request/prompt.ts";
import type { AcceptedRequest } from "../accepted-request.ts";
import { itemText } from "../history-size.ts";

const parameters = toolParameters(() => ({
  turn: wholeArgument("The number of the turn, as the summary names it. The first turn of the conversation is 1.", {
    min: 1,
  }),
  offset: wholeArgument("The first character, counted from 0.", { min: 0 }).optional(),
}));

const about =
  "Read an earlier turn of this conversation word for word, for example one that a summary stands for: its instruction, its answer, and its tool calls with their results. A long turn is returned in pieces; the last line tells how to continue.";

/** Makes the tool for the turns of the history that ends with the turn `parentId`. */
function turnTool(histories: Pick<Histories, "state">, parentId: string | null): Tool {
  return describedTool({
    name: "read_turn",
    about,
    effect: "read",
    parameters,
    view: async ({ turn }) => ({
      title: `Read turn ${turn}`,
      kind: "read",
      locations: [],
      content: [],
      permission: null,
    }),
    run: async ({ turn, offset = 0 }) => {
      const state = await histories.state(parentId);
      // The memory itself gives its facts, so that a forgotten one is in no result (M3).
      const withoutFacts = withoutForgotten(state, [...containedFacts(state).keys()]);
      const output = piece(textOfTurn(withoutFacts, turn), offset);
      return { output, isError: false };
    },
  });
}

function textOfTurn(state: State, turn: number): string {
  const entry = state.entries[turn - 1];
  if (entry === undefined) {
    throw new ToolFault(`there is no turn ${turn} before this one; the turns are 1 to ${state.entries.length}`);
  }
  const isShown = shownItems(state);
  const items = entry.items.filter((_, at) => isShown(entry.turnId, at));
  const texts = items.map(itemText).filter((text) => text !== "");
  return [`[TURN ${turn}]\nId: ${entry.turnId}`, ...texts].join("\n\n");
}

function piece(all: string, offset: number): string {
  if (offset > 0 && offset >= all.length) throw new ToolFault(`the turn has only ${all.length} characters`);
  const end = Math.min(all.length, offset + limits.turnPieceCharactersMax);
  const shown = all.slice(offset, end).toWellFormed();
  if (end >= all.length) return shown;
  return `${shown}\n(characters ${offset} to ${end} of ${all.length}; continue with offset ${end})`;
}

/** Returns the request with the tool, if a summary stands for a part of the history before the turn. */
export async function withEarlierTurns(
  histories: Pick<Histories, "state">,
  accepted: AcceptedRequest,
  parent: { id: string } | null,
): Promise<AcceptedRequest> {
  if (parent === null) return accepted;
  // If the history cannot be read, the turn fails later with the reason.
  const state = await histories.state(parent.id).catch(() => null);
  return state === null || historySummary(state) === null ? accepted : withTurnTool(histories, accepted, parent.id);
}

/**
 * Returns the request with the tool. A tool of the client with the same name counts instead, and a client that names all
 * tools of its turns gets no other one.
 */
export function withTurnTool(
  histories: Pick<Histories, "state">,
  accepted: AcceptedRequest,
  parentId: string | null,
): AcceptedRequest {
  const { toolUse, serverTools, mode, asked } = accepted;
  const tool = turnTool(histories, parentId);
  const { definition } = tool;
  const { name } = definition;
  const isTaken = toolUse.tools.some((other) => other.name === name) || toolUse.tools.length >= limits.toolsPerTurnMax;
  if (isTaken || asked.onlyNamedTools === true) return accepted;
  const tools = [...toolUse.tools, definition];
  const isOpen = mode.tools?.includes(name) ?? true;
  const allowed = toolUse.allowed === null || !isOpen ? toolUse.allowed : [...toolUse.allowed, name];
  return {
    ...accepted,
    toolUse: { ...toolUse, tools, allowed },
    toolsHash: toolsHash(tools),
    serverTools: new Map([...serverTools, [name, tool]]),
  };
}
