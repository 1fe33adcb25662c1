/** Sessions as a forest: each fork below the session that it was forked from. Pure. */
export interface ForestSession {
  id: string;
  originTurnId: string | null;
}

export interface ForestRow<S> {
  session: S;
  level: number;
}

/** `sessionOfTurn` names the session of each origin turn, as far as it is known. A fork whose origin is not listed is a root. */
export function forestOf<S extends ForestSession>(
  sessions: readonly S[],
  sessionOfTurn: ReadonlyMap<string, string>,
): ForestRow<S>[] {
  const known = new Set(sessions.map(({ id }) => id));
  const parentOf = ({ id, originTurnId }: S): string | null => {
    const parent = originTurnId === null ? undefined : sessionOfTurn.get(originTurnId);
    return parent === undefined || parent === id || !known.has(parent) ? null : parent;
  };
  const children = Map.groupBy(sessions, (session) => parentOf(session) ?? "");
  const rows: ForestRow<S>[] = [];
  const open: ForestRow<S>[] = (children.get("") ?? []).map((session) => ({ session, level: 0 })).toReversed();
  const seen = new Set<string>();
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (seen.has(next.session.id)) continue;
    seen.add(next.session.id);
    rows.push(next);
    const level = next.level + 1;
    for (const session of (children.get(next.session.id) ?? []).toReversed()) open.push({ session, level });
  }
  return rows;
}
