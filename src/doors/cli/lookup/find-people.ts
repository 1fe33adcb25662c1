/** Finds the orgs, users and API keys that a command names. */
import type { AptoveClient, WireApiKey, WireOrg, WireUser } from "../../../client/client.ts";
import { isId } from "../../../domain/ids.ts";
import { limits } from "../../../domain/limits.ts";
import { toWireOrg } from "../../../protocol/people.ts";
import { CommandFailed, UsageError } from "../failure.ts";
import { thoseNamed } from "./find-by-id.ts";
import type { CliInvocation } from "../invocation.ts";
import type { LocalEngine } from "../ports.ts";

/** The org of this machine's data that `--org` names. Without it: the caller's own org. */
export interface OrgOption {
  org?: string;
}

/**
 * Returns the client that acts on people and keys: the operator of the named org, or else the caller of every command.
 */
export async function clientOf(invocation: CliInvocation, { org }: OrgOption): Promise<AptoveClient> {
  if (org === undefined) return await invocation.client();
  const { operator } = await invocation.local("--org");
  return await operator.clientFor((await findOrg(operator, org)).id);
}

/**
 * Returns the org id for an index. An id is accepted as it is, because a shared index may be built where the org has no
 * record. A name is looked up.
 */
export async function orgIdOf(invocation: CliInvocation, text: string): Promise<string> {
  return isId(text) ? text : (await findOrg((await invocation.local("--org")).operator, text)).id;
}

/** Returns the keys of all pages. */
export async function allKeys(client: AptoveClient, userId?: string): Promise<WireApiKey[]> {
  const found: WireApiKey[] = [];
  let cursor: string | null = "";
  while (cursor !== null) {
    const page: Awaited<ReturnType<typeof client.keys.list>> = await client.keys.list({
      limit: limits.pageSizeMax,
      ...(userId !== undefined && { userId }),
      ...(cursor !== "" && { cursor }),
    });
    found.push(...page.keys);
    cursor = page.nextCursor;
  }
  return found;
}

export async function findOrg(operator: LocalEngine["operator"], text: string): Promise<WireOrg> {
  return theOnly(await allOrgs(operator), text, { what: "org", list: "aptove org list" });
}

export async function allOrgs(operator: LocalEngine["operator"]): Promise<WireOrg[]> {
  const found: WireOrg[] = [];
  let page: Parameters<typeof operator.listOrgs>[0] | null = { limit: limits.pageSizeMax };
  while (page !== null) {
    const { orgs, next }: Awaited<ReturnType<typeof operator.listOrgs>> = await operator.listOrgs(page);
    found.push(...orgs.map(toWireOrg));
    page = next === null ? null : { limit: limits.pageSizeMax, after: next };
  }
  return found;
}

/** Finds a user by id, by a part of an id, by email, or by name. */
export async function findUser(client: AptoveClient, text: string): Promise<WireUser> {
  const users = await allUsers(client);
  const byEmail = users.find(({ email }) => email !== null && email === text.toLowerCase());
  return byEmail ?? theOnly(users, text, { what: "user", list: "aptove user list" });
}

export async function allUsers(client: AptoveClient): Promise<WireUser[]> {
  const found: WireUser[] = [];
  let cursor: string | null = "";
  while (cursor !== null) {
    const page: Awaited<ReturnType<typeof client.people.list>> = await client.people.list({
      limit: limits.pageSizeMax,
      ...(cursor !== "" && { cursor }),
    });
    found.push(...page.users);
    cursor = page.nextCursor;
  }
  return found;
}

export function theOnly<T extends { id: string; name: string }>(
  all: T[],
  text: string,
  { what, list }: { what: string; list: string },
): T {
  const [found, second] = thoseNamed(all, text);
  if (found === undefined) throw new CommandFailed("not_found", `there is no ${what} "${text}"`, `see: ${list}`);
  if (second !== undefined)
    throw new UsageError(`"${text}" matches more than one ${what}`, `give the id as ${list} shows it`);
  return found;
}
