/** Faults of the store of one machine: rows and blobs in one file. */
import type { Mutant } from "./mutant.ts";

const embedded = ["src/embedded/embedded-store.test.ts"];
const sealed = ["src/embedded/sealed-turns.test.ts"];
const moves = ["src/compose/data-folder/move-blobs.test.ts"];
const packs = ["src/records/sql/sqlite/sealed/blob-pack.test.ts"];

export const embeddedFaults: readonly Mutant[] = [
  {
    name: "embedded-commit-without-sync",
    does: "stores the request of a later call without a wait for the disk (R6, B3)",
    file: "src/embedded/embedded-store.ts",
    find: 'if (survives === "power loss") return',
    replace: 'if (survives !== "power loss") return',
    tests: embedded,
  },
  {
    name: "embedded-sync-stays-off",
    does: "leaves the file without syncs after the step before a tool (B3)",
    file: "src/embedded/embedded-store.ts",
    find: "await sql`pragma synchronous = full`.execute(connection);",
    replace: "await sql`pragma synchronous = normal`.execute(connection);",
    tests: embedded,
  },
  {
    name: "embedded-opening-without-blobs",
    does: "opens a turn without its blobs (B1)",
    file: "src/embedded/embedded-store.ts",
    find: "putAll(tx, { writes, newTurnId: opening.turn.id })",
    replace: "putAll(tx, { writes: writes.slice(1), newTurnId: opening.turn.id })",
    tests: embedded,
  },
  {
    name: "move-blobs-beside-others",
    does: "moves the blobs while another process uses the folder (B1, B4)",
    file: "src/embedded/moving-store.ts",
    find: "openSqlite({ file, isAlone: true })",
    replace: "openSqlite({ file })",
    tests: moves,
  },
  {
    name: "size-tells-of-forks",
    does: "tells a reader which turns of a session others forked (B7, H4)",
    file: "src/engine/explain/history-size.ts",
    find: "const isOwn = isTheirs(caller, session);",
    replace: "const isOwn = isTheirs(caller, session) || session.isPublic;",
    tests: ["src/engine/explain/history-size.test.ts"],
  },
  {
    name: "move-blobs-unseen-loss",
    does: "deletes the blobs of the database although the files do not have them (B1, B3)",
    file: "src/compose/data-folder/move-blobs.ts",
    find: 'if (isThere && to === "files") await',
    replace: "if (isThere && to !== job.to) await",
    tests: moves,
  },
  {
    name: "commit-acknowledged-early",
    does: "acknowledges a transaction before the commit that it shares (B3)",
    file: "src/records/sql/sqlite/shared-commits.ts",
    find: "    this.#leaveGroup();\n    await committed.promise;",
    replace: "    this.#leaveGroup();\n    committed.promise.catch(() => {});",
    tests: ["src/records/sql/sqlite/shared-commits.test.ts"],
  },
  {
    name: "commit-without-savepoints",
    does: "undoes with a transaction that fails all that share its commit (B3)",
    file: "src/records/sql/sqlite/shared-commits.ts",
    find: 'await this.#run("rollback to member");',
    replace: 'await this.#run("rollback");',
    tests: ["src/records/sql/sqlite/shared-commits.test.ts"],
  },
  {
    name: "reads-what-is-not-committed",
    does: "shows in a query what another transaction may still take back (B3)",
    file: "src/records/sql/sqlite/sqlite-driver.ts",
    find: "if (!this.commits.isOpen) return this.main;",
    replace: "if (this.commits !== null) return this.main;",
    tests: ["src/records/sql/sqlite/shared-commits.test.ts"],
  },
  {
    name: "pack-with-a-wrong-seed",
    does: "reads the blobs of a turn with other bytes before them than they were written with (K6)",
    file: "src/records/sql/sqlite/sealed/pack-blobs.ts",
    find: "usesSeed: seed !== null,",
    replace: "usesSeed: false,",
    tests: sealed,
  },
  {
    name: "pack-refers-unseen",
    does: "refers to an entry of an earlier turn that has other bytes (D3)",
    file: "src/records/sql/sqlite/sealed/pack-blobs.ts",
    find: "Buffer.compare(found.bytes, bytes.subarray(start, end)) !== 0",
    replace: "found.bytes.length < 0",
    tests: packs,
  },
  {
    name: "pack-without-checksum",
    does: "reads a pack whose bits flipped (B3)",
    file: "src/records/sql/sqlite/sealed/pack-format.ts",
    find: "sum.length < 4 || sum.readUInt32LE() !== crc32(whole)",
    replace: "sum.length < 4",
    tests: sealed,
  },
  {
    name: "purge-leaves-contents",
    does: "leaves the words and blobs of purged turns in the file (S6, K6)",
    file: "src/records/sql/sqlite/sealed/sealed-ends.ts",
    find: 'await tx.deleteFrom("contents").where("id", "in", contentIds).execute();',
    replace: "",
    tests: sealed,
  },
  {
    name: "end-leaves-loose-blobs",
    does: "keeps the opening of a finished turn a second time (K6)",
    file: "src/embedded/embedded-store.ts",
    find: "await blobs.deleteIn(tx, loose);",
    replace: "await blobs.deleteIn(tx, loose.slice(1));",
    tests: sealed,
  },
];
