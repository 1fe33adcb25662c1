/**
 * What the tree of a session shows, as nodes for the lanes: turns, forks, and what stands for many of them: a long line without
 * branches, many attempts at one place, many forks of one turn. Pure.
 */
import type { WireSession, WireSessionGraph } from "../../src/client/client.ts";

export type GraphTurn = WireSessionGraph["turns"][number];

export interface KnownForks {
  sessions: readonly WireSession[];
  /** The number of all forks, of which `sessions` may be the newest. */
  count: number;
}

export interface TreeSource {
  /** The turns, each before its parent. */
  turns: readonly GraphTurn[];
  /** The forks of each turn that has some. */
  forks: ReadonlyMap<string, KnownForks>;
  /** The turns that are never folded, for example the head. */
  kept: ReadonlySet<string>;
  /** The ids of the nodes that a person unfolded. */
  unfolded: ReadonlySet<string>;
}

interface Node {
  id: string;
  /** The turn that this continues. Null: it is the beginning. */
  parentId: string | null;
  /** True if it stands for others, which a person can unfold. */
  isFolded: boolean;
}
export type TreeNode =
  | (Node & { kind: "turn"; turn: GraphTurn })
  /** Turns that follow one another without a branch. `id` is the newest of them, so that lines lead through it. */
  | (Node & { kind: "run"; newest: GraphTurn; oldest: GraphTurn; count: number })
  /** Attempts at one place that nothing continues. */
  | (Node & { kind: "attempts"; count: number })
  | (Node & { kind: "fork"; session: WireSession })
  /** The forks of a turn that are not shown. */
  | (Node & { kind: "forks"; count: number });

/** How many attempts at one place, and forks of one turn, are shown before a person asks for more. */
const besideMax = 3;
/** A tree of more turns than this folds shorter lines. */
const smallTree = 150;

/** Returns the nodes, each before its parent. */
export function treeNodes(source: TreeSource): TreeNode[] {
  const children = Map.groupBy(source.turns, (turn) => parentOf(turn) ?? "");
  const attempts = foldedAttempts(source, children);
  const runs = foldedRuns(source, children);
  const nodes: TreeNode[] = [];
  for (const turn of source.turns) {
    const run = runs.get(turn.id);
    const group = attempts.get(turn.id);
    if (run !== undefined) {
      if (run.id === turn.id) nodes.push(run);
    } else if (group !== undefined) {
      if (!nodes.includes(group)) nodes.push(group);
    } else {
      nodes.push(...forksOf(source, turn), {
        kind: "turn",
        id: turn.id,
        parentId: parentOf(turn),
        isFolded: false,
        turn,
      });
    }
  }
  return nodes;
}

/** A subagent's first turn continues no turn. It is drawn below the one that started it. */
function parentOf({ parentId, spawnedBy }: GraphTurn): string | null {
  return parentId ?? spawnedBy;
}

function forksOf({ forks, unfolded }: TreeSource, { id }: GraphTurn): TreeNode[] {
  const known = forks.get(id);
  if (known === undefined) return [];
  const isOpen = known.sessions.length <= besideMax || unfolded.has(forksId(id));
  const shown = isOpen ? known.sessions : known.sessions.slice(0, besideMax);
  const left = known.count - shown.length;
  const more: TreeNode[] =
    left > 0 ? [{ kind: "forks", id: forksId(id), parentId: id, isFolded: true, count: left }] : [];
  return [
    ...shown.map((session): TreeNode => ({
      kind: "fork",
      id: `fork ${session.id}`,
      parentId: id,
      isFolded: false,
      session,
    })),
    ...more,
  ];
}

/** The id of the node that stands for the forks of a turn that are not shown. */
export function forksId(turnId: string): string {
  return `forks ${turnId}`;
}

type Children = ReadonlyMap<string, readonly GraphTurn[]>;

/** Returns for each attempt that is not shown the node that stands for it. */
function foldedAttempts({ forks, kept, unfolded }: TreeSource, children: Children): Map<string, TreeNode> {
  const found = new Map<string, TreeNode>();
  for (const [parentId, turns] of children) {
    const id = `attempts ${parentId}`;
    if (turns.length <= besideMax + 1 || parentId === "" || unfolded.has(id)) continue;
    const ends = turns.filter(
      (turn) => !children.has(turn.id) && !kept.has(turn.id) && !forks.has(turn.id) && turn.status !== "pending",
    );
    const folded = ends.slice(besideMax);
    const node: TreeNode = { kind: "attempts", id, parentId, isFolded: true, count: folded.length };
    if (folded.length > 1) for (const turn of folded) found.set(turn.id, node);
  }
  return found;
}

/** Returns for each turn in the middle of a long line the node that stands for it. */
function foldedRuns(source: TreeSource, children: Children): Map<string, TreeNode> {
  // The first and the last turns of a line stay, so that one sees what it begins and ends with.
  const ends = source.turns.length > smallTree ? 1 : 3;
  const found = new Map<string, TreeNode>();
  for (const line of plainLines(source, children)) {
    const folded = line.slice(ends, -ends);
    const [newest, oldest] = [folded[0], folded.at(-1)];
    if (folded.length < 2 * ends || newest === undefined || oldest === undefined) continue;
    if (source.unfolded.has(newest.id)) continue;
    const node = {
      kind: "run",
      id: newest.id,
      parentId: parentOf(oldest),
      isFolded: true,
      newest,
      oldest,
      count: folded.length,
    } as const;
    for (const turn of folded) found.set(turn.id, node);
  }
  return found;
}

/** Returns the lines of turns in which each continues the next one, and nothing is remarkable. */
function plainLines({ turns, forks, kept }: TreeSource, children: Children): GraphTurn[][] {
  const lines: GraphTurn[][] = [];
  const lineOf = new Map<string, GraphTurn[]>();
  for (const turn of turns) {
    const [child, ...others] = children.get(turn.id) ?? [];
    const isPlain =
      child !== undefined &&
      others.length === 0 &&
      child.sessionId === turn.sessionId &&
      turn.parentId !== null &&
      turn.status === "completed" &&
      turn.subagent === null &&
      !turn.wasCompacted &&
      !forks.has(turn.id) &&
      !kept.has(turn.id);
    if (!isPlain) continue;
    const line = lineOf.get(child.id) ?? [];
    if (line.length === 0) lines.push(line);
    line.push(turn);
    lineOf.set(turn.id, line);
  }
  return lines;
}

/** Returns the newest end of the branch on which the head is: the first lane leads there. Null: there is no head. */
export function mainEnd(turns: readonly GraphTurn[], headId: string | null): string | null {
  if (!turns.some(({ id }) => id === headId)) return null;
  let end = headId;
  // The newest turns come first, so going back meets each parent before its children.
  for (const turn of turns.toReversed()) if (turn.kind === "agent" && turn.parentId === end) end = turn.id;
  return end;
}
