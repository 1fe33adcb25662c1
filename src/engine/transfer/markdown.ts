/**
 * Writes a session as a page for people: instructions, answers, calls and what the model received, in the order of the
 * turns.
 */
import type { Caller } from "../../domain/caller.ts";
import type { ActiveFileRef } from "../../domain/active-file.ts";
import type { ChunkRef } from "../../domain/chunk.ts";
import { isoTime } from "../../domain/ids.ts";
import type { PartRef } from "../../domain/input-part.ts";
import type { Session } from "../../domain/session.ts";
import type { ToolFeedback } from "../../domain/tool.ts";
import type { Turn } from "../../domain/turn.ts";
import type { EngineCore } from "../turn/live/engine-core.ts";
import { visibleSession } from "../access/visible.ts";
import { readBlob } from "../turn/kept/turn-blobs.ts";
import { keptEvents } from "../turn/kept/kept-events.ts";
import { turnsWithLineage, type StoredTurn } from "../turn/kept/turn-order.ts";
import { code, details, fencedText, inline, prose } from "./markdown-text.ts";
import { outputBlocks } from "./markdown-output.ts";
import { outcomeOf } from "./check-turn.ts";

/** Returns the page, which cannot be imported. Running turns are left out. Throws for a blob that cannot be read. */
export async function markdownOf(core: EngineCore, caller: Caller, sessionId: string): Promise<string> {
  const session = await visibleSession(core.deps, caller, sessionId);
  const blocks = headerOf(session);
  /** The number of each turn on the page. */
  const numbers = new Map<string, number>();
  for await (const turn of turnsWithLineage(core.deps.records, session)) {
    if (turn.status === "pending") continue;
    const isInOrder = (turn.parentId === null ? 0 : numbers.get(turn.parentId)) === numbers.size;
    numbers.set(turn.id, numbers.size + 1);
    blocks.push(...(await turnBlocks(core, turn, { session, numbers, isInOrder })));
  }
  return `${blocks.join("\n\n")}\n`;
}

function headerOf(session: Session): string[] {
  const facts = [
    `- Session: ${code(session.id)}`,
    `- Created: ${isoTime(session.createdAt)}`,
    ...repositoryFacts(session),
    ...(session.labels.length === 0 ? [] : [`- Labels: ${session.labels.map(code).join(", ")}`]),
    `- Tokens: ${session.tokensTotal}`,
  ];
  const description = session.description === "" ? [] : [prose(session.description)];
  return [`# ${inline(session.name)}`, ...description, facts.join("\n")];
}

function repositoryFacts({ repo, otherRepos }: Session): string[] {
  if (repo === null) return [];
  if (otherRepos.length === 0) return [`- Repository: ${code(repo)}`];
  return [`- Repositories: ${[repo, ...otherRepos].map(code).join(", ")}`];
}

interface Placement {
  session: Session;
  numbers: ReadonlyMap<string, number>;
  /** True if the turn continues the one before it on the page. */
  isInOrder: boolean;
}

async function turnBlocks(core: EngineCore, turn: StoredTurn, placement: Placement): Promise<string[]> {
  const opening = await readBlob<"opening">(core.deps.blobs, turn.blobs.opening, turn.id);
  const events = (await keptEvents(core.deps, turn)).map(({ event }) => event);
  return [
    `## ${titleOf(turn, placement)}`,
    ...notesOf(turn, placement),
    ...(opening.instruction === "" ? [] : ["**Instruction**", fencedText(opening.instruction, "text")]),
    ...opening.toolResults.map(feedbackBlock),
    ...outputBlocks(events),
    ...failuresOf(turn),
    ...section("Sources", turn.manifest.chunks.map(chunkLine)),
    ...section("Files", turn.manifest.activeFiles.map(fileLine)),
    ...section(
      "Warnings",
      turn.warnings.map((warning) => `- ${code(warning.code)}: ${inline(warning.message)}`),
    ),
  ];
}

function titleOf(turn: StoredTurn, { numbers, session }: Placement): string {
  const outcome = outcomeOf(turn);
  return [
    `Turn ${numbers.get(turn.id)}`,
    ...(outcome === "completed" ? [] : [outcome.replaceAll("_", " ")]),
    ...(turn.id === session.headTurnId ? ["head"] : []),
    isoTime(turn.createdAt),
    inline(`${turn.provider} ${turn.model}`),
  ].join(" · ");
}

function notesOf(turn: StoredTurn, { numbers, session, isInOrder }: Placement): string[] {
  const place = (id: string): string => {
    const number = numbers.get(id);
    return number === undefined ? `turn ${code(id)}` : `turn ${number}`;
  };
  const notes = [
    ...(isInOrder ? [] : [turn.parentId === null ? "begins anew" : `continues ${place(turn.parentId)}`]),
    ...(turn.rerunOf === null ? [] : [`asks ${place(turn.rerunOf)} again`]),
    ...(turn.sessionId === session.id ? [] : [`from the session ${code(turn.sessionId)}`]),
    ...(turn.mode === "ask" ? [] : [`mode ${code(turn.mode)}`]),
    ...(turn.status === "archived" ? ["put away"] : []),
  ];
  return notes.length === 0 ? [] : [`(${notes.join("; ")})`];
}

function feedbackBlock(feedback: ToolFeedback<PartRef>): string {
  const call = `call ${feedback.callId}`;
  if ("approved" in feedback) {
    const reason = feedback.reason === undefined ? [] : [fencedText(feedback.reason, "text")];
    return details(`${feedback.approved ? "Allowed" : "Denied"}: ${call}`, reason);
  }
  return details(`${feedback.isError ? "Error" : "Result"} of ${call}`, [fencedText(feedback.output, "text")]);
}

function failuresOf(turn: Turn): string[] {
  const outcome = turn.status === "archived" ? turn.was : turn;
  if (outcome.status !== "failed") return [];
  return outcome.failures.map((failure) => `**Failed:** ${code(failure.code)}: ${inline(failure.message)}`);
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`**${title}**`, lines.join("\n")];
}

function chunkLine({ path, startLine, endLine, wasSent, notSentBecause }: ChunkRef): string {
  const why = notSentBecause === undefined ? "not sent" : notSentWords[notSentBecause];
  return `- ${code(`${path}:${startLine}-${endLine}`)}${wasSent ? "" : ` (${why})`}`;
}

const notSentWords: Record<NonNullable<ChunkRef["notSentBecause"]>, string> = {
  already_sent: "the model had it already",
  active_file: "the whole file was there",
  outdated: "the file had changed",
  deleted: "the file had been deleted",
};

function fileLine({ path, wasSentToLLM, wasTooLargeToSend }: ActiveFileRef): string {
  const note = wasSentToLLM ? "" : wasTooLargeToSend ? " (too large, not sent)" : " (not sent again)";
  return `- ${code(path)}${note}`;
}
