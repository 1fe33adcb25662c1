/** The rows of `aptove session list` (S7). */
import { AptoveApiError, type AptoveClient, type WireSession } from "../../../client/client.ts";
import { shortIds } from "../lookup/find-by-id.ts";
import { dollars, firstLine, plural, type CliOutput } from "../output.ts";
import { localTime } from "./explain.ts";
import { knownTokens, lastEndOf, lastState, type LastTurn } from "./turn-end.ts";

/** How many sessions of a list are asked how their last turn ended. Of older ones, the list has only the status. */
const endsReadMax = 20;

export async function printSessionRows(
  client: AptoveClient,
  sessions: WireSession[],
  output: CliOutput,
): Promise<void> {
  const ends = await Promise.all(sessions.slice(0, endsReadMax).map((session) => endIfThere(client, session)));
  const short = shortIds(sessions.map((session) => session.id));
  const hasWorkspaces = sessions.some(({ workspaceId }) => workspaceId !== null);
  // The same columns in each row, so that those without room can be left out.
  const rows = sessions.map((session, at) => [
    short.get(session.id) ?? session.id,
    localTime(session.activeAt).slice(0, 16),
    lastState(session, ends[at] ?? null),
    plural(session.turnCount, "turn"),
    tokensAndCost(session, ends[at] ?? null),
    repositoryCell(session),
    `${session.agentContextName ?? session.agentContextId}/${session.conversationContextName ?? session.conversationContextId}`,
    ...(hasWorkspaces ? [session.workspaceId ?? "-"] : []),
    session.summary === null
      ? firstLine(session.name, 60)
      : `${firstLine(session.name, 60)}: ${firstLine(session.summary.text, 100)}`,
  ]);
  const columns = ["last used", "last turn", "turns", "tokens", "repository", "agent/conversation"];
  const headings = ["session", ...columns, ...(hasWorkspaces ? ["workspace"] : []), "name"];
  output.table(rows, { spare: [6, 4, 5, 7, 2], last: "cut", headings });
}

/** Returns null for a session that is deleted, and for whatever else the server refuses: the list says as much as it has. */
async function endIfThere(client: AptoveClient, session: WireSession): Promise<LastTurn | null> {
  return await lastEndOf(client, session, null).catch((error: unknown) => {
    if (error instanceof AptoveApiError) return null;
    throw error;
  });
}

function tokensAndCost(session: WireSession, end: LastTurn | null): string {
  const known = knownTokens(session, end);
  const tokens = known === "unknown" ? "tokens unknown" : `${known} tokens`;
  return session.costUsd > 0 ? `${tokens} ${dollars(session.costUsd)}` : tokens;
}

/** The first repository, and how many more there are. */
function repositoryCell({ repo, otherRepos }: WireSession): string {
  return `${repo ?? "-"}${otherRepos.length === 0 ? "" : ` +${otherRepos.length}`}`;
}
