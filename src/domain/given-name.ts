/** The names that people give to sessions, orgs, users, keys, devices and workspaces. */
import { AptoveError } from "./errors.ts";
import { oneLine } from "./one-line.ts";

/** Returns a name that a person gave, on one line. Throws `request_invalid` if it has only blanks. */
export function givenName(name: string): string {
  const line = oneLine(name);
  if (line === "") throw new AptoveError("request_invalid", "the name is blank; give at least one visible character");
  return line;
}

/** Returns a name for people to see. An earlier version could store an empty one: then the id stands for it. */
export function storedName(name: string, id: string): string {
  return name.trim() === "" ? id : name;
}
