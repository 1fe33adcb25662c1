/** Checks the messages of an ACP connection against the official schema: their content, and that each answer was sent (P1). */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";

/** The sender of a message. Null if the log does not record it: then the method, or the answered request, decides. */
export type Sender = "agent" | "client" | null;

/** Collects the faults of one connection's messages, in both directions and in the order in which they were sent. */
export function schemaFaults(messages: readonly unknown[]): string[] {
  const wire = new WireCheck();
  return messages.flatMap((message) => wire.see(message, null) ?? []);
}

interface Asked {
  method: string;
  by: Exclude<Sender, null>;
}

export class WireCheck {
  readonly #open = new Map<string, Asked[]>();
  /** True if the client announced updates that only the unstable schema has. */
  #isUnstable = false;

  /** Checks the next message; call it in the order in which they were sent. Returns the fault, or null if there is none. */
  see(message: unknown, sender: Sender): string | null {
    const fault = this.#faultOf(message, sender);
    return fault === null ? null : `${fault}: ${JSON.stringify(message).slice(0, 400)}`;
  }

  #faultOf(message: unknown, sender: Sender): string | null {
    if (typeof message !== "object" || message === null) return "not an object";
    const { jsonrpc, id, method, params, result, error } = message as Record<string, unknown>;
    if (jsonrpc !== "2.0") return "not JSON-RPC 2.0";
    if (method === undefined) return this.#answerFault({ id, result, error }, sender);
    if (typeof method !== "string") return "the method is not a text";
    if (result !== undefined || error !== undefined) return "a call with an answer";
    if (id !== undefined) {
      if (!isId(id)) return "the id is neither a text nor a whole number";
      const by = sender ?? (sideOf(method) === "client" ? "agent" : "client");
      const key = JSON.stringify(id);
      this.#open.set(key, [...(this.#open.get(key) ?? []), { method, by }]);
    }
    if (method.startsWith("_")) return null;
    if (method === "initialize") this.#isUnstable = JSON.stringify(params).includes('"subagents"');
    const type = typeOf(method, id === undefined ? "Notification" : "Request", this.#isUnstable);
    // A client may send methods of its own. The agent sends only methods that the schema defines.
    if (type === null) return sender === "client" || sideOf(method) === null ? null : "not in the schema";
    return schemaFault(type, params ?? {});
  }

  #answerFault({ id, result, error }: { id: unknown; result: unknown; error: unknown }, sender: Sender): string | null {
    if ((result === undefined) === (error === undefined)) return "not exactly one of result and error";
    if (error !== undefined) {
      const fault = schemaFault("Error", error);
      if (fault !== null) return fault;
      if (id === null) return null;
    }
    const key = JSON.stringify(id);
    const open = this.#open.get(key) ?? [];
    const matching = open.filter(({ by }) => sender === null || by !== sender);
    if (matching.length === 0) return "answers nothing that was asked";
    const faults = matching.map((asked) => ({
      asked,
      fault: error !== undefined ? null : answerTypeFault(asked.method, result),
    }));
    // Both sides may use one id. Where the sender is not known, the newest request counts: a prompt waits for those that the agent sends meanwhile.
    const fitting = faults.findLast(({ fault }) => fault === null) ?? faults[0];
    const rest = open.filter((asked) => asked !== fitting?.asked);
    if (rest.length === 0) this.#open.delete(key);
    else this.#open.set(key, rest);
    return fitting?.fault ?? null;
  }
}

function isId(id: unknown): boolean {
  return typeof id === "string" || Number.isInteger(id);
}

function answerTypeFault(method: string, result: unknown): string | null {
  const type = typeOf(method, "Response");
  return type === null ? null : schemaFault(type, result);
}

interface OfficialSchema {
  $defs: Record<string, { "x-method"?: string; "x-side"?: string }>;
}

/** The stable schema first, then the unstable one for methods that the stable one lacks. */
const schemas = ["schema.json", "schema.unstable.json"].map((name) => {
  const url = import.meta.resolve(`@agentclientprotocol/sdk/schema/v1/${name}`);
  return { name, schema: JSON.parse(readFileSync(fileURLToPath(url), "utf8")) as OfficialSchema };
});

const ajv = new Ajv2020({ strict: false, validateFormats: false });
for (const { name, schema } of schemas) ajv.addSchema(schema, name);

/** Returns the name of the schema's type for this use. */
function typeOf(method: string, form: "Request" | "Notification" | "Response", isUnstable = false): string | null {
  for (const { name, schema } of isUnstable ? schemas.toReversed() : schemas) {
    const found = Object.entries(schema.$defs).find(([type, definition]) => {
      return definition["x-method"] === method && type.endsWith(form);
    });
    if (found !== undefined) return `${name}#/$defs/${found[0]}`;
  }
  return null;
}

/** Returns the side that handles this method. */
function sideOf(method: string): string | null {
  for (const { schema } of schemas) {
    const found = Object.values(schema.$defs).find((definition) => definition["x-method"] === method);
    if (found !== undefined) return found["x-side"] ?? null;
  }
  return null;
}

const compiled = new Map<string, ValidateFunction>();

function schemaFault(type: string, value: unknown): string | null {
  const reference = type.includes("#") ? type : `schema.json#/$defs/${type}`;
  const validate = compiled.get(reference) ?? ajv.compile({ $ref: reference });
  compiled.set(reference, validate);
  if (validate(value)) return null;
  return `${reference} ${ajv.errorsText(validate.errors, { dataVar: "" })}`;
}
