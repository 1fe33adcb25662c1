/**
 * Sessions as a drawn forest: a session is a line as long as its turns, and a fork hangs below the turn that it was forked from. The place
 * from left to right is the number of turns since the beginning. Pure.
 */
export interface ForestSession {
  id: string;
  turnCount: number;
}

/** The turn below which a session begins. */
export interface ForestOrigin {
  turnId: string;
  sessionId: string;
  sequence: number;
  depth: number;
}

/** A session as the server returns it: after the one that it was forked from. */
export interface ListedSession<S> {
  session: S;
  origin: ForestOrigin | null;
  /** The turns below which forks begin, with the number of all. Null: they were not read. */
  forks: readonly { turnId: string; sequence: number; depth: number; count: number }[] | null;
}

interface Row {
  id: string;
  /** The row's session, or that whose forks it stands for, is a fork of this one. Null for the root of a tree. */
  parentId: string | null;
  isFolded: boolean;
  level: number;
  /** The beginning and the end of the line, in turns since the beginning of the tree. */
  start: number;
  end: number;
}
export type ForestRow<S> =
  | (Row & { kind: "session"; listed: ListedSession<S> })
  /** The forks of one turn that are not shown. */
  | (Row & { kind: "forks"; turnId: string; sequence: number; count: number });

/** Returns the rows from the top. Of the forks of a session, those of its last turns come first, so that no lines cross. */
export function forestRows<S extends ForestSession>(all: readonly ListedSession<S>[]): ForestRow<S>[] {
  const known = new Set(all.map(({ session }) => session.id));
  const isRoot = ({ origin }: ListedSession<S>): boolean => origin === null || !known.has(origin.sessionId);
  const below = Map.groupBy(
    all.filter((one) => !isRoot(one)),
    ({ origin }) => origin?.sessionId ?? "",
  );
  const rows: ForestRow<S>[] = [];
  // A chain of forks may be deeper than the call stack, so this is a loop and not a recursion.
  const open = all
    .filter(isRoot)
    .map((listed) => sessionRow(listed, null))
    .toReversed();
  for (let row = open.pop(); row !== undefined; row = open.pop()) {
    rows.push(row);
    if (row.kind === "session") open.push(...rowsBelow(row, below.get(row.id) ?? []).toReversed());
  }
  return rows;
}

type SessionRow<S> = Extract<ForestRow<S>, { kind: "session" }>;

function sessionRow<S extends ForestSession>(listed: ListedSession<S>, parent: SessionRow<S> | null): ForestRow<S> {
  const { session, origin } = listed;
  const start = parent === null ? 0 : (origin?.depth ?? 0);
  const place = { level: parent === null ? 0 : parent.level + 1, start, end: start + session.turnCount };
  return { kind: "session", id: session.id, parentId: parent?.id ?? null, isFolded: false, ...place, listed };
}

function rowsBelow<S extends ForestSession>(
  parent: SessionRow<S>,
  children: readonly ListedSession<S>[],
): ForestRow<S>[] {
  const byTurn = Map.groupBy(children, ({ origin }) => origin?.turnId ?? "");
  const read = parent.listed.forks ?? [];
  // A list of forks that was searched for has no counts.
  const counted = new Set(read.map(({ turnId }) => turnId));
  const others = [...byTurn].flatMap(([turnId, forks]) => {
    const origin = forks[0]?.origin;
    return origin == null || counted.has(turnId) ? [] : [{ ...origin, count: forks.length }];
  });
  const turns = [...read, ...others].toSorted((a, b) => b.depth - a.depth);
  return turns.flatMap(({ turnId, sequence, depth, count }) => {
    const forks = byTurn.get(turnId) ?? [];
    const left = count - forks.length;
    const place = { level: parent.level + 1, start: depth, end: depth };
    const more: ForestRow<S> = {
      kind: "forks",
      id: `forks ${turnId}`,
      parentId: parent.id,
      isFolded: true,
      ...place,
      turnId,
      sequence,
      count: left,
    };
    return [...forks.map((listed) => sessionRow(listed, parent)), ...(left > 0 ? [more] : [])];
  });
}

/** A line from a row down to another one, at this number of turns. */
export interface Trunk {
  at: number;
  from: number;
  to: number;
  level: number;
}

/** Returns the lines from sessions down to their forks. Forks of one turn share a line. */
export function trunksOf(rows: readonly ForestRow<unknown>[]): Trunk[] {
  const rowOf = new Map(rows.map(({ id }, at) => [id, at]));
  const trunks = new Map<string, Trunk>();
  for (const [to, { parentId, start, level }] of rows.entries()) {
    const from = rowOf.get(parentId ?? "");
    if (from !== undefined) trunks.set(`${from} ${start}`, { at: start, from, to, level });
  }
  return [...trunks.values()];
}

/** Returns the place of a number of turns in a picture of this width. Few turns and many must both be seen, so the scale is that of square roots. */
export function placeOf(turns: number, most: number, width: number): number {
  return most === 0 ? 0 : Math.sqrt(turns / most) * width;
}
