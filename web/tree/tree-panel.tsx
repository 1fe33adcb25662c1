/** The tree of a session (U5): its turns, the turns it was forked from, and its forks, drawn like a commit log. */
import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { Thread } from "../api/thread.ts";
import { plural } from "../parts/numbers.ts";
import { Empty, FailedState, Loading } from "../parts/states.tsx";
import { useWindowed } from "../parts/windowed.ts";
import { navigate, pathTo, route } from "../routes.ts";
import { columnsMax, rowHeight } from "./lanes-picture.tsx";
import { lanesOf } from "./lanes.ts";
import { SessionTree } from "./session-tree.ts";
import { mainEnd, treeNodes, type TreeNode } from "./tree-nodes.ts";
import { TreeRow } from "./tree-row.tsx";

/** True if the tree and the conversation are beside each other: then a turn is shown in the conversation, and the tree stays. */
const areBeside = matchMedia("(min-width: 1300px)");

export function TreePanel({ thread }: { thread: Thread }) {
  const { id } = thread;
  const tree = useMemo(() => new SessionTree(id), [id]);
  useEffect(() => void tree.load(), [tree, thread.session.value?.turnCount]);
  const turns = tree.turns.value;
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
  const { box, from, to, onScroll, reveal } = useWindowed(nodes.length, rowHeight);
  const current = useSignal<string | null>(null);
  const shown = route.value.query.get("at");
  const found = nodes.findIndex(({ id }) => id === (current.value ?? shown ?? thread.session.value?.headTurnId));
  const at = Math.max(0, found);
  const columns = lanes.reduce((most, { column, passing }) => Math.max(most, column + 1, (passing.at(-1) ?? 0) + 1), 1);
  const focus = (row: number): void => {
    const node = nodes[Math.max(0, Math.min(row, nodes.length - 1))];
    if (node === undefined) return;
    current.value = node.id;
    reveal(nodes.indexOf(node));
    requestAnimationFrame(() => document.getElementById(`tree-${node.id}`)?.focus({ preventScroll: true }));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const node = nodes[at];
    const isOnRow = event.target instanceof Element && event.target.role === "treeitem";
    if (node === undefined || !isOnRow || event.metaKey || event.ctrlKey || event.altKey) return;
    if (!act(event.key, { node, at, nodes, focus, open: () => open(thread, tree, node) })) return;
    event.preventDefault();
    event.stopPropagation();
  };
  // The row that Tab reaches stays in the document, also when it is out of sight.
  const drawn = [
    ...(at < from || at >= to ? [at] : []),
    ...Array.from({ length: to - from }, (_, step) => from + step),
  ];
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
              {...{ thread, node, lane, columns, at: row, of: nodes.length }}
              isShown={node.id === shown}
              isCurrent={row === at}
              open={() => open(thread, tree, node)}
              focus={() => (current.value = node.id)}
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
  const [forks, unfolded, pins, session] = [
    tree.forks.value,
    tree.unfolded.value,
    thread.pins.value,
    thread.session.value,
  ];
  const shown = route.value.query.get("at");
  return useMemo(() => {
    const marked = [session?.headTurnId, session?.summary?.throughTurnId, shown, ...pins.map(({ turnId }) => turnId)];
    const kept = new Set(marked.filter((id) => typeof id === "string"));
    const nodes = treeNodes({ turns, forks, unfolded, kept });
    return { nodes, lanes: lanesOf(nodes, { main: mainEnd(turns, session?.headTurnId ?? null), columnsMax }) };
  }, [turns, forks, unfolded, pins, session, shown]);
}

interface KeyPlace {
  node: TreeNode;
  at: number;
  nodes: readonly TreeNode[];
  focus(row: number): void;
  open(): void;
}

/** Does what a key of a tree does. Returns false for any other key. */
function act(key: string, { node, at, nodes, focus, open: openNode }: KeyPlace): boolean {
  const to = {
    ArrowDown: () => focus(at + 1),
    ArrowUp: () => focus(at - 1),
    Home: () => focus(0),
    End: () => focus(nodes.length - 1),
    PageDown: () => focus(at + 15),
    PageUp: () => focus(Math.max(0, at - 15)),
    // To the left is what it continues, to the right what continues it, or what is folded.
    ArrowLeft: () =>
      focus(
        rowOr(
          at,
          nodes.findIndex(({ id }) => id === node.parentId),
        ),
      ),
    ArrowRight: () =>
      node.kind === "turn" || node.kind === "fork"
        ? focus(
            rowOr(
              at,
              nodes.findIndex(({ parentId }) => parentId === node.id),
            ),
          )
        : openNode(),
    Enter: openNode,
    " ": openNode,
  }[key];
  to?.();
  return to !== undefined;
}

function rowOr(at: number, found: number): number {
  return found === -1 ? at : found;
}

function open(thread: Thread, tree: SessionTree, node: TreeNode): void {
  switch (node.kind) {
    case "run":
    case "attempts":
      return tree.unfold(node.id);
    case "forks":
      return void tree.moreForks(node.parentId ?? "");
    case "fork":
      return navigate(pathTo("session", { session: node.session.id }));
    case "turn":
      void thread.show(node.id);
      if (areBeside.matches)
        navigate(pathTo("turn", { session: thread.id, turn: "tree" }, { at: node.id }), { replace: true });
      else navigate(pathTo("turn", { session: thread.id, turn: node.id }));
  }
}
