/**
 * A program that writes turns into the records of a file until it is killed: `sqlite-writer.ts FILE`. It prints
 * a line right after each acknowledgement of the store: the turn's id and its new status.
 */
import { writeSync } from "node:fs";
import { openSqliteRecords } from "../src/records/sql/sqlite/sqlite.ts";
import {
  completedSample,
  draftOf,
  finishSampleTurn,
  openSampleTurn,
  openingOf,
  readSession,
  startSession,
} from "../src/records/suite/samples.ts";

const [file = ""] = process.argv.slice(2);
const store = await openSqliteRecords({ file });
const { id } = await startSession(store);

for (;;) {
  const turn = await openSampleTurn(store, openingOf(draftOf(await readSession(store, id))));
  writeSync(1, `${turn.id} pending\n`);
  await finishSampleTurn(store, completedSample(turn));
  writeSync(1, `${turn.id} completed\n`);
}
