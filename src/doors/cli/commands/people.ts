/** `aptove org create | list | show | rename | suspend | resume` and `aptove user add | list | show | change | role | disable | enable` (H4). */
import type { WireOrg, WireUser } from "../../../client/client.ts";
import type { Role } from "../../../domain/caller.ts";
import { toWireOrg } from "../../../protocol/people.ts";
import type { CliInvocation } from "../invocation.ts";
import { localTime } from "../show/explain.ts";
import { CommandFailed, exitCodes, UsageError, type ExitCode } from "../failure.ts";
import { shortIds } from "../lookup/find-by-id.ts";
import { allOrgs, allUsers, clientOf, findOrg, findUser, theOnly, type OrgOption } from "../lookup/find-people.ts";

export async function createOrg(invocation: CliInvocation, name: string): Promise<ExitCode> {
  const { operator } = await invocation.local("creating an org");
  const isTaken = (await allOrgs(operator)).some((other) => other.name === name);
  const org = toWireOrg(await operator.createOrg(name));
  if (isTaken) warnOfName(invocation, "org", name);
  if (invocation.json) invocation.output.json(org);
  else {
    invocation.output.line(`${org.id} ${invocation.output.safe(org.name)}`);
    invocation.output.note(`add its first admin: aptove user add "<name>" --role admin --org ${org.id}`);
  }
  return exitCodes.fine;
}

/** Names need not be unique, but a name that exists twice finds neither. */
function warnOfName({ output }: CliInvocation, what: "org" | "user", name: string): void {
  output.note(`warning: there is another ${what} "${output.safeNote(name)}"; use their ids from now on`);
}

export async function listOrgs(invocation: CliInvocation): Promise<ExitCode> {
  const orgs =
    invocation.server() === null
      ? await allOrgs((await invocation.local("orgs")).operator)
      : [await ownOrg(invocation)];
  const { output } = invocation;
  if (invocation.json) output.json({ orgs });
  else output.table(orgs.map(orgRow));
  return exitCodes.fine;
}

export async function showOrg(invocation: CliInvocation, text: string | undefined): Promise<ExitCode> {
  const org = text === undefined ? await ownOrg(invocation) : await namedOrg(invocation, text);
  const { output } = invocation;
  if (invocation.json) output.json(org);
  else output.table([orgRow(org)]);
  return exitCodes.fine;
}

export async function renameOrg(invocation: CliInvocation, text: string, name: string): Promise<ExitCode> {
  const { id } = await namedOrg(invocation, text);
  const client = invocation.server() === null ? await clientOf(invocation, { org: id }) : await invocation.client();
  const org = await client.people.renameOrg(id, name);
  if (invocation.json) invocation.output.json(org);
  else invocation.output.line(`${org.id} ${invocation.output.safe(org.name)}`);
  return exitCodes.fine;
}

export async function suspendOrg(invocation: CliInvocation, text: string, isSuspended: boolean): Promise<ExitCode> {
  const { operator } = await invocation.local(isSuspended ? "suspending an org" : "resuming an org");
  const org = toWireOrg(await operator.suspendOrg((await findOrg(operator, text)).id, isSuspended));
  const what = isSuspended ? "suspended: its users have no access until: aptove org resume" : "its users have access";
  if (invocation.json) invocation.output.json(org);
  else invocation.output.line(`${org.id} ${invocation.output.safe(org.name)}: ${what}`);
  return exitCodes.fine;
}

function orgRow({ id, name, createdAt, suspendedAt }: WireOrg): string[] {
  return [id, suspendedAt === null ? "active" : "suspended", `made ${localTime(createdAt).slice(0, 16)}`, name];
}

async function ownOrg(invocation: CliInvocation): Promise<WireOrg> {
  const client = await invocation.client();
  return await client.people.org((await client.me()).orgId);
}

/** Finds the named org: any org of this machine's data; at a server, the caller's own. */
async function namedOrg(invocation: CliInvocation, text: string): Promise<WireOrg> {
  if (invocation.server() === null) return await findOrg((await invocation.local("orgs")).operator, text);
  return theOnly([await ownOrg(invocation)], text, { what: "org", list: "aptove org list" });
}

export interface UserOptions extends OrgOption {
  name?: string;
  role?: Role;
  email?: string;
  externalId?: string;
}

export async function addUser(invocation: CliInvocation, name: string, options: UserOptions): Promise<ExitCode> {
  const { org: _org, ...facts } = options;
  const client = await clientOf(invocation, options);
  const isTaken = (await allUsers(client)).some((other) => other.name === name);
  const user = await client.people.add({ ...facts, name });
  if (isTaken) warnOfName(invocation, "user", name);
  if (invocation.json) invocation.output.json(user);
  else {
    invocation.output.line(invocation.output.safe(`${user.id} ${user.name}, ${user.role}`));
    const where = options.org === undefined ? "" : ` --org ${JSON.stringify(options.org)}`;
    invocation.output.note(`give them access: aptove key create "<what for>" --user ${user.id}${where}`);
  }
  return exitCodes.fine;
}

export async function listUsers(invocation: CliInvocation, options: OrgOption): Promise<ExitCode> {
  const users = await allUsers(await clientOf(invocation, options));
  const { output } = invocation;
  if (invocation.json) {
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

export async function showUser(invocation: CliInvocation, text: string, options: OrgOption): Promise<ExitCode> {
  const user = await findUser(await clientOf(invocation, options), text);
  const { output } = invocation;
  if (invocation.json) {
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
  invocation: CliInvocation,
  text: string,
  { org, ...change }: UserOptions & { disabled?: boolean },
): Promise<ExitCode> {
  if (Object.keys(change).length === 0)
    throw new UsageError("nothing to change was named", "see: aptove user change --help");
  const client = await clientOf(invocation, org === undefined ? {} : { org });
  const changed = findUser(client, text).then(({ id }) => client.people.change(id, change));
  const user = await changed.catch((error: unknown) => {
    throw invocation.server() === null && org === undefined ? withOperator(error) : error;
  });
  if (invocation.json) invocation.output.json(user);
  else invocation.output.line(invocation.output.safe(`${user.id} ${user.name}, ${user.role}, ${stateOf(user)}`));
  return exitCodes.fine;
}

/** An owner without the role of an admin is still the operator of the data, and may act as such. */
function withOperator(error: unknown): unknown {
  if (!(error instanceof Error && "code" in error && error.code === "forbidden")) return error;
  const fix =
    "act as the operator of this machine's data: add --org <org>, for example --org local; see: aptove org list";
  return new CommandFailed("forbidden", error.message, fix);
}

function stateOf({ disabledAt }: WireUser): string {
  return disabledAt === null ? "enabled" : `disabled ${localTime(disabledAt).slice(0, 16)}`;
}
