/** Builds the answer of the execute route from a stored turn. Who may still see the turn gets the same at any later time (H1, H4). */
import { AptoveError, type Warning } from "../../../domain/errors.ts";
import { parseFileBundle, type FileBundle } from "../../../domain/file-bundle.ts";
import type { PendingTurn, Turn } from "../../../domain/turn.ts";
import type { TurnReader } from "../../../engine/engine.ts";
import type { ExecuteAnswer } from "../../../protocol/execute.ts";
import { turnOutcome, type TurnOutcome } from "../../../protocol/turn.ts";
import { toWireUsage } from "../../../protocol/values.ts";
import { toWireFailure } from "../../../protocol/wire-failure.ts";

/** Throws `turn_not_finished` while the turn runs. */
export async function executeAnswerOf(reader: Pick<TurnReader, "turn" | "answer">): Promise<ExecuteAnswer> {
  const { turn } = reader;
  if (turn.status === "pending") throw new AptoveError("turn_not_finished", "read its events until it has finished");
  return executeAnswer(turn, await reader.answer());
}

/** Returns the same for a turn whose whole answer is known. */
export function executeAnswer(turn: Exclude<Turn, PendingTurn>, text: string): ExecuteAnswer {
  const outcome = turnOutcome(turn);
  const { bundle, warnings } = proposedFiles(turn, outcome, text);
  const [failure] = outcome.failures;
  return {
    kind: kindOf(outcome),
    text,
    sessionId: turn.sessionId,
    turnId: turn.id,
    responseContinuationId: turn.id,
    sources: turn.manifest.chunks.map(({ id, path, startLine, endLine, wasSent }) => ({
      id,
      path,
      startLine,
      endLine,
      wasSent,
    })),
    fileBundle: bundle,
    toolCalls: outcome.deferredCalls,
    warnings,
    usage: toWireUsage(turn.run.usage),
    stopReason: outcome.stopReason,
    errorCode: failure?.code ?? null,
    errorMessage: failure?.message ?? null,
    errorFix: failure === undefined ? null : toWireFailure(failure).fix,
  };
}

function kindOf(outcome: TurnOutcome): ExecuteAnswer["kind"] {
  switch (outcome.status) {
    case "awaiting_tool_results":
      return "tool_calls";
    case "failed":
      return "error";
    case "completed":
    case "pending":
      return "answer";
  }
}

/** Reads the changes that an answer in `edit` mode proposes (X7). An invalid bundle becomes a warning, and stays text. */
function proposedFiles(
  turn: Turn,
  outcome: TurnOutcome,
  text: string,
): { bundle: FileBundle | null; warnings: Warning[] } {
  const { warnings } = turn;
  if (turn.mode !== "edit" || outcome.status !== "completed") return { bundle: null, warnings };
  const parsed = parseFileBundle(text);
  if (parsed === null) return { bundle: null, warnings };
  if ("bundle" in parsed) return { bundle: parsed.bundle, warnings };
  const isWarned = warnings.some((warning) => warning.code === "file_bundle_invalid");
  const warning: Warning = { code: "file_bundle_invalid", message: parsed.fault };
  return { bundle: null, warnings: isWarned ? warnings : [...warnings, warning] };
}
