import assert from "node:assert/strict";
import { test } from "node:test";
import { recordsFault } from "./faults.ts";

function codeOf(code: string): string {
  return recordsFault("the records failed", Object.assign(new Error("as the test wants it"), { code })).code;
}

test("[B3] records that are damaged have another error than records that fail or are full", () => {
  for (const code of ["SQLITE_CORRUPT", "SQLITE_CORRUPT_INDEX", "SQLITE_NOTADB", "XX001", "XX002"])
    assert.equal(codeOf(code), "records_damaged", code);
  for (const code of ["SQLITE_IOERR_READ", "SQLITE_CANTOPEN", "XX000", "ECONNREFUSED"])
    assert.equal(codeOf(code), "storage_failed", code);
  for (const code of ["SQLITE_FULL", "53100"]) assert.equal(codeOf(code), "storage_full", code);
  assert.equal(recordsFault("a row", new SyntaxError("Unexpected end of JSON input")).code, "records_damaged");
});
