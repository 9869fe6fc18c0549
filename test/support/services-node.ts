import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { pathToFileURL } from "node:url";
import { createGunzip } from "node:zlib";
import { type Clock, CodedError, neverAborted, systemClock, systemRandom } from "../../src/base/index.ts";
import { createRepositoryCache } from "../../src/cache/index.ts";
import type { Catalog, CatalogEntry } from "../../src/catalog/index.ts";
import { createGit, type GitService } from "../../src/git/index.ts";
import { noMetrics, silentLogger } from "../../src/observability/index.ts";
import { createSmartHttp, type ServicesDeps, type SmartHttp } from "../../src/services/index.ts";
import { createRepositoryStorage, openObjectStore, type RepositoryStorage } from "../../src/storage/index.ts";
import { ServicesFixture } from "./services-fixture.ts";

/** One node's real storage, cache and git below the services; only the catalog and the cluster are stand-ins. */
export interface ServicesNode extends AsyncDisposable {
  readonly deps: ServicesDeps;
  readonly smartHttp: SmartHttp;
  readonly storage: RepositoryStorage;
  readonly cacheDir: string;
  /** What the catalog was told. */
  readonly recorded: readonly CatalogEntry[];
  /** Root of a plain HTTP front for stock git. */
  readonly url: string;
}

const shared = { clock: systemClock, random: systemRandom, logger: silentLogger, metrics: noMetrics };

/** Starts a node on the object store in `dir/objects`, which nodes may share, with a cache of its own. */
export async function startServicesNode(
  dir: string,
  name = "n1",
  change: { storage?: (storage: RepositoryStorage) => RepositoryStorage; clock?: Clock } = {},
): Promise<ServicesNode> {
  const store = await openObjectStore(pathToFileURL(join(dir, "objects")).href, shared);
  const probed = createRepositoryStorage({ writer: name }, { ...shared, store });
  await probed.probe(neverAborted);
  const storage = change.storage?.(probed) ?? probed;
  const cacheDir = join(dir, `cache-${name}`);
  const cache = await createRepositoryCache({ dir: cacheDir, minFreeBytes: 0 }, { ...shared, clock: change.clock ?? systemClock, storage });
  const git = await createGit({}, shared);
  const fixture = new ServicesFixture();
  const catalog: Catalog = fixture.deps.catalog;
  const smartHttp = createSmartHttp({ ...shared, storage, cache, git, catalog });
  const deps: ServicesDeps = { ...fixture.deps, storage, cache, git, smartHttp, cacheDir };
  const front = await startFront(smartHttp);
  return {
    deps,
    smartHttp,
    storage,
    cacheDir,
    recorded: fixture.recorded,
    url: front.url,
    [Symbol.asyncDispose]: async () => {
      await front[Symbol.asyncDispose]();
      await smartHttp[Symbol.asyncDispose]();
      await git[Symbol.asyncDispose]();
      await cache[Symbol.asyncDispose]();
      await probed[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

/** The least that stock git needs: the four requests, errors as text. */
async function startFront(smartHttp: SmartHttp): Promise<{ url: string } & AsyncDisposable> {
  const server = createServer((request, response) => {
    const controller = new AbortController();
    response.on("close", () => controller.abort(new CodedError("cancelled", "the client went away")));
    const url = new URL(request.url ?? "/", "http://front");
    const [, path = "", action = ""] =
      /^\/(.+)\/(info\/refs|git-upload-pack|git-receive-pack)$/.exec(decodeURIComponent(url.pathname)) ?? [];
    const service = (action === "info/refs" ? url.searchParams.get("service") : action) as GitService;
    const asked = { path, gitProtocol: String(request.headers["git-protocol"] ?? ""), signal: controller.signal };
    const body = request.headers["content-encoding"] === "gzip" ? request.pipe(createGunzip()) : request;
    const answer = async (): Promise<void> => {
      const chunks =
        action === "info/refs"
          ? await smartHttp.infoRefs(service, asked)
          : await (service === "git-upload-pack" ? smartHttp.uploadPack(asked, body) : smartHttp.receivePack(asked, body));
      const kind = action === "info/refs" ? "advertisement" : "result";
      response.writeHead(200, { "content-type": `application/x-${service}-${kind}`, "cache-control": "no-cache" });
      await pipeline(Readable.from(chunks, { objectMode: true, highWaterMark: 1 }), response);
    };
    answer().catch((error: unknown) => {
      if (response.headersSent) {
        response.destroy();
        return;
      }
      response.writeHead(CodedError.is(error, "repository_not_found") ? 404 : 500).end(`${error}\n`);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
