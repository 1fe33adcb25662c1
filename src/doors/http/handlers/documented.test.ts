/** What clients get is what the OpenAPI document says (H2). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { newId } from "../../../domain/ids.ts";
import { openApiDocument } from "../../../protocol/routes/openapi.ts";
import { paths } from "../../../protocol/routes/paths.ts";
import { scriptedProvider } from "../../../providers/scripted/scripted.ts";
import { testDoor } from "../../../../testing/http-door.ts";

interface Document {
  paths: Record<string, Record<string, { responses: Record<string, unknown> }>>;
  components: { schemas: Record<string, object> };
}

const document = (): Document => JSON.parse(JSON.stringify(openApiDocument("1.2.3"))) as Document;

test("[H2] the manifest of a turn with tools is one that the document allows", async (t) => {
  const client = (await testDoor(t)).client();
  const tools = [{ name: "look", parameters: { type: "object" } }];
  const { turnId } = await client.execute({ instruction: "x", tools });
  const { manifest } = await client.turns.get(turnId);
  assert.equal(manifest.clientTools, turnId);
  const { components } = document();
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema({ components }, "document");
  const isValid = ajv.compile({ $ref: "document#/components/schemas/ContextManifest" });
  assert.ok(isValid(manifest), ajv.errorsText(isValid.errors));
});

// `refused` also checks that the document has the code for the route.
test("[H2] [H3] a session with an unknown context or provider is refused with a code that the document has", async (t) => {
  const door = await testDoor(t, { provider: scriptedProvider({ name: "anthropic" }) });
  const { id } = await door.client().sessions.create({});
  for (const line of ["POST /api/sessions", `PATCH /api/sessions/${id}`]) {
    await door.refused("context_unknown", line, { json: { conversationContextId: "none" } });
    await door.refused("provider_unknown", line, { json: { model: "none/none" } });
  }
  await door.refused("not_found", `GET /api/forest?below=${newId()}`);
});

test("[H2] [V2] only the streams that can be resumed are documented to have nothing more", () => {
  const byPath = document().paths;
  const withEnd = Object.entries(paths).filter(([, { method, path }]) => {
    const { responses } = byPath[path]?.[method.toLowerCase()] ?? assert.fail();
    return (responses["204"] as { description?: string } | undefined)?.description?.includes("no more will follow");
  });
  assert.deepEqual(withEnd.map(([name]) => name).toSorted(), ["sessionEvents", "turnEvents"]);
});

test("[H2] [S7] a cursor is refused by every other list", async (t) => {
  const door = await testDoor(t);
  const client = door.client();
  for (const name of ["a", "b"]) await client.sessions.create({ name });
  const { nextCursor } = await client.sessions.list({ limit: 1 });
  assert.ok(nextCursor);
  const userSessions = `/api/users/${door.admin.userId}/sessions`;
  for (const at of ["/api/users", "/api/keys", "/api/audit", "/api/forest", userSessions]) {
    const { detail } = await door.refused("request_invalid", `GET ${at}?cursor=${nextCursor}`);
    assert.match(detail, /is not a cursor of this list/);
  }
  assert.equal((await client.sessions.list({ limit: 1, cursor: nextCursor })).sessions[0]?.name, "a");
});

test("[H2] numbers and times of a query are only what the document allows", async (t) => {
  const door = await testDoor(t);
  for (const limit of ["", "%20", "0x5", "%205", "1e1", "5.0.", "5.5"]) {
    const { detail } = await door.refused("request_invalid", `GET /api/sessions?limit=${limit}`);
    assert.match(detail, /limit.*is not a whole number/);
  }
  await door.call("GET /api/sessions?limit=5");
  for (const from of ["2026-02-30T00:00:00.000Z", "2026-01-01T24:00:00.000Z", "2026-13-01T00:00:00.000Z"]) {
    const { detail } = await door.refused("request_invalid", `GET /api/costs?from=${from}`);
    assert.match(detail, /from.*is a time that does not exist/);
  }
  await door.call("GET /api/costs?from=2028-02-29T00:00:00.000Z");
});
