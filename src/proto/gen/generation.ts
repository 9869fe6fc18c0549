import type * as grpc from '@grpc/grpc-js';
import type { MessageTypeDefinition } from '@grpc/proto-loader';

import type { Artifact as _gitaly_gossip_v1_Artifact, Artifact__Output as _gitaly_gossip_v1_Artifact__Output } from './gitaly_gossip/v1/Artifact.ts';
import type { Generation as _gitaly_gossip_v1_Generation, Generation__Output as _gitaly_gossip_v1_Generation__Output } from './gitaly_gossip/v1/Generation.ts';
import type { Pack as _gitaly_gossip_v1_Pack, Pack__Output as _gitaly_gossip_v1_Pack__Output } from './gitaly_gossip/v1/Pack.ts';
import type { Settings as _gitaly_gossip_v1_Settings, Settings__Output as _gitaly_gossip_v1_Settings__Output } from './gitaly_gossip/v1/Settings.ts';

type SubtypeConstructor<Constructor extends new (...args: any) => any, Subtype> = {
  new(...args: ConstructorParameters<Constructor>): Subtype;
};

export interface ProtoGrpcType {
  gitaly_gossip: {
    v1: {
      Artifact: MessageTypeDefinition<_gitaly_gossip_v1_Artifact, _gitaly_gossip_v1_Artifact__Output>
      Generation: MessageTypeDefinition<_gitaly_gossip_v1_Generation, _gitaly_gossip_v1_Generation__Output>
      Pack: MessageTypeDefinition<_gitaly_gossip_v1_Pack, _gitaly_gossip_v1_Pack__Output>
      Settings: MessageTypeDefinition<_gitaly_gossip_v1_Settings, _gitaly_gossip_v1_Settings__Output>
    }
  }
}

