/** The door of the Model Context Protocol in the HTTP door, over a real engine with memory stores. */
import type { TestContext } from "node:test";
import { createClient } from "../src/client/client.ts";
import type { HttpDoor } from "../src/doors/http/door.ts";
import { mcpDoor } from "../src/doors/mcp/mcp-door.ts";
import { testDoor, type TestDoor, type TestDoorOptions } from "./http-door.ts";

export const mcpUrl = "http://localhost:4870";

export async function testMcpDoor(context: TestContext, options: TestDoorOptions = {}): Promise<TestDoor> {
  const tested = await testDoor(context, options);
  const mount = mcpDoor({
    clientFor: (key) => createClient({ url: mcpUrl, key, fetch: (request) => door.fetch(request) }),
    version: "test",
    bodyBytesMax: 1_000_000,
    report: (message, error) => void tested.reports.push(`${message} ${String(error)}`),
  });
  const door: HttpDoor = tested.withMounts([mount]);
  return { ...tested, door };
}
