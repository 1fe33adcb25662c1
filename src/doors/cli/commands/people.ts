/** `aptove org create | list | show | rename | suspend | resume` and `aptove user add | list | show | change | role | disable | enable` (H4). */
import type { WireOrg, WireUser } from "../../../client/client.ts";
import type { Role } from "../../../domain/caller.ts";
import { toWireOrg } from "../../../protocol/people.ts";
import type { CliInvocation } from "../invocation.ts";
import { localTime } from "../show/explain.ts";
import { exitCodes, UsageError, type ExitCode } from "../failure.ts";
import { shortIds } from "../lookup/find-by-id.ts";
import { allOrgs, allUsers, clientOf, findOrg, findUser, theOnly, type OrgOption } from "../lookup/find-people.ts";

export async function createOrg(call: CliInvocation, name: string): Promise<ExitCode> {
  const { operator } = await call.local("creating an org");
  const isTaken = (await allOrgs(operator)).some((other) => other.name === name);
  const org = toWireOrg(await operator.createOrg(name));
  if (isTaken) warnOfName(call, "org", name);
  if (call.json) call.output.json(org);
  else {
    call.output.line(`${org.id} ${call.output.safe(org.name)}`);
    call.output.note(`add its first admin: aptove user add "<name>" --role admin --org ${org.id}`);
  }
  return exitCodes.fine;
}

/** Names need not be unique, but a name that exists twice finds neither. */
function warnOfName({ output }: CliInvocation, what: "org" | "user", name: string): void {
  output.note(`warning: there is another ${what} "${output.safeNote(name)}"; use their ids from now on`);
}

export async function listOrgs(call: CliInvocation): Promise<ExitCode> {
  const orgs = call.server() === null ? await allOrgs((await call.local("orgs")).operator) : [await ownOrg(call)];
  const { output } = call;
  if (call.json) output.json({ orgs });
  else output.table(orgs.map(orgRow));
  return exitCodes.fine;
}

export async function showOrg(call: CliInvocation, text: string | undefined): Promise<ExitCode> {
  const org = text === undefined ? await ownOrg(call) : await namedOrg(call, text);
  const { output } = call;
  if (call.json) output.json(org);
  else output.table([orgRow(org)]);
  return exitCodes.fine;
}

export async function renameOrg(call: CliInvocation, text: string, name: string): Promise<ExitCode> {
  const { id } = await namedOrg(call, text);
  const client = call.server() === null ? await clientOf(call, { org: id }) : await call.client();
  const org = await client.people.renameOrg(id, name);
  if (call.json) call.output.json(org);
  else call.output.line(`${org.id} ${call.output.safe(org.name)}`);
  return exitCodes.fine;
}

export async function suspendOrg(call: CliInvocation, text: string, isSuspended: boolean): Promise<ExitCode> {
  const { operator } = await call.local(isSuspended ? "suspending an org" : "resuming an org");
  const org = toWireOrg(await operator.suspendOrg((await findOrg(operator, text)).id, isSuspended));
  const what = isSuspended ? "suspended: its users have no access until: aptove org resume" : "its users have access";
  if (call.json) call.output.json(org);
  else call.output.line(`${org.id} ${call.output.safe(org.name)}: ${what}`);
  return exitCodes.fine;
}

function orgRow({ id, name, createdAt, suspendedAt }: WireOrg): string[] {
  return [id, suspendedAt === null ? "active" : "suspended", `made ${localTime(createdAt).slice(0, 16)}`, name];
}

async function ownOrg(call: CliInvocation): Promise<WireOrg> {
  const client = await call.client();
  return await client.people.org((await client.me()).orgId);
}

/** Finds the named org: any org of this machine's data; at a server, the caller's own. */
async function namedOrg(call: CliInvocation, text: string): Promise<WireOrg> {
  if (call.server() === null) return await findOrg((await call.local("orgs")).operator, text);
  return theOnly([await ownOrg(call)], text, { what: "org", list: "aptove org list" });
}

export interface UserOptions extends OrgOption {
  name?: string;
  role?: Role;
  email?: string;
  externalId?: string;
}

export async function addUser(call: CliInvocation, name: string, options: UserOptions): Promise<ExitCode> {
  const { org: _org, ...facts } = options;
  const client = await clientOf(call, options);
  const isTaken = (await allUsers(client)).some((other) => other.name === name);
  const user = await client.people.add({ ...facts, name });
  if (isTaken) warnOfName(call, "user", name);
  if (call.json) call.output.json(user);
  else {
    call.output.line(call.output.safe(`${user.id} ${user.name}, ${user.role}`));
    const where = options.org === undefined ? "" : ` --org ${JSON.stringify(options.org)}`;
    call.output.note(`give them access: aptove key create "<what for>" --user ${user.id}${where}`);
  }
  return exitCodes.fine;
}

export async function listUsers(call: CliInvocation, options: OrgOption): Promise<ExitCode> {
  const users = await allUsers(await clientOf(call, options));
  const { output } = call;
  if (call.json) {
    output.json({ users });
    return exitCodes.fine;
  }
  const short = shortIds(users.map((user) => user.id));
  const rows = users.map((user) => [
    short.get(user.id) ?? user.id,
    user.role,
    stateOf(user),
    user.email ?? "-",
    user.name,
  ]);
  output.table(rows);
  return exitCodes.fine;
}

export async function showUser(call: CliInvocation, text: string, options: OrgOption): Promise<ExitCode> {
  const user = await findUser(await clientOf(call, options), text);
  const { output } = call;
  if (call.json) {
    output.json(user);
    return exitCodes.fine;
  }
  const rows = [
    ["id", user.id],
    ["name", user.name],
    ["role", user.role],
    ["email", user.email ?? "-"],
    ["external id", user.externalId ?? "-"],
    ["added", localTime(user.createdAt)],
    ["state", stateOf(user)],
  ];
  output.table(rows);
  return exitCodes.fine;
}

/** Changes a user. `role`, `disable` and `enable` use it too. */
export async function changeUser(
  call: CliInvocation,
  text: string,
  { org, ...change }: UserOptions & { disabled?: boolean },
): Promise<ExitCode> {
  if (Object.keys(change).length === 0)
    throw new UsageError("nothing to change was named", "see: aptove user change --help");
  const client = await clientOf(call, org === undefined ? {} : { org });
  const user = await client.people.change((await findUser(client, text)).id, change);
  if (call.json) call.output.json(user);
  else call.output.line(call.output.safe(`${user.id} ${user.name}, ${user.role}, ${stateOf(user)}`));
  return exitCodes.fine;
}

function stateOf({ disabledAt }: WireUser): string {
  return disabledAt === null ? "enabled" : `disabled ${localTime(disabledAt).slice(0, 16)}`;
}
