/**
 * What every record store must do, as tests. Run it on your own driver to know that it keeps the contract (B5).
 *
 *     recordStoreSuite("records in my database", async (context) => {
 *       const database = await makeEmptyDatabase();
 *       const store = await openMyRecords(database);
 *       context.after(async () => {
 *         await store.close();
 *         await database.drop();
 *       });
 *       return { store, reopen: () => openMyRecords(database) };
 *     });
 *
 * Each test opens a store of its own. The tests close the stores that `reopen` returns.
 *
 * `recordPartSuites` has the tests of one part. Its type says which other parts they need, so that you can write a driver
 * part by part: `recordPartSuites.audit` needs only `audit`.
 */
import { suite } from "node:test";
import { attachmentTests } from "./suite/attachments.ts";
import { auditTests } from "./suite/audit.ts";
import { budgetTests } from "./suite/budgets.ts";
import { contextTests } from "./suite/contexts.ts";
import { deviceTests } from "./suite/devices.ts";
import { importTests } from "./suite/imports.ts";
import { keyTests } from "./suite/keys.ts";
import { limitTests } from "./suite/limits.ts";
import { peopleTests } from "./suite/people.ts";
import { processTests } from "./suite/processes.ts";
import { purgeTests } from "./suite/purges.ts";
import { questionTests } from "./suite/questions.ts";
import { rememberedTests } from "./suite/remembered.ts";
import { runnerTests } from "./suite/runners.ts";
import type { OpenRecordsForTest, RecordPart } from "./suite/samples.ts";
import { searchTests } from "./suite/search.ts";
import { sessionTests } from "./suite/sessions.ts";
import { storageTests } from "./suite/storage.ts";
import { subagentTests } from "./suite/subagents.ts";
import { summaryTests } from "./suite/summaries.ts";
import { turnTests } from "./suite/turns.ts";
import { unkeptTests } from "./suite/unkept.ts";

/** The tests of each part, by its name in a `RecordStore`. Each function registers them. */
export const recordPartSuites = {
  sessions: sessionTests,
  attachments: attachmentTests,
  turns: turnTests,
  unkept: unkeptTests,
  subagents: subagentTests,
  summaries: summaryTests,
  runners: runnerTests,
  questions: questionTests,
  limits: limitTests,
  budgets: budgetTests,
  search: searchTests,
  imports: importTests,
  purges: purgeTests,
  contexts: contextTests,
  people: peopleTests,
  keys: keyTests,
  devices: deviceTests,
  audit: auditTests,
  storage: storageTests,
} satisfies Record<RecordPart, (open: OpenRecordsForTest) => void>;

/** Registers the tests of all parts, and those of a whole store, in a suite of this name. */
export function recordStoreSuite(name: string, open: OpenRecordsForTest): void {
  suite(name, () => {
    for (const tests of Object.values(recordPartSuites)) tests(open);
    processTests(open);
    rememberedTests(open);
  });
}
