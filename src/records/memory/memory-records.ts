/**
 * Records in memory: the store for tests, and for a program that embeds aptove and needs no history after its process ends. A
 * method runs from its first to its last line without waiting, so each is a transaction by itself.
 */
import type { RecordStore } from "../record-store.ts";
import { wrapMethods } from "../../system/wrap-methods.ts";
import { attachmentRecords } from "./attachments.ts";
import { auditRecords } from "./audit.ts";
import { budgetRecords } from "./budgets.ts";
import { contextRecords } from "./contexts.ts";
import { deviceRecords } from "./devices.ts";
import { importRecords } from "./imports.ts";
import { keyRecords } from "./keys.ts";
import { limitRecords } from "./limits.ts";
import { peopleRecords } from "./people.ts";
import { purgeRecords } from "./purges.ts";
import { emptyRows } from "./rows.ts";
import { questionRecords } from "./questions.ts";
import { runnerRecords } from "./runners.ts";
import { searchRecords } from "./search.ts";
import { sessionRecords } from "./sessions.ts";
import { storageRecords } from "./storage.ts";
import { subagentRecords } from "./subagents.ts";
import { summaryRecords } from "./summaries.ts";
import { turnRecords } from "./turns.ts";
import { unkeptRecords } from "./unkept.ts";

/** Makes an empty store. Its data is lost when the process ends. `now` is the clock by which leases expire (R1). */
export function memoryRecords({ now = Date.now }: { now?: () => number } = {}): RecordStore {
  const rows = emptyRows();
  const isolated = withCopies({
    sessions: sessionRecords(rows),
    attachments: attachmentRecords(rows),
    turns: turnRecords(rows, now),
    unkept: unkeptRecords(rows),
    subagents: subagentRecords(rows),
    summaries: summaryRecords(rows, now),
    runners: runnerRecords(rows, now),
    questions: questionRecords(rows, now),
    limits: limitRecords(rows, now),
    budgets: budgetRecords(rows, now),
    search: searchRecords(rows),
    purges: purgeRecords(rows),
    contexts: contextRecords(rows),
    people: peopleRecords(rows),
    keys: keyRecords(rows),
    devices: deviceRecords(rows),
    audit: auditRecords(rows),
    storage: storageRecords(rows),
    close: () => Promise.resolve(),
  });
  return { ...isolated, imports: importRecords(rows) };
}

/** Copies the values that go in and come out, so that no caller holds a row of the store. */
function withCopies<T extends object>(store: T): T {
  return wrapMethods(
    store,
    (method) =>
      async (...args) =>
        structuredClone(await method(...structuredClone(args))),
  );
}
