/**
 * Statements as plain texts, for those that run with every turn: the query builder takes longer to build and compile such a
 * statement than a database takes to run it. Values become parameters, and a statement may be part of another.
 */
import { CompiledQuery, type DatabaseConnection, type Kysely, type Transaction } from "kysely";
import type { Tables } from "../tables.ts";

export interface Placeholders {
  /** Returns the placeholder of a parameter. The first is 1. */
  placeholder(number: number): string;
}

export class PlainSql {
  /** One more than there are values. */
  readonly texts: readonly string[];
  readonly values: readonly unknown[];

  constructor(texts: readonly string[], values: readonly unknown[]) {
    this.texts = texts;
    this.values = values;
  }
}

/** Makes a statement, or a part of one, of a template. */
export function plain(strings: readonly string[], ...given: readonly unknown[]): PlainSql {
  if (!given.some((value) => value instanceof PlainSql)) return new PlainSql(strings, given);
  let last = strings[0] ?? "";
  const texts: string[] = [];
  const values: unknown[] = [];
  given.forEach((value, at) => {
    const after = strings[at + 1] ?? "";
    if (value instanceof PlainSql) {
      const parts = [...value.texts];
      parts[0] = last + (parts[0] ?? "");
      last = (parts.pop() ?? "") + after;
      texts.push(...parts);
      values.push(...value.values);
    } else {
      texts.push(last);
      values.push(value);
      last = after;
    }
  });
  return new PlainSql([...texts, last], values);
}

/** Makes the part of an insert that names the columns of the row, and its values. */
export function plainRow(row: object): PlainSql {
  const columns = Object.keys(row);
  const texts = columns.map((_, at) => (at === 0 ? `(${columns.join(", ")}) values (` : ", "));
  return plain([...texts, ")"], ...Object.values(row));
}

/** Runs a statement. `Row` is what the text selects or returns. */
export async function runPlain<Row>(
  db: Kysely<Tables>,
  placeholders: Placeholders,
  statement: PlainSql,
): Promise<{ rows: Row[]; changes: number }> {
  const { rows, numAffectedRows } = await db.executeQuery<Row>(compiled<Row>(placeholders, statement));
  return { rows, changes: Number(numAffectedRows ?? 0) };
}

function compiled<Row>({ placeholder }: Placeholders, { texts, values }: PlainSql): CompiledQuery<Row> {
  return CompiledQuery.raw(textOf(texts, placeholder), [...values]) as CompiledQuery<Row>;
}

/** The texts of templates, by the placeholders of an engine: a text that is the same object is found faster among the prepared ones. */
const known = new WeakMap<Placeholders["placeholder"], WeakMap<readonly string[], string>>();

function textOf(texts: readonly string[], placeholder: Placeholders["placeholder"]): string {
  let ofEngine = known.get(placeholder);
  if (ofEngine === undefined) known.set(placeholder, (ofEngine = new WeakMap()));
  let text = ofEngine.get(texts);
  if (text === undefined) {
    text = texts[0] ?? "";
    for (let at = 1; at < texts.length; at += 1) text += placeholder(at) + (texts[at] ?? "");
    ofEngine.set(texts, text);
  }
  return text;
}

/** The rows of one of several statements. Reading them throws the failure of that statement. */
export type RowsOf = <Row>() => Row[];

/**
 * Runs the statements in their order, one not knowing the result of another. A connection over a network sends them all before
 * it waits, so they take one round trip. Returns the rows of each.
 */
export async function runTogether(
  db: Kysely<Tables>,
  placeholders: Placeholders,
  statements: readonly PlainSql[],
): Promise<RowsOf[]> {
  const settled = await db
    .getExecutor()
    .provideConnection((connection) =>
      Promise.allSettled(statements.map((statement) => connection.executeQuery(compiled(placeholders, statement)))),
    );
  return settled.map((result) => <Row>() => {
    if (result.status === "rejected") throw result.reason;
    return result.value.rows as Row[];
  });
}

/** A connection that sends a statement without waiting for its result. If the statement fails, the commit does. */
export interface SendingConnection extends DatabaseConnection {
  send(query: CompiledQuery): void;
}

/**
 * Runs a statement whose result its transaction does not need. Over a network it is only sent, and reports its failure when the
 * transaction commits.
 */
export async function runUnanswered(
  tx: Transaction<Tables>,
  placeholders: Placeholders,
  statement: PlainSql,
): Promise<void> {
  const query = compiled(placeholders, statement);
  await tx.getExecutor().provideConnection(async (connection) => {
    if (isSending(connection)) connection.send(query);
    else await connection.executeQuery(query);
  });
}

function isSending(connection: DatabaseConnection): connection is SendingConnection {
  return "send" in connection;
}
