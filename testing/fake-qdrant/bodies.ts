/**
 * The requests that the fake accepts: exactly those that the driver sends, field by field. Each form is compared with the
 * types that the client generates from Qdrant's own OpenAPI, so a field that the server does not have does not compile.
 */
import type { Schemas } from "@qdrant/js-client-rest";
import * as z from "zod";

const pointId = z.uuid();
const collectionName = z.string().regex(/^[^<>:"/\\|?*\0]{1,255}$/);

const matching = z.strictObject({
  key: z.string(),
  match: z.union([
    z.strictObject({ value: z.union([z.string(), z.int()]) }),
    z.strictObject({ any: z.union([z.array(z.string()).min(1), z.array(z.int()).min(1)]) }),
  ]),
});
const ranged = z.strictObject({
  key: z.string(),
  range: z.strictObject({ lte: z.number().exactOptional(), gt: z.number().exactOptional() }),
});
const ofIds = z.strictObject({ has_id: z.array(pointId).min(1) });
const plain = z.union([matching, ranged, ofIds]);
const anyOf = z.strictObject({ should: z.array(plain).min(1) });
const condition = z.union([plain, anyOf]);
export type FakeCondition = z.output<typeof condition>;
const allOf = z.strictObject({
  must: z.array(condition).exactOptional(),
  must_not: z.array(condition).exactOptional(),
});
/** Several indexes are searched with one filter for each. */
const filter = z.union([allOf, z.strictObject({ should: z.array(allOf).min(1) })]);
export type FakeFilter = z.output<typeof filter>;

const document = z.strictObject({
  text: z.string(),
  model: z.literal("qdrant/bm25"),
  // The fake supports no other option of the server's tokenizer.
  options: z.strictObject({
    tokenizer: z.literal("whitespace"),
    lowercase: z.literal(false),
    stemmer: z.strictObject({ type: z.literal("none") }),
    stopwords: z.strictObject({ languages: z.array(z.never()), custom: z.array(z.never()) }),
  }),
});
export type FakeDocument = z.output<typeof document>;
const dense = z.array(z.number()).min(1);
const payload = z.record(z.string(), z.unknown());

const createCollection = z.strictObject({
  vectors: z.record(z.string(), z.strictObject({ size: z.int().min(1).max(65_536), distance: z.literal("Cosine") })),
  sparse_vectors: z.record(z.string(), z.strictObject({ modifier: z.literal("idf") })).exactOptional(),
}) satisfies z.ZodType<Schemas["CreateCollection"]>;
const createIndex = z.strictObject({
  field_name: z.string(),
  field_schema: z.union([
    z.strictObject({ type: z.literal("keyword"), is_tenant: z.literal(true).exactOptional() }),
    z.strictObject({ type: z.literal("integer"), lookup: z.literal(true), range: z.literal(true) }),
  ]),
}) satisfies z.ZodType<Schemas["CreateFieldIndex"]>;
const upsert = z.strictObject({
  points: z
    .array(z.strictObject({ id: pointId, vector: z.record(z.string(), z.union([dense, document])), payload }))
    .min(1),
  update_mode: z.literal("insert_only").exactOptional(),
}) satisfies z.ZodType<Schemas["PointsList"]>;
const retrieve = z.strictObject({
  ids: z.array(pointId).min(1),
  with_payload: z.boolean(),
  with_vector: z.array(z.string()).exactOptional(),
}) satisfies z.ZodType<Schemas["PointRequest"]>;
const remove = z.union([
  z.strictObject({ filter }),
  z.strictObject({ points: z.array(pointId).min(1) }),
]) satisfies z.ZodType<Schemas["PointsSelector"]>;
const changePayload = z.strictObject({ payload, filter }) satisfies z.ZodType<Schemas["SetPayload"]>;
const scroll = z.strictObject({
  filter,
  limit: z.int().min(1),
  with_payload: z.literal(true),
  with_vector: z.literal(false),
  offset: pointId.exactOptional(),
}) satisfies z.ZodType<Schemas["ScrollRequest"]>;
const ranking = {
  filter,
  limit: z.int().min(1),
  with_payload: z.union([z.literal(false), z.array(z.string()).min(1)]),
};
const byWords = z.strictObject({
  ...ranking,
  query: z.strictObject({ nearest: document }),
  using: z.string(),
  params: z.strictObject({ idf: z.strictObject({ corpus: filter }) }),
});
const byVector = z.strictObject({
  ...ranking,
  query: z.strictObject({ nearest: dense }),
  using: z.string(),
  score_threshold: z.number(),
});
const search = z.union([byWords, byVector]) satisfies z.ZodType<Schemas["QueryRequest"]>;
export type FakeSearch = z.output<typeof search>;
const query = z.strictObject({ searches: z.array(search).min(1) }) satisfies z.ZodType<Schemas["QueryRequestBatch"]>;

export const bodies = { createCollection, createIndex, upsert, retrieve, remove, changePayload, scroll, query };
export { collectionName };
export type Bodies = { [Name in keyof typeof bodies]: z.output<(typeof bodies)[Name]> };
