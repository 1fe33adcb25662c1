/** `aptove session list | show | log` (L1, S7). */
import type { SessionListOptions } from "../../../client/sessions.ts";
import {
  AptoveApiError,
  type AptoveClient,
  type WireSession,
  type WireSessionGraph,
  type WireTurn,
} from "../../../client/client.ts";
import { limits } from "../../../domain/limits.ts";
import type { CliInvocation } from "../invocation.ts";
import { shownSummary } from "../summaries/shown-summary.ts";
import { localTime, sessionLines, turnCounts, turnLines } from "../show/explain.ts";
import { printSessionRows } from "../show/session-rows.ts";
import { turnEnd } from "../show/turn-end.ts";
import { CommandFailed, exitCodes, UsageError, type ExitCode } from "../failure.ts";
import { findTurnId, namedSession, numberedName, shortIds, turnNumbered } from "../lookup/find-by-id.ts";
import { refuseSeveral } from "../turn/turn-options.ts";
import { printTurnFailure } from "../turn/turn-failure.ts";
import { workspaceOrLabel } from "../lookup/named-workspace.ts";
import { writtenTime } from "../lookup/written-time.ts";
import { duration, firstLine } from "../output.ts";
import { plural } from "../../../system/grouped-number.ts";

export interface ListOptions {
  repo?: string;
  limit: number;
  archived?: boolean;
  removed?: boolean;
  label?: string;
  metadata?: string;
  workspace?: string;
  status?: WireTurn["status"];
  since?: string;
}

export async function printSessionList(invocation: CliInvocation, asked: ListOptions): Promise<ExitCode> {
  const client = await invocation.client();
  const options = { ...asked };
  if (asked.workspace !== undefined) options.workspace = await workspaceOrLabel(invocation, asked.workspace);
  const { sessions, nextCursor, hidden } =
    options.removed === true ? await removedSessions(client, options) : await someSessions(client, options);
  const { output } = invocation;
  if (invocation.json) output.json({ sessions, nextCursor, hidden });
  else if (sessions.length === 0) output.note(await emptyList(client, options, hidden));
  else printSessionRows(sessions, output);
  if (nextCursor !== null && !invocation.json)
    output.note(`there are more; see them with --limit ${options.limit * 2}`);
  if (sessions.length > 0 && hidden !== null && hidden > 0 && !invocation.json) output.note(hiddenNote(hidden));
  return exitCodes.fine;
}

async function emptyList(client: AptoveClient, { removed }: ListOptions, hidden: number | null): Promise<string> {
  if (removed === true) return "there are no deleted sessions";
  if (hidden !== null && hidden > 0) return `no session matches; ${hiddenNote(hidden)}`;
  return (await client.me()).role === "reader" ? "there are no sessions yet that you may read" : noSessions;
}

function hiddenNote(hidden: number): string {
  return `the filters hide ${plural(hidden, "session")}; see all with: aptove session list`;
}

const noSessions = 'there are no sessions yet; start one: aptove ask "…"';

type Sessions = Awaited<ReturnType<AptoveClient["sessions"]["list"]>>;

async function removedSessions(client: AptoveClient, { repo, archived, limit }: ListOptions): Promise<Sessions> {
  if (archived === true) throw new UsageError("--removed and --archived contradict each other", "give one of them");
  const removed = await client.sessions.listRemoved();
  const wanted = removed.filter((session) => repo === undefined || session.repo === repo);
  return { sessions: wanted.slice(0, limit), nextCursor: null, hidden: null };
}

async function someSessions(client: AptoveClient, options: ListOptions): Promise<Sessions> {
  const sessions: WireSession[] = [];
  let cursor: string | null = null;
  let hidden: number | null = null;
  do {
    const limit = Math.min(options.limit - sessions.length, limits.pageSizeMax);
    const page: Sessions = await client.sessions.list({
      limit,
      ...(cursor === null ? {} : { cursor }),
      ...filtersOf(options),
      ...(options.archived === true ? { archived: true } : {}),
    });
    hidden ??= page.hidden;
    sessions.push(...page.sessions);
    cursor = page.nextCursor;
  } while (cursor !== null && sessions.length < options.limit);
  return { sessions, nextCursor: cursor, hidden };
}

