/** What a store must do when text is searched (S8). */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TextHit, TextQuery, TurnText } from "../record-store.ts";
import {
  ada,
  awkwardText,
  completedSample,
  draftOf,
  failedSample,
  finishSampleTurn,
  noon,
  openSampleTurn,
  openingOf,
  sampleOrgId,
  readSession,
  startSession,
  type OpenRecordsForTest,
  type RecordsWith,
  inviteUser,
} from "./samples.ts";

/** The parts that these tests need. */
type Parts = "sessions" | "turns" | "search";
type Records = RecordsWith<Parts>;

const bob = "user-bob";

async function search(store: Records, words: string[], over: Partial<TextQuery> = {}): Promise<TextHit[]> {
  return await store.search.find({ orgId: sampleOrgId, userId: ada, words, limit: 10, ...over });
}

/** Returns the names of the sessions that were found. */
async function found(store: Records, words: string[], over: Partial<TextQuery> = {}): Promise<string[]> {
  return (await search(store, words, over)).map(({ session }) => session.name);
}

/** Opens a turn on the head, finishes it with these texts, and returns its id. */
async function say(store: Records, sessionId: string, text: Partial<TurnText>): Promise<string> {
  const turn = await openSampleTurn(store, openingOf(draftOf(await readSession(store, sessionId))));
  await finishSampleTurn(store, completedSample(turn), { text: { instruction: "", answer: "", ...text } });
  return turn.id;
}

