/** How a server that requests information during a call receives an answer (elicitation). */

/** Answers a form, by asking a person or on a person's behalf. Without this function, servers are informed that no person can be asked. */
export type AnswerForm = (form: ServerForm) => Promise<FormAnswer>;

export interface ServerForm {
  server: string;
  /** The server's own description of the information that it needs. */
  message: string;
  /** A JSON Schema of type `object` with plain fields. A field that the answer leaves out gets its `default`. */
  schema: Record<string, unknown>;
  /** Aborts when the server stops waiting. */
  signal: AbortSignal;
}

export type FormAnswer =
  | { action: "accept"; content: Record<string, string | number | boolean | string[]> }
  | { action: "decline" | "cancel" };