/** Returns the filters that were given. `--since` takes a day or a time. */
function filtersOf({ repo, label, metadata, workspace, status, since }: ListOptions): SessionListOptions {
  return {
    ...(repo !== undefined && { repo }),
    ...(label !== undefined && { label }),
    ...(metadata !== undefined && { metadata }),
    ...(workspace !== undefined && { workspaceId: workspace }),
    ...(status !== undefined && { status }),
    ...(since !== undefined && { activeFrom: writtenTime("--since", since) }),
  };
}

export interface ShowOptions {
  turn?: number;
  answer?: boolean;
  request?: boolean;
  response?: boolean;
  size?: boolean;
  all?: boolean;
  step: number;
}

export async function showSession(
  invocation: CliInvocation,
  id: string | undefined,
  options: ShowOptions,
): Promise<ExitCode> {
  if (options.size === true || options.all === true) {
    return await (await import("../show/history-size.ts")).showSize(invocation, id, options);
  }
  const client = await invocation.client();
  const { session, turn } = await shownTurn(client, { id, number: options.turn }, (await invocation.copy()).repo);
  const { output } = invocation;
  const asked = refuseSeveral([
    ["--answer", options.answer],
    ["--request", options.request],
    ["--response", options.response],
  ]);
  if (asked !== null) {
    if (turn === null)
      throw new CommandFailed("not_found", "the session has no turn yet", 'begin it: aptove ask --session <id> "…"');
    if (asked === "--answer") return await printAnswer(invocation, client, turn.id);
    output.write(await exactBytes(client, turn, { part: asked, step: options.step }));
    return exitCodes.fine;
  }
  const summary = session.summary === null ? null : await client.summaries.get(session.summary.id);
  if (invocation.json) {
    output.json({ session, turn, summary });
    return exitCodes.fine;
  }
  for (const line of sessionLines(session, output)) output.line(line);
  if (summary !== null) {
    output.line();
    for (const line of shownSummary(summary, output)) output.line(line);
  }
  if (turn === null) return exitCodes.fine;
  output.line();
  // What a failed turn has of an answer is not in its row.
  const part = turn.status === "failed" ? (await client.turns.answer(turn.id)).text : "";
  for (const line of turnLines(turn, output, part)) output.line(line);
  return exitCodes.fine;
}

/** Throws `not_found` if the turn has no such call, or its response never ended. */
async function exactBytes(
  client: AptoveClient,
  turn: WireTurn,
  { part, step }: { part: string; step: number },
): Promise<Uint8Array> {
  const read = part === "--request" ? client.turns.request : client.turns.response;
  try {
    return await read(turn.id, step);
  } catch (error) {
    if (!(error instanceof AptoveApiError) || error.code !== "not_found") throw error;
    const fix = `see its model calls: aptove session show ${numberedName(turn)}; what there is of the answer: --answer`;
    throw new CommandFailed("not_found", error.detail, fix);
  }
}

/** Prints the text alone, so that a pipe gets nothing else. Of a turn that failed it is the output so far. */
async function printAnswer(invocation: CliInvocation, client: AptoveClient, turnId: string): Promise<ExitCode> {
  const answer = await client.turns.answer(turnId);
  const { output } = invocation;
  if (invocation.json) {
    output.json(answer);
    return exitCodes.fine;
  }
  output.write(answer.text);
  if (answer.text !== "" && !answer.text.endsWith("\n")) output.line();
  if (answer.kind === "error") printTurnFailure(invocation, answer);
  else if (answer.text === "") output.note("the answer has no text");
  return exitCodes.fine;
}

/**
 * Returns a session and one of its turns: the one that `id` names as `<session>:<number>`, the one with the number, or else
 * the newest. Null as the turn: the session is empty.
 */
