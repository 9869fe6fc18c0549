import type * as grpc from '@grpc/grpc-js';
import type { MessageTypeDefinition } from '@grpc/proto-loader';

import type { RedirectError as _gitaly_gossip_v1_RedirectError, RedirectError__Output as _gitaly_gossip_v1_RedirectError__Output } from './gitaly_gossip/v1/RedirectError.ts';

type SubtypeConstructor<Constructor extends new (...args: any) => any, Subtype> = {
  new(...args: ConstructorParameters<Constructor>): Subtype;
};

export interface ProtoGrpcType {
  gitaly_gossip: {
    v1: {
      RedirectError: MessageTypeDefinition<_gitaly_gossip_v1_RedirectError, _gitaly_gossip_v1_RedirectError__Output>
    }
  }
}

