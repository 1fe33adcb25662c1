/**
 * Statements as plain texts, for those that run with every turn: the query builder takes longer to build and compile such a
 * statement than a database takes to run it. Values become parameters, and a statement may be part of another.
 */
import { CompiledQuery, type DatabaseConnection, type Kysely, type QueryResult, type Transaction } from "kysely";
import type { Tables } from "../tables.ts";
import { ConditionUnmet } from "./conditions.ts";

export interface Placeholders {
  /** Returns the placeholder of a parameter. The first is 1. */
  placeholder(number: number): string;
}

export class PlainSql {
  /** One more than there are values. */
  readonly texts: readonly string[];
  readonly values: readonly unknown[];
  /** True if the transaction changes nothing when the statement returns no row. */
  readonly isRequired: boolean;

  constructor(texts: readonly string[], values: readonly unknown[], isRequired = false) {
    this.texts = texts;
    this.values = values;
    this.isRequired = isRequired;
  }
}

/** Returns the statement that must return a row, if its result is known before the statements behind it run (`sendTogether`). */
export function required({ texts, values }: PlainSql): PlainSql {
  return new PlainSql(texts, values, true);
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

/** Makes the list of an `in`, without its brackets. There is at least one value. */
export function plainList(values: readonly unknown[]): PlainSql {
  return plain(["", ...values.slice(1).map(() => ", "), ""], ...values);
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
  return settled.map(readable);
}

/** A connection that sends a statement without waiting for its result. If the statement fails, the commit fails for the same reason. */
export interface SendingConnection extends DatabaseConnection {
  send<Row>(query: CompiledQuery<Row>): Promise<QueryResult<Row>>;
}

/** Returns the rows of each statement, when all are answered. */
export type Answers = () => Promise<RowsOf[]>;

/**
 * Runs statements of a transaction in their order. Over a network they are only sent, and what fails, such as a condition that is
 * not met (`SqlDialect.check`), fails the commit. Otherwise it is thrown here, and the statements behind it do not run.
 */
export async function sendTogether(
  tx: Transaction<Tables>,
  placeholders: Placeholders,
  statements: readonly PlainSql[],
): Promise<Answers> {
  return await tx.getExecutor().provideConnection(async (connection): Promise<Answers> => {
    if (isSending(connection)) {
      const sent = statements.map((statement) => connection.send(compiled(placeholders, statement)));
      const settled = Promise.allSettled(sent);
      return async () => (await settled).map(readable);
    }
    const results: RowsOf[] = [];
    for (const statement of statements) {
      const { rows } = await connection.executeQuery(compiled(placeholders, statement));
      if (statement.isRequired && rows.length === 0) throw new ConditionUnmet();
      results.push(readable({ status: "fulfilled", value: { rows } }));
    }
    return async () => results;
  });
}

function isSending(connection: DatabaseConnection): connection is SendingConnection {
  return "send" in connection;
}

function readable(result: PromiseSettledResult<QueryResult<unknown>>): RowsOf {
  return <Row>() => {
    if (result.status === "rejected") throw result.reason;
    return result.value.rows as Row[];
  };
}
