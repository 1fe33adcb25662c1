/** Parses the address of a prefix in a bucket: `s3://bucket` or `s3://bucket/some/prefix`. */

export interface S3Url {
  bucket: string;
  /** The text before every key. It is empty or ends with `/`. */
  prefix: string;
}

const bucketPattern = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const prefixPattern = /^(?:[A-Za-z0-9_-][A-Za-z0-9._-]*\/)*$/;

/** Returns the bucket and the prefix, or the fault of the address. The fault contains no part of the address that may be a secret. */
export function readS3Url(url: string): S3Url | { fault: string } {
  const [, bucket, path = ""] = /^s3:\/\/([^/?#@:]+)\/?([^?#]*)$/.exec(url) ?? [];
  if (bucket === undefined) return { fault: "the address must be s3://<bucket>/<prefix>" };
  if (!bucketPattern.test(bucket)) {
    const form = "3 to 63 small letters, digits, dots and hyphens, with a letter or digit at both ends";
    return { fault: `${JSON.stringify(bucket)} is not a valid bucket name: ${form}` };
  }
  const prefix = path === "" || path.endsWith("/") ? path : `${path}/`;
  if (prefix.length <= 200 && prefixPattern.test(prefix)) return { bucket, prefix };
  return { fault: "a prefix may have names of letters, digits and ._- with / between them, at most 200 characters" };
}
