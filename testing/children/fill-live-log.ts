/** Fills a disk with the events of a turn, and asserts what a full disk must not do to them. The argument is the folder. */
import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { hasCode } from "../refusals.ts";
import { newId } from "../../src/domain/ids.ts";
import { fileEventLog } from "../../src/live/files/file-event-log.ts";
import { eventOfNumber } from "./append-events.ts";

const disk = process.argv[2] ?? "";
const folder = join(disk, "live");
const [log, other] = [fileEventLog({ folder }), fileEventLog({ folder })];
const turnId = newId();
/** The number of events that were passed to append, whether it succeeded or failed. */
let given = 0;

function append(count: number): Promise<void> {
  const batch = Array.from({ length: count }, (_, index) => eventOfNumber(given + 1 + index));
  given += count;
  return log.append(turnId, batch);
}

/** Asserts that this log and another process's log read the same unbroken beginning. Returns its length. */
async function assertUnbroken(): Promise<number> {
  const events = await log.read(turnId, 0);
  assert.ok(events !== null);
  assert.deepEqual(
    events,
    events.map((_, index) => ({ seq: index + 1, event: eventOfNumber(index + 1) })),
  );
  assert.deepEqual(await other.read(turnId, 0), events);
  return events.length;
}

await writeFile(join(disk, "ballast"), Buffer.alloc(200_000));
let acknowledged = 0;
const fill = async (): Promise<void> => {
  for (;;) {
    await append(7);
    acknowledged = given;
  }
};
await assert.rejects(fill(), hasCode("storage_full"));
assert.ok(acknowledged > 0, "the disk was too small to begin with");
const whole = await assertUnbroken();
assert.ok(whole >= acknowledged && whole < given);

await assert.rejects(append(1), hasCode("storage_full"));
assert.ok((await assertUnbroken()) < given);

// As soon as there is room, the events that waited are written first.
await rm(join(disk, "ballast"));
await append(1);
assert.equal(await assertUnbroken(), given);
await log.drop(turnId);
assert.equal(await other.read(turnId, 0), null);
