import { fileURLToPath } from "node:url";
import { type Clock, CodedError, type Random } from "../base/index.ts";
import type { Metrics } from "../observability/index.ts";
import { openFilesystemStore } from "./filesystem.ts";
import { defaultManagedStoreOptions, ManagedStore, type ManagedStoreOptions } from "./managed-store.ts";
import type { ObjectStore } from "./object-store.ts";
import { openS3Store } from "./s3.ts";
import { parseS3Url } from "./s3-url.ts";

export interface OpenObjectStoreDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
}

/**
 * Opens the store a url names: `file:///DIR` or `s3://BUCKET/PREFIX?endpoint=…&region=…&forcePathStyle=true`. A bucket is not asked anything yet.
 * Errors: `bad_config`; for a directory `store_unavailable`.
 */
export async function openObjectStore(
  url: string,
  deps: OpenObjectStoreDeps,
  options: Partial<ManagedStoreOptions> = {},
): Promise<ObjectStore> {
  return new ManagedStore(await openDriver(url, deps), { ...defaultManagedStoreOptions, ...options }, deps);
}

async function openDriver(url: string, deps: OpenObjectStoreDeps): Promise<ObjectStore> {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.protocol === "s3:") return await openS3Store(parseS3Url(parsed));
  if (parsed?.protocol === "file:" && (parsed.host === "" || parsed.host === "localhost")) {
    return await openFilesystemStore({ directory: fileURLToPath(`file://${parsed.pathname}`) }, deps);
  }
  throw new CodedError("bad_config", "object_storage.url is neither file:///DIR nor s3://BUCKET/PREFIX", {
    key: "object_storage.url",
    url: redactStoreUrl(url),
  });
}

/** The url without user info, fit for logs, other nodes and people. */
export function redactStoreUrl(url: string): string {
  if (!URL.canParse(url)) return "(not a url)";
  const parsed = new URL(url);
  parsed.username = "";
  parsed.password = "";
  return parsed.href;
}
