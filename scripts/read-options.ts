/** The options of the scripts and the benches: help on request, and a wrong use is named without a stack trace. */
import { parseArgs, type ParseArgsConfig } from "node:util";

/** Reads the options. `--help` prints how the script is used and ends the process with 0, a wrong option prints it and ends it with 2. */
export function readOptions<T extends ParseArgsConfig>(usage: string, config: T): ReturnType<typeof parseArgs<T>> {
  const args = config.args ?? process.argv.slice(2);
  if (args.includes("--help") || args.includes("-h")) {
    console.log(usage);
    process.exit(0);
  }
  try {
    return parseArgs(config);
  } catch (error) {
    return wrongUse(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
  }
}

/** Reads the value of an option that is a whole number. */
export function wholeNumber(name: string, text: string, least = 0): number {
  if (/^\d{1,12}$/.test(text) && Number(text) >= least) return Number(text);
  return wrongUse(`--${name} takes a whole number from ${least} on, not ${JSON.stringify(text)}`);
}

export function wrongUse(message: string): never {
  console.error(message);
  process.exit(2);
}
