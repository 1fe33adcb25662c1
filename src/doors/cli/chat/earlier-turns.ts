/** Shows the end of the conversation that a chat continues, as it looked when it was made (L2, T12). */
import type { ExecuteAnswer, WireSession, WireTurnSummary } from "../../../client/client.ts";
import { shortId } from "../lookup/find-by-id.ts";
import { firstLine } from "../output.ts";
import { plural } from "../../../system/grouped-number.ts";
import { localTime } from "../show/explain.ts";
import type { ChatState } from "./chat-state.ts";

/** The number of instructions that are shown with their answers. */
const instructionsMax = 3;
/** The turns that are read to find them: an instruction and the calls of the chat's tools are several turns. */
const readTurnsMax = 30;
const instructionLinesMax = 12;
const answerLinesMax = 40;

interface EarlierTurn {
  turn: WireTurnSummary;
  instruction: string;
  answer: ExecuteAnswer;
}

/** Prints the last turns of the session, oldest first, and how many came before. */
export async function showEarlierTurns(state: ChatState, session: WireSession): Promise<void> {
  const { output } = state.call;
  const turns = await turnsToShow(state, session);
  const [first] = turns;
  if (first === undefined) return;
  const shown = await Promise.all(turns.map((turn) => read(state, turn)));
  const before = first.depth - 1;
  const more = before === 0 ? [] : [`${plural(before, "earlier turn")}: aptove session log ${shortId(session.id)}`];
  const about = [`last active ${localTime(session.activeAt).slice(0, 16)}`, ...more];
  output.note(output.noteStyle.dim(about.join(" · ")));
  for (const each of shown) await show(state, each);
}

/**
 * Returns the turns that end at the newest one, oldest first. A failed turn that did nothing is no head, and is shown
 * nevertheless: the person has seen it.
 */
async function turnsToShow({ client }: ChatState, session: WireSession): Promise<WireTurnSummary[]> {
  const turns: WireTurnSummary[] = [];
  let instructions = 0;
  const newest = session.turnCount === 0 ? session.headTurnId : await newestTurn(session, client);
  for (let id = newest ?? session.originTurnId; id !== null && turns.length < readTurnsMax;) {
    const turn: WireTurnSummary = await client.turns.summary(id);
    turns.unshift(turn);
    if (turn.instructionSummary !== "") instructions += 1;
    if (instructions === instructionsMax) break;
    id = turn.parentId;
  }
  return turns;
}

async function newestTurn(session: WireSession, client: ChatState["client"]): Promise<string | null> {
  const { turns } = await client.sessions.turns(session.id, { limit: 1 });
  const last = turns.find(({ kind }) => kind === "agent");
  const isBelowHead = last?.status === "failed" && last.parentId === session.headTurnId;
  return isBelowHead ? last.id : session.headTurnId;
}

async function read({ client }: ChatState, turn: WireTurnSummary): Promise<EarlierTurn> {
  const [instruction, answer] = await Promise.all([client.turns.instruction(turn.id), client.turns.answer(turn.id)]);
  return { turn, instruction, answer };
}

async function show({ call, view }: ChatState, { turn, instruction, answer }: EarlierTurn): Promise<void> {
  const { output } = call;
  const { dim, cyan, red } = output.noteStyle;
  if (instruction !== "") {
    const lines = output.safeNote(instruction).trimEnd().split("\n");
    const typed = lines.slice(0, instructionLinesMax).map((line, at) => `${at === 0 ? cyan("› ") : "  "}${line}`);
    output.note(["", ...typed, ...rest(lines.length - instructionLinesMax, dim)].join("\n"));
  }
  const text = await view.markdown(answer.text.trim());
  if (text.length > 0) {
    output.note(["", ...text.slice(0, answerLinesMax), ...rest(text.length - answerLinesMax, dim)].join("\n"));
  }
  const names = answer.toolCalls.map(({ name }) => output.safeNote(firstLine(name, 40)));
  if (names.length > 0) output.note(dim(`→ ${names.join(", ")}`));
  if (turn.status === "failed") {
    output.note(red(output.safeNote(`failed: ${answer.errorMessage ?? answer.errorCode ?? "the turn failed"}`)));
  }
}

function rest(count: number, dim: (text: string) => string): string[] {
  return count > 0 ? [dim(`  … ${plural(count, "more line")}`)] : [];
}
