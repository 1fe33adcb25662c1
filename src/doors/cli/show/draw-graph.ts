/** Draws the rows of a session's graph: coloured lanes, then the text of the node. */
import type { WireSessionGraph, WireTurnSummary } from "../../../client/client.ts";
import { localTime } from "./explain.ts";
import { shortId } from "../lookup/find-by-id.ts";
import { firstLine, type CliOutput, type OutputStyle } from "../output.ts";
import { plural } from "../../../system/grouped-number.ts";
import { graphRows, type GraphNode, type GraphRow } from "./session-graph.ts";

const marks: Record<WireTurnSummary["status"], string> = {
  completed: "*",
  awaiting_tool_results: "?",
  failed: "x",
  pending: "~",
  archived: "-",
};

/** Draws at most `limit` nodes, from the top. */
export function graphLines(graph: WireSessionGraph, limit: number, output: CliOutput): string[] {
  const lines: string[] = [];
  let nodes = 0;
  for (const row of graphRows(graph)) {
    if (row.node !== null && ++nodes > limit) break;
    const label = row.node === null ? "" : ` ${labelOf(row.node, graph, output)}`;
    lines.push(drawRow(row, output.style) + label);
  }
  return lines;
}

/** Draws the lanes of a row: `| | *`, or `| |/` where two lanes meet. */
function drawRow({ lanes, node }: GraphRow, style: OutputStyle): string {
  const colours = [style.red, style.green, style.yellow, style.blue, style.magenta, style.cyan];
  const paint = (number: number | undefined, text: string): string =>
    (colours[(number ?? 0) % colours.length] ?? style.red)(text);
  const last = lanes.at(-1);
  const before = lanes.slice(0, -1).map((number) => paint(number, "|"));
  if (node === null) return before.join(" ") + paint(last, "/");
  const mark = node.kind === "fork" ? "o" : marks[node.turn.status];
  return [...before, paint(last, mark)].join(" ");
}

function labelOf(node: GraphNode, graph: WireSessionGraph, output: CliOutput): string {
  const { yellow, dim } = output.style;
  if (node.kind === "fork") {
    const { id, name, turnCount } = node.session;
    const rest = `${plural(turnCount, "turn")}, ${output.safe(firstLine(name, 60))}`;
    return `${yellow(shortId(id))} ${dim("session")} ${rest}`;
  }
  const { turn } = node;
  const words = output.safe(firstLine(turn.instructionSummary, 60));
  const refs = refsOf(turn, graph);
  const at = dim(localTime(turn.createdAt).slice(0, 16));
  const named = refs.length === 0 ? "" : `${output.style.cyan(`(${output.safe(refs.join(", "))})`)} `;
  return `${yellow(shortId(turn.id))} ${turn.sequence} ${named}${words} ${at}`;
}

/** Names the owner of a node, and the turn that began it or continued it. */
function subagentRef({ subagent, spawnedBy }: WireTurnSummary, turns: readonly WireTurnSummary[]): string {
  const spawner = turns.find(({ id }) => id === spawnedBy);
  const from = spawner === undefined ? "" : ` of ${spawner.sequence}`;
  return `subagent "${firstLine(subagent?.name ?? "", 40)}"${from}`;
}

/** Marks that make a turn stand out, like the decorations of git. */
function refsOf(turn: WireTurnSummary, { session, turns, names }: WireSessionGraph): string[] {
  const refs = names.filter(({ turnId }) => turnId === turn.id).map(({ name }) => JSON.stringify(name));
  if (turn.id === session.headTurnId) refs.push("head");
  if (turn.subagent !== null) refs.push(subagentRef(turn, turns));
  if (turn.sessionId !== session.id) refs.push(`session ${shortId(turn.sessionId)}`);
  if (turn.rerunOf !== null) {
    const old = turns.find(({ id, sessionId }) => id === turn.rerunOf && sessionId === turn.sessionId);
    refs.push(`rerun of ${old === undefined ? shortId(turn.rerunOf) : old.sequence}`);
  }
  if (turn.status === "failed") refs.push(`failed ${turn.failures[0]?.code ?? ""}`.trim());
  if (turn.status === "awaiting_tool_results") refs.push("waits");
  if (turn.status === "pending") refs.push("running");
  return refs;
}
