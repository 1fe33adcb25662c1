/** `aptove session summarize | summaries` (M5). */
import type { AptoveClient, WireSummary } from "../../../client/client.ts";
import { limits } from "../../../domain/limits.ts";
import type { CliInvocation } from "../invocation.ts";
import { CommandFailed, exitCodes, fixOf, type ExitCode } from "../failure.ts";
import { namedSession, shortId, turnNumbered } from "../lookup/find-by-id.ts";
import { duration, firstLine } from "../output.ts";
import { plural } from "../../../system/grouped-number.ts";
import { localTime } from "../show/explain.ts";
import { shownSummary } from "./shown-summary.ts";
import { totalWords } from "../show/usage-words.ts";
import { listenForStop } from "../stop-signals.ts";

export interface SummarizeOptions {
  turn?: number;
  model?: string;
  fresh?: boolean;
}

export async function summarizeSession(
  invocation: CliInvocation,
  id: string | undefined,
  { turn, model, fresh }: SummarizeOptions,
): Promise<ExitCode> {
  const client = await invocation.client();
  const session = await namedSession(client, id, (await invocation.copy()).repo);
  const through = turn === undefined ? null : await turnNumbered(client, session, turn);
  const begun = await client.summaries.start(session.id, {
    ...(through !== null && { throughTurnId: through }),
    ...(model !== undefined && { model }),
    ...(fresh === true && { fresh }),
  });
  const summary = await untilEnded(invocation, client, begun);
  const { output } = invocation;
  if (summary.failure !== null) {
    const { code, message } = summary.failure;
    if (invocation.json) output.json(summary);
    if (code === "interrupted") return exitCodes.interrupted;
    if (invocation.json) return exitCodes.failed;
    throw new CommandFailed(code, message, fixOf(code, null) ?? "");
  }
  if (invocation.json) output.json(summary);
  else for (const line of shownSummary(summary, output)) output.line(line);
  return exitCodes.fine;
}

/** Waits for the end. The first Ctrl-C stops the summary, the second one leaves it alone. */
async function untilEnded({ io }: CliInvocation, client: AptoveClient, begun: WireSummary): Promise<WireSummary> {
  const stop = listenForStop(io.signals);
  try {
    let summary = begun;
    const stopped = Promise.withResolvers<void>();
    stop.first.addEventListener("abort", () => stopped.resolve(), { once: true });
    while (summary.status === "pending") {
      const ended = client.summaries.get(begun.id, { waitMs: limits.summaryWaitMsMax });
      const next = await Promise.race([ended, stop.second, stopped.promise.then(() => null)]);
      summary = next ?? (await client.summaries.stop(begun.id));
      if (next === null) await ended;
    }
    return summary;
  } finally {
    stop.release();
  }
}

export async function listSummaries(invocation: CliInvocation, id: string | undefined): Promise<ExitCode> {
  const client = await invocation.client();
  const session = await namedSession(client, id, (await invocation.copy()).repo);
  const summaries = await client.summaries.list(session.id);
  const { output } = invocation;
  if (invocation.json) output.json({ summaries });
  else if (summaries.length === 0)
    output.note(`the session has no summary; make one: aptove session summarize ${shortId(session.id)}`);
  else output.table(summaries.map(rowOf), { spare: [6, 5, 3], last: "cut" });
  return exitCodes.fine;
}

function rowOf(summary: WireSummary): string[] {
  const { id, status, failure, turnCount, provider, model, usage, createdAt, endedAt, lines } = summary;
  return [
    shortId(id),
    localTime(createdAt).slice(0, 16),
    failure === null ? status : `failed ${failure.code}`,
    `${provider}/${model}`,
    plural(turnCount, "turn"),
    usage === null ? "" : totalWords(usage).join(" "),
    endedAt === null ? "" : duration(Date.parse(endedAt) - Date.parse(createdAt)),
    firstLine(lines[0]?.text ?? "", 60),
  ];
}
