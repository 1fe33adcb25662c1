/** `GET /api/events`: the news of a caller's sessions as server-sent events, and the typed client that follows them (U3, H4). */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { WireNews } from "../../../client/client.ts";
import { limits } from "../../../domain/limits.ts";
import { newsSchema } from "../../../protocol/live/news.ts";
import { noObserver } from "../../../telemetry/observer.ts";
import { testDoor } from "../../../../testing/http-door.ts";

test("[U3] [H2] the client follows the news of its sessions, and each piece has the form that is documented", async (t) => {
  const door = await testDoor(t, { door: { heartbeatMs: 1_234 } });
  const client = door.client();
  const seen: WireNews[] = [];
  for await (const news of client.news()) {
    seen.push(newsSchema.parse(news));
    if (seen.length === 1) await client.sessions.create({ name: "one" });
    else break;
  }
  const [first, second] = seen;
  assert.partialDeepStrictEqual(first, { type: "read_anew", version: "test", heartbeatMs: 1_234 });
  assert.partialDeepStrictEqual(second, { type: "session_changed", what: "created" });
});

test("[U3] [U4] [H2] the client follows the session that it has open, however old it is", async (t) => {
  let now = Date.now();
  const door = await testDoor(t, { now: () => (now += 1) });
  const client = door.client();
  const { id } = await client.sessions.create({ name: "old" });
  for (let at = 0; at < limits.changesSessionsMax; at++) await client.sessions.create({ name: String(at) });
  const news = client.news({ sessionId: id })[Symbol.asyncIterator]();
  await news.next();
  await client.sessions.update(id, { name: "older" });
  assert.partialDeepStrictEqual((await news.next()).value, { sessionId: id, what: "renamed" });
  await news.return?.();
});

test("[U3] [H4] [P3] the news end when their key is revoked", async (t) => {
  const door = await testDoor(t);
  const { key, secret } = await door.client().keys.create({ name: "k" });
  const news = door.client({ key: secret }).news()[Symbol.asyncIterator]();
  assert.equal((await news.next()).done, false);
  const next = news.next();
  await door.client().keys.revoke(key.id);
  assert.equal((await next).done, true);
});

test("[U3] [H5] a user has a limited number of listeners; each that leaves makes room, and no other user has less", async (t) => {
  const door = await testDoor(t, { door: { limits: { newsListenersPerUserMax: 2 } } });
  const listen = async (as = door.admin) => await door.call("GET /api/events", { as });
  const first = await listen();
  const second = await listen();
  const refusal = await door.refused("connections_limited", "GET /api/events");
  assert.equal(refusal["limit"], 2);
  assert.match(refusal.detail, /2 of your streams of news/);
  await (await listen(await door.person("reader"))).body?.cancel();
  await second.body?.cancel();
  await door.call("HEAD /api/events");
  const third = await listen();
  await door.refused("connections_limited", "GET /api/events");
  for (const { body } of [first, third]) await body?.cancel();
  assert.ok(limits.newsListenersPerUserMax >= 100, "a person may have many tabs");
});

test("[U3] [R5] a listener that does not read holds little, and is asked to read everything again", async (t) => {
  const door = await testDoor(t);
  const slow = (await door.call("GET /api/events")).body?.getReader() ?? assert.fail();
  const read = async (): Promise<string> => Buffer.from((await slow.read()).value ?? []).toString();
  assert.match(await read(), /read_anew/);
  const quick = door.client().news()[Symbol.asyncIterator]();
  await quick.next();
  const created = 3 * limits.changesWaitingMax;
  for (let count = 0; count < created; count++) {
    await door.client().sessions.create({ name: String(count) });
    while ((await quick.next()).value?.type !== "session_changed");
  }
  let late = "";
  while (!late.includes("read_anew")) {
    late += await read();
    const pieces = late.split("\n\n").length - 1;
    assert.ok(pieces <= 2 * limits.changesWaitingMax, `${pieces} pieces were kept`);
  }
  await quick.return?.();
  await slow.cancel();
});

test("[U3] a listener that leaves leaves nothing open", async (t) => {
  let streams = 0;
  const stream = () => {
    streams += 1;
    return { within: <T>(work: () => T): T => work(), end: () => void (streams -= 1) };
  };
  const door = await testDoor(t, { door: { observer: { ...noObserver, stream } } });
  const head = await door.call("HEAD /api/events");
  assert.deepEqual([head.status, streams], [200, 0]);
  for await (const { type } of door.client().news()) {
    assert.deepEqual([type, streams], ["read_anew", 1]);
    break;
  }
  assert.equal(streams, 0);
});

test("[U3] a stream from which nothing arrives in time is cut, and says how long it was silent", async (t) => {
  const door = await testDoor(t);
  const silent = new Promise<Response>(() => undefined);
  const held = door.client({ fetch: () => silent });
  await assert.rejects(held.news({ firstMs: 1 })[Symbol.asyncIterator]().next(), {
    code: "stream_cut",
    facts: { silenceMs: 1 },
  });
  const news = door.client().news({ betweenMs: 1 })[Symbol.asyncIterator]();
  await news.next();
  await assert.rejects(news.next(), { code: "stream_cut" });
  const beating = await testDoor(t, { door: { heartbeatMs: 5 } });
  const kept = beating.client().news({ betweenMs: 5_000 })[Symbol.asyncIterator]();
  await kept.next();
  const next = kept.next();
  await beating.client().sessions.create({ name: "later" });
  assert.equal((await next).value?.type, "session_changed");
  await kept.return?.();
});

test("[V2] the events of a running turn that there are now are an answer that ends", async (t) => {
  const held = Promise.withResolvers<void>();
  const door = await testDoor(t, { script: () => [{ says: ["one ", held.promise, "two"] }] });
  const client = door.client();
  const { turnId } = await client.start({ instruction: "x" });
  const types: string[] = [];
  let after: string | undefined;
  const read = async (): Promise<void> => {
    const from = after === undefined ? {} : { after };
    for await (const { id, event } of client.events(turnId, { ...from, until: "now" })) {
      types.push(event.type);
      after = id;
    }
  };
  for await (const { event } of client.events(turnId)) if (event.type === "TEXT_MESSAGE_CONTENT") break;
  await read();
  assert.equal(types.at(-1), "TEXT_MESSAGE_CONTENT");
  const before = types.length;
  await read();
  assert.equal(types.length, before);
  held.resolve();
  for await (const { event } of client.events(turnId)) if (event.type === "RUN_FINISHED") break;
  await read();
  assert.equal(types.at(-1), "RUN_FINISHED");
  const whole: string[] = [];
  for await (const { event } of client.events(turnId)) whole.push(event.type);
  assert.deepEqual(
    types.filter((type) => type !== "TEXT_MESSAGE_CONTENT"),
    whole.filter((type) => type !== "TEXT_MESSAGE_CONTENT"),
  );
});
