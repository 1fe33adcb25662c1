/**
 * What every record store must do, as tests: run it on your own driver to know that it keeps the contract (B5).
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
 * Each test opens a store of its own. Stores that `reopen` gives are closed by the tests.
 */
import { suite } from "node:test";
import { contextTests } from "./suite/contexts.ts";
import { deviceTests } from "./suite/devices.ts";
import { finishingTests } from "./suite/finishing.ts";
import { forestTests } from "./suite/forests.ts";
import { headTests } from "./suite/heads.ts";
import { importTests } from "./suite/importing.ts";
import { leaseTests } from "./suite/leases.ts";
import { limitTests } from "./suite/limits.ts";
import { listTests } from "./suite/lists.ts";
import { mailboxTests } from "./suite/mailbox.ts";
import { openingTests } from "./suite/opening.ts";
import { peopleTests } from "./suite/people.ts";
import { processTests } from "./suite/processes.ts";
import { purgingTests } from "./suite/purging.ts";
import { runTests } from "./suite/runs.ts";
import type { OpenForTest } from "./suite/samples.ts";
import { searchTests } from "./suite/searching.ts";
import { sessionTests } from "./suite/sessions.ts";
import { turnTests } from "./suite/turns.ts";

/** Registers the tests. `name` is what they are listed under. */
export function recordStoreSuite(name: string, open: OpenForTest): void {
  suite(name, () => {
    sessionTests(open);
    listTests(open);
    openingTests(open);
    limitTests(open);
    finishingTests(open);
    turnTests(open);
    mailboxTests(open);
    headTests(open);
    purgingTests(open);
    forestTests(open);
    importTests(open);
    searchTests(open);
    runTests(open);
    leaseTests(open);
    peopleTests(open);
    deviceTests(open);
    contextTests(open);
    processTests(open);
  });
}
