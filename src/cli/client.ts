import type { CreateRepositoryRequest } from "../proto/gen/gitaly/CreateRepositoryRequest.ts";
import type { RemoveRepositoryRequest } from "../proto/gen/gitaly/RemoveRepositoryRequest.ts";
import type { DatabaseStatusRequest } from "../proto/gen/gitaly_gossip/v1/DatabaseStatusRequest.ts";
import type { DatabaseStatusResponse__Output } from "../proto/gen/gitaly_gossip/v1/DatabaseStatusResponse.ts";
import type { GetRepositoryRequest } from "../proto/gen/gitaly_gossip/v1/GetRepositoryRequest.ts";
import type { GetRepositoryResponse__Output } from "../proto/gen/gitaly_gossip/v1/GetRepositoryResponse.ts";
import type { ListMembersRequest } from "../proto/gen/gitaly_gossip/v1/ListMembersRequest.ts";
import type { ListMembersResponse__Output } from "../proto/gen/gitaly_gossip/v1/ListMembersResponse.ts";
import type { ListRepositoriesRequest } from "../proto/gen/gitaly_gossip/v1/ListRepositoriesRequest.ts";
import type { ListRepositoriesResponse__Output } from "../proto/gen/gitaly_gossip/v1/ListRepositoriesResponse.ts";
import type { RouteRequest } from "../proto/gen/gitaly_gossip/v1/RouteRequest.ts";
import type { RouteResponse__Output } from "../proto/gen/gitaly_gossip/v1/RouteResponse.ts";
import type { StatusRequest } from "../proto/gen/gitaly_gossip/v1/StatusRequest.ts";
import type { StatusResponse__Output } from "../proto/gen/gitaly_gossip/v1/StatusResponse.ts";

interface CallOptions {
  readonly signal: AbortSignal;
}

/** The calls that the commands make. */
export interface CliClient extends AsyncDisposable {
  readonly cluster: {
    listMembers(request: ListMembersRequest, options: CallOptions): Promise<ListMembersResponse__Output>;
    route(request: RouteRequest, options: CallOptions): Promise<RouteResponse__Output>;
    databaseStatus(request: DatabaseStatusRequest, options: CallOptions): Promise<DatabaseStatusResponse__Output>;
    status(request: StatusRequest, options: CallOptions): Promise<StatusResponse__Output>;
    getRepository(request: GetRepositoryRequest, options: CallOptions): Promise<GetRepositoryResponse__Output>;
    listRepositories(request: ListRepositoriesRequest, options: CallOptions): AsyncIterable<ListRepositoriesResponse__Output>;
  };
  readonly repository: {
    createRepository(request: CreateRepositoryRequest, options: CallOptions): Promise<unknown>;
    removeRepository(request: RemoveRepositoryRequest, options: CallOptions): Promise<unknown>;
  };
}

/** Opens a client for the node at `grpc://HOST:PORT`. */
export type Connect = (address: string) => CliClient;
