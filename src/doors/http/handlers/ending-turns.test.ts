/**
 * Streams of a turn that ends while they are opened: the turn ends before each single call to a store that opening makes. Every
 * position has one outcome, whatever the moment (V2, T11).
 */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { sseMessages, testDoor, type TestDoor } from "../../../../testing/http-door.ts";
import { testRunner } from "../../../../testing/engine.ts";
import { newId } from "../../../domain/ids.ts";
import { memoryBlobs } from "../../../blobs/memory/memory-blobs.ts";
import { memoryEventLog } from "../../../live/memory/memory-event-log.ts";
import { memoryRecords } from "../../../records/memory/memory-records.ts";
import { endOfRound } from "../../../system/rounds.ts";

/** The rounds of the event loop after which nothing goes on that waits only for stores in memory. */
const idleRounds = 20;

interface World {
  turnId: string;
  sessionId: string;
  /** The number of events that the turn has before its end. */
  shown: number;
  /** Opens a stream. The turn ends just before the n-th call to a store that this makes. */
  open(at: string, endsBefore?: number): Promise<Response>;
  /** Returns true if there was an n-th call. */
  hasEnded(): boolean;
  /** Ends the turn, if it has not ended yet. */
  end(): Promise<void>;
  /** Deletes its live log, if that was put off. */
  drop(): Promise<void>;
}

/** The server at which the stream is opened, and when the live log of the turn is deleted. */
interface Place {
  server: "the same server" | "another server";
  log: "dropped at once" | "dropped later";
}

async function openWorld(t: TestContext, { server, log }: Place): Promise<World> {
  const held = Promise.withResolvers<void>();
  const script = () => [{ says: ["one ", "two ", held.promise, "three"] }];
  const stores = { records: memoryRecords(), log: memoryEventLog(), blobs: memoryBlobs() };
  const { drop } = stores.log;
  const late: string[] = [];
  if (log === "dropped later") t.mock.method(stores.log, "drop", async (id: string) => void late.push(id));
  const runner: TestDoor = await testDoor(t, { ...stores, script, runner: testRunner() });
  const listener = server === "the same server" ? runner : await testDoor(t, { ...stores, runner: testRunner() });
  const { turnId, sessionId, finished } = await runner.engine.turns.run(runner.admin, { instruction: "x" });
  let shown = 0;
  for await (const { event } of await runner.engine.turns.events(runner.admin, turnId, { afterSeq: 0 })) {
    shown += 1;
    if (event.type === "text_delta" && event.delta.includes("two")) break;
  }
  const end = async (): Promise<void> => {
    held.resolve();
    await finished;
  };
  let calls = Infinity;
  const hook = <K extends string>(store: Record<K, (...args: never[]) => Promise<unknown>>, name: K): void => {
    const call = store[name];
    t.mock.method(store, name, async (...args: never[]) => {
      calls -= 1;
      if (calls === 0) await end();
      return await Reflect.apply(call, store, args);
    });
  };
  hook(stores.log, "read");
  hook(stores.log, "wait");
  hook(stores.records.turns, "get");
  hook(stores.records.sessions, "get");
  hook(stores.blobs, "get");
  return {
    ...{ turnId, sessionId, shown, end },
    drop: async () => {
      for (const id of late) await Reflect.apply(drop, stores.log, [id]);
    },
    hasEnded: () => calls <= 0,
    open: async (at, endsBefore = Infinity) => {
      calls = endsBefore;
      const headers = { authorization: `Bearer ${runner.admin.key}` };
      return await listener.door.fetch(new Request(`http://localhost:4870${at}`, { headers }));
    },
  };
}

const routes: Record<string, (world: World) => string> = {
  "the turn's events": ({ turnId }) => `/api/turns/${turnId}/events`,
  "the session's events": ({ sessionId }) => `/api/sessions/${sessionId}/events`,
};

/** Opens the stream while the turn ends before each of the calls in turn, and at last after all of them. */
async function atEachMoment(
  t: TestContext,
  { place, route, after }: { place: Place; route: string; after(world: World): string },
  check: (seen: { world: World; at: string; response: Response; text: string }) => Promise<void>,
): Promise<number> {
  for (let n = 1; ; n += 1) {
    const world = await openWorld(t, place);
    const at = `${routes[route]?.(world)}?after=${after(world)}`;
    const response = await world.open(at, n);
    const reading = response.text();
    for (let round = 0; round < idleRounds; round += 1) await endOfRound();
    const isLast = !world.hasEnded();
    await world.end();
    await world.drop();
    await check({ world, at, response, text: await reading });
    if (isLast) return n;
  }
}

async function wholeOf(world: World): Promise<string[]> {
  const response = await world.open(`/api/turns/${world.turnId}/events`);
  return sseMessages(await response.text()).map(({ id }) => id);
}

const places: readonly Place[] = (["the same server", "another server"] as const).flatMap((server) =>
  (["dropped at once", "dropped later"] as const).map((log) => ({ server, log })),
);

for (const place of places) {
  for (const name of Object.keys(routes)) {
    const route = `${name}, at ${place.server}, its log ${place.log}`;
    test(`[V2] [T11] ${route}: opened while the turn ends, it gives exactly the rest`, async (t) => {
      for (const part of [0, 0.5, 1]) {
        const had = ({ shown }: World): number => Math.floor(shown * part);
        const after = (world: World): string => (part === 0 ? "" : `${world.turnId}:${had(world)}`);
        const moments = await atEachMoment(t, { place, route: name, after }, async ({ world, response, text }) => {
          assert.equal(response.status, 200, text);
          const messages = sseMessages(text);
          assert.deepEqual(
            messages.map(({ id }) => id),
            (await wholeOf(world)).slice(had(world)),
          );
          assert.match(messages.at(-1)?.data ?? "", /RUN_FINISHED/);
        });
        assert.ok(moments > 3, `only ${moments} moments`);
      }
    });

    test(`[V2] [T11] ${route}: opened from the last event while the turn ends, it gives nothing more`, async (t) => {
      const first = await openWorld(t, place);
      await first.end();
      const last = (await wholeOf(first)).length;
      const after = ({ turnId }: World): string => `${turnId}:${last}`;
      await atEachMoment(t, { place, route: name, after }, async ({ world, at, response, text }) => {
        // Before the end there is no such event. If the end comes while the stream is opened, it is empty.
        if (response.status === 422) assert.match(text, /event_id_unknown/);
        else assert.deepEqual([[200, 204].includes(response.status), text], [true, ""]);
        assert.equal((await world.open(at)).status, 204);
      });
    });

    test(`[V2] ${route}: beyond the end, and after an event of another turn, it is refused`, async (t) => {
      for (const id of [({ turnId }: World) => `${turnId}:999`, () => `${newId()}:1`]) {
        await atEachMoment(t, { place, route: name, after: id }, async ({ response, text }) => {
          const isUnknownTurn = response.status === 404;
          assert.match(text, isUnknownTurn ? /"not_found"/ : /"event_id_unknown"/);
        });
      }
    });
  }
}
