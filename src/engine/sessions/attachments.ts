/** Finds sessions that no list shows to the owner of the data folder, and attaches them again (S7). */
import { localOrgId, runsTheServer, type Caller, type User } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import { folderKey, type Session } from "../../domain/session.ts";
import { audited } from "../access/audit.ts";
import { maySee } from "../access/visible.ts";
import type {
  AttachmentPlace,
  Attachments,
  DetachedCause,
  DetachedSession,
  WorkspaceState,
} from "../api/attachments.ts";
import type { EngineDependencies } from "../dependencies.ts";

/** Exists in every data folder, and is made again when it is needed. */
const standardWorkspace = "default";

export function attachments(deps: EngineDependencies): Attachments {
  return {
    async find(caller, place) {
      ownerOnly(caller);
      const search = new DetachedSearch(deps, caller, place);
      const found: DetachedSession[] = [];
      for await (const session of eachSession(deps)) {
        const detached = await search.judge(session);
        if (detached !== null) found.push(detached);
      }
      return found.toSorted((one, other) => other.session.activeAt - one.session.activeAt);
    },
    attach: (caller, sessionId, place) =>
      audited(deps, { by: caller, action: "session.attach", target: sessionId }, async () => {
        ownerOnly(caller);
        const session = await deps.records.sessions.get(sessionId);
        const search = new DetachedSearch(deps, caller, place);
        const detached = session === null ? null : await search.judge(session);
        if (detached !== null) return await attach(deps, caller, { detached, place });
        throw new AptoveError("not_found", `there is no session ${JSON.stringify(sessionId)} that a list lacks`);
      }),
  };
}

/** A key may be in other hands, so that only the command at the machine of the data may take sessions over. */
function ownerOnly(caller: Caller): void {
  if (runsTheServer(caller) && caller.keyId === undefined && caller.deviceId === undefined) return;
  throw new AptoveError("forbidden", "only the owner of the data folder may attach sessions, on its own machine");
}

/** Yields the sessions of all owners and orgs, also those that were removed. */
export async function* eachSession({ records }: EngineDependencies): AsyncGenerator<Session> {
  for (let after = ""; ;) {
    const page = await records.attachments.list({ after, limit: limits.pageSizeMax });
    yield* page;
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.id;
  }
}

interface SessionAtFolder {
  session: Session;
  folder: string | null;
  /** True if its workspace id is a client's own text. */
  isLabelled: boolean;
}

/** Judges sessions one after the other, and asks for each owner, org, folder and workspace once. */
class DetachedSearch {
  readonly #deps: EngineDependencies;
  readonly #caller: Caller;
  readonly #place: AttachmentPlace;
  readonly #users = new Map<string, Promise<User | null>>();
  readonly #orgs = new Map<string, Promise<boolean>>();
  readonly #folders = new Map<string, boolean>();
  readonly #workspaces = new Map<string, Promise<WorkspaceState>>();

  constructor(deps: EngineDependencies, caller: Caller, place: AttachmentPlace) {
    this.#deps = deps;
    this.#caller = caller;
    this.#place = place;
  }

