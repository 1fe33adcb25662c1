/** `aptove session diff | verify`: explains and proves answers (D1, D2). */
import type { CliInvocation } from "../invocation.ts";
import { exitCodes, type ExitCode } from "../failure.ts";
import { findTurnId, namedSession, shortId } from "../lookup/find-by-id.ts";
import { plural } from "../output.ts";
import { whileWaiting } from "../show/progress-bar.ts";
import { showTurnDiff } from "../show/turn-diff.ts";

export async function compareTurns(
  invocation: CliInvocation,
  turns: { a: string; b: string },
  options: { sideBySide?: boolean },
): Promise<ExitCode> {
  const client = await invocation.client();
  const { repo } = await invocation.copy();
  const [a, b] = await Promise.all([findTurnId(client, turns.a, repo), findTurnId(client, turns.b, repo)]);
  return await showTurnDiff(invocation, client, { a, b, sideBySide: options.sideBySide === true });
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