async function shownTurn(
  client: AptoveClient,
  { id, number }: { id: string | undefined; number: number | undefined },
  repo: string,
): Promise<{ session: WireSession; turn: WireTurn | null }> {
  if (id?.includes(":") === true) {
    if (number !== undefined) throw new UsageError(`${id} names a turn already`, "leave out --turn");
    const turn = await client.turns.get(await findTurnId(client, id, repo));
    return { session: await client.sessions.get(turn.sessionId), turn };
  }
  const session = await namedSession(client, id, repo);
  if (session.turnCount === 0) return { session, turn: null };
  if (number === undefined) return { session, turn: await client.sessions.lastTurn(session.id) };
  return { session, turn: await client.turns.get(await turnNumbered(client, session, number)) };
}

export interface LogOptions {
  limit: number;
  graph?: boolean;
}

export async function logSession(
  invocation: CliInvocation,
  id: string | undefined,
  options: LogOptions,
): Promise<ExitCode> {
  const client = await invocation.client();
  const session = await namedSession(client, id, (await invocation.copy()).repo);
  if (options.graph === true) return await showGraph(invocation, await wholeGraph(client, session.id), options.limit);
  const turns: WireTurn[] = [];
  let before: number | null = null;
  do {
    const limit = Math.min(options.limit - turns.length, limits.pageSizeDefault);
    const page: Awaited<ReturnType<AptoveClient["sessions"]["turns"]>> = await client.sessions.turns(session.id, {
      limit,
      ...(before === null ? {} : { before }),
    });
    turns.push(...(await Promise.all(page.turns.map((turn) => client.turns.get(turn.id)))));
    before = page.nextBefore;
  } while (before !== null && turns.length < options.limit);
  const { output } = invocation;
  if (invocation.json) {
    output.json({ session, turns });
    return exitCodes.fine;
  }
  output.line(output.style.bold(output.safe(session.name)));
  output.table(logRows(turns.toReversed(), session), { spare: [6, 5, 4], last: "cut" });
  if (before !== null) output.note(`older turns are left out; see them with --limit ${options.limit * 2}`);
  return exitCodes.fine;
}

async function wholeGraph(client: AptoveClient, id: string): Promise<WireSessionGraph> {
  const whole = await client.sessions.graph(id);
  while (whole.nextAfter !== null) {
    const { turns, forks, forkCounts, nextAfter } = await client.sessions.graph(id, { after: whole.nextAfter });
    whole.turns.push(...turns);
    whole.forks.push(...forks);
    whole.forkCounts.push(...forkCounts);
    whole.nextAfter = nextAfter;
  }
  return whole;
}

async function showGraph(invocation: CliInvocation, graph: WireSessionGraph, limit: number): Promise<ExitCode> {
  const { output } = invocation;
  if (invocation.json) {
    output.json(graph);
    return exitCodes.fine;
  }
  const { graphLines } = await import("../show/draw-graph.ts");
  output.line(output.style.bold(output.safe(graph.session.name)));
  for (const line of graphLines(graph, limit, output)) output.line(line);
  const nodes = graph.turns.length + graph.forks.length;
  const forks = graph.forkCounts.reduce((sum, { count }) => sum + count, 0);
  if (forks > graph.forks.length) output.note(`${forks - graph.forks.length} older forks are left out`);
  if (nodes > limit) output.note(`${nodes - limit} more are left out; see them with --limit ${nodes}`);
  return exitCodes.fine;
}

function logRows(turns: WireTurn[], session: WireSession): string[][] {
  const short = shortIds(turns.map((turn) => turn.id));
  return turns.map((turn) => [
    turn.id === session.headTurnId ? "*" : " ",
    String(turn.sequence),
    short.get(turn.id) ?? turn.id,
    turnEnd(turn),
    localTime(turn.createdAt),
    turn.run === null ? "" : duration(turn.run.durationMs),
    turnCounts(turn),
    firstLine(turn.instructionSummary, 50),
  ]);
}
