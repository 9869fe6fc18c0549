import type { FindDefaultBranchNameRequest__Output } from "../../src/proto/gen/gitaly/FindDefaultBranchNameRequest.ts";
import type { ListRefsRequest__Output } from "../../src/proto/gen/gitaly/ListRefsRequest.ts";
import type { PostReceivePackRequest__Output } from "../../src/proto/gen/gitaly/PostReceivePackRequest.ts";
import type { PostUploadPackRequest__Output } from "../../src/proto/gen/gitaly/PostUploadPackRequest.ts";
import type { CallContext, ServiceMap } from "../../src/rpc/index.ts";

/** Services that answer with the node's name, echo, count, and stream: enough to see where a call went and how it ended. */
export function toyServices(name: string): ServiceMap {
  return {
    "gitaly.RepositoryService": {
      RepositoryExists: async () => ({ exists: true }),
      CreateRepository: async () => ({}),
    },
    "gitaly.RefService": {
      FindDefaultBranchName: async (_request: FindDefaultBranchNameRequest__Output) => ({ name: Buffer.from(name) }),
      // The first pattern says how many messages; each has 1,000 references.
      ListRefs: async function* (request: ListRefsRequest__Output) {
        const count = Number(request.patterns[0]?.toString() ?? 1);
        for (let i = 0; i < count; i++) yield { references: references(i) };
      },
    },
    "gitaly.SmartHTTPService": {
      PostUploadPack: async function* (requests: AsyncIterable<PostUploadPackRequest__Output>, _call: CallContext) {
        for await (const { data } of requests) if (data.length > 0) yield { data };
      },
      // Answers with the number of bytes once all are there.
      PostReceivePack: async function* (requests: AsyncIterable<PostReceivePackRequest__Output>) {
        let size = 0;
        for await (const { data } of requests) size += data.length;
        yield { data: Buffer.from(`${name} ${size}`) };
      },
    },
    "gitaly.ServerService": {
      ServerInfo: async () => ({ serverVersion: name }),
    },
  };
}

function references(batch: number): object[] {
  return Array.from({ length: 1000 }, (_, i) => ({
    name: Buffer.from(`refs/heads/topic-${batch}-${i}`),
    target: "0123456789012345678901234567890123456789",
  }));
}
