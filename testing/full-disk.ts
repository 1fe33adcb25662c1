/** Takes all the room of a small disk, and gives it back. */
import { appendFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { systemCode } from "../src/system/system-error.ts";

const blockBytes = 4_096;

export function fillDisk(folder: string): void {
  const block = Buffer.alloc(blockBytes, 1);
  try {
    for (;;) appendFileSync(fillingOf(folder), block);
  } catch (error) {
    if (systemCode(error) !== "ENOSPC") throw error;
  }
}

export function emptyDisk(folder: string): void {
  rmSync(fillingOf(folder), { force: true });
}

function fillingOf(folder: string): string {
  return join(folder, "filling");
}
