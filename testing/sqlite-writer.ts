/**
 * A program that writes turns into the records of a file until it is killed: `sqlite-writer.ts FILE`. It prints
 * a line right after each acknowledgement of the store: the turn's id and its new status.
 */
import { writeSync } from "node:fs";
import { openSqliteRecords } from "../src/records/sql/sqlite/sqlite.ts";
import { completed, draftOf, finish, open, openingOf, read, startSession } from "../src/records/suite/samples.ts";

const [file = ""] = process.argv.slice(2);
const store = await openSqliteRecords({ file });
const { id } = await startSession(store);

for (;;) {
  const turn = await open(store, openingOf(draftOf(await read(store, id))));
  writeSync(1, `${turn.id} pending\n`);
  await finish(store, completed(turn));
  writeSync(1, `${turn.id} completed\n`);
}
