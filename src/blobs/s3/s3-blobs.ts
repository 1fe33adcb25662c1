/**
 * Blobs in a bucket of S3, or of a server with the same protocol: the blob `turns/1/run.json` is the object
 * `<prefix>turns/1/run.json` (docs/formats/blobs.md).
 *
 * A put is conditional (`If-None-Match: *`), so that the server itself refuses to replace an object. A put whose response was
 * lost is repeated, and then finds its own bytes. Every request is signed with the digest of its body, which the server
 * checks. The digest is stored with the object, so that a get can check the bytes. s3-requests.ts sends the requests.
 */
import { createHash } from "node:crypto";
import { AptoveError } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import { blobExists, checkBlobKey, isBlobKey, type BlobStore } from "../blob-store.ts";
import { readListPage, type ListPage } from "./list-page.ts";
import { s3Location, type S3LocationOptions } from "./s3-location.ts";
import { S3Requests, type S3Response, type S3Credentials, type S3RetryPolicy } from "./s3-requests.ts";

export interface S3BlobsOptions extends S3LocationOptions {
  credentials: S3Credentials;
  /** Timeouts and retries that replace the defaults of the program. */
  retryPolicy?: Partial<S3RetryPolicy>;
}

/** The header with the SHA-256 in hex. An object without it, which a tool copied, is not checked. */
const digestHeader = "x-amz-meta-sha256";
/** The largest object: an incompressible blob of the largest size takes a little more than its content. */
const packedBytesMax = limits.blobBytesMax + 16_777_216;
/** An empty object beside the blobs, to test conditional writes. No key can begin with its name. */
const probe = "~conditional";
/** How often a put retries a key that other processes put and delete. */
const putAttemptsMax = 5;

/** Returns the store without sending a request, so errors of the server appear with the first use. Throws `config_invalid`. */
export function s3Blobs({ credentials, retryPolicy, ...location }: S3BlobsOptions): BlobStore {
  return new S3Blobs(s3Location(location).prefix, new S3Requests(s3Location(location), credentials, retryPolicy));
}

class S3Blobs implements BlobStore {
  readonly #prefix: string;
  readonly #requests: S3Requests;
  /** Resolves when the server has refused a second put. */
  #conditional: Promise<void> | null = null;

  constructor(prefix: string, requests: S3Requests) {
    this.#prefix = prefix;
    this.#requests = requests;
  }

  async put(key: string, bytes: Uint8Array): Promise<void> {
    checkBlobKey(key);
    const what = `the blob ${key} could not be written`;
    await (this.#conditional ??= this.#checkConditional(what));
    for (let attempt = 1; attempt <= putAttemptsMax; attempt += 1) {
      if (await this.#putNew(key, bytes, what)) return;
      const kept = await this.get(key);
      // Null means that the blob was deleted in the meantime.
      if (kept === null) continue;
      if (Buffer.compare(kept, bytes) !== 0) throw blobExists(key);
      return;
    }
    throw new AptoveError("storage_failed", `${what}: it is removed again at every attempt`);
  }

  /** Puts the object. Returns false if it exists. */
  async #putNew(name: string, bytes: Uint8Array, what: string): Promise<boolean> {
    const headers = { "if-none-match": "*", [digestHeader]: sha256(bytes) };
    const request = { method: "PUT", path: this.#prefix + name, headers, body: bytes, what };
    const { status } = await this.#requests.send({ ...request, accepts: [200, 412] });
    return status === 200;
  }

  /** Checks that the server honours the condition, because some ignore it and replace objects. The test object is put twice. */
  async #checkConditional(what: string): Promise<void> {
    try {
      const isNew = await this.#putNew(probe, new Uint8Array(), what);
      if (!isNew || !(await this.#putNew(probe, new Uint8Array(), what))) return;
      const fix = "use one with conditional writes";
      throw new AptoveError(
        "storage_failed",
        `${what}: the S3 server ignores If-None-Match and replaces objects; ${fix}`,
      );
    } catch (error) {
      // The next put checks again.
      this.#conditional = null;
      throw error;
    }
  }

  async get(key: string): Promise<Uint8Array | null> {
    checkBlobKey(key);
    const { status, bytes } = await this.#requests.send({
      method: "GET",
      path: this.#prefix + key,
      accepts: [200, 404],
      what: `the blob ${key} could not be read`,
      bytesMax: packedBytesMax,
      check: (answer) => (answer.status === 200 ? damageOf(key, answer) : null),
    });
    return status === 404 ? null : bytes;
  }

  async delete(key: string): Promise<void> {
    checkBlobKey(key);
    const what = `the blob ${key} could not be deleted`;
    await this.#requests.send({ method: "DELETE", path: this.#prefix + key, accepts: [200, 204, 404], what });
  }

  async list(prefix: string): Promise<string[]> {
    // No key begins with such a prefix.
    if (!canBegin(prefix)) return [];
    const keys: string[] = [];
    const asked = new Set<string>();
    for (let from: string | null = null; ;) {
      const { keys: found, next } = await this.#page(prefix, from);
      keys.push(...found.map((key) => key.slice(this.#prefix.length)).filter(isBlobKey));
      if (next === null) return keys;
      if (asked.has(next)) throw new AptoveError("storage_failed", `the list of ${prefix} has no end`);
      asked.add((from = next));
    }
  }

  async #page(prefix: string, from: string | null): Promise<ListPage> {
    const what = `the blobs of ${JSON.stringify(prefix)} could not be listed`;
    let page: ListPage | null = null;
    await this.#requests.send({
      method: "GET",
      path: "",
      query: { "list-type": "2", prefix: this.#prefix + prefix, ...(from !== null && { "continuation-token": from }) },
      accepts: [200],
      what,
      bytesMax: limits.s3ListBytesMax,
      check: ({ bytes }) => {
        page = readListPage(Buffer.from(bytes).toString("utf8"));
        return page === null ? new AptoveError("storage_failed", `${what}: the response is incomplete`) : null;
      },
    });
    return page ?? { keys: [], next: null };
  }

  async size(key: string): Promise<number | null> {
    checkBlobKey(key);
    const what = `the size of the blob ${key} could not be read`;
    const request = { method: "HEAD", path: this.#prefix + key, accepts: [200, 404], what };
    const { status, headers } = await this.#requests.send(request);
    return status === 404 ? null : Number(headers.get("content-length"));
  }
}

function damageOf(key: string, { headers, bytes }: S3Response): AptoveError | null {
  const kept = headers.get(digestHeader);
  if (kept === null || kept === sha256(bytes)) return null;
  return new AptoveError("blob_damaged", `${key}: its bytes are not those that were put`, { facts: { key } });
}

function canBegin(prefix: string): boolean {
  const folder = prefix.slice(0, Math.max(0, prefix.lastIndexOf("/")));
  const name = prefix.slice(folder === "" && !prefix.startsWith("/") ? 0 : folder.length + 1);
  if (prefix.startsWith("/") || !/^[a-z0-9._-]{0,200}$/.test(name)) return false;
  return folder === "" || isBlobKey(folder);
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
