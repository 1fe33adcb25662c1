/**
 * Requests to an S3 server: signed, with timeouts, and retried if that can help. The result is a response that the caller
 * accepts, or an AptoveError that names what failed and what the server reported.
 */
import { createHash } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { AwsV4Signer } from "aws4fetch";
import { AptoveError } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import type { S3Location } from "./s3-location.ts";

export interface S3Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  /** The token of temporary credentials. */
  sessionToken: string | null;
}

export interface S3RetryPolicy {
  /** The maximum number of attempts of one request, the first included. */
  attemptsMax: number;
  /** The longest pause before the second attempt, in milliseconds. It doubles for each further one. Pauses are random, half of it on average. */
  backoffMs: number;
  backoffMaxMs: number;
  /** The timeout for the start of a response, and for its body, in milliseconds; more for large bodies. */
  answerMs: number;
}

export interface S3Request {
  method: string;
  /** The path below the bucket, without a `/` before it. It has only characters of keys. */
  path: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: Uint8Array;
  /** The status codes that are results. All others are errors. */
  accepts: readonly number[];
  /** What failed, as the beginning of the error message. */
  what: string;
  /** The longest body of a response, in bytes. */
  bytesMax?: number;
  /** Returns what is wrong with an accepted response, which is then requested again. Null: nothing. */
  check?(answer: S3Response): AptoveError | null;
}

export interface S3Response {
  status: number;
  headers: Headers;
  bytes: Uint8Array;
}

/** The result of one attempt: a response, or the error and whether another attempt may help. */
type S3Attempt = { answer: S3Response } | { error: AptoveError; mayRetry: boolean; afterMs?: number };

const errorBytesMax = 65_536;

export class S3Requests {
  readonly #location: S3Location;
  readonly #credentials: S3Credentials;
  readonly #retryPolicy: S3RetryPolicy;
  /** The keys that the signer derives once a day. */
  readonly #cache = new Map<string, ArrayBuffer>();
  /** How far the server's clock is ahead of ours, in milliseconds. */
  #clockOffsetMs = 0;

  constructor(location: S3Location, credentials: S3Credentials, retryPolicy: Partial<S3RetryPolicy> = {}) {
    this.#location = location;
    this.#credentials = credentials;
    this.#retryPolicy = {
      attemptsMax: limits.s3AttemptsMax,
      backoffMs: limits.s3BackoffMs,
      backoffMaxMs: limits.s3BackoffMaxMs,
      answerMs: limits.s3AnswerMs,
      ...retryPolicy,
    };
  }

  /** Sends the request. Throws `storage_full`, `storage_failed`, `blobs_unavailable` if the server stays away, or the error of `check` if the last attempt ends with it. */
  async send(request: S3Request): Promise<S3Response> {
    const { attemptsMax, backoffMs, backoffMaxMs } = this.#retryPolicy;
    for (let attempt = 1; ; attempt += 1) {
      const tried = await this.#try(request);
      if ("answer" in tried) return tried.answer;
      if (!tried.mayRetry || attempt >= attemptsMax) throw tried.error;
      const longest = Math.min(backoffMaxMs, backoffMs * 2 ** (attempt - 1));
      await pause(tried.afterMs ?? Math.random() * longest);
    }
  }

  async #try(request: S3Request): Promise<S3Attempt> {
    const { accepts, what, check } = request;
    let answer: S3Response;
    try {
      answer = await this.#exchange(request);
    } catch (cause) {
      if (cause instanceof AptoveError) return { error: cause, mayRetry: false };
      return { error: unavailable(`${what}: ${reasonOf(cause)}`, { cause }), mayRetry: true };
    }
    const code = answer.status < 300 ? "" : codeIn(answer.bytes);
    if (!accepts.includes(answer.status) || code === "NoSuchBucket") return this.#refused(request, answer, code);
    const error = check?.(answer) ?? null;
    return error === null ? { answer } : { error, mayRetry: true };
  }

  #refused({ what }: S3Request, { status, headers }: S3Response, code: string): S3Attempt {
    if (code === "RequestTimeTooSkewed") return this.#setClock(what, headers);
    const afterSeconds = Number(headers.get("retry-after")) || 0;
    const detail = `${what}: S3 responded with ${status} ${code}`.trimEnd();
    if (status === 507 || fullCodes.has(code)) {
      return { error: new AptoveError("storage_full", detail), mayRetry: false };
    }
    if (awayStatuses.has(status)) {
      const afterMs = Math.min(afterSeconds * 1_000, this.#retryPolicy.backoffMaxMs);
      return { error: unavailable(detail, { afterSeconds }), mayRetry: true, ...(afterMs > 0 && { afterMs }) };
    }
    const fix = fixes[code]?.replace("<bucket>", this.#location.bucket);
    const error = new AptoveError("storage_failed", fix === undefined ? detail : `${detail}; ${fix}`);
    return { error, mayRetry: status === conflictStatus || retriedCodes.has(code) };
  }

  /** Sets our clock to the server's. A signature is valid for some minutes, and the clocks differ by more. */
  #setClock(what: string, headers: Headers): S3Attempt {
    const theirs = Date.parse(headers.get("date") ?? "");
    const error = new AptoveError("storage_failed", `${what}: this machine's clock differs from the S3 server's`);
    if (Number.isNaN(theirs)) return { error, mayRetry: false };
    this.#clockOffsetMs = theirs - Date.now();
    return { error, mayRetry: true, afterMs: 1 };
  }

  async #exchange(request: S3Request): Promise<S3Response> {
    const limit = timeLimit(this.#retryPolicy.answerMs);
    try {
      limit.allow(request.body?.length ?? 0);
      const response = await fetch(await this.#signed(request), { redirect: "manual", signal: limit.signal });
      limit.allow(Number(response.headers.get("content-length")));
      const bytesMax = response.ok ? (request.bytesMax ?? errorBytesMax) : errorBytesMax;
      return { status: response.status, headers: response.headers, bytes: await readBody(response, bytesMax) };
    } catch (error) {
      throw limit.signal.aborted ? limit.signal.reason : error;
    } finally {
      limit.end();
    }
  }

  async #signed({ method, path, query = {}, headers, body }: S3Request): Promise<Request> {
    const { address, region } = this.#location;
    const { sessionToken, ...credentials } = this.#credentials;
    const digest = createHash("sha256")
      .update(body ?? "")
      .digest("hex");
    const signer = new AwsV4Signer({
      method,
      url: `${address}/${path}${Object.keys(query).length === 0 ? "" : `?${new URLSearchParams(query)}`}`,
      // The server refuses a body with another digest.
      headers: { ...headers, "x-amz-content-sha256": digest },
      service: "s3",
      region,
      ...credentials,
      ...(sessionToken !== null && { sessionToken }),
      cache: this.#cache,
      datetime: new Date(Date.now() + this.#clockOffsetMs).toISOString().replace(/[:-]|\.\d{3}/g, ""),
    });
    const signed = await signer.sign();
    return new Request(signed.url, {
      method,
      headers: signed.headers,
      ...(body !== undefined && { body: body as Uint8Array<ArrayBuffer> }),
    });
  }
}

