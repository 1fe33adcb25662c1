/** The door for OpenAI's clients, over a real engine with memory stores, and the official SDK as its client. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import OpenAI from "openai";
import { openAiDoor, type OpenAiDoor } from "../src/doors/openai/door.ts";
import { testDoor, type Person, type TestDoor, type TestDoorOptions } from "./http-door.ts";

export interface OpenAiTest extends TestDoor {
  mount: OpenAiDoor;
  /** The official client, for the admin or another person. Refused requests are not sent again. */
  openai: OpenAI;
  clientOf(person: Person): OpenAI;
  /** Sends a request that must be refused, and returns the status and the error. */
  wireError(
    line: string,
    json?: unknown,
    as?: Person,
  ): Promise<{ status: number; message: string; param: unknown; code: unknown }>;
}

const url = "http://localhost:4870";

export async function testOpenAi(context: TestContext, options: TestDoorOptions = {}): Promise<OpenAiTest> {
  // The mount needs the engine, which the door makes.
  const tested = await testDoor(context, options);
  const { engine, reports } = tested;
  const mount = openAiDoor({
    engine,
    heartbeatMs: 60_000,
    report: (message, error) => void reports.push(`${message} ${String(error)}`),
  });
  context.after(() => mount.close());
  const mounted = tested.withMounts([mount]);
  const clientOf = ({ key }: Person): OpenAI =>
    new OpenAI({
      apiKey: key,
      baseURL: `${url}/v1`,
      maxRetries: 0,
      fetch: (input, init) => mounted.fetch(new Request(input as string, init as RequestInit)),
    });
  return {
    ...tested,
    mount,
    door: mounted,
    openai: clientOf(tested.admin),
    clientOf,
    wireError: async (line, json, as = tested.admin) => {
      const [method = "", path = ""] = line.split(" ");
      const request = new Request(url + path, {
        method,
        headers: { authorization: `Bearer ${as.key}`, "content-type": "application/json" },
        ...(json !== undefined && { body: typeof json === "string" ? json : JSON.stringify(json) }),
      });
      const response = await mounted.fetch(request);
      const text = await response.text();
      assert.ok(response.status >= 400, text);
      const { error } = JSON.parse(text) as { error: { message: string; param: unknown; code: unknown } };
      return { status: response.status, ...error };
    },
  };
}
