import type { ServiceMap } from "../rpc/index.ts";
import { bootstrap } from "./cluster/bootstrap.ts";
import { databaseStatus } from "./cluster/database-status.ts";
import { getRepository } from "./cluster/get-repository.ts";
import { listMembers } from "./cluster/list-members.ts";
import { listRepositories } from "./cluster/list-repositories.ts";
import { route } from "./cluster/route.ts";
import { status } from "./cluster/status.ts";
import { watchRing } from "./cluster/watch-ring.ts";
import { findCommit } from "./commit/find-commit.ts";
import { findDefaultBranchName } from "./ref/find-default-branch-name.ts";
import { listRefs } from "./ref/list-refs.ts";
import { createRepository } from "./repository/create-repository.ts";
import { removeRepository } from "./repository/remove-repository.ts";
import { repositoryExists } from "./repository/repository-exists.ts";
import { repositorySize } from "./repository/repository-size.ts";
import { diskStatistics } from "./server/disk-statistics.ts";
import { readinessCheck } from "./server/readiness-check.ts";
import { serverInfo } from "./server/server-info.ts";
import type { ServicesDeps } from "./services-deps.ts";
import { infoRefsReceivePack } from "./smart-http/info-refs-receive-pack.ts";
import { infoRefsUploadPack } from "./smart-http/info-refs-upload-pack.ts";
import { postReceivePack } from "./smart-http/post-receive-pack.ts";
import { postUploadPack } from "./smart-http/post-upload-pack.ts";

/** Every service of a node but health and reflection. */
export function createServices(deps: ServicesDeps): ServiceMap {
  return {
    "gitaly.ServerService": {
      ServerInfo: serverInfo(deps),
      DiskStatistics: diskStatistics(deps),
      ReadinessCheck: readinessCheck(deps),
    },
    "gitaly.RepositoryService": {
      CreateRepository: createRepository(deps),
      RepositoryExists: repositoryExists(deps),
      RemoveRepository: removeRepository(deps),
      RepositorySize: repositorySize(deps),
    },
    "gitaly.RefService": {
      FindDefaultBranchName: findDefaultBranchName(deps),
      ListRefs: listRefs(deps),
    },
    "gitaly.CommitService": {
      FindCommit: findCommit(deps),
    },
    "gitaly.SmartHTTPService": {
      InfoRefsUploadPack: infoRefsUploadPack(deps),
      InfoRefsReceivePack: infoRefsReceivePack(deps),
      PostUploadPack: postUploadPack(deps),
      PostReceivePack: postReceivePack(deps),
    },
    "gitaly_gossip.v1.ClusterService": {
      Bootstrap: bootstrap(deps),
      ListMembers: listMembers(deps),
      Route: route(deps),
      Status: status(deps),
      DatabaseStatus: databaseStatus(deps),
      ListRepositories: listRepositories(deps),
      GetRepository: getRepository(deps),
      WatchRing: watchRing(deps),
    },
  };
}
