/** `session/list`: the sessions that the caller may see, newest activity first (P1, S7). */
import { homedir } from "node:os";
import type { ListSessionsRequest, ListSessionsResponse, SessionInfo } from "@agentclientprotocol/sdk";
import { AptoveError } from "../../../domain/errors.ts";
import { isId, isoTime } from "../../../domain/ids.ts";
import { limits } from "../../../domain/limits.ts";
import type { Session } from "../../../domain/session.ts";
import type { SessionListRequest } from "../../../engine/engine.ts";
import { metaKeys, metaOf } from "../meta.ts";
import type { AcpPorts, OpenedPorts } from "../ports.ts";
import { readMemory } from "./session-memory.ts";

type ListPosition = NonNullable<SessionListRequest["after"]>;

/** Returns one page. It may be short or empty and still have a cursor, because the store cannot filter by folder. */
export async function answerSessionList(
  { ports, opened }: { ports: AcpPorts; opened: OpenedPorts },
  { cwd, cursor }: ListSessionsRequest,
): Promise<ListSessionsResponse> {
  const { engine, caller, workspaces } = opened;
  const workspaceId = ports.deviceId === null ? null : await workspaces.ofDevice(ports.deviceId);
  const found: SessionInfo[] = [];
  let after = cursor == null ? null : parseCursor(cursor);
  for (let page = 0; page < pagesMax; page += 1) {
    const { sessions, next } = await engine.sessions.list(caller, {
      archived: false,
      limit: limits.pageSizeMax,
      ...(workspaceId !== null && { workspaceId }),
      ...(after !== null && { after }),
    });
    for (const session of sessions) {
      const info = infoOf(session);
      if (cwd != null && info.cwd !== cwd) continue;
      found.push(info);
      if (found.length === limits.pageSizeDefault) return { sessions: found, nextCursor: formatCursor(session) };
    }
    if (next === null) return { sessions: found };
    after = next;
  }
  return { sessions: found, ...(after !== null && { nextCursor: formatCursor(after) }) };
}

/** How many pages of the store are read for one page of the answer. */
const pagesMax = 10;

/** Returns the list entry. ACP requires a folder for every session; one that another door created without a folder gets the home folder. */
function infoOf(session: Session): SessionInfo {
  const { cwd, additionalDirectories } = readMemory(session);
  return {
    sessionId: session.id,
    cwd: cwd ?? homedir(),
    title: session.name,
    updatedAt: isoTime(session.activeAt),
    ...(additionalDirectories.length > 0 && { additionalDirectories }),
    ...metaOf({ [metaKeys.workspaceId]: session.workspaceId }),
  };
}

function formatCursor({ activeAt, id }: ListPosition): string {
  return Buffer.from(`${activeAt}.${id}`).toString("base64url");
}

function parseCursor(text: string): ListPosition {
  const [, activeAt, id = ""] = /^(\d{1,15})\.(.{36})$/.exec(Buffer.from(text, "base64url").toString()) ?? [];
  if (!isId(id)) throw new AptoveError("request_invalid", `${JSON.stringify(text)} is not a cursor of this list`);
  return { activeAt: Number(activeAt), id };
}