  /** Null: lists show it, or it is none of the caller's concern. */
  async judge(session: Session): Promise<DetachedSession | null> {
    if (session.deletedAt !== null) return null;
    const folder = folderOf(session);
    const owner = await this.#ownerCause(session);
    if (owner === "foreign") return null;
    if (owner !== null) {
      const ownerName = owner.cause === "other_owner" ? owner.name : null;
      return { session, causes: [owner.cause], folder, ownerName, isCertain: owner.cause === "owner_unknown" };
    }
    if (session.userId !== this.#caller.userId) return null;
    const workspace = await this.#workspaceState(session.workspaceId);
    const place = this.#placeCause({ session, folder, isLabelled: workspace === "label" });
    const causes: DetachedCause[] = [
      ...(place === null ? [] : [place.cause]),
      ...(workspace === "gone" ? (["workspace_gone"] as const) : []),
    ];
    if (causes.length === 0) return null;
    return { session, causes, folder, ownerName: null, isCertain: place?.isCertain ?? true };
  }

  /** Null: the caller sees the session. `foreign`: people of another org have it. */
  async #ownerCause(
    session: Session,
  ): Promise<{ cause: "owner_unknown" } | { cause: "other_owner"; name: string } | "foreign" | null> {
    if (await maySee(this.#deps, this.#caller, session)) return null;
    const owner = await this.#user(session.userId);
    if (session.orgId !== localOrgId && (await this.#hasOrg(session.orgId))) return "foreign";
    if (session.orgId !== localOrgId || owner?.orgId !== session.orgId) return { cause: "owner_unknown" };
    return { cause: "other_owner", name: owner.name };
  }

  #placeCause({ session, folder, isLabelled }: SessionAtFolder): { cause: DetachedCause; isCertain: boolean } | null {
    if (folder === null) return null;
    const { name, isRepository } = this.#place;
    const label = isLabelled ? session.workspaceId : null;
    const known = session.repo ?? label;
    const isNamed = isRepository ? session.repo === name : session.repo === null && (label === null || label === name);
    if (folder === this.#place.folder) {
      if (isNamed) return null;
      // A session that was begun with `--repo` is about another repository on purpose.
      const isSame = known === null || [folder, name].some((path) => lastPart(path) === lastPart(known));
      return { cause: "name_changed", isCertain: isSame };
    }
    if (this.#hasFolder(folder)) return null;
    // A folder that kept its name, or its repository's, was moved; one with another name may be any that was deleted.
    return { cause: "folder_moved", isCertain: known === name || lastPart(folder) === lastPart(this.#place.folder) };
  }

  #user(id: string): Promise<User | null> {
    return this.#users.getOrInsertComputed(id, () => this.#deps.records.people.getUser(id));
  }

  #hasOrg(id: string): Promise<boolean> {
    return this.#orgs.getOrInsertComputed(id, async () => (await this.#deps.records.people.getOrg(id)) !== null);
  }

  #hasFolder(path: string): boolean {
    return this.#folders.getOrInsertComputed(path, () => this.#place.hasFolder(path));
  }

  async #workspaceState(id: string | null): Promise<WorkspaceState> {
    if (id === null) return "exists";
    return await this.#workspaces.getOrInsertComputed(id, () => this.#place.workspaceState(id));
  }
}

async function attach(
  deps: EngineDependencies,
  caller: Caller,
  { detached, place }: { detached: DetachedSession; place: AttachmentPlace },
): Promise<Session> {
  const { session, causes } = detached;
  const isElsewhere = causes.includes("folder_moved") || causes.includes("name_changed");
  const isTaken = causes.includes("owner_unknown") || causes.includes("other_owner");
  const workspace = session.workspaceId === null ? "label" : await place.workspaceState(session.workspaceId);
  const label = place.isRepository ? null : place.name;
  const attachment = {
    orgId: isTaken ? caller.orgId : session.orgId,
    userId: isTaken ? caller.userId : session.userId,
    workspaceId: workspaceOf(session, { workspace, label: isElsewhere ? label : session.workspaceId }),
    repo: isElsewhere ? (place.isRepository ? place.name : null) : session.repo,
  };
  // The folder first: a session that lost its row in between is found again by its other causes.
  if (isElsewhere) {
    const metadata = { ...session.metadata, [folderKey]: place.folder };
    await deps.records.sessions.update(session.id, { metadata }, deps.now());
  }
  const attached = await deps.records.attachments.attach(session.id, attachment, deps.now());
  if (attached !== null) return attached;
  throw new AptoveError("not_found", `there is no session ${JSON.stringify(session.id)}`);
}

/** A workspace that exists stays, one that is gone becomes the standard one, and a label goes with the folder. */
function workspaceOf(
  { workspaceId }: Session,
  { workspace, label }: { workspace: WorkspaceState; label: string | null },
): string | null {
  if (workspace === "label") return label;
  return workspace === "gone" ? standardWorkspace : workspaceId;
}

/** Metadata belongs to clients: what is no path counts as absent. */
function folderOf({ metadata }: Session): string | null {
  const folder = metadata[folderKey];
  return typeof folder === "string" && folder !== "" ? folder : null;
}

function lastPart(path: string): string {
  return path.split(/[\\/]/).findLast((part) => part !== "") ?? "";
}
