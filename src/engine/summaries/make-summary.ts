/**
 * Makes a summary, piece by piece (M5). Each call reads the summary so far and the next turns, so no request is too long and
 * what a summary costs depends on what is new since the one that it begins with.
 */
import { failure, failureOf, type Failure } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import type { State } from "../../domain/lineage.ts";
import type { RejectedLine, SummaryEnd, SummaryLine } from "../../domain/summary.ts";
import type { EngineCore } from "../turn/live/engine-core.ts";
import { checkAnswer, type CheckedAnswer } from "./check-answer.ts";
import { ModelCalls, SummaryGone, type SummaryJob } from "./model-calls.ts";
import { summaryCall, type SummaryInput } from "./summary-call.ts";
import { numberedTurns, piecesOf, type NumberedTurn, type Piece } from "./turn-text.ts";

/** What the model has written so far, and what it may name. */
interface Progress {
  lines: readonly SummaryLine[] | null;
  rejected: RejectedLine[];
  known: Map<number, { turnId: string; texts: string[] }>;
}

/** Makes the summary and stores its end. Never rejects, unless the store fails. */
export async function makeSummary(core: EngineCore, job: SummaryJob): Promise<void> {
  const calls = new ModelCalls(core, job);
  const progress: Progress = { lines: job.earlier?.end.lines ?? null, rejected: [], known: new Map() };
  const end = await written(core, job, { calls, progress }).catch((error: unknown) => {
    if (error instanceof SummaryGone) return null;
    return { failure: failureOf(error) };
  });
  if (end === null) return;
  const { rejected } = progress;
  const facts = { at: core.deps.now(), usage: calls.usage(), rejected };
  const ended: SummaryEnd =
    "failure" in end ? { ...facts, status: "failed", ...end } : { ...facts, status: "completed", ...end };
  await core.deps.records.summaries.update({ ...calls.summary, end: ended });
}

interface Making {
  calls: ModelCalls;
  progress: Progress;
}

async function written(
  core: EngineCore,
  job: SummaryJob,
  { calls, progress }: Making,
): Promise<{ lines: SummaryLine[] } | { failure: Failure }> {
  const { summary, earlier } = job;
  const state = await core.histories.state(summary.throughTurnId);
  knowEarlier(progress, state);
  const turns = numberedTurns(state, earlier?.throughDepth ?? 0);
  let room = await charactersOf(core, job);
  let pieces = piecesOf(turns, room);
  for (let [piece] = pieces; piece !== undefined; [piece] = pieces) {
    for (const { number, turnId, text } of piece.turns) progress.known.set(number, { turnId, texts: [text] });
    const answer = await readPiece(job, { calls, progress }, piece);
    if ("failed" in answer) return { failure: answer.failed };
    if ("tooLong" in answer) {
      const isSmallest = piece.text.length <= limits.summaryPieceCharactersMin;
      if (isSmallest) return { failure: answer.tooLong };
      room = Math.max(limits.summaryPieceCharactersMin, Math.floor(piece.text.length / 2));
      // A turn of which a part was read is read again from its beginning.
      pieces = piecesOf(fromTurn(turns, piece), room);
      continue;
    }
    progress.lines = answer.lines;
    progress.rejected = [...progress.rejected, ...answer.rejected].slice(0, limits.summaryRejectedMax);
    pieces = pieces.slice(1);
  }
  const lines = [...(progress.lines ?? [])];
  if (lines.length > 0) return { lines };
  return { failure: failure("provider_answer_invalid", "no line of the answer names a turn that contains its quote") };
}

function fromTurn(turns: readonly NumberedTurn[], { turns: [first] }: Piece): readonly NumberedTurn[] {
  return turns.slice(turns.findIndex(({ turnId }) => turnId === first?.turnId));
}

/** The lines of the earlier summary may keep their sources: what they quote is known. */
function knowEarlier({ lines, known }: Progress, { entries }: State): void {
  const depths = new Map(entries.map(({ turnId, depth }) => [turnId, depth]));
  for (const { turnId, quote } of (lines ?? []).flatMap(({ sources }) => sources)) {
    const number = depths.get(turnId);
    if (number === undefined) continue;
    known.set(number, { turnId, texts: [...(known.get(number)?.texts ?? []), quote] });
  }
}

/** Returns how many characters of the conversation one call reads. */
async function charactersOf({ windows }: EngineCore, { provider, summary }: SummaryJob): Promise<number> {
  const window = await windows.find({ provider, model: summary.model });
  const tokens = Math.min(limits.summaryCallTokensMax, (window ?? Infinity) * limits.summaryPieceShare);
  return Math.max(limits.summaryPieceCharactersMin, Math.floor(tokens * charactersPerToken));
}

/** The same as in our other estimates of tokens. */
const charactersPerToken = 4;

type PieceAnswer = CheckedAnswer | { tooLong: Failure } | { failed: Failure };

async function readPiece({ summary }: SummaryJob, { calls, progress }: Making, piece: Piece): Promise<PieceAnswer> {
  const { known, lines } = progress;
  const numbers = new Map([...known].map(([number, { turnId }]) => [turnId, number]));
  const input: SummaryInput = { earlier: lines, text: piece.text, numberOf: (id) => numbers.get(id) ?? null };
  let isStructured = true;
  let fault = "";
  for (let left = limits.summaryAnswersMax; left > 0; left -= 1) {
    let answer = await calls.ask(summaryCall(summary.model, input, isStructured));
    if (isStructured && "failed" in answer && answer.failed.code === "provider_rejected") {
      // Some servers refuse every request that names the form of the answer.
      isStructured = false;
      answer = await calls.ask(summaryCall(summary.model, input, isStructured));
    }
    if (!("text" in answer)) return answer;
    const checked = checkAnswer(answer.text, known);
    if (!("fault" in checked)) return checked;
    fault = checked.fault;
  }
  return { failed: failure("provider_answer_invalid", fault) };
}
