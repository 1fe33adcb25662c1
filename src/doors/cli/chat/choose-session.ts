/** Lets a person choose the session that a chat continues (L2). */
import type { WireSession } from "../../../client/client.ts";
import { plural } from "../../../system/grouped-number.ts";
import { shortId } from "../lookup/find-by-id.ts";
import { localTime } from "../show/explain.ts";
import type { ChatState } from "./chat-state.ts";

const listedMax = 20;

interface Listed {
  sessions: WireSession[];
  /** What the list is filtered by, and how the rest is seen. */
  about: string;
}

/**
 * Lists sessions, newest first, and asks which one to open. An answer that is no number searches for its words. Null if
 * the person chose none. `words`: empty for this repository's sessions, `all`, or words to search for.
 */
export async function chooseSession(state: ChatState, words: string): Promise<WireSession | null> {
  const { output } = state.call;
  for (let asked = words; ;) {
    const { sessions, about } = await listed(state, asked);
    const rows = sessions.map((session, at) => [
      String(at + 1).padStart(2),
      shortId(session.id),
      localTime(session.activeAt).slice(0, 16),
      plural(session.turnCount, "turn"),
      session.name.replaceAll(/\s+/g, " "),
    ]);
    output.table(rows, { spare: [3], last: "cut" });
    output.note(output.noteStyle.dim(about));
    if (!state.lines.isTerminal) return null;
    const answer =
      (await state.lines.ask("open which? (number, all, or words to look for; Ctrl-C: none) "))?.trim() ?? "";
    // A command is no answer. It runs next.
    if (answer.startsWith("/")) state.lines.keep(answer);
    if (answer === "" || answer.startsWith("/")) return null;
    const chosen = /^\d{1,3}$/.test(answer) ? sessions[Number(answer) - 1] : undefined;
    if (chosen !== undefined) return chosen;
    asked = /^\d{1,3}$/.test(answer) ? asked : answer;
  }
}

async function listed({ client, call }: ChatState, words: string): Promise<Listed> {
  if (words !== "" && words !== "all") {
    const hits = await client.search(words, { limit: listedMax });
    const found = plural(hits.length, "session");
    return { sessions: hits.map(({ session }) => session), about: `${found} with these words` };
  }
  const { repo, hasGit } = await call.copy();
  const all = { archived: false, limit: listedMax };
  const page = await client.sessions.list(
    words === "all" ? all : { ...all, ...(hasGit ? { repo } : { workspaceId: repo }) },
  );
  const more = page.nextCursor === null ? "" : `; the newest ${listedMax}`;
  const about =
    words === "all"
      ? `all sessions${more}`
      : `sessions about this ${hasGit ? "repository" : "folder"}${more}; all shows the others too`;
  return { sessions: page.sessions, about };
}
