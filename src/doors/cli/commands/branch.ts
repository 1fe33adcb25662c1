/** `aptove session fork | rerun | head`: other ways to continue from a turn (T6, T7, S5). */
import type { AptoveClient } from "../../../client/client.ts";
import type { CliInvocation } from "../invocation.ts";
import { exitCodes, UsageError, type ExitCode } from "../failure.ts";
import { findContinuable, findSession, findTurnId, shortId, turnNumbered } from "../lookup/find-by-id.ts";
import { ask } from "./ask.ts";

/** Starts a session below a session's head or below a turn. `at` is the number of a turn of the session. */
interface ForkPoint {
  from: string;
  at?: number;
}

/** The new session is empty if there is no instruction, and the next instruction continues it. */
export async function forkSession(invocation: CliInvocation, where: ForkPoint, words: string[]): Promise<ExitCode> {
  const client = await invocation.client();
  const turnId = await turnToFork(client, where, (await invocation.copy()).repo);
  if (words.length > 0) return await ask(invocation, words, { fork: turnId });
  const session = await client.sessions.create({ forkOf: turnId });
  const { output } = invocation;
  if (invocation.json) {
    output.json(session);
    return exitCodes.fine;
  }
  output.line(`${session.id} ${output.safe(session.name)}`);
  output.note(`a fork of turn ${shortId(turnId)}; continue it: aptove ask -s ${shortId(session.id)} "…"`);
  return exitCodes.fine;
}

async function turnToFork(client: AptoveClient, { from, at }: ForkPoint, repo: string): Promise<string> {
  if (at === undefined) return await findContinuable(client, from, repo);
  if (from.includes(":")) throw new UsageError(`${from} names a turn already`, "leave out --at");
  return await turnNumbered(client, await findSession(client, from, repo), at);
}

/** The instruction of the turn is used again if there is no other. */
export async function rerunTurn(invocation: CliInvocation, turn: string, words: string[]): Promise<ExitCode> {
  return await ask(invocation, words, { rerun: turn });
}

export async function moveHead(invocation: CliInvocation, id: string, to: string): Promise<ExitCode> {
  const client = await invocation.client();
  const { repo } = await invocation.copy();
  const session = await findSession(client, id, repo);
  // A short number is a turn of this session. An id that has digits only is longer.
  const isNumber = /^\d{1,7}$/.test(to);
  const turnId = isNumber ? await turnNumbered(client, session, Number(to)) : await findTurnId(client, to, repo);
  const moved = await client.sessions.moveHead(session.id, { from: session.headTurnId, to: turnId });
  const { output } = invocation;
  if (invocation.json) {
    output.json(moved);
    return exitCodes.fine;
  }
  const was = session.headTurnId === null ? "nothing" : shortId(session.headTurnId);
  output.line(`${shortId(session.id)} head ${was} → ${shortId(turnId)}`);
  return exitCodes.fine;
}
