/** The tree of a session (U5): its turns, the turns it was forked from, and its forks, drawn like a commit log. */
import { useEffect, useMemo } from "preact/hooks";
import { newest } from "../api/live.ts";
import type { Thread } from "../api/thread.ts";
import { plural } from "../parts/numbers.ts";
import { Empty, FailedState, Loading } from "../parts/states.tsx";
import { navigate, pathTo, route } from "../routes.ts";
import { columnsMax, rowHeight } from "./lanes-picture.tsx";
import { lanesOf } from "./lanes.ts";
import { SessionTree } from "./session-tree.ts";
import { mainEnd, treeNodes, type TreeNode } from "./tree-nodes.ts";
import { TreeRow } from "./tree-row.tsx";
import { useTreeRows } from "./walked-rows.ts";

/** True if the tree and the conversation are beside each other: then a turn is shown in the conversation, and the tree stays. */
const areBeside = matchMedia("(min-width: 1300px)");

export function TreePanel({ thread }: { thread: Thread }) {
  const { id } = thread;
  const tree = useMemo(() => new SessionTree(id), [id]);
  const [session, sessions, turns] = [thread.session.value, newest.value, tree.turns.value];
  useEffect(() => void tree.load(), [tree]);
  useEffect(() => void (session !== null && tree.refresh(session, sessions ?? [])), [tree, session, sessions, turns]);
  const failed = tree.failed.value;
  if (turns === null) {
    return failed === null ? <Loading lines={10} /> : <FailedState failed={failed} retry={() => void tree.load()} />;
  }
  return (
    <>
      <h2>Tree</h2>
      <p class="dim">
        Newest first: {plural(thread.session.value?.turnCount ?? 0, "turn")}
        {sumOfForks(tree) > 0 && `, ${plural(sumOfForks(tree), "fork")}`}.{" "}
        {tree.unfolded.value.size > 0 && (
          <button type="button" class="quiet small" onClick={() => tree.foldAll()}>
            Fold again
          </button>
        )}
      </p>
      {failed !== null && <FailedState failed={failed} />}
      {turns.length === 0 ? <Empty>This session has no turns yet.</Empty> : <Rows thread={thread} tree={tree} />}
    </>
  );
}

function sumOfForks({ forks }: SessionTree): number {
  return [...forks.value.values()].reduce((sum, { count }) => sum + count, 0);
}

function Rows({ thread, tree }: { thread: Thread; tree: SessionTree }) {
  const { nodes, lanes } = useRows(thread, tree);
  const shown = route.value.query.get("at");
  const openNode = (row: number): void | Promise<void> => {
    const node = nodes[row];
    if (node !== undefined) return open(thread, tree, node);
  };
  const initial = shown ?? thread.session.value?.headTurnId ?? null;
  const rows = useTreeRows(nodes, { rowHeight, initial, open: openNode });
  const { box, onScroll, onKeyDown, at, drawn, setCurrent } = rows;
  const columns = lanes.reduce((most, { column, passing }) => Math.max(most, column + 1, (passing.at(-1) ?? 0) + 1), 1);
  return (
    <div class="tree-box" ref={box} onScroll={onScroll}>
      <ul
        class="tree"
        role="tree"
        aria-label="Turns, newest first"
        style={{ height: `${nodes.length * rowHeight}px` }}
        onKeyDown={onKeyDown}
      >
        {drawn.map((row) => {
          const [node, lane] = [nodes[row], lanes[row]];
          if (node === undefined || lane === undefined) return null;
          return (
            <TreeRow
              key={node.id}
              thread={thread}
              node={node}
              lane={lane}
              columns={columns}
              at={row}
              of={nodes.length}
              isShown={node.id === shown}
              isCurrent={row === at}
              open={() => rows.open(row)}
              focus={() => setCurrent(node.id)}
            />
          );
        })}
      </ul>
      {tree.nextAfter.value !== null && (
        <button type="button" class="quiet" onClick={() => void tree.more()}>
          Show earlier turns
        </button>
      )}
    </div>
  );
}

function useRows(thread: Thread, tree: SessionTree) {
  const turns = tree.turns.value ?? [];
  const [forks, unfolded] = [tree.forks.value, tree.unfolded.value];
  const [pins, names, session] = [thread.pins.value, thread.names.value, thread.session.value];
  const shown = route.value.query.get("at");
  return useMemo(() => {
    const special = [session?.headTurnId, session?.summary?.throughTurnId, shown];
    const marked = [...special, ...pins.map(({ turnId }) => turnId), ...names.keys()];
    const kept = new Set(marked.filter((id) => typeof id === "string"));
    const nodes = treeNodes({ turns, forks, unfolded, kept });
    return { nodes, lanes: lanesOf(nodes, { main: mainEnd(turns, session?.headTurnId ?? null), columnsMax }) };
  }, [turns, forks, unfolded, pins, names, session, shown]);
}

function open(thread: Thread, tree: SessionTree, node: TreeNode): void | Promise<void> {
  switch (node.kind) {
    case "run":
    case "attempts":
      return tree.unfold(node.id);
    case "forks":
      return tree.moreForks(node.parentId ?? "");
    case "fork":
      return navigate(pathTo("session", { session: node.session.id }));
    case "turn":
      void thread.show(node.id);
      if (areBeside.matches)
        navigate(pathTo("turn", { session: thread.id, turn: "tree" }, { at: node.id }), { replace: true });
      else navigate(pathTo("turn", { session: thread.id, turn: node.id }));
  }
}
