/** The map of forks over sessions (U5): which session came from which. */
import { client } from "../api/connection.ts";
import { useLoaded } from "../api/loading.ts";
import { money, plural } from "../parts/numbers.ts";
import { shownText } from "../parts/shown-text.ts";
import { Empty, FailedState, Loading } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { pathTo } from "../routes.ts";
import { StateMark } from "../sessions/session-list.tsx";
import { forestOf } from "./forest.ts";
import type { WireSession } from "../../src/client/client.ts";

const sessionsMax = 200;

/** Reads the newest sessions, and to which of them the origins of the forks belong. */
async function read(): Promise<{ sessions: WireSession[]; sessionOfTurn: Map<string, string> }> {
  const { sessions } = await client.sessions.list({ limit: sessionsMax });
  const origins = [...new Set(sessions.flatMap(({ originTurnId }) => originTurnId ?? []))];
  const found = await Promise.all(
    origins.map(async (turnId) => {
      const turn = await client.turns.summary(turnId).catch(() => null);
      return turn === null ? [] : [[turnId, turn.sessionId] as const];
    }),
  );
  return { sessions, sessionOfTurn: new Map(found.flat()) };
}

export function ForkMap() {
  const { value, failed, load } = useLoaded("map", read);
  const rows = value.value === null ? [] : forestOf(value.value.sessions, value.value.sessionOfTurn);
  return (
    <main class="view map" id="view" tabIndex={-1}>
      <h1>Map of forks</h1>
      <p class="dim">
        The {plural(rows.length, "newest session", "newest sessions")}. A fork stands below the session that it came
        from.
      </p>
      {value.value === null && failed.value === null && <Loading lines={8} />}
      {value.value === null && failed.value !== null && <FailedState failed={failed.value} retry={() => void load()} />}
      {value.value !== null && rows.length === 0 && <Empty>There are no sessions yet.</Empty>}
      <ul role="tree" aria-label="Sessions and their forks" class="forest">
        {rows.map(({ session, level }) => (
          <li
            key={session.id}
            role="treeitem"
            aria-level={level + 1}
            style={{ paddingInlineStart: `${Math.min(level, 12) * 24}px` }}
          >
            {level > 0 && <span class="elbow" aria-hidden="true" />}
            <a href={pathTo("session", { session: session.id })}>
              <StateMark status={session.lastTurnStatus} /> <bdi>{shownText(session.name)}</bdi>
            </a>
            <span class="dim numbers">
              {plural(session.turnCount, "turn")} · {money(session.costUsd)} · <Time at={session.activeAt} />
            </span>
          </li>
        ))}
      </ul>
    </main>
  );
}
