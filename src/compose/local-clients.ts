/** Clients of the engine in this process, without a socket: one as the owner of the data folder, others as the operator of an org (H4). */
import { randomBytes } from "node:crypto";
import { createClient, type AptoveClient } from "../client/client.ts";
import type { Caller } from "../domain/caller.ts";
import { sha256 } from "../domain/ids.ts";
import type { Engine } from "../engine/engine.ts";
import type { LocalEngine } from "../doors/cli/ports.ts";
import { httpDoor, type HttpDoorOptions } from "../doors/http/door.ts";

type LocalClients = Pick<LocalEngine, "client" | "operator" | "attachments">;

/**
 * Makes a key for the commands of the same person on the same machine. It is stored nowhere but in `server.json`, and this
 * process alone accepts it, so it ends with the process, however that ends.
 */
export function ownKey(
  { keys }: Engine,
  owner: Caller,
): { key: string; authenticate(secret: string): Promise<Caller | null> } {
  const key = `aptove_${randomBytes(32).toString("base64url")}`;
  const hash = sha256(key);
  // Equal hashes reveal nothing by the time that the comparison takes.
  return { key, authenticate: async (secret) => (sha256(secret) === hash ? owner : await keys.authenticate(secret)) };
}

/** Creates the clients. Only this process knows the secrets that they authenticate with. */
export async function localClients(options: HttpDoorOptions): Promise<LocalClients> {
  const { keys, operator, sessions } = options.engine;
  const owner = await keys.owner();
  const callers = new Map<string, Caller>();
  const authenticate = async (secret: string): Promise<Caller | null> => callers.get(secret) ?? null;
  const door = httpDoor({ ...options, authenticate });
  const clientOf = (caller: Caller): AptoveClient => {
    const key = randomBytes(32).toString("base64url");
    callers.set(key, caller);
    return createClient({ url: "http://localhost", key, fetch: (request) => door.fetch(request) });
  };
  return {
    client: clientOf(owner),
    operator: {
      createOrg: (name) => operator.createOrg(name),
      listOrgs: (page) => operator.listOrgs(page),
      suspendOrg: (id, isSuspended) => operator.suspendOrg(id, isSuspended),
      erasable: (userId) => operator.erasable(userId),
      eraseUser: (userId) => operator.eraseUser(userId),
      clientFor: async (orgId) => clientOf(await operator.callerFor(orgId)),
    },
    attachments: {
      find: (place) => sessions.attachments.find(owner, place),
      attach: (sessionId, place) => sessions.attachments.attach(owner, sessionId, place),
    },
  };
}
