/**
 * Loaded before the program with `--import`: kills its process before the n-th change or read of a file that a move of blobs makes,
 * where n is `DIE_AT`. Without it, the number of these calls is written to the file `CALLS_TO` at the end.
 */
import fs, { writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const { DIE_AT, CALLS_TO } = process.env;
let calls = 0;

/** Counts the calls of a function. */
function counted<Args extends unknown[], Result>(original: (...args: Args) => Result): (...args: Args) => Result {
  return (...args) => {
    const concerns = args.some((arg) => typeof arg === "string" && arg.includes("blobs"));
    if (concerns) calls += 1;
    if (concerns && calls === Number(DIE_AT)) process.kill(process.pid, "SIGKILL");
    return original(...args);
  };
}

Object.assign(fs, {
  renameSync: counted(fs.renameSync),
  rmSync: counted(fs.rmSync),
  linkSync: counted(fs.linkSync),
});
Object.assign(fs.promises, { open: counted(fs.promises.open) });
syncBuiltinESMExports();
if (CALLS_TO !== undefined) process.on("exit", () => writeFileSync(CALLS_TO, String(calls)));
