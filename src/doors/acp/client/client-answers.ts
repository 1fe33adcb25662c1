/** Checks the client's answers to requests of the agent. The SDK passes them on as they are, so they may have any form in spite of their types. */
import * as z from "zod";
import { AptoveError } from "../../../domain/errors.ts";

export interface CommandEnd {
  exitCode: number | null;
  signal: string | null;
}

// The SDK has schemas too, but does not export them. Values that ACP lets a client leave out count as left out if they are wrong.
const commandEnd = z.looseObject({
  exitCode: z.int().nullable().catch(null),
  signal: z.string().nullable().catch(null),
});

const answers = {
  "fs/read_text_file": z.looseObject({ content: z.string() }),
  "terminal/create": z.looseObject({ terminalId: z.string() }),
  "terminal/output": z.looseObject({
    output: z.string(),
    truncated: z.boolean().catch(false),
    exitStatus: commandEnd.nullable().catch(null),
  }),
};

type Answers = { [M in keyof typeof answers]: z.output<(typeof answers)[M]> };

/** Returns the answer. Throws `client_failed` if something is missing that the agent cannot do without. */
export function checkedAnswer<M extends keyof Answers>(method: M, answer: unknown): Answers[M] {
  const read = answers[method].safeParse(answer);
  if (read.success) return read.data as Answers[M];
  const field = read.error.issues[0]?.path.join(".") ?? "";
  const fault = field === "" ? "is no object" : `has no valid \`${field}\``;
  throw new AptoveError("client_failed", `the client's answer to ${method} ${fault}`);
}

/** Returns how a command ended, or null if the answer does not say that. */
export function readCommandEnd(answer: unknown): CommandEnd | null {
  const { data } = commandEnd.safeParse(answer);
  return data === undefined || (data.exitCode === null && data.signal === null) ? null : data;
}
