/** The lanes of a tree, like a commit log: one row a node, newest first, one column a branch. Pure. */
export interface LaneNode {
  id: string;
  parentId: string | null;
}

export interface LaneRow {
  id: string;
  column: number;
  /** The column of the parent's row. Null: it is not among the nodes. */
  parentColumn: number | null;
  /** The columns of branches that pass this row. */
  passing: number[];
  /** The columns of other branches that begin at this row's node: their lines end here. */
  joining: number[];
  /** True if a node continues this one: a line comes from above. */
  isContinued: boolean;
}

export interface LaneOptions {
  /** The node at which the first column begins. No branch before it takes that column. */
  main?: string | null;
  /** All columns from the last one on are drawn as one, so that many branches cost no more than a few. */
  columnsMax?: number;
}

/** The nodes must be sorted so that each comes before its parent. */
export function lanesOf(
  nodes: readonly LaneNode[],
  { main = null, columnsMax = Infinity }: LaneOptions = {},
): LaneRow[] {
  const columns = new Columns(main === null ? 0 : 1);
  const last = columnsMax - 1;
  const present = new Set(nodes.map(({ id }) => id));
  const found = nodes.map(({ id, parentId }) => {
    const leading = columns.leadingTo(id);
    const column = id === main ? 0 : (leading[0] ?? columns.free());
    for (const at of leading) columns.clear(at);
    const passing = columns.taken(last);
    if (parentId !== null && present.has(parentId)) columns.lead(column, parentId);
    const joining = [...new Set(leading.filter((at) => at !== column).map((at) => Math.min(at, last)))];
    return { id, parentId, column: Math.min(column, last), passing, joining, isContinued: leading.length > 0 };
  });
  const columnOf = new Map(found.map(({ id, column }) => [id, column]));
  return found.map(({ parentId, ...row }) => ({
    ...row,
    passing: row.passing.filter((at) => at !== row.column),
    joining: row.joining.filter((at) => at !== row.column && !row.passing.includes(at)),
    parentColumn: parentId === null ? null : (columnOf.get(parentId) ?? null),
  }));
}

/** The columns, and the node that the line of each leads down to. */
class Columns {
  readonly #leadsTo: (string | null)[] = [];
  readonly #columnsOf = new Map<string, number[]>();
  readonly #first: number;
  #taken = 0;

  /** A branch takes no column before `first`. */
  constructor(first: number) {
    this.#first = first;
  }

  leadingTo(id: string): number[] {
    return this.#columnsOf.get(id)?.toSorted((a, b) => a - b) ?? [];
  }

  /** Returns the first column without a line. */
  free(): number {
    let at = this.#first;
    while (this.#leadsTo[at] != null) at++;
    return at;
  }

  lead(column: number, id: string): void {
    this.#leadsTo[column] = id;
    const others = this.#columnsOf.get(id);
    if (others === undefined) this.#columnsOf.set(id, [column]);
    else others.push(column);
    this.#taken++;
  }

  clear(column: number): void {
    this.#columnsOf.delete(this.#leadsTo[column] ?? "");
    this.#leadsTo[column] = null;
    this.#taken--;
  }

  /** Returns the columns with a line, all from the last one on as one. */
  taken(last: number): number[] {
    const taken: number[] = [];
    const before = this.#leadsTo.slice(0, last);
    for (const [at, leadsTo] of before.entries()) if (leadsTo != null) taken.push(at);
    return this.#taken > taken.length ? [...taken, last] : taken;
  }
}
