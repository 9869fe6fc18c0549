import { CodedError } from "../base/index.ts";
import type { Logger } from "../observability/index.ts";
import type { Generation } from "./generation.ts";
import type { GenerationReader } from "./generation-reader.ts";
import { repositoriesPrefix } from "./keys.ts";
import type { ObjectStore } from "./object-store.ts";

const parallel = 16;

/** Paths of all repositories whose newest generation is live. A damaged record is logged and left out. */
export async function* listPaths(
  deps: { store: ObjectStore; reader: GenerationReader; logger: Logger },
  signal: AbortSignal,
): AsyncGenerator<string> {
  let startAfter: string | undefined;
  do {
    const page = await deps.store.list(
      { prefix: repositoriesPrefix, delimiter: "/", ...(startAfter === undefined ? {} : { startAfter }) },
      signal,
    );
    for (let at = 0; at < page.prefixes.length; at += parallel) {
      const names = page.prefixes.slice(at, at + parallel).map((prefix) => prefix.slice(repositoriesPrefix.length, -1));
      const found = await Promise.all(names.map((name) => readNewest(deps, name, signal)));
      for (const generation of found) if (generation?.state === "live") yield generation.path;
    }
    startAfter = page.next;
  } while (startAfter !== undefined);
}

async function readNewest(
  { reader, logger }: { reader: GenerationReader; logger: Logger },
  encodedPath: string,
  signal: AbortSignal,
): Promise<Generation | undefined> {
  try {
    return await reader.newestOfEncoded(encodedPath, signal);
  } catch (error) {
    if (!CodedError.is(error, "corrupt")) throw error;
    logger.error("a repository is left out of a listing: its newest record is damaged", { key: encodedPath, error });
    return undefined;
  }
}
