/**
 * Statements as plain texts, for those that run with every turn: the query builder takes longer to build and compile such a
 * statement than a database takes to run it. Values become parameters, and a statement may be part of another.
 */
import { CompiledQuery, type Kysely } from "kysely";
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
  { placeholder }: Placeholders,
  { texts, values }: PlainSql,
): Promise<{ rows: Row[]; changes: number }> {
  const query = CompiledQuery.raw(textOf(texts, placeholder), [...values]);
  const { rows, numAffectedRows } = await db.executeQuery<Row>(query);
  return { rows, changes: Number(numAffectedRows ?? 0) };
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
