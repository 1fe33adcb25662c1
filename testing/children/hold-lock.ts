/**
 * Takes a lock again and again, or holds it. Arguments: the lock's path, a file, a count. With a count, adds one to
 * the number in the file under the lock, that many times, in a way that loses what others add meanwhile. Without it,
 * takes the lock, prints `held` and keeps it until it is killed.
 */
import { readFileSync, writeFileSync, writeSync } from "node:fs";
import { setImmediate as nextRound } from "node:timers/promises";
import { withFileLock } from "../../src/system/file-lock.ts";

const options = { waitMsMax: 10_000 };
const [path = "", file = "", count] = process.argv.slice(2);

if (count === undefined) {
  await withFileLock(
    path,
    () => {
      writeSync(1, "held\n");
      return new Promise(() => setInterval(() => undefined, 60_000));
    },
    options,
  );
}

for (let added = 0; added < Number(count); added += 1) {
  await withFileLock(
    path,
    async () => {
      const number = Number(readFileSync(file, "utf8"));
      await nextRound();
      writeFileSync(file, `${number + 1}`);
    },
    options,
  );
}
