/** `aptove session rename | archive | unarchive | delete | restore | purge`, and `aptove gc` (S2, S6, K4). */
import type { WireSession } from "../../../client/client.ts";
import type { CliInvocation } from "../invocation.ts";
import { confirmUnlessYes, type ConfirmOptions } from "../confirm.ts";
import { exitCodes, fixOf, type ExitCode } from "../failure.ts";
import { findRemoved, findSession, shortId } from "../lookup/find-by-id.ts";
import { bytes } from "../output.ts";
import { plural } from "../../../system/grouped-number.ts";

export async function renameSession(invocation: CliInvocation, id: string, name: string): Promise<ExitCode> {
  const client = await invocation.client();
  const renamed = await client.sessions.update(await namedSessionId(invocation, id), { name });
  if (invocation.json) invocation.output.json(renamed);
  else invocation.output.line(`${renamed.id} ${invocation.output.safe(renamed.name)}`);
  return exitCodes.fine;
}

export async function archiveSession(invocation: CliInvocation, id: string): Promise<ExitCode> {
  const client = await invocation.client();
  const session = await client.sessions.archive(await namedSessionId(invocation, id));
  return tell(invocation, session, "archived; it stays readable and accepts no turns");
}

export async function unarchiveSession(invocation: CliInvocation, id: string): Promise<ExitCode> {
  const client = await invocation.client();
  return tell(invocation, await client.sessions.unarchive(await namedSessionId(invocation, id)), "accepts turns again");
}

export async function deleteSession(invocation: CliInvocation, id: string, options: ConfirmOptions): Promise<ExitCode> {
  const client = await invocation.client();
  const session = await findSession(client, id, (await invocation.copy()).repo);
  if (!(await confirmUnlessYes(invocation, `delete ${described(invocation, session)}?`, options)))
    return exitCodes.failed;
  const removed = await client.sessions.remove(session.id);
  return tell(invocation, removed, `deleted; bring it back with: aptove session restore ${shortId(removed.id)}`);
}

export async function restoreSession(invocation: CliInvocation, id: string): Promise<ExitCode> {
  const client = await invocation.client();
  const session = await findRemoved(client, id);
  return tell(invocation, await client.sessions.restore(session.id), "restored");
}

export async function purgeRemovedSession(
  invocation: CliInvocation,
  id: string,
  options: ConfirmOptions,
): Promise<ExitCode> {
  const client = await invocation.client();
  const session = await findRemoved(client, id);
  const question = `purge ${described(invocation, session)} permanently? this cannot be undone`;
  if (!(await confirmUnlessYes(invocation, question, options))) return exitCodes.failed;
  const report = await client.sessions.purge(session.id);
  const { output } = invocation;
  if (invocation.json) {
    output.json(report);
    return exitCodes.fine;
  }
  const { turnsPurged, turnsKept, blobsDeleted, bytesFreed } = report;
  output.line(`${plural(turnsPurged, "turn")} purged, ${bytes(bytesFreed)} and ${plural(blobsDeleted, "blob")} freed`);
  if (turnsKept > 0) output.line(`${plural(turnsKept, "turn")} kept, because other sessions depend on them`);
  return exitCodes.fine;
}

export async function collectGarbage(
  invocation: CliInvocation,
  { dryRun = false, evenMost = false }: { dryRun?: boolean; evenMost?: boolean },
): Promise<ExitCode> {
  const report = await (await invocation.client()).collectGarbage({ dryRun, isMostExpected: evenMost });
  const { output } = invocation;
  if (invocation.json) {
    output.json(report);
    return exitCodes.fine;
  }
  if (dryRun) for (const key of report.keys) output.line(key);
  const what = `${plural(report.keys.length, "blob")} not needed by any turn, ${bytes(report.bytes)}`;
  output.line(dryRun ? `${what}; nothing was deleted` : `deleted ${what}`);
  if (dryRun && report.isMost) output.note(`this is most of what is stored: ${fixOf("garbage_doubtful", null)}`);
  return exitCodes.fine;
}

async function namedSessionId(invocation: CliInvocation, id: string): Promise<string> {
  return (await findSession(await invocation.client(), id, (await invocation.copy()).repo)).id;
}

function described(invocation: CliInvocation, { id, name, turnCount }: WireSession): string {
  return `${shortId(id)} "${invocation.output.safeNote(name)}" with ${plural(turnCount, "turn")}`;
}

function tell(invocation: CliInvocation, session: WireSession, what: string): ExitCode {
  if (invocation.json) invocation.output.json(session);
  else invocation.output.line(`${shortId(session.id)} ${invocation.output.safe(session.name)}: ${what}`);
  return exitCodes.fine;
}
