/** The map of forks over sessions (U5): each session is a line of its turns, and its forks hang below the turns that they came from. */
import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { WireSession } from "../../src/client/client.ts";
import { count, money, plural } from "../parts/numbers.ts";
import { shownText } from "../parts/shown-text.ts";
import { Empty, FailedState, Loading } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { navigate, pathTo } from "../routes.ts";
import { StateMark } from "../sessions/session-list.tsx";
import { forestRows, type ForestRow } from "./forest.ts";
import { ForkForest } from "./fork-forest.ts";
import { forksPage } from "./fork-pages.ts";
import { MapPicture, mapRowHeight, MapScale } from "./map-picture.tsx";
import { rowId, useTreeRows } from "./walked-rows.ts";

type Row = ForestRow<WireSession>;

const narrow = matchMedia("(max-width: 899px)");
const searchAfterMs = 200;

export function ForkMap() {
  const forest = useMemo(() => new ForkForest(), []);
  const typed = useSignal("");
  useEffect(() => {
    const timer = setTimeout(() => void forest.load(typed.value.trim()), typed.value === "" ? 0 : searchAfterMs);
    return () => clearTimeout(timer);
  }, [forest, typed.value]);
  const sessions = forest.sessions.value;
  const failed = forest.failed.value;
  return (
    <main class="view map" id="view" tabIndex={-1}>
      <h1>Map of forks</h1>
      <p class="dim">
        Each line is a session, as long as its turns. A fork hangs below the turn that it was forked from.
      </p>
      <label class="map-search">
        <span class="spoken">Search sessions and show what they were forked from</span>
        <input
          type="search"
          placeholder="Search sessions and their origins"
          value={typed.value}
          onInput={({ currentTarget }) => (typed.value = currentTarget.value)}
        />
      </label>
      {failed !== null && <FailedState failed={failed} retry={() => void forest.load()} />}
      {sessions === null && failed === null && <Loading lines={8} />}
      {sessions?.length === 0 && (
        <Empty>{forest.text.value === "" ? "There are no sessions yet." : "No session has all of these words."}</Empty>
      )}
      {sessions !== null && sessions.length > 0 && <Rows forest={forest} />}
    </main>
  );
}

function Rows({ forest }: { forest: ForkForest }) {
  const sessions = forest.sessions.value;
  const rows = useMemo(() => forestRows(sessions ?? []), [sessions]);
  const openRow = (place: number): void | Promise<void> => {
    const row = rows[place];
    if (row?.kind === "forks") return showForks(forest, row);
    if (row !== undefined) navigate(pathTo("session", { session: row.id }));
  };
  const { box, onScroll, onKeyDown, at, drawn, from, to, open, setCurrent } = useTreeRows(rows, {
    rowHeight: mapRowHeight,
    initial: null,
    open: openRow,
  });
  const width = narrow.matches ? 104 : 320;
  return (
    <>
      <MapScale rows={rows} width={width} />
      <div class="tree-box" ref={box} onScroll={onScroll}>
        <div class="tree" style={{ height: `${rows.length * mapRowHeight}px` }}>
          <MapPicture rows={rows} from={from} to={to} width={width} />
          <ul role="tree" aria-label="Sessions and their forks" onKeyDown={onKeyDown}>
            {drawn.map((place) => {
              const row = rows[place];
              if (row === undefined) return null;
              return (
                <li
                  key={row.id}
                  role="treeitem"
                  id={rowId(row.id)}
                  class="tree-row map-row"
                  style={{ transform: `translateY(${place * mapRowHeight}px)`, paddingInlineStart: `${width + 8}px` }}
                  aria-level={Math.min(20, row.level + 1)}
                  aria-posinset={place + 1}
                  aria-setsize={rows.length}
                  aria-expanded={row.isFolded ? false : undefined}
                  tabIndex={place === at ? 0 : -1}
                  onFocus={() => setCurrent(row.id)}
                  onClick={({ target }) =>
                    target instanceof Element && target.closest("a, button") === null && open(place)
                  }
                >
                  <Words row={row} forest={forest} />
                </li>
              );
            })}
          </ul>
        </div>
        {forest.nextCursor.value !== null && (
          <button type="button" class="quiet" onClick={() => void forest.more()}>
            Show more sessions
          </button>
        )}
      </div>
    </>
  );
}

function showForks(
  forest: ForkForest,
  { turnId, sequence, start, parentId }: Extract<Row, { kind: "forks" }>,
): Promise<void> {
  return forest.moreForks({ turnId, sequence, depth: start, sessionId: parentId ?? "" });
}

function Words({ row, forest }: { row: Row; forest: ForkForest }) {
  if (row.kind === "forks") {
    return (
      <span class="tree-more">
        … {plural(row.count, "more fork")} of turn {count(row.sequence)}: show {count(Math.min(forksPage, row.count))}
      </span>
    );
  }
  const { session, origin, forks } = row.listed;
  const forkCount = forks?.reduce((sum, one) => sum + one.count, 0) ?? 0;
  const facts = [
    origin !== null && `from turn ${count(origin.sequence)}`,
    plural(session.turnCount, "turn"),
    forkCount > 0 && plural(forkCount, "fork"),
    session.costUsd > 0 && money(session.costUsd),
  ].filter((one) => one !== false);
  return (
    <>
      <a class="tree-text" href={pathTo("session", { session: row.id })} tabIndex={-1} title={session.name}>
        <StateMark status={session.lastTurnStatus} /> <bdi>{shownText(session.name)}</bdi>
      </a>
      <span class="map-facts dim small-text numbers">
        {facts.join(" · ")} · <Time at={session.activeAt} />
        {forks === null && forest.text.value === "" && (
          <button type="button" class="quiet small" tabIndex={-1} onClick={() => void forest.forksOf(row.id)}>
            Show its forks
          </button>
        )}
      </span>
    </>
  );
}
