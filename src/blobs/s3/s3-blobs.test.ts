import assert from "node:assert/strict";
import { suite, test, type TestContext } from "node:test";
import { hasCode } from "../../../testing/refusals.ts";
import { startFakeS3, type FakeS3, type FakeS3Options, type S3Fault } from "../../../testing/fake-s3/fake-s3.ts";
import type { ErrorCode } from "../../domain/errors.ts";
import { blobStoreSuite } from "../blob-store.suite.ts";
import type { BlobStore } from "../blob-store.ts";
import { readListPage } from "./list-page.ts";
import { s3Blobs, type S3BlobsOptions } from "./s3-blobs.ts";
import { s3Location, type S3LocationOptions } from "./s3-location.ts";

const retryPolicy = { attemptsMax: 4, backoffMs: 1, backoffMaxMs: 2, answerMs: 10_000 };
const bytes = Buffer.from("the bytes of a blob ".repeat(100));
const other = Buffer.from("other bytes");

interface Opened {
  fake: FakeS3;
  store: BlobStore;
  reopen: () => BlobStore;
}

async function open(
  context: TestContext,
  options: FakeS3Options = {},
  more: Partial<S3BlobsOptions> = {},
): Promise<Opened> {
  const fake = await startFakeS3(options);
  context.after(() => fake.close());
  const { endpoint, region, bucket, accessKeyId, secretAccessKey } = fake;
  const credentials = { accessKeyId, secretAccessKey, sessionToken: null };
  const reopen = (): BlobStore =>
    s3Blobs({ url: `s3://${bucket}/team/one`, endpoint, region, pathStyle: null, credentials, retryPolicy, ...more });
  return { fake, store: reopen(), reopen };
}

function refused(code: ErrorCode, words: RegExp) {
  return (error: unknown): boolean => {
    assert.doesNotMatch(String(error), /SKFAKE|undefined/);
    return hasCode(code, words)(error);
  };
}

/** Returns a short timeout only for a server that does not respond. */
function timeoutFor({ how }: S3Fault): Partial<S3BlobsOptions> {
  return how === "silence" ? { retryPolicy: { ...retryPolicy, answerMs: 150 } } : {};
}

blobStoreSuite("blobs in S3", (context) => open(context, { pageSize: 7 }));

