/** The tree of a session (U5): its turns, the turns it was forked from, and its forks, drawn like a commit log. */
import { useSignal } from "@preact/signals";
import type { WireSessionGraph } from "../../src/client/client.ts";
import { client } from "../api/connection.ts";
import { useLoaded } from "../api/loading.ts";
import type { Thread } from "../api/thread.ts";
import { plural } from "../parts/numbers.ts";
import { shownText } from "../parts/shown-text.ts";
import { FailedState, Loading } from "../parts/states.tsx";
import { navigate, pathTo } from "../routes.ts";
import { lanesOf, type LaneRow } from "./lanes.ts";

type GraphTurn = WireSessionGraph["turns"][number];

const rowHeight = 34;
const laneWidth = 14;
/** More columns than this are drawn in the last one. */
const columnsMax = 8;

export function TreePanel({ thread }: { thread: Thread }) {
  const { id } = thread;
  const { value, failed, load } = useLoaded(`${id} ${thread.session.value?.turnCount}`, () =>
    client.sessions.graph(id),
  );
  const shown = useSignal(300);
  if (value.value === null) {
    return failed.value === null ? (
      <Loading lines={10} />
    ) : (
      <FailedState failed={failed.value} retry={() => void load()} />
    );
  }
  const { turns, forks } = value.value;
  const rows = lanesOf(turns);
  const columns = Math.min(columnsMax, Math.max(1, ...rows.map(({ column }) => column + 1)));
  const forksOf = Map.groupBy(forks, ({ originTurnId }) => originTurnId ?? "");
  const below = branchesBelow(turns);
  return (
    <>
      <h2>Tree</h2>
      <p class="dim">
        {plural(turns.length, "turn")}, {plural(forks.length, "fork")}
      </p>
      <ul class="tree" role="tree" aria-label="Turns, newest first">
        {rows.slice(0, shown.value).map((row, at) => (
          <TreeRow
            key={row.id}
            row={row}
            turn={turns[at]}
            columns={columns}
            thread={thread}
            forks={forksOf.get(row.id) ?? []}
            children={below.get(row.id) ?? 0}
          />
        ))}
      </ul>
      {rows.length > shown.value && (
        <button type="button" class="quiet" onClick={() => (shown.value += 500)}>
          … {plural(rows.length - shown.value, "earlier turn")}
        </button>
      )}
    </>
  );
}

function branchesBelow(turns: readonly GraphTurn[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { parentId } of turns) if (parentId !== null) counts.set(parentId, (counts.get(parentId) ?? 0) + 1);
  return counts;
}

interface TreeRowProps {
  row: LaneRow;
  turn: GraphTurn | undefined;
  columns: number;
  thread: Thread;
  forks: WireSessionGraph["forks"];
  /** How many turns continue it. */
  children: number;
}

function TreeRow({ row, turn, columns, thread, forks, children }: TreeRowProps) {
  if (turn === undefined) return null;
  const isHead = thread.session.value?.headTurnId === turn.id;
  const ownName = thread.names.value.get(turn.id);
  const show = async (): Promise<void> => {
    await thread.show(turn.id);
    navigate(pathTo("turn", { session: thread.id, turn: turn.id }));
  };
  const words = [
    isHead && "head",
    turn.status !== "completed" && turn.status.replaceAll("_", " "),
    turn.subagent?.name,
  ].filter((one) => typeof one === "string");
  return (
    <li role="treeitem" aria-level={Math.min(20, turn.depth + 1)} aria-selected={isHead}>
      <Lanes row={row} columns={columns} turn={turn} isHead={isHead} isNewest={children === 0} />
      <button type="button" class="tree-turn" onClick={() => void show()} title={turn.failures[0]?.message}>
        <span class="tree-number numbers">{turn.sequence}</span>
        <span class="tree-text">
          {ownName !== undefined && <b>★ {shownText(ownName)} </b>}
          {shownText(turn.instructionSummary.split("\n", 1)[0] ?? "")}
        </span>
        {words.length > 0 && (
          <span class={`tag ${turn.status === "failed" ? "bad" : isHead ? "ok" : ""}`}>{words.join(", ")}</span>
        )}
      </button>
      {forks.slice(0, 3).map(({ id, name }) => (
        <a key={id} class="tag fork" href={pathTo("session", { session: id })} title={name}>
          fork: {shownText(name.slice(0, 24))}
        </a>
      ))}
      {forks.length > 3 && <span class="tag">{plural(forks.length - 3, "more fork")}</span>}
    </li>
  );
}

interface LanesProps {
  row: LaneRow;
  columns: number;
  turn: GraphTurn;
  isHead: boolean;
  /** True if nothing continues the turn: no line comes from above. */
  isNewest: boolean;
}

function Lanes({ row, columns, turn, isHead, isNewest }: LanesProps) {
  const x = (column: number): number => Math.min(column, columnsMax - 1) * laneWidth + laneWidth / 2;
  const hue = (column: number): string => `lane-${column % 6}`;
  const middle = rowHeight / 2;
  const { column, parentColumn, passing, joining } = row;
  return (
    <svg class="lanes" width={columns * laneWidth} height={rowHeight} aria-hidden="true">
      {passing.map((at) => (
        <line key={at} class={hue(at)} x1={x(at)} x2={x(at)} y1={0} y2={rowHeight} />
      ))}
      {joining.map((at) => (
        <path key={at} class={hue(at)} d={`M${x(at)} 0C${x(at)} ${middle} ${x(at)} ${middle} ${x(column)} ${middle}`} />
      ))}
      {!isNewest && <line class={hue(column)} x1={x(column)} x2={x(column)} y1={0} y2={middle} />}
      {parentColumn !== null && <line class={hue(column)} x1={x(column)} x2={x(column)} y1={middle} y2={rowHeight} />}
      <circle
        class={`${hue(column)} ${turn.status === "failed" ? "hollow" : ""}`}
        cx={x(column)}
        cy={middle}
        r={isHead ? 6 : 4.5}
      />
      {isHead && <circle class="inner" cx={x(column)} cy={middle} r={2.5} />}
    </svg>
  );
}
