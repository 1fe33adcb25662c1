import assert from "node:assert/strict";
import { test } from "node:test";
import { namedIfFull } from "./sqlite-room.ts";
import { systemCode } from "./system-error.ts";

const file = "/data/records.db";

function codeWith(code: string, room: { bytes: number; files: number | null } | null): string {
  const error = Object.assign(new Error("disk I/O error"), { code });
  return systemCode(namedIfFull(error, file, () => room));
}

test("[B3] an I/O error of a write is a full disk if there is no room beside the file, else what it was", () => {
  const full = { bytes: 4_096, files: 100 };
  for (const code of ["SQLITE_IOERR_SHMSIZE", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_FSYNC"]) {
    assert.equal(codeWith(code, full), "SQLITE_FULL", code);
    assert.equal(codeWith(code, { bytes: 1e9, files: 0 }), code, "a file that exists needs no other one");
    assert.equal(codeWith(code, null), code);
  }
  // A full disk can be read, so a medium that cannot be read is damaged.
  for (const code of ["SQLITE_IOERR_READ", "SQLITE_CORRUPT", "SQLITE_BUSY"]) assert.equal(codeWith(code, full), code);
});

test("[B3] a file that cannot be created is a full disk if the file system has no room for another file", () => {
  assert.equal(codeWith("SQLITE_CANTOPEN", { bytes: 1e9, files: 0 }), "SQLITE_FULL");
  assert.equal(codeWith("SQLITE_CANTOPEN", { bytes: 0, files: 100 }), "SQLITE_CANTOPEN");
  assert.equal(codeWith("SQLITE_CANTOPEN", { bytes: 0, files: null }), "SQLITE_CANTOPEN");
});

test("[B3] the error of a full disk names the folder, and keeps its cause", () => {
  const cause = Object.assign(new Error("disk I/O error"), { code: "SQLITE_IOERR_SHMSIZE" });
  const error = namedIfFull(cause, file, () => ({ bytes: 0, files: 1 }));
  assert.ok(error instanceof Error);
  assert.match(error.message, /no room left in \/data: disk I\/O error/);
  assert.equal(error.cause, cause);
});
