/** The list of sessions (U3): search, filters, and the state of each. Only the rows in sight are in the document. */
import { computed, effect, signal } from "@preact/signals";
import type { WireSearchHits, WireSession } from "../../src/client/client.ts";
import { client, signInState, wordsOf } from "../api/connection.ts";
import { newest } from "../api/live.ts";
import { count, money, plural } from "../parts/numbers.ts";
import { shownText } from "../parts/shown-text.ts";
import { Empty, Loading } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { useWindowed } from "../parts/windowed.ts";
import { pathTo, route } from "../routes.ts";
import { filters, hasFilter } from "./filters.ts";
import { SessionFilters } from "./session-filters.tsx";

const search = signal("");
const hits = signal<WireSearchHits["hits"] | null>(null);
const older = signal<WireSession[]>([]);
const cursor = signal<string | null>(null);
const hidden = signal<number | null>(null);
const fault = signal<string | null>(null);
const filtered = signal<WireSession[] | null>(null);

const firstPage = computed(() => (hasFilter.value ? filtered.value : newest.value));
const rows = computed(() => {
  const first = firstPage.value ?? [];
  const known = new Set(first.map(({ id }) => id));
  return [...first, ...older.value.filter(({ id }) => !known.has(id))];
});

const pageSize = 100;

async function loadFirst(): Promise<void> {
  try {
    const page = await client.sessions.list({ ...filters.value, limit: pageSize });
    filtered.value = page.sessions;
    older.value = page.sessions;
    cursor.value = page.nextCursor;
    hidden.value = page.hidden;
    fault.value = null;
  } catch (error) {
    fault.value = wordsOf(error);
  }
}

let isLoadingMore = false;

async function loadMore(): Promise<void> {
  if (cursor.value === null || isLoadingMore) return;
  isLoadingMore = true;
  try {
    const page = await client.sessions.list({ ...filters.value, limit: pageSize, cursor: cursor.value });
    older.value = [...older.value, ...page.sessions];
    cursor.value = page.nextCursor;
  } catch (error) {
    fault.value = wordsOf(error);
  }
  isLoadingMore = false;
}

effect(() => {
  if (signInState.value === "in" && filters.value) void loadFirst();
});

let searchTimer: ReturnType<typeof setTimeout> | undefined;
effect(() => {
  const text = search.value.trim();
  clearTimeout(searchTimer);
  if (text === "") {
    hits.value = null;
    return;
  }
  searchTimer = setTimeout(() => {
    void client.search(text, { limit: 50 }).then(
      (found) => search.value.trim() === text && (hits.value = found),
      (error: unknown) => (fault.value = wordsOf(error)),
    );
  }, 200);
});

export function SessionList() {
  return (
    <>
      <div class="side-head">
        <a class="button primary" href={pathTo("sessions", {}, { new: "" })}>
          New session
        </a>
        <SessionFilters />
      </div>
      <label class="search">
        <span class="spoken">Search all sessions</span>
        <input
          type="search"
          placeholder="Search all sessions"
          value={search.value}
          onInput={({ currentTarget }) => (search.value = currentTarget.value)}
        />
      </label>
      {fault.value !== null && (
        <p class="notice fail" role="alert">
          {fault.value}
        </p>
      )}
      {hits.value === null ? <Rows /> : <Hits found={hits.value} />}
    </>
  );
}

const rowHeight = 60;

function Rows() {
  const all = rows.value;
  const { box, from, to, onScroll } = useWindowed(all.length, rowHeight);
  if (firstPage.value === null) return <Loading lines={6} />;
  if (to >= all.length - 10) void loadMore();
  return (
    <div class="rows" ref={box} onScroll={onScroll} tabIndex={-1}>
      {all.length === 0 && (
        <Empty>{hasFilter.value ? "No session matches the filters." : "There are no sessions yet."}</Empty>
      )}
      <ul class="rows-space" style={{ height: `${all.length * rowHeight}px` }}>
        {all.slice(from, to).map((session, at) => (
          <li key={session.id} style={{ transform: `translateY(${(from + at) * rowHeight}px)` }}>
            <Row session={session} />
          </li>
        ))}
      </ul>
      {hidden.value !== null && hidden.value > 0 && (
        <p class="dim small-text">
          The filters hide {plural(hidden.value, "session")}.{" "}
          <button type="button" class="quiet small" onClick={() => (filters.value = { archived: false })}>
            Show all
          </button>
        </p>
      )}
    </div>
  );
}

const states: Record<string, [mark: string, words: string]> = {
  pending: ["run", "running"],
  awaiting_tool_results: ["wait", "waits for an answer"],
  failed: ["fail", "the last turn failed"],
};

export function StateMark({ status }: { status: string | null }) {
  const [mark, words] = states[status ?? ""] ?? ["idle", ""];
  return mark === "idle" ? null : (
    <span class={`mark ${mark}`} title={words}>
      <span class="spoken">{words}</span>
    </span>
  );
}

function Row({ session }: { session: WireSession }) {
  const { id, name, lastTurnStatus, lastTurnStopReason, turnCount, activeAt, costUsd, repo, archivedAt } = session;
  const isOpen = route.value.params["session"] === id;
  return (
    <a class="row" href={pathTo("session", { session: id })} aria-current={isOpen ? "page" : undefined}>
      <span class="row-name">
        <StateMark status={lastTurnStatus} />
        <bdi>{shownText(name)}</bdi>
      </span>
      <span class="row-facts">
        <span>{plural(turnCount, "turn")}</span>
        {lastTurnStopReason === "interrupted" && <span>interrupted</span>}
        {costUsd > 0 && <span>{money(costUsd)}</span>}
        {repo !== null && <span class="row-repo">{shownText(repo.split("/").at(-1) ?? repo)}</span>}
        {archivedAt !== null && <span>archived</span>}
        <Time at={activeAt} />
      </span>
    </a>
  );
}

function Hits({ found }: { found: WireSearchHits["hits"] }) {
  return (
    <div class="rows" aria-live="polite">
      <p class="dim small-text">
        {found.length === 0 ? "No session has all of these words." : `${count(found.length)} found`}
      </p>
      {found.map(({ session, matches }) => (
        <section key={session.id} class="hit">
          <a href={pathTo("session", { session: session.id })}>
            <StateMark status={session.lastTurnStatus} />
            <bdi>{shownText(session.name)}</bdi>
          </a>
          {matches.slice(0, 3).map(({ where, turnId, excerpt }, at) => {
            const params = { session: session.id, turn: turnId ?? "" };
            return (
              <a key={at} class="hit-match" href={turnId === null ? pathTo("session", params) : pathTo("turn", params)}>
                <em>{where}</em> {shownText(excerpt)}
              </a>
            );
          })}
        </section>
      ))}
    </div>
  );
}
