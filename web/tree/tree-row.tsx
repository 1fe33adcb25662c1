/** One row of the tree. What its mark means is in words too. */
import { useSignal } from "@preact/signals";
import { newest } from "../api/live.ts";
import type { Thread } from "../api/thread.ts";
import { count, exactTime, plural } from "../parts/numbers.ts";
import { stopWords } from "../parts/turn-words.ts";
import { shownText } from "../parts/shown-text.ts";
import { pathTo } from "../routes.ts";
import { StateMark } from "../sessions/session-list.tsx";
import { TurnMenu } from "../thread/turn-menu.tsx";
import { LanesPicture, rowHeight } from "./lanes-picture.tsx";
import type { LaneRow } from "./lanes.ts";
import { rowId } from "./walked-rows.ts";
import type { GraphTurn, TreeNode } from "./tree-nodes.ts";

interface TreeRowProps {
  thread: Thread;
  node: TreeNode;
  lane: LaneRow;
  columns: number;
  /** The place of the row among all rows, from 0. */
  at: number;
  of: number;
  isShown: boolean;
  /** True for the row that Tab reaches. */
  isCurrent: boolean;
  open: () => void;
  focus: () => void;
}

export function TreeRow({ thread, node, lane, columns, at, of, isShown, isCurrent, open, focus }: TreeRowProps) {
  const menu = useSignal(false);
  const isHead = node.kind === "turn" && thread.session.value?.headTurnId === node.id;
  return (
    <li
      role="treeitem"
      id={rowId(node.id)}
      class={`tree-row${isShown ? " is-shown" : ""}${isHead ? " is-head" : ""}`}
      style={{ transform: `translateY(${at * rowHeight}px)` }}
      aria-level={Math.min(20, lane.column + 1)}
      aria-posinset={at + 1}
      aria-setsize={of}
      aria-expanded={node.isFolded ? false : undefined}
      aria-current={isShown ? "true" : undefined}
      tabIndex={isCurrent ? 0 : -1}
      onFocus={focus}
      onClick={({ target }) => target instanceof Element && target.closest("a, button, .menu") === null && open()}
      onKeyDown={(event) => {
        if (event.key !== "." || node.kind !== "turn") return;
        event.stopPropagation();
        menu.value = true;
      }}
      onContextMenu={(event) => {
        if (node.kind !== "turn") return;
        event.preventDefault();
        menu.value = true;
      }}
    >
      <LanesPicture row={lane} node={node} columns={columns} isHead={isHead} />
      <Words node={node} thread={thread} />
      {node.kind === "turn" && (isCurrent || menu.value) && <TurnMenu thread={thread} turn={node.turn} isOpen={menu} />}
    </li>
  );
}

function Words({ node, thread }: { node: TreeNode; thread: Thread }) {
  switch (node.kind) {
    case "turn":
      return <TurnWords turn={node.turn} thread={thread} />;
    case "run":
      return (
        <span class="tree-more">
          … {plural(node.count, "turn")}{" "}
          <span class="dim numbers">
            {count(node.oldest.sequence)} to {count(node.newest.sequence)}
          </span>
        </span>
      );
    case "attempts":
      return <span class="tree-more">… {plural(node.count, "more attempt")} at this place</span>;
    case "forks":
      return (
        <span class="tree-more">
          … {plural(node.count, "more fork")}: show {count(Math.min(50, node.count))}
        </span>
      );
    case "fork": {
      // Others may have renamed or continued it since the tree was loaded.
      const current = newest.value?.find(({ id }) => id === node.session.id) ?? node.session;
      const { id, name, turnCount, lastTurnStatus, activeAt } = current;
      return (
        <>
          <a class="tree-text" href={pathTo("session", { session: id })} tabIndex={-1} title={name}>
            <StateMark status={lastTurnStatus} /> <bdi>{shownText(name)}</bdi>
          </a>
          <span class="dim small-text" title={`last active ${exactTime(activeAt)}`}>
            fork, {plural(turnCount, "turn")}
          </span>
        </>
      );
    }
  }
}

const states: Record<string, [words: string, look: string]> = {
  pending: ["running", "run"],
  awaiting_tool_results: ["waits for an answer", "wait"],
  archived: ["archived", ""],
};

function TurnWords({ turn, thread }: { turn: GraphTurn; thread: Thread }) {
  const { id, sequence, instructionSummary, status, failures, subagent, wasCompacted, rerunOf, sessionId } = turn;
  const session = thread.session.value;
  const [state, look] = states[status] ?? ["", ""];
  const [failure] = failures;
  const ownName = thread.names.value.get(id);
  return (
    <>
      <span class="tree-number numbers">{count(sequence)}</span>
      <span class="tree-text">
        {ownName !== undefined && (
          <b>
            ★ <bdi>{shownText(ownName)}</bdi>{" "}
          </b>
        )}
        <bdi>{shownText(instructionSummary.split("\n", 1)[0] ?? "")}</bdi>
      </span>
      {session?.headTurnId === id && <span class="tag ok">head</span>}
      {status === "failed" && (
        <span class="tag bad" title={failure?.message}>
          failed: {failure?.code ?? "unknown"}
        </span>
      )}
      {state !== "" && <span class={`tag ${look}`}>{state}</span>}
      {stopWords(turn.stopReason) !== null && <span class="tag wait">{stopWords(turn.stopReason)}</span>}
      {subagent !== null && (
        <span class="tag">
          subagent <bdi>{shownText(subagent.name)}</bdi>
        </span>
      )}
      {session?.summary?.throughTurnId === id && <span class="tag">summarized to here</span>}
      {wasCompacted && <span class="tag">history shortened</span>}
      {thread.pins.value.some((pin) => pin.turnId === id) && <span class="tag">pinned</span>}
      {rerunOf !== null && <span class="tag">run again</span>}
      {sessionId !== thread.id && <span class="tag">before the fork</span>}
    </>
  );
}
