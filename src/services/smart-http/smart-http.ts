import type { GitService } from "../../git/index.ts";

export interface SmartHttpRequest {
  /** Checked relative path of the repository. */
  readonly path: string;
  /** "", "version=1" or "version=2". */
  readonly gitProtocol: string;
  readonly signal: AbortSignal;
}

/** The four requests of git's smart HTTP protocol, whoever carries them: the gRPC service and the gateway call the same. */
export interface SmartHttp {
  /** Rejects before the first byte where the repository does not exist: `repository_not_found`. */
  infoRefs(service: GitService, request: SmartHttpRequest): Promise<AsyncIterable<Uint8Array>>;
  /** As `infoRefs`; resolves once the repository is found, before the body is read to its end. */
  uploadPack(request: SmartHttpRequest, body: AsyncIterable<Uint8Array>): Promise<AsyncIterable<Uint8Array>>;
  receivePack(request: SmartHttpRequest, body: AsyncIterable<Uint8Array>): Promise<AsyncIterable<Uint8Array>>;
  /** Resolves when what was pushed to the repository until now has been noted for the catalog, or failed to be. Never rejects. */
  noted(path: string): Promise<void>;
}
