/** The rows of `aptove session list` (S7). */
import type { WireSession } from "../../../client/client.ts";
import { shortIds } from "../lookup/find-by-id.ts";
import { dollars, firstLine, type CliOutput } from "../output.ts";
import { plural } from "../../../system/grouped-number.ts";
import { localTime } from "./explain.ts";
import { knownTokens, lastState } from "./turn-end.ts";

export function printSessionRows(sessions: WireSession[], output: CliOutput): void {
  const short = shortIds(sessions.map((session) => session.id));
  const hasWorkspaces = sessions.some(({ workspaceId }) => workspaceId !== null);
  // The same columns in each row, so that those without room can be left out.
  const rows = sessions.map((session) => [
    short.get(session.id) ?? session.id,
    localTime(session.activeAt).slice(0, 16),
    lastState(session),
    plural(session.turnCount, "turn"),
    tokensAndCost(session),
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

function tokensAndCost(session: WireSession): string {
  const known = knownTokens(session);
  const tokens = known === "unknown" ? "tokens unknown" : `${known} tokens`;
  return session.costUsd > 0 ? `${tokens} ${dollars(session.costUsd)}` : tokens;
}

/** The first repository, and how many more there are. */
function repositoryCell({ repo, otherRepos }: WireSession): string {
  return `${repo ?? "-"}${otherRepos.length === 0 ? "" : ` +${otherRepos.length}`}`;
}
