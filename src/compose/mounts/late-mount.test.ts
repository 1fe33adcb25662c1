import assert from "node:assert/strict";
import { test } from "node:test";
import type { MountedRequest } from "../../doors/http/mount.ts";
import { lateMount } from "./late-mount.ts";

const place = { path: "/late", methods: ["GET"], bodyBytesMax: 1 } as const;
const request = new Request("http://localhost/late");
const client = {} as MountedRequest;

test("[H1] a mount's door is loaded by its first request, once, and closed only if it was loaded", async () => {
  let loaded = 0;
  let closed = 0;
  const make = () =>
    lateMount(place, async () => {
      loaded += 1;
      const fetch = async (): Promise<Response> => new Response("here");
      return { fetch, upgrade: async () => undefined, close: () => void (closed += 1) };
    });
  await make().close();
  assert.deepEqual([loaded, closed], [0, 0]);
  const { mount, close } = make();
  const answers = await Promise.all([mount.fetch(request, client), mount.fetch(request, client)]);
  assert.deepEqual(await Promise.all(answers.map((answer) => answer.text())), ["here", "here"]);
  await close();
  assert.deepEqual([loaded, closed], [1, 1]);
});

test("[H1] a door that could not be loaded is tried again by the next request", async () => {
  let tries = 0;
  const { mount, close } = lateMount(place, async () => {
    tries += 1;
    if (tries === 1) throw new Error("the file could not be read");
    return { fetch: async () => new Response("here"), upgrade: async () => undefined };
  });
  await assert.rejects(mount.fetch(request, client), /could not be read/);
  assert.equal(await (await mount.fetch(request, client)).text(), "here");
  await close();
});
