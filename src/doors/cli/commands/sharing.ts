/** `aptove session share | unshare` (S7): lets the whole org read a session, or some of its users continue it. */
import type { WireShared } from "../../../client/client.ts";
import type { CliInvocation } from "../invocation.ts";
import { exitCodes, type ExitCode } from "../failure.ts";
import { findSession, shortId } from "../lookup/find-by-id.ts";
import { findUser } from "../lookup/find-people.ts";

export interface SharingOptions {
  with?: string[];
}

export async function shareSession(
  invocation: CliInvocation,
  id: string,
  { with: people = [] }: SharingOptions,
): Promise<ExitCode> {
  const client = await invocation.client();
  const session = await findSession(client, id, (await invocation.copy()).repo);
  const invite = await Promise.all(people.map(async (text) => (await findUser(client, text)).id));
  const change = invite.length === 0 ? { isPublic: true } : { invite };
  return tell(invocation, await client.sessions.share(session.id, change));
}

export async function unshareSession(
  invocation: CliInvocation,
  id: string,
  { with: people = [] }: SharingOptions,
): Promise<ExitCode> {
  const client = await invocation.client();
  const session = await findSession(client, id, (await invocation.copy()).repo);
  const dismiss = await Promise.all(people.map(async (text) => (await findUser(client, text)).id));
  const change = dismiss.length === 0 ? { isPublic: false } : { dismiss };
  return tell(invocation, await client.sessions.share(session.id, change));
}

function tell(invocation: CliInvocation, shared: WireShared): ExitCode {
  const { output } = invocation;
  if (invocation.json) {
    output.json(shared);
    return exitCodes.fine;
  }
  const { session, participants } = shared;
  const readers = session.isPublic ? "everyone in the org can read and fork it" : "private";
  output.line(`${shortId(session.id)} ${output.safe(session.name)}: ${readers}`);
  const others = participants.filter(({ userId }) => userId !== session.userId);
  for (const { userId, name, role } of others) {
    const may = role === "reader" ? "can read it, and not continue it: the role is reader" : "can read and continue it";
    output.line(output.safe(`  ${shortId(userId)} ${name} ${may}`));
  }
  return exitCodes.fine;
}
