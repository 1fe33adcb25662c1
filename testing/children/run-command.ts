/** Runs a command as the `run` tool does, in a process that a test can kill: `run-command.ts <folder> <command>`. */
import { localCommands } from "../../src/tools/command/local-commands.ts";

const [, , cwd = "", command = ""] = process.argv;
await localCommands().run({
  command,
  cwd,
  callId: "call",
  outputBytesMax: 1_024,
  signal: new AbortController().signal,
  onOutput: () => undefined,
});
