/** The lanes of a tree of turns, like a commit log: one row a turn, newest first, one column a branch. Pure. */
export interface LaneTurn {
  id: string;
  parentId: string | null;
}

export interface LaneRow {
  id: string;
  column: number;
  /** The column of the parent's row. Null: it is not among the turns. */
  parentColumn: number | null;
  /** The columns of branches that pass this row. */
  passing: number[];
  /** The columns of other branches that begin at this row's turn: their lines end here. */
  joining: number[];
}

/** The turns must be sorted so that each comes before its parent. */
export function lanesOf(turns: readonly LaneTurn[]): LaneRow[] {
  const present = new Set(turns.map(({ id }) => id));
  /** The turn that the line of each column leads down to. Null: the column is free. */
  const columns: (string | null)[] = [];
  const found: (Omit<LaneRow, "parentColumn"> & { parentId: string | null })[] = [];
  for (const { id, parentId } of turns) {
    const known = columns.indexOf(id);
    const column = known === -1 ? freeColumn(columns) : known;
    const joining = columns.flatMap((leadsTo, at) => (leadsTo === id && at !== column ? [at] : []));
    for (const at of [...joining, column]) columns[at] = null;
    const passing = columns.flatMap((leadsTo, at) => (leadsTo === null ? [] : [at]));
    if (parentId !== null && present.has(parentId)) columns[column] = parentId;
    found.push({ id, column, parentId, passing, joining });
  }
  const columnOf = new Map(found.map(({ id, column }) => [id, column]));
  return found.map(({ parentId, ...row }) => ({
    ...row,
    parentColumn: parentId === null ? null : (columnOf.get(parentId) ?? null),
  }));
}

function freeColumn(columns: readonly (string | null)[]): number {
  const free = columns.indexOf(null);
  return free === -1 ? columns.length : free;
}
