/** `aptove session diff | verify`: explains and proves answers (D1, D2). */
import type { CliInvocation } from "../invocation.ts";
import { CommandFailed, exitCodes, type ExitCode } from "../failure.ts";
import { findTurnId, namedSession, shortId } from "../lookup/find-by-id.ts";
import { plural } from "../../../system/grouped-number.ts";
import { whileWaiting } from "../show/progress-bar.ts";
import { pairOf, showTurnDiff } from "../show/turn-diff.ts";

/** Compares two turns. If there is no second one, the first is compared with the turn that it repeats, or else continues. */
export async function compareTurns(
  invocation: CliInvocation,
  turns: { a: string | undefined; b: string | undefined },
  options: { sideBySide?: boolean },
): Promise<ExitCode> {
  const client = await invocation.client();
  const { repo } = await invocation.copy();
  const first = await findTurnId(client, turns.a ?? "last", repo);
  const pair =
    turns.b === undefined ? await pairOf(client, first) : { a: first, b: await findTurnId(client, turns.b, repo) };
  if (pair === null) {
    const message = `the turn ${shortId(first)} repeats and continues no other turn`;
    throw new CommandFailed("not_found", message, "name two turns: aptove session diff <a> <b>");
  }
  return await showTurnDiff(invocation, client, { ...pair, sideBySide: options.sideBySide === true });
}

export async function checkSessionSeals(invocation: CliInvocation, id: string | undefined): Promise<ExitCode> {
  const client = await invocation.client();
  const session = await namedSession(client, id, (await invocation.copy()).repo);
  const { output } = invocation;
  const label = `verifying ${plural(session.turnCount, "turn")} of ${shortId(session.id)}`;
  const report = await whileWaiting(output, label, client.sessions.verify(session.id));
  const { fault, turnsChecked, turnsUnsealed } = report;
  if (invocation.json) {
    output.json(report);
  } else if (fault === null) {
    output.line(`${plural(turnsChecked, "turn")} verified: unchanged since they ended`);
    if (turnsUnsealed > 0) output.note(`${plural(turnsUnsealed, "turn")} without a digest cannot be verified`);
  } else {
    const { red } = output.style;
    output.line(red(output.safe(`turn ${fault.sequence} (${fault.turnId}) failed verification: ${fault.reason}`)));
    output.note("the turns that continue it depend on it");
  }
  return fault === null ? exitCodes.fine : exitCodes.failed;
}
