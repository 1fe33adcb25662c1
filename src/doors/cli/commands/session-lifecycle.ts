/** `aptove session rename | archive | unarchive | delete | restore | purge`, and `aptove gc` (S2, S6, K4). */
import type { WireSession } from "../../../client/client.ts";
import type { CliInvocation } from "../invocation.ts";
import { confirmUnlessYes, type ConfirmOptions } from "../confirm.ts";
import { exitCodes, fixOf, type ExitCode } from "../failure.ts";
import { findRemoved, findSession, shortId } from "../lookup/find-by-id.ts";
import { bytes, plural } from "../output.ts";

export async function renameSession(call: CliInvocation, id: string, name: string): Promise<ExitCode> {
  const client = await call.client();
  const renamed = await client.sessions.update(await namedSessionId(call, id), { name });
  if (call.json) call.output.json(renamed);
  else call.output.line(`${renamed.id} ${call.output.safe(renamed.name)}`);
  return exitCodes.fine;
}

export async function archiveSession(call: CliInvocation, id: string): Promise<ExitCode> {
  const client = await call.client();
  const session = await client.sessions.archive(await namedSessionId(call, id));
  return tell(call, session, "archived; it stays readable and accepts no turns");
}

export async function unarchiveSession(call: CliInvocation, id: string): Promise<ExitCode> {
  const client = await call.client();
  return tell(call, await client.sessions.unarchive(await namedSessionId(call, id)), "accepts turns again");
}

export async function deleteSession(call: CliInvocation, id: string, options: ConfirmOptions): Promise<ExitCode> {
  const client = await call.client();
  const session = await findSession(client, id, (await call.copy()).repo);
  if (!(await confirmUnlessYes(call, `delete ${described(call, session)}?`, options))) return exitCodes.failed;
  const removed = await client.sessions.remove(session.id);
  return tell(call, removed, `deleted; bring it back with: aptove session restore ${shortId(removed.id)}`);
}

export async function restoreSession(call: CliInvocation, id: string): Promise<ExitCode> {
  const client = await call.client();
  const session = await findRemoved(client, id);
  return tell(call, await client.sessions.restore(session.id), "restored");
}

export async function purgeRemovedSession(call: CliInvocation, id: string, options: ConfirmOptions): Promise<ExitCode> {
  const client = await call.client();
  const session = await findRemoved(client, id);
  const question = `purge ${described(call, session)} permanently? this cannot be undone`;
  if (!(await confirmUnlessYes(call, question, options))) return exitCodes.failed;
  const report = await client.sessions.purge(session.id);
  const { output } = call;
  if (call.json) {
    output.json(report);
    return exitCodes.fine;
  }
  const { turnsPurged, turnsKept, blobsDeleted, bytesFreed } = report;
  output.line(`${plural(turnsPurged, "turn")} purged, ${bytes(bytesFreed)} in ${plural(blobsDeleted, "file")} freed`);
  if (turnsKept > 0) output.line(`${plural(turnsKept, "turn")} kept, because other sessions depend on them`);
  return exitCodes.fine;
}

export async function collectGarbage(
  call: CliInvocation,
  { dryRun = false, evenMost = false }: { dryRun?: boolean; evenMost?: boolean },
): Promise<ExitCode> {
  const report = await (await call.client()).collectGarbage({ dryRun, isMostExpected: evenMost });
  const { output } = call;
  if (call.json) {
    output.json(report);
    return exitCodes.fine;
  }
  if (dryRun) for (const key of report.keys) output.line(key);
  const what = `${plural(report.keys.length, "file")} not needed by any turn, ${bytes(report.bytes)}`;
  output.line(dryRun ? `${what}; nothing was deleted` : `deleted ${what}`);
  if (dryRun && report.isMost) output.note(`this is most of what is stored: ${fixOf("garbage_doubtful", null)}`);
  return exitCodes.fine;
}

async function namedSessionId(call: CliInvocation, id: string): Promise<string> {
  return (await findSession(await call.client(), id, (await call.copy()).repo)).id;
}

function described(call: CliInvocation, { id, name, turnCount }: WireSession): string {
  return `${shortId(id)} "${call.output.safeNote(name)}" with ${plural(turnCount, "turn")}`;
}

function tell(call: CliInvocation, session: WireSession, what: string): ExitCode {
  if (call.json) call.output.json(session);
  else call.output.line(`${shortId(session.id)} ${call.output.safe(session.name)}: ${what}`);
  return exitCodes.fine;
}
