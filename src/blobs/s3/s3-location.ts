/** The location of a bucket: from `s3://bucket/prefix` and the address of the server to the address of a blob. */
import { AptoveError } from "../../domain/errors.ts";
import { readS3Url } from "../../system/addresses/s3-url.ts";

export interface S3LocationOptions {
  /** The bucket and prefix: `s3://bucket` or `s3://bucket/some/prefix`. */
  url: string;
  /** The address of the server, for example `https://s3.example.org`. Null: Amazon's, of the region. */
  endpoint: string | null;
  /** The region. Null: `us-east-1`; Amazon's servers need a region. */
  region: string | null;
  /** True if the bucket is part of the path, false if it is part of the host name. Null: part of the path, except at Amazon. */
  pathStyle: boolean | null;
}

export interface S3Location {
  bucket: string;
  region: string;
  /** The text before every key: empty, or ending with `/`. */
  prefix: string;
  /** The address of the bucket, without a `/` at the end. */
  address: string;
}

/** Returns the location. Throws `config_invalid`, naming the key of `[blobs]` that is wrong. */
export function s3Location({ url, endpoint, region, pathStyle }: S3LocationOptions): S3Location {
  const address = readS3Url(url);
  if ("fault" in address) throw invalid(`blobs.url: ${address.fault}`);
  const { bucket, prefix } = address;
  if (endpoint === null && region === null) throw invalid("blobs.region is missing, for example eu-central-1");
  const server = serverAt(endpoint ?? `https://s3.${region}.amazonaws.com`);
  // A wildcard certificate does not cover a host name with more dots.
  const isInPath = pathStyle ?? (endpoint !== null || bucket.includes("."));
  const root = isInPath ? `${server.origin}/${bucket}` : `${server.protocol}//${bucket}.${server.host}`;
  return { bucket, region: region ?? "us-east-1", prefix, address: root };
}

function serverAt(endpoint: string): URL {
  const server = URL.parse(endpoint);
  const isServer = server !== null && ["http:", "https:"].includes(server.protocol) && server.pathname === "/";
  if (isServer && server.username === "" && server.search === "" && server.hash === "") return server;
  throw invalid("blobs.endpoint must be the address of a server, for example https://s3.example.org");
}

function invalid(detail: string): AptoveError {
  return new AptoveError("config_invalid", detail);
}
