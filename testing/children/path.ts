/** Locates the programs of this folder. Tests start them as processes of their own. */
import { fileURLToPath } from "node:url";

/** Returns the absolute path of a program in this folder, for example `hold-lock.ts`. */
export function childPath(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}
