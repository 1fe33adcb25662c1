/** How a server that asks for something in the middle of a call gets an answer (elicitation). */

/** Answers a form for a person, or by them. Where there is none, servers are told that nobody can be asked. */
export type AnswerForm = (form: ServerForm) => Promise<FormAnswer>;

export interface ServerForm {
  server: string;
  /** What the server wants to know, in its words. */
  message: string;
  /** A JSON Schema of type `object` with plain fields; their `default`s are filled in where the answer leaves them out. */
  schema: Record<string, unknown>;
  /** Aborts when the server does not wait any more. */
  signal: AbortSignal;
}

export type FormAnswer =
  | { action: "accept"; content: Record<string, string | number | boolean | string[]> }
  | { action: "decline" | "cancel" };