suite("an S3 server that fails", () => {
  const unavailable: S3Fault = { how: "refuse", status: 503 };
  const passing: S3Fault[] = [
    unavailable,
    { how: "refuse", status: 429, headers: { "retry-after": "1" } },
    { how: "refuse", status: 409, code: "ConditionalRequestConflict" },
    { how: "silence" },
    { how: "lost" },
    { how: "cut" },
    { how: "twice" },
  ];
  for (const fault of passing) {
    test(`[B1] [B3] a response with the fault ${JSON.stringify(fault)} costs a retry and no blob`, async (context) => {
      const { fake, store } = await open(context, {}, timeoutFor(fault));
      for (const method of ["PUT", "GET", "HEAD", "DELETE"]) fake.next(method, fault);
      await store.put("turns/1/run", bytes);
      fake.next("PUT", fault);
      await store.put("turns/1/run", bytes);
      assert.deepEqual(await store.get("turns/1/run"), bytes);
      assert.equal(await store.size("turns/1/run"), bytes.length);
      await assert.rejects(store.put("turns/1/run", other), { code: "blob_exists" });
      fake.next("GET", fault);
      assert.deepEqual(await store.list("turns/"), ["turns/1/run"]);
      await store.delete("turns/1/run");
      assert.deepEqual([...fake.objects.keys()], ["team/one/~conditional"]);
    });
  }

  test("[B1] a write whose response was lost finds its own bytes, and never takes another's for them", async (context) => {
    const { fake, store, reopen } = await open(context);
    await store.put("first", bytes);
    fake.next("PUT", { how: "lost" }, { how: "lost" });
    await store.put("a", bytes);
    assert.equal(fake.requests.filter(({ method, key }) => method === "PUT" && key.endsWith("/a")).length, 3);
    await assert.rejects(reopen().put("a", other), refused("blob_exists", /\ba\b/));
    assert.deepEqual(await store.get("a"), bytes);
  });

  const lasting: { fault: S3Fault; code: ErrorCode; words: RegExp; tries: number }[] = [
    {
      fault: unavailable,
      code: "blobs_unavailable",
      words: /blob a could not be read: S3 responded with 503 SlowDown/,
      tries: 4,
    },
    { fault: { how: "silence" }, code: "blobs_unavailable", words: /blob a .*no response within 150 ms/, tries: 4 },
    { fault: { how: "lost" }, code: "blobs_unavailable", words: /blob a /, tries: 4 },
    { fault: { how: "cut" }, code: "blobs_unavailable", words: /blob a /, tries: 4 },
    { fault: { how: "cut", cleanly: true }, code: "blob_damaged", words: /\ba: its bytes/, tries: 4 },
    { fault: { how: "damage" }, code: "blob_damaged", words: /\ba: its bytes/, tries: 4 },
    {
      fault: { how: "refuse", status: 403, code: "AccessDenied" },
      code: "storage_failed",
      words: /403 AccessDenied; the key needs s3:GetObject/,
      tries: 1,
    },
    {
      fault: { how: "refuse", status: 403, code: "QuotaExceeded" },
      code: "storage_full",
      words: /QuotaExceeded/,
      tries: 1,
    },
    { fault: { how: "refuse", status: 507, code: "" }, code: "storage_full", words: /507/, tries: 1 },
    {
      fault: { how: "refuse", status: 404, code: "NoSuchBucket" },
      code: "storage_failed",
      words: /create the bucket blobs/,
      tries: 1,
    },
    {
      fault: { how: "refuse", status: 301, code: "PermanentRedirect", headers: { location: "http://127.0.0.1:9/" } },
      code: "storage_failed",
      words: /301 PermanentRedirect; check blobs.region/,
      tries: 1,
    },
  ];
  for (const { fault, code, words, tries } of lasting) {
    test(`[B3] ${JSON.stringify(fault)} that lasts is ${code} and never an absent blob`, async (context) => {
      const { fake, store } = await open(context, {}, timeoutFor(fault));
      await store.put("a", bytes);
      const before = fake.requests.length;
      fake.next("GET", ...Array.from({ length: tries }, () => fault));
      await assert.rejects(store.get("a"), refused(code, words));
      assert.equal(fake.requests.length - before, tries);
      assert.deepEqual(await store.get("a"), bytes);
    });
  }

  test("[B1] a list that is cut off, damaged or without an end is never a shorter list", async (context) => {
    const { fake, store } = await open(context, { pageSize: 2 });
    for (const key of ["a", "b", "c", "d", "e"]) await store.put(key, bytes);
    fake.objects.set("team/one/NOT OURS & <more>", { bytes: other, meta: {} });
    fake.objects.set("team/another", { bytes: other, meta: {} });
    assert.deepEqual(await store.list(""), ["a", "b", "c", "d", "e"]);
    fake.next("GET", { how: "cut", cleanly: true }, { how: "cut" }, { how: "cut", cleanly: true });
    assert.deepEqual(await store.list(""), ["a", "b", "c", "d", "e"]);
    fake.next("GET", ...Array.from({ length: 4 }, (): S3Fault => ({ how: "cut", cleanly: true })));
    await assert.rejects(
      store.list("a"),
      refused("storage_failed", /"a" could not be listed: the response is incomplete/),
    );
  });

  test("[B1] [E8] wrong keys, a wrong region and a missing bucket are distinguished from a missing blob", async (context) => {
    const wrong: [Partial<S3BlobsOptions>, RegExp][] = [
      [
        { credentials: { accessKeyId: "AKFAKE", secretAccessKey: "SKFAKE?", sessionToken: null } },
        /SignatureDoesNotMatch; check AWS_ACCESS_KEY_ID/,
      ],
      [{ credentials: { accessKeyId: "AKOTHER", secretAccessKey: "SKFAKE", sessionToken: "t" } }, /InvalidAccessKeyId/],
      [{ region: "eu-test-2" }, /AuthorizationHeaderMalformed; check blobs.region/],
      [{ url: "s3://elsewhere" }, /NoSuchBucket; create the bucket elsewhere/],
    ];
    for (const [more, words] of wrong) {
      const { store } = await open(context, {}, more);
      await assert.rejects(store.get("a"), refused("storage_failed", words));
      await assert.rejects(store.put("a", bytes), refused("storage_failed", words));
    }
  });

  test("[B1] if the clock is wrong by minutes, requests use the server's", async (context) => {
    const { fake, store } = await open(context, { clockOffsetMs: -40 * 60_000 });
    await store.put("a", bytes);
    assert.deepEqual(await store.get("a"), bytes);
    assert.equal(fake.requests.length, 5, "the first of them was refused once");
  });

  test("[B1] a server that ignores the condition is refused: it would replace blobs", async (context) => {
    const { store } = await open(context, { conditional: false });
    await assert.rejects(store.put("a", bytes), refused("storage_failed", /If-None-Match/));
    await assert.rejects(store.put("a", bytes), refused("storage_failed", /If-None-Match/));
    assert.equal(await store.get("a"), null);
  });

  test("[B1] an object that another tool copied has no digest and is returned unchecked", async (context) => {
    const { fake, store } = await open(context);
    fake.objects.set("team/one/a", { bytes, meta: {} });
    assert.deepEqual(await store.get("a"), bytes);
  });
});