export function searchTests(open: OpenRecordsForTest<Parts>): void {
  test("[S8] words are found in names, instructions and answers, and each hit names the field", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store, { name: "About plums" });
    const asked = await say(store, session.id, { instruction: "Where do pears grow?" });
    const answered = await say(store, session.id, { answer: "Apples grow on trees." });
    const stored = await readSession(store, session.id);
    const only = (where: string, turnId: string | null, excerpt: string) => [
      { session: stored, matches: [{ where, turnId, excerpt }] },
    ];
    assert.deepEqual(await search(store, ["plum"]), only("name", null, "About plums"));
    assert.deepEqual(await search(store, ["pears"]), only("instruction", asked, "Where do pears grow?"));
    assert.deepEqual(await search(store, ["apples"]), only("answer", answered, "Apples grow on trees."));
    assert.deepEqual(await search(store, ["cherries"]), []);
  });

  test("[S8] a session must contain all words, spread over its name and any turns", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store, { name: "plum" });
    const first = await say(store, session.id, { instruction: "a pear", answer: "an apple" });
    const second = await say(store, session.id, { instruction: "a fig" });
    const other = await startSession(store, { name: "fig" });
    await say(store, other.id, { answer: "an apple" });

    const [hit, ...others] = await search(store, ["plum", "pear", "apple", "fig"]);
    assert.deepEqual(others, []);
    assert.deepEqual(hit?.matches, [
      { where: "name", turnId: null, excerpt: "plum" },
      { where: "instruction", turnId: second, excerpt: "a fig" },
      { where: "instruction", turnId: first, excerpt: "a pear" },
      { where: "answer", turnId: first, excerpt: "an apple" },
    ]);
    assert.deepEqual((await found(store, ["apple", "fig"])).toSorted(), ["fig", "plum"]);
    assert.deepEqual(await found(store, ["plum", "cherry"]), []);
  });

  test("[S8] of many matches a few are returned: the newest of each word, the name first", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store, { name: "plum" });
    const rare = await say(store, session.id, { answer: "a plum and a pear" });
    const turns: string[] = [];
    for (let count = 0; count < 6; count += 1) turns.unshift(await say(store, session.id, { answer: "plum" }));
    const placesOf = async (words: string[]) =>
      (await search(store, words))[0]?.matches.map(({ where, turnId }) => turnId ?? where);
    assert.deepEqual(await placesOf(["plum"]), ["name", turns[0], turns[1]]);
    assert.deepEqual(await placesOf(["pear", "plum"]), ["name", turns[0], rare]);
  });

  test("[S8] labels and metadata are found, each hit says where, and words may be spread over them", async (context) => {
    const { store } = await open(context);
    const labels = ["Größe", "billing"];
    const session = await startSession(store, {
      name: "plum",
      labels,
      metadata: { team: "red", links: [{ id: "AB-12" }] },
    });
    await startSession(store, { name: "other" });
    assert.deepEqual(await found(store, ["billing", "plum"]), ["plum"]);
    const [hit] = await search(store, ["größe", "ab-12"]);
    assert.deepEqual(hit?.matches, [
      { where: "label", turnId: null, excerpt: "Größe" },
      { where: "metadata", turnId: null, excerpt: "id: AB-12" },
    ]);
    await store.sessions.update(session.id, { labels: [] }, noon);
    assert.deepEqual(await found(store, ["billing"]), []);
    assert.deepEqual(await found(store, ["red"]), ["plum"]);
  });

  test("[S8] characters that have a meaning in SQL or patterns are plain text", async (context) => {
    const { store } = await open(context);
    const texts = [
      "100% sure",
      "snake_case",
      `it's "so"`,
      "C:\\temp\\x",
      `{"key": [1]}`,
      "a*b?",
      "$1 :id ?",
      "(?i)^.$",
    ];
    for (const text of texts) await say(store, (await startSession(store, { name: text })).id, { answer: text });
    await startSession(store, { name: "100 sure, snakeXcase, its so, {key}, ab, plain" });
    const signs = [
      "100%",
      "snake_",
      `it's`,
      `"so"`,
      "\\temp\\",
      `{"key":`,
      "[1]}",
      "*b?",
      "$1",
      ":id",
      "(?i)^",
      "%",
      "_",
      "\\",
    ];
    for (const sign of signs) {
      const expected = texts.filter((text) => text.includes(sign)).toSorted();
      assert.ok(expected.length > 0, sign);
      assert.deepEqual((await found(store, [sign])).toSorted(), expected, sign);
    }
    assert.deepEqual(await found(store, ["%sure"]), []);
  });

  test("[S8] case does not count, beyond ASCII too, and letters may be composed in either form", async (context) => {
    const { store } = await open(context);
    const pairs: [text: string, word: string][] = [
      ["Grüße aus ÅRHUS", "GRÜßE"],
      ["Grüße aus ÅRHUS", "århus"],
      ["СОБАКА", "собака"],
      ["ΟΔΥΣΣΕΥΣ", "οδυσσευς"],
      ["οδυσσευς", "ΟΔΥΣΣΕΥΣ"],
      ["İSTANBUL", "istanbul"],
      ["caf\u00e9", "CAFE\u0301"],
      ["cafe\u0301", "CAF\u00c9"],
      ["plain ascii", "ASCII"],
      ["日本語のテキスト", "テキ"],
      ["a 🙂 smile", "🙂"],
    ];
    for (const [text, word] of pairs) {
      const session = await startSession(store, { name: `n ${text}` });
      const turnId = await say(store, session.id, { instruction: `i ${text}`, answer: `a ${text}` });
      const [hit] = await search(store, [word]);
      const places = hit?.matches.map((match) => [match.where, match.turnId, match.excerpt.slice(0, 2)]);
      const expected = [
        ["name", null, "n "],
        ["instruction", turnId, "i "],
        ["answer", turnId, "a "],
      ];
      assert.deepEqual(places, expected, word);
      await store.sessions.update(session.id, { deletedAt: noon }, noon);
    }
    assert.deepEqual(await found(store, ["cafe"]), []);
  });

  test("[S8] text that a database would refuse can be stored and found", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store, { name: awkwardText });
    await say(store, session.id, { instruction: awkwardText, answer: awkwardText });
    for (const word of ["so'", "🙂", "\u0000", "\ud800", "É", "end"]) {
      const [hit] = await search(store, [word]);
      assert.deepEqual(hit?.session, await readSession(store, session.id));
      assert.equal(hit?.matches.length, 3, JSON.stringify(word));
    }
  });

  test("[S8] an excerpt is the text around its first word, on one line", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store);
    const far = "🙂".repeat(400);
    await say(store, session.id, { answer: `${far}\n\n  one  Needle\there ${far}` });
    const [hit] = await search(store, ["here", "needle"]);
    const excerpt = hit?.matches[0]?.excerpt ?? "";
    assert.match(excerpt, /^…🙂+ one Needle here 🙂+…$/u);
    assert.ok(excerpt.length < 250 && excerpt.isWellFormed());
  });

  test("[S8] the whole text is searched, not only its beginning", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store, { name: "long" });
    await say(store, session.id, { instruction: "x".repeat(200_000), answer: `${"y ".repeat(100_000)}needle` });
    assert.deepEqual(await found(store, ["needle"]), ["long"]);
    assert.deepEqual(await found(store, ["x".repeat(100_000)]), ["long"]);
    assert.deepEqual(await found(store, ["x".repeat(200_001)]), []);
  });

  test("[S8] [S7] sessions that a user cannot list are not found", async (context) => {
    const { store } = await open(context);
    await startSession(store, { name: "plum, own" });
    await startSession(store, { name: "plum, own, archived", archivedAt: noon });
    await startSession(store, { name: "plum, bob's", userId: bob });
    await startSession(store, { name: "plum, bob's, public", userId: bob, isPublic: true });
    await startSession(store, { name: "plum, elsewhere", orgId: "org-2" });
    await startSession(store, { name: "plum, public, elsewhere", orgId: "org-2", isPublic: true });
    const shared = await startSession(store, { name: "plum, bob's, shared", userId: bob });
    await inviteUser(store, shared.id, ada);
    const turn = await openSampleTurn(store, openingOf(draftOf(shared, { createdBy: ada })));
    await finishSampleTurn(store, completedSample(turn), { text: { instruction: "cherry", answer: "" } });
    const deleted = await startSession(store, { name: "plum, deleted" });
    await say(store, deleted.id, { answer: "cherry" });
    await store.sessions.update(deleted.id, { deletedAt: noon }, noon);

    const mine = ["plum, bob's, public", "plum, bob's, shared", "plum, own", "plum, own, archived"];
    assert.deepEqual((await found(store, ["plum"])).toSorted(), mine);
    assert.deepEqual(await found(store, ["cherry"]), ["plum, bob's, shared"]);
    assert.deepEqual(await found(store, ["plum"], { userId: "user-eve" }), ["plum, bob's, public"]);
    assert.deepEqual(await found(store, ["cherry"], { userId: "user-eve" }), []);
    await store.sessions.update(deleted.id, { deletedAt: null }, noon);
    assert.equal((await found(store, ["cherry"])).length, 2);
  });

  test("[S8] newest activity comes first, up to the limit", async (context) => {
    const { store } = await open(context);
    for (const activeAt of [2, 5, 3])
      await startSession(store, { name: `plum ${activeAt}`, activeAt: noon + activeAt });
    await startSession(store, { name: "pear", activeAt: noon + 4 });
    assert.deepEqual(await found(store, ["plum"]), ["plum 5", "plum 3", "plum 2"]);
    assert.deepEqual(await found(store, ["plum"], { limit: 2 }), ["plum 5", "plum 3"]);
  });

  test("[S8] no words find nothing; an empty or repeated word does not count", async (context) => {
    const { store } = await open(context);
    await startSession(store, { name: "plum" });
    assert.deepEqual(await search(store, []), []);
    assert.deepEqual(await search(store, ["", ""]), []);
    const words = ["", "plum", "PLUM", ...Array.from({ length: 20 }, () => "Plum")];
    assert.deepEqual(await found(store, words), ["plum"]);
  });

  test("[S8] a new name is found, and the old one no longer is; a failed turn's texts are found too", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store, { name: "plum" });
    await store.sessions.update(session.id, { name: "PÊCHE" }, noon);
    const turn = await openSampleTurn(store, openingOf(draftOf(session)));
    assert.deepEqual(await found(store, ["a question"]), []);
    await finishSampleTurn(store, failedSample(turn), { text: { instruction: "a question", answer: "half an ans" } });
    assert.deepEqual(await found(store, ["plum"]), []);
    assert.deepEqual(await found(store, ["pêche", "half", "question"]), ["PÊCHE"]);
  });
}