/** Returns a signal that aborts if no response arrives in time, or if bytes arrive more slowly than over any usable network. */
function timeLimit(answerMs: number) {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  return {
    signal: controller.signal,
    /** Restarts the timeout, with the time that this many bytes may take. */
    allow(bytes: number): void {
      clearTimeout(timer);
      const ms = answerMs + (1_000 * bytes) / limits.s3BytesPerSecondMin;
      timer = setTimeout(() => controller.abort(new Error(`no response within ${Math.round(ms)} ms`)), ms);
    },
    end: () => clearTimeout(timer),
  };
}

/** Returns the error of a server that stayed away for as long as a request is repeated. */
function unavailable(
  detail: string,
  { afterSeconds = 0, cause }: { afterSeconds?: number; cause?: unknown },
): AptoveError {
  const retryAfterSeconds = Math.max(Math.ceil(afterSeconds), limits.s3BackoffMaxMs / 1_000);
  return new AptoveError("blobs_unavailable", detail, { facts: { retryAfterSeconds }, cause });
}

async function readBody(response: Response, bytesMax: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of response.body ?? []) {
    length += part.length;
    if (length > bytesMax) throw new AptoveError("storage_failed", `S3 responded with more than ${bytesMax} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** Returns the reason of a failed request. The error of `fetch` does not contain it; its cause does. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message || cause.name : String(cause);
}

/** Returns the code of an S3 error. Its message is left out, because it may repeat what was signed. */
function codeIn(bytes: Uint8Array): string {
  return /<Code>([A-Za-z0-9.]{1,80})<\/Code>/.exec(Buffer.from(bytes).toString("latin1"))?.[1] ?? "";
}

const fullCodes = new Set(["QuotaExceeded", "InsufficientStorage", "XMinioStorageFull"]);
/** Answers of a server, or of a proxy before it, that cannot do now what it can do later. */
const awayStatuses = new Set([408, 429, 500, 502, 503, 504]);
/** The answer to one of two writes of a key at the same time. */
const conflictStatus = 409;
/** Codes for a body that arrived late, cut off or changed. */
const retriedCodes = new Set(["RequestTimeout", "IncompleteBody", "BadDigest", "XAmzContentSHA256Mismatch"]);

const checkKeys = "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN";
const checkRegion = "check blobs.region and blobs.endpoint";
const fixes: Readonly<Record<string, string>> = {
  NoSuchBucket: "create the bucket <bucket>, or name another in blobs.url",
  AccessDenied: "the key needs s3:GetObject, s3:PutObject, s3:DeleteObject and s3:ListBucket in the bucket <bucket>",
  InvalidAccessKeyId: checkKeys,
  SignatureDoesNotMatch: checkKeys,
  ExpiredToken: checkKeys,
  InvalidToken: checkKeys,
  PermanentRedirect: checkRegion,
  AuthorizationHeaderMalformed: checkRegion,
  NotImplemented: "use a server with conditional writes (If-None-Match)",
};
