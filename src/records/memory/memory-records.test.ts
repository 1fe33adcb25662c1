import { suite } from "node:test";
import { recordPartSuites, recordStoreSuite } from "../record-store.suite.ts";
import { memoryRecords } from "./memory-records.ts";

recordStoreSuite("records in memory", () => ({ store: memoryRecords(), reopen: null }));

suite("one part of the records, without the others", () => {
  recordPartSuites.audit(() => {
    const { audit, close } = memoryRecords();
    return { store: { audit, close }, reopen: null };
  });
});
