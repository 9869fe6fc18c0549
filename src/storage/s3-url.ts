import { CodedError } from "../base/index.ts";

/** What an `s3://` url says. */
export interface S3Location {
  readonly bucket: string;
  /** "" or a key prefix that ends in "/". */
  readonly prefix: string;
  readonly endpoint: string | undefined;
  readonly region: string | undefined;
  /** Default: true with an endpoint, false without. */
  readonly forcePathStyle: boolean;
  /** From the url's user info; undefined means "as the AWS SDK finds them". */
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string } | undefined;
}

/**
 * Reads `s3://BUCKET/PREFIX?endpoint=…&region=…&forcePathStyle=true`; `s3://KEY:SECRET@BUCKET` carries credentials.
 * Errors: `bad_config`, without the url's secrets.
 */
export function parseS3Url(url: URL): S3Location {
  const bucket = url.hostname;
  if (!/^[a-z0-9][a-z0-9.-]{1,62}$/.test(bucket)) throw badUrl("object_storage.url names no bucket (s3://BUCKET/PREFIX)");
  const path = url.pathname.replace(/^\/+|\/+$/g, "");
  if (!/^(?:[A-Za-z0-9_-][A-Za-z0-9._-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*)?$/.test(path) || path.length > 100) {
    throw badUrl("object_storage.url has a prefix with characters other than A-Z a-z 0-9 . _ - /, or one longer than 100");
  }
  for (const name of url.searchParams.keys()) {
    if (!["endpoint", "region", "forcePathStyle"].includes(name)) throw badUrl("object_storage.url has an unknown parameter", { name });
  }
  const endpoint = url.searchParams.get("endpoint") ?? undefined;
  if (endpoint !== undefined && !isEndpoint(endpoint)) throw badUrl("object_storage.url has an endpoint that is no http or https url");
  const style = url.searchParams.get("forcePathStyle") ?? String(endpoint !== undefined);
  if (style !== "true" && style !== "false") throw badUrl("object_storage.url: forcePathStyle is true or false");
  if ((url.username === "") !== (url.password === "")) throw badUrl("object_storage.url has only half of its credentials");
  return {
    bucket,
    prefix: path === "" ? "" : `${path}/`,
    endpoint,
    region: url.searchParams.get("region") ?? undefined,
    forcePathStyle: style === "true",
    credentials: url.username === "" ? undefined : { accessKeyId: decode(url.username), secretAccessKey: decode(url.password) },
  };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw badUrl("object_storage.url has credentials with a malformed % escape");
  }
}

function isEndpoint(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return (protocol === "http:" || protocol === "https:") && username === "" && password === "";
}

function badUrl(message: string, fields: Record<string, unknown> = {}): CodedError {
  return new CodedError("bad_config", message, { key: "object_storage.url", ...fields });
}
