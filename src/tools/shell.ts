/** The shell that runs command lines, the same for local processes and for terminals of a client (P5). */
import { existsSync } from "node:fs";

/** Returns the program, and the arguments that it gets before the command line. */
export function commandShell(): { program: string; args: readonly string[] } {
  if (process.platform === "win32") return { program: process.env["ComSpec"] ?? "cmd.exe", args: ["/d", "/s", "/c"] };
  const program = ["/bin/bash", "/usr/bin/bash"].find((path) => existsSync(path)) ?? "/bin/sh";
  return { program, args: ["-c"] };
}
