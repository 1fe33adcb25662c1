import assert from "node:assert/strict";
import { test } from "node:test";
import { RepeatedFault } from "./repeated-fault.ts";

test("[F10] a fault that lasts is reported when it begins, for another reason again, and when it is over", () => {
  const lines: string[] = [];
  const fault = new RepeatedFault(
    (message, error) => void lines.push(`${message}${error === undefined ? "" : `: ${String(error)}`}`),
    "the store is away",
  );
  fault.succeeded();
  for (const reason of ["refused", "refused", "full", "full"]) fault.failed(reason, reason);
  for (let n = 0; n < 2; n += 1) fault.succeeded();
  fault.failed("refused");
  assert.deepEqual(lines, [
    "the store is away: refused",
    "the store is away: full",
    "a fault is over: the store is away",
    "the store is away: refused",
  ]);
});