test("[B1] the address of a bucket, by path and by host, and invalid ones", () => {
  const given: S3LocationOptions = {
    url: "s3://team-blobs/a/b",
    endpoint: null,
    region: "eu-central-1",
    pathStyle: null,
  };
  const addressOf = (more: Partial<S3LocationOptions>): string => {
    const { address, prefix } = s3Location({ ...given, ...more });
    return `${address} ${prefix}`;
  };
  assert.equal(addressOf({}), "https://team-blobs.s3.eu-central-1.amazonaws.com a/b/");
  assert.equal(
    addressOf({ pathStyle: true, url: "s3://team-blobs/" }),
    "https://s3.eu-central-1.amazonaws.com/team-blobs ",
  );
  assert.equal(addressOf({ url: "s3://team.blobs/a/" }), "https://s3.eu-central-1.amazonaws.com/team.blobs a/");
  assert.equal(addressOf({ endpoint: "http://127.0.0.1:9000" }), "http://127.0.0.1:9000/team-blobs a/b/");
  assert.equal(
    addressOf({ endpoint: "https://s3.example.org/", pathStyle: false }),
    "https://team-blobs.s3.example.org a/b/",
  );
  const wrong: [Partial<typeof given & { endpoint: string; region: null }>, RegExp][] = [
    [{ url: "s3://" }, /blobs.url/],
    [{ url: "https://host/bucket" }, /blobs.url/],
    [{ url: "s3://Upper" }, /blobs.url: "Upper" is not a valid bucket name/],
    [{ url: "s3://ab/x" }, /blobs.url: "ab" is not a valid bucket name: 3 to 63/],
    [{ url: "s3://user:word@bucket" }, /blobs.url/],
    [{ url: "s3://bucket/../up" }, /prefix/],
    [{ url: "s3://bucket/a//b" }, /prefix/],
    [{ url: "s3://bucket/a b" }, /prefix/],
    [{ region: null }, /blobs.region/],
    [{ endpoint: "s3.example.org" }, /blobs.endpoint/],
    [{ endpoint: "ftp://s3.example.org" }, /blobs.endpoint/],
    [{ endpoint: "https://s3.example.org/path" }, /blobs.endpoint/],
    [{ endpoint: "https://key:secret@s3.example.org" }, /blobs.endpoint/],
  ];
  for (const [more, words] of wrong)
    assert.throws(() => s3Location({ ...given, ...more }), refused("config_invalid", words));
});

test("[B1] a page of a list is read whole or not at all", () => {
  const page = (inner: string): string =>
    `<?xml version="1.0"?>\n<ListBucketResult xmlns="x">${inner}</ListBucketResult>\n`;
  const entry = (key: string): string => `<Contents><Key>${key}</Key><Size>1</Size></Contents>`;
  const ended = "<IsTruncated>false</IsTruncated>";
  const more = "<IsTruncated>true</IsTruncated><NextContinuationToken>a&amp;&#x62;&#99;</NextContinuationToken>";
  assert.deepEqual(readListPage(page(ended)), { keys: [], next: null });
  assert.deepEqual(readListPage(page(entry("a") + ended + entry("b&lt;"))), { keys: ["a", "b<"], next: null });
  assert.deepEqual(readListPage(page(more + entry("a"))), { keys: ["a"], next: "a&bc" });
  const wrong = [
    "",
    "<html></html>",
    page(""),
    page(entry("a")),
    page("<IsTruncated>true</IsTruncated>"),
    page("<IsTruncated>true</IsTruncated><NextContinuationToken></NextContinuationToken>"),
    page("<IsTruncated>yes</IsTruncated>"),
    page(`${ended}${ended}`),
    page(`${ended}<Contents><Size>1</Size></Contents>`),
    page(`${ended}<Contents><Key>a</Key><Key>b</Key></Contents>`),
    page(`${ended}<Contents><Key>a</Key>`),
    page(`${ended}${entry("a&b")}`),
    page(`${ended}${entry("&unknown;")}`),
    page(`${ended}${entry("&#x110000;")}`),
    page(`<!--${ended}-->${ended}`),
    page(`${ended}<![CDATA[${entry("a")}]]>`),
    page(ended).replace("</ListBucketResult>", ""),
    `${page(ended)}<Error/>`,
  ];
  for (const xml of wrong) assert.equal(readListPage(xml), null, xml);
});
