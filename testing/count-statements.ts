/** Counts what SQLite runs. */
import type { TestContext } from "node:test";
import Database from "better-sqlite3";

type Run = (...values: unknown[]) => unknown;
const ways = ["run", "all", "get"] as const;

/** Returns the texts of the statements that the process runs from now on, in their order, of databases that are opened later. */
export function countStatements(context: TestContext): string[] {
  const ran: string[] = [];
  const prototype: { prepare(text: string): Record<(typeof ways)[number], Run> } = Database.prototype as never;
  const { prepare } = prototype;
  context.mock.method(prototype, "prepare", function counted(this: typeof prototype, text: string) {
    const statement = prepare.call(this, text);
    for (const way of ways) {
      const original = statement[way].bind(statement);
      statement[way] = (...values) => {
        ran.push(text);
        return original(...values);
      };
    }
    return statement;
  });
  return ran;
}
