/**
 * The tree of a session as `git log --graph` would draw it, newest at the top: its turns, the ancestors that it was
 * forked from, and the sessions that were forked from any of these.
 */
import type { WireSession, WireSessionGraph, WireTurnSummary } from "../../../client/client.ts";

export type GraphNode =
  | { kind: "turn"; id: string; parentId: string | null; createdAt: string; turn: WireTurnSummary }
  | { kind: "fork"; id: string; parentId: string | null; createdAt: string; session: WireSession };

export interface GraphRow {
  /** The branches in this row, from the left. Each has a number that it keeps from its tip to its end. */
  lanes: number[];
  /** What the last lane shows. Null: the last lane ends in the one beside it. */
  node: GraphNode | null;
}

/**
 * Returns the rows from the top. Every node comes after all nodes that continue it, and a branch is drawn to its end
 * before the next one begins. So branches open and close like brackets, and only the last two ever meet.
 */
export function graphRows(graph: WireSessionGraph): GraphRow[] {
  const rows: GraphRow[] = [];
  const lanes: { number: number; below: string | null }[] = [];
  let branches = 0;
  for (const node of childrenFirst(graphNodes(graph), graph.session.headTurnId)) {
    const last = lanes.at(-1);
    if (last?.below === node.id) last.below = node.parentId;
    else lanes.push({ number: branches++, below: node.parentId });
    rows.push({ lanes: lanes.map(({ number }) => number), node });
    if (node.parentId === null) {
      lanes.pop();
    } else if (lanes.at(-2)?.below === node.parentId) {
      rows.push({ lanes: lanes.map(({ number }) => number), node: null });
      lanes.pop();
    }
  }
  return rows;
}

function graphNodes({ turns, forks }: WireSessionGraph): GraphNode[] {
  // The first turn of a session has the session's id (S4). A fork whose turns are drawn is not drawn a second time.
  const known = new Set(turns.map(({ id }) => id));
  const parentOf = (id: string | null): string | null => (id !== null && known.has(id) ? id : null);
  return [
    ...turns.map((turn): GraphNode => {
      const { id, parentId, createdAt } = turn;
      return { kind: "turn", id, parentId: parentOf(parentId), createdAt, turn };
    }),
    ...forks
      .filter(({ id }) => !known.has(id))
      .map((session): GraphNode => {
        const { id, originTurnId, createdAt } = session;
        return { kind: "fork", id: `fork ${id}`, parentId: parentOf(originTurnId), createdAt, session };
      }),
  ];
}

/** Orders the nodes with children before their parents: the branch of the head first, then the newest. */
function childrenFirst(nodes: GraphNode[], headId: string | null): GraphNode[] {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const ofHead = new Set<string>();
  for (let at = byId.get(headId ?? ""); at !== undefined; at = byId.get(at.parentId ?? "")) ofHead.add(at.id);
  const rank = (node: GraphNode): string => (ofHead.has(node.id) ? "1" : "0") + node.createdAt;
  const children = Map.groupBy(
    nodes.toSorted((a, b) => (rank(a) < rank(b) ? 1 : -1)),
    (node) => node.parentId,
  );
  const ordered: GraphNode[] = [];
  // A session may be deeper than the call stack, so this is a loop and not a recursion.
  const open = (children.get(null) ?? []).toReversed().map((node) => ({ node, isEntered: false }));
  for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
    if (top.isEntered) {
      ordered.push(top.node);
      open.pop();
    } else {
      top.isEntered = true;
      for (const node of (children.get(top.node.id) ?? []).toReversed()) open.push({ node, isEntered: false });
    }
  }
  return ordered;
}
